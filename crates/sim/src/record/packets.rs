//! The table of packets: one row for each packet on each link that it crossed.

use super::RecordError;
use super::endpoints::Endpoints;
use super::file::Layout;
use super::names::{self, ByteNames, Growing, LinkNames};
use super::recorder::RecordNames;
use super::rows::{PacketRow, TcpRow};
use super::table::{self, BATCH, Column};
use crate::link::{DropReason, End};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, SchemaRef};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use baton_proto::wire::tcp::TcpFlags;
use serde::Serialize;
use std::sync::Arc;

/// Fate of one packet on one link.
#[derive(Clone, Debug)]
pub struct PacketRecord<'a> {
    /// Running number of the packet: the same on every link that it crosses.
    pub number: u64,
    /// Number of the link in the scenario.
    pub link: usize,
    /// End at which the packet was offered.
    pub from: End,
    /// Time at which the packet was offered.
    pub sent: Instant,
    /// Time of its fate; `None` if it was still under way at the end of the run.
    pub decided: Option<Instant>,
    /// Reason for its loss; `None` if it was delivered or is still under way.
    pub dropped: Option<DropReason>,
    /// The packet, before any damage.
    pub packet: &'a Packet,
}

const COLUMNS: [Column; 19] = [
    Column::new(
        "packet",
        "",
        "Running number of the packet, the same on every link that it crosses, in tunnels too",
    ),
    Column::new("link", "", "Name of the link"),
    Column::new(
        "direction",
        "",
        "down: from the first end in the link's `between` to the second; up: the other way",
    ),
    Column::new(
        "flow",
        "",
        "Name of the flow; null for packets that belong to none",
    ),
    Column::new(
        "sent_ns",
        "ns",
        "Time at which the packet was offered to the link",
    ),
    Column::new(
        "decided_ns",
        "ns",
        "Time of arrival at the other end, or of the loss; null if the packet was under way at the end of the run",
    ),
    Column::new("fate", "", "delivered, under way, or the cause of the loss"),
    Column::new(
        "wire_bytes",
        "B",
        "Length from the first byte of the IP header",
    ),
    Column::new(
        "protocol",
        "",
        "Protocol of the payload; in tunnels, of the innermost packet",
    ),
    Column::new(
        "source",
        "",
        "Address of the sender, with its port; of a flow's packet as its ends know it, tunnels left out",
    ),
    Column::new(
        "destination",
        "",
        "Address of the receiver, with its port; of a flow's packet as its ends know it",
    ),
    Column::new(
        "sequence",
        "",
        "TCP sequence number; null for other protocols",
    ),
    Column::new(
        "acknowledgment",
        "",
        "TCP acknowledgment number; null without ACK",
    ),
    Column::new("payload_bytes", "B", "Length of the transport's payload"),
    Column::new("flags", "", "TCP flags; null for other protocols"),
    Column::new(
        "window",
        "",
        "TCP window of the header, before scaling; null for other protocols",
    ),
    Column::new(
        "sack",
        "",
        "Blocks of the SACK option, each by its first sequence number and the one after its last; null without the option",
    ),
    Column::new(
        "retransmission",
        "",
        "True if the sender had sent these bytes before",
    ),
    Column::new(
        "copy",
        "",
        "0 for the sender's packet; from 1 on copies that agents and gateways made of it",
    ),
];

pub(super) const FATES: [&str; 13] = [
    "delivered",
    "under way",
    DropReason::QueueFull.name(),
    DropReason::QueueManagement.name(),
    DropReason::ChannelError.name(),
    DropReason::BurstLoss.name(),
    DropReason::RetryLimit.name(),
    DropReason::LinkDown.name(),
    DropReason::Discarded.name(),
    DropReason::Scenario.name(),
    DropReason::Shadowing.name(),
    DropReason::Policer.name(),
    DropReason::NoRoute.name(),
];

/// Layout of the table in a file.
pub(super) const LAYOUT: Layout = Layout {
    delta: &[
        "packet",
        "sent_ns",
        "decided_ns",
        "wire_bytes",
        "sequence",
        "acknowledgment",
        "payload_bytes",
        "window",
        "sack.list.item",
    ],
    plain: &[],
    ordered: &["packet", "sent_ns", "decided_ns"],
};

