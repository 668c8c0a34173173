//! Transports of flows beside TCP, UDP and ICMP: a folder each, with its keys in a scenario, their resolution and its part in a run.
//! Other modules call a flow's [`FlowTransport`].

pub mod aerotp;
pub mod quic;

use crate::scenario::document::Path;
use crate::scenario::model::{Flow, Mobile, Transport};
use crate::scenario::raw::RawScenario;
use crate::scenario::raw_flows::RawFlow;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::Links;
use baton_proto::host::{Host, Socket, SocketId};
use baton_proto::packet::{FlowId, Payload};
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::time::Instant;
use core::any::Any;
use core::fmt::Debug;
use core::net::IpAddr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawTransport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// AeroTP.
    Aerotp,
    /// QUIC (RFC 9000), as quinn has it.
    Quic,
    /// ICMP echo; only for ping.
    Icmp,
}

/// Settings of transports beside TCP, each under its name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct OtherTransports {
    /// aerotp: settings of both ends. Default: none.
    pub aerotp: Option<aerotp::keys::RawFlowAerotp>,
    /// quic: settings of both ends. Default: none.
    pub quic: Option<quic::RawQuic>,
}

impl OtherTransports {
    /// Returns the names, and true for those with settings.
    pub(crate) fn given(&self) -> [(&'static str, bool); 2] {
        [
            ("aerotp", self.aerotp.is_some()),
            ("quic", self.quic.is_some()),
        ]
    }
}

impl RawTransport {
    /// Returns its name in scenarios.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            RawTransport::Tcp => "tcp",
            RawTransport::Udp => "udp",
            RawTransport::Aerotp => "aerotp",
            RawTransport::Quic => "quic",
            RawTransport::Icmp => "icmp",
        }
    }

    /// Resolves the settings of the flow at `path`, if this is another transport than TCP, UDP and ICMP.
    pub(crate) fn resolve(
        self,
        raw: &RawFlow,
        path: &Path,
        report: &mut Report<'_>,
    ) -> Option<Transport> {
        match self {
            RawTransport::Aerotp => aerotp::resolve::transport(raw, path, report),
            RawTransport::Quic => Some(quic::transport(raw)),
            RawTransport::Tcp | RawTransport::Udp | RawTransport::Icmp => None,
        }
    }
}

/// A transport as a flow's settings have it.
pub trait FlowTransport: Any + Debug + Send + Sync {
    /// Returns its name in scenarios and results.
    fn name(&self) -> &'static str;

    /// Returns its number in IP headers (IANA, "Protocol Numbers").
    fn protocol(&self) -> u8;

    /// Returns the bytes of its headers around a full payload, without options and without IP's.
    fn header_length(&self) -> u32;

    /// Returns the bytes of its headers around a datagram's payload, without IP's.
    fn datagram_header_length(&self) -> u32 {
        self.header_length()
    }

    /// Returns true if data is written into a connection.
    fn connects(&self) -> bool {
        true
    }

    /// Returns true if lost data stays lost: after the source has stopped, it is not waited for.
    fn loses(&self) -> bool {
        false
    }

    /// Returns true if its sender goes by the rates that links report: nodes tell it of full queues, and a mobile's binding updates
    /// report the parameters of its link.
    fn follows_links(&self) -> bool {
        false
    }

    /// Returns true if the end that is a mobile opens the connection, wherever the data comes from.
    fn is_opened_by_mobile(&self) -> bool {
        false
    }

    /// Returns true if a mobile has another address at each of its links, from which it opens and goes on.
    fn has_new_addresses(&self) -> bool {
        false
    }

    /// Lets a host listen, or take datagrams, at a port.
    fn listen(&self, host: &mut Host, port: u16, flow: FlowId);

    /// Opens a connection, or gives `None` if there is none to open.
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

    /// Returns the advice for a run with kernels, none of which speaks it.
    fn in_place_of_kernels(&self) -> &'static str;

    /// Returns its own results by the connection's ends at source and sink.
    fn result(&self, source: &dyn Socket, sink: Option<&dyn Socket>) -> Option<TransportResult>;

    /// Returns the number of packets with data that were sent again without need, if links have lost so many of those to the sink.
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

/// Results that only one transport has; in JSON under its name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportResult {
    /// AeroTP's.
    Aerotp(aerotp::AerotpResult),
    /// QUIC's.
    Quic(quic::QuicResult),
}

/// Reports what the transports of flows do not go with.
pub(crate) fn check(
    raw: &RawScenario,
    users: (&[Flow], &[Mobile]),
    links: &Links,
    report: &mut Report<'_>,
) {
    aerotp::paths::check(raw, users, links, report);
    quic::check(raw, users, links, report);
}
