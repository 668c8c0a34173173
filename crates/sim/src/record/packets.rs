//! The table of packets: one row for each packet on each link that it crossed.

use super::RecordError;
use super::endpoints::Endpoints;
use super::names::{self, Names};
use super::table::{self, BATCH, Column, Layout};
use crate::link::{DropReason, End};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, SchemaRef};
use baton_proto::packet::Packet;
use baton_proto::time::Instant;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader};
use serde::Serialize;
use std::sync::Arc;

/// What became of one packet on one link.
#[derive(Clone, Debug)]
pub struct PacketRecord<'a> {
    /// Running number of the packet: the same on every link that it crosses.
    pub number: u64,
    /// Number of the link in the scenario.
    pub link: usize,
    /// The end at which the packet was offered.
    pub from: End,
    /// When it was offered.
    pub sent: Instant,
    /// When its fate was decided; `None` if it was still under way when the run ended.
    pub decided: Option<Instant>,
    /// Why it was dropped; `None` if it was delivered or is still under way.
    pub dropped: Option<DropReason>,
    /// The packet, before any damage.
    pub packet: &'a Packet,
}

const COLUMNS: [Column; 18] = [
    Column::new(
        "packet",
        "",
        "Running number of the packet, the same on every link that it crosses",
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
    Column::new("sent_ns", "ns", "When the packet was offered to the link"),
    Column::new(
        "decided_ns",
        "ns",
        "When it arrived at the other end or was lost; null if it was under way when the run ended",
    ),
    Column::new("fate", "", "delivered, under way, or why it was lost"),
    Column::new(
        "wire_bytes",
        "B",
        "Length from the first byte of the IP header",
    ),
    Column::new("protocol", "", "What the IP header carries"),
    Column::new("source", "", "Address of the sender, with its port"),
    Column::new("destination", "", "Address of the receiver, with its port"),
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
        "TCP window as it stands in the header, before scaling; null for other protocols",
    ),
    Column::new(
        "sack",
        "",
        "Blocks of the SACK option: first sequence number and the one after the last, of one block after another; null without",
    ),
    Column::new(
        "retransmission",
        "",
        "Whether the sender had sent these bytes before",
    ),
];

const FATES: [&str; 9] = [
    "delivered",
    "under way",
    DropReason::QueueFull.name(),
    DropReason::QueueManagement.name(),
    DropReason::ChannelError.name(),
    DropReason::BurstLoss.name(),
    DropReason::RetryLimit.name(),
    DropReason::LinkDown.name(),
    DropReason::Discarded.name(),
];

/// How the table is laid out in a file.
pub(super) const LAYOUT: Layout = Layout {
    plain: &[
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
    ordered: &["packet", "sent_ns", "decided_ns"],
};

#[derive(Serialize)]
struct Dictionary {
    version: u32,
    columns: &'static [Column],
    fates: [&'static str; 9],
}

/// The dictionary that ships with the table, as JSON.
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
    ];
    table::schema(&COLUMNS, types, super::PACKETS_KEY, dictionary)
}

fn sack_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::UInt32, false))
}

/// Rows of packets on their way into a batch, and the names that all batches share.
pub(super) struct PacketRows {
    schema: SchemaRef,
    rows: Columns,
    links: ArrayRef,
    directions: ArrayRef,
    flows: names::Growing,
    fates: ArrayRef,
    protocols: Names<u8>,
    endpoints: Endpoints,
    flags: Names<u8>,
}

/// One vector a column. Values of null places are zero.
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
        }
    }
}

impl PacketRows {
    pub(super) fn new(schema: SchemaRef, links: &[String], flows: &[String]) -> PacketRows {
        PacketRows {
            schema,
            rows: Columns::with_capacity(BATCH),
            links: names::fixed(links.iter().map(String::as_str)),
            directions: names::fixed(["down", "up"]),
            flows: names::Growing::new(flows.to_vec()),
            fates: names::fixed(FATES),
            protocols: Names::new(),
            endpoints: Endpoints::new(),
            flags: Names::new(),
        }
    }

    /// Adds a flow, with the next number.
    pub(super) fn add_flow(&mut self, name: &str) {
        self.flows.add(name);
    }

    /// Adds a row. Returns whether a batch is to be taken.
    pub(super) fn push(&mut self, row: &PacketRecord) -> bool {
        let packet = row.packet;
        let body = packet.view();
        let rows = &mut self.rows;
        rows.number.push(row.number);
        rows.link.push(row.link as i32);
        rows.direction.push(match row.from {
            End::A => 0,
            End::B => 1,
        });
        rows.flow.push(packet.flow.map_or(0, |flow| flow.0 as i32));
        rows.flow_known.push(packet.flow.is_some());
        rows.sent.push(super::nanoseconds(row.sent));
        rows.decided.push(row.decided.map_or(0, super::nanoseconds));
        rows.is_decided.push(row.decided.is_some());
        rows.fate.push(fate(row));
        rows.wire_bytes.push(packet.wire_length());
        rows.protocol.push(
            self.protocols
                .number(body.protocol, |number| protocol_name(*number)),
        );
        let (source, destination) = (packet.ip.source, packet.ip.destination);
        rows.source.push(
            self.endpoints
                .number(source, body.ports.map(|ports| ports.0)),
        );
        rows.destination.push(
            self.endpoints
                .number(destination, body.ports.map(|ports| ports.1)),
        );
        rows.payload_bytes.push(body.payload_bytes);
        rows.retransmission.push(packet.retransmission);
        self.push_tcp(body.tcp.as_deref());
        self.rows.number.len() == BATCH
    }

