//! Routing in mobile ad hoc networks, in which every node forwards for the others: [`aerorp`] by position, [`aodv`] on
//! demand, [`dsdv`] by tables.
//!
//! A [`Router`] is the state machine of one node. Its caller hands it datagrams, frames and the time, carries out its
//! [`Action`]s, and calls it again at its deadline. A datagram's body is a type of the caller's, which a router moves
//! and never reads.

pub mod aerorp;
pub mod aodv;
pub mod dsdv;
#[cfg(test)]
mod testing;

use crate::time::Instant;
use crate::wire::aeronp::{Geolocation, TranslatedHeader};
use core::fmt::Debug;
use core::net::Ipv4Addr;

/// Hop limit of a new datagram: the recommended default of IP (RFC 1700).
pub const HOP_LIMIT: u8 = 64;

/// A packet on its way through the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<P> {
    /// Node that sent it.
    pub source: Ipv4Addr,
    /// Node for which it is.
    pub destination: Ipv4Addr,
    /// Hops that it may still take.
    pub hop_limit: u8,
    /// True once a node with a congested queue has sent it on under a header that tells so.
    pub congestion: bool,
    /// True once a node has received it damaged under a header that tells so.
    pub corruption: bool,
    /// IP header that the body comes without, if it is translated; carried by a protocol with a header for it.
    pub translated: Option<TranslatedHeader>,
    /// Body, which routers do not read.
    pub body: P,
}

/// A transmission: a routing message, a datagram, or a datagram behind a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<P> {
    /// Neighbour for which it is; `None` for all.
    pub receiver: Option<Ipv4Addr>,
    /// Bytes of the routing message, or of the routing protocol's header before the datagram.
    pub message: Vec<u8>,
    /// The datagram.
    pub datagram: Option<Datagram<P>>,
    /// True if the link's frame check has found errors behind the message, in the datagram.
    pub is_damaged: bool,
}

impl<P> Frame<P> {
    /// Returns a message for all neighbours.
    fn broadcast(message: Vec<u8>) -> Frame<P> {
        Frame {
            receiver: None,
            message,
            datagram: None,
            is_damaged: false,
        }
    }

    /// Returns a message for one neighbour.
    fn unicast(receiver: Ipv4Addr, message: Vec<u8>) -> Frame<P> {
        Frame {
            receiver: Some(receiver),
            message,
            datagram: None,
            is_damaged: false,
        }
    }
}

/// Request of a router to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<P> {
    /// Transmit a frame.
    Send(Frame<P>),
    /// Hand a datagram to this node.
    Deliver(Datagram<P>),
    /// Give a datagram up.
    Drop(Datagram<P>, DropReason),
}

/// Reason why a router gives a datagram up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// No route to its destination, or none in time.
    NoRoute,
    /// No hop left.
    HopLimit,
    /// No room among the datagrams that wait for a route.
    Full,
}

/// Router of a node.
///
/// After each call of a `handle_*` method or [`send`](Router::send), call [`poll`](Router::poll) until it returns
/// `None`, then ask for the [`next_deadline`](Router::next_deadline). `now` never decreases from call to call.
pub trait Router<P>: Debug {
    /// Takes the node's own geolocation. Call it before every other call that takes a time, if the protocol
    /// [reads geolocations](Router::reads_geolocation).
    fn locate(&mut self, _here: Geolocation) {}

    /// Returns true if the protocol uses geolocations.
    fn reads_geolocation(&self) -> bool {
        false
    }

    /// Takes the state of the node's queue: true if it is congested. Call it before every other call that takes a time.
    fn note_queue(&mut self, _is_congested: bool) {}

    /// Takes a datagram of this node.
    fn send(&mut self, now: Instant, datagram: Datagram<P>);

    /// Takes a frame for this node or for all. A malformed message is ignored.
    fn handle_frame(&mut self, now: Instant, from: Ipv4Addr, frame: Frame<P>);

    /// Takes the message of a frame for another node.
    fn handle_overheard(&mut self, _now: Instant, _from: Ipv4Addr, _message: &[u8]) {}

    /// Takes back a frame for a neighbour that the link layer could not reach.
    fn handle_failure(&mut self, now: Instant, frame: Frame<P>);

    /// Carries out what is due.
    fn handle_timeout(&mut self, now: Instant);

    /// Returns the time of the next [`handle_timeout`](Router::handle_timeout), or never.
    fn next_deadline(&self) -> Instant;

    /// Returns the next action.
    fn poll(&mut self) -> Option<Action<P>>;
}
