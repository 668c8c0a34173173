//! Acquisition of a co-located care-of address on a visited network: DHCP (RFC 2131) and address conflict detection
//! (RFC 5227), before the address is used or in the background.
//!
//! Study T (section 4.2) quotes 96 % shorter acquisitions with background detection. These links carry no ARP probes:
//! the detection only takes their time, and `handle_conflict` reports a conflict.

use super::{InterfaceId, Outbox};
use crate::mobility::draws::Draws;
use crate::packet::{Body, Packet, Payload};
use crate::time::{Duration, Instant};
use crate::wire::dhcp::{CLIENT_PORT, Dhcp, DhcpKind, SERVER_PORT};
use crate::wire::udp::UdpHeader;
use core::net::Ipv4Addr;

/// Mean time to the first retransmission, varied by up to one second; it doubles each time, up to 64 s (RFC 2131
/// section 4.1).
const FIRST_INTERVAL: Duration = Duration::from_secs(4);
const LONGEST_DOUBLINGS: u32 = 4;
/// Waiting time after a conflict (RFC 2131 section 3.1).
const CONFLICT_WAIT: Duration = Duration::from_secs(10);

/// Time of address conflict detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictCheck {
    /// Before the address is used.
    Before,
    /// While it is used.
    Background,
}

/// Result of a message or timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// No change for the mobile.
    Nothing,
    /// The address is ready for use.
    Ready(Ipv4Addr),
    /// The address must no longer be used.
    Lost(Ipv4Addr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Discovering,
    Requesting,
    Checking,
    Bound,
    Waiting,
}

/// A DHCP client on one link.
#[derive(Debug)]
pub(super) struct Acquisition {
    interface: InterfaceId,
    check: ConflictCheck,
    state: State,
    transaction: u32,
    client: [u8; 6],
    /// The offered or leased address.
    address: Ipv4Addr,
    server: Ipv4Addr,
    attempts: u32,
    /// Time of the next action.
    at: Instant,
    /// End of the lease.
    lease_end: Instant,
    /// True while the mobile knows the address as ready.
    told: bool,
}

impl Acquisition {
    pub(super) fn new(
        now: Instant,
        interface: InterfaceId,
        check: ConflictCheck,
        home_address: Ipv4Addr,
    ) -> Acquisition {
        let [a, b, c, d] = home_address.octets();
        Acquisition {
            interface,
            check,
            state: State::Discovering,
            transaction: 0,
            // A locally administered hardware address (IEEE 802: the second bit of the first byte).
            client: [2, 0, a, b, c, d],
            address: Ipv4Addr::UNSPECIFIED,
            server: Ipv4Addr::UNSPECIFIED,
            attempts: 0,
            at: now,
            lease_end: Instant::NEVER,
            told: false,
        }
    }

