//! Messages about paths, and the changes of entries that they make.

use super::DomainRouter;
use crate::host::RouteTable;
use crate::host::layer::{Look, Step};
use crate::interface::InterfaceId;
use crate::mobility::micro_mobility::{PathSetup, message_packet};
use crate::time::{Duration, Instant};
use crate::wire::micro_mobility::{RouteKind, RouteMessage, is_signed, mobile_key};
use core::net::Ipv4Addr;

/// Time for which the crossover router sends to both base stations (MNF). Chosen, as the delay of a semisoft handoff.
const COPIES: Duration = Duration::from_millis(100);

impl DomainRouter {
    /// Takes in a message that has arrived, for this router or another.
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        (interface, routes): (InterfaceId, &RouteTable),
        is_own: bool,
        bytes: &[u8],
    ) -> Look {
        let message = RouteMessage::decode(bytes).ok();
        let message = message.filter(|read| self.config.mobiles.contains_key(&read.mobile));
        let Some(message) = message else {
            // Another domain's message passes, as do others' datagrams to this port.
            self.refused.malformed += u64::from(is_own);
            return if is_own { Look::Drop } else { Look::Pass };
        };
        if !is_signed(bytes, &self.key(message.mobile)) {
            self.refused.not_authentic += 1;
            return Look::Drop;
        }
        let is_timely = self.config.clock.is_near(message.timestamp, now)
            && self.routes.is_news(message.mobile, message.timestamp)
            && self.paging.as_ref().is_none_or(|paging| {
                message.kind != RouteKind::PagingUpdate
                    || paging.is_news(message.mobile, message.timestamp)
            });
        if !is_timely {
            self.refused.old += 1;
            return Look::Drop;
        }
        match self.change(now, (interface, routes), is_own, message) {
            Some(()) => Look::Learn,
            None => {
                self.refused.malformed += 1;
                Look::Drop
            }
        }
    }

    /// Makes the change of a message; `None` if the message makes no sense here.
    fn change(
        &mut self,
        now: Instant,
        at: (InterfaceId, &RouteTable),
        is_own: bool,
        message: RouteMessage,
    ) -> Option<()> {
        let RouteMessage {
            kind,
            mobile,
            timestamp,
            ..
        } = message;
        let (interface, _) = at;
        let is_to_root = matches!(
            kind,
            RouteKind::Update | RouteKind::PowerUp | RouteKind::PagingUpdate
        );
        if let Some(paging) = self.paging.as_mut().filter(|_| is_to_root) {
            paging.note(now, mobile, timestamp, interface);
        }
        match kind {
            RouteKind::Update => self.set(now, &message, interface),
            RouteKind::PowerUp | RouteKind::NonForwarding => {
                self.set(now, &message, interface);
                if is_own {
                    self.acknowledge(message);
                }
            }
            RouteKind::Semisoft => self.routes.add(now, mobile, timestamp, interface),
            RouteKind::SemisoftRequest if is_own => {
                let air = *self.config.mobiles.get(&mobile)?;
                self.routes.add(now, mobile, timestamp, air?);
                if self.config.address != self.config.root {
                    self.send(self.config.root, RouteKind::Semisoft, message);
                }
            }
            RouteKind::MulticastNonForwarding => {
                self.change_beside(now, at, message);
                if is_own {
                    self.held.drop_all(mobile);
                    let kind = RouteKind::Acknowledgment;
                    self.send(message.new_base_station, kind, second_of(message));
                }
            }
            // Entries at MNF's old base station do not lead to the new one, which passes the acknowledgment on.
            RouteKind::Acknowledgment if is_own => {
                let is_here = message.new_base_station == self.config.address;
                is_here.then(|| self.acknowledge(message))?;
            }
            RouteKind::Handoff if is_own => self.begin(now, interface, message)?,
            RouteKind::ForwardingRequest if is_own => self.turn_round(now, at, message)?,
            RouteKind::Forwarding | RouteKind::SingleStream if is_own => {
                self.complete(now, message)?;
            }
            RouteKind::Forwarding => {
                let way = way_to_new(at, message)?;
                self.set(now, &message, way);
            }
            RouteKind::SingleStream => {
                let ways = (interface, way_to_new(at, message)?);
                self.routes.turn(now, mobile, timestamp, ways);
            }
            RouteKind::SemisoftRequest
            | RouteKind::Handoff
            | RouteKind::ForwardingRequest
            | RouteKind::Acknowledgment
            | RouteKind::PagingUpdate
            | RouteKind::Page => {}
        }
        Some(())
    }

    /// Begins a path set-up at the new base station.
    fn begin(&mut self, now: Instant, air: InterfaceId, message: RouteMessage) -> Option<()> {
        let old = message.old_base_station;
        if [Ipv4Addr::UNSPECIFIED, self.config.address].contains(&old) {
            return None;
        }
        let scheme = self.config.path_setup?;
        let kind = match scheme {
            PathSetup::UnicastNonForwarding => RouteKind::NonForwarding,
            PathSetup::MulticastNonForwarding => RouteKind::MulticastNonForwarding,
            PathSetup::MultipleStreamForwarding | PathSetup::SingleStreamForwarding => {
                RouteKind::ForwardingRequest
            }
        };
        if kind == RouteKind::ForwardingRequest {
            let arrived = (message.timestamp, air);
            self.arriving.insert(message.mobile, arrived);
        } else {
            self.set(now, &message, air);
        }
        self.send(old, kind, message);
        Some(())
    }

    /// Turns packets round at the old base station.
    fn turn_round(
        &mut self,
        now: Instant,
        at: (InterfaceId, &RouteTable),
        message: RouteMessage,
    ) -> Option<()> {
        let way = way_to_new(at, message)?;
        if self.config.path_setup? == PathSetup::SingleStreamForwarding {
            // Ahead of the packets that were held, so that they find their way prepared.
            self.send(message.new_base_station, RouteKind::SingleStream, message);
            self.set(now, &message, way);
        } else {
            self.set(now, &message, way);
            self.send(message.new_base_station, RouteKind::Forwarding, message);
        }
        Some(())
    }

    /// Ends a path set-up at the new base station, which the path reaches last; `None` if it has not begun here.
    fn complete(&mut self, now: Instant, message: RouteMessage) -> Option<()> {
        let arriving = self.arriving.remove(&message.mobile);
        let (_, air) = arriving.filter(|(arrived, _)| *arrived == message.timestamp)?;
        self.set(now, &message, air);
        self.acknowledge(message);
        if message.kind == RouteKind::SingleStream && self.config.address != self.config.root {
            // The routers above are to leave the detour.
            self.send(self.config.root, RouteKind::Update, second_of(message));
        }
        Some(())
    }

    /// Changes an entry up to the crossover router, which sends copies by the present way, too (MNF). Below it nothing
    /// changes, so that the copies reach the old base station: there the message comes from above.
    fn change_beside(
        &mut self,
        now: Instant,
        (interface, routes): (InterfaceId, &RouteTable),
        message: RouteMessage,
    ) {
        let above = routes.lookup(self.config.root.into());
        if above == Some(interface) {
            return;
        }
        let present = self.routes.get(message.mobile).map(|route| route.interface);
        match present.filter(|&present| present != interface && Some(present) != above) {
            Some(present) => {
                let ways = (interface, present);
                let until = now + COPIES;
                self.routes
                    .set_both(now, message.mobile, message.timestamp, ways, until);
            }
            None => self.set(now, &message, interface),
        }
    }

    /// Leads a mobile's packets to an interface, beginning with those that were held.
    fn set(&mut self, now: Instant, message: &RouteMessage, interface: InterfaceId) {
        self.routes
            .set(now, message.mobile, message.timestamp, interface);
        let released = self.held.release(now, message.mobile).into_iter();
        let paging = self.paging.as_mut();
        let paged = paging.map(|paging| paging.release(now, message.mobile));
        let steps = released
            .chain(paged.into_iter().flatten())
            .map(|packet| Step::Send(interface, packet));
        self.outbox.extend(steps);
    }

    fn acknowledge(&mut self, message: RouteMessage) {
        self.send(message.mobile, RouteKind::Acknowledgment, message);
    }

    /// Sends a message with the contents of another.
    pub(super) fn send(&mut self, destination: Ipv4Addr, kind: RouteKind, contents: RouteMessage) {
        let message = RouteMessage { kind, ..contents };
        let ends = (self.config.address, destination);
        let packet = message_packet(ends, &message, &self.key(message.mobile));
        self.outbox.push_back(Step::Originate(packet));
    }

    fn key(&self, mobile: Ipv4Addr) -> [u8; 16] {
        mobile_key(&self.config.network_key, mobile)
    }
}

/// Returns the second message of a handoff, which routers take for newer than the first.
fn second_of(message: RouteMessage) -> RouteMessage {
    RouteMessage {
        timestamp: message.timestamp.saturating_add(1),
        ..message
    }
}

/// Returns the interface towards the new base station.
fn way_to_new(
    (_, routes): (InterfaceId, &RouteTable),
    message: RouteMessage,
) -> Option<InterfaceId> {
    routes.lookup(message.new_base_station.into())
}
