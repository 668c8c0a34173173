//! One connection across the links: the AeroTP connection, and the end here that it serves.

use super::Pair;
use crate::aerotp;
use crate::host::SocketId;
use crate::packet::FlowId;
use crate::time::Instant;
use crate::wire::aerotp::AerotpPacket;
use crate::wire::tcp::TcpHeader;

/// The end on this side that a splice connects to AeroTP.
#[derive(Debug)]
pub(super) enum Near {
    /// A SYN, held until the far end has answered.
    Waiting(Box<TcpHeader>),
    /// The TCP half here.
    Tcp(SocketId),
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
    pub rule: usize,
    pub flow: Option<FlowId>,
    /// True while it waits for a turn to send data.
    pub is_waiting: bool,
    /// True until the TCP half here has an answer: no packet goes to the other gateway before.
    pub is_held: bool,
    /// Number of packets from the other gateway.
    pub heard: u64,
    /// True while half open.
    pub half_open: bool,
    /// True once the end here has spoken: its TCP has answered, or has sent a datagram.
    pub near_spoke: bool,
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
    pub deadline: Option<Instant>,
}

impl Splice {
    pub(super) fn new(
        now: Instant,
        ends: Pair,
        aerotp: aerotp::Connection,
        near: Near,
        rule: usize,
        flow: Option<FlowId>,
    ) -> Splice {
        Splice {
            ends,
            number: 0,
            is_waiting: false,
            aerotp,
            near,
            rule,
            flow,
            is_held: false,
            heard: 0,
            half_open: true,
            near_spoke: false,
            is_vouched_for: false,
            opened_by: None,
            near_finished: false,
            near_failed: false,
            far_finished: false,
            end_delivered: false,
            last_datagram: now,
            deadline: None,
        }
    }

    /// Returns true while anyone might have forged the connection: the other gateway, unless the links authenticate it,
    /// or the end here is not known to be at its packets' source address. The other gateway's ACKs prove it, so this
    /// stays true in modes without ACKs.
    pub(super) fn is_half_open(&self, links_authenticate: bool) -> bool {
        let repeats = self.aerotp.configuration().mode.repeats();
        let is_gateway_known = links_authenticate || repeats && self.aerotp.is_known();
        !(self.is_vouched_for || is_gateway_known && self.near_spoke)
    }
}
