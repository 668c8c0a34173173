//! Names of mobility signalling messages, for a record: the standard's name, and values that distinguish messages of a
//! kind.

use super::{Body, IpHeader, Packet, Payload};
use crate::wire::agent_discovery::AgentDiscovery;
use crate::wire::dhcp::{self, Dhcp, DhcpKind};
use crate::wire::icmp::IcmpMessage;
use crate::wire::mih::{self, Content as HandoverContent, Mih};
use crate::wire::mobile_ipv4::{self, Content, Message, Purpose};
use crate::wire::mobility_header::{
    BindingAcknowledgement, BindingErrorStatus, BindingUpdate, MobilityMessage, PacketBuffering,
};
use crate::wire::multicast_listener::{MulticastListenerReport, RecordKind};
use crate::wire::neighbor_discovery::NeighborDiscovery;
use crate::wire::radius::{self, Radius};
use crate::wire::udp::UdpHeader;

/// A signal as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Name, as in the standard.
    pub name: &'static str,
    /// Main values, separated by commas; may be empty.
    pub details: String,
    /// True if the message is inside a tunnel.
    pub tunnelled: bool,
}

impl Signal {
    /// Creates a signal outside tunnels.
    pub const fn new(name: &'static str, details: String) -> Signal {
        Signal {
            name,
            details,
            tunnelled: false,
        }
    }
}

impl Packet {
    /// Describes the signalling message in the packet, tunnelled or not; `None` for other packets, including echoes,
    /// ICMP errors and packets that are not typed.
    pub fn signal(&self) -> Option<Signal> {
        if let Body::Tunnel(inner) = &self.body {
            let tunnelled = true;
            return inner.signal().map(|signal| Signal {
                tunnelled,
                ..signal
            });
        }
        let ip = self.upper_ip();
        let (name, details) = match &self.body {
            Body::Extended(extended) => of_body(&extended.body, &ip, &self.ip)?,
            body => of_body(body, &ip, &self.ip)?,
        };
        Some(Signal::new(name, details))
    }
}

impl Packet {
    /// Returns true if the packet carries a signalling message, tunnelled or not.
    pub fn is_signalling(&self) -> bool {
        let mut packet = self;
        loop {
            let body = match &packet.body {
                Body::Extended(extended) => &extended.body,
                body => body,
            };
            match body {
                Body::Tunnel(inner) => packet = inner,
                Body::Mobility(_) => return true,
                Body::Icmp(message) => {
                    return !matches!(
                        message,
                        IcmpMessage::EchoRequest(_)
                            | IcmpMessage::EchoReply(_)
                            | IcmpMessage::Error { .. }
                    );
                }
                Body::Udp(header, Payload::Bytes(bytes)) => {
                    return of_datagram(header, bytes).is_some();
                }
                _ => return false,
            }
        }
    }
}

/// Describes a message; `outer` is the header with care-of addresses, `ip` the one with home addresses.
fn of_body(body: &Body, ip: &IpHeader, outer: &IpHeader) -> Option<(&'static str, String)> {
    match body {
        Body::Icmp(IcmpMessage::NeighborDiscovery(message)) => Some(of_neighbor(message, ip)),
        Body::Icmp(IcmpMessage::MulticastListenerReport(report)) => {
            Some(("Multicast Listener Report", of_report(report)))
        }
        Body::Icmp(IcmpMessage::AgentDiscovery(message)) => Some(of_agent(message)),
        Body::Mobility(message) => Some(of_mobility(message, outer)),
        Body::Udp(header, Payload::Bytes(bytes)) => of_datagram(header, bytes),
        _ => None,
    }
}

