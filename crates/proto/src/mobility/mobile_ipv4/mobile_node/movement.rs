//! Movement: the mobile's links, agents and addresses, and the registration that follows from them.

use super::registration::{Bound, Target};
use super::{
    Acquisition, Attachment, CareOf, Discovery, InterfaceId, MobileNode, MobileNodeEvent, News,
    Point, Step,
};
use crate::mobility::mobile_ipv4::ALL_ROUTERS;
use crate::mobility::mobile_ipv4::discovery::Agent;
use crate::mobility::mobile_ipv4::encapsulations::offers;
use crate::time::Instant;
use crate::wire::agent_discovery::{AgentDiscovery, AgentFlags};
use crate::wire::encapsulation::Encapsulation;
use core::net::Ipv4Addr;

impl MobileNode {
    /// Attaches to a link over which the mobile wants to be reached. Until the registration there, traffic stays on the
    /// earlier links, which receive until [`detach`](MobileNode::detach).
    pub fn attach(&mut self, now: Instant, interface: InterfaceId, care_of: CareOf) {
        self.attachments.retain(|link| link.interface != interface);
        self.return_to(now, interface, care_of);
    }

    /// Makes a link the one over which the mobile wants to be reached, like [`attach`](MobileNode::attach). If the mobile is
    /// attached there already, it keeps the agents heard and the address acquired there, and so registers at once.
    pub fn return_to(&mut self, now: Instant, interface: InterfaceId, care_of: CareOf) {
        let expected = self.arrive(now, interface);
        let is_expected = expected.is_some();
        let compresses = self.config.header_compression;
        let link = self.attachment_on(now, interface, care_of);
        // The agent compresses anew with each registration.
        link.compression = compresses.then(Box::default);
        if let (CareOf::ForeignAgent, Some(agent)) = (care_of, expected) {
            link.discovery.resume(agent);
        }
        self.chosen = Some(interface);
        if is_expected
            && let Some(bound) = self.binding(now)
            && bound.point.interface == interface
        {
            let (point, lifetime) = (bound.point, bound.lifetime);
            self.events
                .push_back(MobileNodeEvent::Registered { point, lifetime });
        }
        // A registration ahead of the arrival has kept the former care-of address.
        self.reconsider(now, is_expected);
        self.handle_timeout(now);
    }

    /// Returns the attachment to a link, a new one unless the mobile is attached there with this source of its care-of
    /// address.
    fn attachment_on(
        &mut self,
        now: Instant,
        interface: InterfaceId,
        care_of: CareOf,
    ) -> &mut Attachment {
        let is_same = |link: &Attachment| (link.interface, link.care_of) == (interface, care_of);
        if let Some(place) = self.attachments.iter().position(is_same) {
            return &mut self.attachments[place];
        }
        self.attachments.retain(|link| link.interface != interface);
        let mut discovery = Discovery::default();
        // Without need of an agent, listen for one but do not solicit.
        if care_of == CareOf::ForeignAgent {
            discovery.start(now);
        }
        let acquisition = (care_of == CareOf::Acquired).then(|| {
            let check = self.config.conflict_check;
            Acquisition::new(now, interface, check, self.config.home_address)
        });
        // Mostly one attachment, and many mobiles.
        self.attachments.reserve_exact(1);
        self.attachments.push(Attachment {
            interface,
            care_of,
            discovery,
            acquisition,
            compression: None,
            address: match care_of {
                CareOf::Known(address) => Some(address),
                _ => None,
            },
        });
        let last = self.attachments.len() - 1;
        &mut self.attachments[last]
    }

