//! A link's parameters, checked: the scenario makes them, the link models take them.

use super::queue::Management;
use super::regulator::RegulatorConfig;
use super::trace::Trace;
use crate::rng::Seed;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use core::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Parameters that many links have in common: a copy costs nothing until it is changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared<T>(Arc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Shared(Arc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

/// A link: its name, and what it may have in common with others of its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Name in the scenario; also the name of its random streams.
    pub name: String,
    kind: Shared<LinkKind>,
}

/// A link's medium and its two directions.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkKind {
    /// Medium, shared by the directions or not.
    pub medium: Medium,
    /// From end A to end B.
    pub down: Shared<DirectionConfig>,
    /// From end B to end A.
    pub up: Shared<DirectionConfig>,
    /// Shapers and policers at its entrance, from the start of the run to its end.
    pub regulators: Vec<RegulatorConfig>,
    /// Position in its recordings at the start of the run.
    pub start: Start,
    /// Largest IP packet, in bytes. Hosts and routers see to it (ICMP); the link carries what it is given.
    pub mtu: u32,
}

impl Deref for LinkConfig {
    type Target = LinkKind;
    fn deref(&self) -> &LinkKind {
        &self.kind
    }
}

impl DerefMut for LinkConfig {
    fn deref_mut(&mut self) -> &mut LinkKind {
        &mut self.kind
    }
}

impl LinkConfig {
    /// A link of this name and kind.
    pub fn new(name: &str, kind: LinkKind) -> LinkConfig {
        LinkConfig {
            name: name.to_owned(),
            kind: kind.into(),
        }
    }

    /// Has its kind in common with another link of the same: a fleet has thousands.
    pub fn share(&mut self, other: &LinkConfig) {
        if self.kind == other.kind {
            self.kind = other.kind.clone();
        }
    }

    /// Propagation both ways.
    pub fn round_trip_delay(&self) -> Duration {
        self.down.delay + self.up.delay
    }

    /// Returns true if packets that it does not hold itself wait at IP, at both ends.
    pub fn flow_controlled(&self) -> bool {
        self.down.flow_control.is_some() && self.up.flow_control.is_some()
    }

    /// Returns true if it sends again the packets that its channel loses.
    pub fn repeats(&self) -> bool {
        self.down.retransmission.is_some() || self.up.retransmission.is_some()
    }

    /// A direction by its place: 0 is down, any other up.
    pub(crate) fn direction(&self, index: usize) -> &DirectionConfig {
        if index == 0 { &self.down } else { &self.up }
    }
}

/// Position of a link in its recordings at the start of a run; all of them begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// So long after their beginning.
    At(Duration),
    /// At a millisecond of the longest, drawn from the run's seed.
    Random,
}

impl Start {
    /// Returns the position in the recordings of `link` at which a run with `seed` begins.
    pub fn resolved(self, link: &LinkConfig, seed: Seed) -> Duration {
        match self {
            Start::At(after) => after,
            Start::Random => {
                let traces = [&link.down, &link.up].map(|direction| direction.trace.as_ref());
                let lengths = traces.into_iter().flatten().map(|trace| trace.length());
                let milliseconds = lengths.max().unwrap_or(Duration::ZERO).as_nanos() / 1_000_000;
                let mut draws = seed.stream(&format!("link {} start", link.name));
                Duration::from_millis(draws.below(milliseconds.max(1)))
            }
        }
    }
}

/// Medium of a link, shared by its directions or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Medium {
    /// Each direction has a channel of its own.
    FullDuplex,
    /// Both directions contend for one channel as IEEE 802.11b stations do.
    Dcf(DcfConfig),
}

