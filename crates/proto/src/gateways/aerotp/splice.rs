//! One connection across the links: the AeroTP connection, and the end here that it serves.

use super::custody::{Journaled, Returning};
use super::{Pair, Rule};
use crate::aerotp;
use crate::host::SocketId;
use crate::packet::{FlowId, Payload};
use crate::time::Instant;
use crate::wire::aerotp::AerotpPacket;
use crate::wire::tcp::TcpHeader;
use std::sync::Arc;

/// The end on this side that a splice connects to AeroTP.
#[derive(Debug)]
pub(super) enum Near {
    /// A SYN, held until the far end has answered.
    Waiting(Box<TcpHeader>),
    /// The TCP half here.
    Tcp(SocketId),
    /// The TCP half here after a restart, until its peer has answered.
    Returning(Returning),
    /// Datagrams.
    Udp,
}

/// One connection across the link.
#[derive(Debug)]
pub(super) struct Splice {
    /// The ends of the AeroTP connection, own side first.
    pub ends: Pair,
    /// Distinguishes it from later connections of the same ends; ascending with age.
    pub number: u64,
    pub aerotp: aerotp::Connection,
    pub near: Near,
    pub rule: Arc<Rule>,
    pub flow: Option<FlowId>,
    /// True while it waits for a turn to send data.
    pub is_waiting: bool,
    /// True until the TCP half here has an answer: no packet goes to the other gateway before.
    pub is_held: bool,
    /// Number of packets from the other gateway.
    pub heard: u64,
    /// True while half open.
    pub half_open: bool,
    /// True once the end here has spoken: its TCP has answered, or it has sent a datagram.
    pub near_spoke: bool,
    /// True once the far end has sent a datagram.
    pub far_spoke: bool,
    /// True if a gateway has opened it that the links authenticate.
    pub is_vouched_for: bool,
    /// While it is held, the packet that opened it, needed to refuse it.
    pub opened_by: Option<Box<AerotpPacket>>,
    /// True once the end here has sent all its data.
    pub near_finished: bool,
    /// True once the half here was reset, refused or timed out.
    pub near_failed: bool,
    /// True once the far end has sent all its data.
    pub far_finished: bool,
    /// True once the other gateway has all data of the end here.
    pub end_delivered: bool,
    pub last_datagram: Instant,
    /// End of the data that was written while no link was up: it may wait longer than datagrams otherwise may.
    kept_until: u64,
    pub deadline: Option<Instant>,
    /// Bytes that the gateway counts as its custody.
    pub counted: u64,
    /// State of a connection with a journal.
    pub journaled: Option<Box<Journaled>>,
}

impl Splice {
    pub(super) fn new(
        now: Instant,
        ends: Pair,
        aerotp: aerotp::Connection,
        near: Near,
        rule: Arc<Rule>,
        flow: Option<FlowId>,
    ) -> Splice {
        Splice {
            ends,
            number: 0,
            is_waiting: false,
            aerotp,
            rule,
            flow,
            is_held: false,
            heard: 0,
            half_open: true,
            near_spoke: false,
            far_spoke: false,
            is_vouched_for: false,
            near,
            opened_by: None,
            near_finished: false,
            near_failed: false,
            far_finished: false,
            end_delivered: false,
            last_datagram: now,
            kept_until: 0,
            deadline: None,
            counted: 0,
            journaled: None,
        }
    }

    /// Returns true while anyone might have forged the connection: the other gateway, unless the links authenticate it,
    /// or an end is not known to be at its packets' source address. The other gateway's ACKs prove it, so this stays true
    /// in modes without ACKs; an answer proves an end, so this stays true of datagrams that go one way.
    pub(super) fn is_half_open(&self, links_authenticate: bool) -> bool {
        // One in the journal is as sure as its half here, and its custody must not be dropped.
        let is_kept = self.journaled.as_ref().is_some_and(|it| it.has_begun());
        let repeats = self.aerotp.configuration().mode.repeats();
        let is_gateway_known = links_authenticate || repeats && self.aerotp.is_known();
        // The other gateway bounds the TCP halves there.
        let is_far_known = self.far_spoke || !matches!(self.near, Near::Udp);
        let is_known = is_gateway_known && self.near_spoke && is_far_known;
        !(is_kept || self.is_vouched_for || is_known)
    }

    /// Writes a datagram, unless more bytes than `longest_queue` already wait for their turn. Without that bound, while
    /// no link is up, there is custody of all that the buffer holds. Returns false if the datagram is refused.
    pub(super) fn write_datagram(&mut self, payload: &Payload, longest_queue: Option<u64>) -> bool {
        let sent = self.aerotp.sent().max(self.kept_until);
        let waiting = self.aerotp.written().saturating_sub(sent);
        if longest_queue.is_some_and(|longest| waiting > longest) {
            return false;
        }
        let has_room = self.aerotp.write_record(payload);
        if longest_queue.is_none() {
            self.kept_until = self.aerotp.written();
        }
        has_room
    }
}
