//! Links and their changes, as written.

use super::raw_recordings::RawRecording;
use super::raw_regulators::{RawPolicer, RawShaper};
use super::tagged::{self, Tag};
use super::units::{PositiveTime, QueueSize, Rate, Size, Time};
use crate::link::cells::RawCell;
use crate::link::kinds::{self, RawKind};
use crate::link::queue::Management;
use schemars::{JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A link between two nodes, or with kind = "ldacs1" a radio network. Keys of a direction that stand here hold for both
/// directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(transform = add_kinds)]
pub struct RawLink {
    /// The two nodes. "Down" is from the first to the second, so name the mobile second. Default: none with
    /// kind = "ldacs1", otherwise required.
    pub between: Option<[String; 2]>,
    /// Kind of link, with its own keys.
    #[serde(flatten)]
    #[schemars(skip)]
    pub kind: RawKind,
    /// Largest IP packet. Default "1500 B".
    pub mtu: Option<Size>,
    /// Ingress filter at the link's exits (RFC 2827): a router does not forward a packet from the link if its route to
    /// the packet's source leaves by another (strict reverse path forwarding, RFC 3704 section 2.2). Mobiles do not
    /// filter. Default false.
    pub ingress_filter: Option<bool>,
    /// Token buckets at the link's entrance that delay the excess. Default: none.
    pub shapers: Option<Vec<RawShaper>>,
    /// Token buckets at the link's entrance that drop the excess. Default: none.
    pub policers: Option<Vec<RawPolicer>>,
    /// Both directions.
    #[serde(flatten)]
    pub both: RawDirection,
    /// Only from the first node to the second. Default: as both.
    #[serde(default)]
    pub down: RawDirection,
    /// Only from the second node to the first. Default: as both.
    #[serde(default)]
    pub up: RawDirection,
}

impl RawLink {
    /// Returns the cells of a radio network, by name.
    pub fn cells(&self) -> &[(String, RawCell)] {
        let radio = self.kind.settings().radio();
        radio.map_or(&[], |radio| &radio.cells.0)
    }
}

fn add_kinds(schema: &mut Schema) {
    tagged::add_to(schema, kinds::TAG, &RawKind::kinds());
}

/// A direction of a link.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawDirection {
    /// Rate at which bits leave the queue. Default: the kind's; a trace needs one unless it is recorded.
    pub rate: Option<Rate>,
    /// Time from the last bit sent to the last bit received. Default: the kind's.
    pub delay: Option<Time>,
    /// Added to the delay, uniform from zero to this; packets never overtake each other.
    /// Default "0 s".
    pub jitter: Option<Time>,
    /// Capacity of the queue, like "100 packets" or "64 kB", or a table that also says which packets are dropped.
    /// Default: the kind's.
    pub queue: Option<RawQueue>,
    /// Packets or bytes that the link itself holds at most; all others wait at IP, from where `old_queue = "reroute"`
    /// sends them over a new link. Default: all of it.
    pub flow_control: Option<QueueSize>,
    /// Link-layer retransmission of packets that the channel loses, or "none". Default "none".
    pub retransmission: Option<RawRetransmission>,
    /// Probability that a packet is lost, whatever its length. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub packet_error_rate: Option<f64>,
    /// Probability that a bit is flipped. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bit_error_rate: Option<f64>,
    /// Loss in bursts (Gilbert–Elliott), or "none". Default "none".
    pub burst_loss: Option<RawBurstLoss>,
    /// Forward error correction of bit errors, or "none". Default "none".
    pub coding: Option<RawLinkCoding>,
    /// Fate of packets with bit errors. Default "dropped".
    pub damaged: Option<RawDamaged>,
    /// Bits that are never flipped; only with damaged = "delivered". Default "nothing".
    pub spares: Option<RawSpared>,
    /// Bytes and bits that the link puts around a packet. Default: the kind's.
    pub framing: Option<RawFraming>,
    /// Recording that drives the direction. Default: none.
    pub recording: Option<RawRecording>,
}

/// Forward error correction, or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawLinkCoding {
    /// No code (from a change on).
    None(RawNone),
    /// A code.
    Code(RawCode),
}

