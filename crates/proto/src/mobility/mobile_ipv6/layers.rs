//! The agents of Mobile IPv6 as layers of a node.

use super::{
    AccessRouter, AccessRouters, Correspondent, HomeAgent, MobileEvent, MobileNode, Received,
    Towards, words,
};
use crate::crosslayer::Signal;
use crate::host::Discarded;
use crate::host::layer::{Arrival, Counters, Layer, Neighbor, Rank, Step, Transmitted};
use crate::interface::{InterfaceId, LinkEvent};
use crate::mobility::buffering::Held;
use crate::mobility::handover_service::HandoverServiceEvent;
use crate::mobility::tunnel::Refused;
use crate::packet::{Body, IpHeader, Packet, Wording};
use crate::time::Instant;
use core::net::IpAddr;

impl From<(Towards, Packet)> for Step {
    fn from((towards, packet): (Towards, Packet)) -> Step {
        match towards {
            Towards::Interface(interface) => Step::Send(interface, packet),
            Towards::Network => Step::Forward(packet),
        }
    }
}

impl Layer for HomeAgent {
    fn rank(&self) -> Rank {
        match self.settings().is_anchor_point {
            true => Rank::AnchorPoint,
            false => Rank::HomeAgent,
        }
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        self.intercepts(ip.destination)
    }

    fn input(&mut self, now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.handle_packet(now, packet)
    }

    fn output(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        self.handle_outgoing(now, packet)
    }

    fn redirect(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        HomeAgent::redirect(self, now, packet);
        None
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.poll_transmit().map(Step::from)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        if let Some((home_address, moved)) = self.poll_moved() {
            return Some(Signal::PeerMoved(home_address.into(), moved));
        }
        self.poll_bound().map(Signal::Bound)
    }

    fn poll_event(&mut self) -> Option<Wording> {
        HomeAgent::poll_event(self).map(|event| words::of_home_agent(&event))
    }

    fn poll_held(&mut self) -> Option<Held> {
        HomeAgent::poll_held(self)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        HomeAgent::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        HomeAgent::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        let counts = self.counts();
        let mut discarded = Discarded::from(counts.tunnels);
        discarded.messages += counts.refused_updates + counts.unexpected;
        discarded.tunnelled += counts.strangers + counts.turned_back;
        Counters {
            discarded,
            buffered: counts.buffered,
            copies: counts.copies,
        }
    }
}

impl Layer for AccessRouters {
    fn rank(&self) -> Rank {
        Rank::AccessRouters
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        AccessRouters::takes(self, ip.destination)
    }

    fn input(&mut self, now: Instant, arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.set_time(now);
        if matches!(packet.body, Body::Icmp(_)) {
            let hear = |router: &mut AccessRouter| router.handle_packet(now, &packet);
            self.tell(arrival.interface, hear);
        }
        self.offer(packet, |router, packet| {
            let packet = router.take_message(now, packet)?;
            router.take(now, packet)
        })
    }

    fn handle_neighbor(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        event: LinkEvent,
        neighbor: Neighbor,
    ) {
        self.set_time(now);
        self.tell(interface, |router| match (event, neighbor.address) {
            (LinkEvent::GoingDown, _) => router.handle_departure(now, neighbor),
            (LinkEvent::Down, _) => router.handle_loss(now, neighbor),
            (LinkEvent::Up, _) => router.handle_arrival(now, neighbor),
            (LinkEvent::Rollback, IpAddr::V6(address)) => router.handle_return(now, address),
            _ => {}
        });
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.poll_transmit().map(Step::from)
    }

    fn poll_held(&mut self) -> Option<Held> {
        AccessRouters::poll_held(self)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        AccessRouters::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        AccessRouters::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        self.iter()
            .for_each(|router| counters.buffered.add(router.counts()));
        counters
    }
}

impl Layer for MobileNode {
    fn rank(&self) -> Rank {
        Rank::MobileNode
    }

    fn takes(&self, ip: &IpHeader) -> bool {
        self.has_address(ip.destination)
    }

    fn has_address(&self, address: IpAddr) -> bool {
        MobileNode::takes(self, address)
    }

    fn input(&mut self, now: Instant, arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.handle_packet(now, arrival.interface, packet)
    }

    fn transmit(&mut self, now: Instant, packet: Packet) -> Transmitted {
        match self.address_outgoing(now, packet) {
            Some(sent) => Transmitted::Leaves(Step::from(sent)),
            None => Transmitted::GivenUp,
        }
    }

    fn redirect(&mut self, now: Instant, packet: &mut Packet) -> Option<InterfaceId> {
        MobileNode::redirect(self, now, packet)
    }

