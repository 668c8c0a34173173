//! Link models: what happens to a packet between two hosts.
//!
//! A link is a state machine. [`Link::offer`] hands it a packet, [`Link::poll`] gives what has become of
//! packets up to a moment, [`Link::next_deadline`] says when to poll next. A link keeps no events of its
//! own: whenever it is touched it first catches up with the moment (serialisation that has ended, queue
//! managers' verdicts), in the order in which things happened. A link therefore costs
//! one event a packet, and a change of its parameters needs nothing to be taken back: only what has begun
//! serialising was decided.
//!
//! Scope: lengths are those of the IP packet; what a link puts around it is [`config::Framing`]'s. A link
//! carries any length: the MTU is the business of hosts and routers. Random draws belong to (seed, link,
//! direction, number of the packet among those offered there), the states of burst loss and shadowing to time, so that
//! compared runs meet the same channel. Fates come in order of time, at equal times those offered at end A
//! first, and are told at their very time if the link is polled at its deadlines.

mod capacity;
pub mod cells;
mod channel;
pub mod config;
mod dcf;
mod direction;
pub mod ldacs1;
mod pipe;
pub mod presets;
pub(crate) mod queue;
pub mod reception;
pub mod regulator;
pub mod trace;

use crate::packets::PacketId;
use crate::rng::Seed;
use baton_proto::packet::{BitErrors, FlowId};
use baton_proto::time::Instant;
use config::{DirectionConfig, LinkConfig, Medium, QueueLimit, Shared};
use dcf::Dcf;
use direction::Direction;
use queue::{Class, Management, Offered};
use regulator::{Admission, Entrance};

/// The two ends of a link. Downward is from `A` to `B`, where `B` is the mobile's end of an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The first end in the scenario's `between`; an access link's end in the network.
    A,
    /// The second end; the mobile's.
    B,
}

impl End {
    /// Both, A first.
    pub const ALL: [End; 2] = [End::A, End::B];

    /// A number for arrays of two: 0 for A, 1 for B.
    pub const fn index(self) -> usize {
        match self {
            End::A => 0,
            End::B => 1,
        }
    }

    /// The end across.
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
    /// The end at which it was offered.
    pub from: End,
    /// The moment of its arrival or loss.
    pub at: Instant,
    /// Its arrival, or its loss and why.
    pub outcome: Outcome,
}

/// Delivered, or lost and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has arrived at the other end, with these bits flipped (mostly none).
    Delivered {
        /// The bits that were flipped.
        bit_errors: BitErrors,
    },
    /// It is lost.
    Dropped(DropReason),
}

impl Outcome {
    /// Delivered as it was offered.
    pub const UNDAMAGED: Outcome = Outcome::Delivered {
        bit_errors: BitErrors::NONE,
    };
}

/// Reason for which a link lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// No room in the queue.
    QueueFull,
    /// The queue's discipline chose it.
    QueueManagement,
    /// The channel damaged it (packet or bit error) and the link drops damaged packets.
    ChannelError,
    /// The channel was in the bad state of its burst model, or its trace said so.
    BurstLoss,
    /// Something stood between the mobile and the satellite for a moment.
    Shadowing,
    /// Medium access gave up after its retries.
    RetryLimit,
    /// The link was down, or went down with the packet queued or in flight.
    LinkDown,
    /// The queue was discarded at a handover.
    Discarded,
    /// A policer found that its flow sends too much, or it is longer than a token bucket is deep.
    Policer,
    /// The scenario says so, of signalling.
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
            DropReason::Discarded => "discarded",
            DropReason::Policer => "policer",
            DropReason::Scenario => "scenario",
        }
    }

    /// Returns true if the sender's own queue, or a policer, had too much: the sender knows of it at once.
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
}

