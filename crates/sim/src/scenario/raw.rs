//! A scenario as written. The documentation of these types is that of the format, and its JSON Schema is generated from
//! them; the meaning of keys in combination is determined by `resolve`.

use super::dtn_gateways::RawDtnGateways;
use super::raw_flows::RawFlow;
use super::raw_links::{RawChange, RawLink};
use super::raw_losses::RawLoss;
use super::raw_reception::RawLine;
use super::raw_tracks::RawTrack;
use super::units::{PositiveTime, Time};
use crate::mobility::{RawAnchorPoint, RawDomain, RawForeignAgent, RawHomeAgent, RawMobility};
use crate::record::Quantity;
use crate::transport::aerotp::keys::RawAerotpGateways;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A Baton scenario: links, the mobiles that move between them, and the flows of data.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[schemars(title = "Baton scenario")]
pub struct RawScenario {
    /// Version of the format of this file. Keys of format 1 that have moved are refused, with the way to write them now.
    /// Default 2.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2))]
    #[allow(dead_code)] // read before the rest, which may be of another version
    pub format: Option<u32>,
    /// Short name: letters, digits, "-" and "_"; names the results folder.
    #[schemars(extend("format" = "name"))]
    pub name: String,
    /// One line for people. Default "".
    #[serde(default)]
    pub description: String,
    /// Length of the run, in simulated time.
    pub duration: PositiveTime,
    /// Seed of all randomness: the same scenario and seed give the same results, byte for byte. Default 1.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Links by name. Their ends are the nodes of the scenario.
    pub links: Named<RawLink>,
    /// Mobiles by the name of their node: nodes with several links, of which they use one at a time.
    /// Default: none.
    #[serde(default)]
    pub mobiles: Named<RawMobile>,
    /// Railway lines and the like by name, along which mobiles run. Default: none.
    #[serde(default)]
    pub lines: Named<RawLine>,
    /// Home agents by the name of their node. Default: none.
    #[serde(default)]
    pub home_agents: Named<RawHomeAgent>,
    /// Foreign agents of Mobile IPv4 by the name of their node. Default: none.
    #[serde(default)]
    pub foreign_agents: Named<RawForeignAgent>,
    /// Micro-mobility domains of mobiles with Mobile IPv4 by a name of the user's choice. Default: none.
    #[serde(default)]
    pub micro_mobility: Named<RawDomain>,
    /// Mobility anchor points of hierarchical Mobile IPv6 by the name of their node. Default: none.
    #[serde(default)]
    pub mobility_anchor_points: Named<RawAnchorPoint>,
    /// Pairs of AeroTP gateways by a name of the user's choice, at the ends of one or more links. Default: none.
    #[serde(default)]
    pub aerotp_gateways: Named<RawAerotpGateways>,
    /// Pairs of DTN gateways by a name of the user's choice: TCP crosses between them in bundles with custody. Default:
    /// none.
    #[serde(default)]
    pub dtn_gateways: Named<RawDtnGateways>,
    /// Links' parameters or states that change at a time. Default: none.
    #[serde(default)]
    pub changes: Vec<RawChange>,
    /// Signalling messages that are lost on any link. Default: none.
    #[serde(default)]
    pub losses: Vec<RawLoss>,
    /// Flows of data. Default: nothing.
    #[serde(default)]
    pub flows: Vec<RawFlow>,
    /// Parts of the run that are recorded. Default: everything.
    #[serde(default)]
    pub record: RawRecord,
    /// Settings of live runs (`baton live`). Default: as its keys say.
    #[serde(default)]
    pub live: RawLive,
    /// Conditions that must hold after the run, like "flows.download.longest_stall_s < 2"; exit status 3 if one does
    /// not. Default: none.
    #[serde(default)]
    pub expect: Vec<String>,
}

fn default_seed() -> u64 {
    1
}

/// A node that uses one of its links at a time, by a timetable, by failback or by a decision (exactly one of them).
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawMobile {
    /// Number of mobiles: NAME-1, NAME-2 and on, each with links, a network behind it and flows of its own. Default:
    /// one, called NAME.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: Option<u32>,
    /// Attachments, ascending in time; the first is at "0 s". Default: none, but then `failback` or `decision`.
    pub timetable: Option<Vec<RawAttachment>>,
    /// Use the most preferred link that is up. Default: none, but then a `timetable` or `decision`.
    pub failback: Option<RawFailback>,
    /// Use the link that a class in Python decides on. Default: none, but then a `timetable` or `failback`.
    pub decision: Option<RawDecision>,
    /// Track of the mobile, for links that depend on its position. Default: none, and it can use no such link.
    pub track: Option<RawTrack>,
    /// The protocol that keeps it reachable. Default: none; routes follow the mobile at once, without a message.
    pub mobility: Option<RawMobility>,
}