    pub(super) fn poll_timeout(&self) -> Instant {
        self.at
    }

    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        draws: &mut Draws,
        outbox: &mut Outbox,
    ) -> Step {
        if now < self.at {
            return Step::Nothing;
        }
        match self.state {
            State::Discovering | State::Waiting => {
                self.restart(draws);
                self.send(now, draws, outbox);
                Step::Nothing
            }
            State::Requesting if self.told && now >= self.lease_end => self.lose(now),
            // Four unanswered requests: the server counts as gone (RFC 2131 section 3.1 leaves the number to the
            // client).
            State::Requesting if !self.told && self.attempts >= 4 => {
                self.restart(draws);
                self.send(now, draws, outbox);
                Step::Nothing
            }
            State::Requesting => {
                self.send(now, draws, outbox);
                Step::Nothing
            }
            State::Checking => {
                self.state = State::Bound;
                self.at = self.renewal(now);
                self.tell()
            }
            State::Bound => {
                self.state = State::Requesting;
                self.attempts = 0;
                self.send(now, draws, outbox);
                Step::Nothing
            }
        }
    }

    /// Declines the address, which another node has.
    pub(super) fn handle_conflict(&mut self, now: Instant, outbox: &mut Outbox) -> Step {
        if !matches!(self.state, State::Checking | State::Bound) {
            return Step::Nothing;
        }
        self.transmit(DhcpKind::Decline, outbox);
        let lost = self.lose(now);
        self.at = now + CONFLICT_WAIT;
        self.state = State::Waiting;
        lost
    }

    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        message: &Dhcp,
        draws: &mut Draws,
        outbox: &mut Outbox,
    ) -> Step {
        if message.client != self.client || message.transaction != self.transaction {
            return Step::Nothing;
        }
        match (self.state, message.kind, message.server) {
            (State::Discovering, DhcpKind::Offer, Some(server)) => {
                self.state = State::Requesting;
                (self.address, self.server) = (message.address, server);
                self.attempts = 0;
                self.send(now, draws, outbox);
                Step::Nothing
            }
            (State::Requesting, DhcpKind::Acknowledge, _) if message.address == self.address => {
                let lease = message
                    .lease
                    .map(|seconds| Duration::from_secs(seconds.into()));
                self.lease_end = lease.map_or(Instant::NEVER, |lease| now + lease);
                if self.told {
                    self.state = State::Bound;
                    self.at = self.renewal(now);
                    return Step::Nothing;
                }
                self.state = State::Checking;
                self.at = now + check_time(draws);
                match self.check {
                    ConflictCheck::Before => Step::Nothing,
                    ConflictCheck::Background => self.tell(),
                }
            }
            (State::Requesting, DhcpKind::Refuse, _) => self.lose(now),
            _ => Step::Nothing,
        }
    }

    fn tell(&mut self) -> Step {
        let news = match self.told {
            true => Step::Nothing,
            false => Step::Ready(self.address),
        };
        self.told = true;
        news
    }

    /// Gives up the address and starts again.
    fn lose(&mut self, now: Instant) -> Step {
        self.state = State::Discovering;
        self.at = now;
        match core::mem::take(&mut self.told) {
            true => Step::Lost(self.address),
            false => Step::Nothing,
        }
    }

    /// Returns the time of renewal, at half of the lease (RFC 2131 section 4.4.5).
    fn renewal(&self, now: Instant) -> Instant {
        match self.lease_end {
            Instant::NEVER => Instant::NEVER,
            end => now + Duration::from_nanos(end.saturating_since(now).as_nanos() / 2),
        }
    }

    fn restart(&mut self, draws: &mut Draws) {
        if self.state != State::Discovering || self.attempts == 0 {
            self.transaction = draws.bits() as u32;
            self.attempts = 0;
        }
        self.state = State::Discovering;
    }

    fn send(&mut self, now: Instant, draws: &mut Draws, outbox: &mut Outbox) {
        let doublings = self.attempts.min(LONGEST_DOUBLINGS);
        let middle = FIRST_INTERVAL.saturating_mul(1 << doublings);
        let second = Duration::from_secs(1);
        self.at = now + draws.between(middle - second, middle + second);
        if self.told {
            self.at = self.at.min(self.lease_end);
        }
        self.attempts += 1;
        let kind = match self.state {
            State::Requesting => DhcpKind::Request,
            _ => DhcpKind::Discover,
        };
        self.transmit(kind, outbox);
    }

    fn transmit(&self, kind: DhcpKind, outbox: &mut Outbox) {
        let is_chosen = kind != DhcpKind::Discover;
        let message = Dhcp {
            kind,
            transaction: self.transaction,
            client: self.client,
            address: Ipv4Addr::UNSPECIFIED,
            requested: is_chosen.then_some(self.address),
            server: is_chosen.then_some(self.server),
            lease: None,
            prefix_length: None,
        };
        let ends = [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST];
        send(
            self.interface,
            ends,
            [CLIENT_PORT, SERVER_PORT],
            &message,
            outbox,
        );
    }
}

pub(super) fn send(
    interface: InterfaceId,
    [source, destination]: [Ipv4Addr; 2],
    [source_port, destination_port]: [u16; 2],
    message: &Dhcp,
    outbox: &mut Outbox,
) {
    let ip = outbox.header(source, destination, super::HOP_LIMIT);
    let ports = UdpHeader {
        source_port,
        destination_port,
    };
    let payload = Payload::Bytes(message.encode().into());
    outbox.send(Some(interface), ip, Body::Udp(ports, payload));
}

/// Decodes the DHCP message in a datagram to this port.
pub(super) fn message_to(port: u16, packet: &Packet) -> Option<Dhcp> {
    let Body::Udp(ports, Payload::Bytes(bytes)) = &packet.body else {
        return None;
    };
    let for_us = ports.destination_port == port;
    for_us.then(|| Dhcp::decode(bytes).ok()).flatten()
}

/// Draws the duration of three ARP probes (RFC 5227 section 2.1.1): up to a second before the first, one to two between
/// them, two after the last.
fn check_time(draws: &mut Draws) -> Duration {
    let second = Duration::from_secs(1);
    let mut between = || draws.between(second, second + second);
    let probes = between() + between();
    draws.up_to(second) + probes + second + second
}