/// Parameters of 802.11b's distributed coordination function; the data rate is the direction's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcfConfig {
    /// Rate of acknowledgment frames.
    pub control_rate: DataRate,
    /// Preamble and PLCP header ahead of every frame: 192 µs long, 96 µs short.
    pub preamble: Duration,
    /// Attempts at one frame before it is dropped.
    pub retry_limit: u32,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Rate at which bits leave the queue; a trace of rates or delivery opportunities overrides it.
    pub rate: DataRate,
    /// Bytes and bits that the link puts around a packet.
    pub framing: Framing,
    /// Time from the last bit sent to the last bit received; a trace of delays overrides it.
    pub delay: Duration,
    /// Added to the delay: uniform over [0, jitter), drawn per packet; a packet never overtakes another.
    pub jitter: Duration,
    /// Queue in which packets wait.
    pub queue: QueueConfig,
    /// Packets or bytes that the link itself holds at most; all others wait at IP, from where a handover can send them
    /// by another way. `None`: the link holds all.
    pub flow_control: Option<QueueLimit>,
    /// Retransmission by the link of packets that its channel has lost; not where a medium does so already.
    pub retransmission: Option<Retransmission>,
    /// Channel effects on packets.
    pub channel: ChannelConfig,
    /// A recording that drives rate, delay or loss.
    pub trace: Option<Arc<Trace>>,
}

/// Bytes and bits that a link puts around a packet: time on the line is `(packet bytes + bytes_per_packet) ×
/// bits_per_byte / rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Bytes around each packet.
    pub bytes_per_packet: u32,
    /// Bits for each byte: 8, or 10 on an asynchronous line (start and stop bit).
    pub bits_per_byte: u32,
}

impl Framing {
    /// Bits on the line for a packet of `length` bytes.
    pub const fn bits(self, length: u32) -> u64 {
        (length as u64 + self.bytes_per_packet as u64) * self.bits_per_byte as u64
    }
}

/// A queue: the packets that wait; the one being serialised is not counted.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Capacity of the queue.
    pub limit: QueueLimit,
    /// Order of service, and choice of the packets that are dropped.
    pub management: Management,
}

/// Capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many packets.
    Packets(u32),
    /// Packets of this many bytes together.
    Bytes(u64),
}

/// A link that sends again what its channel has lost, in order: nothing else is sent meanwhile. It hears of a loss as soon as
/// the packet has left; the pause stands for the time until it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Attempts at one packet before it is dropped.
    pub attempts: u32,
    /// From the end of an attempt that has failed to the next one.
    pub pause: Duration,
}

/// Channel effects on packets. Several causes act independently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelConfig {
    /// Probability that a packet is damaged, whatever its length.
    pub packet_error_rate: f64,
    /// Probability that a bit of the IP packet is flipped.
    pub bit_error_rate: f64,
    /// Loss in bursts.
    pub burst: Option<GilbertElliott>,
    /// Loss while the mobile at end B is in a shadow, the same for both directions.
    pub shadowing: Option<Shadowing>,
    /// Fate of damaged packets.
    pub damaged: Damaged,
    /// True if bit errors hit no headers of IP and transport; only where damaged packets are delivered.
    pub spares_headers: bool,
}

/// Moments without line of sight (buildings, trees, power lines), in continuous time with exponentially distributed stays:
/// a packet is lost that comes to the mobile, or leaves it, in a shadow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// Mean time between shadows.
    pub mean_clear: Duration,
    /// Mean time in a shadow.
    pub mean_shadow: Duration,
}

/// Treatment of packets that bit errors have damaged. A packet that `packet_error_rate` hits is always dropped: nothing
/// is known of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// The link's checksum finds and drops them.
    Dropped,
    /// They are delivered with their errors.
    Delivered,
}

/// A channel that alternates between two states, in continuous time with exponentially distributed stays
/// (Gilbert 1960, Elliott 1963), so that the state is a function of (seed, link, time) and not of the traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Mean stay in the good state.
    pub mean_good: Duration,
    /// Mean stay in the bad state.
    pub mean_bad: Duration,
    /// Loss probability in the good state.
    pub loss_good: f64,
    /// Loss probability in the bad state.
    pub loss_bad: f64,
}
