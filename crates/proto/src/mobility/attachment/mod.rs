//! Attachment of a mobile: the choice of its interface in use, and handovers between interfaces.
//!
//! A [`Policy`] decides: a timetable, a preference, or an external decision. [`Attachment`] executes the handovers. Its
//! outputs (commands to media, and signals to the node's other parts and to recorders) share one queue, because their
//! order matters. To drive it:
//! 1. Call [`Attachment::begin`] once.
//! 2. Pass in events by [`handle_link`](Attachment::handle_link), [`handle_signal`](Attachment::handle_signal) and
//!    [`handle_input`](Attachment::handle_input), and handovers on demand by [`request`](Attachment::request).
//! 3. At the time of [`poll_timeout`](Attachment::poll_timeout), which an event may set to the present, call
//!    [`handle_timeout`](Attachment::handle_timeout).
//! 4. After each of these, drain [`poll`](Attachment::poll), and carry out each output before the next poll.
//!
//! A medium reports its own [`Up`](LinkEvent::Up) and [`Down`](LinkEvent::Down) whether or not the node is attached,
//! because a policy chooses among all media. It does not report the effects of the node's own commands.
//!
//! A radio network is one interface. There, [`HandoverImminent`](LinkEvent::HandoverImminent) announces a change of
//! cell, and precedes the [`Up`](LinkEvent::Up) of the new cell even if the old cell was lost. A mobile that is to use
//! a network, but is in none of its cells, stays on its present link until the network is up.

mod access;
mod decider;
pub mod decision;
mod events;
mod execution;
pub mod failback;
mod handover;
mod output;
mod plan;
mod policy;
mod preparation;
#[cfg(test)]
mod tests;
mod timetable;

pub use crate::crosslayer::{Begun, Kind, Signal};
pub use decider::Decider;
pub use handover::{Handover, OldQueue};
pub use output::Output;
pub use policy::{Policy, Preference};
pub use timetable::{Entry, Timetable};

use crate::host::burst::Burst;
use crate::interface::{InterfaceId, LinkCommand, LinkEvent, LinkParameters};
use crate::mobility::attachment::failback::FailbackTimes;
use crate::mobility::handover_service::Signalling;
use crate::time::Instant;
use access::Access;
use plan::{Plan, Step};
use policy::{Announcement, Due, InUse};
use preparation::Preparation;

/// An interface to an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessInterface {
    /// The interface.
    pub id: InterfaceId,
    /// True for a radio network, which hands the mobile over from cell to cell.
    pub is_network: bool,
}

/// Settings of a mobile.
#[derive(Debug)]
pub struct Settings {
    /// The interfaces to choose from, ascending.
    pub interfaces: Vec<AccessInterface>,
    /// The policy.
    pub policy: Policy,
    /// True if a mobility protocol reports when a handover is complete; without one, attachment completes it.
    pub registers: bool,
    /// Link that carries the messages before a handover, if handovers are prepared: with a point of service (IEEE 802.21),
    /// the routers (RFC 5568) or the home agent.
    pub signalling: Option<Signalling>,
    /// True if an interface loses its addresses with its link, like a kernel's interface: an old link is then detached
    /// once it has drained or was lost.
    pub detaches_old: bool,
}

/// A mobile's attachment.
#[derive(Debug)]
pub struct Attachment {
    interfaces: Box<[Access]>,
    policy: Policy,
    registers: bool,
    signalling: Option<Signalling>,
    detaches_old: bool,
    attached: Option<InterfaceId>,
    /// The radio network to use, even while none of its cells is available.
    network: Option<InterfaceId>,
    /// The old interface, while the node's own packets leave by it.
    outgoing: Option<InterfaceId>,
    /// The destination of a handover that is not complete.
    under_way: Option<Option<InterfaceId>>,
    plan: Plan,
    preparation: Option<Box<Preparation>>,
    outputs: Burst<Output>,
}

/// An input of an external decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// Power received at an interface, in dBm; `None` if too little to measure.
    ReceivedPower(InterfaceId, Option<f64>),
    /// Position of the mobile, in metres from the beginning of its line.
    Position(f64),
    /// Delayed answer to a question ([`decision::Response::Later`]).
    Answer(Option<decision::Answer>),
}

/// Reason to refuse a handover on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The mobile chooses by preference.
    ChoosesByPreference,
    /// An external decision chooses.
    ChoosesByDecision,
    /// The interface leads to no access link.
    NoAccessLink,
    /// The mobile is already attached there, so a soft handover would change nothing.
    AttachedAlready,
}