/// A link between two ends.
///
/// After every call of [`offer`](Link::offer), [`reconfigure`](Link::reconfigure),
/// [`set_down`](Link::set_down), [`set_up`](Link::set_up), [`discard_queue`](Link::discard_queue),
/// [`hold_at_ip`](Link::hold_at_ip) and [`take_from_ip`](Link::take_from_ip), and at every [`next_deadline`](Link::next_deadline), call [`poll`](Link::poll) until it returns `None`, then ask
/// for the next deadline. `now` never goes back from call to call.
///
/// A packet's hop looks at the first fields and at the direction that it takes; what lies behind the boxes it
/// mostly does not need.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// Time at which each direction may have something to tell next; not kept where they share a channel.
    deadlines: [Instant; 2],
    /// Time at which a shaper at the entrance lets the next packet pass, or never.
    release_at: Instant,
    /// The channel that the directions share; `None` if each has one of its own.
    dcf: Option<Box<Dcf>>,
    /// Shapers and policers, if there are any.
    entrance: Option<Box<Entrance>>,
    config: Shared<LinkConfig>,
    /// Its two directions, at hand for each hop.
    ways: [Shared<DirectionConfig>; 2],
    /// True if one of its queues is managed, and may tell packets apart.
    is_managed: bool,
    state: State,
    seed: Seed,
    directions: Directions,
}

/// Both directions of a link, made when one of them is needed first: of the links of thousands of mobiles to many cells most are
/// never used.
#[derive(Debug, Default)]
struct Directions(Option<Box<[Direction; 2]>>);

impl Directions {
    #[inline]
    fn of(&mut self, config: &LinkConfig, seed: Seed) -> &mut [Direction; 2] {
        self.0.get_or_insert_with(|| made(config, seed))
    }

    /// The directions, if they were made; otherwise nothing waits and nothing has happened.
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

/// State of a link: packets pass, or they meet another fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// Down, and what it is offered waits.
    Holding,
    /// Down, and what it is offered is lost.
    Dropping,
}

impl Link {
    /// A link that is up and empty. Its random draws belong to `seed` and to the link's name.
    pub fn new(config: impl Into<Shared<LinkConfig>>, seed: Seed) -> Link {
        let config = config.into();
        let mut link = Link {
            deadlines: [Instant::NEVER; 2],
            release_at: Instant::NEVER,
            dcf: None,
            entrance: Entrance::new(&config.regulators),
            is_managed: is_managed(&config),
            ways: [config.down.clone(), config.up.clone()],
            config,
            state: State::Up,
            seed,
            directions: Directions::default(),
        };
        link.set_medium(Instant::ZERO);
        link
    }

    /// Hands over a packet of `length` bytes (from the first of the IP header) at the end `from`. Of a link that
    /// [`reads_labels`](Link::reads_labels) it is nobody's, and of no class.
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

    #[inline]
    fn take_in(&mut self, now: Instant, from: End, offered: Offered) {
        if self.dcf.is_none() && self.state == State::Up {
            let direction = &mut self.directions.of(&self.config, self.seed)[from.index()];
            let config = &self.ways[from.index()];
            pipe::offer(direction, config, now, offered);
            self.deadlines[from.index()] = pipe::next_deadline(direction, config);
        } else {
            self.offer_otherwise(now, from, offered);
        }
    }

    /// Returns true if it has shapers or policers, which need the flow of each packet, or a managed queue.
    #[inline]
    pub fn reads_labels(&self) -> bool {
        self.is_managed || self.entrance.is_some()
    }

    /// As [`offer`](Link::offer), for a packet with a label.
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
        // A packet that the link loses anyway uses up no credit.
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

    /// Lets pass what shapers have kept long enough.
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

    /// To a link that is down or whose directions share a channel.
    #[cold]
    fn offer_otherwise(&mut self, now: Instant, from: End, offered: Offered) {
        self.move_on(now);
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

    /// Returns the fates of packets up to `now`, one at a time, in order of time; at equal times first those of packets
    /// offered at end A.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Fate> {
        if self.release_at <= now {
            self.release(now);
        }
        if self.dcf.is_some() {
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
            // Otherwise it was only the earliest moment at which there might have been one.
            if direction.next_fate() == deadline {
                let fate = direction.take_fate();
                self.deadlines[from.index()] = pipe::next_deadline(direction, config);
                return fate;
            }
            self.deadlines[from.index()] = pipe::next_deadline(direction, config);
        }
    }

