//! State of a link in one direction: its packets, and the fates already decided.

use super::channel::Channel;
use super::config::{Access, DirectionConfig, Framing, QueueLimit};
use super::demand::{Assignment, Slots};
use super::queue::{Arrival, Discipline, Dropped, Item, Offered, Refusal, Site, Waiting};
use super::trace::Cursor;
use super::{DropReason, End, Fate, Launched, Outcome};
use crate::packets::PacketId;
use crate::rng::{Keyed, Seed};
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// One direction of a link: packets wait, one is in service, others are in flight.
///
/// Thousands of links do not fit in a processor's first-level cache. The fields that a packet's hop needs on a link
/// without special features are in the first two cache lines (of 64 bytes), in this order.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Direction {
    /// Packets in the order of service: first those in flight, then the one in service, then the waiting ones, unless a
    /// discipline keeps those. A packet is written here once; then only the borders between the three groups move.
    held: VecDeque<Held>,
    /// Time of the first loss not yet reported, or never.
    next_drop: Instant,
    /// Time at which the packet in service leaves, on a link without medium access; never while the link is stalled.
    pub service_end: Instant,
    /// Latest arrival decided so far: no packet overtakes it.
    last_arrival: Instant,
    in_flight: u32,
    /// True while a packet is in service: begun, and still at the transmitter.
    serving: bool,
    /// True without a discipline, a channel, or a pending decision of one.
    pub plain: bool,
    /// True without recording and jitter: the delay below holds for every packet.
    pub steady: bool,
    from: End,
    delay: Duration,
    /// Length of the last packet whose serialisation time was computed, kept with that time; it saves a division for
    /// most packets.
    pub last_length: Option<u32>,
    pub last_time: Duration,
    limit: QueueLimit,
    /// Bytes waiting here, not in a discipline.
    bytes: u64,
    offered: u64,

    /// Queue discipline, which keeps the waiting packets.
    discipline: Option<Box<dyn Discipline>>,
    channel: Option<Box<Channel>>,
    /// Packets in flight that will not arrive as offered, in their order.
    marred: VecDeque<(PacketId, Outcome)>,
    /// Losses not yet reported, in order of time.
    dropped: VecDeque<(Instant, PacketId, DropReason)>,
    /// Failed attempts at the packet in service.
    pub failures: u32,
    /// Packets of failed attempts, not yet reported.
    failed: VecDeque<PacketId>,
    /// Use of a recording's delivery opportunities so far.
    pub cursor: Cursor,
    /// Position in its recordings at the start of the run.
    start: Duration,
    jitter: Keyed,
    /// Its slots, if it sends only in those assigned to it.
    slots: Option<Box<Slots>>,
}

#[derive(Debug)]
struct Held {
    item: Item,
    /// Time of arrival, once it is in flight.
    arrival: Instant,
}

impl Direction {
    /// Creates a direction of `link`, whose recordings begin at `start`.
    pub fn new(
        from: End,
        link: &str,
        (config, start): (&DirectionConfig, Duration),
        seed: Seed,
    ) -> Direction {
        let mut direction = Direction {
            held: VecDeque::new(),
            next_drop: Instant::NEVER,
            service_end: Instant::NEVER,
            last_arrival: Instant::ZERO,
            in_flight: 0,
            serving: false,
            plain: true,
            steady: true,
            from,
            delay: config.delay,
            last_length: None,
            last_time: Duration::ZERO,
            limit: config.queue.limit,
            bytes: 0,
            offered: 0,
            discipline: None,
            channel: None,
            marred: VecDeque::new(),
            dropped: VecDeque::new(),
            failures: 0,
            failed: VecDeque::new(),
            cursor: Cursor::default(),
            start,
            jitter: seed.keyed(&stream_name(from, link, "jitter")),
            slots: (config.access == Access::OnDemand).then(Box::default),
        };
        direction.reconfigure(link, config, seed);
        direction
    }

    /// Takes other parameters.
    pub fn reconfigure(&mut self, link: &str, config: &DirectionConfig, seed: Seed) {
        let draws = seed.keyed(&stream_name(self.from, link, "queue"));
        self.set_discipline(config, &Site::new(config, draws));
        self.channel = Channel::new(config, (link, self.from), seed, self.channel.take());
        self.limit = config.queue.limit;
        self.delay = config.delay;
        self.steady = config.trace.is_none() && config.jitter.is_zero();
        self.plain = self.discipline.is_none() && self.channel.is_none() && self.marred.is_empty();
        self.last_length = None;
    }

