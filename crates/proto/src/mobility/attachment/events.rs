//! Link events at a mobile.

use super::access::Leaving;
use super::{Attachment, Begun, Kind, Signal};
use crate::interface::{InterfaceId, LinkEvent};
use crate::time::Instant;

impl Attachment {
    /// Takes in a medium's event at an interface.
    pub fn handle_link(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        let Some(access) = self.access(interface) else {
            return;
        };
        match (event, access.is_network) {
            (LinkEvent::QueueDrained, _) => self.handle_drained(interface),
            (_, true) => self.handle_network(now, interface, event),
            (_, false) => self.handle_plain(now, interface, event),
        }
    }

    fn handle_plain(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        let (attached, registers) = (self.attached == Some(interface), self.registers);
        let Some(access) = self.access_mut(interface) else {
            return;
        };
        let detached = access.detached;
        match event {
            LinkEvent::Up => access.up = true,
            LinkEvent::Down => access.up = false,
            _ => {}
        }
        // A mobility protocol keeps an address on each link that the mobile is on.
        if !detached && (attached || registers) {
            self.pass_on(interface, event);
        }
        self.tell_policy(now, interface, event);
    }

    fn handle_network(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        match event {
            LinkEvent::Up => self.handle_network_up(now, interface),
            LinkEvent::Down => self.handle_network_down(now, interface),
            LinkEvent::HandoverImminent => self.handle_cell_change(now, interface),
            LinkEvent::CellGoingDown => self.pass_on(interface, LinkEvent::GoingDown),
            LinkEvent::GoingDown | LinkEvent::Rollback => {
                self.pass_on(interface, event);
                self.tell_policy(now, interface, event);
            }
            LinkEvent::ParametersReport => self.tell_policy(now, interface, event),
            // For other cells, or reported by another event.
            LinkEvent::Detected
            | LinkEvent::HandoverComplete
            | LinkEvent::QueueDrained
            | LinkEvent::Parameters(_)
            | LinkEvent::QueueStatus(..) => {}
        }
    }

    /// Takes in a mobile's registration in a cell. The mobile attaches if it is to use the network and was elsewhere.
    fn handle_network_up(&mut self, now: Instant, interface: InterfaceId) {
        let Some(access) = self.access_mut(interface) else {
            return;
        };
        (access.up, access.lost_at) = (true, None);
        let changes_cell = core::mem::take(&mut access.changes_cell);
        let moves = changes_cell || self.attached != Some(interface);
        let attaches = self.network == Some(interface) && moves;
        if attaches {
            if self.under_way != Some(Some(interface)) {
                self.open_to_network(now, interface);
            }
            self.use_interface(Some(interface));
            if !self.registers {
                self.complete();
            }
        }
        if attaches && !self.registers {
            self.note_up(interface);
        } else {
            self.say(interface, LinkEvent::Up);
        }
        self.tell_policy(now, interface, LinkEvent::Up);
    }

    /// Notes that the mobile has left a cell for another, or lost the network.
    fn handle_network_down(&mut self, now: Instant, interface: InterfaceId) {
        let Some(access) = self.access_mut(interface) else {
            return;
        };
        access.up = false;
        let lost = !access.changes_cell;
        if lost {
            access.lost_at = Some(now);
        }
        self.say(interface, LinkEvent::Down);
        if lost {
            self.tell_policy(now, interface, LinkEvent::Down);
        }
    }

    fn handle_cell_change(&mut self, now: Instant, interface: InterfaceId) {
        if let Some(access) = self.access_mut(interface) {
            access.changes_cell = true;
        }
        if self.network == Some(interface) {
            self.open_to_network(now, interface);
        }
    }

    /// Begins a handover into a cell, initiated by the network or awaited by the mobile.
    fn open_to_network(&mut self, now: Instant, interface: InterfaceId) {
        let used = self
            .access(interface)
            .filter(|_| self.attached == Some(interface));
        let lost_at = used.and_then(|access| access.lost_at);
        self.open(Begun {
            at: lost_at.unwrap_or(now),
            from: self.attached,
            to: Some(interface),
            kind: Kind::Hard,
        });
        self.say(interface, LinkEvent::HandoverImminent);
    }

    /// Takes in that an old link has drained.
    fn handle_drained(&mut self, interface: InterfaceId) {
        let outgoing = self.outgoing == Some(interface);
        let Some(access) = self.access_mut(interface) else {
            return;
        };
        if access.leaving == Leaving::Draining {
            access.leaving = Leaving::Drained;
            if !outgoing {
                self.detach_old(interface);
            }
        }
    }

    /// Passes on the events that change something for the node.
    fn pass_on(&mut self, interface: InterfaceId, event: LinkEvent) {
        match event {
            LinkEvent::Up | LinkEvent::Down | LinkEvent::GoingDown | LinkEvent::Rollback => {
                self.say(interface, event);
            }
            _ => {}
        }
    }

    fn tell_policy(&mut self, now: Instant, interface: InterfaceId, event: LinkEvent) {
        let used = self.in_use();
        self.policy.handle_link(now, (interface, event), used);
    }

    /// Signals a link that is up to the node's other parts.
    pub(super) fn say_up(&mut self, interface: InterfaceId) {
        match self.registers {
            true => {
                self.say(interface, LinkEvent::Up);
            }
            false => self.note_up(interface),
        }
    }

    fn note_up(&mut self, interface: InterfaceId) {
        if let Some(access) = self.access_mut(interface) {
            access.told_up = true;
        }
    }

    /// Passes a link event on to the node's transports, if the link is in use, and to its mobility protocol. A link
    /// that is not up does not go down. Returns true if the protocol is told.
    pub(super) fn say(&mut self, interface: InterfaceId, event: LinkEvent) -> bool {
        let under_way = self.under_way.is_some();
        let concerns_transports = match event {
            LinkEvent::Up => !under_way,
            LinkEvent::HandoverImminent => false,
            _ => true,
        };
        if concerns_transports && self.attached == Some(interface) {
            self.signal(Signal::InUse(interface, event));
        }
        let Some(access) = self.access_mut(interface) else {
            return false;
        };
        let is_news = match event {
            LinkEvent::Up => {
                access.told_up = true;
                true
            }
            LinkEvent::Down => core::mem::take(&mut access.told_up),
            LinkEvent::GoingDown => access.told_up,
            _ => true,
        };
        if is_news {
            self.signal(Signal::Link(interface, event));
        }
        is_news
    }
}
