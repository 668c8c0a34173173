//! TCP (RFC 9293) as one sans-IO [`Connection`].
//!
//! # Calling protocol
//! A connection reads no clock and sends nothing by itself. Whoever holds it, a host, a test or a gateway,
//!
//! 1. hands in what happened, with the time: [`Connection::handle_segment`], [`Connection::handle_icmp`],
//!    [`Connection::handle_timeout`], [`Connection::write`], [`Connection::read`], [`Connection::close`];
//! 2. drains [`Connection::poll_event`] and lets the application read and write;
//! 3. drains [`Connection::poll_transmit`] and sends the segments;
//! 4. asks [`Connection::poll_timeout`] when to call `handle_timeout` at the latest. The deadline may move
//!    either way with each call of the above; calling `handle_timeout` too early does nothing.
//!
//! Reading (step 2) before transmitting (step 3) matters a little: an acknowledgment then offers the window
//! that reading has opened, and no separate window update follows it.
//!
//! Segments for which there is no connection are answered with [`reset_reply`]; a SYN to a listening port
//! goes through a [`listener::Listener`] to [`Connection::accept`].
//!
//! # Scope
//! RFC 9293 with options of RFC 7323 and RFC 2018, congestion control behind
//! [`congestion::CongestionControl`], recovery by RFC 5681, 6582 or 6675, RFC 5961 against blind attacks, and
//! path-MTU discovery; where a profile asks for it, loss recovery as Linux does it (`linux`: RFC 8985, 6937,
//! 5682, 3522, 3708), with duplicate SACKs (RFC 2883) and pacing; rate control and SNACK of SCPS-TP (`scps`); T/TCP's opening ([`transaction`]). Not there: ECN (declined), urgent data (read as
//! ordinary data), data on a SYN without T/TCP (the peer sends it again), keep-alives. How a particular stack differs is a
//! [`profile::Profile`].

mod acks;
pub mod congestion;
mod connection;
mod context;
mod highest;
mod input;
pub mod isn;
mod linux;
pub mod listener;
mod options;
mod output;
pub mod profile;
mod receive;
mod recovery;
mod relaying;
mod rtt;
mod scps;
mod sent;
mod steering;
#[cfg(test)]
mod tests;
mod timer;
pub mod transaction;

pub use connection::Connection;
pub use linux::RecoveryPhase;
pub use options::Negotiated;
pub use sent::SegmentCounts;

use crate::packet::Payload;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use core::net::IpAddr;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// A segment to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The header, ports included.
    pub header: TcpHeader,
    /// The data.
    pub payload: Payload,
    /// True if any of it was sent before: data, SYN or FIN.
    pub retransmission: bool,
}

/// An event for the application. Each kind is reported at most once until it is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// New data can be read.
    Readable,
    /// A write that was cut short can go on.
    Writable,
    /// The peer has sent its FIN, and all before it can be read.
    PeerClosed,
    /// Both directions are closed and acknowledged; the connection is gone, or lingers in TIME-WAIT.
    Closed,
    /// The peer has reset the connection.
    Reset,
    /// The peer refuses the connection: a reset, or "port" or "protocol unreachable", in answer to our SYN. To Linux also a
    /// router's word that it cannot be reached.
    Refused,
    /// The peer has not answered the permitted number of retransmissions.
    TimedOut,
}

/// State of a connection (RFC 9293 section 3.3.2). LISTEN is a [`listener::Listener`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is left.
    Closed,
    /// Our SYN is out.
    SynSent,
    /// Both SYNs are out, ours is unacknowledged.
    SynReceived,
    /// Open for data in both directions.
    Established,
    /// Our FIN is out.
    FinWait1,
    /// Our FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer's FIN is in; we may still send.
    CloseWait,
    /// Both FINs are out, ours is unacknowledged.
    Closing,
    /// The peer's FIN is in and ours is out.
    LastAck,
    /// Both are acknowledged; waiting for stray segments to die out.
    TimeWait,
}

/// Counters of one connection, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments handed in, of any kind.
    pub segments_received: u64,
    /// Bytes of data sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments sent again: data, SYN or FIN.
    pub retransmitted: u64,
    /// Bytes of data sent again.
    pub bytes_retransmitted: u64,
    /// Times that the retransmission timer went off, for a SYN too.
    pub timeouts: u64,
    /// Loss events found by duplicate acknowledgments.
    pub fast_retransmits: u64,
    /// Duplicate acknowledgments, as RFC 5681 section 2 defines them.
    pub duplicate_acks_received: u64,
    /// Round-trip times measured.
    pub rtt_samples: u64,
    /// Probes of a zero window.
    pub window_probes: u64,
    /// Data segments received of which every byte was there before.
    pub duplicates_received: u64,
    /// Data segments received ahead of their turn.
    pub out_of_order_received: u64,
    /// Of data segments received ahead of their turn, those dropped because they left too many gaps.
    pub scattered_dropped: u64,
    /// Challenge acknowledgments sent (RFC 5961).
    pub challenge_acks: u64,
    /// Challenge acknowledgments withheld by their rate limit (RFC 5961 section 7).
    pub challenge_acks_withheld: u64,
    /// Segments dropped because their timestamp was old (RFC 7323 section 5).
    pub old_timestamps: u64,
    /// Reductions of the congestion window that were taken back because nothing had been lost.
    pub undone_reductions: u64,
    /// Of these, those after a timeout.
    pub spurious_timeouts: u64,
    /// Probes for the loss of a tail (RFC 8985 section 7).
    pub tail_loss_probes: u64,
    /// Times that an ICMP error has lowered the path MTU.
    pub path_mtu_reductions: u64,
}

impl Statistics {
    fn count_sent(&mut self, segment: &Segment) {
        let bytes = u64::from(segment.payload.length());
        self.segments_sent += 1;
        self.bytes_sent += bytes;
        if segment.retransmission {
            self.retransmitted += 1;
            self.bytes_retransmitted += bytes;
        }
    }
}

/// The reset that answers a segment for which there is no connection (RFC 9293 section 3.10.7.1); `None` if
/// the segment is itself a reset.
pub fn reset_reply(header: &TcpHeader, payload_length: u32) -> Option<TcpHeader> {
    if header.flags.contains(TcpFlags::RST) {
        return None;
    }
    let (sequence, acknowledgment, flags) = if header.flags.contains(TcpFlags::ACK) {
        (header.acknowledgment, SequenceNumber(0), TcpFlags::RST)
    } else {
        let end = header.sequence + sequence_length(header, payload_length);
        (SequenceNumber(0), end, TcpFlags::RST.with(TcpFlags::ACK))
    };
    Some(TcpHeader {
        source_port: header.destination_port,
        destination_port: header.source_port,
        sequence,
        acknowledgment,
        flags,
        window: 0,
        options: TcpOptions::default(),
    })
}

/// "SEG.LEN": what a segment occupies in sequence space, SYN and FIN included.
fn sequence_length(header: &TcpHeader, payload_length: u32) -> u32 {
    let flag = |bit| u32::from(header.flags.contains(bit));
    payload_length + flag(TcpFlags::SYN) + flag(TcpFlags::FIN)
}