    /// Attaches to a link on which the mobile keeps its registered co-located care-of address, as within a micro-mobility
    /// domain: the home agent need not know. Does nothing if that address is not registered.
    pub fn follow(&mut self, now: Instant, interface: InterfaceId, address: Ipv4Addr) {
        let kept = |bound: &Bound| {
            bound.is_colocated && bound.point.care_of_address == address && now < bound.expires
        };
        let Some(place) = self.bindings.iter().position(kept) else {
            return;
        };
        let mut bound = self.bindings.remove(place);
        bound.point.interface = interface;
        bound.target.point.interface = interface;
        self.bindings.push(bound);
        if let Some(pending) = &mut self.pending
            && pending.target.point.care_of_address == address
        {
            pending.target.point.interface = interface;
        }
        self.attachments.retain(|link| link.interface != interface);
        let attachment = Attachment {
            interface,
            care_of: CareOf::Known(address),
            discovery: Discovery::default(),
            acquisition: None,
            address: Some(address),
            compression: self.config.header_compression.then(Box::default),
        };
        // Before an old link with the same address.
        self.attachments.insert(0, attachment);
        self.chosen = Some(interface);
    }

    /// Detaches from a link that is gone or shall no longer be used.
    pub fn detach(&mut self, interface: InterfaceId) {
        self.attachments.retain(|link| link.interface != interface);
        self.leave(interface);
        self.received.leave(interface);
        let on_it = |found: Option<InterfaceId>| found == Some(interface);
        if on_it(self.chosen) {
            self.chosen = None;
        }
        if on_it(self.home_link) {
            self.home_link = None;
        }
        self.pending = self
            .pending
            .take()
            .filter(|pending| pending.target.point.interface != interface);
    }

    /// Takes in an address conflict: another node on a link has the address acquired there.
    pub fn handle_conflict(&mut self, now: Instant, interface: InterfaceId) {
        let mut links = self.attachments.iter_mut();
        let link = links.find(|link| link.interface == interface);
        if let Some(acquisition) = link.and_then(|link| link.acquisition.as_mut()) {
            let step = acquisition.handle_conflict(now, &mut self.outbox);
            self.handle_address(now, interface, step);
        }
    }

    pub(super) fn handle_address(&mut self, now: Instant, interface: InterfaceId, step: Step) {
        let (address, event) = match step {
            Step::Nothing => return,
            Step::Ready(address) => (
                Some(address),
                MobileNodeEvent::AddressReady { interface, address },
            ),
            Step::Lost(address) => (None, MobileNodeEvent::AddressLost { interface, address }),
        };
        self.events.push_back(event);
        let mut links = self.attachments.iter_mut();
        if let Some(link) = links.find(|link| link.interface == interface) {
            link.address = address;
        }
        if let Step::Lost(lost) = step {
            self.forget(lost);
        }
        self.reconsider(now, false);
    }

    pub(super) fn handle_news(&mut self, now: Instant, agent: Ipv4Addr, news: News) {
        let registered = self.binding(now).and_then(|bound| bound.point.agent);
        match news {
            News::None => {}
            News::Another => self.reconsider(now, false),
            News::Restarted => self.reconsider(now, registered == Some(agent)),
        }
    }

    /// Registers at the chosen link unless the mobile is already registered there, or `anew` is set.
    pub(super) fn reconsider(&mut self, now: Instant, anew: bool) {
        // Until it has moved or stayed, a mobile that has registered ahead keeps both registrations.
        if self.is_ahead() {
            return;
        }
        let Some(target) = self.target() else {
            return;
        };
        let pending = self.pending.as_ref();
        let is_pending = pending.is_some_and(|pending| pending.target.point == target.point);
        // The home agent may already have granted the pending request for another point.
        let is_in_doubt = pending.is_some_and(|pending| !pending.is_renewal);
        let is_there = match target.is_home {
            true => self.home_link == Some(target.point.interface),
            false => self.home_link.is_none() && self.registered(now) == Some(target.point),
        };
        if anew || !is_pending && (is_in_doubt || !is_there) {
            self.register(now, target);
        }
    }