fn of_neighbor(message: &NeighborDiscovery, ip: &IpHeader) -> (&'static str, String) {
    match message {
        NeighborDiscovery::RouterSolicitation(_) => ("Router Solicitation", String::new()),
        NeighborDiscovery::RouterAdvertisement(advertisement) => {
            let prefixes = advertisement.prefixes.iter();
            let prefixes = prefixes.map(|option| {
                format!(
                    "prefix {}/{}",
                    option.prefix.address(),
                    option.prefix.length()
                )
            });
            (
                "Router Advertisement",
                prefixes.collect::<Vec<_>>().join(", "),
            )
        }
        NeighborDiscovery::NeighborSolicitation(solicitation) => {
            // RFC 4862 section 5.4.2: an unspecified source shows duplicate address detection.
            let purpose = match ip.source.is_unspecified() {
                true => ", duplicate address detection",
                false => "",
            };
            let details = format!("target {}{purpose}", solicitation.target);
            ("Neighbor Solicitation", details)
        }
        NeighborDiscovery::NeighborAdvertisement(advertisement) => (
            "Neighbor Advertisement",
            format!("target {}", advertisement.target),
        ),
    }
}

fn of_report(report: &MulticastListenerReport) -> String {
    let records = report.records.iter().map(|record| {
        let what = match record.kind {
            RecordKind::ChangeToExclude | RecordKind::ModeIsExclude => "listens to",
            RecordKind::ChangeToInclude if record.sources.is_empty() => "leaves",
            _ => "chooses senders of",
        };
        format!("{what} {}", record.address)
    });
    records.collect::<Vec<_>>().join(", ")
}

fn of_mobility(message: &MobilityMessage, outer: &IpHeader) -> (&'static str, String) {
    match message {
        MobilityMessage::BindingRefreshRequest => ("Binding Refresh Request", String::new()),
        MobilityMessage::HomeTestInit { .. } => ("Home Test Init", String::new()),
        MobilityMessage::CareOfTestInit { .. } => ("Care-of Test Init", String::new()),
        MobilityMessage::HomeTest(test) => {
            ("Home Test", format!("nonce index {}", test.nonce_index))
        }
        MobilityMessage::CareOfTest(test) => {
            ("Care-of Test", format!("nonce index {}", test.nonce_index))
        }
        MobilityMessage::BindingUpdate(update) => ("Binding Update", of_update(update, outer)),
        MobilityMessage::BindingAcknowledgement(answer) => {
            ("Binding Acknowledgement", of_answer(answer))
        }
        MobilityMessage::FastBindingUpdate(update) => {
            ("Fast Binding Update", of_update(update, outer))
        }
        MobilityMessage::FastBindingAcknowledgement(answer) => {
            ("Fast Binding Acknowledgement", of_answer(answer))
        }
        MobilityMessage::BindingError(error) => {
            let details = match error.status {
                BindingErrorStatus::UnknownBinding => "unknown binding",
                BindingErrorStatus::UnrecognizedType => "unrecognized type",
            };
            ("Binding Error", details.to_owned())
        }
    }
}

fn of_update(update: &BindingUpdate, outer: &IpHeader) -> String {
    let care_of = update.alternate_care_of_address.map(Into::into);
    let last_received = update.last_received;
    let last_received = last_received.map(|last| format!(", last received {last:016x}"));
    format!(
        "sequence {}, care-of address {}, lifetime {} s{}{}",
        update.sequence,
        care_of.unwrap_or(outer.source),
        update.lifetime.seconds(),
        of_buffering(update.packet_buffering),
        last_received.unwrap_or_default()
    )
}

fn of_answer(answer: &BindingAcknowledgement) -> String {
    let status = match answer.status.is_accepted() {
        true => "accepted",
        false => "refused",
    };
    format!(
        "sequence {}, {status} (status {}), lifetime {} s{}",
        answer.sequence,
        answer.status.0,
        answer.lifetime.seconds(),
        of_buffering(answer.packet_buffering)
    )
}

const fn of_buffering(buffering: Option<PacketBuffering>) -> &'static str {
    match buffering {
        Some(PacketBuffering::Buffer) => ", buffer",
        Some(PacketBuffering::Forward) => ", forward",
        None => "",
    }
}

