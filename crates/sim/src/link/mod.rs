//! Link models: the fate of packets between two hosts.
//!
//! A link is a state machine. [`Link::offer`] hands it a packet, [`Link::poll`] returns the fates of packets up to a
//! moment, [`Link::next_deadline`] the time of the next poll. A link has no events of its own: at every call it first
//! catches up with the moment (ended serialisation, queue managers' verdicts), in chronological order. A link therefore
//! costs one event per packet, and a change of its parameters needs no rollback: only packets already being serialised
//! have a decided fate.
//!
//! Scope: lengths are those of the IP packet; the overhead of the link is [`config::Framing`]'s. A link carries any
//! length: hosts and routers enforce the MTU. Random draws depend on (seed, link, direction, number of the packet among
//! those offered there), the states of burst loss and shadowing on time, so that compared runs meet the same channel.
//! Fates come in order of time, at equal times those offered at end A first, and are reported exactly on time if the
//! link is polled at its deadlines.

pub mod ad_hoc;
mod agenda;
mod capacity;
pub mod cells;
mod channel;
pub mod coding;
pub mod config;
mod dcf;
pub mod demand;
mod direction;
pub mod kinds;
pub mod ldacs1;
pub mod number;
mod pipe;
pub(crate) mod queue;
pub mod reception;
pub mod regulator;
pub mod tdma;
pub mod trace;

use crate::packets::PacketId;
use crate::rng::Seed;
use ad_hoc::{AdHoc, Exit};
use baton_proto::packet::{BitErrors, FlowId};
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use baton_proto::wire::aeronp::TranslatedHeader;
use config::{DirectionConfig, LinkConfig, Medium, QueueLimit, Shared};
use dcf::Dcf;
use direction::Direction;
use queue::{Class, Management, Offered};
use regulator::{Admission, Entrance, Waiting};

/// End of a link. Downward is from `A` to `B`, where `B` is the mobile's end of an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The first end in the scenario's `between`; an access link's end in the network.
    A,
    /// The second end; the mobile's.
    B,
}

impl End {
    /// Both ends, A first.
    pub const ALL: [End; 2] = [End::A, End::B];

    /// Returns the index of the end in arrays of two: 0 for A, 1 for B.
    pub const fn index(self) -> usize {
        match self {
            End::A => 0,
            End::B => 1,
        }
    }

    /// Returns the opposite end.
    pub const fn other(self) -> End {
        match self {
            End::A => End::B,
            End::B => End::A,
        }
    }
}

/// The fate of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The packet.
    pub packet: PacketId,
    /// End at which the packet was offered.
    pub from: End,
    /// Time of its arrival or loss.
    pub at: Instant,
    /// Arrival, or loss and its reason.
    pub outcome: Outcome,
}

/// A packet that has left its transmitter, and its certain fate at the other end.
#[derive(Clone, Debug)]
pub struct Launched {
    /// The packet.
    pub packet: PacketId,
    /// Time at which its fate is due.
    pub arrival: Instant,
    /// Its fate.
    pub outcome: Outcome,
}

/// Delivery, or loss and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Arrival at the other end, with these bits flipped (mostly none).
    Delivered {
        /// Flipped bits.
        bit_errors: BitErrors,
        /// Header with which the packet leaves a mobile ad hoc network, if there is one and it says something.
        exit: Option<Box<Exit>>,
    },
    /// Loss.
    Dropped(DropReason),
}

impl Outcome {
    /// Delivery of the packet as offered.
    pub const UNDAMAGED: Outcome = Outcome::Delivered {
        bit_errors: BitErrors::NONE,
        exit: None,
    };
}

