//! What a link holds in one direction, and what has been decided there.

use super::channel::Channel;
use super::config::DirectionConfig;
use super::queue::{Item, Queue};
use super::trace::Cursor;
use super::{DropReason, End, Fate, Outcome};
use crate::packets::PacketId;
use crate::rng::{Keyed, Seed};
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;

/// One direction of a link: packets wait, one is in service, others are in flight.
#[derive(Debug)]
pub(super) struct Direction {
    from: End,
    queue: Queue,
    channel: Option<Box<Channel>>,
    /// The packet that has left the queue and not yet the transmitter.
    pub in_service: Option<Item>,
    /// When the one in service leaves, on a link without medium access; `None` while it stands still.
    pub service_end: Option<Instant>,
    /// How far a recording's delivery opportunities are used.
    pub cursor: Cursor,
    in_flight: VecDeque<InFlight>,
    /// The latest arrival that was decided: nobody overtakes it.
    last_arrival: Instant,
    /// Losses that are not yet told, in order of time.
    dropped: VecDeque<(Instant, PacketId, DropReason)>,
    offered: u64,
    jitter: Keyed,
}

/// A packet on the way.
#[derive(Debug)]
struct InFlight {
    arrival: Instant,
    item: Item,
    outcome: Outcome,
}

impl Direction {
    pub fn new(from: End, link: &str, config: &DirectionConfig, seed: Seed) -> Direction {
        let mut direction = Direction {
            from,
            queue: Queue::new(config.queue.limit),
            channel: None,
            in_service: None,
            service_end: None,
            cursor: Cursor::default(),
            in_flight: VecDeque::new(),
            last_arrival: Instant::ZERO,
            dropped: VecDeque::new(),
            offered: 0,
            jitter: seed.keyed(&stream_name(from, link, "jitter")),
        };
        direction.reconfigure(link, config, seed);
        direction
    }

    /// Takes other parameters.
    pub fn reconfigure(&mut self, link: &str, config: &DirectionConfig, seed: Seed) {
        let draws = seed.keyed(&stream_name(self.from, link, "queue"));
        self.queue.reconfigure(config, draws);
        let name = stream_name(self.from, link, "channel");
        self.channel = Channel::new(config, seed, &name, self.channel.take());
    }

    /// Takes a packet into the queue if it finds room; drops it otherwise and returns false. `up` is whether
    /// the link works, so that an idle one serves the packet at once.
    pub fn enqueue(&mut self, now: Instant, packet: PacketId, length: u32, up: bool) -> bool {
        let item = Item {
            packet,
            length,
            number: self.offered,
            offered_at: now,
        };
        self.offered += 1;
        let idle = up && self.in_service.is_none() && self.queue.len() == 0;
        match self.queue.enqueue(now, item, idle) {
            Ok(()) => true,
            Err(reason) => {
                self.drop(now, packet, reason);
                false
            }
        }
    }

    /// Moves the next packet from the queue into service and returns it; `None` if there is none.
    pub fn serve_next(&mut self, now: Instant) -> Option<Item> {
        let dropped = &mut self.dropped;
        self.in_service = self.queue.dequeue(now, |packet| {
            dropped.push_back((now, packet, DropReason::QueueManagement));
        });
        self.in_service
    }

    /// What the channel does to the packet in service if it has left the transmitter at `left`, on the
    /// `attempt`-th attempt (0 where there is but one).
    pub fn verdict(&mut self, config: &DirectionConfig, left: Instant, attempt: u32) -> Outcome {
        match (&mut self.channel, self.in_service) {
            (Some(channel), Some(item)) => {
                let recorded = config
                    .trace
                    .as_ref()
                    .map_or(0.0, |trace| trace.loss_at(left));
                channel.verdict(left, item, attempt, recorded)
            }
            _ => Outcome::UNDAMAGED,
        }
    }

