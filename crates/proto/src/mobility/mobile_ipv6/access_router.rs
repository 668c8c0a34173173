//! A router for the mobiles on its link. It advertises its prefix (RFC 4861 section 6.2): at random times, in answer to
//! solicitations, and at once when the link layer reports a mobile's arrival (study D, baseline). Optionally it buffers
//! the packets of a departing mobile and forwards them (RFC 5568), or belongs to a group of routers that get copies of
//! a mobile's packets.

mod departed;
mod group;
mod predicted;

use super::Towards;
use crate::host::layer::Neighbor;
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::LINK_LOCAL;
use crate::mobility::buffering::{BufferCounts, Held};
use crate::mobility::draws::Draws;
use crate::mobility::{discovery, pop};
use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::icmp::IcmpMessage;
use crate::wire::neighbor_discovery::{
    ALL_NODES, AnchorPoint, HOP_LIMIT, NeighborDiscovery, PrefixInformation, RouterAdvertisement,
};
use crate::wire::prefix::Ipv6Prefix;
use core::net::{IpAddr, Ipv6Addr};
use departed::Departures;
use group::Group;
pub use group::GroupMobile;
use predicted::Predicted;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// MAX_INITIAL_RTR_ADVERT_INTERVAL and MAX_INITIAL_RTR_ADVERTISEMENTS (RFC 4861 section 10): the first advertisements
/// follow one another closely.
const LONGEST_INITIAL_INTERVAL: Duration = Duration::from_secs(16);
const INITIAL_ADVERTISEMENTS: u8 = 3;
/// MAX_RA_DELAY_TIME (RFC 4861 section 10): maximum random delay of an answer.
const LONGEST_ANSWER_DELAY: Duration = Duration::from_millis(500);

/// Contents and times of a router's advertisements on one of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvertisingSettings {
    /// The interface on the router.
    pub interface: InterfaceId,
    /// The router's link-local address there.
    pub link_local: Ipv6Addr,
    /// The link's prefix, of 64 bits.
    pub prefix: Ipv6Prefix,
    /// The router's own global address in the prefix.
    pub address: Ipv6Addr,
    /// True for a home agent on this link (RFC 6275 section 7.1).
    pub home_agent: bool,
    /// MinRtrAdvInterval; a router for mobiles may go down to 30 ms (RFC 6275 section 7.5).
    pub shortest_interval: Duration,
    /// MaxRtrAdvInterval; for mobiles down to 70 ms.
    pub longest_interval: Duration,
    /// MIN_DELAY_BETWEEN_RAS between multicast advertisements: 3 s, for mobiles down to 30 ms.
    pub shortest_spacing: Duration,
    /// True to include the maximum time to the next advertisement in each unsolicited one (RFC 6275 section 7.3).
    pub says_interval: bool,
    /// Mobility anchor points to advertise (RFC 5380 section 5).
    pub anchor_points: Box<[AnchorPoint]>,
    /// Assumed path MTU to other links, in bytes.
    pub path_mtu: u32,
}

impl AdvertisingSettings {
    /// Returns settings with the times of RFC 4861 section 6.2.1: intervals of 198 to 600 s, at least 3 s apart.
    pub fn standard(interface: InterfaceId, link_local: Ipv6Addr, prefix: Ipv6Prefix) -> Self {
        AdvertisingSettings {
            interface,
            link_local,
            prefix,
            address: prefix.address_of(link_local),
            home_agent: false,
            shortest_interval: Duration::from_secs(198),
            longest_interval: Duration::from_secs(600),
            shortest_spacing: Duration::from_secs(3),
            says_interval: false,
            anchor_points: Box::default(),
            path_mtu: 1500,
        }
    }

    /// Builds the advertisement.
    fn advertisement(&self) -> NeighborDiscovery {
        let longest = self.longest_interval.as_nanos();
        let milliseconds = u32::try_from(longest / 1_000_000).unwrap_or(u32::MAX);
        // RFC 4861 section 6.2.1: AdvDefaultLifetime is three maximum intervals, AdvValidLifetime thirty and
        // AdvPreferredLifetime seven days.
        let lifetime_s = (longest.saturating_mul(3) / 1_000_000_000).clamp(1, 9000);
        let prefix = PrefixInformation {
            prefix: self.prefix,
            on_link: true,
            autonomous: true,
            router_address: Some(self.address),
            valid_lifetime_s: 2_592_000,
            preferred_lifetime_s: 604_800,
        };
        let message = RouterAdvertisement {
            hop_limit: 64,
            home_agent: self.home_agent,
            router_lifetime_s: lifetime_s as u16,
            prefixes: vec![prefix],
            advertisement_interval_ms: self.says_interval.then_some(milliseconds),
            anchor_points: self.anchor_points.to_vec(),
            ..RouterAdvertisement::default()
        };
        NeighborDiscovery::RouterAdvertisement(message)
    }
}