#[derive(Serialize)]
struct Dictionary {
    version: u32,
    columns: &'static [Column],
    fates: [&'static str; 13],
}

/// Returns the dictionary that ships with the table, as JSON.
pub(super) fn dictionary() -> Result<String, RecordError> {
    Ok(serde_json::to_string(&Dictionary {
        version: super::SCHEMA_VERSION,
        columns: &COLUMNS,
        fates: FATES,
    })?)
}

pub(super) fn schema(dictionary: &str) -> SchemaRef {
    let types = [
        (DataType::UInt64, false),
        (names::data_type(), false),
        (names::data_type(), false),
        (names::data_type(), true),
        (DataType::Int64, false),
        (DataType::Int64, true),
        (names::data_type(), false),
        (DataType::UInt32, false),
        (names::data_type(), false),
        (names::data_type(), false),
        (names::data_type(), false),
        (DataType::UInt32, true),
        (DataType::UInt32, true),
        (DataType::UInt32, false),
        (names::data_type(), true),
        (DataType::UInt32, true),
        (DataType::List(sack_item()), true),
        (DataType::Boolean, false),
        (DataType::UInt32, false),
    ];
    table::schema(&COLUMNS, types, super::PACKETS_KEY, dictionary)
}

fn sack_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::UInt32, false))
}

/// Rows of packets before their batch, and the names that all batches share.
pub(super) struct PacketRows {
    schema: SchemaRef,
    rows: Columns,
    links: LinkNames,
    directions: ArrayRef,
    flows: Growing,
    fates: ArrayRef,
    protocols: ByteNames,
    endpoints: Endpoints,
    flags: ByteNames,
}

/// One vector per column. Null values are stored as zero.
#[derive(Default)]
struct Columns {
    number: Vec<u64>,
    link: Vec<i32>,
    direction: Vec<i32>,
    flow: Vec<i32>,
    flow_known: Vec<bool>,
    sent: Vec<i64>,
    decided: Vec<i64>,
    is_decided: Vec<bool>,
    fate: Vec<i32>,
    wire_bytes: Vec<u32>,
    protocol: Vec<i32>,
    source: Vec<i32>,
    destination: Vec<i32>,
    sequence: Vec<u32>,
    acknowledgment: Vec<u32>,
    acknowledges: Vec<bool>,
    payload_bytes: Vec<u32>,
    flags: Vec<i32>,
    window: Vec<u32>,
    is_tcp: Vec<bool>,
    sack: Vec<u32>,
    sack_end: Vec<i32>,
    has_sack: Vec<bool>,
    retransmission: Vec<bool>,
    copy: Vec<u32>,
}

impl Columns {
    fn with_capacity(rows: usize) -> Columns {
        Columns {
            number: Vec::with_capacity(rows),
            link: Vec::with_capacity(rows),
            direction: Vec::with_capacity(rows),
            flow: Vec::with_capacity(rows),
            flow_known: Vec::with_capacity(rows),
            sent: Vec::with_capacity(rows),
            decided: Vec::with_capacity(rows),
            is_decided: Vec::with_capacity(rows),
            fate: Vec::with_capacity(rows),
            wire_bytes: Vec::with_capacity(rows),
            protocol: Vec::with_capacity(rows),
            source: Vec::with_capacity(rows),
            destination: Vec::with_capacity(rows),
            sequence: Vec::with_capacity(rows),
            acknowledgment: Vec::with_capacity(rows),
            acknowledges: Vec::with_capacity(rows),
            payload_bytes: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
            window: Vec::with_capacity(rows),
            is_tcp: Vec::with_capacity(rows),
            sack: Vec::new(),
            sack_end: Vec::with_capacity(rows),
            has_sack: Vec::with_capacity(rows),
            retransmission: Vec::with_capacity(rows),
            copy: Vec::with_capacity(rows),
        }
    }

