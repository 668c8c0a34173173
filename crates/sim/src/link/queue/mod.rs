//! Queues: their limit, the packets that they drop, and the order of service.
//!
//! An unmanaged queue is the [direction](super::direction)'s own: first come, first served, and a packet without room
//! is dropped. Every other discipline is a [`Discipline`], which keeps the waiting packets. Each has a file here, with
//! its settings, as a scenario has them, and its state. The list below names all.

pub mod codel;
mod fifo;
pub mod fq_codel;
pub mod pie;
pub mod priority;
pub mod red;

use super::config::{DirectionConfig, QueueLimit};
use crate::packets::PacketId;
use crate::rng::Keyed;
use crate::scenario::tagged::Kind;
use baton_proto::time::{Duration, Instant};
use core::fmt::Debug;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Makes [`Management`] of a list of disciplines: variant, name in a scenario, and settings of each.
macro_rules! disciplines {
    ($($kind:ident = $name:literal: $settings:ty,)*) => {
        /// Order of service in a queue, and choice of the packets that are dropped.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(tag = "management")]
        pub enum Management {
            /// Drop-tail: drops the packet that finds the queue full.
            #[default]
            #[serde(rename = "drop-tail")]
            DropTail,
            $(
                #[doc = concat!("The discipline `", $name, "`.")]
                #[serde(rename = $name)]
                $kind($settings),
            )*
        }

        impl Management {
            /// Returns true if packets leave in the order of arrival.
            pub fn keeps_order(&self) -> bool {
                match self {
                    Management::DropTail => true,
                    $(Management::$kind(_) => <$settings>::KEEPS_ORDER,)*
                }
            }

            /// Returns all kinds, as a scenario has them.
            pub(crate) fn kinds() -> Vec<Kind> {
                vec![
                    Kind::plain("drop-tail", "The packet that finds the queue full is dropped."),
                    $(Kind::of::<$settings>($name),)*
                ]
            }

            /// Returns the discipline of a queue, if it is managed.
            pub(super) fn build(&self, site: &Site) -> Option<Box<dyn Discipline>> {
                match self {
                    Management::DropTail => None,
                    $(Management::$kind(settings) => Some(settings.build(site)),)*
                }
            }

            /// Reports conflicting settings: the key and the message.
            pub(crate) fn check(&self, wrong: &mut dyn FnMut(&str, String)) {
                match self {
                    Management::DropTail => {}
                    $(Management::$kind(settings) => settings.check(wrong),)*
                }
            }
        }
    };
}

disciplines! {
    Red = "red": red::Red,
    CoDel = "codel": codel::CoDel,
    FqCodel = "fq-codel": fq_codel::FqCodel,
    Pie = "pie": pie::Pie,
    Priority = "priority": priority::Priority,
}

/// Settings of a discipline, as a scenario has them: each key has its default and its range.
pub(crate) trait Settings:
    Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema
{
    /// True if packets leave in the order of arrival.
    const KEEPS_ORDER: bool = true;

    /// Reports conflicting keys: the key and the message.
    fn check(&self, _wrong: &mut dyn FnMut(&str, String)) {}

    /// Returns an empty queue.
    fn build(&self, site: &Site) -> Box<dyn Discipline>;
}

/// Environment of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// Random numbers of the queue, by packet number.
    pub draws: Keyed,
    /// Time that a packet of 500 bytes takes on the link; zero while none passes.
    pub typical_time: Duration,
}

impl Site {
    /// Returns the environment of a direction's queue.
    pub fn new(config: &DirectionConfig, draws: Keyed) -> Site {
        let recorded = config.trace.as_ref().and_then(|trace| trace.mean_rate());
        let rate = recorded.unwrap_or(config.rate);
        let typical_time = rate.transmission_time(config.framing.bits(500));
        Site {
            draws,
            typical_time: typical_time.unwrap_or(Duration::ZERO),
        }
    }
}

/// A packet offered to a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub packet: PacketId,
    /// Bytes of the IP packet.
    pub length: u32,
    pub class: Class,
}

/// Facts by which disciplines distinguish packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The first three bits of the traffic class (RFC 2474 section 4.2.2), 0 to 7.
    pub precedence: u8,
    /// Hash of addresses, protocol and ports.
    pub flow_hash: u32,
}

/// A packet that a link holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub packet: PacketId,
    /// Bytes of the IP packet.
    pub length: u32,
    /// Number of packets offered before it in its direction: the key of its random draws.
    pub number: u64,
    /// Time at which it was offered.
    pub offered_at: Instant,
}

/// A waiting packet. One without a class came back from service, or waited before there was a discipline: it goes
/// first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub item: Item,
    pub class: Option<Class>,
}

/// A packet that arrives at a managed queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Instant,
    pub item: Item,
    pub class: Class,
    /// Capacity of the queue.
    pub limit: QueueLimit,
    /// False if the limit has no room for it.
    pub has_room: bool,
}

/// A managed queue. Packets dropped after they were accepted go to `dropped`.
pub(crate) trait Discipline: Debug + Send {
    /// Takes in a packet, or refuses it.
    fn enqueue(&mut self, arrival: &Arrival, dropped: &mut Vec<Dropped>) -> Result<(), Refusal>;

    /// Returns the next packet to serve, at `now`; `None` if none waits.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Item>;

    /// Takes back a packet, which goes before all others.
    fn put_back(&mut self, item: Item);

    /// Returns the number of waiting packets and bytes.
    fn waiting(&self) -> (usize, u64);

    /// Takes out all packets, in the order of service.
    fn unload(&mut self) -> Vec<Waiting>;

    /// Appends packets to the waiting ones, regardless of the limit.
    fn restore(&mut self, waiting: Vec<Waiting>);

    /// Takes other settings and keeps its state, if they are of the same discipline; otherwise returns false.
    fn reconfigure(&mut self, management: &Management, site: &Site) -> bool;

    /// Returns true if it may drop waiting packets when the one before them has left.
    fn drops_at_dequeue(&self) -> bool {
        false
    }
}

/// A packet dropped after it had waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub packet: PacketId,
    pub why: Refusal,
}

/// Reason for a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Full queue.
    Full,
    /// Choice of the discipline.
    Chosen,
}

impl QueueLimit {
    /// Returns true if one more packet of `length` bytes may wait beside so many packets and bytes.
    #[inline]
    pub(super) fn has_room(self, packets: usize, bytes: u64, length: u32) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets < limit as usize,
            QueueLimit::Bytes(limit) => bytes + u64::from(length) <= limit,
        }
    }

    /// Returns true if so many packets and bytes fill more than half of the queue, which counts as congestion.
    pub(crate) const fn is_half_full(self, packets: u32, bytes: u64) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets > limit / 2,
            QueueLimit::Bytes(limit) => bytes > limit / 2,
        }
    }
}