/// Reason for a link's loss of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// No room in the queue.
    QueueFull,
    /// Choice of the queue's discipline.
    QueueManagement,
    /// Damage on the channel (packet or bit error), on a link that drops damaged packets.
    ChannelError,
    /// Bad state of the channel's burst model, or loss in its trace.
    BurstLoss,
    /// Obstacle between the mobile and the satellite.
    Shadowing,
    /// Retry limit of medium access.
    RetryLimit,
    /// Link down, or gone down with the packet queued or in flight.
    LinkDown,
    /// No way through a mobile ad hoc network, or none in time.
    NoRoute,
    /// Queue discarded at a handover.
    Discarded,
    /// Excess over a policer's rate, or a packet longer than a token bucket's depth.
    Policer,
    /// Loss of signalling by the scenario.
    Scenario,
}

impl DropReason {
    /// Returns its name in tables and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue full",
            DropReason::QueueManagement => "queue management",
            DropReason::ChannelError => "channel error",
            DropReason::BurstLoss => "burst loss",
            DropReason::Shadowing => "shadowing",
            DropReason::RetryLimit => "retry limit",
            DropReason::LinkDown => "link down",
            DropReason::NoRoute => "no route",
            DropReason::Discarded => "discarded",
            DropReason::Policer => "policer",
            DropReason::Scenario => "scenario",
        }
    }

    /// Returns true if the sender's own queue, or a policer, was overloaded: then the sender learns of the loss at
    /// once.
    pub const fn is_congestion(self) -> bool {
        matches!(
            self,
            DropReason::QueueFull | DropReason::QueueManagement | DropReason::Policer
        )
    }
}

/// Facts that some links need about a packet, besides its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its flow, for shapers and policers.
    pub flow: Option<FlowId>,
    /// Facts for managed queues.
    pub class: Class,
    /// Its IP header as AeroNP carries it, on a link that [`translates`](Link::translates); `None` if it travels whole.
    pub translated: Option<TranslatedHeader>,
}

/// A link between two ends.
///
/// After every call of [`offer`](Link::offer), [`reconfigure`](Link::reconfigure), [`set_down`](Link::set_down),
/// [`set_up`](Link::set_up), [`discard_queue`](Link::discard_queue), [`hold_at_ip`](Link::hold_at_ip) and
/// [`take_from_ip`](Link::take_from_ip), and at every [`next_deadline`](Link::next_deadline), call [`poll`](Link::poll)
/// until it returns `None`, then ask for the next deadline. `now` never decreases from call to call.
///
/// A packet's hop uses the first fields and its direction; it mostly does not need the boxed parts.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// Time of each direction's next possible fate; not kept where the directions share a channel.
    deadlines: [Instant; 2],
    /// Time at which a shaper at the entrance releases the next packet, or never.
    release_at: Instant,
    /// Medium shared by the directions; `None` if each has a channel of its own.
    air: Option<Box<Air>>,
    /// Shapers and policers, if there are any.
    entrance: Option<Box<Entrance>>,
    config: Shared<LinkConfig>,
    /// Its two directions, inline for each hop.
    ways: [Shared<DirectionConfig>; 2],
    /// True if one of its queues is managed, and may distinguish packets, or if it translates them.
    distinguishes: bool,
    state: State,
    seed: Seed,
    directions: Directions,
}

/// A medium shared by the directions.
#[derive(Debug)]
enum Air {
    /// One channel for which both contend.
    Dcf(Dcf),
    /// A network between the ends, which keeps all packets itself: the directions are empty.
    AdHoc(AdHoc),
}

/// Both directions of a link, created on first use: most of the links between thousands of mobiles and many cells are
/// never used.
#[derive(Debug, Default)]
struct Directions(Option<Box<[Direction; 2]>>);

impl Directions {
    #[inline]
    fn of(&mut self, config: &LinkConfig, seed: Seed) -> &mut [Direction; 2] {
        self.0.get_or_insert_with(|| made(config, seed))
    }

    /// Returns the directions, if they exist; otherwise nothing waits and nothing has happened.
    fn made(&self) -> Option<&[Direction; 2]> {
        self.0.as_deref()
    }
}

