//! Links and their changes, as written.

use super::raw_reception::{RawCoverage, RawLineOfSight, RawShadowing};
use super::raw_regulators::{RawPolicer, RawShaper};
use super::tagged;
use super::units::{PositiveTime, QueueSize, Rate, Size, Time};
use crate::link::cells::RawRadio;
use crate::link::config::LinkConfig;
use crate::link::presets;
use crate::link::queue::Management;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// A link between two nodes, or with kind = "ldacs1" a radio network. Keys of a direction that stand here hold for both
/// directions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawLink {
    /// The two nodes. "Down" is from the first to the second, so name the mobile second. Default: none, but then
    /// kind = "ldacs1".
    pub between: Option<[String; 2]>,
    /// Kind of link; it gives every other key its default.
    pub kind: RawKind,
    /// Largest IP packet. Default "1500 B".
    pub mtu: Option<Size>,
    /// wifi only: stations contend as in 802.11b, or, if false, the link is a plain pipe. Default true.
    pub medium_access: Option<bool>,
    /// wifi only: preamble ahead of every frame. Default "long".
    pub preamble: Option<RawPreamble>,
    /// geo only: up where the mobile, which runs along a line, has the satellite in sight. Default: always up.
    pub line_of_sight: Option<RawLineOfSight>,
    /// geo only: moments in which packets to and from the second node are lost. Default: none.
    pub shadowing: Option<RawShadowing>,
    /// wifi only: up where the mobile, which runs along a line, is near an access point. Default: always up.
    pub coverage: Option<RawCoverage>,
    /// trace only: start of the run within its recordings, like "30 s", or "random": drawn from the seed. All files of
    /// the link begin together. Default "0 s".
    pub start: Option<RawStart>,
    /// Token buckets at the link's entrance that let flows wait. Default: none.
    pub shapers: Option<Vec<RawShaper>>,
    /// Token buckets at the link's entrance that drop what is too much. Default: none.
    pub policers: Option<Vec<RawPolicer>>,
    /// Keys of a radio network alone.
    #[serde(flatten)]
    pub radio: RawRadio,
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

/// Kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawKind {
    /// A cable: full duplex, no errors.
    Wired,
    /// A link over a geostationary satellite.
    Geo,
    /// IEEE 802.11b.
    Wifi,
    /// GSM circuit-switched data with PPP: 9.6 kbit/s, start and stop bit around each byte.
    Gsm,
    /// IEEE 802.11ax at home, as rates, a delay and a queue only, without its medium access.
    Wifi6,
    /// LTE as rates, a delay and a queue only.
    Lte,
    /// 5G below 6 GHz as rates, a delay and a queue only.
    #[serde(rename = "5g")]
    FiveG,
    /// Starlink as rates, a delay and a queue only, without its changes of satellite.
    Starlink,
    /// Driven by a recording: mahimahi, a LeoReplayer pair, or CSV.
    Trace,
    /// L-DACS1: a network of cells for aircraft, which it hands over itself. Of the keys of links it has `mtu`, and `queue`
    /// in bytes.
    Ldacs1,
}

impl RawKind {
    /// Returns a link of this kind before its keys are applied; none of a radio network, which is no link between two nodes.
    pub fn preset(self, name: &str) -> Option<LinkConfig> {
        Some(match self {
            RawKind::Wired => presets::wired::link(name),
            RawKind::Geo => presets::geo::link(name),
            RawKind::Wifi => presets::wifi::link(name),
            RawKind::Gsm => presets::gsm::link(name),
            RawKind::Wifi6 => presets::today::wifi6(name),
            RawKind::Lte => presets::today::lte(name),
            RawKind::FiveG => presets::today::five_g(name),
            RawKind::Starlink => presets::today::starlink(name),
            RawKind::Trace => presets::traced::link(name),
            RawKind::Ldacs1 => return None,
        })
    }

    /// Returns true for a radio network.
    pub fn is_radio(self) -> bool {
        self == RawKind::Ldacs1
    }
}

/// Preamble of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawPreamble {
    /// 192 µs.
    Long,
    /// 96 µs.
    Short,
}

