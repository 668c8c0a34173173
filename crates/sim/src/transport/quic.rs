//! QUIC in the laboratory, by the crate `baton-quic`.

use super::{FlowTransport, Opening, TransportResult};
use crate::scenario::document::Path;
use crate::scenario::model::{Flow, Mobile, Transport};
use crate::scenario::raw::RawScenario;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use baton_proto::host::{Host, Socket, SocketId};
use baton_proto::packet::FlowId;
use baton_proto::time::Instant;
use baton_proto::wire::protocol;
use baton_quic::{Configuration, CongestionControl, QuicConnection, QuicSockets};
use core::any::Any;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// QUIC (RFC 9000), as implemented by quinn, with the same settings at both ends.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct RawQuic {
    /// Congestion control. Default "cubic".
    pub congestion: Option<RawControl>,
    /// Address of the flow's end that is a mobile without a mobility protocol: "kept" from link to link, or "new" at each link. That
    /// end opens the connection, since QUIC lets only clients move. Default "kept".
    pub address: Option<RawAddress>,
}

/// Congestion control of QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawControl {
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// NewReno (RFC 9002).
    NewReno,
}

/// Address of a mobile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawAddress {
    /// The same address on all links.
    #[default]
    Kept,
    /// An address per link.
    New,
}

/// QUIC of a flow.
#[derive(Clone, Copy, Debug)]
struct Quic {
    congestion: RawControl,
    address: RawAddress,
}

/// Resolves the transport of a flow.
pub(crate) fn transport(settings: RawQuic) -> Transport {
    Transport::Other(Arc::new(Quic {
        congestion: settings.congestion.unwrap_or_default(),
        address: settings.address.unwrap_or_default(),
    }))
}

/// Reports new addresses without a mobile that could have them.
pub(crate) fn check(
    raw: &RawScenario,
    (flows, mobiles): (&[Flow], &[Mobile]),
    links: &Links,
    report: &mut Report<'_>,
) {
    for flow in flows {
        let transport = flow.transport.other();
        if !transport.is_some_and(|transport| transport.has_new_addresses()) {
            continue;
        }
        let of_flow = |mobile: &&Mobile| [flow.from, flow.to].contains(&mobile.node);
        let why = match mobiles.iter().find(of_flow) {
            None => "neither end is in `mobiles`",
            Some(mobile) if mobile.mobility.is_some() => {
                "the mobile's `mobility` keeps its address"
            }
            Some(mobile) if links.radios_at(mobile.node).next().is_some() => {
                "a radio network keeps the address of an aircraft"
            }
            Some(_) => continue,
        };
        let place = raw.flows.iter().position(|raw| raw.name == flow.name);
        let path = Path::default().key("flows").index(place.unwrap_or(0));
        let message = format!("\"new\": {why}; expected \"kept\"");
        report.wrong(&path.key("transport").key("address"), message);
    }
}

impl Quic {
    fn configuration(self) -> Configuration {
        Configuration {
            congestion: match self.congestion {
                RawControl::Cubic => CongestionControl::Cubic,
                RawControl::NewReno => CongestionControl::NewReno,
            },
        }
    }
}

impl FlowTransport for Quic {
    fn name(&self) -> &'static str {
        "quic"
    }

    fn protocol(&self) -> u8 {
        protocol::UDP
    }

    /// Returns the bytes of UDP's header, a short header with a connection ID of 8 bytes and a packet number of 2, a
    /// STREAM frame's and the tag.
    fn header_length(&self) -> u32 {
        8 + (1 + 8 + 2) + 7 + 16
    }

    fn is_opened_by_mobile(&self) -> bool {
        true
    }

    fn has_new_addresses(&self) -> bool {
        self.address == RawAddress::New
    }

    fn listen(&self, host: &mut Host, port: u16, flow: FlowId) {
        let (_, sockets) = host.transport_mut(QuicSockets::new);
        sockets.listen(port, self.configuration(), Some(flow));
    }

    fn connect(&self, now: Instant, host: &mut Host, opening: &Opening) -> Option<SocketId> {
        let remote = opening.remote;
        let in_use = host.attachment().and_then(|own| own.attached());
        let own = in_use.and_then(|interface| host.address_at(interface, remote.address));
        let local = own.unwrap_or_else(|| host.source_towards(remote));
        let (place, sockets) = host.transport_mut(QuicSockets::new);
        let flow = Some(opening.flow);
        let number = sockets.connect(now, local, remote, self.configuration(), flow)?;
        Some(place.socket(number))
    }

    fn in_place_of_kernels(&self) -> &'static str {
        "\"tcp\" or \"udp\", or a program that speaks QUIC, after `--`"
    }

    fn result(&self, source: &dyn Socket, sink: Option<&dyn Socket>) -> Option<TransportResult> {
        let sent = connection(source)?.statistics();
        let received = sink.and_then(connection).map(QuicConnection::statistics);
        Some(TransportResult::Quic(QuicResult {
            congestion_events: sent.congestion_events,
            migrations: sent.migrations.max(received.unwrap_or_default().migrations),
            path_mtu: sent.path_mtu,
        }))
    }

    /// Returns the packets declared lost beyond those really lost.
    fn spurious(&self, source: Option<&dyn Socket>, _: &dyn Socket, lost: u64) -> u64 {
        let declared = source.and_then(connection);
        let declared = declared.map_or(0, |source| source.statistics().lost_packets);
        declared.saturating_sub(lost)
    }
}

fn connection(socket: &dyn Socket) -> Option<&QuicConnection> {
    let socket: &dyn Any = socket;
    socket.downcast_ref()
}

/// Counters of a QUIC connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QuicResult {
    /// Reductions of the source's congestion window.
    pub congestion_events: u64,
    /// Changes of an end's address.
    pub migrations: u64,
    /// Largest UDP payload from the source found by path-MTU discovery, in bytes.
    pub path_mtu: u16,
}