#[cold]
fn made(config: &LinkConfig, seed: Seed) -> Box<[Direction; 2]> {
    let start = config.start.resolved(config, seed);
    Box::new([
        Direction::new(End::A, &config.name, (&config.down, start), seed),
        Direction::new(End::B, &config.name, (&config.up, start), seed),
    ])
}

/// State of a link, and the fate of offered packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// Down; offered packets wait.
    Holding,
    /// Down; offered packets are lost.
    Dropping,
}

impl Link {
    /// Creates a link that is up and empty. Its random draws depend on `seed` and on the link's name.
    pub fn new(config: impl Into<Shared<LinkConfig>>, seed: Seed) -> Link {
        let config = config.into();
        let mut link = Link {
            deadlines: [Instant::NEVER; 2],
            release_at: Instant::NEVER,
            air: None,
            entrance: Entrance::new(&config.regulators),
            distinguishes: distinguishes(&config),
            ways: [config.down.clone(), config.up.clone()],
            config,
            state: State::Up,
            seed,
            directions: Directions::default(),
        };
        link.set_medium(Instant::ZERO);
        link
    }

    /// Offers a packet of `length` bytes (IP header included) at the end `from`. On a link that
    /// [`reads_labels`](Link::reads_labels) the packet belongs to no flow and no class.
    #[inline]
    pub fn offer(&mut self, now: Instant, from: End, packet: PacketId, length: u32) {
        let class = Class::default();
        let offered = Offered {
            packet,
            length,
            class,
        };
        self.take_in(now, from, offered);
    }

    // Once a hop: the compiler does not inline it by itself.
    #[inline(always)]
    fn take_in(&mut self, now: Instant, from: End, offered: Offered) {
        if self.air.is_none() && self.state == State::Up {
            let direction = &mut self.directions.of(&self.config, self.seed)[from.index()];
            let config = &self.ways[from.index()];
            pipe::offer(direction, config, now, offered);
            self.deadlines[from.index()] = pipe::next_deadline(direction, config);
        } else {
            self.offer_otherwise(now, from, offered);
        }
    }

    /// Returns true if it has shapers or policers, which need each packet's flow, a managed queue, or translates.
    #[inline]
    pub fn reads_labels(&self) -> bool {
        self.distinguishes || self.entrance.is_some()
    }

    /// Returns true if its packets travel under AeroNP, which carries an IP header of its own in place of theirs.
    pub fn translates(&self) -> bool {
        translates(&self.config)
    }

    /// Offers a packet with a label, otherwise like [`offer`](Link::offer).
    pub fn offer_labelled(
        &mut self,
        now: Instant,
        from: End,
        (packet, length): (PacketId, u32),
        label: Label,
    ) {
        let offered = Offered {
            packet,
            length,
            class: label.class,
        };
        if let Some(Air::AdHoc(network)) = self.air.as_deref_mut() {
            network.announce(packet, label.translated);
        }
        if self.admits(now, from, offered, label.flow) {
            self.take_in(now, from, offered);
        }
    }

    /// Returns true if the entrance lets a packet pass at once.
    fn admits(&mut self, now: Instant, from: End, offered: Offered, flow: Option<FlowId>) -> bool {
        self.catch_up(now);
        let Some(entrance) = self.entrance.as_mut() else {
            return true;
        };
        // A packet that the link loses anyway uses no credit.
        if self.state == State::Dropping {
            return true;
        }
        let admission = entrance.offer(now, from, flow, offered);
        self.release_at = entrance.next_release();
        if let Admission::Refused(reason) = admission {
            let directions = self.directions.of(&self.config, self.seed);
            directions[from.index()].drop(now, offered.packet, reason);
            self.note_deadline(from);
        }
        admission == Admission::Passes
    }

    /// Returns the next queue at the entrance with a new state to be reported.
    pub fn poll_queue_report(&mut self) -> Option<Waiting> {
        self.entrance.as_mut()?.poll_report()
    }

