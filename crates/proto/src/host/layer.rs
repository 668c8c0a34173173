//! Layers: the parts of a node between its interfaces and its transports, such as mobility agents.
//!
//! A layer is a state machine like any other. It hears of packets and links when the node calls it, and says what it wants
//! done when the node polls it. [`Rank`] is the order of all layers.

use super::few::Few;
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

/// The order of layers. A packet that has come is offered to them from the first to the last, a packet of the node's own, and any
/// that leaves, from the last to the first; they hear of links and are polled from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// Translator of addresses: all others see a packet with the addresses that the network sees.
    Translator,
    /// Gateway that carries connections of others across a link by AeroTP.
    AerotpGateway,
    /// Gateway that serves connections of mobiles: snoop and split connections.
    Path,
    /// DHCP servers for care-of addresses.
    AddressServer,
    /// Home agent of Mobile IPv4.
    HomeAgentIpv4,
    /// Foreign agent of Mobile IPv4.
    ForeignAgent,
    /// Mobile node of Mobile IPv4.
    MobileNodeIpv4,
    /// AAA server for visited networks.
    AccessServer,
    /// Point of service of IEEE 802.21.
    PointOfService,
    /// Home agent of Mobile IPv6 and NEMO.
    HomeAgent,
    /// Access routers of Mobile IPv6; after the home agent, which knows better where a mobile is that has left.
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
    /// The layer's name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Rank::Translator => "address translator",
            Rank::AerotpGateway => "AeroTP gateway",
            Rank::Path => "gateway",
            Rank::AddressServer => "address server",
            Rank::HomeAgentIpv4 | Rank::HomeAgent => "home agent",
            Rank::ForeignAgent => "foreign agent",
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

    /// The virtual interface of the layer at this rank: a route that leads there hands its packets to
    /// [`Layer::transmit`].
    pub const fn interface(self) -> InterfaceId {
        InterfaceId::virtual_number(self as u8)
    }
}

/// The way by which a packet has come to a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The interface; a virtual one if it has come out of a layer.
    pub interface: InterfaceId,
    /// True if it is for one of the node's own addresses.
    pub is_own: bool,
}

/// A layer's view of a packet for others that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It goes on as if nobody had looked.
    Pass,
    /// It goes on, and the layer is to be polled because of it.
    Learn,
    /// The layer takes it in.
    Take,
    /// It ends here: the layer has taken in what it says, and may say it in other words.
    Absorb,
    /// It is dropped.
    Drop,
}

/// A packet's fate at a layer that ends connections.
#[derive(Debug)]
pub enum Ended {
    /// It is not for the layer, and goes on.
    No(Packet),
    /// The layer has taken it in.
    Taken,
    /// It was for the layer, which has no use for it.
    Refused,
}

/// The node around a layer, as far as the layer may use it.
#[derive(Debug)]
pub struct Around<'a> {
    /// Where packets go.
    pub routes: &'a RouteTable,
    /// The maker of the node's own packets.
    pub origin: Origin<'a>,
    pub(super) interface_mtus: &'a Few<u32>,
    pub(super) links: &'a Links,
}

impl Around<'_> {
    /// Largest packet on the first link towards a destination, in bytes, as far as the node knows.
    pub fn mtu_towards(&self, destination: IpAddr) -> u32 {
        mtu_towards(self.routes, self.interface_mtus, destination)
    }

    /// The last report of an interface's medium, if there was one.
    pub fn link_parameters(&self, interface: InterfaceId) -> Option<LinkParameters> {
        self.links.parameters(interface)
    }
}

/// Something that a layer wants done with a packet.
#[derive(Debug)]
pub enum Step {
    /// It is for this node's transports.
    Deliver(Packet),
    /// It leaves by this interface.
    Send(InterfaceId, Packet),
    /// It goes wherever routes lead.
    Forward(Packet),
    /// It leaves as this node's own packets do.
    Originate(Packet),
    /// Its source is to be told what became of it.
    Tell(IcmpError, QuotedPacket),
    /// Its receiver is nowhere, as its source is to be told.
    GiveBack(Packet),
}

/// A packet's fate at a layer's virtual interface.
#[derive(Debug)]
pub enum Transmitted {
    /// It leaves at once.
    Leaves(Step),
    /// It waits in the layer.
    Kept,
    /// There is no way for it.
    GivenUp,
}

/// Events of a layer, taken apart: signals to the other parts of the node, and words for a record.
#[derive(Clone, Debug, Default)]
pub struct Told {
    signals: Burst<Signal>,
    words: Burst<Wording>,
}

impl Told {
    /// Adds an event, by its meaning for others and its words, if it has them.
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

/// Counters of a layer, of which each has those that concern it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets given up.
    pub discarded: Discarded,
    /// Packets held in buffers for mobiles that move.
    pub buffered: BufferCounts,
    /// Copies sent to a second place, or to further routers.
    pub copies: u64,
}

/// A host at the other end of an access link (the MN_MAC of 802.21's link identifier, by what the router knows of it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Its address on the link, as the router's neighbour cache has it.
    pub address: IpAddr,
    /// The network behind it, if the router's routes to that lead there: of a mobile router that is at home.
    pub network: Option<Ipv6Prefix>,
    /// True if the router advertises itself to it as soon as it has come (study D, baseline).
    pub is_told: bool,
    /// Policy for its packets when it leaves, if they are held.
    pub buffering: Option<BufferPolicy>,
}

