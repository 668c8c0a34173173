//! A link's parameters, validated: produced by the scenario, used by the link models.

use super::ad_hoc::AdHocConfig;
use super::coding::Coding;
use super::queue::Management;
use super::regulator::RegulatorConfig;
use super::tdma::Slots;
use super::trace::Trace;
use crate::rng::Seed;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use baton_proto::wire::mih::LinkIdentifier;
use core::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Parameters that many links share: a copy costs nothing until it is changed.
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

/// A link: its name, and the parameters that it may share with others of its kind.
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
    /// Largest IP packet, in bytes. Hosts and routers enforce it (ICMP); the link carries any packet offered to it.
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
    /// Creates a link of this name and kind.
    pub fn new(name: &str, kind: LinkKind) -> LinkConfig {
        LinkConfig {
            name: name.to_owned(),
            kind: kind.into(),
        }
    }

    /// Shares the parameters with another link if they are equal: a fleet has thousands of links.
    pub fn share(&mut self, other: &LinkConfig) {
        if self.kind == other.kind {
            self.kind = other.kind.clone();
        }
    }

    /// Returns the propagation delay both ways.
    pub fn round_trip_delay(&self) -> Duration {
        self.down.delay + self.up.delay
    }

    /// Returns true if packets beyond the link's own buffer wait at IP, at both ends.
    pub fn flow_controlled(&self) -> bool {
        self.down.flow_control.is_some() && self.up.flow_control.is_some()
    }

    /// Returns true if it retransmits the packets that its channel loses.
    pub fn repeats(&self) -> bool {
        self.down.retransmission.is_some() || self.up.retransmission.is_some()
    }

    /// Returns true if the code of a direction follows its bit error rate.
    pub fn adapts_code(&self) -> bool {
        let adapts = |direction: &DirectionConfig| {
            let coding = direction.channel.coding;
            coding.is_some_and(|coding| coding.loss.is_some())
        };
        adapts(&self.down) || adapts(&self.up)
    }

    /// Takes over the present codes of the same link where they are adaptive.
    pub fn keep_codes(&mut self, of: &LinkConfig) {
        let keep = |own: &mut DirectionConfig, present: &DirectionConfig| {
            if let (Some(own), Some(present)) = (&mut own.channel.coding, present.channel.coding)
                && own.loss.is_some()
                && present.loss.is_some()
            {
                own.code = present.code;
            }
        };
        keep(&mut self.down, &of.down);
        keep(&mut self.up, &of.up);
    }

    /// Returns true if it reports what becomes of packets: failed attempts, or the state of queues at its entrance.
    pub fn reports(&self) -> bool {
        self.repeats() || self.regulators.iter().any(|regulator| regulator.reports)
    }

    /// Returns a direction by its index: 0 is down, any other up.
    pub(crate) fn direction(&self, index: usize) -> &DirectionConfig {
        if index == 0 { &self.down } else { &self.up }
    }
}

/// Position of a link in its recordings at the start of a run; all of them begin together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Offset from their beginning.
    At(Duration),
    /// A random millisecond of the longest recording, drawn from the run's seed.
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
#[derive(Clone, Debug, PartialEq)]
pub enum Medium {
    /// Each direction has a channel of its own.
    FullDuplex,
    /// Both directions contend for one channel as IEEE 802.11b stations do.
    Dcf(DcfConfig),
    /// A mobile ad hoc network lies between the ends.
    AdHoc(Shared<AdHocConfig>),
}

impl Medium {
    /// Returns true if both directions share one channel, whose access retransmits lost frames.
    pub fn is_contended(&self) -> bool {
        matches!(self, Medium::Dcf(_))
    }

    /// Returns the medium's link type in IEEE 802.21.
    pub fn link_type(&self) -> u8 {
        match self {
            Medium::FullDuplex | Medium::AdHoc(_) => LinkIdentifier::OTHER_WIRELESS,
            Medium::Dcf(_) => LinkIdentifier::IEEE_802_11,
        }
    }
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
    /// Packets or bytes that the link itself holds at most; others wait at IP, from where a handover can send them over
    /// another link. `None`: the link holds all.
    pub flow_control: Option<QueueLimit>,
    /// Retransmission by the link of packets lost by its channel; not for a medium with retransmission of its own.
    pub retransmission: Option<Retransmission>,
    /// Channel effects on packets.
    pub channel: ChannelConfig,
    /// Recording that drives rate, delay or loss.
    pub trace: Option<Arc<Trace>>,
    /// Times at which it may send.
    pub access: Access,
}

impl DirectionConfig {
    /// Returns the bits on the line for a packet of `length` bytes, parity and framing included.
    pub fn line_bits(&self, length: u32) -> u64 {
        let coding = self.channel.coding;
        let coded = coding.map_or(length, |coding| coding.code.coded(length));
        self.framing.bits(coded)
    }
}

/// Times at which a direction may send.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// All times.
    Always,
    /// Slots that are assigned to it, whatever its rate.
    OnDemand,
    /// Its own slots of a frame.
    Slots(Arc<Slots>),
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
    /// Returns the bits on the line for a packet of `length` bytes.
    pub const fn bits(self, length: u32) -> u64 {
        self.bits_of(1, length as u64)
    }

    /// Returns the bits on the line for so many packets of so many bytes in all.
    pub const fn bits_of(self, packets: u32, bytes: u64) -> u64 {
        (bytes + packets as u64 * self.bytes_per_packet as u64) * self.bits_per_byte as u64
    }
}

/// A queue of waiting packets; the packet in service is not counted.
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
    /// Capacity in packets.
    Packets(u32),
    /// Capacity in bytes, all packets together.
    Bytes(u64),
}

/// In-order retransmission by a link: nothing else is sent meanwhile. The link learns of a loss as soon as the packet
/// has left; the pause stands for the delay of the feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Attempts at one packet before it is dropped.
    pub attempts: u32,
    /// Time from the end of a failed attempt to the next one.
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
    /// Loss while the mobile at end B is in a shadow, in both directions at once.
    pub shadowing: Option<Shadowing>,
    /// Forward error correction of bit errors.
    pub coding: Option<Coding>,
    /// Fate of damaged packets.
    pub damaged: Damaged,
    /// True if bit errors spare the IP and transport headers; only with delivery of damaged packets.
    pub spares_headers: bool,
}

/// Times without line of sight (buildings, trees, power lines), in continuous time with exponentially distributed
/// stays: a packet that arrives at the mobile, or leaves it, in a shadow is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// Mean time between shadows.
    pub mean_clear: Duration,
    /// Mean time in a shadow.
    pub mean_shadow: Duration,
    /// Antennas of the mobile, at least one; it is in a shadow when all are.
    pub antennas: u32,
    /// Time after which an antenna meets the shadow of the one ahead of it.
    pub antennas_apart: Duration,
}

/// Treatment of packets with bit errors. A packet lost by `packet_error_rate` is always dropped, as its damaged bits
/// are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// The link's checksum detects them, and the link drops them.
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
