//! Layers: the parts of a node between its interfaces and its transports, such as mobility agents.
//!
//! A layer is a state machine like any other: the node passes in packets and link events, and polls it for the steps to
//! take. [`Rank`] is the order of all layers.

use super::inline_vec::InlineVec;
use super::links::Links;
use super::origin::Origin;
use super::{Discarded, RouteTable, mtu_towards};
use crate::crosslayer::Signal;
use crate::host::burst::Burst;
use crate::interface::{InterfaceId, LinkEvent, LinkParameters, StatusInterests, TransmitStatus};
use crate::mobility::buffering::{BufferCounts, BufferPolicy, Held};
use crate::packet::{IpHeader, Packet, Wording};
use crate::time::Instant;
use crate::wire::icmp::{IcmpError, QuotedPacket};
use crate::wire::prefix::Ipv6Prefix;
use core::any::Any;
use core::fmt::Debug;
use core::net::IpAddr;

/// Order of layers. An arrived packet is offered to them from the first to the last; a packet of the node's own, and
/// any departing packet, from the last to the first. Link events and polls go from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// Ingress filter of a router.
    IngressFilter,
    /// Address translator: all other layers see a packet with the addresses that it has in the network outside.
    Translator,
    /// Gateway that carries connections of other hosts across a link by AeroTP.
    AerotpGateway,
    /// Gateway that carries connections to another gateway in bundles.
    BundleGateway,
    /// Gateway for connections of mobiles: snoop and split connections.
    Path,
    /// DHCP servers for care-of addresses.
    AddressServer,
    /// Home agent of Mobile IPv4.
    HomeAgentIpv4,
    /// Foreign agent of Mobile IPv4.
    ForeignAgent,
    /// Router of a micro-mobility domain.
    DomainRouter,
    /// Mobile node of Mobile IPv4.
    MobileNodeIpv4,
    /// AAA server for visited networks.
    AccessServer,
    /// Point of service of IEEE 802.21.
    PointOfService,
    /// Home agent of Mobile IPv6 and NEMO.
    HomeAgent,
    /// Mobility anchor point of hierarchical Mobile IPv6.
    AnchorPoint,
    /// Access routers of Mobile IPv6; after the home agent, which has newer information about a departed mobile.
    AccessRouters,
    /// Mobile node or router of Mobile IPv6 and NEMO.
    MobileNode,
    /// Correspondent of Mobile IPv6.
    Correspondent,
    /// Home network: packets for mobiles without a binding.
    HomeNetwork,
    /// Explicit bad state notification of a base station.
    BadState,
    /// Backpressure of queues on AeroTP's sources.
    Backpressure,
}

impl Rank {
    /// Returns the layer's name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Rank::IngressFilter => "ingress filter",
            Rank::Translator => "address translator",
            Rank::AerotpGateway => "AeroTP gateway",
            Rank::BundleGateway => "DTN gateway",
            Rank::Path => "gateway",
            Rank::AddressServer => "address server",
            Rank::HomeAgentIpv4 | Rank::HomeAgent => "home agent",
            Rank::AnchorPoint => "mobility anchor point",
            Rank::ForeignAgent => "foreign agent",
            Rank::DomainRouter => "domain router",
            Rank::MobileNodeIpv4 | Rank::MobileNode => "mobile node",
            Rank::AccessServer => "access server",
            Rank::PointOfService => "point of service",
            Rank::AccessRouters => "access router",
            Rank::Correspondent => "correspondent",
            Rank::HomeNetwork => "home network",
            Rank::BadState => "bad state notification",
            Rank::Backpressure => "backpressure",
        }
    }

    /// Returns the virtual interface of the layer at this rank: packets routed there go to [`Layer::transmit`].
    pub const fn interface(self) -> InterfaceId {
        InterfaceId::virtual_number(self as u8)
    }
}

/// Path of a packet to a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The interface; a virtual one for a packet out of a layer.
    pub interface: InterfaceId,
    /// True if the packet is for one of the node's own addresses.
    pub is_own: bool,
}

/// A layer's decision about a packet in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The packet passes, unaffected by the layer.
    Pass,
    /// The packet passes, and the layer is to be polled because of it.
    Learn,
    /// The layer takes the packet.
    Take,
    /// The packet ends here: the layer has taken its content, and may send that on in another form.
    Absorb,
    /// The packet is dropped.
    Drop,
}

/// Fate of a packet at a layer that ends connections.
#[derive(Debug)]
pub enum Ended {
    /// Not for the layer; the packet goes on.
    No(Packet),
    /// Taken by the layer.
    Taken,
    /// For the layer, but of no use there.
    Refused,
}