/// Reed–Solomon code over bytes: a codeword has up to 255 bytes, and up to half as many wrong bytes as parity bytes are
/// corrected. One of the keys is required.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawCode {
    /// Parity bytes of each codeword, an even number. Default: by `loss`.
    #[schemars(range(min = 2, max = 128))]
    pub parity: Option<u32>,
    /// Share of full packets that may be lost: the receiver measures the bit error rate, and the sender takes the weakest
    /// code that suffices. Default: a fixed parity.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// Part of the sending node that says which loss is tolerated, in place of `loss`. Default: none.
    pub by: Option<RawCodeBy>,
}

/// Part of a node that says which loss a code may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawCodeBy {
    /// Its AeroTP connections in mode "unreliable-connection", of which the most demanding one counts; without any the code
    /// is the weakest.
    Transport,
}

/// Fate of packets with bit errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawDamaged {
    /// The link's checksum detects them, and the link drops them.
    Dropped,
    /// They are delivered with their errors.
    Delivered,
}

/// Bits that are never flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawSpared {
    /// Every bit can be flipped.
    Nothing,
    /// The bits of the IP header and of the transport's.
    Headers,
}

/// Time on the line is (packet bytes + bytes_per_packet) × bits_per_byte / rate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawFraming {
    /// Bytes around each packet. Default: the kind's.
    #[schemars(range(min = 0, max = 10_000))]
    pub bytes_per_packet: Option<u32>,
    /// Bits for each byte: 8, or 10 on an asynchronous line. Default: the kind's.
    #[schemars(range(min = 8, max = 80))]
    pub bits_per_byte: Option<u32>,
}

/// Loss in bursts, or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawBurstLoss {
    /// No bursts (from a change on).
    None(RawNone),
    /// A good and a bad state in turn.
    Bursts(RawBursts),
}

/// The word "none".
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawNone {
    /// Nothing.
    None,
}

/// A channel that alternates between a good and a bad state, each for exponentially distributed times.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawBursts {
    /// Mean time in the good state.
    pub mean_good: PositiveTime,
    /// Mean time in the bad state.
    pub mean_bad: PositiveTime,
    /// Probability of losing a packet in the good state.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_good: f64,
    /// Probability of losing a packet in the bad state.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_bad: f64,
}

fn certain() -> f64 {
    1.0
}

/// A queue: its size, or a table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawQueue {
    /// Drop-tail.
    Size(QueueSize),
    /// With management.
    Managed(RawManagedQueue),
}

/// A queue and its management.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(transform = add_managements)]
pub struct RawManagedQueue {
    /// Capacity of the queue. Default: the kind's.
    pub limit: Option<QueueSize>,
    /// Discipline.
    #[schemars(skip)]
    pub management: Management,
}

const MANAGEMENT: Tag = Tag {
    key: "management",
    about: "Order of service, and choice of the packets that are dropped.",
    default: Some("drop-tail"),
};

fn add_managements(schema: &mut Schema) {
    tagged::add_to(schema, MANAGEMENT, &Management::kinds());
}

impl<'de> Deserialize<'de> for RawManagedQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawManagedQueue, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let limit = table.remove("limit").map(QueueSize::deserialize);
        let limit = limit.transpose().map_err(D::Error::custom)?;
        MANAGEMENT.complete(&mut table);
        let management = Management::deserialize(table).map_err(D::Error::custom)?;
        Ok(RawManagedQueue { limit, management })
    }
}

/// Link-layer retransmission, or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawRetransmission {
    /// No retransmission (from a change on).
    None(RawNone),
    /// Retransmission.
    Repeating(RawRepeating),
}

/// Link-layer retransmission: a packet that the channel loses is sent again, and no other meanwhile.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawRepeating {
    /// Attempts at one packet before it is dropped.
    #[schemars(range(min = 2, max = 100_000))]
    pub attempts: u32,
    /// Pause between the end of a failed attempt and the next.
    #[serde(default)]
    pub pause: Time,
}

/// A change of a link's parameters or state, from a time on. Direction keys are as in a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawChange {
    /// Time of the change.
    pub at: Time,
    /// Name of the link.
    pub link: String,
    /// "down": nothing passes, and packets queued and in flight are lost; "up": the link works again. Default: as it
    /// was.
    pub state: Option<RawState>,
    /// Largest IP packet from then on. Default: as it was.
    pub mtu: Option<Size>,
    /// Both directions.
    #[serde(flatten)]
    pub both: RawDirection,
    /// Only from the first node to the second. Default: as both.
    #[serde(default)]
    pub down: RawDirection,
    /// Only from the second node to the first. Default: as both.
    #[serde(default)]
    pub up: RawDirection,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawState {
    /// Working.
    Up,
    /// Not working.
    Down,
}
