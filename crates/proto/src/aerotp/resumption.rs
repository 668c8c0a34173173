//! Resumption after a restart of an end: positions and sequence numbers live on, and both ends begin anew with what the
//! other one has.
//!
//! The end that has restarted shows its *incarnation* in each packet, and the bytes that it has of the peer's data, until
//! the peer has heard of it. The peer then sends on from that position, which needs data that it has kept
//! ([`Configuration::keeps_until_confirmed`](super::Configuration::keeps_until_confirmed)), and answers in the same way.
//! Packets of an earlier incarnation, which acknowledge data that is lost, are told by their parity. A packet that is two
//! restarts old would pass; it would have to be on its way through both.

use super::configuration::{Configuration, Identity};
use super::connection::{Connection, FIRST_WINDOW, Probing};
use super::{Arrivals, Event};
use crate::packet::Payload;
use crate::time::Instant;
use crate::wire::aerotp::{AerotpHeader, Opening, Resumption};
use core::net::IpAddr;

/// State of a connection that an end has kept over a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Restarts of this end since the connection began, at least one.
    pub incarnation: u32,
    /// Opening of the peer, if it was heard.
    pub peer: Option<Opening>,
    /// Bytes of the peer's data that need not come again.
    pub received: u64,
    /// Bytes written in all.
    pub written: u64,
    /// The last bytes written: those that the far end has not confirmed.
    pub unconfirmed: Vec<Payload>,
    /// True if nothing more will be written.
    pub is_closed: bool,
}

/// Incarnations of both ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incarnations {
    /// Restarts of this end.
    own: u32,
    /// Restarts of the peer, as far as they are known.
    peer: Option<u32>,
    /// True while packets show this end's incarnation.
    is_shown: bool,
}

impl Incarnations {
    /// Incarnations of a connection that begins.
    pub(super) const FIRST: Incarnations = Incarnations {
        own: 0,
        peer: Some(0),
        is_shown: false,
    };

    /// Returns true if an end has restarted.
    pub(super) fn is_later(&self) -> bool {
        self.own > 0 || self.peer != Some(0)
    }

    pub(super) fn is_odd(&self) -> bool {
        self.own % 2 == 1
    }
}

impl Connection {
    /// Resumes a connection whose state this end has kept over a restart, over a first path with these addresses, own
    /// first, that takes packets of `mtu` bytes.
    pub fn resume(
        now: Instant,
        configuration: Configuration,
        identity: Identity,
        (addresses, mtu): ((IpAddr, IpAddr), u32),
        past: &Past,
    ) -> Connection {
        let mut connection = Connection::connect(now, configuration, identity, addresses, mtu);
        connection.incarnations = Incarnations {
            own: past.incarnation,
            peer: None,
            is_shown: true,
        };
        connection.peer = past.peer;
        connection.sender.resume(past.written, &past.unconfirmed);
        connection.receiver.skip_to(past.received);
        connection.confirmed_there = connection.sender.acknowledged();
        connection.confirmed_here = past.received;
        connection.ending.closed = past.is_closed;
        connection
    }

    /// Takes in the incarnation that a packet shows; returns false for a packet of an earlier one, or of an unknown one.
    pub(super) fn take_incarnation(&mut self, now: Instant, header: &AerotpHeader) -> bool {
        let known = self.incarnations.peer;
        let Some(shown) = &header.resumption else {
            let is_present = known.is_some_and(|peer| (peer % 2 == 1) == header.is_odd_incarnation);
            if is_present {
                // A peer that shows nothing has heard of this end's incarnation.
                self.incarnations.is_shown = false;
            }
            return is_present;
        };
        if known.is_some_and(|known| shown.incarnation < known) {
            return false;
        }
        if known != Some(shown.incarnation) {
            self.incarnations.peer = Some(shown.incarnation);
            if !self.begin_anew_from(now, shown.received) {
                self.end(Event::Reset);
                self.reset_due = true;
                return false;
            }
        }
        let has_heard = shown.heard == Some(self.incarnations.own);
        self.incarnations.is_shown = !has_heard;
        // It stops showing its own as soon as it hears that this end knows.
        self.mack_due = Some(now);
        true
    }

    /// Goes on sending from a position that the peer has after a restart; returns false if the data from there on is
    /// gone, or was never written.
    fn begin_anew_from(&mut self, now: Instant, position: u64) -> bool {
        if !self.sender.begin_anew_from(position, FIRST_WINDOW) {
            return false;
        }
        for path in &mut self.paths {
            path.sent.clear();
            path.newest_arrived = None;
            path.arrivals = Arrivals::default();
            path.silent = None;
        }
        self.peer_blocks = None;
        (self.ending.sent, self.ending.delivered) = (0, false);
        self.ending.repeat_at = None;
        self.over_at = None;
        self.probing = Probing::default();
        self.confirmed_there = self.confirmed_there.max(position);
        self.sender.confirm(self.confirmed_there);
        self.arm_probe(now);
        true
    }

    /// Returns the resumption that packets show at present.
    pub(super) fn resumption(&self) -> Option<Resumption> {
        self.incarnations.is_shown.then(|| Resumption {
            incarnation: self.incarnations.own,
            heard: self.incarnations.peer,
            received: self.receiver.next(),
            may_open: self.peer.is_none(),
        })
    }
}