impl Attachment {
    /// Creates the attachment of a mobile that is on no link before [`begin`](Self::begin).
    pub fn new(settings: Settings) -> Attachment {
        let interfaces = settings.interfaces.into_iter().map(Access::new);
        Attachment {
            interfaces: interfaces.collect(),
            policy: settings.policy,
            registers: settings.registers,
            signalling: settings.signalling,
            detaches_old: settings.detaches_old,
            attached: None,
            network: None,
            outgoing: None,
            under_way: None,
            plan: Plan::default(),
            preparation: None,
            outputs: Burst::default(),
        }
    }

    /// Attaches the mobile to its policy's first interface; `up` lists the interfaces whose links work. With a mobility
    /// protocol it is on all links that its policy keeps, and detached from the others: packets sent there, as on a home
    /// link, are not for the mobile. A radio network that is up reports so again.
    pub fn begin(&mut self, now: Instant, up: &[InterfaceId]) {
        for access in &mut self.interfaces {
            access.up = up.contains(&access.id);
        }
        let first = self.policy.first(now, up);
        let first = self.choose(first).flatten();
        let keeps_links = self.policy.keeps_links();
        if self.registers && !keeps_links {
            self.detach_unused(first);
        }
        self.use_interface(first);
        if let Some(&access) = first.and_then(|interface| self.access(interface)) {
            if self.registers {
                self.say(access.id, LinkEvent::HandoverImminent);
            }
            if access.up && !access.is_network {
                self.say_up(access.id);
            }
        }
        if self.registers && keeps_links {
            self.join_unused();
        }
    }

    /// Returns true for an interface to one of the mobile's access links.
    pub fn has(&self, interface: InterfaceId) -> bool {
        self.access(interface).is_some()
    }

    /// Returns the interface in use.
    pub fn attached(&self) -> Option<InterfaceId> {
        self.attached
    }

    /// Returns the interface by which the node's own packets leave.
    pub fn outgoing(&self) -> Option<InterfaceId> {
        self.outgoing.or(self.attached)
    }

    /// Returns the radio network to use, even while none of its cells is available.
    pub fn network(&self) -> Option<InterfaceId> {
        self.network
    }

    /// Returns true while a handover has begun and is not complete.
    pub fn is_handing_over(&self) -> bool {
        self.under_way.is_some()
    }

    /// Takes in a measurement of the mobile, or an answer of its external decision.
    pub fn handle_input(&mut self, now: Instant, input: Input) {
        let used = self.in_use();
        let Policy::Decision(decider) = &mut self.policy else {
            return;
        };
        match input {
            Input::ReceivedPower(interface, dbm) => decider.set_received_power(interface, dbm),
            Input::Position(metres) => decider.set_position(metres),
            Input::Answer(answer) => decider.handle_answer(now, answer, used),
        }
    }

    /// Takes in the parameters of an interface's link.
    pub fn handle_parameters(&mut self, interface: InterfaceId, link: LinkParameters) {
        self.policy.handle_parameters(interface, link);
    }