/// The agent for one link.
#[derive(Clone, Debug)]
pub struct AccessRouter {
    settings: AdvertisingSettings,
    /// Its advertisement.
    advertisement: Arc<NeighborDiscovery>,
    draws: Draws,
    initial_left: u8,
    next: Instant,
    /// Earliest time of the next multicast advertisement.
    spaced: Instant,
    /// True while a mobile can receive the advertisements.
    is_up: bool,
    /// Mobiles on the link, by their addresses there.
    neighbors: BTreeSet<Ipv6Addr>,
    /// Times of unicast answers to solicitations, by link-local address.
    answers: BTreeMap<Ipv6Addr, Instant>,
    departures: Departures,
    predicted: Predicted,
    group: Group,
    outbox: VecDeque<(Towards, Packet)>,
}

impl AccessRouter {
    /// Creates a router that begins to advertise at `now`.
    pub fn new(now: Instant, settings: AdvertisingSettings, draws: Draws) -> AccessRouter {
        AccessRouter {
            departures: Departures::new(settings.path_mtu),
            predicted: Predicted::default(),
            group: Group::default(),
            advertisement: Arc::new(settings.advertisement()),
            settings,
            draws,
            initial_left: INITIAL_ADVERTISEMENTS,
            next: now,
            spaced: now,
            is_up: true,
            neighbors: BTreeSet::new(),
            answers: BTreeMap::new(),
            outbox: VecDeque::new(),
        }
    }

    /// Returns the contents and times of the advertisements.
    pub const fn settings(&self) -> &AdvertisingSettings {
        &self.settings
    }

