//! Resolution of a link's direction: given keys replace earlier values.

use super::document::Path;
use super::raw_links::{
    RawBurstLoss, RawBursts, RawCodeBy, RawDamaged, RawDirection, RawLinkCoding, RawQueue,
    RawRetransmission, RawSpared,
};
use super::resolve::{MOST_EVENTS, Report};
use crate::link::coding::{Code, Coding, Loss};
use crate::link::config::{Damaged, DirectionConfig, GilbertElliott, QueueConfig, Retransmission};
use crate::link::queue::Management;
use baton_proto::time::Instant;

/// Applies the keys of `raw`, at `path`.
pub(super) fn apply(
    raw: &RawDirection,
    path: &Path,
    config: &mut DirectionConfig,
    report: &mut Report<'_>,
) {
    if let Some(rate) = raw.rate {
        config.rate = rate.0;
    }
    if let Some(delay) = raw.delay {
        config.delay = delay.0;
    }
    if let Some(jitter) = raw.jitter {
        config.jitter = jitter.0;
    }
    match &raw.queue {
        None => {}
        Some(RawQueue::Size(size)) => {
            config.queue = QueueConfig {
                limit: size.0,
                management: Management::DropTail,
            };
        }
        Some(RawQueue::Managed(queue)) => {
            config.queue.limit = queue.limit.map_or(config.queue.limit, |limit| limit.0);
            let path = path.key("queue");
            queue
                .management
                .check(&mut |key, message| report.wrong(&path.key(key), message));
            config.queue.management = queue.management.clone();
        }
    }
    config.flow_control = raw.flow_control.map(|size| size.0).or(config.flow_control);
    match &raw.retransmission {
        None => {}
        Some(RawRetransmission::None(_)) => config.retransmission = None,
        Some(RawRetransmission::Repeating(raw)) => {
            config.retransmission = Some(Retransmission {
                attempts: raw.attempts,
                pause: raw.pause.0,
            });
        }
    }
    channel(raw, config);
    if let Some(raw) = &raw.coding {
        config.channel.coding = coding(raw, &path.key("coding"), report);
    }
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

fn coding(raw: &RawLinkCoding, path: &Path, report: &mut Report<'_>) -> Option<Coding> {
    let RawLinkCoding::Code(raw) = raw else {
        return None;
    };
    let adaptive = |loss| Coding {
        code: Code::WEAKEST,
        loss: Some(loss),
    };
    match (raw.parity, raw.loss, raw.by) {
        (Some(parity), None, None) => {
            let code = Code::with_parity(parity);
            if code.is_none() {
                let message = format!("is {parity}; expected an even number from 2 to 128");
                report.wrong(&path.key("parity"), message);
            }
            code.map(|code| Coding { code, loss: None })
        }
        (None, Some(loss), None) => Some(adaptive(Loss::Of(loss))),
        (None, None, Some(RawCodeBy::Transport)) => Some(adaptive(Loss::AsConnectionsAsk)),
        _ => {
            let message =
                "has no strength, or several; expected one of parity, loss and by = \"transport\"";
            report.wrong(path, message.to_owned());
            None
        }
    }
}

fn gilbert_elliott(raw: &RawBursts) -> GilbertElliott {
    GilbertElliott {
        mean_good: raw.mean_good.0,
        mean_bad: raw.mean_bad.0,
        loss_good: raw.loss_good,
        loss_bad: raw.loss_bad,
    }
}

/// Reports keys that would make a run endless.
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
                "would change state {bursts} times until {} s; choose longer mean times",
                end.as_secs_f64()
            );
            report.wrong(&path.key("burst_loss"), message);
        }
    }
}
