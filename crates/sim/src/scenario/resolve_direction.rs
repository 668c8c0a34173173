//! One direction of a link: what is given replaces what was there.

use super::document::Path;
use super::error::quoted;
use super::raw_links::{
    RawBurstLoss, RawBursts, RawDamaged, RawDirection, RawManagedQueue, RawManagement, RawQueue,
    RawRetransmission, RawSpared,
};
use super::resolve::{MOST_EVENTS, Report};
use super::units;
use crate::link::config::{
    CoDelConfig, Damaged, DirectionConfig, GilbertElliott, QueueConfig, QueueManagement, RedConfig,
    Retransmission,
};
use baton_proto::time::{Duration, Instant};

/// Applies the keys that `raw`, at `path`, gives.
pub(super) fn apply(
    raw: &RawDirection,
    path: &Path,
    config: &mut DirectionConfig,
    report: &mut Report<'_>,
) {
    if let Some(rate) = raw.rate {
        config.rate = rate.0;
    }
    // Beside `bandwidth`, the delay is the name of a file.
    if let (Some(text), None) = (&raw.delay, &raw.bandwidth) {
        match units::time(text) {
            Ok(delay) => config.delay = delay,
            Err(why) => {
                let message = format!("{} {why}; expected {}", quoted(text), units::EXPECTED_TIME);
                report.wrong(&path.key("delay"), message);
            }
        }
    }
    if let Some(jitter) = raw.jitter {
        config.jitter = jitter.0;
    }
    match &raw.queue {
        None => {}
        Some(RawQueue::Size(size)) => {
            config.queue = QueueConfig {
                limit: size.0,
                management: QueueManagement::DropTail,
            };
        }
        Some(RawQueue::Managed(queue)) => {
            config.queue.limit = queue.limit.map_or(config.queue.limit, |limit| limit.0);
            config.queue.management = management(queue, &path.key("queue"), report);
        }
    }
    config.flow_control = raw.flow_control.map(|size| size.0).or(config.flow_control);
    match &raw.retransmission {
        None => {}
        Some(RawRetransmission::None(_)) => config.retransmission = None,
        Some(RawRetransmission::Repeating(raw)) => {
            config.retransmission = Some(Retransmission {
                attempts: raw.attempts,
                pause: raw.pause.map_or(Duration::ZERO, |time| time.0),
            });
        }
    }
    channel(raw, config);
    if let Some(framing) = &raw.framing {
        let now = &mut config.framing;
        now.bytes_per_packet = framing.bytes_per_packet.unwrap_or(now.bytes_per_packet);
        now.bits_per_byte = framing.bits_per_byte.unwrap_or(now.bits_per_byte);
    }
}

fn channel(raw: &RawDirection, config: &mut DirectionConfig) {
    let channel = &mut config.channel;
    channel.packet_error_rate = raw.packet_error_rate.unwrap_or(channel.packet_error_rate);
    channel.bit_error_rate = raw.bit_error_rate.unwrap_or(channel.bit_error_rate);
    match &raw.burst_loss {
        None => {}
        Some(RawBurstLoss::None(_)) => channel.burst = None,
        Some(RawBurstLoss::Bursts(bursts)) => channel.burst = Some(gilbert_elliott(bursts)),
    }
    match raw.damaged {
        None => {}
        Some(RawDamaged::Dropped) => channel.damaged = Damaged::Dropped,
        Some(RawDamaged::Delivered) => channel.damaged = Damaged::Delivered,
    }
    if let Some(spares) = raw.spares {
        channel.spares_headers = spares == RawSpared::Headers;
    }
}

fn gilbert_elliott(raw: &RawBursts) -> GilbertElliott {
    GilbertElliott {
        mean_good: raw.mean_good.0,
        mean_bad: raw.mean_bad.0,
        loss_good: raw.loss_good.unwrap_or(0.0),
        loss_bad: raw.loss_bad.unwrap_or(1.0),
    }
}

fn management(raw: &RawManagedQueue, path: &Path, report: &mut Report<'_>) -> QueueManagement {
    let keys = [
        ("minimum_threshold", raw.minimum_threshold.is_some()),
        ("maximum_threshold", raw.maximum_threshold.is_some()),
        ("maximum_probability", raw.maximum_probability.is_some()),
        ("weight", raw.weight.is_some()),
        ("target", raw.target.is_some()),
        ("interval", raw.interval.is_some()),
    ];
    match raw.management.unwrap_or(RawManagement::DropTail) {
        RawManagement::DropTail => {
            report.misplaced(path, &keys, &[], "management = \"drop-tail\"");
            QueueManagement::DropTail
        }
        RawManagement::Red => {
            let own = keys.map(|(key, _)| key);
            report.misplaced(path, &keys, &own[..4], "management = \"red\"");
            QueueManagement::Red(red(raw, path, report))
        }
        RawManagement::Priority => {
            report.misplaced(path, &keys, &[], "management = \"priority\"");
            QueueManagement::Priority
        }
        RawManagement::CoDel => {
            let own = keys.map(|(key, _)| key);
            report.misplaced(path, &keys, &own[4..], "management = \"codel\"");
            QueueManagement::CoDel(CoDelConfig {
                target: raw.target.map_or(Duration::from_millis(5), |time| time.0),
                interval: raw
                    .interval
                    .map_or(Duration::from_millis(100), |time| time.0),
            })
        }
    }
}

fn red(raw: &RawManagedQueue, path: &Path, report: &mut Report<'_>) -> RedConfig {
    // Floyd and Jacobson's own advice: thresholds of 5 and 15 packets, weight 0.002; Floyd 1997: 0.1.
    let red = RedConfig {
        minimum_threshold: raw.minimum_threshold.unwrap_or(5.0),
        maximum_threshold: raw.maximum_threshold.unwrap_or(15.0),
        maximum_probability: raw.maximum_probability.unwrap_or(0.1),
        weight: raw.weight.unwrap_or(0.002),
    };
    if red.minimum_threshold >= red.maximum_threshold {
        let message = format!(
            "maximum_threshold {} is not above minimum_threshold {}",
            red.maximum_threshold, red.minimum_threshold
        );
        report.wrong(&path.key("maximum_threshold"), message);
    }
    let positive = [
        ("maximum_probability", red.maximum_probability),
        ("weight", red.weight),
    ];
    for (key, value) in positive {
        if value <= 0.0 {
            let message = "0 switches RED off; expected a number above 0, up to 1".to_owned();
            report.wrong(&path.key(key), message);
        }
    }
    red
}

/// Reports what would never end.
pub(super) fn check_direction(
    config: &DirectionConfig,
    path: &Path,
    end: Instant,
    report: &mut Report<'_>,
) {
    if config.channel.spares_headers && config.channel.damaged == Damaged::Dropped {
        let message = "\"headers\" does not go with damaged = \"dropped\": the link's checksum covers every bit; expected damaged = \"delivered\"";
        report.wrong(&path.key("spares"), message.to_owned());
    }
    if let Some(burst) = config.channel.burst {
        let cycle = (burst.mean_good + burst.mean_bad).as_nanos().max(1);
        let bursts = end.as_nanos() / cycle;
        if bursts > MOST_EVENTS {
            let message = format!(
                "would change its state {bursts} times until {} s; choose longer stays",
                end.as_secs_f64()
            );
            report.wrong(&path.key("burst_loss"), message);
        }
    }
}
