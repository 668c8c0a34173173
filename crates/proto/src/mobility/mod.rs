//! Mobility management: the choice of a mobile's point of attachment, and its reachability while that changes.

pub mod address_configuration;
pub mod attachment;
pub mod binding;
pub mod buffering;
pub mod clock;
pub mod draws;
pub mod handover_service;
pub mod home_network;
pub mod micro_mobility;
pub mod mobile_ipv4;
pub mod mobile_ipv6;
pub mod network_access;
pub mod tunnel;

pub use mobile_ipv6::{dual_stack, refresh_request};

use crate::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use crate::wire::icmp::IcmpMessage;
use crate::wire::multicast_listener::{self, MulticastListenerReport};
use crate::wire::neighbor_discovery::{self, NeighborDiscovery};
use crate::wire::udp::UdpHeader;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::VecDeque;
use std::sync::Arc;

/// Hop limit of an agent's packets where no standard sets another (RFC 1700's recommended default).
const HOP_LIMIT: u8 = 64;

/// Pops the first item. Frees the memory of an empty queue: a simulation has many agents, most of them silent.
fn pop<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if first.is_none() && queue.capacity() > 0 {
        *queue = VecDeque::new();
    }
    first
}

/// Adds an element to a list that mostly stays short, so that the list takes no more memory than it needs.
fn append<T>(list: &mut Box<[T]>, element: T) {
    let mut all = core::mem::take(list).into_vec();
    all.reserve_exact(1);
    all.push(element);
    *list = all.into();
}

/// Keeps the elements of such a list for which `keeps` is true.
fn retain<T>(list: &mut Box<[T]>, keeps: impl FnMut(&T) -> bool) {
    let mut all = core::mem::take(list).into_vec();
    all.retain(keeps);
    *list = all.into();
}

/// Builds a packet that an agent originates.
fn packet(source: IpAddr, destination: IpAddr, body: Body) -> Packet {
    Packet {
        ip: IpHeader {
            source,
            destination,
            hop_limit: HOP_LIMIT,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body,
    }
}

/// Builds a UDP datagram whose source and destination ports are both `port`.
fn datagram((source, destination): (Ipv6Addr, Ipv6Addr), port: u16, message: Vec<u8>) -> Packet {
    let ports = UdpHeader {
        source_port: port,
        destination_port: port,
    };
    let payload = Payload::Bytes(message.into());
    packet(source.into(), destination.into(), Body::Udp(ports, payload))
}

/// Returns the payload of a UDP datagram from `source` whose two ports are both `port`.
fn message_bytes(packet: &Packet, source: Ipv6Addr, port: u16) -> Option<&[u8]> {
    match &packet.body {
        Body::Udp(ports, Payload::Bytes(bytes))
            if ports.source_port == port
                && ports.destination_port == port
                && packet.ip.source == IpAddr::V6(source) =>
        {
            Some(bytes)
        }
        _ => None,
    }
}

/// Builds a Neighbor Discovery message.
pub fn discovery(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    message: impl Into<Arc<NeighborDiscovery>>,
) -> Packet {
    let body = Body::Icmp(IcmpMessage::NeighborDiscovery(message.into()));
    let mut packet = packet(source.into(), destination.into(), body);
    packet.ip.hop_limit = neighbor_discovery::HOP_LIMIT;
    packet
}

/// Builds a Multicast Listener Report that joins `group`.
fn listener_report(source: Ipv6Addr, group: Ipv6Addr) -> Packet {
    let report = Box::new(MulticastListenerReport::join(group));
    let body = Body::Icmp(IcmpMessage::MulticastListenerReport(report));
    let to = multicast_listener::REPORT_DESTINATION;
    let mut packet = packet(source.into(), to.into(), body);
    packet.ip.hop_limit = multicast_listener::HOP_LIMIT;
    packet
}
