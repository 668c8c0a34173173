//! An uplink of a mobile that registers over IPv4 in UDP.

use super::liveness::{Action, Liveness};
use super::{is_proved, is_signalling, read, signed};
use crate::interface::LinkEvent;
use crate::mobility::mobile_ipv6::{SharedKey, mobility_packet, refresh_request, sign_for_home};
use crate::packet::{Body, Packet};
use crate::time::{Duration, Instant};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingLifetime, BindingStatus, BindingUpdate, MobilityMessage,
    Timestamp,
};
use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::VecDeque;

/// Maximum number of updates awaiting an answer: the interval doubles with each transmission, so older ones are
/// obsolete.
const MOST_AWAITED: usize = 8;

/// Settings of an uplink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileEndSettings {
    /// Home address of the mobile.
    pub home_address: Ipv6Addr,
    /// Address of the home agent.
    pub home_agent: Ipv6Addr,
    /// Care-of address that the mobile's own agent has on this uplink.
    pub care_of: Ipv6Addr,
    /// Security association with the home agent.
    pub key: SharedKey,
    /// Unix time at the instant zero, in nanoseconds. The home agent's first answer corrects a wrong clock.
    pub unix_nanoseconds: u64,
}

/// Counts of messages not accepted or not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MobileEndCounts {
    /// Answers that are malformed or not from the home agent.
    pub unauthenticated: u64,
    /// Answers to no update of this uplink, or repeated ones.
    pub unexpected: u64,
    /// Messages of the mobile without a form over IPv4.
    pub unsendable: u64,
}

/// An uplink. Set its [address](Self::set_address); pass the mobile's messages to
/// [`handle_message`](Self::handle_message) and the home agent's datagrams to
/// [`handle_datagram`](Self::handle_datagram); call [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout). After each, drain the three other polls.
#[derive(Clone, Debug)]
pub struct MobileEnd {
    settings: MobileEndSettings,
    address: Option<Ipv4Addr>,
    /// Timestamp at the instant zero.
    zero: Timestamp,
    latest: Timestamp,
    awaited: VecDeque<Timestamp>,
    probes: u32,
    liveness: Liveness,
    /// True once the home agent has accepted an update over this uplink.
    has_registered: bool,
    counts: MobileEndCounts,
    outbox: VecDeque<Packet>,
    inbox: VecDeque<Packet>,
    events: VecDeque<LinkEvent>,
}

