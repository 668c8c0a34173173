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
            address: match care_of {
                CareOf::Known(address) => Some(address),
                _ => None,
            },
        });
        self.chosen = Some(interface);
        self.reconsider(now, false);
        self.handle_timeout(now);
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
        };
        // Before an old link with the same address.
        self.attachments.insert(0, attachment);
        self.chosen = Some(interface);
    }

    /// Detaches from a link that is gone or shall no longer be used.
    pub fn detach(&mut self, interface: InterfaceId) {
        self.attachments.retain(|link| link.interface != interface);
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
        let wants_reverse_tunnel = self.config.policy.uses_reverse_tunnel();
        let home_address = self.config.home_address;
        let home = Target {
            point: Point {
                interface: link.interface,
                care_of_address: home_address,
                agent: None,
                gateway: None,
            },
            is_home: true,
            is_colocated: false,
            reverse_tunnel: false,
            encapsulation: self.config.encapsulation,
            longest_lifetime: u16::MAX,
            end: home_address,
        };
        let own = link.address;
        let agent = link.discovery.choose();
        let is_home_agent = agent.is_some_and(|agent| {
            agent.address == self.config.home_agent && agent.flags.contains(AgentFlags::HOME_AGENT)
        });
        if is_home_agent || own == Some(home_address) {
            return Some(home);
        }
        if link.care_of == CareOf::ForeignAgent {
            let agent = agent?;
            let gateway = agent.gateway().filter(|_| self.config.foreign.is_some());
            let local = agent.care_of_address()?;
            let point = Point {
                care_of_address: gateway.unwrap_or(local),
                agent: Some(agent.address),
                gateway,
                ..home.point
            };
            return Some(Target {
                point,
                is_home: false,
                reverse_tunnel: wants_reverse_tunnel
                    && agent.flags.contains(AgentFlags::REVERSE_TUNNEL),
                // RFC 5944 section 3.6.1.1: no other may be requested.
                encapsulation: match offers(agent.flags, home.encapsulation) {
                    true => home.encapsulation,
                    false => Encapsulation::IpInIp,
                },
                longest_lifetime: agent.registration_lifetime,
                end: local,
                ..home
            });
        }
        // RFC 5944 section 3.1: an agent may require registration through it.
        let insists = |agent: &&Agent| agent.flags.contains(AgentFlags::REGISTRATION_REQUIRED);
        let agent = agent.filter(insists);
        let address = own?;
        Some(Target {
            point: Point {
                care_of_address: address,
                agent: agent.map(|agent| agent.address),
                ..home.point
            },
            is_home: false,
            is_colocated: true,
            reverse_tunnel: wants_reverse_tunnel,
            encapsulation: home.encapsulation,
            longest_lifetime: agent.map_or(u16::MAX, |agent| agent.registration_lifetime),
            end: address,
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
            .chain(self.registration_timeout());
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
                    .send_discovery(interface, ends, AgentDiscovery::Solicitation);
            }
            if let Some(acquisition) = &mut link.acquisition {
                let step = acquisition.handle_timeout(now, &mut self.draws, &mut self.outbox);
                self.handle_address(now, interface, step);
            }
        }
        self.handle_registration_timeout(now);
        self.reconsider(now, false);
    }
}