/// A layer's view of its node.
#[derive(Debug)]
pub struct Around<'a> {
    /// The node's routes.
    pub routes: &'a RouteTable,
    /// Builder of the node's own packets.
    pub origin: Origin<'a>,
    pub(super) interface_mtus: &'a InlineVec<u32>,
    pub(super) links: &'a Links,
}

impl Around<'_> {
    /// Returns the MTU of the first link towards a destination, in bytes, as far as the node knows.
    pub fn mtu_towards(&self, destination: IpAddr) -> u32 {
        mtu_towards(self.routes, self.interface_mtus, destination)
    }

    /// Returns the MTU of an interface in bytes.
    pub fn mtu(&self, interface: InterfaceId) -> u32 {
        self.interface_mtus.get(interface.0).copied().unwrap_or(0)
    }

    /// Returns the latest report of an interface's medium, if there was one.
    pub fn link_parameters(&self, interface: InterfaceId) -> Option<LinkParameters> {
        self.links.parameters(interface)
    }

    /// Returns true if the latest report of an interface's medium is that the link is down.
    pub fn is_link_down(&self, interface: InterfaceId) -> bool {
        self.links.is_down(interface)
    }
}

/// A step that the node is to take with a layer's packet.
#[derive(Debug)]
pub enum Step {
    /// Deliver the packet to this node's transports.
    Deliver(Packet),
    /// Send the packet by this interface.
    Send(InterfaceId, Packet),
    /// Send the packet by the node's routes.
    Forward(Packet),
    /// Send the packet as one of this node's own.
    Originate(Packet),
    /// Send an ICMP error to the source of the quoted packet.
    Tell(IcmpError, QuotedPacket),
    /// Send an error to the packet's source: the destination is unreachable.
    GiveBack(Packet),
}

/// Fate of a packet at a layer's virtual interface.
#[derive(Debug)]
pub enum Transmitted {
    /// Leaves at once, by this step.
    Leaves(Step),
    /// Waits in the layer.
    Kept,
    /// Has no path.
    GivenUp,
}

/// Events of a layer, split into signals to the node's other parts and words for a record.
#[derive(Clone, Debug, Default)]
pub struct Told {
    signals: Burst<Signal>,
    words: Burst<Wording>,
}

impl Told {
    /// Adds an event: its signal to the node's other parts, and its words, if any.
    pub fn add(&mut self, signal: Option<Signal>, words: Option<Wording>) {
        self.signals.extend(signal);
        self.words.extend(words);
    }

    /// Returns the next signal.
    pub fn poll_signal(&mut self) -> Option<Signal> {
        self.signals.pop_front()
    }

    /// Returns the next words.
    pub fn poll_words(&mut self) -> Option<Wording> {
        self.words.pop_front()
    }
}

/// Counters of a layer; each layer uses the ones that concern it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets discarded.
    pub discarded: Discarded,
    /// Packets held in buffers for mobiles that move.
    pub buffered: BufferCounts,
    /// Copies sent to a second place, or to further routers.
    pub copies: u64,
}

/// A host at the other end of an access link (the MN_MAC of 802.21's link identifier), as the router knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Address on the link in the router's neighbour cache.
    pub address: IpAddr,
    /// The network of a mobile router that is at home, if the router has routes to it.
    pub network: Option<Ipv6Prefix>,
    /// True if the router sends an advertisement to the host on its arrival (study D, baseline).
    pub is_told: bool,
    /// Policy for buffering the host's packets after its departure, if they are buffered.
    pub buffering: Option<BufferPolicy>,
}

impl Neighbor {
    /// Returns a host with only a known address.
    pub const fn new(address: IpAddr) -> Neighbor {
        Neighbor {
            address,
            network: None,
            is_told: false,
            buffering: None,
        }
    }
}

/// A part of a node between its interfaces and its transports.
pub trait Layer: Any + Debug + Send {
    /// Returns the layer's place among the layers.
    fn rank(&self) -> Rank;

    /// Returns true for a layer that inspects packets in transit, and may change them or end their connections. Only
    /// such a layer needs [`admit`](Self::admit), [`inspect`](Self::inspect), [`depart`](Self::depart), [`ends`](Self::ends),
    /// [`end`](Self::end) and [`work`](Self::work).
    fn inspects(&self) -> bool {
        false
    }

    /// Returns false for a packet of another node that the node must not forward, since it arrived by `interface`; the
    /// layer counts it. Called before all inspection.
    fn admit(&mut self, _interface: InterfaceId, _routes: &RouteTable, _packet: &Packet) -> bool {
        true
    }

    /// Inspects an arrived packet before the node routes it; may change it, but not its length.
    fn inspect(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        _routes: &RouteTable,
        _packet: &mut Packet,
    ) -> Look {
        Look::Pass
    }

    /// Inspects a packet that is about to leave by an interface, whatever its sender; may change it, but not its
    /// length. Returns false if the packet is dropped; the layer counts it.
    fn depart(&mut self, _now: Instant, _interface: InterfaceId, _packet: &mut Packet) -> bool {
        true
    }