    /// Returns the registration to make on the chosen link.
    fn target(&mut self) -> Option<Target> {
        let chosen = self.chosen?;
        let mut links = self.attachments.iter_mut();
        let link = links.find(|link| link.interface == chosen)?;
        let (interface, own, care_of) = (link.interface, link.address, link.care_of);
        let agent = link.discovery.choose().cloned();
        let is_home_agent = agent.as_ref().is_some_and(|agent| {
            agent.address == self.config.home_agent && agent.flags.contains(AgentFlags::HOME_AGENT)
        });
        if is_home_agent || own == Some(self.config.home_address) {
            return Some(self.target_at_home(interface));
        }
        if care_of == CareOf::ForeignAgent {
            return self.target_at(interface, &agent?);
        }
        // RFC 5944 section 3.1: an agent may require registration through it.
        let insists = |agent: &Agent| agent.flags.contains(AgentFlags::REGISTRATION_REQUIRED);
        let agent = agent.filter(insists);
        let address = own?;
        let home = self.target_at_home(interface);
        Some(Target {
            point: Point {
                care_of_address: address,
                agent: agent.as_ref().map(|agent| agent.address),
                ..home.point
            },
            is_home: false,
            is_colocated: true,
            reverse_tunnel: self.config.policy.uses_reverse_tunnel(),
            longest_lifetime: agent.map_or(u16::MAX, |agent| agent.registration_lifetime),
            end: address,
            ..home
        })
    }

    fn target_at_home(&self, interface: InterfaceId) -> Target {
        let home_address = self.config.home_address;
        Target {
            point: Point {
                interface,
                care_of_address: home_address,
                agent: None,
                gateway: None,
            },
            is_home: true,
            is_colocated: false,
            reverse_tunnel: false,
            encapsulation: self.config.encapsulation,
            header_compression: false,
            longest_lifetime: u16::MAX,
            end: home_address,
        }
    }

    /// Returns the registration with a foreign agent on a link.
    pub(super) fn target_at(&self, interface: InterfaceId, agent: &Agent) -> Option<Target> {
        let home = self.target_at_home(interface);
        let gateway = self.gateway_above(agent);
        let local = agent.care_of_address()?;
        let point = Point {
            care_of_address: gateway.unwrap_or(local),
            agent: Some(agent.address),
            gateway,
            ..home.point
        };
        Some(Target {
            point,
            is_home: false,
            reverse_tunnel: self.config.policy.uses_reverse_tunnel()
                && agent.flags.contains(AgentFlags::REVERSE_TUNNEL),
            // RFC 5944 section 3.6.1.1: no other may be requested.
            encapsulation: match offers(agent.flags, home.encapsulation) {
                true => home.encapsulation,
                false => Encapsulation::IpInIp,
            },
            header_compression: self.config.header_compression
                && agent.flags.contains(AgentFlags::HEADER_COMPRESSION),
            longest_lifetime: agent.registration_lifetime,
            end: local,
            ..home
        })
    }

    /// Returns the time of the next [`MobileNode::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let links = self.attachments.iter();
        let discoveries = links
            .clone()
            .filter_map(|link| link.discovery.poll_timeout());
        let acquisitions = links.filter_map(|link| link.acquisition.as_ref());
        let acquisitions = acquisitions.map(Acquisition::poll_timeout);
        let all = discoveries
            .chain(acquisitions)
            .chain(self.registration_timeout())
            .chain(self.preparation_timeout());
        all.min().filter(|&at| at < Instant::NEVER)
    }

    /// Sends the solicitations, DHCP messages and registration requests that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        for place in 0..self.attachments.len() {
            let link = &mut self.attachments[place];
            let interface = link.interface;
            if link.discovery.handle_timeout(now, &mut self.draws) {
                let ends = [self.config.home_address, ALL_ROUTERS];
                self.outbox
                    .send_discovery(Some(interface), ends, AgentDiscovery::Solicitation);
            }
            if let Some(acquisition) = &mut link.acquisition {
                let step = acquisition.handle_timeout(now, &mut self.draws, &mut self.outbox);
                self.handle_address(now, interface, step);
            }
        }
        self.handle_preparation_timeout(now);
        self.handle_registration_timeout(now);
        self.reconsider(now, false);
    }
}
