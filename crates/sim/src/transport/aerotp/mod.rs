//! AeroTP in the laboratory: as the transport of flows, and on links between gateways.

pub(crate) mod gateways;
pub(crate) mod keys;
pub(crate) mod paths;
pub(crate) mod resolve;

use super::{Datagram, FlowTransport, Opening, TransportResult};
use baton_proto::aerotp::{Coding, Configuration, Connection};
use baton_proto::host::{AerotpDatagram, Host, Socket, SocketId};
use baton_proto::packet::FlowId;
use baton_proto::rate::DataRate;
use baton_proto::time::Instant;
use baton_proto::wire::aerotp::{Mode, Protection};
use baton_proto::wire::protocol;
use core::any::Any;
use core::net::IpAddr;
use serde::Serialize;

pub use gateways::{AerotpGateways, GatewayRule};
pub use resolve::mode_name;

/// Half-open connections that a sink keeps.
const BACKLOG: u32 = 16;
/// Bytes of AeroTP's header and check.
const HEADER: u32 = 22 + 4;

/// Settings of an AeroTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AerotpSettings {
    /// Settings of both ends, except the initial rate.
    pub configuration: Configuration,
    /// Initial rate; `None` is that of the slowest link on the way.
    pub rate: Option<DataRate>,
}

impl AerotpSettings {
    /// Returns the configuration of an end that begins at a rate, unless the settings have one.
    pub fn at(&self, rate: DataRate) -> Configuration {
        Configuration {
            initial_rate: self.rate.unwrap_or(rate),
            ..self.configuration.clone()
        }
    }

    fn mode(&self) -> Mode {
        self.configuration.mode
    }
}

impl FlowTransport for AerotpSettings {
    fn name(&self) -> &'static str {
        "aerotp"
    }

    fn protocol(&self) -> u8 {
        protocol::AEROTP
    }

    fn header_length(&self) -> u32 {
        HEADER
    }

    fn datagram_header_length(&self) -> u32 {
        match self.configuration.coding {
            Coding::Fixed(protection) => HEADER + protection.strength.bytes() as u32,
            Coding::Adaptive => HEADER,
        }
    }

    fn connects(&self) -> bool {
        self.mode() != Mode::UnreliableDatagram
    }

    fn loses(&self) -> bool {
        !self.mode().repeats()
    }

    fn follows_links(&self) -> bool {
        true
    }

    fn listen(&self, host: &mut Host, port: u16, flow: FlowId) {
        match self.connects() {
            // The sink writes nothing.
            true => host.aerotp_listen(port, self.at(DataRate::ZERO), BACKLOG, Some(flow)),
            false => host.aerotp_bind(port),
        }
    }

    fn connect(&self, now: Instant, host: &mut Host, opening: &Opening) -> Option<SocketId> {
        let configuration = self.at(opening.rate);
        let (remote, flow) = (opening.remote, Some(opening.flow));
        self.connects().then(|| match opening.local {
            None => host.aerotp_connect(now, remote, configuration, flow),
            Some(local) => host.aerotp_connect_from(now, (local, remote), configuration, flow),
        })
    }

    fn add_path(
        &self,
        now: Instant,
        host: &mut Host,
        socket: SocketId,
        addresses: (IpAddr, IpAddr),
        rate: DataRate,
    ) {
        host.aerotp_add_path(now, socket, addresses, rate);
    }

    fn send_datagram(&self, now: Instant, host: &mut Host, datagram: Datagram) {
        let flow = Some(datagram.flow);
        let datagram = AerotpDatagram {
            source_port: datagram.port,
            to: datagram.to,
            class: self.configuration.class,
            protection: match self.configuration.coding {
                Coding::Fixed(protection) => protection,
                Coding::Adaptive => Protection::default(),
            },
            payload: datagram.payload,
        };
        host.aerotp_send_datagram(now, datagram, flow);
    }

    fn in_place_of_kernels(&self) -> &'static str {
        "\"tcp\" or \"udp\", across a link with `aerotp_gateways`"
    }

    fn result(&self, source: &dyn Socket, sink: Option<&dyn Socket>) -> Option<TransportResult> {
        let (source, sink) = (connection(source)?, sink.and_then(connection));
        let received = sink.map(Connection::statistics).unwrap_or_default();
        Some(TransportResult::Aerotp(AerotpResult {
            mode: mode_name(source.configuration().mode),
            damaged_packets: received.damaged,
            corrected_bytes: received.corrected,
            skipped_bytes: received.skipped,
            macks: received.macks,
            probes: source.statistics().probes,
            measured_bit_error_rate: sink.map_or(0.0, |sink| sink.error_rate_here().rate()),
        }))
    }

    /// Returns the needless retransmissions. A packet that a code across packets restored before its arrival is a
    /// duplicate, too, and was sent once.
    fn spurious(&self, source: Option<&dyn Socket>, sink: &dyn Socket, _: u64) -> u64 {
        let sent_again = source.map_or(0, |source| source.counters().retransmitted);
        sink.counters().duplicates_received.min(sent_again)
    }
}

fn connection(socket: &dyn Socket) -> Option<&Connection> {
    let socket: &dyn Any = socket;
    socket.downcast_ref()
}

/// Counters of an AeroTP connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AerotpResult {
    /// "reliable", "near-reliable", "quasi-reliable" or "unreliable-connection".
    pub mode: &'static str,
    /// Packets that arrived at the far end with a payload beyond repair.
    pub damaged_packets: u64,
    /// Bytes corrected by the code at the far end.
    pub corrected_bytes: u64,
    /// Bytes skipped at the far end, in modes without retransmission.
    pub skipped_bytes: u64,
    /// Packets with an acknowledgment alone, sent by the far end.
    pub macks: u64,
    /// Probes sent by the source when the far end did not answer.
    pub probes: u64,
    /// Bit error rate last measured by the far end.
    pub measured_bit_error_rate: f64,
}
