//! A node's part in AeroTP's rate control: at a filling queue, the node tells the sources of its packets the rate at
//! which it can serve them. Study A leaves this to AeroNP, which it does not define; all values are chosen here.

use super::layer::{Layer, Rank, Step};
use crate::interface::{InterfaceId, StatusInterests, TransmitStatus};
use crate::packet::{Body, Packet};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::icmp::{IcmpError, QuotedPacket};
use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};

/// Time without packets after which a source loses its share of a queue.
const SHARES: Duration = Duration::from_secs(1);
/// Minimum interval of messages about one queue to one source.
const PAUSE: Duration = Duration::from_millis(100);
/// Percentage of a queue's rate shared by the sources: the rest drains the queue.
const GIVEN_AWAY: u64 = 95;

/// The layer that sends backpressure to the sources of AeroTP packets in queues more than half full. Sources of
/// tunnelled packets get none.
#[derive(Debug, Default)]
pub struct Backpressure {
    /// Sources with a share of the queue, by interface.
    queues: BTreeMap<InterfaceId, BTreeMap<IpAddr, Source>>,
    messages: VecDeque<(IcmpError, QuotedPacket)>,
}

/// A source at a queue.
#[derive(Clone, Copy, Debug)]
struct Source {
    seen: Instant,
    told: Option<Instant>,
}

impl Backpressure {
    /// Notes the source of a packet; returns the rate in kbit/s to report to the source, if the queue is under
    /// pressure.
    fn rate_to_tell(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        source: IpAddr,
        pressure: Option<DataRate>,
    ) -> Option<u32> {
        let sources = self.queues.entry(interface).or_default();
        sources.retain(|_, source| source.seen + SHARES > now);
        let source = sources.entry(source).or_insert(Source {
            seen: now,
            told: None,
        });
        source.seen = now;
        let whole = pressure?.bits_per_second();
        if source.told.is_some_and(|told| told + PAUSE > now) {
            return None;
        }
        source.told = Some(now);
        let rate = whole / 100 * GIVEN_AWAY / sources.len() as u64 / 1000;
        Some(u32::try_from(rate.max(1)).unwrap_or(u32::MAX))
    }

    fn notify_source(&mut self, packet: &Packet, rate: u32) -> bool {
        let quoted = packet.quote();
        let message = quoted.map(|quoted| (IcmpError::Backpressure { rate }, quoted));
        self.messages.extend(message);
        !self.messages.is_empty()
    }
}

impl Layer for Backpressure {
    fn rank(&self) -> Rank {
        Rank::Backpressure
    }

    fn status_interests(&self) -> StatusInterests {
        StatusInterests {
            queued: true,
            ..StatusInterests::default()
        }
    }

    fn handle_transmit_status(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        packet: &Packet,
        status: TransmitStatus,
    ) -> bool {
        let TransmitStatus::Queued { pressure } = status else {
            return false;
        };
        if !is_aerotp(packet) {
            return false;
        }
        match self.rate_to_tell(now, interface, packet.ip.source, pressure) {
            Some(rate) => self.notify_source(packet, rate),
            None => false,
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        let (error, quoted) = self.messages.pop_front()?;
        Some(Step::Tell(error, quoted))
    }
}

fn is_aerotp(packet: &Packet) -> bool {
    match &packet.body {
        Body::Aerotp(_) => true,
        Body::Extended(extended) => matches!(extended.body, Body::Aerotp(_)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
