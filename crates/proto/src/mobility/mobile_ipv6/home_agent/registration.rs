//! Binding updates at the home agent (RFC 6275 sections 9.5.1 and 10.3, RFC 3963 section 6.2).

use super::{
    Binding, Detection, Former, HomeAgent, HomeAgentEvent, MEMORY_OF_DELETED, Stage, Strategy,
    Subscriber,
};
use crate::mobility::address_configuration::probe;
use crate::mobility::binding::{BindingSequence, duration};
use crate::mobility::buffering::PacketBuffer;
use crate::mobility::discovery;
use crate::mobility::mobile_ipv6::{
    Towards, is_from_home, is_routable, mobility_packet, sign_for_home,
};
use crate::time::Instant;
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate,
    Ipv4AddressAcknowledgement, Ipv4AddressStatus, Ipv4HomeAddress, MobilityMessage,
    PacketBuffering,
};
use crate::wire::neighbor_discovery::{ALL_NODES, NeighborAdvertisement, NeighborDiscovery};
use crate::wire::prefix::{Ipv4Prefix, Prefix};
use core::net::{IpAddr, Ipv6Addr};

/// An update, with its addresses.
struct Request {
    home: Ipv6Addr,
    /// Source of the update, and destination of the answer.
    source: Ipv6Addr,
    care_of: Ipv6Addr,
    /// True if the update ends the binding.
    deletes: bool,
    update: BindingUpdate,
}

impl Request {
    fn asks_for(&self, handling: PacketBuffering) -> bool {
        self.update.packet_buffering == Some(handling)
    }

    fn sequence(&self) -> BindingSequence {
        BindingSequence(self.update.sequence)
    }
}

impl HomeAgent {
    pub(super) fn handle_update(
        &mut self,
        now: Instant,
        (home, source): (Ipv6Addr, Ipv6Addr),
        update: BindingUpdate,
    ) {
        let is_home = update.home_registration && !update.anchor_registration;
        let is_local = update.anchor_registration && !update.home_registration;
        let is_meant = match self.settings.is_anchor_point {
            true => is_local,
            false => is_home,
        };
        if !is_meant || !is_routable(home) || !is_routable(source) {
            self.counts.unexpected += 1;
            return;
        }
        let care_of = update.alternate_care_of_address.unwrap_or(source);
        // A mobile at home has no binding, unless its packets are held because it is about to leave.
        let holds = matches!(self.settings.strategy, Strategy::Buffer(_))
            && update.packet_buffering == Some(PacketBuffering::Buffer);
        let request = Request {
            home,
            source,
            care_of,
            deletes: update.lifetime.units == 0 || care_of == home && !holds,
            update,
        };
        match self.check(now, &request) {
            Ok(_) if request.deletes => self.deregister(now, &request),
            Ok(prefixes) => self.register(now, &request, prefixes),
            Err(status) => {
                self.counts.refused_updates += 1;
                let mut answer = self.answer(&request, status);
                if status == BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW
                    && let Some(last) = self.last_sequence(now, home)
                {
                    answer.sequence = last.0;
                }
                self.send_answer(now, &request, answer);
            }
        }
    }