    /// Returns true for a packet of a connection that the layer ends, or for one that opens such a connection.
    fn ends(&self, _routes: &RouteTable, _packet: &Packet) -> bool {
        false
    }

    /// Takes in a packet that arrived by an interface and that the layer ends, before the packet is offered to all layers.
    fn end(
        &mut self,
        _now: Instant,
        _around: &mut Around<'_>,
        _interface: InterfaceId,
        packet: Packet,
    ) -> Ended {
        Ended::No(packet)
    }

    /// Does the work left by packets, link events and time; called before [`poll_step`](Self::poll_step).
    fn work(&mut self, _now: Instant, _around: &mut Around<'_>) {}

    /// Observes a packet of another layer of the node as it leaves.
    fn overhear(&mut self, _packet: &Packet) {}

    /// Takes in the network's word that a packet of this protocol number with this IP header, and of so many bytes behind
    /// it, arrived damaged beyond reading.
    fn handle_corruption(&mut self, _protocol: u8, _ip: &IpHeader, _bytes: u32) {}

    /// Takes in an ICMP error about a packet of the layer's own; returns false if the quoted packet is not the layer's.
    fn handle_icmp(&mut self, _now: Instant, _error: IcmpError, _quoted: &QuotedPacket) -> bool {
        false
    }

    /// Returns true for a packet that the layer takes although its destination is not an address of the node.
    fn takes(&self, _ip: &IpHeader) -> bool {
        false
    }

    /// Returns true for an address of the node that the layer has acquired, such as a care-of address.
    fn has_address(&self, _address: IpAddr) -> bool {
        false
    }

    /// Takes in an arrived packet, or returns it: for the transports if its address is the node's, otherwise to be forwarded.
    fn input(&mut self, _now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    /// Takes over one of the node's own packets before its route is looked up, or returns it, possibly changed.
    fn output(&mut self, _now: Instant, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    /// Takes in a packet routed to the layer's virtual interface.
    fn transmit(&mut self, _now: Instant, _packet: Packet) -> Transmitted {
        Transmitted::GivenUp
    }

    /// Redirects a packet that the layer has sent and that still waits at IP, after its mobile has moved: a tunnel then
    /// leads to the present care-of address, or begins there. Returns the interface by which the packet now leaves, if the
    /// layer prescribes one.
    fn redirect(&mut self, _now: Instant, _packet: &mut Packet) -> Option<InterfaceId> {
        None
    }

    /// Returns true if the node's own packets leave by the layer's virtual interface.
    fn is_default_route(&self) -> bool {
        false
    }

    /// Takes in a medium's event, before the node's attachment.
    fn handle_medium(&mut self, _interface: InterfaceId, _event: LinkEvent) {}

    /// Takes in a signal of another part of the node, such as a link event.
    fn handle_signal(&mut self, _now: Instant, _signal: &Signal) {}

    /// Takes in a medium's event about one of the hosts at the other end of an interface's link.
    fn handle_neighbor(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        _event: LinkEvent,
        _neighbor: Neighbor,
    ) {
    }

    /// Returns the least share of packets, in millionths, that the code of the link at an interface may lose for one of the
    /// layer's own connections; `None` if none of them leaves errors to the link.
    fn tolerated_loss(&self, _interface: InterfaceId) -> Option<u32> {
        None
    }

    /// Returns the kinds of packet status that the layer wants from media.
    fn status_interests(&self) -> StatusInterests {
        StatusInterests::default()
    }

    /// Takes in the status of a packet that the node has handed to the medium at an interface. Returns true if the
    /// layer is to be polled because of it.
    fn handle_transmit_status(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        _packet: &Packet,
        _status: TransmitStatus,
    ) -> bool {
        false
    }

    /// Returns true for a correspondent that still sends to an address the mobile has left.
    fn is_sought_elsewhere(&self, _now: Instant, _peer: IpAddr) -> bool {
        false
    }

    /// Returns the source address for a connection to an address and port, if the layer prescribes one.
    fn source_towards(&self, _remote: IpAddr, _port: u16) -> Option<IpAddr> {
        None
    }

    /// Returns the next step.
    fn poll_step(&mut self) -> Option<Step> {
        None
    }

    /// Returns the next signal to the node's other parts, which receive it before any packet leaves.
    fn poll_signal(&mut self) -> Option<Signal> {
        None
    }

    /// Returns the next event in words, for a record; none for a message, which is recorded itself.
    fn poll_event(&mut self) -> Option<Wording> {
        None
    }

    /// Returns the next report of a packet that a buffer has taken in or dropped.
    fn poll_held(&mut self) -> Option<Held> {
        None
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Performs the actions due at `now`.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Returns the layer's counters.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}
