//! A node without clock and devices: time, packets and link events in, packets and events out.
//!
//! Each call drains the node. Its attachment chooses a mobile's link. A mobile stays on all of its links, and a device
//! carries packets whenever it is up, so that a device needs no commands from the attachment. The mobility protocol,
//! not a route, chooses the interface of outgoing packets.

use crate::medium::News;
use crate::node;
use baton_proto::host::{Host, HostEvent, Verdict};
use baton_proto::interface::{InterfaceId, LinkEvent};
use baton_proto::mobility::attachment::{Output, Signal};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;

/// The owner of a node: its applications, and the receiver of its events.
pub trait Owner {
    /// Takes in an event of the node.
    fn handle_event(&mut self, now: Instant, host: &mut Host, event: HostEvent);
    /// Takes in a signal of a mobile's attachment, after the node's own parts.
    fn handle_attachment(&mut self, now: Instant, signal: Signal);
    /// Takes in that the link at an interface is up or down, before the node.
    fn handle_link(&mut self, now: Instant, link: (InterfaceId, bool));
    /// Takes in a medium's news for an operator.
    fn handle_news(&mut self, _now: Instant, _interface: InterfaceId, _news: &News) {}
}

/// The outlet for a node's packets.
pub trait Outlet {
    /// Takes a packet that leaves by an interface.
    fn send(&mut self, interface: InterfaceId, packet: &Packet);
}

/// A node without clock and devices.
#[derive(Debug)]
pub struct Engine {
    host: Host,
}

impl Engine {
    /// Creates an engine for a node whose links are all down until reported up.
    pub fn new(mut host: Host) -> Engine {
        if let Some(attachment) = host.attachment_mut() {
            attachment.begin(Instant::ZERO, &[]);
        }
        Engine { host }
    }

    /// Returns the node, mutably, between two calls.
    pub fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// Returns the time of the next [`advance`](Self::advance).
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.host.poll_timeout()
    }

    /// Performs the actions due at `now`.
    pub fn advance(&mut self, now: Instant, owner: &mut impl Owner, outlet: &mut impl Outlet) {
        if self.poll_timeout().is_none_or(|due| due > now) {
            return;
        }
        self.host.handle_timeout(now);
        self.drain(now, owner, outlet);
    }

    /// Takes in that the link at an interface is up or down.
    pub fn handle_link(
        &mut self,
        now: Instant,
        (interface, is_up): (InterfaceId, bool),
        owner: &mut impl Owner,
        outlet: &mut impl Outlet,
    ) {
        owner.handle_link(now, (interface, is_up));
        let event = match is_up {
            true => LinkEvent::Up,
            false => LinkEvent::Down,
        };
        self.handle_event(now, (interface, event), owner, outlet);
    }

    /// Takes in an event of the link at an interface.
    pub fn handle_event(
        &mut self,
        now: Instant,
        (interface, event): (InterfaceId, LinkEvent),
        owner: &mut impl Owner,
        outlet: &mut impl Outlet,
    ) {
        self.host.handle_link(now, interface, event);
        self.drain(now, owner, outlet);
    }

    /// Takes in that the link at an interface is expected to go down at a time, or (`None`) to stay up. A mobile leaves
    /// it for another one that stays up; if there is none, it asks its home agent to hold packets. A gateway leaves it.
    pub fn foresee(
        &mut self,
        now: Instant,
        (interface, loss): (InterfaceId, Option<Instant>),
        owner: &mut impl Owner,
        outlet: &mut impl Outlet,
    ) {
        if let Some(attachment) = self.host.attachment_mut() {
            attachment.foresee(now, interface, loss.is_some());
        }
        self.advance(now, owner, outlet);
        let event = match loss {
            Some(_) => LinkEvent::GoingDown,
            None => LinkEvent::Rollback,
        };
        self.handle_event(now, (interface, event), owner, outlet);
    }

    /// Takes in a restart of the peer: of a mobile node's home agent, or of the other gateway of a pair.
    pub fn handle_restarted_peer(
        &mut self,
        now: Instant,
        owner: &mut impl Owner,
        outlet: &mut impl Outlet,
    ) {
        node::peer_restarted(&mut self.host, now);
        self.drain(now, owner, outlet);
    }

    /// Takes in a packet from an interface: the node accepts, forwards or drops it.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        (interface, mut packet): (InterfaceId, Packet),
        owner: &mut impl Owner,
        outlet: &mut impl Outlet,
    ) {
        let length = packet.wire_length();
        match self.host.route(now, interface, &mut packet, length) {
            Verdict::Local => self.host.handle_packet(now, interface, packet),
            Verdict::Forward(interface) => outlet.send(interface, &packet),
            Verdict::Discard => {}
        }
        self.drain(now, owner, outlet);
    }

    /// Drains the node.
    pub fn drain(&mut self, now: Instant, owner: &mut impl Owner, outlet: &mut impl Outlet) {
        loop {
            self.pump(now, owner, outlet);
            match self.host.poll_attachment(now) {
                Some(Output::Signal(signal)) => owner.handle_attachment(now, signal),
                Some(Output::Command(..)) => {}
                None => return,
            }
        }
    }

    /// Drains all parts of the node but its attachment.
    fn pump(&mut self, now: Instant, owner: &mut impl Owner, outlet: &mut impl Outlet) {
        loop {
            while let Some(event) = self.host.poll_event() {
                owner.handle_event(now, &mut self.host, event);
            }
            while let Some((interface, packet)) = self.host.poll_transmit(now) {
                outlet.send(interface, &packet);
            }
            // These are for a laboratory, which records them.
            while self.host.poll_changed().is_some() {}
            while self.host.poll_staying().is_some() {}
            // A packet without a route, or too long for it, has become an event.
            if let Some(event) = self.host.poll_event() {
                owner.handle_event(now, &mut self.host, event);
            } else if !self.host.may_transmit() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
