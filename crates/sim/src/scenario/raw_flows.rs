//! Flows and the settings of their TCP, as written.

use super::control::RawCongestion;
use super::profiles;
use super::tagged::NameOr;
use super::traffic::{Bulk, RawTraffic};
use super::units::{PositiveTime, Rate, Size, Time};
use crate::transport::RawTransport;
use baton_proto::remedies::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Data that one application sends to another.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawFlow {
    /// Name, for results and for `--set flows.NAME.key=value`.
    #[schemars(extend("format" = "name"))]
    pub name: String,
    /// Source of the data.
    pub from: String,
    /// Destination of the data.
    pub to: String,
    /// Transport protocol by name, or a table with its settings. Default "tcp"; for ping "icmp".
    pub transport: Option<NameOr<RawTransport>>,
    /// tcp: remedies for handovers, one or several: published schemes, or classes in Python. Default: none.
    pub remedies: Option<RemedyNames>,
    /// tcp, udp, icmp: code point of differentiated services of its packets (RFC 2474), both ways; queues by priority
    /// go by it. Default 0.
    #[schemars(range(min = 0, max = 63))]
    pub code_point: Option<u8>,
    /// On radio networks: priority of its packets; the highest goes first. Default 0.
    #[schemars(range(min = 0, max = 7))]
    pub priority: Option<u8>,
    /// On radio networks: data lost on the air is sent again. Default true.
    pub acknowledged: Option<bool>,
    /// Number of flows between these nodes: NAME-1, NAME-2 and on. Default: one, called NAME.
    #[schemars(range(min = 1, max = 60_000))]
    pub copies: Option<u32>,
    /// Class of flows to which the results add it. Default: none; of several copies, NAME.
    #[schemars(extend("format" = "name"))]
    pub class: Option<String>,
    /// Behaviour of the application by name, or a table with its settings. Default "bulk".
    pub traffic: Option<NameOr<RawTraffic>>,
    /// Start of the flow. Default "0 s".
    pub start: Option<Time>,
    /// Added to the start: drawn from the seed, uniform from zero up to this. Default "0 s".
    pub start_jitter: Option<Time>,
    /// Time at which its source stops. Default: at the end of the run.
    pub stop: Option<Time>,
}

impl RawFlow {
    /// Returns the behaviour of the application.
    pub fn traffic(&self) -> &RawTraffic {
        const BULK: &RawTraffic = &RawTraffic::Bulk(Bulk { bytes: None });
        self.traffic.as_ref().map_or(BULK, |traffic| &traffic.0)
    }
}

/// One remedy, several, or "none": published ones by name, or classes in Python.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum RemedyNames {
    /// One, or "none".
    One(String),
    /// Several, which learn of each event in this order.
    Several(Vec<String>),
}

impl RemedyNames {
    /// Returns the names.
    pub fn names(&self) -> &[String] {
        match self {
            RemedyNames::One(name) => core::slice::from_ref(name),
            RemedyNames::Several(names) => names,
        }
    }
}

impl JsonSchema for RemedyNames {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "RemedyNames".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choice = |name, about| json!({ "type": "string", "const": name, "description": about });
        let kinds = Kind::ALL.iter();
        let none = choice("none", "Nothing is installed.");
        let choices: Vec<Value> = core::iter::once(none)
            .chain(kinds.map(|kind| choice(kind.name(), kind.about())))
            .collect();
        let published = json!({ "type": "string", "oneOf": choices });
        let class = json!({ "type": "string", "format": "python-class" });
        let one = json!({ "anyOf": [published, class] });
        json_schema!({ "anyOf": [published, class, { "type": "array", "items": one }] })
    }
}

/// Settings of one TCP, outside a scenario.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawConnection {
    /// The stack whose behaviour it follows. Default "rfc".
    #[schemars(extend("oneOf" = profiles::profile_choices()))]
    pub profile: Option<String>,
    /// Settings that differ from the profile's.
    #[serde(flatten)]
    pub settings: RawTcpEnd,
}

