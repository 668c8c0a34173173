//! TP++ in the laboratory: its keys in a scenario, their resolution, and its part in a run.

use super::blocks::{RawFixedBlocks, block_size};
use super::{FlowTransport, Opening, TransportResult};
use crate::scenario::document::Path;
use crate::scenario::model::Transport;
use crate::scenario::raw_flows::RawFlow;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_tcp::{bounded, set};
use crate::scenario::traffic::RawTraffic;
use crate::scenario::units::{PositiveTime, Rate, Size};
use baton_proto::host::{Host, Socket, SocketId};
use baton_proto::packet::FlowId;
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use baton_proto::tp_plus_plus::{Configuration, Connection, Mode};
use baton_proto::wire::protocol;
use baton_proto::wire::tp_plus_plus::ONE_CHUNK;
use core::any::Any;
use core::net::IpAddr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// TP++, with the same settings at both ends.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawTpPlusPlus {
    /// Guarantees of delivery. Default "reliable".
    pub mode: Option<RawMode>,
    /// Rate of IP packets, which neither losses nor links change. Default: that of the slowest link on the way when the
    /// flow starts.
    pub rate: Option<Rate>,
    /// Links of one of the flow's ends, over all of which its connection sends at once, on each at the rate of the
    /// slowest link of that path; that end must not be a mobile or a router. Default: the way of all its packets.
    #[schemars(length(min = 2, max = 8))]
    pub paths: Option<Vec<String>>,
    /// Redundant packets that restore lost ones, before any retransmission. Default: none.
    pub blocks: Option<RawFixedBlocks>,
    /// reliable: packets that one acknowledgment covers. Default 8.
    #[schemars(range(min = 1, max = 255))]
    pub tpdus_per_ack: Option<u32>,
    /// reliable: longest delay of an acknowledgment. Default "10 ms".
    pub ack_delay: Option<PositiveTime>,
    /// quasi-reliable: longest wait for a gap to be filled. A block that is not full is closed after half of it.
    /// Default "100 ms".
    pub reordering_wait: Option<PositiveTime>,
    /// Capacity of the receive buffer, which limits the sender. Default "4 MiB".
    pub receive_buffer: Option<Size>,
}

/// Guarantees of delivery of a TP++ sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawMode {
    /// All data arrives: the code first, then retransmission.
    Reliable,
    /// The code alone, without acknowledgments.
    QuasiReliable,
}

/// TP++ of a flow.
#[derive(Clone, Debug)]
pub(crate) struct TpPlusPlus {
    /// Settings of both ends, except the rate.
    pub configuration: Configuration,
    /// The rate; `None` is that of the slowest link on the way.
    pub rate: Option<DataRate>,
}

/// Resolves the transport of the flow at `path`.
pub(crate) fn transport(
    own: &RawTpPlusPlus,
    raw: &RawFlow,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Transport> {
    let here = path.key("transport");
    if let RawTraffic::Pages(_) | RawTraffic::Ping(_) = raw.traffic() {
        let message = "pages need \"tcp\" or \"quic\", and ping needs one of these, \"udp\" or \"icmp\"; \"tp++\" carries bulk, constant and on-off";
        report.wrong(&here, message.to_owned());
    }
    let mut configuration = Configuration::new(DataRate::ZERO);
    let (mode, own_keys): (_, &[&str]) = match own.mode {
        None | Some(RawMode::Reliable) => (Mode::Reliable, &["tpdus_per_ack", "ack_delay"]),
        Some(RawMode::QuasiReliable) => (Mode::QuasiReliable, &[]),
    };
    let keys = [
        ("tpdus_per_ack", own.tpdus_per_ack.is_some()),
        ("ack_delay", own.ack_delay.is_some()),
    ];
    report.misplaced(
        &here,
        &keys,
        own_keys,
        &format!("mode = \"{}\"", name_of(mode)),
    );
    configuration.mode = mode;
    let tpdus = own.tpdus_per_ack.and_then(|tpdus| u8::try_from(tpdus).ok());
    set(&mut configuration.tpdus_per_acknowledgment, tpdus);
    let time = |time: Option<PositiveTime>| time.map(|time| time.0);
    set(&mut configuration.acknowledgment_delay, time(own.ack_delay));
    set(
        &mut configuration.reordering_wait,
        time(own.reordering_wait),
    );
    // A buffer smaller than a packet would stall.
    let buffer = bounded(
        own.receive_buffer,
        65_536,
        1 << 30,
        &here.key("receive_buffer"),
        report,
    );
    set(&mut configuration.receive_buffer, buffer);
    if let Some(blocks) = own.blocks {
        configuration.block = block_size(blocks, &here, report);
    }
    Some(Transport::Other(Arc::new(TpPlusPlus {
        configuration,
        rate: own.rate.map(|rate| rate.0),
    })))
}

/// Returns the mode's name in scenarios and results.
const fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Reliable => "reliable",
        Mode::QuasiReliable => "quasi-reliable",
    }
}