impl MobileEnd {
    /// Creates an uplink without an address.
    pub fn new(settings: MobileEndSettings) -> MobileEnd {
        let zero = Timestamp::of_unix(settings.unix_nanoseconds);
        MobileEnd {
            settings,
            address: None,
            zero,
            latest: Timestamp(zero.0.wrapping_sub(1)),
            awaited: VecDeque::new(),
            probes: 0,
            liveness: Liveness::default(),
            has_registered: false,
            counts: MobileEndCounts::default(),
            outbox: VecDeque::new(),
            inbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the counts.
    pub const fn counts(&self) -> MobileEndCounts {
        self.counts
    }

    /// Returns true if packets are believed to pass.
    pub const fn is_up(&self) -> bool {
        self.liveness.is_up()
    }

    /// Sets the uplink's IPv4 address; `None` while the link is down. The mobile registers again after a change.
    pub fn set_address(&mut self, now: Instant, address: Option<Ipv4Addr>) {
        if self.address == address {
            return;
        }
        self.address = address;
        match (address.is_some(), self.is_up()) {
            (true, false) => self.go_up(now),
            (true, true) => self.liveness.moved(now),
            (false, was_up) => {
                self.liveness.down();
                self.awaited.clear();
                self.events.extend(was_up.then_some(LinkEvent::Down));
            }
        }
    }

    fn go_up(&mut self, now: Instant) {
        self.liveness.up(now, self.has_registered);
        self.events.push_back(LinkEvent::Up);
    }

    /// Notes a sent packet of the tunnel.
    pub fn note_sent(&mut self, now: Instant) {
        self.liveness.sent(now);
    }

    /// Takes in a message from the mobile to its home agent; returns the packet for the datagram if the message has a
    /// form over IPv4.
    pub fn handle_message(&mut self, now: Instant, packet: &Packet) -> Option<Packet> {
        let update = match &packet.body {
            Body::Extended(extended) => match &extended.body {
                Body::Mobility(message) => match &**message {
                    MobilityMessage::BindingUpdate(update) => Some(update),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        // An alternate care-of address belongs to another uplink of this mobile, and only its own agent knows it.
        let update = update.filter(|update| update.alternate_care_of_address.is_none());
        let (Some(update), Some(_)) = (update, self.address) else {
            self.counts.unsendable += 1;
            return None;
        };
        let timestamp = self.next_timestamp(now);
        self.liveness.asked(now);
        Some(self.on_the_wire(update.clone(), timestamp))
    }

    /// Converts an update to its form over IPv4.
    fn on_the_wire(&mut self, update: BindingUpdate, timestamp: Timestamp) -> Packet {
        self.awaited.push_back(timestamp);
        if self.awaited.len() > MOST_AWAITED {
            self.awaited.pop_front();
        }
        let update = BindingUpdate {
            forces_udp_encapsulation: true,
            ipv4_care_of_address: self.address,
            timestamp: Some(timestamp),
            ..update
        };
        let home = self.settings.home_address;
        let message = MobilityMessage::BindingUpdate(update);
        signed(
            &self.settings.key,
            home,
            (home, self.settings.home_agent),
            message,
        )
    }

    /// Returns the timestamp of the present, later than all before.
    fn next_timestamp(&mut self, now: Instant) -> Timestamp {
        let passed = Timestamp::of_unix(now.as_nanos()).0 - Timestamp::of_unix(0).0;
        let present = Timestamp(self.zero.0.wrapping_add(passed));
        self.latest = match present.is_after(self.latest) {
            true => present,
            false => Timestamp(self.latest.0.wrapping_add(1)),
        };
        self.latest
    }

    /// Takes in a datagram from the home agent; returns true for a tunnelled packet, to be passed on unchanged.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) -> bool {
        if is_signalling(datagram, self.settings.home_address) {
            self.handle_answer(now, datagram);
            return false;
        }
        self.liveness.received();
        true
    }

    fn handle_answer(&mut self, now: Instant, datagram: &[u8]) {
        let home = self.settings.home_address;
        let read = read(datagram).filter(|read| read.source == self.settings.home_agent);
        let Some(MobilityMessage::BindingAcknowledgement(answer)) = read
            .filter(|_| is_proved(&self.settings.key, home, datagram))
            .map(|read| read.message)
        else {
            self.counts.unauthenticated += 1;
            return;
        };
        let is_mismatch = answer.status == BindingStatus::IDENTIFICATION_MISMATCH;
        let Some(asked) = self.take_awaited(&answer, is_mismatch) else {
            self.counts.unexpected += 1;
            return;
        };
        let was_up = self.is_up();
        if !was_up {
            self.go_up(now);
        }
        self.liveness.answered();
        match (is_mismatch, answer.timestamp) {
            // A probe's timestamp is out of date on purpose.
            (true, _) if is_probe(asked) => {}
            (true, Some(timestamp)) => self.set_clock(now, timestamp),
            _ if was_up => {
                self.has_registered |= answer.status.is_accepted();
                self.pass_on(answer);
            }
            _ => {}
        }
    }

    /// Removes and returns the timestamp that an answer refers to.
    fn take_awaited(
        &mut self,
        answer: &BindingAcknowledgement,
        is_mismatch: bool,
    ) -> Option<Timestamp> {
        let timestamp = answer.timestamp?;
        let is_answered = |awaited: &Timestamp| match is_mismatch {
            true => awaited.fraction() == timestamp.fraction(),
            false => *awaited == timestamp,
        };
        let place = self.awaited.iter().position(is_answered)?;
        self.awaited.remove(place)
    }

    /// Sets the clock by the home agent's seconds (RFC 4285 section 6), and registers. The fraction of the second is
    /// unknown; one more second makes the next timestamp later than those that another uplink may have sent.
    fn set_clock(&mut self, now: Instant, home_agents: Timestamp) {
        let passed = Timestamp::of_unix(now.as_nanos()).0 - Timestamp::of_unix(0).0;
        let present = u64::from(home_agents.seconds().wrapping_add(1)) << 32;
        self.zero = Timestamp(present.wrapping_sub(passed));
        self.latest = Timestamp(present.wrapping_sub(1));
        self.awaited.clear();
        self.liveness.moved(now);
    }

    /// Passes an answer to the mobile in its own form, and sets the time of the next update.
    fn pass_on(&mut self, answer: BindingAcknowledgement) {
        let MobileEndSettings {
            home_address,
            home_agent,
            care_of,
            ref key,
            ..
        } = self.settings;
        let refresh = answer.nat_detection.and_then(|nat| nat.refresh_interval());
        let refresh = refresh.map(|interval| lifetime(interval).max(BindingLifetime { units: 1 }));
        let advice = answer.refresh_advice.into_iter().chain(refresh).min();
        let mut message = MobilityMessage::BindingAcknowledgement(BindingAcknowledgement {
            refresh_advice: advice.filter(|advice| *advice < answer.lifetime),
            nat_detection: None,
            timestamp: None,
            ..answer
        });
        sign_for_home(key, (care_of, home_address), &mut message);
        let packet = mobility_packet((home_agent, care_of), (None, Some(home_address)), message);
        self.inbox.push_back(packet);
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.liveness.poll_timeout()
    }

    /// Performs the actions that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(action) = self.liveness.handle_timeout(now) {
            match action {
                Action::Dead => self.events.push_back(LinkEvent::Down),
                Action::Update => self.ask_for_update(),
                Action::Probe => self.probe(),
            }
        }
    }

    /// Asks the mobile to register again, as its home agent may (RFC 6275 section 6.1.2).
    fn ask_for_update(&mut self) {
        let request = refresh_request(self.settings.home_agent, self.settings.care_of);
        self.inbox.push_back(request);
    }

    /// Probes the home agent by an update of the year 1900, which it always refuses as out of date, without a change to
    /// any binding.
    fn probe(&mut self) {
        self.probes = self.probes.wrapping_add(1);
        let update = BindingUpdate {
            acknowledge: true,
            home_registration: true,
            ..BindingUpdate::default()
        };
        let packet = self.on_the_wire(update, Timestamp(self.probes.into()));
        self.outbox.push_back(packet);
    }

    /// Returns the next packet for the home agent.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.outbox.pop_front()
    }

    /// Returns the next packet for the mobile's agent.
    pub fn poll_received(&mut self) -> Option<Packet> {
        self.inbox.pop_front()
    }

    /// Returns the next link event: [`LinkEvent::Up`] or [`LinkEvent::Down`].
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }
}

const fn is_probe(timestamp: Timestamp) -> bool {
    timestamp.seconds() == 0
}

fn lifetime(interval: Duration) -> BindingLifetime {
    let seconds = interval.as_nanos() / 1_000_000_000;
    BindingLifetime::at_most(u32::try_from(seconds).unwrap_or(u32::MAX))
}