/// A direction of a link.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawDirection {
    /// Rate at which bits leave the queue. Default: the kind's; a trace needs one unless it is recorded.
    pub rate: Option<Rate>,
    /// Time from the last bit sent to the last bit received; with `bandwidth`, the name of a file of delays.
    /// Default: the kind's.
    #[schemars(extend("format" = "delay"))]
    pub delay: Option<String>,
    /// Added to the delay, uniform from zero to this; packets never overtake each other.
    /// Default "0 s".
    pub jitter: Option<Time>,
    /// Capacity of the queue, like "100 packets" or "64 kB", or a table that also says which packets are dropped.
    /// Default: the kind's.
    pub queue: Option<RawQueue>,
    /// Packets or bytes that the link itself holds at most; all others wait at IP, from where `old_queue = "reroute"`
    /// sends them over a new link. Default: all of it.
    pub flow_control: Option<QueueSize>,
    /// Repetition by the link of packets that its channel loses, or "none". Default "none".
    pub retransmission: Option<RawRetransmission>,
    /// Probability that a packet is lost, whatever its length. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub packet_error_rate: Option<f64>,
    /// Probability that a bit is flipped. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bit_error_rate: Option<f64>,
    /// Loss in bursts (Gilbert–Elliott), or "none". Default "none".
    pub burst_loss: Option<RawBurstLoss>,
    /// Fate of packets with bit errors. Default "dropped".
    pub damaged: Option<RawDamaged>,
    /// Bits that are never flipped; only with damaged = "delivered". Default "nothing".
    pub spares: Option<RawSpared>,
    /// Bytes and bits that the link puts around a packet. Default: the kind's.
    pub framing: Option<RawFraming>,
    /// trace only: file of delivery opportunities, one millisecond a line, for 1500 B each. Default: none.
    pub mahimahi: Option<String>,
    /// trace only: LeoReplayer's file of rates; `delay` then names its file of delays. Default: none.
    pub bandwidth: Option<String>,
    /// trace only: CSV with a header and any of the columns time_s, rate_bps, delay_ms, loss. Default: none.
    pub csv: Option<String>,
    /// trace only: continuation after the end of the file. Default "repeat".
    pub at_end: Option<RawAtEnd>,
}

/// Start of the run within a recording.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawStart {
    /// Anywhere.
    Random(RawRandom),
    /// So long after its beginning.
    At(Time),
}

/// The word "random".
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawRandom {
    /// Drawn from the seed.
    Random,
}

/// Continuation after the end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawAtEnd {
    /// The recording from its start.
    Repeat,
    /// The last values for ever.
    Hold,
}

/// Fate of packets with bit errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawDamaged {
    /// The link's checksum finds and drops them.
    Dropped,
    /// They are delivered with their errors.
    Delivered,
}

/// Bits that are never flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawSpared {
    /// Every bit can be hit.
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

/// A channel that is now good, now bad, each for exponentially distributed times.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawBursts {
    /// Mean time in the good state.
    pub mean_good: PositiveTime,
    /// Mean time in the bad state.
    pub mean_bad: PositiveTime,
    /// Probability of losing a packet in the good state. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_good: Option<f64>,
    /// Probability of losing a packet in the bad state. Default 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_bad: Option<f64>,
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
#[derive(Clone, Debug)]
pub struct RawManagedQueue {
    /// Capacity of the queue. Default: the kind's.
    pub limit: Option<QueueSize>,
    /// Discipline.
    pub management: Management,
}

impl<'de> Deserialize<'de> for RawManagedQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawManagedQueue, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let limit = table.remove("limit").map(QueueSize::deserialize);
        let limit = limit.transpose().map_err(D::Error::custom)?;
        let unmanaged = || toml::Value::from("drop-tail");
        table.entry("management").or_insert_with(unmanaged);
        let management = Management::deserialize(table).map_err(D::Error::custom)?;
        Ok(RawManagedQueue { limit, management })
    }
}

impl JsonSchema for RawManagedQueue {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "RawManagedQueue".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut limit = QueueSize::json_schema(generator).to_value();
        limit["description"] = "Capacity of the queue. Default: the kind's.".into();
        let common = [("limit".to_owned(), limit)].into_iter().collect();
        let kinds = Management::kinds();
        let whole = "A queue and its management.";
        let about = "Order of service, and choice of the packets that are dropped.";
        let schema = tagged::table(("management", about, false), whole, common, &kinds);
        Schema::try_from(schema).unwrap_or_default()
    }
}

/// A link that sends again, or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawRetransmission {
    /// Lost packets stay lost (from a change on).
    None(RawNone),
    /// It is sent again.
    Repeating(RawRepeating),
}

/// A link sends again what its channel has lost, and nothing else meanwhile.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawRepeating {
    /// Attempts at one packet before it is dropped.
    #[schemars(range(min = 2, max = 100_000))]
    pub attempts: u32,
    /// Pause between the end of a failed attempt and the next. Default "0 s".
    pub pause: Option<Time>,
}

/// A change of a link's parameters or state, from a time on. Direction keys are as in a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawChange {
    /// Time of the change.
    pub at: Time,
    /// Name of the link.
    pub link: String,
    /// "down": nothing passes, and what is queued and in flight is lost; "up": it works again. Default: as it was.
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
    /// It works.
    Up,
    /// It does not.
    Down,
}