    /// Takes in a signal of the node's layers: the mobile is registered, a handover prepared, or an order or news of the point
    /// of service.
    pub fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        match (*signal, self.attached) {
            (Signal::Registered(interface), _) | (Signal::Deregistered, Some(interface)) => {
                self.handle_registered(interface);
            }
            (Signal::HandoverPrepared, _) => self.handle_prepared(now),
            (Signal::HandoverOrdered(interface), _) => self.obey(now, interface),
            (Signal::LinkReleased(interface), used) if used != Some(interface) => {
                self.detach_old(interface);
            }
            (Signal::Informed(interface, network), _) => {
                if let Policy::Decision(decider) = &mut self.policy {
                    decider.inform(interface, network);
                }
            }
            (Signal::Remote(event), _) => {
                let used = self.in_use();
                if let Policy::Decision(decider) = &mut self.policy {
                    decider.handle_remote(now, event, used);
                }
            }
            _ => {}
        }
    }

    /// Takes in the mobility protocol's registration at an interface. It completes a handover only at that handover's
    /// destination.
    fn handle_registered(&mut self, interface: InterfaceId) {
        for access in &mut self.interfaces {
            access.registered = access.id == interface;
        }
        if self.attached == Some(interface) && self.under_way == Some(Some(interface)) {
            self.complete();
        }
    }

    /// Holds a mobile with a preference to an interface, as long as its link is up, or to none; then drain
    /// [`poll`](Self::poll). Returns false for an interface outside its preference, or a mobile without a preference.
    pub fn hold_to(&mut self, now: Instant, interface: Option<InterfaceId>) -> bool {
        match &mut self.policy {
            Policy::Preference(preference) => preference.hold_to(now, interface),
            Policy::Timetable(_) | Policy::Decision(_) => false,
        }
    }

    /// Takes in the forecast that an interface's link will soon go down, or (false) no longer, ahead of the node's
    /// other parts. They are told by [`handle_link`](Self::handle_link), after the mobile has left the link if another
    /// one stays up. Then drain [`poll`](Self::poll).
    pub fn foresee(&mut self, now: Instant, interface: InterfaceId, goes_down: bool) {
        let event = match goes_down {
            true => LinkEvent::GoingDown,
            false => LinkEvent::Rollback,
        };
        let used = self.in_use();
        self.policy.handle_link(now, (interface, event), used);
    }

    /// Replaces the delays of a mobile with a preference.
    pub fn set_failback_times(&mut self, times: FailbackTimes) {
        if let Policy::Preference(preference) = &mut self.policy {
            preference.set_times(times);
        }
    }

    /// Begins a handover on demand, like an entry of a timetable: to an interface, or to none.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn request(
        &mut self,
        now: Instant,
        to: Option<InterfaceId>,
        handover: Handover,
    ) -> Result<(), Refusal> {
        match self.policy {
            Policy::Timetable(_) => {}
            Policy::Preference(_) => return Err(Refusal::ChoosesByPreference),
            Policy::Decision(_) => return Err(Refusal::ChoosesByDecision),
        }
        if let Some(interface) = to {
            let access = self.access(interface).ok_or(Refusal::NoAccessLink)?;
            let is_soft = matches!(handover, Handover::Soft { .. });
            if is_soft && self.attached == to && !access.detached {
                return Err(Refusal::AttachedAlready);
            }
        }
        let due = Due {
            at: now,
            to,
            handover: Some(handover),
        };
        self.decide_handover(now, due);
        Ok(())
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        let prepared = self.preparation.as_ref().and_then(|one| one.deadline());
        [self.policy.poll_timeout(), self.plan.deadline(), prepared]
            .into_iter()
            .flatten()
            .min()
    }

    /// Performs the actions due at `now`: first the remaining steps of earlier handovers, then the announcement of the
    /// next one, then the handovers that the policy wants, and last the one that a point of service has delayed.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(step) = self.plan.pop_due(now) {
            match step {
                Step::Attach(to) => self.attach(to),
                Step::MoveOutgoing => self.move_outgoing(),
                Step::Detach(interface) => self.detach_old(interface),
            }
        }
        self.announce(now);
        while let Some(due) = self.policy.poll(now, self.in_use()) {
            self.decide_handover(now, due);
        }
        if let Some(due) = self.take_prepared() {
            self.begin_handover(now, due);
        }
    }

    /// Returns the next output.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn access(&self, interface: InterfaceId) -> Option<&Access> {
        let mut all = self.interfaces.iter();
        all.find(|access| access.id == interface)
    }

    fn access_mut(&mut self, interface: InterfaceId) -> Option<&mut Access> {
        let mut all = self.interfaces.iter_mut();
        all.find(|access| access.id == interface)
    }

    /// Returns the interface in use, or the destination of a handover under way, and the network in use.
    fn in_use(&self) -> InUse {
        let interface = match (&self.preparation, self.under_way) {
            (Some(preparation), _) => Some(preparation.to),
            (None, Some(to)) => to,
            (None, None) => self.attached,
        };
        InUse {
            interface,
            network: self.network,
        }
    }

    /// Announces the policy's next handover, if due, or withdraws the announcement.
    fn announce(&mut self, now: Instant) {
        match self.policy.poll_announcement(now) {
            Some(Announcement::Leaves(next)) => self.announce_leaving(next),
            Some(Announcement::Stays) => {
                self.preparation = None;
                if let Some(interface) = self.attached {
                    self.say(interface, LinkEvent::Rollback);
                }
            }
            None => {}
        }
    }

    fn announce_leaving(&mut self, next: Option<InterfaceId>) {
        self.signal(Signal::Announced);
        if let Some(interface) = self.attached
            && self.say(interface, LinkEvent::GoingDown)
        {
            self.command(interface, LinkCommand::GoingDown);
        }
        if let Some(interface) = next {
            self.prepare(interface);
        }
    }

    fn command(&mut self, interface: InterfaceId, command: LinkCommand) {
        self.outputs.push_back(Output::Command(interface, command));
    }

    fn signal(&mut self, signal: Signal) {
        self.outputs.push_back(Output::Signal(signal));
    }
}
