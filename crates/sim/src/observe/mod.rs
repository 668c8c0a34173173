//! Conversations between real hosts, measured from their packets alone.
//!
//! A *conversation* is the traffic of one 5-tuple: a TCP connection, or datagrams between two ports. The carrier of its
//! packets reports each packet sent by an end and each arrival at the other end ([`Conversation::sent`],
//! [`Conversation::received`]), and learns which bytes were new, retransmitted, delivered in order, or late.
//!
//! A *stall* of one direction is a time in which nothing new arrives at its receiver although the conversation waits.
//! It waits while something of either direction is *outstanding*: over TCP, from the sending of a sequence number to
//! the acknowledgment's arrival at the sender; over everything else, from the sending of a packet to the arrival of it
//! or a younger one (an outside observer cannot tell whether a lost datagram is missed), and of data to the arrival of
//! younger data. So an outage stalls a transfer from its last delivery to its next one, even while neither end sends
//! because its timers run; a connection kept open in silence does not stall, since nothing is outstanding. In detail:
//! - A stall begins with the direction's last new delivery; if nothing was outstanding since, with the next
//!   packet of either end that is. (An end that sends within [`TURNAROUND`] of what came to it was waiting for
//!   that, and the stall goes on: slow start is no sequence of pauses.)
//! - It ends with the direction's next new delivery. New data of the *other* direction ends it too, and begins
//!   the next one, unless something of this direction is outstanding: a request's way and its answer's are two
//!   waits, and a direction that is silent while the other one runs is no stall.
//! - Of datagrams that are no TCP, only long ones are new data: those of at least a quarter of the longest payload that
//!   their direction has sent, or 200 B. Acknowledgments of QUIC, keep-alives and answers to pings are shorter; they
//!   end no stall. A sender that is heard, and sends only short ones for 3 s, has nothing left to send again.
//! - What is lost for good at the end of datagrams counts until the last packet that either end sent; a TCP
//!   connection's undelivered data counts until the end of the run, or of the connection.
//!
//! This module knows no world: packets and times come in, numbers go out.

mod conversation;
mod numbering;
mod outcome;
mod program;
mod quic;
mod ranges;
mod stream;
#[cfg(test)]
mod tests;
mod tuple;
mod view;
mod wait;

pub use conversation::Conversation;
pub use outcome::{Arrival, Arrived, Counters, End, Sending, Side};
pub use program::Program;
pub use quic::ConnectionIds;
pub use tuple::FiveTuple;
pub use view::{NoConversation, PacketView, TcpFields};
pub use wait::TURNAROUND;

use crate::scenario::model::NodeIndex;
use baton_proto::tcp::Endpoint;
use baton_proto::time::{Duration, Instant};

/// A sample of a kernel's state of one of its TCP connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpInfoSample {
    /// Time of the sample.
    pub at: Instant,
    /// Node of the kernel.
    pub node: NodeIndex,
    /// The connection's end at that node.
    pub local: Endpoint,
    /// The other end, as that node sees it.
    pub remote: Endpoint,
    /// Congestion window, in bytes.
    pub congestion_window: u32,
    /// Slow-start threshold, in bytes; `None` before the first loss.
    pub slow_start_threshold: Option<u32>,
    /// Retransmission timeout, backoff included.
    pub retransmission_timeout: Duration,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Duration,
    /// Bytes sent and not acknowledged.
    pub bytes_in_flight: u32,
    /// Retransmitted segments so far.
    pub retransmitted: u64,
    /// Expiries of the retransmission timer so far; kernels before 6.7 do not report them.
    pub timeouts: Option<u64>,
}