    /// Adds the columns common to all packets, column by column: that is faster than row by row.
    fn extend_general(&mut self, rows: &[PacketRow]) {
        self.number.extend(rows.iter().map(|row| row.number));
        self.direction
            .extend(rows.iter().map(|row| i32::from(row.from == End::B)));
        self.flow.extend(
            rows.iter()
                .map(|row| row.flow.map_or(0, |flow| flow.0 as i32)),
        );
        self.flow_known
            .extend(rows.iter().map(|row| row.flow.is_some()));
        self.sent.extend(rows.iter().map(|row| row.sent));
        self.decided
            .extend(rows.iter().map(|row| row.decided.unwrap_or(0)));
        self.is_decided
            .extend(rows.iter().map(|row| row.decided.is_some()));
        self.fate.extend(
            rows.iter()
                .map(|row| fate(row.decided.is_some(), row.dropped)),
        );
        self.wire_bytes
            .extend(rows.iter().map(|row| row.wire_bytes));
        self.payload_bytes
            .extend(rows.iter().map(|row| row.payload_bytes));
        self.retransmission
            .extend(rows.iter().map(|row| row.retransmission));
        self.copy.extend(rows.iter().map(|row| u32::from(row.copy)));
    }

    /// Adds the columns of a TCP header. `sack_end` is the end of the earlier rows' edges.
    fn extend_tcp(&mut self, rows: &[PacketRow], mut sack_end: i32) {
        let headers = || rows.iter().map(|row| row.tcp);
        self.is_tcp.extend(headers().map(|tcp| tcp.is_some()));
        self.sequence
            .extend(headers().map(|tcp| tcp.map_or(0, |tcp| tcp.sequence)));
        let acknowledgment = |tcp: Option<TcpRow>| tcp.and_then(|tcp| tcp.acknowledgment);
        self.acknowledgment
            .extend(headers().map(|tcp| acknowledgment(tcp).unwrap_or(0)));
        self.acknowledges
            .extend(headers().map(|tcp| acknowledgment(tcp).is_some()));
        self.window
            .extend(headers().map(|tcp| tcp.map_or(0, |tcp| u32::from(tcp.window))));
        let edges = || headers().map(|tcp| tcp.map_or(0, |tcp| tcp.sack_edges));
        self.has_sack.extend(edges().map(|edges| edges > 0));
        self.sack_end.extend(edges().map(|edges| {
            sack_end += i32::from(edges);
            sack_end
        }));
    }
}

impl PacketRows {
    pub(super) fn new(schema: SchemaRef, names: RecordNames) -> PacketRows {
        PacketRows {
            schema,
            rows: Columns::with_capacity(BATCH),
            links: LinkNames::new(&names),
            directions: names::fixed(["down", "up"]),
            flows: Growing::new(names.flows),
            fates: names::fixed(FATES),
            protocols: ByteNames::new(protocol_name),
            endpoints: Endpoints::new(),
            flags: ByteNames::new(|bits| flags_name(TcpFlags(bits))),
        }
    }

    /// Adds a flow, with the next number.
    pub(super) fn add_flow(&mut self, name: String) {
        self.flows.add(name);
    }