    /// Sends the packet in service on its way. It has left the transmitter at `left`.
    pub fn launch(&mut self, config: &DirectionConfig, left: Instant, outcome: Outcome) {
        if let Some(item) = self.in_service.take() {
            let arrival = self.arrival(config, left, item);
            self.last_arrival = arrival;
            self.in_flight.push_back(InFlight {
                arrival,
                item,
                outcome,
            });
        }
    }

    /// When a packet that leaves the transmitter at `left` arrives.
    pub fn arrival(&self, config: &DirectionConfig, left: Instant, item: Item) -> Instant {
        let recorded = config.trace.as_ref().and_then(|trace| trace.delay_at(left));
        let mut arrival = left + recorded.unwrap_or(config.delay);
        if !config.jitter.is_zero() {
            let share = self.jitter.uniform(item.number);
            arrival += Duration::from_nanos((config.jitter.as_nanos() as f64 * share) as u64);
        }
        arrival.max(self.last_arrival)
    }

    /// Records a loss.
    pub fn drop(&mut self, now: Instant, packet: PacketId, reason: DropReason) {
        self.dropped.push_back((now, packet, reason));
    }

    /// Puts what is in service back at the head of the queue.
    pub fn stop_service(&mut self) {
        if let Some(item) = self.in_service.take() {
            self.queue.put_back(item);
        }
        self.service_end = None;
    }

    /// Puts what is in service and in flight back at the head of the queue, in its order.
    pub fn put_back(&mut self, now: Instant) {
        self.stop_service();
        while self
            .in_flight
            .back()
            .is_some_and(|flying| flying.arrival > now)
        {
            if let Some(flying) = self.in_flight.pop_back() {
                self.queue.put_back(flying.item);
            }
        }
        self.last_arrival = now;
    }

    /// Drops everything that waits.
    pub fn drop_waiting(&mut self, now: Instant, reason: DropReason) {
        while let Some(item) = self.queue.pop() {
            self.drop(now, item.packet, reason);
        }
    }

    /// When the next fate that is already certain happens.
    pub fn next_fate(&self) -> Option<Instant> {
        super::earlier(self.next_drop(), self.next_arrival())
    }

    fn next_drop(&self) -> Option<Instant> {
        self.dropped.front().map(|&(at, ..)| at)
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.front().map(|flying| flying.arrival)
    }

    /// Takes out the next fate; at equal times arrivals first.
    pub fn take_fate(&mut self) -> Option<Fate> {
        let arrival_first = match (self.next_arrival(), self.next_drop()) {
            (Some(arrival), Some(drop)) => arrival <= drop,
            (arrival, _) => arrival.is_some(),
        };
        if arrival_first {
            self.in_flight.pop_front().map(|flying| Fate {
                packet: flying.item.packet,
                from: self.from,
                at: flying.arrival,
                outcome: flying.outcome,
            })
        } else {
            self.dropped.pop_front().map(|(at, packet, reason)| Fate {
                packet,
                from: self.from,
                at,
                outcome: Outcome::Dropped(reason),
            })
        }
    }

    /// Packets and bytes that wait.
    pub fn waiting(&self) -> (u32, u64) {
        (self.queue.len() as u32, self.queue.bytes())
    }

    /// Whether the queue manager may drop packets when the one in service has left.
    pub fn drops_at_dequeue(&self) -> bool {
        self.queue.drops_at_dequeue()
    }

    /// Whether there may be a drop when the one in service has left: by the queue manager, or because it
    /// does not arrive.
    pub fn may_drop(&self) -> bool {
        self.channel.is_some() || self.drops_at_dequeue()
    }

    /// Whether nothing waits, is in service or in flight.
    pub fn is_empty(&self) -> bool {
        self.queue.len() == 0 && self.in_service.is_none() && self.in_flight.is_empty()
    }
}

/// Name of the random draws for a purpose in one direction.
fn stream_name(from: End, link: &str, purpose: &str) -> String {
    match from {
        End::A => format!("link {link} down {purpose}"),
        End::B => format!("link {link} up {purpose}"),
    }
}
