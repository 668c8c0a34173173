//! Packets for hosts of a home network that have no binding and are not seen on the home link. The home agent is a
//! router there: it resolves the host's address and queues packets meanwhile (RFC 4861 section 7.2.2; for IPv4, Linux's
//! ARP). No host on the home link can answer, so only the time is modelled: a binding releases the packets; otherwise
//! the resolution fails and their sources receive an error.

use crate::crosslayer::Signal;
use crate::host::Discarded;
use crate::host::layer::{Counters, Layer, Rank, Step, Transmitted};
use crate::mobility::buffering::{BufferPolicy, Held, Holding, Overflow, PacketBuffer};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Duration of a failing address resolution: MAX_MULTICAST_SOLICIT = 3 solicitations, RETRANS_TIMER = 1 s apart (RFC
/// 4861 section 10). Linux's ARP has the same values (`mcast_solicit`, `retrans_time_ms`).
const RESOLUTION: Duration = Duration::from_secs(3);

/// Queue of one unresolved host, as in Linux: its limit (`unres_qlen_bytes`, which also counts Linux's own overhead),
/// and the oldest packet makes room (`__neigh_event_send`).
const WAITING: BufferPolicy = BufferPolicy {
    bytes: 212_992,
    age: Duration::MAX,
    overflow: Overflow::DropOldest,
    pace: None,
    drop_duplicates: false,
};

/// Hosts whose addresses are resolved at a time: those of more are given up at once, as by Linux (`gc_thresh3`).
const MOST_UNRESOLVED: usize = 1024;

/// The layer behind a home agent's routes to its home network: packets that await address resolution.
#[derive(Debug, Default)]
pub struct HomeNetwork {
    waiting: BTreeMap<IpAddr, Waiting>,
    deadlines: BTreeSet<(Instant, IpAddr)>,
    /// Packets whose resolution failed.
    failed: VecDeque<Packet>,
    discarded: u64,
    /// Packets for receivers that now have a binding.
    ready: VecDeque<Packet>,
    /// Reports of packets queued or dropped, not yet polled.
    told: VecDeque<Held>,
}

#[derive(Debug)]
struct Waiting {
    until: Instant,
    packets: PacketBuffer,
}

impl HomeNetwork {
    /// Queues a packet for its receiver; the first one starts the resolution.
    fn hold(&mut self, now: Instant, packet: Packet) {
        let address = packet.ip.destination;
        if self.waiting.len() >= MOST_UNRESOLVED && !self.waiting.contains_key(&address) {
            self.discarded += 1;
            self.told.extend(Held::of(&packet, Holding::Dropped));
            self.failed.push_back(packet);
            return;
        }
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

    /// Removes and returns the packets queued for an address, oldest first.
    fn take(&mut self, now: Instant, address: IpAddr) -> Vec<Packet> {
        let Some(mut waiting) = self.waiting.remove(&address) else {
            return Vec::new();
        };
        self.deadlines.remove(&(waiting.until, address));
        self.discarded += waiting.packets.counts().overflowed;
        waiting.packets.release_all(now).collect()
    }

    /// Counts dropped packets: resolution failed, or the queue was full.
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

    fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        let Signal::Bound(prefix) = signal else {
            return;
        };
        let waiting = self.waiting.range(prefix.address()..);
        let waiting = waiting.map(|(&address, _)| address);
        let waiting: Vec<IpAddr> = waiting
            .take_while(|&address| prefix.contains(address))
            .collect();
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
            let given_up = packets
                .iter()
                .filter_map(|packet| Held::of(packet, Holding::Dropped));
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

    /// Linux's ip-sysctl.rst: 1024 neighbours at most.
    #[test]
    fn packets_for_more_hosts_than_linux_resolves_fail_at_once() {
        let mut network = HomeNetwork::default();
        for number in 0..1_026_u128 {
            let mut packet = datagram(number as u64);
            packet.ip.destination = core::net::Ipv6Addr::from_bits(1 << 64 | number).into();
            network.hold(at(1_000), packet);
        }
        assert_eq!(network.failed.len(), 2);
        assert_eq!(network.discarded(), 2);
        network.handle_timeout(at(4_000));
        assert_eq!(network.failed.len(), 1_026);
    }

    /// Linux's ip-sysctl.rst: the queue takes 212,992 bytes; the oldest packets make room.
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
        // The next packet starts a new resolution.
        network.hold(at(9_000), datagram(0));
        assert_eq!(network.poll_timeout(), Some(at(12_000)));
        let address = datagram(0).ip.destination;
        assert_eq!(network.take(at(10_000), address), [datagram(0)]);
        assert_eq!(network.poll_timeout(), None);
    }
}