    /// Validates an update, and returns the prefixes to bind.
    fn check(&self, now: Instant, request: &Request) -> Result<Box<[Prefix]>, BindingStatus> {
        let Some(subscriber) = self.subscribers.get(&request.home) else {
            return Err(match self.settings.home_prefix.contains(request.home) {
                true => BindingStatus::NOT_HOME_AGENT,
                false => BindingStatus::NOT_HOME_SUBNET,
            });
        };
        if let Some(key) = &subscriber.key {
            let message = MobilityMessage::BindingUpdate(request.update.clone());
            if !is_from_home(key, (request.care_of, request.home), &message) {
                return Err(BindingStatus::AUTHENTICATION_FAILED);
            }
        }
        let last = self.last_sequence(now, request.home);
        if last.is_some_and(|last| !request.sequence().is_after(last)) {
            return Err(BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW);
        }
        let known = self.bindings.get(&request.home.to_bits());
        let known = known.filter(|known| known.expires > now);
        if request.deletes {
            // Section 10.3.2.
            return match known {
                Some(_) => Ok(Box::default()),
                None => Err(BindingStatus::NOT_HOME_AGENT),
            };
        }
        let registered = known.filter(|known| !matches!(known.stage, Stage::Gone));
        if registered.is_some_and(|known| known.mobile_router != request.update.mobile_router) {
            return Err(BindingStatus::REGISTRATION_TYPE_CHANGE_DISALLOWED);
        }
        let prefixes = self.check_prefixes(subscriber, &request.update)?;
        // A mobile cannot be at its home agent's address, or inside the network that it carries.
        let care_of = IpAddr::V6(request.care_of);
        let inside = prefixes.iter().any(|prefix| prefix.contains(care_of));
        if inside || !is_routable(request.care_of) || request.care_of == self.settings.address {
            return Err(BindingStatus::INVALID_CARE_OF_ADDRESS);
        }
        Ok(prefixes)
    }

    /// Returns the sequence number that a mobile's next update must come after.
    fn last_sequence(&self, now: Instant, home: Ipv6Addr) -> Option<BindingSequence> {
        match self.bindings.get(&home.to_bits()) {
            Some(known) if known.expires > now || self.signs(home) => Some(known.sequence),
            _ => self.last_sequences.get(&home).copied(),
        }
    }

    /// Validates a mobile router's prefixes: those listed (explicit mode), otherwise those configured (implicit mode)
    /// (RFC 3963 section 6.2).
    fn check_prefixes(
        &self,
        subscriber: &Subscriber,
        update: &BindingUpdate,
    ) -> Result<Box<[Prefix]>, BindingStatus> {
        if !update.mobile_router {
            return Ok(Box::default());
        }
        let Some(known) = &subscriber.prefixes else {
            return Err(BindingStatus::MOBILE_ROUTER_NOT_PERMITTED);
        };
        if update.mobile_network_prefixes.is_empty() && update.ipv4_home_addresses.is_empty() {
            return match known.is_empty() {
                true => Err(BindingStatus::FORWARDING_SETUP_FAILED),
                false => Ok(known.clone()),
            };
        }
        for prefix in &update.mobile_network_prefixes {
            let routable = is_routable(prefix.address());
            if prefix.length() == 0 || !routable || prefix.contains(self.settings.address) {
                return Err(BindingStatus::INVALID_PREFIX);
            }
            if !includes(known, (*prefix).into()) {
                return Err(BindingStatus::NOT_AUTHORIZED_FOR_PREFIX);
            }
        }
        // A wrong IPv4 address is refused alone (RFC 5555 section 3.2.1).
        let ipv4 = update.ipv4_home_addresses.iter();
        let ipv4 = ipv4.filter_map(|asked| ipv4_prefix(subscriber, asked).ok());
        let ipv6 = update.mobile_network_prefixes.iter().copied();
        Ok(ipv6.map(Prefix::V6).chain(ipv4.map(Prefix::V4)).collect())
    }

    /// Answers an update's IPv4 addresses.
    fn acknowledge_ipv4(
        &self,
        home: Ipv6Addr,
        update: &BindingUpdate,
    ) -> Vec<Ipv4AddressAcknowledgement> {
        let subscriber = self.subscribers.get(&home);
        let answer = |asked: &Ipv4HomeAddress| {
            let prefix = match subscriber {
                Some(subscriber) if update.mobile_router => ipv4_prefix(subscriber, asked),
                // An IPv4 address of a mobile that is no router is not bound.
                _ => Err(Ipv4AddressStatus::ADMINISTRATIVELY_PROHIBITED),
            };
            Ipv4AddressAcknowledgement {
                status: prefix.err().unwrap_or(Ipv4AddressStatus::ACCEPTED),
                prefix_length: prefix.map_or(0, |prefix| prefix.length()),
                address: asked.address,
            }
        };
        update.ipv4_home_addresses.iter().map(answer).collect()
    }