impl TpPlusPlus {
    /// Returns the configuration of an end on a way with this rate, unless the settings have one.
    fn at(&self, rate: DataRate) -> Configuration {
        Configuration {
            rate: self.rate.unwrap_or(rate),
            ..self.configuration.clone()
        }
    }
}

impl FlowTransport for TpPlusPlus {
    fn name(&self) -> &'static str {
        "tp++"
    }

    fn protocol(&self) -> u8 {
        protocol::TP_PLUS_PLUS
    }

    fn header_length(&self) -> u32 {
        ONE_CHUNK
    }

    fn loses(&self) -> bool {
        self.configuration.mode == Mode::QuasiReliable
    }

    fn listen(&self, host: &mut Host, port: u16, flow: FlowId) {
        // The sink writes nothing.
        host.tp_plus_plus_listen(port, self.at(DataRate::ZERO), Some(flow));
    }

    fn connect(&self, now: Instant, host: &mut Host, opening: &Opening) -> Option<SocketId> {
        let ends = (opening.local, opening.remote);
        let configuration = self.at(opening.rate);
        Some(host.tp_plus_plus_connect(now, ends, configuration, Some(opening.flow)))
    }

    fn add_path(
        &self,
        _: Instant,
        host: &mut Host,
        socket: SocketId,
        addresses: (IpAddr, IpAddr),
        rate: DataRate,
    ) {
        host.tp_plus_plus_add_path(socket, addresses, rate);
    }

    fn in_place_of_kernels(&self) -> &'static str {
        "\"tcp\" or \"udp\""
    }

    fn result(&self, source: &dyn Socket, sink: Option<&dyn Socket>) -> Option<TransportResult> {
        let source = connection(source)?;
        let received = sink.and_then(connection).map(Connection::statistics);
        let received = received.unwrap_or_default();
        Some(TransportResult::TpPlusPlus(TpPlusPlusResult {
            mode: name_of(source.configuration().mode),
            damaged_tpdus: received.damaged,
            restored_tpdus: received.restored,
            skipped_bytes: received.skipped,
            acknowledgments: received.acknowledgments,
            limits: received.limits,
        }))
    }

    /// Returns the needless retransmissions. A TPDU that the code restored before its arrival is a duplicate, too, and
    /// was sent once.
    fn spurious(&self, source: Option<&dyn Socket>, sink: &dyn Socket, _: u64) -> u64 {
        let sent_again = source.map_or(0, |source| source.counters().retransmitted);
        sink.counters().duplicates_received.min(sent_again)
    }
}

fn connection(socket: &dyn Socket) -> Option<&Connection> {
    let socket: &dyn Any = socket;
    socket.downcast_ref()
}

/// Counters of a TP++ connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TpPlusPlusResult {
    /// "reliable" or "quasi-reliable".
    pub mode: &'static str,
    /// TPDUs that arrived at the far end with a wrong check.
    pub damaged_tpdus: u64,
    /// TPDUs that the code restored at the far end.
    pub restored_tpdus: u64,
    /// Bytes skipped at the far end, in quasi-reliable mode.
    pub skipped_bytes: u64,
    /// Acknowledgments sent by the far end.
    pub acknowledgments: u64,
    /// Reports of the limit sent by the far end.
    pub limits: u64,
}
