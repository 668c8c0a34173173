//! Packets for hosts of a home network that nobody answers for: neither is there a binding, nor is the host seen on the home link.
//! The home agent is a router there, which asks for the host and lets packets wait meanwhile (RFC 4861 section 7.2.2; for IPv4,
//! Linux's ARP). Nobody is on that link to hear it, so that it is a time only: a binding ends it, or the packets' sources are told.

use crate::host::Discarded;
use crate::host::layer::{Counters, Layer, News, Rank, Step, Transmitted};
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

/// The layer behind a home agent's routes to its home network: packets whose receivers are being resolved.
#[derive(Debug, Default)]
pub struct HomeNetwork {
    waiting: BTreeMap<IpAddr, Waiting>,
    deadlines: BTreeSet<(Instant, IpAddr)>,
    /// Their receivers did not answer.
    failed: VecDeque<Packet>,
    discarded: u64,
    /// They leave for receivers that a binding leads to.
    ready: VecDeque<Packet>,
    /// Packets that have begun to wait, or were given up.
    told: VecDeque<Held>,
}

#[derive(Debug)]
struct Waiting {
    until: Instant,
    packets: PacketBuffer,
}

impl HomeNetwork {
    /// Lets a packet wait for its receiver, which is asked for from the first one on.
    fn hold(&mut self, now: Instant, packet: Packet) {
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

    /// Takes out what waits for an address, oldest first.
    fn take(&mut self, now: Instant, address: IpAddr) -> Vec<Packet> {
        let Some(mut waiting) = self.waiting.remove(&address) else {
            return Vec::new();
        };
        self.deadlines.remove(&(waiting.until, address));
        self.discarded += waiting.packets.counts().overflowed;
        waiting.packets.release_all(now).collect()
    }

    /// Packets that were given up: of a receiver that did not answer, or for want of room.
    fn discarded(&self) -> u64 {
        let waiting = self.waiting.values();
        let overflowed = waiting.map(|waiting| waiting.packets.counts().overflowed);
        self.discarded + overflowed.sum::<u64>()
    }
}

impl Layer for HomeNetwork {
    fn rank(&self) -> Rank {
        Rank::HomeNetwork
    }

    fn transmit(&mut self, now: Instant, packet: Packet) -> Transmitted {
        self.hold(now, packet);
        Transmitted::Kept
    }

    fn handle_news(&mut self, now: Instant, news: &News) {
        let &News::Bound(first, prefix) = news else {
            return;
        };
        let reached = |address: IpAddr| match (prefix, address) {
            (Some(prefix), IpAddr::V6(address)) => prefix.contains(address),
            _ => address == first,
        };
        let waiting = self.waiting.range(first..).map(|(&address, _)| address);
        let waiting: Vec<IpAddr> = waiting.take_while(|&address| reached(address)).collect();
        for address in waiting {
            let packets = self.take(now, address);
            self.ready.extend(packets);
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        if let Some(packet) = self.failed.pop_front() {
            return Some(Step::GiveBack(packet));
        }
        self.ready.pop_front().map(Step::Originate)
    }

    fn poll_held(&mut self) -> Option<Held> {
        self.told.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    fn handle_timeout(&mut self, now: Instant) {
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

    fn counters(&self) -> Counters {
        let discarded = Discarded {
            no_route: self.discarded(),
            ..Discarded::default()
        };
        Counters {
            discarded,
            ..Counters::default()
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
        let mut network = HomeNetwork::default();
        for number in 0..most + 2 {
            network.hold(at(1_000 + number), datagram(number));
        }
        assert_eq!(network.discarded(), 2);
        assert_eq!(network.poll_timeout(), Some(at(4_000)));
        network.handle_timeout(at(3_999));
        assert!(network.failed.pop_front().is_none());
        network.handle_timeout(at(4_000));
        let failed = core::iter::from_fn(|| network.failed.pop_front());
        let failed: Vec<Packet> = failed.collect();
        assert_eq!(failed.len() as u64, most);
        assert_eq!(failed[0], datagram(2));
        assert_eq!(network.discarded(), most + 2);
        // The next one begins anew.
        network.hold(at(9_000), datagram(0));
        assert_eq!(network.poll_timeout(), Some(at(12_000)));
        let address = datagram(0).ip.destination;
        assert_eq!(network.take(at(10_000), address), [datagram(0)]);
        assert_eq!(network.poll_timeout(), None);
    }
}
