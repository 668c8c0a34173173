//! Behaviour of applications.

use super::document::Path;
use super::error::seconds;
use super::model::Traffic;
use super::raw_flows::{RawFlow, RawTraffic};
use super::resolve::{MOST_EVENTS, Report};
use super::resolve_tcp::bounded;
use super::units::Size;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// Keys of a kind of traffic, and its name.
fn own_keys(traffic: RawTraffic) -> (&'static [&'static str], &'static str) {
    match traffic {
        RawTraffic::Bulk => (&["bytes"], "bulk"),
        RawTraffic::Constant => (&["rate", "packet_size", "bytes"], "constant"),
        RawTraffic::OnOff => (&["rate", "packet_size", "on", "off", "random"], "on-off"),
        RawTraffic::Pages => (&["request", "page", "think_time", "count"], "pages"),
        RawTraffic::Ping => (&["interval", "size", "count"], "ping"),
    }
}

/// Resolves the behaviour of the application of the flow at `path`, for `span`.
pub(super) fn traffic(
    raw: &RawFlow,
    path: &Path,
    span: Duration,
    report: &mut Report<'_>,
) -> Option<Traffic> {
    let kind = raw.traffic.unwrap_or(RawTraffic::Bulk);
    let keys = [
        ("bytes", raw.bytes.is_some()),
        ("rate", raw.rate.is_some()),
        ("packet_size", raw.packet_size.is_some()),
        ("on", raw.on.is_some()),
        ("off", raw.off.is_some()),
        ("random", raw.random.is_some()),
        ("request", raw.request.is_some()),
        ("page", raw.page.is_some()),
        ("think_time", raw.think_time.is_some()),
        ("count", raw.count.is_some()),
        ("interval", raw.interval.is_some()),
        ("size", raw.size.is_some()),
    ];
    let (own, name) = own_keys(kind);
    report.misplaced(path, &keys, own, &format!("traffic = \"{name}\""));
    let required: &[&str] = match kind {
        RawTraffic::Constant => &["rate"],
        RawTraffic::OnOff => &["rate", "on", "off"],
        RawTraffic::Pages => &["page"],
        RawTraffic::Bulk | RawTraffic::Ping => &[],
    };
    for key in required {
        if keys.contains(&(key, false)) {
            report.wrong(
                path,
                format!("key \"{key}\" is missing; traffic = \"{name}\" needs it"),
            );
        }
    }
    let mut size = |key: &str, given: Option<Size>, default: u32| {
        bounded(
            Some(given.unwrap_or(Size(default.into()))),
            1,
            65_507,
            &path.key(key),
            report,
        )
    };
    let packet_size = size("packet_size", raw.packet_size, 1000)?;
    let traffic = match kind {
        RawTraffic::Bulk => Traffic::Bulk {
            bytes: raw.bytes.map(|bytes| bytes.0),
        },
        RawTraffic::Constant => Traffic::Constant {
            rate: raw.rate?.0,
            packet_size,
            bytes: raw.bytes.map(|bytes| bytes.0),
        },
        RawTraffic::OnOff => Traffic::OnOff {
            rate: raw.rate?.0,
            packet_size,
            on: raw.on?.0,
            off: raw.off?.0,
            random: raw.random.unwrap_or(true),
        },
        RawTraffic::Pages => Traffic::Pages {
            request: size("request", raw.request, 400)?,
            page: raw.page?.0,
            think_time: raw.think_time.map_or(Duration::from_secs(1), |time| time.0),
            count: raw.count,
        },
        RawTraffic::Ping => Traffic::Ping {
            interval: raw.interval.map_or(Duration::from_secs(1), |time| time.0),
            size: size("size", raw.size, 56)?,
            count: raw.count,
        },
    };
    check_events(traffic, span, path, report);
    Some(traffic)
}

/// Reports what would never end.
fn check_events(traffic: Traffic, span: Duration, path: &Path, report: &mut Report<'_>) {
    let every = |rate: DataRate, size: u32| rate.transmission_time(u64::from(size) * 8);
    let (key, interval) = match traffic {
        Traffic::Constant {
            rate, packet_size, ..
        } => ("rate", every(rate, packet_size)),
        Traffic::OnOff {
            rate,
            packet_size,
            on,
            off,
            ..
        } => {
            let pauses = span.as_nanos() / (on + off).as_nanos().max(1);
            if pauses > MOST_EVENTS {
                let message = format!(
                    "would pause {pauses} times in {}; choose longer times",
                    seconds(span)
                );
                report.wrong(&path.key("on"), message);
            }
            ("rate", every(rate, packet_size))
        }
        Traffic::Ping { interval, .. } => ("interval", Some(interval)),
        Traffic::Bulk { .. } | Traffic::Pages { .. } => return,
    };
    let interval = interval.map_or(u64::MAX, Duration::as_nanos);
    let packets = span.as_nanos() / interval.max(1);
    if packets > MOST_EVENTS {
        let message = format!(
            "would make {packets} packets in {}; expected at most {MOST_EVENTS}",
            seconds(span)
        );
        report.wrong(&path.key(key), message);
    }
}
