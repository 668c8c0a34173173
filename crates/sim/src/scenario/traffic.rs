//! Behaviour of applications: the kinds of traffic, each with its keys, and their resolution.

use super::document::Path;
use super::error::seconds;
use super::model::Traffic;
use super::resolve::{MOST_EVENTS, Report};
use super::resolve_tcp::bounded;
use super::tagged::{Kind, Tag, Tagged};
use super::units::{PositiveTime, Rate, Size, Time};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// Behaviour of an application.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RawTraffic {
    /// A stream.
    Bulk(Bulk),
    /// Blocks.
    Constant(Constant),
    /// Blocks with pauses.
    OnOff(OnOff),
    /// Requests and pages.
    Pages(Pages),
    /// Requests and echoes.
    Ping(Ping),
}

impl Tagged for RawTraffic {
    const TAG: Tag = Tag {
        key: "kind",
        about: "The behaviour.",
        default: Some("bulk"),
    };

    fn kinds() -> Vec<Kind> {
        vec![
            Kind::of::<Bulk>("bulk"),
            Kind::of::<Constant>("constant"),
            Kind::of::<OnOff>("on-off"),
            Kind::of::<Pages>("pages"),
            Kind::of::<Ping>("ping"),
        ]
    }
}

/// As much as the transport takes. Not over UDP.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Bulk {
    /// Bytes to send. Default: until the end.
    pub bytes: Option<Size>,
}

/// Blocks at a constant rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Constant {
    /// Rate of payload.
    pub rate: Rate,
    /// Payload bytes in a block, over UDP a datagram, over AeroTP a record.
    #[serde(default = "block")]
    pub packet_size: Size,
    /// Bytes to send. Default: until the end.
    pub bytes: Option<Size>,
}

/// A constant rate with pauses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct OnOff {
    /// Rate of payload.
    pub rate: Rate,
    /// Payload bytes in a block, over UDP a datagram, over AeroTP a record.
    #[serde(default = "block")]
    pub packet_size: Size,
    /// Mean time on.
    pub on: PositiveTime,
    /// Mean time off.
    pub off: Time,
    /// True for exponentially distributed times, false for exact ones.
    #[serde(default = "yes")]
    pub random: bool,
}

/// A client at `to` that requests page after page from `from`. TCP and QUIC only.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Pages {
    /// Bytes of a request.
    #[serde(default = "request")]
    pub request: Size,
    /// Bytes of a page.
    pub page: Size,
    /// Time from the end of a page to the next request.
    #[serde(default = "thinking")]
    pub think_time: Time,
    /// Number of requests. Default: until the end.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
}

/// Requests with immediate answers, for their round-trip times.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Ping {
    /// Interval between requests.
    #[serde(default = "second")]
    pub interval: PositiveTime,
    /// Payload bytes of a request and of its reply.
    #[serde(default = "echo")]
    pub size: Size,
    /// Number of requests. Default: until the end.
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
}

fn block() -> Size {
    Size(1000)
}

fn request() -> Size {
    Size(400)
}

fn echo() -> Size {
    Size(56)
}

fn thinking() -> Time {
    Time(Duration::from_secs(1))
}

fn second() -> PositiveTime {
    PositiveTime(Duration::from_secs(1))
}

fn yes() -> bool {
    true
}

impl RawTraffic {
    /// Returns true for requests that measure round-trip times.
    pub fn is_ping(&self) -> bool {
        matches!(self, RawTraffic::Ping(_))
    }

    /// Resolves the behaviour of the application at `path`, for `span`.
    pub fn resolve(&self, path: &Path, span: Duration, report: &mut Report<'_>) -> Option<Traffic> {
        let mut size =
            |key: &str, size: Size| bounded(Some(size), 1, 65_507, &path.key(key), report);
        let traffic = match self {
            RawTraffic::Bulk(bulk) => Traffic::Bulk {
                bytes: bulk.bytes.map(|bytes| bytes.0),
            },
            RawTraffic::Constant(constant) => Traffic::Constant {
                rate: constant.rate.0,
                packet_size: size("packet_size", constant.packet_size)?,
                bytes: constant.bytes.map(|bytes| bytes.0),
            },
            RawTraffic::OnOff(on_off) => Traffic::OnOff {
                rate: on_off.rate.0,
                packet_size: size("packet_size", on_off.packet_size)?,
                on: on_off.on.0,
                off: on_off.off.0,
                random: on_off.random,
            },
            RawTraffic::Pages(pages) => Traffic::Pages {
                request: size("request", pages.request)?,
                page: pages.page.0,
                think_time: pages.think_time.0,
                count: pages.count,
            },
            RawTraffic::Ping(ping) => Traffic::Ping {
                interval: ping.interval.0,
                size: size("size", ping.size)?,
                count: ping.count,
            },
        };
        check_events(traffic, span, path, report);
        Some(traffic)
    }
}

/// Reports a run that would never end.
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
