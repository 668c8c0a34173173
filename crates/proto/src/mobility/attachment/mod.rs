//! Attachment: which of its interfaces a mobile uses, and how it changes from one to another.
//!
//! A [`Policy`] decides: a timetable, preference, or a decision from outside. [`Attachment`] carries the handovers out. Its
//! outputs stand in one queue, because their order counts: commands to media, and signals to the other parts of the node
//! and to whoever records them. To drive it:
//! 1. Call [`Attachment::begin`] once.
//! 2. Hand it events: [`handle_link`](Attachment::handle_link), [`handle_signal`](Attachment::handle_signal), [`handle_input`](Attachment::handle_input); and
//!    handovers on demand: [`request`](Attachment::request).
//! 3. When the time of [`poll_timeout`](Attachment::poll_timeout) has come, which an event may set to the present, call
//!    [`handle_timeout`](Attachment::handle_timeout).
//! 4. After each of these, drain [`poll`](Attachment::poll), and carry out each output before asking for the next.
//!
//! A medium says [`Up`](LinkEvent::Up) and [`Down`](LinkEvent::Down) of itself whether the node is attached or not, because
//! a policy chooses among all of them. It does not say what follows from the node's own commands.
//!
//! A radio network is one interface. [`HandoverImminent`](LinkEvent::HandoverImminent) says there that the cell changes,
//! and comes before the [`Up`](LinkEvent::Up) of another cell also where the old one was lost. A mobile that is to use a
//! network in none of whose cells it is stays where it is until the network is up.

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
use crate::interface::{InterfaceId, LinkCommand, LinkEvent};
use crate::mobility::attachment::failback::FailbackTimes;
use crate::time::Instant;
use access::Access;
use plan::{Plan, Step};
use policy::{Due, InUse};
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
    /// True where a mobility protocol says when a handover is complete; without one it is with the attachment.
    pub registers: bool,
    /// True where a point of service is asked about handovers ahead of them (IEEE 802.21).
    pub asks_point_of_service: bool,
    /// True where an interface loses its addresses with its link, as a kernel's does: then an old link is detached when it
    /// has drained or was lost, not left as it is.
    pub detaches_old: bool,
}

/// A mobile's attachment.
#[derive(Debug)]
pub struct Attachment {
    interfaces: Box<[Access]>,
    policy: Policy,
    registers: bool,
    asks_point_of_service: bool,
    detaches_old: bool,
    attached: Option<InterfaceId>,
    /// The radio network to use, also while none of its cells is.
    network: Option<InterfaceId>,
    /// The old interface, as long as the node's own packets leave by it.
    outgoing: Option<InterfaceId>,
    /// The destination of a handover that is not complete.
    under_way: Option<Option<InterfaceId>>,
    plan: Plan,
    preparation: Option<Box<Preparation>>,
    outputs: Burst<Output>,
}

/// An input of a decision from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// Power received at an interface, in dBm; `None` if too little to measure.
    ReceivedPower(InterfaceId, Option<f64>),
    /// Position of the mobile, in metres from its line's beginning.
    Position(f64),
    /// Answer to the question that was to be answered later ([`decision::Response::Later`]).
    Answer(Option<decision::Answer>),
}

/// A reason not to make a handover on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The mobile chooses by preference.
    ChoosesByPreference,
    /// A decision from outside chooses.
    ChoosesByDecision,
    /// The interface leads to no access link.
    NoAccessLink,
    /// The mobile is attached there, and a soft handover would change nothing.
    AttachedAlready,
}

impl Attachment {
    /// A mobile that is not attached before [`begin`](Self::begin).
    pub fn new(settings: Settings) -> Attachment {
        let interfaces = settings.interfaces.into_iter().map(Access::new);
        Attachment {
            interfaces: interfaces.collect(),
            policy: settings.policy,
            registers: settings.registers,
            asks_point_of_service: settings.asks_point_of_service,
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

    /// Attaches the mobile where its policy begins; the links of the interfaces in `up` work. With a mobility protocol all
    /// other links are detached: what is sent there, as to a home link, is not for the mobile. A radio network that is up says
    /// so again.
    pub fn begin(&mut self, now: Instant, up: &[InterfaceId]) {
        for access in &mut self.interfaces {
            access.up = up.contains(&access.id);
        }
        let first = self.policy.first(now, up);
        let first = self.choose(first).flatten();
        if self.registers {
            self.detach_unused(first);
        }
        self.use_interface(first);
        let Some(access) = first.and_then(|interface| self.access(interface)) else {
            return;
        };
        let (interface, says_up) = (access.id, access.up && !access.is_network);
        if self.registers {
            self.say(interface, LinkEvent::HandoverImminent);
        }
        if says_up {
            self.say_up(interface);
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

    /// The radio network to use, also while none of its cells is.
    pub fn network(&self) -> Option<InterfaceId> {
        self.network
    }

    /// True while a handover has begun and is not complete.
    pub fn is_handing_over(&self) -> bool {
        self.under_way.is_some()
    }

    /// Takes in what the mobile has measured, or what its decision from outside has answered.
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

    /// Hears a signal of the node's layers: that the mobile is registered, or a handover prepared.
    pub fn handle_signal(&mut self, now: Instant, signal: &Signal) {
        match (*signal, self.attached) {
            (Signal::Registered(interface), _) | (Signal::Deregistered, Some(interface)) => {
                self.handle_registered(interface);
            }
            (Signal::HandoverPrepared, _) => self.handle_prepared(now),
            _ => {}
        }
    }

    /// The mobility protocol has registered the mobile at an interface. Of another than the one that a handover leads to this
    /// says nothing.
    fn handle_registered(&mut self, interface: InterfaceId) {
        for access in &mut self.interfaces {
            access.registered = access.id == interface;
        }
        if self.attached == Some(interface) && self.under_way == Some(Some(interface)) {
            self.complete();
        }
    }

    /// Holds a mobile with a preference to an interface, as long as its link is up, or to none; then drain the polls. Returns false
    /// for an interface that it does not prefer, or a mobile without a preference.
    pub fn hold_to(&mut self, now: Instant, interface: Option<InterfaceId>) -> bool {
        match &mut self.policy {
            Policy::Preference(preference) => preference.hold_to(now, interface),
            Policy::Timetable(_) | Policy::Decision(_) => false,
        }
    }

    /// Takes in that an interface's link is expected to go down soon, or (false) no longer, ahead of all other parts of the node: they
    /// hear of it by [`handle_link`](Self::handle_link), when the mobile has left the link if another one stays up. Then drain the
    /// polls.
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

    /// Begins a handover on demand, as an entry of a timetable would: to an interface, or to none.
    ///
    /// # Errors
    /// The reason not to.
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

    /// Does what is due at `now`: first what earlier handovers have left to do, then the announcement of the next one, then
    /// the handovers that the policy wants, and last the one that a point of service has held up.
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

    /// Returns the interface in use, or the one that a handover under way leads to, and the network in use.
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

    /// Announces the next entry of a timetable, if it is time.
    fn announce(&mut self, now: Instant) {
        let Policy::Timetable(timetable) = &mut self.policy else {
            return;
        };
        let Some(next) = timetable.poll_announcement(now) else {
            return;
        };
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
