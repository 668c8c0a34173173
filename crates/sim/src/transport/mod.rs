//! Transports of flows besides TCP, UDP and ICMP: a folder each, with its keys in a scenario, their resolution and its
//! part in a run. Other modules call a flow's [`FlowTransport`].

pub mod aerotp;
mod blocks;
pub mod quic;
pub mod tp_plus_plus;

use crate::scenario::document::Path;
use crate::scenario::model::{Flow, Mobile, Transport};
use crate::scenario::raw::RawScenario;
use crate::scenario::raw_flows::{RawFlow, RawTcp};
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use crate::scenario::tagged::{Kind, Tag, Tagged};
use baton_proto::host::{Host, Socket, SocketId};
use baton_proto::packet::{FlowId, Payload};
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::time::Instant;
use core::any::Any;
use core::fmt::Debug;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};

/// Transport of a flow, with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RawTransport {
    /// TCP.
    Tcp(Box<RawTcp>),
    /// UDP.
    Udp,
    /// AeroTP.
    Aerotp(aerotp::keys::RawFlowAerotp),
    /// QUIC.
    Quic(quic::RawQuic),
    /// TP++.
    #[serde(rename = "tp++")]
    TpPlusPlus(tp_plus_plus::RawTpPlusPlus),
    /// ICMP echo.
    Icmp,
}

impl Tagged for RawTransport {
    const TAG: Tag = Tag {
        key: "kind",
        about: "The transport protocol.",
        default: Some("tcp"),
    };

    fn kinds() -> Vec<Kind> {
        vec![
            Kind::of::<RawTcp>("tcp"),
            Kind::plain("udp", "UDP."),
            Kind::of::<aerotp::keys::RawFlowAerotp>("aerotp"),
            Kind::of::<quic::RawQuic>("quic"),
            Kind::of::<tp_plus_plus::RawTpPlusPlus>("tp++"),
            Kind::plain("icmp", "ICMP echo; only for ping."),
        ]
    }
}

impl RawTransport {
    /// Returns the names of links in its settings.
    pub(crate) fn links_mut(&mut self) -> &mut [String] {
        match self {
            RawTransport::Aerotp(own) => own.paths.as_deref_mut().unwrap_or_default(),
            RawTransport::TpPlusPlus(own) => own.paths.as_deref_mut().unwrap_or_default(),
            _ => &mut [],
        }
    }

    /// Returns the links over which its connection sends at once, if it names them, and true beside a rate.
    pub(crate) fn paths(&self) -> Option<(&[String], bool)> {
        match self {
            RawTransport::Aerotp(own) => Some((own.paths.as_deref()?, own.host.rate.is_some())),
            RawTransport::TpPlusPlus(own) => Some((own.paths.as_deref()?, own.rate.is_some())),
            _ => None,
        }
    }

    /// Resolves the settings of the flow at `path`, if this is another transport than TCP, UDP and ICMP.
    pub(crate) fn resolve(
        &self,
        raw: &RawFlow,
        path: &Path,
        report: &mut Report<'_>,
    ) -> Option<Transport> {
        match self {
            RawTransport::Aerotp(own) => aerotp::resolve::transport(own, raw, path, report),
            RawTransport::Quic(own) => Some(quic::transport(*own)),
            RawTransport::TpPlusPlus(own) => tp_plus_plus::transport(own, raw, path, report),
            RawTransport::Tcp(_) | RawTransport::Udp | RawTransport::Icmp => None,
        }
    }
}

/// A transport as a flow's settings have it.
pub trait FlowTransport: Any + Debug + Send + Sync {
    /// Returns its name in scenarios and results.
    fn name(&self) -> &'static str;

    /// Returns its number in IP headers (IANA, "Protocol Numbers").
    fn protocol(&self) -> u8;

    /// Returns the bytes of its headers around a full payload, without options and IP's headers.
    fn header_length(&self) -> u32;

    /// Returns the bytes of its headers around a datagram's payload, without IP's.
    fn datagram_header_length(&self) -> u32 {
        self.header_length()
    }

    /// Returns true if data is written into a connection.
    fn connects(&self) -> bool {
        true
    }

    /// Returns true if lost data stays lost: after the source has stopped, it is no longer awaited.
    fn loses(&self) -> bool {
        false
    }

    /// Returns true if its sender uses the rates that links report: nodes report full queues to it, and a mobile's
    /// binding updates report the parameters of its link.
    fn follows_links(&self) -> bool {
        false
    }

    /// Returns true if the end that is a mobile opens the connection, wherever the data comes from.
    fn is_opened_by_mobile(&self) -> bool {
        false
    }

    /// Returns true if a mobile has another address at each of its links, from which its connections open and continue.
    fn has_new_addresses(&self) -> bool {
        false
    }

    /// Lets a host listen, or accept datagrams, at a port.
    fn listen(&self, host: &mut Host, port: u16, flow: FlowId);

    /// Opens a connection, or returns `None` if there is none to open.
    fn connect(&self, now: Instant, host: &mut Host, opening: &Opening) -> Option<SocketId>;

    /// Opens a further path of a connection, between these addresses, own first, whose slowest link has this rate.
    fn add_path(
        &self,
        _now: Instant,
        _host: &mut Host,
        _socket: SocketId,
        _addresses: (IpAddr, IpAddr),
        _rate: DataRate,
    ) {
    }

    /// Sends a datagram, without a connection.
    fn send_datagram(&self, _now: Instant, _host: &mut Host, _datagram: Datagram) {}

    /// Returns the advice for a run with kernels, which do not support it.
    fn in_place_of_kernels(&self) -> &'static str;

    /// Returns the transport's own results by the connection's ends at source and sink.
    fn result(&self, source: &dyn Socket, sink: Option<&dyn Socket>) -> Option<TransportResult>;

    /// Returns the number of packets with data retransmitted needlessly, if links have lost so many of those to the
    /// sink.
    fn spurious(&self, source: Option<&dyn Socket>, sink: &dyn Socket, lost: u64) -> u64;
}

/// Compares settings by their debug output, which holds every field.
impl PartialEq for dyn FlowTransport {
    fn eq(&self, other: &dyn FlowTransport) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// A connection to be opened by a flow.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Address to send from; `None` is the host's choice.
    pub local: Option<IpAddr>,
    /// Address and port of the other end.
    pub remote: Endpoint,
    /// The flow.
    pub flow: FlowId,
    /// Rate of IP packets on the slowest link of the way.
    pub rate: DataRate,
}

/// A datagram of a flow.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Own port.
    pub port: u16,
    /// Its destination.
    pub to: Endpoint,
    /// Its payload.
    pub payload: Payload,
    /// The flow.
    pub flow: FlowId,
}

/// Results of one transport alone; in JSON under its name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportResult {
    /// AeroTP's.
    Aerotp(aerotp::AerotpResult),
    /// QUIC's.
    Quic(quic::QuicResult),
    /// TP++'s.
    #[serde(rename = "tp_plus_plus")]
    TpPlusPlus(tp_plus_plus::TpPlusPlusResult),
}

/// Reports parts of a scenario that conflict with the transports of flows.
pub(crate) fn check(
    raw: &RawScenario,
    users: (&[Flow], &[Mobile]),
    links: &Links,
    report: &mut Report<'_>,
) {
    aerotp::paths::check(raw, users, links, report);
    quic::check(raw, users, links, report);
}