/// TCP. Settings of both ends, or in `sender` and `receiver` of one, differ from the profile's.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawTcp {
    /// The stack whose behaviour both ends follow. Default "linux-6".
    #[schemars(extend("oneOf" = profiles::profile_choices()))]
    pub profile: Option<String>,
    /// Both ends.
    #[serde(flatten)]
    pub both: RawTcpEnd,
    /// Settings of the end at `from` alone. Default: as both.
    pub sender: Option<RawTcpEnd>,
    /// Settings of the end at `to` alone. Default: as both.
    pub receiver: Option<RawTcpEnd>,
    /// Settings of the gateway's half towards the mobile alone, where a remedy splits the connection. Default: as both; of
    /// satellite-pep Hybla.
    pub gateway: Option<RawTcpEnd>,
}

/// Settings of a TCP that differ from its profile's.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawTcpEnd {
    /// Congestion control.
    pub congestion: Option<RawCongestion>,
    /// Loss recovery after a fast retransmit.
    pub recovery: Option<RawRecovery>,
    /// Largest segment, in bytes of payload.
    pub maximum_segment_size: Option<Size>,
    /// Initial congestion window, in segments.
    #[schemars(range(min = 1, max = 10_000))]
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold; "off" is arbitrarily high.
    pub initial_slow_start_threshold: Option<OrOff<Size>>,
    /// Receive buffer; the advertised window never exceeds it.
    pub receive_buffer: Option<Size>,
    /// The receive buffer grows with what is received, up to `receive_buffer`: from 64 KiB as in Linux, or
    /// "right-sizing" from two segments (Fisk and Feng, 2001); off where `receive_buffer` is written and this is not.
    pub receive_autotuning: Option<RawAutotuning>,
    /// Send buffer: data that the application may write ahead of acknowledgments.
    pub send_buffer: Option<Size>,
    /// The send buffer begins with 16 KiB and grows with the congestion window, up to `send_buffer` (Linux); off where
    /// `send_buffer` is written and this is not.
    pub send_autotuning: Option<bool>,
    /// Offer window scaling (RFC 7323).
    pub window_scaling: Option<bool>,
    /// Offer timestamps (RFC 7323).
    pub timestamps: Option<bool>,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: Option<bool>,
    /// Offer selective negative acknowledgments (SCPS-TP), used where SACK is not negotiated.
    pub snack: Option<bool>,
    /// Upper bound of the sending rate, in bits of IP packets, whatever the windows allow (SCPS-TP); "off" sets none.
    pub rate_limit: Option<OrOff<Rate>>,
    /// Longest delay of an acknowledgment; "off" acknowledges every segment at once.
    pub delayed_ack: Option<OrOff<PositiveTime>>,
    /// Delay acknowledgments by the gaps between arrivals, at most by `delayed_ack` (Linux 2.0).
    pub delay_by_gaps: Option<bool>,
    /// Hold back small segments while data is unacknowledged.
    pub nagle: Option<bool>,
    /// Send a new segment for each of the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: Option<bool>,
    /// Duplicate acknowledgments that trigger fast retransmit; "off" switches it off.
    pub duplicate_ack_threshold: Option<OrOff<Threshold>>,
    /// Retransmission timeout before the first sample.
    pub initial_rto: Option<PositiveTime>,
    /// Lower bound of the retransmission timeout.
    pub minimum_rto: Option<PositiveTime>,
    /// Upper bound of the retransmission timeout.
    pub maximum_rto: Option<PositiveTime>,
    /// Granularity of the stack's clock; "0 s" is exact.
    pub tick: Option<Time>,
    /// Computation of the timeout from round-trip times.
    pub rto_arithmetic: Option<RawRtoArithmetic>,
    /// A loss halves the congestion window (ns-2) instead of the flight size.
    pub threshold_from_window: Option<bool>,
    /// Restart from the initial window after an idle time.
    pub idle_restart: Option<bool>,
    /// Retransmissions of a SYN before the attempt is given up.
    #[schemars(range(min = 0, max = 255))]
    pub syn_retries: Option<u32>,
    /// Retransmissions of a SYN-ACK before the attempt is given up.
    #[schemars(range(min = 0, max = 255))]
    pub syn_ack_retries: Option<u32>,
    /// Retransmissions of the same data before the connection is given up.
    #[schemars(range(min = 0, max = 10_000))]
    pub data_retries: Option<u32>,
    /// Timeouts of a SYN that do not double the next (Linux).
    #[schemars(range(min = 0, max = 255))]
    pub syn_linear_timeouts: Option<u32>,
    /// Delay acknowledgments as Linux does, of which `delayed_ack` is the least delay.
    pub quick_acks: Option<bool>,
    /// Longest time for which acknowledgments of a gap are compressed into one (Linux); "off" sends each.
    pub sack_compression: Option<OrOff<PositiveTime>>,
    /// Report duplicates by SACK (RFC 2883).
    pub duplicate_sack: Option<bool>,
    /// recovery "linux": find losses by time (RFC 8985).
    pub rack: Option<bool>,
    /// recovery "linux": probe for the loss of a tail (RFC 8985).
    pub tail_loss_probe: Option<bool>,
    /// recovery "linux": reduce the window in proportion to delivered data (RFC 6937).
    pub proportional_rate_reduction: Option<bool>,
    /// recovery "linux": after a timeout try new data first (F-RTO, RFC 5682).
    pub forward_rto: Option<bool>,
    /// recovery "linux": undo spurious reductions (RFC 3522, RFC 3708).
    pub undo: Option<bool>,
    /// Form of Reno and CUBIC, the RFC's or Linux's; for others, the segments counted per acknowledgment in slow start,
    /// and the reduction at a loss.
    pub window_arithmetic: Option<RawWindowArithmetic>,
    /// HyStart in Linux's CUBIC.
    pub hystart: Option<bool>,
    /// BBR detects a policer and keeps to its rate.
    pub long_term_rate: Option<bool>,
    /// recovery "linux": period over which the shortest round-trip time is taken; "off" takes the connection's.
    pub minimum_rtt_window: Option<OrOff<PositiveTime>>,
    /// recovery "linux": segments leave in pieces of several, wait a moment for a full one, and the last carries PSH.
    pub push_bursts: Option<bool>,
    /// Timers with the granularity of Linux's.
    pub timer_wheel: Option<bool>,
    /// Open with a request (T/TCP, RFC 1644) if the hosts have spoken before; anyone who guesses a number can inject data.
    pub transaction_opening: Option<bool>,
    /// Duration of TIME_WAIT.
    pub time_wait: Option<Time>,
}