impl Neighbor {
    /// A host of which no more is known than its address.
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
    /// Its place among the layers.
    fn rank(&self) -> Rank;

    /// True of a layer that looks at packets of others that pass, and may change them or end their connections:
    /// [`inspect`](Self::inspect), [`depart`](Self::depart), [`ends`](Self::ends), [`end`](Self::end) and [`work`](Self::work) are
    /// for it alone.
    fn inspects(&self) -> bool {
        false
    }

    /// Looks at a packet that has come by an interface, before the node decides where it goes, and may change it, but not its
    /// length.
    fn inspect(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        _routes: &RouteTable,
        _packet: &mut Packet,
    ) -> Look {
        Look::Pass
    }

    /// Looks at a packet that is about to leave by an interface, whoever has sent it, and may change it, but not its length.
    /// Returns false if it is dropped, which the layer counts.
    fn depart(&mut self, _now: Instant, _interface: InterfaceId, _packet: &mut Packet) -> bool {
        true
    }

    /// True for a packet that the layer ends, as one of its connections does or as the beginning of one.
    fn ends(&self, _routes: &RouteTable, _packet: &Packet) -> bool {
        false
    }

    /// Takes in a packet that has come and that the layer ends, before all layers are offered it.
    fn end(&mut self, _now: Instant, _around: &mut Around<'_>, packet: Packet) -> Ended {
        Ended::No(packet)
    }

    /// Does what packets, events of links and time have left to do; called before [`poll_step`](Self::poll_step).
    fn work(&mut self, _now: Instant, _around: &mut Around<'_>) {}

    /// Sees a packet of another layer of the node as it leaves.
    fn overhear(&mut self, _packet: &Packet) {}

    /// Takes in an ICMP error about a packet of the layer's own; returns false if it is about none of them.
    fn handle_icmp(&mut self, _now: Instant, _error: IcmpError, _quoted: &QuotedPacket) -> bool {
        false
    }

    /// True for a packet to none of the node's own addresses that the layer wants to be offered.
    fn takes(&self, _ip: &IpHeader) -> bool {
        false
    }

    /// True for an address of the node that the layer has acquired, such as a care-of address.
    fn has_address(&self, _address: IpAddr) -> bool {
        false
    }

    /// Takes in a packet that has come, or gives it back: for the transports if its address is the node's, for others to go on.
    fn input(&mut self, _now: Instant, _arrival: Arrival, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    /// Takes over a packet of the node's own before a route is looked up for it, or gives it back, perhaps changed.
    fn output(&mut self, _now: Instant, packet: Packet) -> Option<Packet> {
        Some(packet)
    }

    /// Takes a packet whose route leads to the layer's virtual interface.
    fn transmit(&mut self, _now: Instant, _packet: Packet) -> Transmitted {
        Transmitted::GivenUp
    }

    /// True if the node's own packets leave by the layer's virtual interface.
    fn is_default_route(&self) -> bool {
        false
    }

    /// Hears an event of a medium as the medium tells it, whatever the node's attachment makes of it.
    fn handle_medium(&mut self, _interface: InterfaceId, _event: LinkEvent) {}

    /// Hears a signal of another part of the node, such as an event of a link.
    fn handle_signal(&mut self, _now: Instant, _signal: &Signal) {}

    /// Hears an event of the medium at an interface that concerns one of the hosts at its other end.
    fn handle_neighbor(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        _event: LinkEvent,
        _neighbor: Neighbor,
    ) {
    }

    /// Returns the statuses of packets that the layer asks media for.
    fn status_interests(&self) -> StatusInterests {
        StatusInterests::default()
    }

    /// Hears the status of a packet that the node has given to the medium at an interface. Returns true if the layer is to be
    /// polled because of it.
    fn handle_transmit_status(
        &mut self,
        _now: Instant,
        _interface: InterfaceId,
        _packet: &Packet,
        _status: TransmitStatus,
    ) -> bool {
        false
    }

    /// True for a correspondent that sends to where this mobile is no longer.
    fn is_sought_elsewhere(&self, _now: Instant, _peer: IpAddr) -> bool {
        false
    }

    /// Returns the source address of a connection to an address and port, if the layer minds.
    fn source_towards(&self, _remote: IpAddr, _port: u16) -> Option<IpAddr> {
        None
    }

    /// Returns the next thing to be done with a packet.
    fn poll_step(&mut self) -> Option<Step> {
        None
    }

    /// Returns the next signal to the node's other parts, which hear it before anything is sent.
    fn poll_signal(&mut self) -> Option<Signal> {
        None
    }

    /// Returns the next event in words, for a record; none of a message that is recorded as such.
    fn poll_event(&mut self) -> Option<Wording> {
        None
    }

    /// Returns the next packet that a buffer has taken in or dropped.
    fn poll_held(&mut self) -> Option<Held> {
        None
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout).
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does everything that is due at `now`.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Returns the layer's counters.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}