    fn register(&mut self, now: Instant, request: &Request, prefixes: Box<[Prefix]>) {
        let lifetime = request.update.lifetime.min(self.settings.longest_lifetime);
        let known = self.bindings.remove(&request.home.to_bits());
        let known = known.map(|known| *known);
        let stayed = known.as_ref().map(|known| known.care_of) == Some(request.care_of);
        if !stayed {
            self.note_moved(now, request);
        }
        let (known, deadline) = match known {
            Some(known) => {
                self.remove_prefixes(request.home, &known.prefixes);
                let deadline = known.deadline;
                (
                    Some(known).filter(|known| !matches!(known.stage, Stage::Gone)),
                    deadline,
                )
            }
            None => (None, Instant::NEVER),
        };
        let former = match &known {
            Some(known) if known.care_of == request.care_of => known.former,
            known => {
                let care_of = known.as_ref().map_or(request.home, |known| known.care_of);
                Some(self.former(now, care_of, request))
            }
        };
        let binding = Binding {
            care_of: request.care_of,
            former,
            expires: now + duration(lifetime),
            deadline,
            sequence: request.sequence(),
            lifetime,
            stage: self.next_stage(now, known, request),
            mobile_router: request.update.mobile_router,
            prefixes,
        };
        let detecting = matches!(binding.stage, Stage::Detecting(_));
        self.bindings
            .insert(request.home.to_bits(), Box::new(binding));
        if detecting {
            // The answer waits (section 10.3.1), and until then no packets are intercepted.
            return self.step(now, request.home);
        }
        self.accept(now, request.home, request.source, &request.update);
    }

    /// Reports the mobile's move to the node's transports.
    fn note_moved(&mut self, now: Instant, request: &Request) {
        let report = request.update.path_report;
        let moved = report.map(|report| (request.home, report.heard(now)));
        self.moved.extend(moved);
    }

    /// Makes the previous location of a mobile that leaves it.
    fn former(&self, now: Instant, care_of: Ipv6Addr, request: &Request) -> Former {
        let asked = request.asks_for(PacketBuffering::Bicast);
        let overlap = match self.settings.strategy {
            Strategy::Bicast { overlap } => Some(overlap),
            Strategy::Forward | Strategy::Buffer(_) => {
                self.settings.bicast_on_request.filter(|_| asked)
            }
        };
        Former {
            care_of,
            copied_until: overlap.map_or(now, |overlap| now + overlap),
            taken_until: now + MEMORY_OF_DELETED,
        }
    }

    /// Returns the number of solicitations for a home address; none in a prefix that its mobile has to itself.
    fn solicitations(&self) -> u8 {
        match self.prefix_server {
            Some(_) => 0,
            None => self.settings.detection.transmits(),
        }
    }

    fn next_stage(&self, now: Instant, known: Option<Binding>, request: &Request) -> Stage {
        let asks = request.asks_for(PacketBuffering::Buffer);
        let stage = known.map(|known| known.stage);
        // A mobile at home, which is about to leave, already has its address, so there is no detection.
        let stage = match request.source == request.home {
            true => stage.or(Some(Stage::Bound)),
            false => stage,
        };
        match (stage, self.settings.strategy) {
            (None | Some(Stage::Gone), _) => match self.solicitations() {
                0 => Stage::Bound,
                left => Stage::Detecting(Box::new(Detection {
                    left,
                    at: now,
                    ipv4_home_addresses: request.update.ipv4_home_addresses.clone(),
                })),
            },
            (Some(Stage::Detecting(mut detection)), _) => {
                detection.ipv4_home_addresses = request.update.ipv4_home_addresses.clone();
                Stage::Detecting(detection)
            }
            (Some(Stage::Bound), Strategy::Buffer(policy)) if asks => {
                Stage::Buffering(Box::new(PacketBuffer::new(policy)))
            }
            (Some(Stage::Buffering(mut buffer)), _) => {
                match asks {
                    true => buffer.hold(),
                    false => buffer.begin_release(now),
                }
                Stage::Buffering(buffer)
            }
            (Some(stage), _) => stage,
        }
    }