    /// Adds the rows for which the batch has room, with their shares of `sack`. Returns the other rows and their share.
    pub(super) fn extend<'a>(
        &mut self,
        rows: &'a [PacketRow],
        sack: &'a [u32],
    ) -> (&'a [PacketRow], &'a [u32]) {
        let (now, later) = rows.split_at(rows.len().min(BATCH - self.rows.number.len()));
        let columns = &mut self.rows;
        columns.extend_general(now);
        let sack_before = columns.sack_end.last().copied().unwrap_or(0);
        columns.extend_tcp(now, sack_before);
        for row in now {
            columns.link.push(self.links.number(row.link.get()));
            columns.protocol.push(self.protocols.number(row.protocol));
            let (source, destination) = (row.ports.map(|two| two.0), row.ports.map(|two| two.1));
            let source = self.endpoints.number(row.source, source);
            columns.source.push(source);
            let destination = self.endpoints.number(row.destination, destination);
            columns.destination.push(destination);
            let flags = row.tcp.map_or(0, |tcp| self.flags.number(tcp.flags.0));
            columns.flags.push(flags);
        }
        let sack_after = columns.sack_end.last().copied().unwrap_or(0);
        let (sack_now, sack_later) = sack.split_at((sack_after - sack_before) as usize);
        columns.sack.extend_from_slice(sack_now);
        (later, sack_later)
    }

    /// Takes all rows as a batch. Fails if a row names a link or a flow that does not exist.
    pub(super) fn take_batch(&mut self) -> Result<RecordBatch, RecordError> {
        let rows = core::mem::replace(&mut self.rows, Columns::with_capacity(BATCH));
        let endpoints = self.endpoints.values();
        let is_tcp = names::valid(rows.is_tcp);
        let sack_offsets: Vec<i32> = core::iter::once(0).chain(rows.sack_end).collect();
        let sack = ListArray::try_new(
            sack_item(),
            OffsetBuffer::new(sack_offsets.into()),
            Arc::new(UInt32Array::from(rows.sack)),
            names::valid(rows.has_sack),
        )?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(rows.number)),
            names::column(rows.link, None, self.links.values())?,
            names::column(rows.direction, None, self.directions.clone())?,
            names::column(
                rows.flow,
                names::valid(rows.flow_known),
                self.flows.values(),
            )?,
            Arc::new(Int64Array::from(rows.sent)),
            Arc::new(Int64Array::try_new(
                rows.decided.into(),
                names::valid(rows.is_decided),
            )?),
            names::column(rows.fate, None, self.fates.clone())?,
            Arc::new(UInt32Array::from(rows.wire_bytes)),
            names::column(rows.protocol, None, self.protocols.values())?,
            names::column(rows.source, None, endpoints.clone())?,
            names::column(rows.destination, None, endpoints)?,
            Arc::new(UInt32Array::try_new(rows.sequence.into(), is_tcp.clone())?),
            Arc::new(UInt32Array::try_new(
                rows.acknowledgment.into(),
                names::valid(rows.acknowledges),
            )?),
            Arc::new(UInt32Array::from(rows.payload_bytes)),
            names::column(rows.flags, is_tcp.clone(), self.flags.values())?,
            Arc::new(UInt32Array::try_new(rows.window.into(), is_tcp)?),
            Arc::new(sack),
            Arc::new(BooleanArray::from(rows.retransmission)),
            Arc::new(UInt32Array::from(rows.copy)),
        ];
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// Returns true if there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.number.is_empty()
    }

    /// Returns true if a batch is due.
    pub(super) fn is_full(&self) -> bool {
        self.rows.number.len() == BATCH
    }
}

/// Returns the place of a packet's fate in [`FATES`].
pub(super) fn fate(is_decided: bool, dropped: Option<DropReason>) -> i32 {
    match dropped {
        None if is_decided => 0,
        None => 1,
        Some(DropReason::QueueFull) => 2,
        Some(DropReason::QueueManagement) => 3,
        Some(DropReason::ChannelError) => 4,
        Some(DropReason::BurstLoss) => 5,
        Some(DropReason::RetryLimit) => 6,
        Some(DropReason::LinkDown) => 7,
        Some(DropReason::Discarded) => 8,
        Some(DropReason::Scenario) => 9,
        Some(DropReason::Shadowing) => 10,
        Some(DropReason::Policer) => 11,
        Some(DropReason::NoRoute) => 12,
    }
}

/// Returns the name of a protocol, by its IANA number.
fn protocol_name(number: u8) -> String {
    match number {
        1 => "icmp".to_owned(),
        4 => "ipv4".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        41 => "ipv6".to_owned(),
        39 => "tp++".to_owned(),
        58 => "icmpv6".to_owned(),
        135 => "mobility".to_owned(),
        // For experiments (RFC 3692); here AeroTP.
        253 => "aerotp".to_owned(),
        number => format!("protocol {number}"),
    }
}

/// Returns the names of the flags that are set, in customary order; empty if none is.
fn flags_name(flags: TcpFlags) -> String {
    const NAMES: [(TcpFlags, &str); 8] = [
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::FIN, "FIN"),
        (TcpFlags::RST, "RST"),
        (TcpFlags::PSH, "PSH"),
        (TcpFlags::ACK, "ACK"),
        (TcpFlags::URG, "URG"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::CWR, "CWR"),
    ];
    let set: Vec<&str> = NAMES
        .iter()
        .filter(|(flag, _)| flags.contains(*flag))
        .map(|(_, name)| *name)
        .collect();
    set.join(" ")
}