    /// A packet that the link has failed to get across and sends again, or gives up, and the end at which it was offered: one
    /// for each attempt that has failed up to `now`. To be asked before [`poll`](Link::poll), where links repeat.
    pub fn poll_failure(&mut self, now: Instant) -> Option<(End, PacketId)> {
        self.catch_up(now);
        let directions = self.directions.0.as_mut()?;
        let failure = |from: End| Some((from, directions[from.index()].take_failure()?));
        End::ALL.into_iter().find_map(failure)
    }

    #[cold]
    fn poll_shared(&mut self, now: Instant) -> Option<Fate> {
        self.catch_up(now);
        let directions = self.directions.0.as_mut()?;
        let fates = directions.each_ref().map(Direction::next_fate);
        let from = first_of(fates);
        if fates[from.index()] > now {
            return None;
        }
        directions[from.index()].take_fate()
    }

    /// Returns the time of the next poll, if nothing else happens before; `None` while the link holds nothing that
    /// moves. Mostly there is a fate at that moment; medium access may turn out to take longer.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if let Some(dcf) = &self.dcf {
            let release = (self.release_at != Instant::NEVER).then_some(self.release_at);
            let directions = self.directions.made();
            let own = directions.and_then(|made| dcf.next_deadline(made, &self.config));
            return earlier(own, release);
        }
        let [down, up] = self.deadlines;
        let first = down.min(up).min(self.release_at);
        (first != Instant::NEVER).then_some(first)
    }

    /// Takes other parameters from `now` on. What has begun serialising keeps its end, unless it stood
    /// still at rate zero; what waits is not dropped by a smaller queue. When medium access is switched on or
    /// off, it begins anew.
    pub fn reconfigure(&mut self, now: Instant, config: impl Into<Shared<LinkConfig>>) {
        let config = config.into();
        self.catch_up(now);
        let [down, up] = self.directions.of(&self.config, self.seed);
        pipe::retrace(down, &self.config.down, &config.down);
        pipe::retrace(up, &self.config.up, &config.up);
        down.reconfigure(&config.name, &config.down, self.seed);
        up.reconfigure(&config.name, &config.up, self.seed);
        self.is_managed = is_managed(&config);
        self.ways = [config.down.clone(), config.up.clone()];
        self.config = config;
        self.set_medium(now);
        if self.state == State::Up {
            self.start(now, End::A);
            self.start(now, End::B);
        }
        self.note_deadlines();
    }

    /// Lets nothing pass until [`set_up`](Link::set_up). With `keep_queue` everything that the link holds,
    /// what is in flight included, goes back to the head of its queue in its order and waits, together with
    /// what is offered meanwhile and finds room; all is serialised anew afterwards. Otherwise it is lost,
    /// and so is what is offered meanwhile.
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
        if let Some(dcf) = &mut self.dcf {
            dcf.reset(now);
        }
        self.start(now, End::A);
        self.start(now, End::B);
        self.note_deadlines();
    }

    /// Drops what waits; what is being serialised or in flight goes on.
    pub fn discard_queue(&mut self, now: Instant) {
        self.catch_up(now);
        for direction in self.directions.of(&self.config, self.seed) {
            direction.drop_waiting(now, DropReason::Discarded);
        }
        self.drop_at_entrance(now, DropReason::Discarded);
        self.note_deadlines();
    }

    /// Lets nothing pass until [`set_up`](Link::set_up). What the link itself holds, by its flow control, is lost; what waits at
    /// IP stays there, with what is offered meanwhile and finds room.
    pub fn hold_at_ip(&mut self, now: Instant) {
        self.catch_up(now);
        let directions = self.directions.of(&self.config, self.seed);
        for (direction, config) in directions.iter_mut().zip(&self.ways) {
            direction.drop_own(now, config.flow_control);
        }
        self.state = State::Holding;
        self.note_deadlines();
    }

    /// Takes out what waits at IP at an end, in order: all that waits beyond what the link itself holds, which of a link that is
    /// down is nothing. Without flow control nothing waits at IP.
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

    /// Does what has happened up to `now`, in both directions, for whoever is to look at the queues. Fates wait
    /// to be polled.
    pub fn catch_up(&mut self, now: Instant) {
        if self.release_at <= now {
            self.release(now);
        }
        self.move_on(now);
    }

    /// As [`catch_up`](Link::catch_up), without what shapers let pass.
    fn move_on(&mut self, now: Instant) {
        if let Some(dcf) = &mut self.dcf {
            let directions = self.directions.of(&self.config, self.seed);
            return dcf.catch_up(directions, &self.config, now);
        }
        self.catch_up_direction(now, End::A);
        self.catch_up_direction(now, End::B);
    }

    /// Packets and bytes that wait at an end, at shapers included, as of the last call that took a time, a packet or fate at
    /// this end, or [`catch_up`](Link::catch_up). The one being serialised is not counted.
    pub fn queue(&self, from: End) -> (u32, u64) {
        let made = self.directions.made();
        let (packets, bytes) = made.map_or((0, 0), |made| made[from.index()].queue());
        let (shaped, shaped_bytes) = self.at_entrance(from);
        (packets + shaped, bytes + shaped_bytes)
    }

    fn at_entrance(&self, from: End) -> (u32, u64) {
        let entrance = self.entrance.as_ref();
        entrance.map_or((0, 0), |entrance| entrance.waiting(from))
    }

    /// Returns true if no packet that was offered at this end waits, is being serialised or in flight, as of the same
    /// calls as [`queue`](Link::queue).
    pub fn is_empty(&self, from: End) -> bool {
        let made = self.directions.made();
        made.is_none_or(|made| made[from.index()].is_empty()) && self.at_entrance(from).0 == 0
    }

    /// Present parameters.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Returns true if packets pass.
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    fn catch_up_direction(&mut self, now: Instant, from: End) {
        if let Some(directions) = &mut self.directions.0 {
            let direction = &mut directions[from.index()];
            pipe::catch_up(direction, &self.ways[from.index()], now);
        }
    }

    /// Works out again when a direction has something to tell next.
    fn note_deadline(&mut self, from: End) {
        if let (None, Some(directions)) = (&self.dcf, self.directions.made()) {
            let direction = &directions[from.index()];
            self.deadlines[from.index()] = pipe::next_deadline(direction, &self.ways[from.index()]);
        }
    }

    fn note_deadlines(&mut self) {
        self.note_deadline(End::A);
        self.note_deadline(End::B);
    }

    /// Begins with the head of a queue if nothing is in service before it.
    fn start(&mut self, now: Instant, from: End) {
        let direction = &mut self.directions.of(&self.config, self.seed)[from.index()];
        match &mut self.dcf {
            Some(dcf) => dcf.start(direction, from, now),
            None => pipe::start(direction, &self.ways[from.index()], now),
        }
    }

    fn set_medium(&mut self, now: Instant) {
        match (&mut self.dcf, self.config.medium) {
            (Some(dcf), Medium::Dcf(config)) => return dcf.reconfigure(config, now),
            (None, Medium::FullDuplex) => return,
            (dcf, Medium::FullDuplex) => *dcf = None,
            (dcf, Medium::Dcf(config)) => {
                *dcf = Some(Box::new(Dcf::new(
                    config,
                    &self.config.name,
                    self.seed,
                    now,
                )));
            }
        }
        for direction in self.directions.of(&self.config, self.seed) {
            direction.stop_service();
        }
    }
}

/// Returns true if a queue of a link is managed.
fn is_managed(config: &LinkConfig) -> bool {
    [&config.down, &config.up]
        .into_iter()
        .any(|direction| direction.queue.management != Management::DropTail)
}

/// The end whose moment is the earlier one; at equal times A.
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
