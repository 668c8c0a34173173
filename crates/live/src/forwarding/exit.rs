//! The way of packets out of the world: segments of a TCP connection that arrive together pass to the kernel as one
//! packet, as a network card passes them (generic receive offload).

use baton_linux::offload::{Coalescer, OffloadTun, Segmentation};
use baton_proto::time::{Duration, Instant};
use std::io;

/// Longest time between the arrivals of segments that are joined. Chosen: far less than a network card gathers
/// packets before an interrupt, so that joining changes the arrival of no packet by more, and up to 600 Mbit/s the
/// kernel gets each packet of 1,500 B by itself, however late the forwarding thread is.
const JOINED_WITHIN: Duration = Duration::from_micros(20);

/// Packets on their way to a device.
#[derive(Default)]
pub(super) struct Exit {
    coalescer: Coalescer,
    /// Arrival of the first packet since the last flush.
    since: Option<Instant>,
}

impl Exit {
    /// Takes in a packet that arrives at this time, in order of time; returns the number of packets that the device did
    /// not take.
    pub(super) fn add(&mut self, at: Instant, packet: &[u8], tun: &OffloadTun) -> io::Result<u64> {
        let is_later = |since: Instant| at.saturating_since(since) > JOINED_WITHIN;
        let mut not_taken = 0;
        if self.since.is_some_and(is_later) {
            not_taken += self.flush(tun)?;
        }
        self.since.get_or_insert(at);
        let mut sent = Sent::default();
        self.coalescer.add(packet, &mut |packet, segmentation| {
            sent.send(tun, packet, segmentation)
        });
        Ok(not_taken + sent.result?)
    }

    /// Passes on all packets; returns the number of those that the device did not take.
    pub(super) fn flush(&mut self, tun: &OffloadTun) -> io::Result<u64> {
        if self.since.take().is_none() {
            return Ok(0);
        }
        let mut sent = Sent::default();
        self.coalescer
            .flush(&mut |packet, segmentation| sent.send(tun, packet, segmentation));
        sent.result
    }
}

/// Outcome of packets sent: the number of those not taken, or the first error.
struct Sent {
    result: io::Result<u64>,
}

impl Default for Sent {
    fn default() -> Sent {
        Sent { result: Ok(0) }
    }
}

impl Sent {
    fn send(&mut self, tun: &OffloadTun, packet: &[u8], segmentation: Option<Segmentation>) {
        let Ok(not_taken) = &mut self.result else {
            return;
        };
        match tun.send(packet, segmentation) {
            Ok(true) => {}
            Ok(false) => *not_taken += packets(packet, segmentation),
            Err(error) => self.result = Err(error),
        }
    }
}

/// Returns the number of packets that one stands for.
fn packets(packet: &[u8], segmentation: Option<Segmentation>) -> u64 {
    segmentation.map_or(1, |segmentation| {
        let data = packet.len().saturating_sub(segmentation.headers.into());
        data.div_ceil(segmentation.segment.into()) as u64
    })
}