    fn push_tcp(&mut self, header: Option<&TcpHeader>) {
        let rows = &mut self.rows;
        rows.is_tcp.push(header.is_some());
        if let Some(header) = header {
            let acknowledges = header.flags.contains(TcpFlags::ACK);
            let sack = header.options.sack.as_slice();
            rows.sequence.push(header.sequence.0);
            rows.acknowledges.push(acknowledges);
            rows.acknowledgment.push(if acknowledges {
                header.acknowledgment.0
            } else {
                0
            });
            rows.flags.push(
                self.flags
                    .number(header.flags.0, |bits| flags_name(TcpFlags(*bits))),
            );
            rows.window.push(u32::from(header.window));
            rows.has_sack.push(!sack.is_empty());
            rows.sack
                .extend(sack.iter().flat_map(|block| [block.0.0, block.1.0]));
        } else {
            rows.sequence.push(0);
            rows.acknowledges.push(false);
            rows.acknowledgment.push(0);
            rows.flags.push(0);
            rows.window.push(0);
            rows.has_sack.push(false);
        }
        rows.sack_end.push(rows.sack.len() as i32);
    }

    /// Takes all rows as a batch. Fails if a row names a link or a flow that does not exist.
    pub(super) fn take_batch(&mut self) -> Result<RecordBatch, RecordError> {
        let rows = core::mem::replace(&mut self.rows, Columns::with_capacity(BATCH));
        let endpoints = self.endpoints.values();
        let is_tcp = NullBuffer::from(rows.is_tcp.clone());
        let sack_offsets: Vec<i32> = core::iter::once(0).chain(rows.sack_end).collect();
        let sack = ListArray::try_new(
            sack_item(),
            OffsetBuffer::new(sack_offsets.into()),
            Arc::new(UInt32Array::from(rows.sack)),
            Some(rows.has_sack.into()),
        )?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(rows.number)),
            names::column(rows.link, None, self.links.clone())?,
            names::column(rows.direction, None, self.directions.clone())?,
            names::column(rows.flow, Some(rows.flow_known), self.flows.values())?,
            Arc::new(Int64Array::from(rows.sent)),
            Arc::new(Int64Array::try_new(
                rows.decided.into(),
                Some(rows.is_decided.into()),
            )?),
            names::column(rows.fate, None, self.fates.clone())?,
            Arc::new(UInt32Array::from(rows.wire_bytes)),
            names::column(rows.protocol, None, self.protocols.values())?,
            names::column(rows.source, None, endpoints.clone())?,
            names::column(rows.destination, None, endpoints)?,
            Arc::new(UInt32Array::try_new(
                rows.sequence.into(),
                Some(is_tcp.clone()),
            )?),
            Arc::new(UInt32Array::try_new(
                rows.acknowledgment.into(),
                Some(rows.acknowledges.into()),
            )?),
            Arc::new(UInt32Array::from(rows.payload_bytes)),
            names::column(rows.flags, Some(rows.is_tcp), self.flags.values())?,
            Arc::new(UInt32Array::try_new(rows.window.into(), Some(is_tcp))?),
            Arc::new(sack),
            Arc::new(BooleanArray::from(rows.retransmission)),
        ];
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// How many rows wait.
    pub(super) fn len(&self) -> usize {
        self.rows.number.len()
    }
}

/// The row's place in [`FATES`].
fn fate(row: &PacketRecord) -> i32 {
    match row.dropped {
        None if row.decided.is_some() => 0,
        None => 1,
        Some(DropReason::QueueFull) => 2,
        Some(DropReason::QueueManagement) => 3,
        Some(DropReason::ChannelError) => 4,
        Some(DropReason::BurstLoss) => 5,
        Some(DropReason::RetryLimit) => 6,
        Some(DropReason::LinkDown) => 7,
        Some(DropReason::Discarded) => 8,
    }
}

/// Names of the protocols that one meets here, by their IANA numbers.
fn protocol_name(number: u8) -> String {
    match number {
        1 => "icmp".to_owned(),
        4 => "ipv4".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        41 => "ipv6".to_owned(),
        58 => "icmpv6".to_owned(),
        135 => "mobility".to_owned(),
        number => format!("protocol {number}"),
    }
}

/// The flags that are set, in the order in which people say them; empty if none is.
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
