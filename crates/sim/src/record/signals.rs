//! The table of signals: one row for each signalling message, and for each signal inside a host.

use super::file::Layout;
use super::names::{self, Growing, LinkNames};
use super::packets::FATES;
use super::table::{self, BATCH, Column};
use super::{RecordError, RecordNames};
use crate::link::DropReason;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, SchemaRef};
use baton_proto::packet::Wording;
use baton_proto::time::Instant;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A signal: a message between hosts, or an event inside one.
#[derive(Clone, Debug)]
pub struct SignalRecord {
    /// Its content.
    pub signal: Wording,
    /// Number of its node of origin.
    pub sender: usize,
    /// Number of the link by which it left, or which it concerns; none for an agent's event.
    pub link: Option<usize>,
    /// Time at which it was sent, or happened.
    pub sent: Instant,
    /// Its origin and fate.
    pub way: SignalWay,
}

/// Origin and fate of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalWay {
    /// Signal of a link to its end.
    Link,
    /// Signal of an agent to its host.
    Agent,
    /// Message in a packet.
    Message {
        /// Running number of the packet; none for control messages of a radio network, which are in no packet.
        packet: Option<u64>,
        /// Time at which it arrived or was lost, and the node where it arrived or its next node; none if it was under
        /// way at the end of the run.
        ended: Option<(Instant, usize)>,
        /// Reason for its loss.
        dropped: Option<DropReason>,
    },
}

const COLUMNS: [Column; 11] = [
    Column::new(
        "kind",
        "",
        "message: from a host to another; link: an event of a link for its end (mostly IEEE 802.21); agent: an event of a mobility agent for its host",
    ),
    Column::new("sent_ns", "ns", "Time of sending, or of the event"),
    Column::new(
        "decided_ns",
        "ns",
        "Time of arrival or loss; null if the message was under way at the end of the run, and for events inside a host",
    ),
    Column::new(
        "sender",
        "",
        "Name of the message's sender, or of the event's node",
    ),
    Column::new(
        "receiver",
        "",
        "Name of the node that got the message, or of the far end of the link that lost it; null where `decided_ns` is",
    ),
    Column::new(
        "link",
        "",
        "Name of the link by which the message left, or of the link with the event; null for an agent's event",
    ),
    Column::new("name", "", "Name of the message or event in its standard"),
    Column::new(
        "details",
        "",
        "Values of its main fields, separated by commas",
    ),
    Column::new(
        "tunnelled",
        "",
        "True for a message in a tunnel; the message that the tunnel's end sends on has a row of its own",
    ),
    Column::new(
        "fate",
        "",
        "delivered, under way, or the cause of the loss; null for events inside a host",
    ),
    Column::new(
        "packet",
        "",
        "Running number of the packet that carried the message, as in the table of packets; null for control messages of a radio network, and for events inside a host",
    ),
];

const KINDS: [&str; 3] = ["message", "link", "agent"];

/// Layout of the table in a file.
pub(super) const LAYOUT: Layout = Layout {
    delta: &["sent_ns", "decided_ns", "packet"],
    plain: &[],
    ordered: &["sent_ns"],
};

#[derive(Serialize)]
struct Dictionary {
    version: u32,
    columns: &'static [Column],
}

/// Returns the dictionary that ships with the table, as JSON.
pub(super) fn dictionary() -> Result<String, RecordError> {
    Ok(serde_json::to_string(&Dictionary {
        version: super::SCHEMA_VERSION,
        columns: &COLUMNS,
    })?)
}

pub(super) fn schema(dictionary: &str) -> SchemaRef {
    let types = [
        (names::data_type(), false),
        (DataType::Int64, false),
        (DataType::Int64, true),
        (names::data_type(), false),
        (names::data_type(), true),
        (names::data_type(), true),
        (names::data_type(), false),
        (DataType::Utf8, false),
        (DataType::Boolean, false),
        (names::data_type(), true),
        (DataType::UInt64, true),
    ];
    table::schema(&COLUMNS, types, super::SIGNALS_KEY, dictionary)
}

/// Rows of signals before their batch, and the names that all batches share.
pub(super) struct SignalRows {
    schema: SchemaRef,
    rows: Vec<SignalRecord>,
    kinds: ArrayRef,
    nodes: ArrayRef,
    links: LinkNames,
    fates: ArrayRef,
    names: Growing,
    numbers: BTreeMap<&'static str, i32>,
}

