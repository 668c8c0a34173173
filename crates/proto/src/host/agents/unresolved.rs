//! Packets for hosts of a home network that nobody answers for: neither is there a binding, nor is the host seen on the home link.
//! The home agent is a router there, which asks for the host and lets packets wait meanwhile (RFC 4861 section 7.2.2; for IPv4,
//! Linux's ARP). Nobody is on that link to hear it, so that it is a time only: a binding ends it, or the packets' sources are told.

use crate::mobility::buffering::{BufferPolicy, Held, Overflow, PacketBuffer};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Three questions (MAX_MULTICAST_SOLICIT) of a second each (RETRANS_TIMER; both RFC 4861 section 10). Linux's ARP asks as often
/// (`mcast_solicit`, `retrans_time_ms`).
const RESOLUTION: Duration = Duration::from_secs(3);

/// Limit for one host, Linux's (`unres_qlen_bytes`, which counts its own overhead as well); the oldest packet makes room
/// (`__neigh_event_send`).
const WAITING: BufferPolicy = BufferPolicy {
    bytes: 212_992,
    age: Duration::MAX,
    overflow: Overflow::DropOldest,
    pace: None,
    drop_duplicates: false,
};

/// Packets whose receivers are being resolved.
#[derive(Debug, Default)]
pub(super) struct Unresolved {
    waiting: BTreeMap<IpAddr, Waiting>,
    deadlines: BTreeSet<(Instant, IpAddr)>,
    /// Their receivers did not answer.
    failed: VecDeque<Packet>,
    discarded: u64,
    /// Packets that have begun to wait, or were given up.
    told: VecDeque<Held>,
}

#[derive(Debug)]
struct Waiting {
    until: Instant,
    packets: PacketBuffer,
}

impl Unresolved {
    /// Lets a packet wait for its receiver, which is asked for from the first one on.
    pub(super) fn hold(&mut self, now: Instant, packet: Packet) {
        let address = packet.ip.destination;
        let deadlines = &mut self.deadlines;
        let waiting = self.waiting.entry(address).or_insert_with(|| {
            let until = now + RESOLUTION;
            deadlines.insert((until, address));
            Waiting {
                until,
                packets: PacketBuffer::new(WAITING),
            }
        });
        waiting.packets.push(now, packet);
        self.told.extend(waiting.packets.take_told());
    }

    /// Addresses from `first` on for which packets wait, as far as `reached` says so.
    pub(super) fn waiting_from(
        &self,
        first: IpAddr,
        reached: impl Fn(IpAddr) -> bool,
    ) -> Vec<IpAddr> {
        let waiting = self.waiting.range(first..).map(|(&address, _)| address);
        waiting.take_while(|&address| reached(address)).collect()
    }

    /// Takes out what waits for an address, oldest first.
    pub(super) fn take(&mut self, now: Instant, address: IpAddr) -> Vec<Packet> {
        let Some(mut waiting) = self.waiting.remove(&address) else {
            return Vec::new();
        };
        self.deadlines.remove(&(waiting.until, address));
        self.discarded += waiting.packets.counts().overflowed;
        waiting.packets.release_all(now).collect()
    }

    /// A packet that has begun to wait, or that was given up.
    pub(super) fn poll_held(&mut self) -> Option<Held> {
        self.told.pop_front()
    }

    /// The next packet whose receiver did not answer.
    pub(super) fn poll_failed(&mut self) -> Option<Packet> {
        self.failed.pop_front()
    }

    /// Packets that were given up: of a receiver that did not answer, or for want of room.
    pub(super) fn discarded(&self) -> u64 {
        let waiting = self.waiting.values();
        let overflowed = waiting.map(|waiting| waiting.packets.counts().overflowed);
        self.discarded + overflowed.sum::<u64>()
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, address)) = self.deadlines.first()
            && at <= now
        {
            let packets = self.take(now, address);
            self.discarded += packets.len() as u64;
            let given_up = packets.iter().filter_map(|packet| Held::of(packet, true));
            self.told.extend(given_up);
            self.failed.extend(packets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::buffering::tests::datagram;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    /// Linux's ip-sysctl.rst: 212,992 bytes, of which the oldest make room.
    #[test]
    fn as_much_waits_as_in_linux_and_three_seconds() {
        let length = u64::from(datagram(0).wire_length());
        let most = 212_992 / length;
        let mut unresolved = Unresolved::default();
        for number in 0..most + 2 {
            unresolved.hold(at(1_000 + number), datagram(number));
        }
        assert_eq!(unresolved.discarded(), 2);
        assert_eq!(unresolved.poll_timeout(), Some(at(4_000)));
        unresolved.handle_timeout(at(3_999));
        assert!(unresolved.poll_failed().is_none());
        unresolved.handle_timeout(at(4_000));
        let failed = core::iter::from_fn(|| unresolved.poll_failed());
        let failed: Vec<Packet> = failed.collect();
        assert_eq!(failed.len() as u64, most);
        assert_eq!(failed[0], datagram(2));
        assert_eq!(unresolved.discarded(), most + 2);
        // The next one begins anew.
        unresolved.hold(at(9_000), datagram(0));
        assert_eq!(unresolved.poll_timeout(), Some(at(12_000)));
        let address = datagram(0).ip.destination;
        assert_eq!(unresolved.take(at(10_000), address), [datagram(0)]);
        assert_eq!(unresolved.poll_timeout(), None);
    }
}
