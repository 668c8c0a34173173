//! Execution of handovers: leaving the old link, and taking the new one.

use super::access::Leaving;
use super::plan::Step;
use super::policy::Due;
use super::{Attachment, Begun, Handover, Kind, OldQueue, Signal};
use crate::interface::{InterfaceId, LinkCommand, LinkEvent};
use crate::time::{Duration, Instant};

impl Attachment {
    pub(super) fn begin_handover(&mut self, now: Instant, due: Due) {
        let Some(to) = self.choose(due.to) else {
            return;
        };
        // The link in use is left only for another one, unless it is broken.
        let old = self.attached.filter(|_| self.attached != to);
        self.open(Begun {
            at: due.at,
            from: self.attached,
            to,
            kind: match due.handover {
                Some(Handover::Soft { .. }) => Kind::Soft,
                Some(Handover::Hard { .. }) | None => Kind::Hard,
            },
        });
        match due.handover {
            None => {
                self.attach(to);
                if let Some(old) = old.filter(|_| self.detaches_old) {
                    self.detach_old(old);
                }
            }
            Some(Handover::Soft {
                overlap,
                old_queue,
                outgoing_after,
            }) => {
                self.attach(to);
                if let Some(old) = old {
                    self.leave_softly(now, old, overlap, old_queue);
                    self.keep_outgoing(now, old, outgoing_after);
                    self.reroute();
                }
            }
            Some(Handover::Hard { outage, old_queue }) => {
                self.break_links(old_queue);
                if outage.is_zero() {
                    self.attach(to);
                } else {
                    self.plan.add(now + outage, Step::Attach(to));
                }
            }
        }
    }

    /// Notes which radio network is to be used from now on, and returns the interface to attach to; `None` for a
    /// network in none of whose cells the mobile is, until the network is up.
    pub(super) fn choose(&mut self, to: Option<InterfaceId>) -> Option<Option<InterfaceId>> {
        let Some(interface) = to else {
            self.network = None;
            return Some(None);
        };
        let access = *self.access(interface)?;
        self.network = access.is_network.then_some(interface);
        access.is_usable().then_some(to)
    }

    /// Begins a handover. Of the previous handover's steps, only the end of its overlap remains.
    pub(super) fn open(&mut self, begun: Begun) {
        self.outgoing = None;
        self.plan.forget_handover();
        self.under_way = Some(begun.to);
        self.signal(Signal::Begun(begun));
    }

    /// Takes an interface into use, or none. With a mobility protocol, the handover is complete once that has
    /// registered.
    pub(super) fn attach(&mut self, to: Option<InterfaceId>) {
        self.use_interface(to);
        let Some(access) = to.and_then(|interface| self.access(interface)) else {
            return self.complete();
        };
        // The mobility protocol is told of a link's events even while the mobile only is there and does not use it.
        let (interface, known) = (access.id, access.told_up);
        let (says_up, registered) = (access.up && !known, known && access.registered);
        if self.registers {
            self.say(interface, LinkEvent::HandoverImminent);
        }
        if says_up {
            self.say_up(interface);
        }
        // A protocol that had lost the old link has already registered here, and reports that only once.
        if !self.registers || registered {
            self.complete();
        }
    }

    /// Directs the routes to an interface.
    pub(super) fn use_interface(&mut self, to: Option<InterfaceId>) {
        self.attached = to;
        if let Some(interface) = to {
            if let Some(access) = self.access_mut(interface) {
                access.detached = false;
                access.reroutes = false;
                access.leaving = Leaving::No;
            }
            self.command(interface, LinkCommand::Attach);
            self.plan.forget_overlap(interface);
        }
        self.signal(Signal::Attached(to));
        if to.is_some() {
            self.reroute();
        }
    }

    pub(super) fn complete(&mut self) {
        if let Some(to) = self.under_way.take() {
            self.signal(Signal::Complete(to));
            if self.registers {
                self.reroute();
            }
        }
    }

    fn leave_softly(
        &mut self,
        now: Instant,
        old: InterfaceId,
        overlap: Option<Duration>,
        old_queue: OldQueue,
    ) {
        let drains = overlap.is_none() && self.detaches_old;
        if let Some(access) = self.access_mut(old) {
            access.reroutes |= old_queue == OldQueue::Rerouted;
            if drains {
                access.leaving = Leaving::Draining;
            }
        }
        if old_queue == OldQueue::Discarded {
            self.command(old, LinkCommand::DiscardQueue);
        }
        if drains {
            self.command(old, LinkCommand::ReportDrained);
        }
        if let Some(overlap) = overlap {
            self.plan.add(now + overlap, Step::Detach(old));
        }
    }

    /// Sends the node's own packets over the old link for a while.
    fn keep_outgoing(&mut self, now: Instant, old: InterfaceId, time: Duration) {
        if !time.is_zero() {
            self.outgoing = Some(old);
            self.plan.add(now + time, Step::MoveOutgoing);
            self.signal(Signal::Outgoing(Some(old)));
        }
    }

    pub(super) fn move_outgoing(&mut self) {
        let Some(old) = self.outgoing.take() else {
            return;
        };
        self.signal(Signal::Outgoing(None));
        self.reroute();
        let leaving = self.access(old).map(|access| access.leaving);
        if leaving == Some(Leaving::Drained) {
            self.detach_old(old);
        }
    }

    /// Sends packets that wait at IP before links that were left, by the present routes. The node's own packets remain
    /// there as long as they take the old link; with a mobility protocol, until the registration.
    fn reroute(&mut self) {
        for place in 0..self.interfaces.len() {
            let registering = self.registers && self.under_way.is_some();
            let access = &mut self.interfaces[place];
            if access.reroutes {
                let interface = access.id;
                let own = self.outgoing != Some(interface) && !registering;
                access.reroutes = !own;
                self.command(interface, LinkCommand::TakeFromIp { own });
            }
        }
    }

    /// Blocks all links of the mobile, including an old link that still delivers.
    fn break_links(&mut self, old_queue: OldQueue) {
        for place in 0..self.interfaces.len() {
            let access = &mut self.interfaces[place];
            let (interface, up) = (access.id, access.up);
            if access.detached || !(up || self.detaches_old) {
                continue;
            }
            access.detached = true;
            access.leaving = Leaving::No;
            access.reroutes = up && old_queue == OldQueue::Rerouted;
            let command = match old_queue {
                OldQueue::Rerouted if up => LinkCommand::HoldAtIp,
                _ => LinkCommand::Detach {
                    keep_queue: up && old_queue == OldQueue::Stays,
                },
            };
            self.command(interface, command);
            if up {
                self.say(interface, LinkEvent::Down);
            }
        }
    }

    /// Detaches from a link that was left, and discards the packets it still holds.
    pub(super) fn detach_old(&mut self, interface: InterfaceId) {
        if let Some(access) = self.access_mut(interface) {
            access.detached = true;
            access.leaving = Leaving::No;
        }
        if self.outgoing == Some(interface) {
            self.move_outgoing();
        }
        self.command(interface, LinkCommand::Detach { keep_queue: false });
        self.say(interface, LinkEvent::Down);
    }

    /// Detaches from all links but one; the mobile remains a station of radio networks.
    pub(super) fn detach_unused(&mut self, used: Option<InterfaceId>) {
        for place in 0..self.interfaces.len() {
            let access = &mut self.interfaces[place];
            if !access.is_network && used != Some(access.id) {
                access.detached = true;
                let interface = access.id;
                self.command(interface, LinkCommand::Detach { keep_queue: false });
            }
        }
    }
}