/// Attachment of a mobile to a link, from a time on.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawAttachment {
    /// Beginning of the handover.
    pub at: Time,
    /// Shifts that time: drawn from the seed, uniform from this much earlier to this much later. Not for the
    /// first entry. Default "0 s".
    pub jitter: Option<Time>,
    /// Name of the link to use from then on; "none" leaves the mobile without one.
    pub attach: String,
    /// Way of leaving the old link. Default "soft"; "hard" when detaching. Not for the first entry.
    pub handover: Option<RawHandover>,
    /// Soft only: time for which the old link still receives. Default: until it is empty.
    pub overlap: Option<Time>,
    /// Soft only: time for which the mobile's own packets go on taking the old link, as they do until the reply to
    /// its registration has come (study T, section 6). Default "0 s".
    pub outgoing_after: Option<Time>,
    /// Hard only: time for which nothing passes. Default "0 s".
    pub outage: Option<Time>,
    /// Time before the handover at which the link in use tells the mobile and its router that it is going down (802.21
    /// Link_Going_Down), for agents and remedies that prepare for it. Default: no announcement.
    pub announced: Option<PositiveTime>,
    /// Fate of packets that wait in the old link's queues. Default "deliver"; "discard" in a hard handover.
    pub old_queue: Option<RawOldQueue>,
}

/// Way of leaving a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawHandover {
    /// Make before break: packets take the new link, the old one delivers the packets that it holds.
    Soft,
    /// Break before make: nothing passes for the outage.
    Hard,
}

/// Fate of packets that wait in the old link's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawOldQueue {
    /// Soft handovers: delivery over the old link.
    Deliver,
    /// Loss.
    Discard,
    /// Hard handovers: storage in the old link until the mobile returns.
    Keep,
    /// Packets that wait at IP take the new link, in order; the old link delivers, or by breaking loses, the packets
    /// that `flow_control` lets it hold.
    Reroute,
}

/// The most preferred link that is up, with rules for leaving and returning.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawFailback {
    /// Names of links, the best first.
    #[schemars(length(min = 1))]
    pub prefer: Vec<String>,
    /// Time for which a better link must have been up before the mobile returns to it. Default "5 s".
    pub hold_time: Option<Time>,
    /// Least time between two returns to a better link. Default "0 s".
    pub hysteresis: Option<Time>,
    /// Longest time until the mobile leaves a link that has gone down. Default "100 ms".
    pub longest_switch_time: Option<Time>,
    /// Way of leaving a link that works. "hard": announced to agents and remedies as long ahead as a round trip on that
    /// link takes with a full queue. Default "soft".
    pub handover: Option<RawHandover>,
}

/// A class in Python that decides which link is used.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawDecision {
    /// The class, as "python:module.Class".
    #[schemars(extend("format" = "python-class"))]
    pub class: String,
    /// Names of links to choose from.
    #[schemars(length(min = 1))]
    pub links: Vec<String>,
}

/// Parts of the run that are recorded.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct RawRecord {
    /// Series: congestion window, RTT, queues, goodput … All, none, or those of the given names. Default true.
    pub series: Option<RawSeries>,
    /// A row for every packet on every link. Default true.
    pub packets: Option<bool>,
    /// Bin of the goodput series. Default "100 ms".
    pub interval: Option<PositiveTime>,
    /// Most handovers that the results list, the first ones; later ones are only counted. Default 1000000.
    #[schemars(range(max = 1_000_000_000))]
    pub handovers: Option<u32>,
    /// Most flows that the results list, spread evenly over all; classes count all. Default 1000000.
    #[schemars(range(max = 1_000_000_000))]
    pub flows: Option<u32>,
}

/// Series that are recorded: all, none, or some by their names in the table.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(untagged)]
pub enum RawSeries {
    /// All, or none.
    Every(bool),
    /// Series of these names.
    Named(Vec<String>),
}

impl JsonSchema for RawSeries {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "RawSeries".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Quantity::ALL.map(Quantity::name);
        json_schema!({ "anyOf": [
            { "type": "boolean" },
            { "type": "array", "items": { "type": "string", "enum": names }, "minItems": 1 },
        ] })
    }
}

/// Settings of live runs (`baton live`).
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct RawLive {
    /// Nodes that are real hosts, with the kernel's network stack and programs; all others are simulated. Default: the
    /// first mobile (of a router a host in the network behind it with a flow; without mobiles the `to` of the first
    /// flow) and all nodes that flows join to it, directly or through others; without a flow there, the node farthest
    /// from it.
    #[schemars(length(min = 1))]
    pub hosts: Option<Vec<String>>,
    /// Effect of a handover on a real mobile's addresses; "kept" with a mobility protocol. Default "kept".
    pub address: Option<RawAddress>,
    /// Network address translation on each access link: the address and ports of a real mobile's packets are translated
    /// to others there, and so change at a handover as at a change of NAT. Default false.
    pub nat: Option<bool>,
    /// Interval between samples of the kernel's TCP connections (windows, timeouts, round-trip times); at least
    /// "1 ms". Default "50 ms".
    pub sample_interval: Option<PositiveTime>,
    /// Bound of the 99th percentile of events' lateness; a run above it is marked as untrustworthy. Default "1 ms".
    pub lateness_bound: Option<PositiveTime>,
}

/// Effect of a handover on a real mobile's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawAddress {
    /// Kept, as under Mobile IP: only the path changes.
    Kept,
    /// The old interface loses its addresses and the new one has others, as without any mobility protocol.
    New,
}

/// A table with keys of the user's choice, in the order of the file.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}