    /// Completes a registration: binds the prefixes, answers the mobile, and releases held packets.
    fn accept(&mut self, now: Instant, home: Ipv6Addr, source: Ipv6Addr, update: &BindingUpdate) {
        let Some(binding) = self.bindings.get(&home.to_bits()) else {
            return;
        };
        let (lifetime, care_of) = (binding.lifetime, binding.care_of);
        self.bound.push_back(Prefix::single(home.into()));
        for &prefix in &binding.prefixes {
            self.prefixes.insert(prefix.address(), (prefix, home));
            self.bound.push_back(prefix);
        }
        let holds = matches!(binding.stage, Stage::Buffering(_));
        let is_granted = |asked: &PacketBuffering| match asked {
            PacketBuffering::Forward | PacketBuffering::Buffer => holds,
            PacketBuffering::Bicast => self.settings.bicast_on_request.is_some(),
        };
        let granted = update.packet_buffering.filter(is_granted);
        let request = Request {
            home,
            source,
            care_of,
            deletes: false,
            update: update.clone(),
        };
        let mut answer = self.answer(&request, BindingStatus::ACCEPTED);
        answer.lifetime = lifetime;
        answer.packet_buffering = granted;
        answer.ipv4_acknowledgements = self.acknowledge_ipv4(home, update);
        self.send_answer(now, &request, answer);
        self.release(now, home);
        self.schedule(home);
    }

    /// Ends the detection, and answers the mobile from the binding, which has the update's contents.
    pub(super) fn finish_detection(&mut self, now: Instant, home: Ipv6Addr, status: BindingStatus) {
        let Some(binding) = self.bindings.get_mut(&home.to_bits()) else {
            return;
        };
        let ipv4_home_addresses = match &mut binding.stage {
            Stage::Detecting(detection) => core::mem::take(&mut detection.ipv4_home_addresses),
            _ => Vec::new(),
        };
        let update = BindingUpdate {
            sequence: binding.sequence.0,
            mobile_router: binding.mobile_router,
            lifetime: binding.lifetime,
            ipv4_home_addresses,
            ..BindingUpdate::default()
        };
        let care_of = binding.care_of;
        if status.is_accepted() {
            binding.stage = Stage::Bound;
            self.accept(now, home, care_of, &update);
            self.defend(home, ALL_NODES);
            return;
        }
        self.counts.refused_updates += 1;
        let request = Request {
            home,
            source: care_of,
            care_of,
            deletes: false,
            update,
        };
        self.forget(home);
        let answer = self.answer(&request, status);
        self.send_answer(now, &request, answer);
    }

    /// Deletes the binding of a mobile that is at home or wants none (section 10.3.2). Held packets go to the home
    /// link.
    fn deregister(&mut self, now: Instant, request: &Request) {
        let Some(binding) = self.bindings.get_mut(&request.home.to_bits()) else {
            return;
        };
        let stage = core::mem::replace(&mut binding.stage, Stage::Gone);
        binding.sequence = request.sequence();
        binding.former = None;
        binding.expires = now + MEMORY_OF_DELETED;
        let prefixes = core::mem::take(&mut binding.prefixes);
        self.remove_prefixes(request.home, &prefixes);
        self.note_moved(now, request);
        self.schedule(request.home);
        let answer = self.answer(request, BindingStatus::ACCEPTED);
        self.send_answer(now, request, answer);
        if let Stage::Buffering(mut buffer) = stage {
            // There is no slow link behind the home agent that would need pacing.
            let packets = buffer.release_all(now);
            self.outbox
                .extend(packets.map(|packet| (Towards::Network, packet)));
            self.held.extend(buffer.take_told());
            self.counts.buffered.add(buffer.counts());
        }
    }