impl SignalRows {
    pub(super) fn new(schema: SchemaRef, names: &RecordNames) -> SignalRows {
        let fixed = |names: &[String]| names::fixed(names.iter().map(String::as_str));
        SignalRows {
            schema,
            rows: Vec::new(),
            kinds: names::fixed(KINDS),
            nodes: fixed(&names.nodes),
            links: LinkNames::new(names),
            fates: names::fixed(FATES),
            names: Growing::new(Vec::new()),
            numbers: BTreeMap::new(),
        }
    }

    /// Adds a row. Returns true if a batch is due.
    pub(super) fn push(&mut self, row: SignalRecord) -> bool {
        self.rows.push(row);
        self.rows.len() == BATCH
    }

    /// Returns true if there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes all rows as a batch. Fails if a row names a node or a link that does not exist.
    pub(super) fn take_batch(&mut self) -> Result<RecordBatch, RecordError> {
        let rows = core::mem::take(&mut self.rows);
        let ended = |row: &SignalRecord| row.way.ended();
        let named = rows
            .iter()
            .map(|row| self.number(row.signal.name))
            .collect();
        let times = rows.iter().map(|row| super::nanoseconds(row.sent));
        let decided = rows
            .iter()
            .map(|row| Some(super::nanoseconds(ended(row)?.0)));
        let details = rows.iter().map(|row| row.signal.details.as_str());
        let tunnelled = rows.iter().map(|row| Some(row.signal.tunnelled));
        let sender = rows.iter().map(|row| Some(row.sender as i32));
        let receiver = rows.iter().map(|row| Some(ended(row)?.1 as i32));
        let links = rows.iter().map(|row| Some(self.links.number(row.link?)));
        let links: Vec<Option<i32>> = links.collect();
        let columns: Vec<ArrayRef> = vec![
            some_names(rows.iter().map(|row| Some(row.way.kind())), &self.kinds)?,
            Arc::new(Int64Array::from_iter_values(times)),
            Arc::new(decided.collect::<Int64Array>()),
            some_names(sender, &self.nodes)?,
            some_names(receiver, &self.nodes)?,
            some_names(links.into_iter(), &self.links.values())?,
            names::column(named, None, self.names.values())?,
            Arc::new(StringArray::from_iter_values(details)),
            Arc::new(tunnelled.collect::<BooleanArray>()),
            some_names(rows.iter().map(|row| row.way.fate()), &self.fates)?,
            Arc::new(
                rows.iter()
                    .map(|row| row.way.packet())
                    .collect::<UInt64Array>(),
            ),
        ];
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    fn number(&mut self, name: &'static str) -> i32 {
        let names = &mut self.names;
        *self
            .numbers
            .entry(name)
            .or_insert_with(|| names.add(name.to_owned()))
    }
}

/// Returns a nullable column of names by their numbers.
fn some_names(
    numbers: impl Iterator<Item = Option<i32>>,
    values: &ArrayRef,
) -> Result<ArrayRef, RecordError> {
    let numbers: Vec<Option<i32>> = numbers.collect();
    let valid = names::valid(numbers.iter().map(Option::is_some).collect());
    let numbers = numbers.into_iter().map(Option::unwrap_or_default).collect();
    Ok(names::column(numbers, valid, values.clone())?)
}

impl SignalWay {
    /// Returns its place in [`KINDS`].
    const fn kind(self) -> i32 {
        match self {
            SignalWay::Message { .. } => 0,
            SignalWay::Link => 1,
            SignalWay::Agent => 2,
        }
    }

    const fn packet(self) -> Option<u64> {
        match self {
            SignalWay::Message { packet, .. } => packet,
            SignalWay::Link | SignalWay::Agent => None,
        }
    }

    const fn ended(self) -> Option<(Instant, usize)> {
        match self {
            SignalWay::Message { ended, .. } => ended,
            SignalWay::Link | SignalWay::Agent => None,
        }
    }

    /// Returns its place in [`FATES`].
    fn fate(self) -> Option<i32> {
        match self {
            SignalWay::Message { ended, dropped, .. } => {
                Some(super::packets::fate(ended.is_some(), dropped))
            }
            SignalWay::Link | SignalWay::Agent => None,
        }
    }
}