    fn is_default_route(&self) -> bool {
        true
    }

    fn handle_medium(&mut self, interface: InterfaceId, event: LinkEvent) {
        MobileNode::handle_medium(self, interface, event);
    }

    fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        match *signal {
            Signal::Link(interface, event) => match event {
                LinkEvent::Up => self.link_up(now, interface),
                LinkEvent::GoingDown => self.link_going_down(now, interface),
                LinkEvent::Rollback => self.link_rollback(now, interface),
                LinkEvent::Down => self.link_down(now, interface),
                LinkEvent::HandoverImminent => self.prefer(now, interface),
                _ => {}
            },
            Signal::HandoverForeseen(interface) => self.prepare_handover(now, interface),
            Signal::NewPath(interface, path) => self.set_path(interface, path),
            _ => {}
        }
    }

    fn is_sought_elsewhere(&self, now: Instant, peer: IpAddr) -> bool {
        match peer {
            IpAddr::V6(peer) => MobileNode::is_sought_elsewhere(self, now, peer),
            IpAddr::V4(_) => false,
        }
    }

    fn poll_step(&mut self) -> Option<Step> {
        match self.poll_received() {
            Some(Received::Local(packet)) => return Some(Step::Deliver(packet)),
            Some(Received::Behind(packet)) => return Some(Step::Forward(packet)),
            None => {}
        }
        self.poll_transmit().map(Step::from)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        self.take_events_apart();
        self.told.poll_signal()
    }

    fn poll_event(&mut self) -> Option<Wording> {
        self.take_events_apart();
        self.told.poll_words()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        MobileNode::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        MobileNode::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        let counts = self.counts();
        let mut discarded = Discarded::from(counts.tunnels);
        discarded.no_route += counts.unreachable;
        discarded.messages += counts.unexpected;
        discarded.tunnelled += counts.unregistered + counts.misdirected + counts.turned_back;
        Counters {
            discarded,
            ..Counters::default()
        }
    }
}

impl MobileNode {
    fn take_events_apart(&mut self) {
        while let Some(event) = MobileNode::poll_event(self) {
            let news = match event {
                MobileEvent::UpdateSent { to, .. } => Some(Signal::BindingSent(to.into())),
                MobileEvent::Registered(care_of) => {
                    self.interface_with(care_of).map(Signal::Registered)
                }
                // Inside an anchor point's domain, the home agent need not learn of a move.
                MobileEvent::Anchored(on_link) if self.is_known() => {
                    self.interface_with(on_link).map(Signal::Registered)
                }
                MobileEvent::Deregistered => Some(Signal::Deregistered),
                MobileEvent::HandoverService(event) => Some(match event {
                    HandoverServiceEvent::Prepared | HandoverServiceEvent::Unprepared => {
                        Signal::HandoverPrepared
                    }
                    HandoverServiceEvent::Information(interface, information) => {
                        Signal::Informed(interface, information)
                    }
                    HandoverServiceEvent::Remote(event) => Signal::Remote(event),
                    HandoverServiceEvent::Ordered(interface) => Signal::HandoverOrdered(interface),
                    HandoverServiceEvent::Released(interface) => Signal::LinkReleased(interface),
                }),
                MobileEvent::FastHandover(_) | MobileEvent::Announced(_) => {
                    Some(Signal::HandoverPrepared)
                }
                _ => None,
            };
            self.told.add(news, words::of_mobile(&event));
        }
    }
}

impl Layer for Correspondent {
    fn rank(&self) -> Rank {
        Rank::Correspondent
    }

    fn input(&mut self, now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        self.handle_packet(now, packet)
    }

    fn output(&mut self, now: Instant, packet: Packet) -> Option<Packet> {
        Some(self.handle_outgoing(now, packet))
    }

    fn poll_step(&mut self) -> Option<Step> {
        self.poll_transmit().map(Step::Forward)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        let (home_address, moved) = self.poll_moved()?;
        Some(Signal::PeerMoved(home_address.into(), moved))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Correspondent::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        Correspondent::handle_timeout(self, now);
    }

    fn counters(&self) -> Counters {
        let counts = self.counts();
        let discarded = Discarded {
            messages: counts.unauthenticated + counts.refused + counts.unexpected,
            tunnelled: counts.unbound,
            ..Discarded::default()
        };
        Counters {
            discarded,
            ..Counters::default()
        }
    }
}

impl From<Refused> for Discarded {
    fn from(refused: Refused) -> Discarded {
        Discarded {
            tunnelled: refused.loops + refused.too_deep,
            hop_limit: refused.hop_limit,
            too_big: refused.too_big,
            ..Discarded::default()
        }
    }
}