    /// Takes in a packet from the link. Only solicitations of routers have an effect.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        let Body::Icmp(IcmpMessage::NeighborDiscovery(message)) = &packet.body else {
            return;
        };
        // RFC 4861 section 6.1.1.
        if packet.ip.hop_limit != HOP_LIMIT {
            return;
        }
        match (&**message, packet.ip.source) {
            (NeighborDiscovery::RouterSolicitation(_), _) => {
                self.handle_solicitation(now, packet);
            }
            (NeighborDiscovery::ProxySolicitation(asked), IpAddr::V6(source)) => {
                self.answer_solicitation(source, *asked);
            }
            _ => {}
        }
    }

    fn handle_solicitation(&mut self, now: Instant, packet: &Packet) {
        let answer = now + self.draws.up_to(LONGEST_ANSWER_DELAY);
        match packet.ip.source {
            // Section 6.2.6 leaves the choice: a unicast answer spares the other mobiles.
            IpAddr::V6(source) if LINK_LOCAL.contains(source) && self.neighbors.len() > 1 => {
                self.answers.entry(source).or_insert(answer);
            }
            _ => self.next = self.next.min(answer.max(self.spaced)),
        }
    }

    /// Takes in a mobile's arrival (802.21 Link_Up): held packets go over the link. If the mobile needs an
    /// advertisement, that leaves at once, regardless of the spacing: by unicast, or by multicast if the mobile is
    /// alone.
    pub fn handle_arrival(&mut self, now: Instant, neighbor: Neighbor) {
        let IpAddr::V6(address) = neighbor.address else {
            return;
        };
        self.neighbors.insert(address);
        self.handle_return(now, address);
        if neighbor.is_told {
            match self.neighbors.len() {
                1 => self.advertise(ALL_NODES),
                _ => self.advertise(LINK_LOCAL.address_of(address)),
            }
        }
    }

    /// Takes in a mobile's departure (802.21 Link_Down). After the last departure, advertisements are not sent, since
    /// nobody would receive them, until a mobile arrives or [returns](Self::handle_return). Their times continue.
    pub fn handle_loss(&mut self, now: Instant, neighbor: Neighbor) {
        let IpAddr::V6(address) = neighbor.address else {
            return;
        };
        self.neighbors.remove(&address);
        self.answers.remove(&LINK_LOCAL.address_of(address));
        self.is_up = !self.neighbors.is_empty();
        self.stop_serving(address);
        self.handle_departure(now, neighbor);
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Instant {
        let held = [
            self.departures.poll_timeout(),
            self.predicted.poll_timeout(),
            self.group.poll_timeout(),
        ];
        let answers = self.answers.values().copied();
        let others = held.into_iter().flatten().chain(answers);
        others.fold(self.next, Instant::min)
    }

    /// Performs the actions due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.step_departures(now);
        self.step_agreements(now);
        self.step_group(now);
        self.answer(now);
        if self.next > now {
            return;
        }
        self.advertise(ALL_NODES);
        let (shortest, longest) = (
            self.settings.shortest_interval,
            self.settings.longest_interval,
        );
        let mut interval = self.draws.between(shortest, longest);
        if self.initial_left > 0 {
            self.initial_left -= 1;
            interval = interval.min(LONGEST_INITIAL_INTERVAL);
        }
        self.spaced = now + self.settings.shortest_spacing;
        self.next = now + interval;
    }

    /// Returns the next packet for the link.
    pub fn poll_transmit(&mut self) -> Option<(Towards, Packet)> {
        pop(&mut self.outbox)
    }

    /// Returns true if [`poll_transmit`](Self::poll_transmit) has a packet.
    pub fn has_to_send(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Returns true if a departed mobile is remembered.
    pub fn holds(&self) -> bool {
        self.departures.are_some()
    }

    /// Sends the unicast answers that are due.
    fn answer(&mut self, now: Instant) {
        let due = self.answers.iter().filter(|&(_, &at)| at <= now);
        let due: Vec<Ipv6Addr> = due.map(|(&asker, _)| asker).collect();
        for asker in due {
            self.answers.remove(&asker);
            self.advertise(asker);
        }
    }

    fn advertise(&mut self, to: Ipv6Addr) {
        if !self.is_up {
            return;
        }
        let packet = discovery(
            self.settings.link_local,
            to,
            Arc::clone(&self.advertisement),
        );
        self.send_over_link(packet);
    }

    fn send_over_link(&mut self, packet: Packet) {
        let towards = Towards::Interface(self.settings.interface);
        self.outbox.push_back((towards, packet));
    }

    /// Returns true for an address whose packets this router handles: its own on the link, or a departed
    /// mobile's.
    pub fn takes(&self, address: IpAddr) -> bool {
        address == self.settings.link_local
            || address == self.settings.address
            || self.departures.takes(address)
    }

    /// Takes the reports of packets that its buffers have taken in or dropped since the last call.
    pub fn take_told(&mut self) -> impl Iterator<Item = Held> {
        let copies = self.group.take_told();
        self.departures.take_told().chain(copies)
    }

    /// Returns the counts of packets held for departed mobiles, and of copies for mobiles that may come.
    pub fn counts(&self) -> BufferCounts {
        let mut counts = self.departures.counts();
        counts.add(self.group.counts());
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::neighbor_discovery::{ALL_ROUTERS, RouterSolicitation};

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    fn router(settings: impl FnOnce(&mut AdvertisingSettings)) -> AccessRouter {
        let prefix = Ipv6Prefix::new("2001:db8:1::".parse().expect("an address"), 64);
        let link_local = "fe80::1".parse().expect("an address");
        let mut chosen =
            AdvertisingSettings::standard(InterfaceId(2), link_local, prefix.expect("a length"));
        settings(&mut chosen);
        AccessRouter::new(at(0), chosen, Draws::new([4; 16]))
    }

    fn solicitation(hop_limit: u8) -> Packet {
        let message = NeighborDiscovery::RouterSolicitation(RouterSolicitation::default());
        let mut packet = discovery(Ipv6Addr::UNSPECIFIED, ALL_ROUTERS, message);
        packet.ip.hop_limit = hop_limit;
        packet
    }

    fn neighbor(number: u16) -> Neighbor {
        Neighbor {
            address: Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, number).into(),
            network: None,
            is_told: true,
            buffering: None,
        }
    }

    /// Returns the times of advertisements up to an end, in seconds.
    fn times(router: &mut AccessRouter, end: Instant) -> Vec<f64> {
        let mut times = Vec::new();
        while router.poll_timeout() <= end {
            let now = router.poll_timeout();
            router.handle_timeout(now);
            while router.poll_transmit().is_some() {
                times.push(now.as_secs_f64());
            }
        }
        times
    }

    /// RFC 4861 section 6.2.4: the first three at most 16 s apart, then between 198 and 600 s.
    #[test]
    fn intervals_are_those_of_the_standard() {
        let times = times(&mut router(|_| {}), Instant::from_secs(100_000));
        let intervals: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(intervals[..3].iter().all(|&interval| interval <= 16.0));
        let others = &intervals[3..];
        assert!(others.len() > 200);
        assert!(
            others
                .iter()
                .all(|interval| (198.0..600.0).contains(interval))
        );
        // The mean of a uniform distribution over these, within four standard errors of its roughly 230 draws.
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        assert!((mean - 399.0).abs() < 31.0, "{mean}");
    }

    /// RFC 4861 section 6.2.6: within 0.5 s, and 3 s after the last one at the earliest.
    #[test]
    fn a_solicitation_is_answered_soon_but_not_at_once() {
        let mut router = router(|_| {});
        times(&mut router, at(100_000));
        router.handle_packet(at(100_000), &solicitation(64));
        assert!(
            router.poll_timeout() > at(101_000),
            "it has come through a router"
        );
        router.handle_packet(at(100_000), &solicitation(255));
        let answer = router.poll_timeout();
        assert!(answer <= at(100_500));
        router.handle_timeout(answer);
        router.handle_packet(answer, &solicitation(255));
        assert_eq!(router.poll_timeout(), answer + Duration::from_secs(3));
    }

    /// A router for mobiles that advertises every 30 to 70 ms.
    #[test]
    fn nobody_is_told_over_a_link_that_is_down() {
        let frequent = |chosen: &mut AdvertisingSettings| {
            chosen.shortest_interval = Duration::from_millis(30);
            chosen.longest_interval = Duration::from_millis(70);
        };
        let mut without = router(frequent);
        let all = times(&mut without, Instant::from_secs(20));
        for told in [true, false] {
            let mut router = router(frequent);
            let mut heard = times(&mut router, Instant::from_secs(5));
            router.handle_loss(Instant::from_secs(5), neighbor(1));
            assert_eq!(times(&mut router, Instant::from_secs(10)), [0.0; 0]);
            if told {
                router.handle_arrival(Instant::from_secs(10), neighbor(1));
                assert!(router.poll_transmit().is_some(), "for the mobile that came");
            } else {
                router.handle_return(Instant::from_secs(10), Ipv6Addr::LOCALHOST);
            }
            assert_eq!(router.poll_transmit(), None);
            heard.extend(times(&mut router, Instant::from_secs(20)));
            // The others come at the same times as without the outage.
            let others = all.iter().filter(|&&at| at <= 5.0 || at > 10.0);
            assert_eq!(heard, others.copied().collect::<Vec<f64>>());
        }
    }

    #[test]
    fn the_link_s_trigger_is_answered_at_once() {
        let mut router = router(|chosen| chosen.says_interval = true);
        router.handle_arrival(at(0), neighbor(1));
        let (towards, packet) = router.poll_transmit().expect("an advertisement");
        assert_eq!(towards, Towards::Interface(InterfaceId(2)));
        assert_eq!(packet.ip.hop_limit, 255);
        let Body::Icmp(IcmpMessage::NeighborDiscovery(message)) = packet.body else {
            panic!("an advertisement");
        };
        let NeighborDiscovery::RouterAdvertisement(advertisement) = &*message else {
            panic!("an advertisement");
        };
        assert_eq!(advertisement.router_lifetime_s, 1800);
        assert_eq!(advertisement.advertisement_interval_ms, Some(600_000));
        assert_eq!(advertisement.prefixes[0].valid_lifetime_s, 2_592_000);
    }

    /// RFC 4861 section 6.2.6 allows both: a unicast answer does not disturb the others.
    #[test]
    fn where_others_are_a_newcomer_is_told_and_answered_alone() {
        let mut router = router(|_| {});
        times(&mut router, at(100_000));
        let to = |router: &mut AccessRouter| {
            let sent = core::iter::from_fn(|| router.poll_transmit());
            sent.map(|(_, packet)| packet.ip.destination.to_string())
                .collect::<Vec<_>>()
        };
        router.handle_arrival(at(100_000), neighbor(1));
        assert_eq!(to(&mut router), ["ff02::1"]);
        let second = Neighbor {
            is_told: false,
            ..neighbor(2)
        };
        router.handle_arrival(at(100_000), second);
        assert!(to(&mut router).is_empty());
        router.handle_arrival(at(100_000), neighbor(3));
        assert_eq!(to(&mut router), ["fe80::3"]);
        let mut asks = solicitation(255);
        asks.ip.source = "fe80::2".parse().expect("an address");
        router.handle_packet(at(100_000), &asks);
        let answer = router.poll_timeout();
        assert!((at(100_000)..=at(100_500)).contains(&answer));
        router.handle_timeout(answer);
        assert_eq!(to(&mut router), ["fe80::2"]);
        // The link is up until the last mobile has left.
        for number in 1..=3 {
            assert!(!times(&mut router, at(700_000 * number)).is_empty());
            router.handle_loss(at(700_000 * number), neighbor(number as u16));
        }
        assert_eq!(times(&mut router, at(3_500_000)), [0.0; 0]);
    }
}
