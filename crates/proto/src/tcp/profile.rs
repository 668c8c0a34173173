//! A stack's habits, apart from its congestion control: what differs between implementations of TCP that
//! all follow the standard, or followed the one of their day.

use crate::time::Duration;

/// Every setting of a connection. A scenario may override each.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Which algorithm moves the congestion window.
    pub congestion: Algorithm,
    /// How lost segments are found and repaired after the first is noticed.
    pub recovery: Recovery,
    /// Largest segment that this end sends or asks for, in bytes of payload; the path's MTU bounds it too.
    pub maximum_segment_size: u16,
    /// Initial congestion window, in segments (RFC 5681 section 3.1, RFC 6928).
    pub initial_window: u32,
    /// Initial slow-start threshold in bytes; `None` is "arbitrarily high" (RFC 5681 section 3.1).
    pub initial_slow_start_threshold: Option<u32>,
    /// Receive buffer in bytes; the advertised window never exceeds it.
    pub receive_buffer: u32,
    /// Bytes that the application may have written and the peer not acknowledged.
    pub send_buffer: u32,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Delay acknowledgments by at most this time, and acknowledge at least every second full segment
    /// (RFC 1122 section 4.2.3.2); `None` acknowledges every segment at once.
    pub delayed_ack: Option<Duration>,
    /// Hold back small segments while data is unacknowledged (RFC 896, RFC 1122 section 4.2.3.4).
    pub nagle: bool,
    /// Send a new segment for each of the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate acknowledgments that trigger fast retransmit (RFC 5681 section 3.2); `None` switches it off.
    pub duplicate_ack_threshold: Option<u32>,
    /// Retransmission timeout before the first sample (RFC 6298 section 2.1).
    pub initial_rto: Duration,
    /// Lower bound of the retransmission timeout (RFC 6298 section 2.4).
    pub minimum_rto: Duration,
    /// Upper bound of the retransmission timeout (RFC 6298 section 2.5).
    pub maximum_rto: Duration,
    /// Granularity of the stack's clock: RTT samples and timeouts are multiples of it. Zero is exact.
    pub tick: Duration,
    /// Restart from the initial window after an idle retransmission timeout (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Retransmissions of a SYN before the attempt is given up.
    pub syn_retries: u32,
    /// Retransmissions of the same data before the connection is given up (RFC 9293 section 3.8.3).
    pub data_retries: u32,
    /// How long TIME_WAIT lasts: twice the maximum segment lifetime (RFC 9293 section 3.4.2).
    pub time_wait: Duration,
}

/// A congestion control by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
}

/// Loss recovery after a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Leave at the first new acknowledgment (RFC 5681 section 3.2).
    Reno,
    /// Stay until all that was outstanding is acknowledged (RFC 6582).
    NewReno,
    /// By the scoreboard of selective acknowledgments (RFC 6675) where the peer permits them, else NewReno.
    Sack,
}