fn of_agent(message: &AgentDiscovery) -> (&'static str, String) {
    match message {
        AgentDiscovery::Solicitation => ("Agent Solicitation", String::new()),
        AgentDiscovery::Advertisement(advertisement) => {
            // Without the sequence number, so that equal advertisements look the same.
            let agent = advertisement.mobility_agent.as_ref();
            let details = agent.map_or(String::new(), |agent| {
                let care_of = agent.care_of_addresses.iter();
                let care_of = care_of.map(|address| format!("care-of address {address}"));
                care_of.collect::<Vec<_>>().join(", ")
            });
            ("Agent Advertisement", details)
        }
    }
}

/// Describes a message of Mobile IPv4, RADIUS, MIH or DHCP.
fn of_datagram(header: &UdpHeader, bytes: &[u8]) -> Option<(&'static str, String)> {
    let ports = [header.source_port, header.destination_port];
    if ports.contains(&mobile_ipv4::PORT) {
        return Message::decode(bytes)
            .ok()
            .map(|message| of_registration(&message));
    }
    if ports.contains(&radius::PORT) {
        return Radius::decode(bytes)
            .ok()
            .map(|message| of_access(&message));
    }
    if ports.contains(&mih::PORT) {
        return Mih::decode(bytes).ok().map(|message| of_handover(&message));
    }
    if ports.contains(&dhcp::SERVER_PORT) && ports.contains(&dhcp::CLIENT_PORT) {
        return Dhcp::decode(bytes).ok().map(|message| of_dhcp(&message));
    }
    None
}

fn of_registration(message: &Message) -> (&'static str, String) {
    match message.content {
        Content::Request(request) => {
            let name = match request.purpose {
                Purpose::Home => "Registration Request",
                Purpose::Regional => "Regional Registration Request",
                Purpose::Handoff => "Fast Binding Update",
            };
            let (care_of, lifetime) = (request.care_of_address, request.lifetime);
            (
                name,
                format!("care-of address {care_of}, lifetime {lifetime} s"),
            )
        }
        Content::Reply(reply) => {
            let name = match reply.purpose {
                Purpose::Home => "Registration Reply",
                Purpose::Regional => "Regional Registration Reply",
                Purpose::Handoff => "Fast Binding Acknowledgement",
            };
            let (text, code) = (reply.code.text(), reply.code.0);
            (
                name,
                format!("{text} (code {code}), lifetime {} s", reply.lifetime),
            )
        }
    }
}

fn of_access(message: &Radius) -> (&'static str, String) {
    let name = message.user_name.as_deref();
    let user = name.map(|name| format!("user {}", String::from_utf8_lossy(name)));
    (message.code.name(), user.unwrap_or_default())
}

fn of_handover(message: &Mih) -> (&'static str, String) {
    let of_link =
        |link: &mih::LinkIdentifier| format!("link {}", String::from_utf8_lossy(link.address()));
    let details = match &message.content {
        HandoverContent::Request(link) => of_link(link),
        HandoverContent::Response { status, link } => match link {
            Some(link) => format!("{}, {}", status.text(), of_link(link)),
            None => status.text().to_owned(),
        },
    };
    (message.name(), details)
}

fn of_dhcp(message: &Dhcp) -> (&'static str, String) {
    let name = match message.kind {
        DhcpKind::Discover => "DHCP Discover",
        DhcpKind::Offer => "DHCP Offer",
        DhcpKind::Request => "DHCP Request",
        DhcpKind::Decline => "DHCP Decline",
        DhcpKind::Acknowledge => "DHCP Acknowledgement",
        DhcpKind::Refuse => "DHCP Refusal",
    };
    let given = (!message.address.is_unspecified()).then_some(message.address);
    let address = given.or(message.requested);
    (
        name,
        address.map_or(String::new(), |address| format!("address {address}")),
    )
}