/// Loss recovery after a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawRecovery {
    /// Leave at the first new acknowledgment (RFC 5681).
    Reno,
    /// Stay until all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
    /// By selective acknowledgments (RFC 6675) where the peer permits them, else NewReno.
    Sack,
    /// As Linux 2.0 does: Reno, but after a timeout nothing new until all that was outstanding is acknowledged, and a
    /// timer that counts from the last transmission of the oldest segment.
    #[serde(rename = "linux-2.0")]
    Linux20,
    /// As Linux does.
    Linux,
}

/// Form of a congestion control: the RFC's or Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawWindowArithmetic {
    /// The RFC's.
    Rfc,
    /// Linux 2.0's form of Reno, in segments and acknowledgments.
    #[serde(rename = "linux-2.0")]
    Linux20,
    /// Linux's.
    Linux,
}

/// Computation of the timeout from round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum RawRtoArithmetic {
    /// RFC 6298.
    #[serde(rename = "rfc6298")]
    Rfc6298,
    /// As in Linux 2.0.
    #[serde(rename = "linux-2.0")]
    Linux20,
    /// As in a present Linux.
    #[serde(rename = "linux")]
    Linux,
    /// As in OMNeT++'s INET.
    #[serde(rename = "inet")]
    Inet,
}

/// A number of duplicate acknowledgments.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Threshold(#[schemars(range(min = 1, max = 1000))] pub u32);

/// Growth of a receive buffer: none, Linux's, or another by name.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawAutotuning {
    /// None, or as in Linux.
    AsInLinux(bool),
    /// Another.
    Named(RawNamedAutotuning),
}

/// Growth of a receive buffer by name.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawNamedAutotuning {
    /// Dynamic right-sizing.
    RightSizing,
}

/// A value, or the word "off".
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OrOff<T> {
    /// Off.
    Off(RawOff),
    /// A value.
    Value(T),
}

/// The word "off".
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawOff {
    /// Switched off.
    Off,
}
