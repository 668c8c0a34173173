//! TCP (RFC 9293) as one sans-IO [`Connection`].
//!
//! # Calling protocol
//! A connection reads no clock and sends nothing by itself. Its owner, a host, a test or a gateway,
//!
//! 1. passes in each event, with its time: [`Connection::handle_segment`], [`Connection::handle_icmp`],
//!    [`Connection::handle_timeout`], [`Connection::write`], [`Connection::read`], [`Connection::close`];
//! 2. drains [`Connection::poll_event`] and lets the application read and write;
//! 3. drains [`Connection::poll_transmit`] and sends the segments;
//! 4. asks [`Connection::poll_timeout`] when to call `handle_timeout` at the latest. The deadline may move either way
//!    with each of these calls; calling `handle_timeout` too early does nothing.
//!
//! Reading (step 2) before transmitting (step 3) saves segments: an ACK then advertises the window that reading has
//! opened, and no separate window update follows it.
//!
//! A segment without a connection is answered with [`reset_reply`]; a SYN to a listening port goes through a
//! [`listener::Listener`] to [`Connection::accept`].
//!
//! # Scope
//! RFC 9293 with options of RFC 7323 and RFC 2018, congestion control behind [`congestion::CongestionControl`],
//! recovery by RFC 5681, 6582 or 6675, RFC 5961 against blind attacks, and path-MTU discovery; with some profiles
//! Linux's loss recovery (`linux`: RFC 8985, 6937, 5682, 3522, 3708), with duplicate SACKs (RFC 2883) and pacing; rate
//! control and SNACK of SCPS-TP (`scps`); T/TCP's opening ([`transaction`]). Left out: ECN (declined), urgent data
//! (read as ordinary data), data on a SYN without T/TCP (the peer retransmits it), keep-alives. A [`profile::Profile`]
//! describes the differences of a particular stack.

mod challenge;
mod clock;
mod common;
pub mod congestion;
mod connection;
mod context;
mod ends;
mod facts;
mod flow;
mod handshake;
mod highest;
mod input;
pub mod isn;
mod linux;
pub mod listener;
mod opening;
mod options;
mod output;
pub mod profile;
mod receiving;
mod recovery;
mod relaying;
mod rtt;
mod scps;
mod sender;
mod sent;
mod space;
mod steering;
#[cfg(test)]
mod tests;
mod timer;
pub mod transaction;

pub use connection::Connection;
pub use linux::RecoveryPhase;
pub use options::Negotiated;
pub use sent::SegmentCounts;

use common::Common;
use timer::Timer;

use crate::packet::Payload;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use core::net::IpAddr;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IP address.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
}

/// A segment to send.
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
    /// Completed handshake.
    Connected,
    /// New data to read.
    Readable,
    /// Room for more data, after a partial write.
    Writable,
    /// FIN of the peer, once all data before it can be read.
    PeerClosed,
    /// End of both directions, closed and acknowledged; the connection is gone, or lingers in TIME-WAIT.
    Closed,
    /// Reset by the peer.
    Reset,
    /// Refusal by the peer: a reset, or "port" or "protocol unreachable", in answer to the SYN. In Linux also a
    /// router's error that the peer is unreachable.
    Refused,
    /// Timeout: no answer to the permitted number of retransmissions.
    TimedOut,
}

/// State of a connection (RFC 9293 section 3.3.2). LISTEN is a [`listener::Listener`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// SYN sent.
    SynSent,
    /// Both SYNs sent, this end's unacknowledged.
    SynReceived,
    /// Open for data in both directions.
    Established,
    /// FIN sent.
    FinWait1,
    /// FIN acknowledged; the peer may still send.
    FinWait2,
    /// FIN of the peer received; this end may still send.
    CloseWait,
    /// Both FINs sent, this end's unacknowledged.
    Closing,
    /// FIN of the peer received, and this end's sent.
    LastAck,
    /// Both FINs acknowledged; waiting for stray segments to expire.
    TimeWait,
}

impl State {
    /// Returns true if the peer's data is accepted.
    fn may_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }
}

/// Counters of one connection, since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Bytes of data sent, retransmissions included.
    pub bytes_sent: u64,
    /// Retransmitted segments: data, SYN or FIN.
    pub retransmitted: u64,
    /// Retransmitted bytes of data.
    pub bytes_retransmitted: u64,
    /// Expiries of the retransmission timer, for a SYN too.
    pub timeouts: u64,
    /// Loss events found by duplicate ACKs.
    pub fast_retransmits: u64,
    /// Duplicate ACKs, as RFC 5681 section 2 defines them.
    pub duplicate_acks_received: u64,
    /// RTT samples.
    pub rtt_samples: u64,
    /// Probes of a zero window.
    pub window_probes: u64,
    /// Data segments received without new data.
    pub duplicates_received: u64,
    /// Data segments received out of order.
    pub out_of_order_received: u64,
    /// Data segments received out of order and dropped because they left too many gaps.
    pub scattered_dropped: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u64,
    /// Challenge ACKs withheld by their rate limit (RFC 5961 section 7).
    pub challenge_acks_withheld: u64,
    /// Segments dropped because their timestamp was old (RFC 7323 section 5).
    pub old_timestamps: u64,
    /// Reductions of the congestion window undone because nothing had been lost.
    pub undone_reductions: u64,
    /// Undone reductions after a timeout.
    pub spurious_timeouts: u64,
    /// Tail loss probes (RFC 8985 section 7).
    pub tail_loss_probes: u64,
    /// Reductions of the path MTU by ICMP errors.
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

/// Returns the reset for a segment without a connection (RFC 9293 section 3.10.7.1); `None` if the segment is itself a
/// reset.
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

/// Returns "SEG.LEN": a segment's length in sequence space, SYN and FIN included.
fn sequence_length(header: &TcpHeader, payload_length: u32) -> u32 {
    let flag = |bit| u32::from(header.flags.contains(bit));
    payload_length + flag(TcpFlags::SYN) + flag(TcpFlags::FIN)
}
