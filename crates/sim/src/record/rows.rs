//! Rows for the writing thread: the data of packets that the tables need, and no more.

use super::packets::PacketRecord;
use super::relay::Load;
use super::{Quantity, SignalRecord, Subject};
use crate::link::number::LinkNumber;
use crate::link::{DropReason, End};
use baton_proto::packet::FlowId;
use baton_proto::time::Instant;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader};
use core::net::IpAddr;

/// Rows, and the new names that they need.
#[derive(Default)]
pub(crate) struct Rows {
    /// Names of the next subjects.
    pub(super) subjects: Vec<String>,
    /// Names of the next flows.
    pub(super) flows: Vec<String>,
    pub(super) series: Vec<SeriesRow>,
    pub(super) packets: Vec<PacketRow>,
    /// Edges of the blocks of all SACK options in `packets`, one after another.
    pub(super) sack: Vec<u32>,
    pub(super) signals: Vec<SignalRecord>,
}

/// A value of a series.
#[derive(Clone, Copy)]
pub(super) struct SeriesRow {
    /// Nanoseconds.
    pub(super) time: i64,
    pub(super) subject: Subject,
    pub(super) quantity: Quantity,
    pub(super) value: f64,
}

/// A [`PacketRecord`] without its packet. Times are nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct PacketRow {
    pub(super) number: u64,
    pub(super) sent: i64,
    pub(super) decided: Option<i64>,
    pub(super) link: LinkNumber,
    pub(super) flow: Option<FlowId>,
    pub(super) wire_bytes: u32,
    pub(super) payload_bytes: u32,
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Source and destination port.
    pub(super) ports: Option<(u16, u16)>,
    pub(super) from: End,
    pub(super) dropped: Option<DropReason>,
    /// IANA number.
    pub(super) protocol: u8,
    pub(super) retransmission: bool,
    pub(super) copy: u8,
    pub(super) tcp: Option<TcpRow>,
}

/// Fields of a TCP header in a row.
#[derive(Clone, Copy)]
pub(super) struct TcpRow {
    pub(super) sequence: u32,
    pub(super) acknowledgment: Option<u32>,
    pub(super) window: u16,
    pub(super) flags: TcpFlags,
    /// Number of its entries in [`Rows::sack`].
    pub(super) sack_edges: u8,
}

impl Rows {
    #[inline]
    pub(super) fn push_series(
        &mut self,
        at: Instant,
        subject: Subject,
        quantity: Quantity,
        value: f64,
    ) {
        self.series.push(SeriesRow {
            time: super::nanoseconds(at),
            subject,
            quantity,
            value,
        });
    }

    #[inline]
    pub(super) fn push_packet(&mut self, row: &PacketRecord) {
        let packet = row.packet;
        let headers = packet.view();
        let ip = match packet.flow {
            Some(_) => packet.innermost_ip(),
            None => packet.ip,
        };
        let tcp = headers.tcp.as_deref().map(|header| self.tcp_row(header));
        self.packets.push(PacketRow {
            number: row.number,
            copy: packet.identity.copy(),
            sent: super::nanoseconds(row.sent),
            decided: row.decided.map(super::nanoseconds),
            link: LinkNumber::new(row.link),
            flow: packet.flow,
            wire_bytes: packet.wire_length(),
            payload_bytes: headers.payload_bytes,
            source: ip.source,
            destination: ip.destination,
            ports: headers.ports,
            from: row.from,
            dropped: row.dropped,
            protocol: headers.protocol,
            retransmission: packet.retransmission,
            tcp,
        });
    }

    #[inline]
    fn tcp_row(&mut self, header: &TcpHeader) -> TcpRow {
        let blocks = header.options.sack.as_slice();
        for (left, right) in blocks {
            self.sack.extend([left.0, right.0]);
        }
        let acknowledges = header.flags.contains(TcpFlags::ACK);
        TcpRow {
            sequence: header.sequence.0,
            acknowledgment: acknowledges.then_some(header.acknowledgment.0),
            window: header.window,
            flags: header.flags,
            sack_edges: 2 * blocks.len() as u8,
        }
    }
}

impl Load for Rows {
    fn drop_rows(&mut self) -> u64 {
        let rows = self.series.len() + self.packets.len() + self.signals.len();
        self.series.clear();
        self.packets.clear();
        self.sack.clear();
        self.signals.clear();
        rows as u64
    }
}