    /// Opens, modifies or closes (without a rate) the queue of a regulator at the entrance, by its place.
    pub fn set_queue(&mut self, now: Instant, place: usize, rate: Option<DataRate>) {
        self.catch_up(now);
        if let Some(entrance) = &mut self.entrance {
            entrance.set_open(now, place, rate);
            self.release_at = entrance.next_release();
        }
    }

    /// Returns the flows of a regulator at the entrance, by its place.
    pub fn flows_of_queue(&self, place: usize) -> Vec<FlowId> {
        let entrance = self.entrance.as_ref();
        entrance.map_or_else(Vec::new, |entrance| entrance.flows_of(place))
    }

    /// Releases the packets that shapers have held long enough.
    #[cold]
    fn release(&mut self, now: Instant) {
        while let Some(entrance) = self.entrance.as_mut() {
            let released = entrance.release(now);
            self.release_at = entrance.next_release();
            match released {
                Some((from, offered)) => self.take_in(now, from, offered),
                None => return,
            }
        }
    }

    /// Offers a packet to a link that is down or whose directions share a channel.
    #[cold]
    fn offer_otherwise(&mut self, now: Instant, from: End, offered: Offered) {
        self.move_on(now);
        if let Some(Air::AdHoc(network)) = self.air.as_deref_mut() {
            return network.offer(now, from, offered, self.state == State::Up);
        }
        let direction = &mut self.directions.of(&self.config, self.seed)[from.index()];
        match self.state {
            State::Up => {
                if direction.enqueue(now, offered, true) {
                    self.start(now, from);
                }
            }
            State::Holding => {
                direction.enqueue(now, offered, false);
            }
            State::Dropping => direction.drop(now, offered.packet, DropReason::LinkDown),
        }
        self.note_deadline(from);
    }

