//! Resolution of TCP's settings: a profile, and a scenario's changes to it.

use super::control::congestion;
use super::document::Path;
use super::error::seconds;
use super::raw_flows::{
    OrOff, RawAutotuning, RawConnection, RawNamedAutotuning, RawRecovery, RawRtoArithmetic, RawTcp,
    RawTcpEnd, RawWindowArithmetic,
};
use super::resolve::Report;
use super::units::{PositiveTime, Size};
use baton_proto::remedies::{GatewayPart, Kind, Scheme};
use baton_proto::tcp::congestion::HyblaParameters;
use baton_proto::tcp::profile::{
    Algorithm, Autotuning, Profile, Recovery, RtoArithmetic, WindowArithmetic,
};

/// Largest buffer: the largest scaled window (RFC 7323 section 2.3) is just below 1 GiB.
const LARGEST_BUFFER: u64 = 1 << 30;

/// Default profile of a flow: that of most machines today.
const DEFAULT_PROFILE: &str = "linux-6";

/// Returns the settings of the ends at `from` and `to`, for the TCP at `path`.
pub(crate) fn ends(tcp: &RawTcp, path: &Path, report: &mut Report<'_>) -> Option<[Profile; 2]> {
    let profile = both(tcp, path, report)?;
    let ends = [("sender", &tcp.sender), ("receiver", &tcp.receiver)];
    Some(ends.map(|(key, settings)| {
        let mut profile = profile.clone();
        if let Some(settings) = settings {
            apply(settings, &path.key(key), &mut profile, report);
        }
        check_together(&profile, path, report);
        profile
    }))
}

/// Returns the settings of both ends.
fn both(tcp: &RawTcp, path: &Path, report: &mut Report<'_>) -> Option<Profile> {
    let mut profile = Profile::named(tcp.profile.as_deref().unwrap_or(DEFAULT_PROFILE))?;
    apply(&tcp.both, path, &mut profile, report);
    Some(profile)
}

