//! View of datagrams at one end of paths, for a capture: as IP packets, at the interface of their path.

use super::{Direction, Tap};
use baton_linux::udp::source_towards;
use baton_proto::packet::{BitErrors, Body, Identity, IpHeader, Packet, Payload};
use baton_proto::wire::udp::UdpHeader;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Hop limit of the generated headers: Linux sends with it, and the socket does not report that of a received datagram.
const HOP_LIMIT: u8 = 64;
/// Maximum number of peers for which the own address is cached.
const MOST_REMEMBERED: usize = 4096;

/// A view of one end of paths.
#[derive(Debug, Default)]
pub struct View {
    tap: Tap,
    /// Interface of datagrams without a path of their own.
    interface: Option<Arc<str>>,
    /// Interfaces of paths, by their far ends.
    paths: BTreeMap<SocketAddr, Arc<str>>,
    /// Device of all datagrams, if there is only one.
    device: Option<String>,
    /// Own addresses, by peer.
    sources: BTreeMap<IpAddr, IpAddr>,
}

impl View {
    /// Creates the view of an uplink by a device, or of all paths of a home agent.
    pub fn new(tap: &Tap, interface: &str, device: Option<&str>) -> View {
        View {
            tap: tap.clone(),
            interface: Some(interface.into()),
            device: device.map(str::to_owned),
            ..View::default()
        }
    }

    /// Names the interface of a path by its present far end, and removes the former one.
    pub fn name_path(&mut self, before: Option<SocketAddr>, now: Option<(SocketAddr, &str)>) {
        if let Some(before) = before {
            self.paths.remove(&before);
        }
        if let Some((remote, name)) = now {
            self.paths.insert(remote, name.into());
        }
    }

    /// Clears the cached own addresses, which may have changed.
    pub fn forget_sources(&mut self) {
        self.sources.clear();
    }

    /// Records datagrams that were sent or received together.
    pub fn show(
        &mut self,
        direction: Direction,
        (local, remote): (SocketAddr, SocketAddr),
        traffic_class: u8,
        (bytes, segment): (&[u8], usize),
    ) {
        if !self.tap.is_open() {
            return;
        }
        let local = SocketAddr::new(self.source(local, remote), local.port());
        let Some(interface) = self.paths.get(&remote).or(self.interface.as_ref()) else {
            return;
        };
        let (source, destination) = match direction {
            Direction::Outbound => (local, remote),
            Direction::Inbound => (remote, local),
        };
        let mut packet = Vec::new();
        for datagram in bytes.chunks(segment.max(1)) {
            packet.clear();
            wrap((source, destination), traffic_class, datagram).encode(&mut packet);
            self.tap.packet(interface, direction, &packet);
        }
    }

    /// Returns the own address towards a peer: that of the socket, or the kernel's choice.
    fn source(&mut self, local: SocketAddr, remote: SocketAddr) -> IpAddr {
        if !local.ip().is_unspecified() {
            return local.ip();
        }
        if let Some(known) = self.sources.get(&remote.ip()) {
            return *known;
        }
        match source_towards(remote, self.device.as_deref()) {
            Ok(source) => {
                if self.sources.len() >= MOST_REMEMBERED {
                    self.sources.clear();
                }
                self.sources.insert(remote.ip(), source);
                source
            }
            // There is no route yet.
            Err(_) => local.ip(),
        }
    }

    /// Records an event.
    pub fn event(&self, words: &str) {
        if self.tap.is_open() {
            let interface = self.interface.as_deref().unwrap_or_default();
            self.tap.event(&format!("{interface}: {words}"));
        }
    }

    /// Records a signalling message, sent or received, which is sealed on the wire.
    pub fn signal(&self, direction: Direction, packet: &Packet) {
        if !self.tap.is_open() {
            return;
        }
        // A received message is not decoded yet.
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        let Some(signal) = Packet::decode(&bytes)
            .ok()
            .and_then(|packet| packet.signal())
        else {
            return;
        };
        let verb = match direction {
            Direction::Outbound => "sends",
            Direction::Inbound => "gets",
        };
        self.event(&format!("{verb} {}, {}", signal.name, signal.details));
    }
}

/// Puts UDP and IP headers in front of a datagram.
fn wrap((source, destination): (SocketAddr, SocketAddr), class: u8, datagram: &[u8]) -> Packet {
    let header = UdpHeader {
        source_port: source.port(),
        destination_port: destination.port(),
    };
    Packet {
        ip: IpHeader {
            source: source.ip(),
            destination: destination.ip(),
            hop_limit: HOP_LIMIT,
            traffic_class: class,
            identification: 0,
            dont_fragment: true,
        },
        body: Body::Udp(header, Payload::Bytes(datagram.into())),
        flow: None,
        retransmission: false,
        identity: Identity::NONE,
        bit_errors: BitErrors::NONE,
    }
}