    /// Returns the fates of packets up to `now`, one at a time, in order of time; at equal times those of packets
    /// offered at end A first.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Fate> {
        if self.release_at <= now {
            self.release(now);
        }
        if self.air.is_some() {
            return self.poll_shared(now);
        }
        loop {
            let from = first_of(self.deadlines);
            let deadline = self.deadlines[from.index()];
            if deadline > now {
                return None;
            }
            let direction = &mut self.directions.of(&self.config, self.seed)[from.index()];
            let config = &self.ways[from.index()];
            pipe::catch_up(direction, config, now);
            // Otherwise this was only the earliest possible time of a fate.
            if direction.next_fate() == deadline {
                let fate = direction.take_fate();
                self.deadlines[from.index()] = pipe::next_deadline(direction, config);
                return fate;
            }
            self.deadlines[from.index()] = pipe::next_deadline(direction, config);
        }
    }

    /// Returns the next packet with a failed link-layer attempt, which the link retransmits or gives up, and the end at
    /// which it was offered: once for each failed attempt up to `now`. On links with retransmission, call this before
    /// [`poll`](Link::poll).
    pub fn poll_failure(&mut self, now: Instant) -> Option<(End, PacketId)> {
        self.catch_up(now);
        let directions = self.directions.0.as_mut()?;
        let failure = |from: End| Some((from, directions[from.index()].take_failure()?));
        End::ALL.into_iter().find_map(failure)
    }

    /// Takes out a packet that was offered at this end and has left its transmitter by `now`: the far end of the link is in
    /// another part of the world. Only for full-duplex links that nothing changes.
    pub fn take_launched(&mut self, now: Instant, from: End) -> Option<Launched> {
        self.catch_up_direction(now, from);
        let directions = self.directions.0.as_mut()?;
        let launched = directions[from.index()].take_launched();
        self.note_deadline(from);
        launched
    }

    /// Returns the time at which the packet in service at this end leaves its transmitter, or never.
    pub fn next_launch(&self, from: End) -> Instant {
        let made = self.directions.made();
        made.map_or(Instant::NEVER, |made| made[from.index()].service_end)
    }

    /// Takes in a packet of `length` bytes offered at the end `from`, which is in another part of the world.
    pub fn put_in_flight(&mut self, from: End, launched: Launched, length: u32) {
        let directions = self.directions.of(&self.config, self.seed);
        directions[from.index()].put_in_flight(launched, length);
        self.note_deadline(from);
    }

    #[cold]
    fn poll_shared(&mut self, now: Instant) -> Option<Fate> {
        self.catch_up(now);
        if let Some(Air::AdHoc(network)) = self.air.as_deref_mut() {
            return network.poll();
        }
        let directions = self.directions.0.as_mut()?;
        let fates = directions.each_ref().map(Direction::next_fate);
        let from = first_of(fates);
        if fates[from.index()] > now {
            return None;
        }
        directions[from.index()].take_fate()
    }

    /// Returns the time of the next poll, unless something else happens before; `None` while no packet on the link
    /// moves. Mostly there is a fate at that time; medium access may turn out to take longer.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if let Some(air) = &self.air {
            let release = (self.release_at != Instant::NEVER).then_some(self.release_at);
            let own = match &**air {
                Air::AdHoc(network) => network.next_deadline(),
                Air::Dcf(dcf) => {
                    let directions = self.directions.made();
                    directions.and_then(|made| dcf.next_deadline(made, &self.config))
                }
            };
            return earlier(own, release);
        }
        let [down, up] = self.deadlines;
        let first = down.min(up).min(self.release_at);
        (first != Instant::NEVER).then_some(first)
    }

    /// Changes the parameters from `now` on. A packet being serialised keeps its end, unless it was stalled at rate
    /// zero; a smaller queue drops no waiting packets. Switching medium access on or off restarts it.
    pub fn reconfigure(&mut self, now: Instant, config: impl Into<Shared<LinkConfig>>) {
        let config = config.into();
        self.catch_up(now);
        let [down, up] = self.directions.of(&self.config, self.seed);
        pipe::retrace(down, &self.config.down, &config.down);
        pipe::retrace(up, &self.config.up, &config.up);
        down.reconfigure(&config.name, &config.down, self.seed);
        up.reconfigure(&config.name, &config.up, self.seed);
        self.distinguishes = distinguishes(&config);
        self.ways = [config.down.clone(), config.up.clone()];
        self.config = config;
        self.set_medium(now);
        if self.state == State::Up {
            self.start(now, End::A);
            self.start(now, End::B);
        }
        self.note_deadlines();
    }

    /// Lets no packet pass until [`set_up`](Link::set_up). With `keep_queue` all packets on the link, including those
    /// in flight, go back to the head of its queue in order and wait, together with packets offered meanwhile that have
    /// room; all are serialised anew afterwards. Otherwise they are lost, and so are the packets offered meanwhile. A
    /// mobile ad hoc network keeps none.
    pub fn set_down(&mut self, now: Instant, keep_queue: bool) {
        self.catch_up(now);
        for direction in self.directions.of(&self.config, self.seed) {
            direction.put_back(now);
            if !keep_queue {
                direction.drop_waiting(now, DropReason::LinkDown);
            }
        }
        if !keep_queue {
            self.drop_at_entrance(now, DropReason::LinkDown);
        }
        self.empty_network(now, DropReason::LinkDown);
        self.state = if keep_queue {
            State::Holding
        } else {
            State::Dropping
        };
        self.note_deadlines();
    }

    /// Lets packets pass again.
    pub fn set_up(&mut self, now: Instant) {
        self.catch_up(now);
        self.state = State::Up;
        if let Some(Air::Dcf(dcf)) = self.air.as_deref_mut() {
            dcf.reset(now);
        }
        self.start(now, End::A);
        self.start(now, End::B);
        self.note_deadlines();
    }

    /// Drops the waiting packets; those being serialised or in flight continue, except in a mobile ad hoc network.
    pub fn discard_queue(&mut self, now: Instant) {
        self.catch_up(now);
        for direction in self.directions.of(&self.config, self.seed) {
            direction.drop_waiting(now, DropReason::Discarded);
        }
        self.drop_at_entrance(now, DropReason::Discarded);
        self.empty_network(now, DropReason::Discarded);
        self.note_deadlines();
    }

    /// Loses all packets in a mobile ad hoc network.
    fn empty_network(&mut self, now: Instant, reason: DropReason) {
        if let Some(Air::AdHoc(network)) = self.air.as_deref_mut() {
            network.lose_all(now, reason);
        }
    }

    /// Lets no packet pass until [`set_up`](Link::set_up). Packets that the link itself holds, by its flow control, are
    /// lost; packets waiting at IP stay there, with those offered meanwhile that have room.
    pub fn hold_at_ip(&mut self, now: Instant) {
        self.catch_up(now);
        let directions = self.directions.of(&self.config, self.seed);
        for (direction, config) in directions.iter_mut().zip(&self.ways) {
            direction.drop_own(now, config.flow_control);
        }
        self.state = State::Holding;
        self.note_deadlines();
    }

    /// Takes out the packets waiting at IP at an end, in order: all beyond those that the link itself holds. A link
    /// that is down holds none; without flow control none wait at IP.
    pub fn take_from_ip(&mut self, now: Instant, from: End) -> Vec<PacketId> {
        self.catch_up(now);
        let Some(flow_control) = self.ways[from.index()].flow_control else {
            return Vec::new();
        };
        let own = match self.state {
            State::Up => flow_control,
            State::Holding | State::Dropping => QueueLimit::Packets(0),
        };
        let directions = self.directions.of(&self.config, self.seed);
        let mut taken = directions[from.index()].take_beyond(own);
        if let Some(entrance) = &mut self.entrance {
            taken.extend(entrance.take_waiting(from));
            self.release_at = entrance.next_release();
        }
        self.note_deadline(from);
        taken
    }

    fn drop_at_entrance(&mut self, now: Instant, reason: DropReason) {
        let Some(entrance) = &mut self.entrance else {
            return;
        };
        for from in [End::A, End::B] {
            for packet in entrance.take_waiting(from) {
                let directions = self.directions.of(&self.config, self.seed);
                directions[from.index()].drop(now, packet, reason);
            }
        }
        self.release_at = Instant::NEVER;
    }

    /// Processes all events up to `now`, in both directions, before the queues are read. Fates wait to be polled.
    pub fn catch_up(&mut self, now: Instant) {
        if self.release_at <= now {
            self.release(now);
        }
        self.move_on(now);
    }

    /// Catches up like [`catch_up`](Link::catch_up), without the releases of shapers.
    fn move_on(&mut self, now: Instant) {
        match self.air.as_deref_mut() {
            Some(Air::AdHoc(network)) => return network.catch_up(now),
            Some(Air::Dcf(dcf)) => {
                let directions = self.directions.of(&self.config, self.seed);
                return dcf.catch_up(directions, &self.config, now);
            }
            None => {}
        }
        self.catch_up_direction(now, End::A);
        self.catch_up_direction(now, End::B);
    }

    /// Returns the packets and bytes waiting at an end, at shapers included, as of the last call that took a time, a
    /// packet or fate at this end, or [`catch_up`](Link::catch_up). The packet being serialised is not counted.
    pub fn queue(&self, from: End) -> (u32, u64) {
        if let Some(Air::AdHoc(network)) = self.air.as_deref() {
            return network.queue(from);
        }
        let made = self.directions.made();
        let (packets, bytes) = made.map_or((0, 0), |made| made[from.index()].queue());
        let (shaped, shaped_bytes) = self.at_entrance(from);
        (packets + shaped, bytes + shaped_bytes)
    }

    fn at_entrance(&self, from: End) -> (u32, u64) {
        let entrance = self.entrance.as_ref();
        entrance.map_or((0, 0), |entrance| entrance.waiting(from))
    }

    /// Returns true if no packet offered at this end waits, is being serialised or in flight, as of the same calls as
    /// [`queue`](Link::queue).
    pub fn is_empty(&self, from: End) -> bool {
        if let Some(Air::AdHoc(network)) = self.air.as_deref() {
            return network.is_empty(from) && self.at_entrance(from).0 == 0;
        }
        let made = self.directions.made();
        made.is_none_or(|made| made[from.index()].is_empty()) && self.at_entrance(from).0 == 0
    }

    /// Returns the present parameters.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Returns true if packets pass.
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// Returns the bit error rate of the packets sent from an end so far, as the decoder at the other end measures it;
    /// `None` without a code.
    pub fn bit_error_rate(&self, from: End) -> Option<f64> {
        self.directions.made()?[from.index()].bit_error_rate()
    }

    fn catch_up_direction(&mut self, now: Instant, from: End) {
        if let Some(directions) = &mut self.directions.0 {
            let direction = &mut directions[from.index()];
            pipe::catch_up(direction, &self.ways[from.index()], now);
        }
    }

    /// Recomputes the time of a direction's next fate.
    fn note_deadline(&mut self, from: End) {
        if let (None, Some(directions)) = (&self.air, self.directions.made()) {
            let direction = &directions[from.index()];
            self.deadlines[from.index()] = pipe::next_deadline(direction, &self.ways[from.index()]);
        }
    }

    fn note_deadlines(&mut self) {
        self.note_deadline(End::A);
        self.note_deadline(End::B);
    }

    /// Begins service of the head of a queue if no packet is in service.
    fn start(&mut self, now: Instant, from: End) {
        let direction = &mut self.directions.of(&self.config, self.seed)[from.index()];
        match self.air.as_deref_mut() {
            Some(Air::Dcf(dcf)) => dcf.start(direction, from, now),
            Some(Air::AdHoc(_)) => {}
            None => pipe::start(direction, &self.ways[from.index()], now),
        }
    }

    fn set_medium(&mut self, now: Instant) {
        let LinkConfig { name, .. } = &*self.config;
        self.air = match (self.air.as_deref_mut(), &self.config.medium) {
            (None, Medium::FullDuplex) => return,
            (Some(Air::Dcf(dcf)), Medium::Dcf(config)) => return dcf.reconfigure(*config, now),
            (Some(Air::AdHoc(network)), Medium::AdHoc(_)) => {
                return network.reconfigure(now, &self.config.down);
            }
            (_, Medium::FullDuplex) => None,
            (_, Medium::Dcf(config)) => {
                let dcf = Dcf::new(*config, name, self.seed, now);
                Some(Box::new(Air::Dcf(dcf)))
            }
            (_, Medium::AdHoc(config)) => {
                let network = AdHoc::new(config.clone(), &self.config, self.seed);
                Some(Box::new(Air::AdHoc(network)))
            }
        };
        for direction in self.directions.of(&self.config, self.seed) {
            direction.stop_service();
        }
    }
}

/// Returns true if a queue of a link is managed, or if the link translates.
fn distinguishes(config: &LinkConfig) -> bool {
    let is_managed =
        |direction: &DirectionConfig| direction.queue.management != Management::DropTail;
    is_managed(&config.down) || is_managed(&config.up) || translates(config)
}

fn translates(config: &LinkConfig) -> bool {
    matches!(&config.medium, Medium::AdHoc(network) if network.routing.has_aeronp())
}

/// Returns the end with the earlier time; at equal times A.
#[inline]
fn first_of(moments: [Instant; 2]) -> End {
    if moments[0] <= moments[1] {
        End::A
    } else {
        End::B
    }
}

#[inline]
fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