/// Returns the settings of a gateway's half towards the mobile, if a remedy splits the connection of the TCP at `path`.
pub(super) fn gateway(
    tcp: &RawTcp,
    remedies: &[Scheme],
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Profile> {
    let mut schemes = remedies.iter();
    let splits = |scheme: &&Scheme| scheme.at_gateway() == Some(GatewayPart::Split);
    let Some(scheme) = schemes.find(splits) else {
        if tcp.gateway.is_some() {
            let message = "belongs to a remedy that splits the connection; expected remedies = [\"split-connection\"] or [\"satellite-pep\"]";
            report.wrong_key(&path.key("gateway"), message.to_owned());
        }
        return None;
    };
    let mut profile = both(tcp, path, report)?;
    if *scheme == Scheme::Published(Kind::SatellitePep) {
        profile.congestion = Algorithm::Hybla(HyblaParameters::default());
    }
    if let Some(given) = &tcp.gateway {
        let path = path.key("gateway");
        apply(given, &path, &mut profile, report);
        check_together(&profile, &path, report);
    }
    Some(profile)
}

/// Returns the settings of a TCP outside a scenario.
pub(super) fn connection(raw: &RawConnection, report: &mut Report<'_>) -> Option<Profile> {
    let mut profile = Profile::named(raw.profile.as_deref().unwrap_or("rfc"))?;
    let top = Path::default();
    apply(&raw.settings, &top, &mut profile, report);
    check_together(&profile, &top, report);
    Some(profile)
}

fn check_together(profile: &Profile, path: &Path, report: &mut Report<'_>) {
    if profile.congestion == Algorithm::Bbr && profile.recovery != Recovery::Linux {
        let message = "congestion bbr needs recovery \"linux\", which measures the delivery rate; expected profile \
                       \"linux-6\" or \"classic\"";
        report.wrong(path, message.to_owned());
    }
    if profile.snack && profile.recovery == Recovery::Linux {
        let message = "snack does not go with recovery \"linux\"; expected profile \"scps-tp\", or recovery \"newreno\"";
        report.wrong(path, message.to_owned());
    }
    if profile.minimum_rto > profile.maximum_rto {
        let message = format!(
            "minimum_rto {} is above maximum_rto {}",
            seconds(profile.minimum_rto),
            seconds(profile.maximum_rto)
        );
        report.wrong(path, message);
    }
}

fn apply(raw: &RawTcpEnd, path: &Path, profile: &mut Profile, report: &mut Report<'_>) {
    set(
        &mut profile.congestion,
        congestion(&raw.congestion, path, report),
    );
    set(&mut profile.recovery, raw.recovery.map(recovery));
    set(&mut profile.initial_window, raw.initial_window);
    set(&mut profile.window_scaling, raw.window_scaling);
    set(&mut profile.timestamps, raw.timestamps);
    set(&mut profile.sack, raw.sack);
    set(&mut profile.snack, raw.snack);
    set(
        &mut profile.rate_limit,
        raw.rate_limit.map(|value| off(value).map(|rate| rate.0)),
    );
    set(&mut profile.delay_by_gaps, raw.delay_by_gaps);
    set(&mut profile.nagle, raw.nagle);
    set(&mut profile.limited_transmit, raw.limited_transmit);
    set(&mut profile.idle_restart, raw.idle_restart);
    set(
        &mut profile.threshold_from_window,
        raw.threshold_from_window,
    );
    set(
        &mut profile.rto_arithmetic,
        raw.rto_arithmetic.map(rto_arithmetic),
    );
    set(&mut profile.quick_acks, raw.quick_acks);
    set(&mut profile.duplicate_sack, raw.duplicate_sack);
    set(&mut profile.rack, raw.rack);
    set(&mut profile.tail_loss_probe, raw.tail_loss_probe);
    set(
        &mut profile.proportional_rate_reduction,
        raw.proportional_rate_reduction,
    );
    set(&mut profile.forward_rto, raw.forward_rto);
    set(&mut profile.undo, raw.undo);
    set(&mut profile.hystart, raw.hystart);
    set(&mut profile.push_bursts, raw.push_bursts);
    set(&mut profile.timer_wheel, raw.timer_wheel);
    set(&mut profile.transaction_opening, raw.transaction_opening);
    set(
        &mut profile.window_arithmetic,
        raw.window_arithmetic.map(window_arithmetic),
    );
    set(
        &mut profile.sack_compression,
        raw.sack_compression
            .map(|value| off(value).map(|time| time.0)),
    );
    set(
        &mut profile.minimum_rtt_window,
        raw.minimum_rtt_window
            .map(|value| off(value).map(|time| time.0)),
    );
    set(&mut profile.syn_linear_timeouts, raw.syn_linear_timeouts);
    set(&mut profile.syn_retries, raw.syn_retries);
    set(&mut profile.syn_ack_retries, raw.syn_ack_retries);
    set(&mut profile.long_term_rate, raw.long_term_rate);
    set(&mut profile.data_retries, raw.data_retries);
    set(&mut profile.tick, raw.tick.map(|time| time.0));
    set(&mut profile.time_wait, raw.time_wait.map(|time| time.0));
    let time = |time: Option<PositiveTime>| time.map(|time| time.0);
    set(&mut profile.initial_rto, time(raw.initial_rto));
    set(&mut profile.minimum_rto, time(raw.minimum_rto));
    set(&mut profile.maximum_rto, time(raw.maximum_rto));
    set(
        &mut profile.delayed_ack,
        raw.delayed_ack.map(|value| off(value).map(|time| time.0)),
    );
    let threshold = raw
        .duplicate_ack_threshold
        .map(|value| off(value).map(|count| count.0));
    set(&mut profile.duplicate_ack_threshold, threshold);

    let mut size = |key: &str, given: Option<Size>, least: u64, most: u64| {
        bounded(given, least, most, &path.key(key), report)
    };
    // Room for options must remain in a segment of 64 B, and a segment in an IPv4 packet of 65 535 B.
    let segment = size("maximum_segment_size", raw.maximum_segment_size, 64, 65_495);
    let receive = size("receive_buffer", raw.receive_buffer, 1, LARGEST_BUFFER);
    let send = size("send_buffer", raw.send_buffer, 1, LARGEST_BUFFER);
    let key = "initial_slow_start_threshold";
    let threshold = raw
        .initial_slow_start_threshold
        .map(|value| off(value).and_then(|given| size(key, Some(given), 1, LARGEST_BUFFER)));
    set(
        &mut profile.maximum_segment_size,
        segment.map(|bytes| bytes as u16),
    );
    // A given size is fixed, as by a socket option.
    if receive.is_some() {
        profile.receive_autotuning = Autotuning::Off;
    }
    profile.send_autotuning &= send.is_none();
    let tuning = raw.receive_autotuning.map(|tuning| match tuning {
        RawAutotuning::AsInLinux(false) => Autotuning::Off,
        RawAutotuning::AsInLinux(true) => Autotuning::Linux,
        RawAutotuning::Named(RawNamedAutotuning::RightSizing) => Autotuning::RightSizing,
    });
    set(&mut profile.receive_autotuning, tuning);
    set(&mut profile.send_autotuning, raw.send_autotuning);
    set(&mut profile.receive_buffer, receive);
    set(&mut profile.send_buffer, send);
    set(&mut profile.initial_slow_start_threshold, threshold);
}

pub(crate) fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

pub(super) fn off<T>(value: OrOff<T>) -> Option<T> {
    match value {
        OrOff::Off(_) => None,
        OrOff::Value(value) => Some(value),
    }
}

fn recovery(raw: RawRecovery) -> Recovery {
    match raw {
        RawRecovery::Reno => Recovery::Reno,
        RawRecovery::NewReno => Recovery::NewReno,
        RawRecovery::Sack => Recovery::Sack,
        RawRecovery::Linux20 => Recovery::Linux20,
        RawRecovery::Linux => Recovery::Linux,
    }
}

fn window_arithmetic(raw: RawWindowArithmetic) -> WindowArithmetic {
    match raw {
        RawWindowArithmetic::Rfc => WindowArithmetic::Rfc,
        RawWindowArithmetic::Linux20 => WindowArithmetic::Linux20,
        RawWindowArithmetic::Linux => WindowArithmetic::Linux,
    }
}

fn rto_arithmetic(raw: RawRtoArithmetic) -> RtoArithmetic {
    match raw {
        RawRtoArithmetic::Rfc6298 => RtoArithmetic::Rfc6298,
        RawRtoArithmetic::Linux => RtoArithmetic::Linux,
        RawRtoArithmetic::Linux20 => RtoArithmetic::Linux20,
        RawRtoArithmetic::Inet => RtoArithmetic::Inet,
    }
}

/// Returns `given` if it is from `least` to `most`, which fits 32 bits.
pub(crate) fn bounded(
    given: Option<Size>,
    least: u64,
    most: u64,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<u32> {
    let Size(bytes) = given?;
    if (least..=most).contains(&bytes) {
        return u32::try_from(bytes).ok();
    }
    let message = format!("{bytes} B is out of range; expected {least} B to {most} B");
    report.wrong(path, message);
    None
}