    /// Takes the discipline of the settings; an unchanged one keeps its state, and all waiting packets stay.
    fn set_discipline(&mut self, config: &DirectionConfig, site: &Site) {
        let management = &config.queue.management;
        let own = self.discipline.as_mut();
        if own.is_some_and(|own| own.reconfigure(management, site)) {
            return;
        }
        let waiting = self.take_all();
        self.discipline = management.build(site);
        self.give_back(waiting);
    }

    /// Takes out the packets that wait outside a discipline.
    fn take_waiting(&mut self) -> Vec<Waiting> {
        let first = self.held.len() - self.waiting();
        let taken = self.held.drain(first..);
        let unclassed = |held: Held| Waiting {
            item: held.item,
            class: None,
        };
        let taken: Vec<Waiting> = taken.map(unclassed).collect();
        self.bytes -= bytes_of(&taken);
        taken
    }

    /// Appends packets to the waiting ones.
    fn give_back(&mut self, waiting: Vec<Waiting>) {
        if let Some(discipline) = &mut self.discipline {
            return discipline.restore(waiting);
        }
        self.bytes += bytes_of(&waiting);
        let held = waiting.into_iter().map(|Waiting { item, .. }| Held {
            item,
            arrival: Instant::NEVER,
        });
        self.held.extend(held);
    }