    fn answer(&self, request: &Request, status: BindingStatus) -> BindingAcknowledgement {
        let sequence = request.update.sequence;
        BindingAcknowledgement {
            mobile_router: request.update.mobile_router && status.is_accepted(),
            ..BindingAcknowledgement::new(status, sequence, BindingLifetime::ZERO)
        }
    }

    fn send_answer(&mut self, now: Instant, request: &Request, answer: BindingAcknowledgement) {
        self.events.push_back(HomeAgentEvent::Updated {
            home_address: request.home,
            care_of: request.care_of,
            status: answer.status,
            buffering: answer.packet_buffering == Some(PacketBuffering::Buffer),
        });
        let mut message = MobilityMessage::BindingAcknowledgement(answer);
        let subscriber = self.subscribers.get(&request.home);
        if let Some(key) = subscriber.and_then(|subscriber| subscriber.key.as_ref()) {
            sign_for_home(key, (request.care_of, request.home), &mut message);
        }
        // Section 9.5.4: to the care-of address; a mobile at home is answered there, whatever the binding cache says.
        let at_home = request.source == request.home;
        let routing = (!at_home).then_some(request.home);
        let addresses = (self.settings.address, request.source);
        let packet = mobility_packet(addresses, (None, routing), message);
        if at_home {
            self.outbox.push_back((Towards::Network, packet));
        } else {
            self.forward(now, packet, None);
        }
    }

    pub(super) fn send_probe(&mut self, home: Ipv6Addr) {
        let towards = Towards::Interface(self.settings.home_interface);
        self.outbox.push_back((towards, probe(home)));
    }

    /// Claims a mobile's address on the home link (section 10.4.1).
    pub(super) fn defend(&mut self, home: Ipv6Addr, to: Ipv6Addr) {
        let message = NeighborDiscovery::NeighborAdvertisement(NeighborAdvertisement {
            target: home,
            router: false,
            solicited: to != ALL_NODES,
            overrides: true,
            target_link_layer_address: None,
        });
        let towards = Towards::Interface(self.settings.home_interface);
        let packet = discovery(self.settings.address, to, message);
        self.outbox.push_back((towards, packet));
    }
}

/// Returns true if one of the `known` prefixes includes a prefix.
fn includes(known: &[Prefix], prefix: Prefix) -> bool {
    known.iter().any(|known| known.includes(&prefix))
}

/// Returns the IPv4 prefix to bind for a mobile router.
///
/// # Errors
/// The status with which it is refused (RFC 5555 section 3.2.1).
fn ipv4_prefix(
    subscriber: &Subscriber,
    asked: &Ipv4HomeAddress,
) -> Result<Ipv4Prefix, Ipv4AddressStatus> {
    if asked.address.is_unspecified() {
        return Err(Ipv4AddressStatus::DYNAMIC_ASSIGNMENT_NOT_AVAILABLE);
    }
    let prefix = Ipv4Prefix::new(asked.address, asked.prefix_length)
        .filter(|prefix| prefix.length() > 0)
        .ok_or(Ipv4AddressStatus::INVALID_ADDRESS)?;
    let known = subscriber.prefixes.as_deref().unwrap_or_default();
    match includes(known, prefix.into()) {
        true => Ok(prefix),
        false if asked.asks_for_prefix => Err(Ipv4AddressStatus::PREFIX_ALLOCATION_UNAUTHORIZED),
        false => Err(Ipv4AddressStatus::INCORRECT_HOME_ADDRESS),
    }
}