    /// Takes a packet into the queue if it has room; otherwise drops it and returns false. `up` is true if the link
    /// works, so that an idle one serves the packet at once: then the limit, which is on waiting packets, does not
    /// apply.
    // Once a hop: the compiler does not inline it by itself.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Instant, offered: Offered, up: bool) -> bool {
        let Offered { packet, length, .. } = offered;
        let number = self.offered;
        self.offered += 1;
        let item = Item {
            packet,
            length,
            number,
            offered_at: now,
        };
        if !self.plain && self.discipline.is_some() {
            return self.enqueue_managed(now, offered, item, up);
        }
        let waiting = self.waiting();
        let idle = up && !self.serving && waiting == 0;
        if !idle && !self.limit.has_room(waiting, self.bytes, length) {
            self.drop(now, packet, DropReason::QueueFull);
            return false;
        }
        self.bytes += u64::from(length);
        self.held.push_back(Held {
            item,
            arrival: Instant::NEVER,
        });
        true
    }

    #[cold]
    fn enqueue_managed(&mut self, now: Instant, offered: Offered, item: Item, up: bool) -> bool {
        let Some(discipline) = &mut self.discipline else {
            return false;
        };
        let (packets, bytes) = discipline.waiting();
        let idle = up && !self.serving && packets == 0;
        let arrival = Arrival {
            now,
            item,
            class: offered.class,
            limit: self.limit,
            has_room: idle || self.limit.has_room(packets, bytes, item.length),
        };
        let mut dropped = Vec::new();
        let taken = discipline.enqueue(&arrival, &mut dropped);
        self.note_dropped(now, &dropped);
        if let Err(why) = taken {
            self.drop(now, item.packet, why.into());
        }
        taken.is_ok()
    }

    fn note_dropped(&mut self, now: Instant, dropped: &[Dropped]) {
        for &Dropped { packet, why } in dropped {
            self.drop(now, packet, why.into());
        }
    }

    /// Returns the number of packets waiting here, not in a discipline.
    #[inline]
    fn waiting(&self) -> usize {
        self.held.len() - self.in_flight as usize - usize::from(self.serving)
    }

    /// Moves the next packet from the queue into service and returns its length; `None` if there is none. No packet may
    /// be in service before.
    #[inline]
    pub fn serve_next(&mut self, now: Instant) -> Option<u32> {
        if !self.plain {
            self.failures = 0;
            if self.discipline.is_some() {
                self.take_from_discipline(now);
            }
        }
        let length = self.head().map(|held| held.item.length);
        self.bytes -= u64::from(length.unwrap_or(0));
        self.serving = length.is_some();
        length
    }

    /// Takes the next packet out of the discipline, if there is one.
    #[cold]
    fn take_from_discipline(&mut self, now: Instant) {
        let Some(discipline) = &mut self.discipline else {
            return;
        };
        let mut dropped = Vec::new();
        let next = discipline.dequeue(now, &mut dropped);
        self.note_dropped(now, &dropped);
        if let Some(item) = next {
            self.bytes += u64::from(item.length);
            self.held.push_back(Held {
                item,
                arrival: Instant::NEVER,
            });
        }
    }

    /// Lets the last packet here, which waits again, wait before all others.
    fn come_back(&mut self) {
        if let Some(discipline) = &mut self.discipline
            && let Some(held) = self.held.pop_back()
        {
            self.bytes -= u64::from(held.item.length);
            discipline.put_back(held.item);
        }
    }

    /// Returns the first packet that is not in flight.
    #[inline]
    fn head(&self) -> Option<&Held> {
        self.held.get(self.in_flight as usize)
    }

    /// Returns the packet in service: out of the queue, still at the transmitter.
    #[inline]
    pub fn in_service(&self) -> Option<Item> {
        self.head().filter(|_| self.serving).map(|held| held.item)
    }

    /// Returns the recordings' time at a time of the run.
    pub fn in_recording(&self, now: Instant) -> Instant {
        now + self.start
    }

    /// Returns the run's time at a time of the recordings.
    pub fn in_run(&self, recorded: Instant) -> Instant {
        Instant::ZERO + recorded.saturating_since(Instant::ZERO + self.start)
    }

    /// Decides the fate in the channel of the packet in service if it leaves the transmitter at `left`, on attempt
    /// `attempt` (0 on links with one).
    pub fn verdict(&mut self, config: &DirectionConfig, left: Instant, attempt: u32) -> Outcome {
        let item = self.in_service();
        match (&mut self.channel, item) {
            (Some(channel), Some(item)) => {
                let recorded = config
                    .trace
                    .as_ref()
                    .map_or(0.0, |trace| trace.loss_at(left + self.start));
                channel.verdict(left, item, attempt, recorded)
            }
            _ => Outcome::UNDAMAGED,
        }
    }

    /// Returns the bit error rate that the decoder measures, if there is one.
    pub fn bit_error_rate(&self) -> Option<f64> {
        self.channel.as_ref()?.bit_error_rate()
    }

    /// Sends the packet in service on its way, as the channel has left it, from the transmitter at `left`.
    pub fn launch(&mut self, config: &DirectionConfig, left: Instant, outcome: Outcome) {
        if let Some(item) = self.in_service()
            && outcome != Outcome::UNDAMAGED
        {
            self.marred.push_back((item.packet, outcome));
        }
        self.launch_undamaged(config, left);
    }

    /// Sends the packet in service on its way.
    #[inline]
    pub fn launch_undamaged(&mut self, config: &DirectionConfig, left: Instant) {
        let arrival = self.arrival(config, left);
        if self.serving
            && let Some(held) = self.held.get_mut(self.in_flight as usize)
        {
            held.arrival = arrival;
            self.last_arrival = arrival;
            self.in_flight += 1;
            self.serving = false;
        }
    }

    /// Returns the arrival time of the packet in service if it leaves the transmitter at `left`; never if there is
    /// none.
    #[inline]
    pub fn arrival(&self, config: &DirectionConfig, left: Instant) -> Instant {
        if !self.serving {
            return Instant::NEVER;
        }
        let arrival = if self.steady {
            left + self.delay
        } else {
            self.varied_arrival(config, left)
        };
        arrival.max(self.last_arrival)
    }

    #[cold]
    fn varied_arrival(&self, config: &DirectionConfig, left: Instant) -> Instant {
        let number = self.head().map_or(0, |held| held.item.number);
        let trace = config.trace.as_ref();
        let recorded = trace.and_then(|trace| trace.delay_at(left + self.start));
        let mut arrival = left + recorded.unwrap_or(config.delay);
        if !config.jitter.is_zero() {
            let share = self.jitter.uniform(number);
            arrival += Duration::from_nanos((config.jitter.as_nanos() as f64 * share) as u64);
        }
        arrival
    }

    /// Records a loss.
    #[cold]
    pub fn drop(&mut self, now: Instant, packet: PacketId, reason: DropReason) {
        self.next_drop = self.next_drop.min(now);
        self.dropped.push_back((now, packet, reason));
    }

    /// Drops the packet in service.
    pub fn drop_in_service(&mut self, now: Instant, reason: DropReason) {
        if self.serving
            && let Some(held) = self.held.remove(self.in_flight as usize)
        {
            self.serving = false;
            self.drop(now, held.item.packet, reason);
        }
    }

    /// Notes a failed attempt at the packet in service.
    #[cold]
    pub fn fail(&mut self) {
        self.failures += 1;
        let packet = self.in_service().map(|item| item.packet);
        self.failed.extend(packet);
    }

    /// Returns the packet of the next failed attempt not yet reported.
    pub fn take_failure(&mut self) -> Option<PacketId> {
        self.failed.pop_front()
    }

    /// Puts the packet in service back at the head of the queue.
    pub fn stop_service(&mut self) {
        self.failures = 0;
        if let Some(slots) = &mut self.slots {
            slots.forget();
        }
        if let Some(item) = self.in_service() {
            self.bytes += u64::from(item.length);
            self.serving = false;
            self.come_back();
        }
        self.service_end = Instant::NEVER;
    }

    /// Takes the slots of a superframe.
    pub fn assign(&mut self, assignment: Assignment) {
        if let Some(slots) = &mut self.slots {
            slots.assign(assignment);
        }
    }

    /// Returns the time at which the packet in service has left by its slots, never as long as it lacks some; `None` if
    /// there are no slots.
    #[cold]
    pub fn sent_in_slots(&mut self, now: Instant, bits: u64) -> Option<Instant> {
        let offered_at = self.in_service().map_or(now, |item| item.offered_at);
        let slots = self.slots.as_mut()?;
        Some(slots.send(now, offered_at, bits))
    }

    /// Returns the bits that wait, and those of the packet in service without a slot so far.
    pub fn backlog_bits(&self, framing: Framing) -> u64 {
        let (packets, bytes) = self.queue();
        let unsent = self.slots.as_ref().and_then(|slots| slots.unsent());
        framing.bits_of(packets, bytes) + unsent.unwrap_or(0)
    }

    /// Puts the packets in service and in flight back at the head of the queue, in order.
    pub fn put_back(&mut self, now: Instant) {
        self.stop_service();
        while let Some(last) = (self.in_flight as usize).checked_sub(1)
            && self.held[last].arrival > now
        {
            let item = self.held[last].item;
            self.in_flight -= 1;
            self.bytes += u64::from(item.length);
            self.come_back();
            if self
                .marred
                .back()
                .is_some_and(|marred| marred.0 == item.packet)
            {
                self.marred.pop_back();
            }
        }
        self.last_arrival = now;
    }

    /// Drops the packets that the link itself holds, including those in flight; packets waiting at IP stay.
    pub fn drop_own(&mut self, now: Instant, flow_control: Option<QueueLimit>) {
        let beyond = flow_control.map(|own| self.take_out_beyond(own));
        self.put_back(now);
        self.drop_waiting(now, DropReason::LinkDown);
        self.give_back(beyond.unwrap_or_default());
    }

    /// Takes out the waiting packets beyond those that the link itself holds.
    pub fn take_beyond(&mut self, own: QueueLimit) -> Vec<PacketId> {
        let taken = self.take_out_beyond(own);
        taken.iter().map(|waiting| waiting.item.packet).collect()
    }

    /// Takes out the waiting packets beyond so many packets or bytes.
    fn take_out_beyond(&mut self, own: QueueLimit) -> Vec<Waiting> {
        let mut waiting = self.take_all();
        let (mut packets, mut bytes) = (0, 0);
        for Waiting { item, .. } in &waiting {
            if !own.has_room(packets, bytes, item.length) {
                break;
            }
            packets += 1;
            bytes += u64::from(item.length);
        }
        let beyond = waiting.split_off(packets);
        self.give_back(waiting);
        beyond
    }

    /// Takes out all waiting packets, in the order of service.
    fn take_all(&mut self) -> Vec<Waiting> {
        match &mut self.discipline {
            Some(discipline) => discipline.unload(),
            None => self.take_waiting(),
        }
    }

    /// Drops all waiting packets.
    pub fn drop_waiting(&mut self, now: Instant, reason: DropReason) {
        for Waiting { item, .. } in self.take_all() {
            self.drop(now, item.packet, reason);
        }
    }

    /// Returns the time of the next fate that is already certain; never if none is.
    #[inline]
    pub fn next_fate(&self) -> Instant {
        self.next_drop.min(self.next_arrival())
    }

    #[inline]
    fn next_arrival(&self) -> Instant {
        match self.held.front() {
            Some(first) if self.in_flight > 0 => first.arrival,
            _ => Instant::NEVER,
        }
    }

    /// Takes out the next fate, which must exist; at equal times arrivals first.
    #[inline]
    pub fn take_fate(&mut self) -> Option<Fate> {
        let at = self.next_arrival();
        if at > self.next_drop {
            return self.take_drop();
        }
        let packet = self.held.pop_front()?.item.packet;
        self.in_flight -= 1;
        let outcome = if self.plain {
            Outcome::UNDAMAGED
        } else {
            self.decided(packet)
        };
        Some(Fate {
            packet,
            from: self.from,
            at,
            outcome,
        })
    }

    /// Takes out the first packet in flight: its way from here on is another part's of the world.
    pub fn take_launched(&mut self) -> Option<Launched> {
        let arrival = self.next_arrival();
        if arrival == Instant::NEVER {
            return None;
        }
        let packet = self.held.pop_front()?.item.packet;
        self.in_flight -= 1;
        let outcome = self.decided(packet);
        Some(Launched {
            packet,
            arrival,
            outcome,
        })
    }

    /// Takes in a packet that another part of the world has launched, in the order of arrivals.
    pub fn put_in_flight(&mut self, launched: Launched, length: u32) {
        let item = Item {
            packet: launched.packet,
            length,
            number: 0,
            offered_at: launched.arrival,
        };
        let arrival = launched.arrival;
        self.held.push_back(Held { item, arrival });
        self.in_flight += 1;
        if launched.outcome != Outcome::UNDAMAGED {
            self.marred.push_back((launched.packet, launched.outcome));
        }
    }

    #[cold]
    fn decided(&mut self, packet: PacketId) -> Outcome {
        if self.marred.front().is_some_and(|marred| marred.0 == packet)
            && let Some((_, outcome)) = self.marred.pop_front()
        {
            return outcome;
        }
        Outcome::UNDAMAGED
    }

    #[cold]
    fn take_drop(&mut self) -> Option<Fate> {
        let (at, packet, reason) = self.dropped.pop_front()?;
        let next = self.dropped.front();
        self.next_drop = next.map_or(Instant::NEVER, |&(at, ..)| at);
        Some(Fate {
            packet,
            from: self.from,
            at,
            outcome: Outcome::Dropped(reason),
        })
    }

    /// Returns the packets and bytes that wait.
    pub fn queue(&self) -> (u32, u64) {
        let (packets, bytes) = self.managed();
        ((self.waiting() + packets) as u32, self.bytes + bytes)
    }

    /// Returns the packets and bytes that wait in a discipline.
    fn managed(&self) -> (usize, u64) {
        let discipline = self.discipline.as_ref();
        discipline.map_or((0, 0), |discipline| discipline.waiting())
    }

    /// Returns true if the queue manager may drop packets when the one in service has left.
    pub fn drops_at_dequeue(&self) -> bool {
        let discipline = self.discipline.as_ref();
        discipline.is_some_and(|one| one.drops_at_dequeue() && one.waiting().0 > 0)
    }

    /// Returns true if there may be a drop when the packet in service has left: by the queue manager, or because that
    /// packet does not arrive.
    pub fn may_drop(&self) -> bool {
        self.channel.is_some() || self.drops_at_dequeue()
    }

    /// Returns true if nothing waits, is in service or in flight.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.managed().0 == 0
    }
}

fn bytes_of(waiting: &[Waiting]) -> u64 {
    waiting.iter().map(|one| u64::from(one.item.length)).sum()
}

impl From<Refusal> for DropReason {
    fn from(why: Refusal) -> DropReason {
        match why {
            Refusal::Full => DropReason::QueueFull,
            Refusal::Chosen => DropReason::QueueManagement,
        }
    }
}

/// Returns the name of the random draws for a purpose in one direction.
pub(super) fn stream_name(from: End, link: &str, purpose: &str) -> String {
    match from {
        End::A => format!("link {link} down {purpose}"),
        End::B => format!("link {link} up {purpose}"),
    }
}
