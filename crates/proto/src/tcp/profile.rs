//! Profiles of TCP stacks, apart from their congestion control: differences between implementations that follow the
//! standard, or its version of their time.

pub use super::congestion::Algorithm;

use super::congestion::VegasParameters;

use crate::rate::DataRate;
use crate::time::Duration;

/// Every setting of a connection. A scenario may override each.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Algorithm that moves the congestion window.
    pub congestion: Algorithm,
    /// Detection and repair of further losses after the first.
    pub recovery: Recovery,
    /// Largest segment that this end sends or requests, in bytes of payload; the path MTU limits it too.
    pub maximum_segment_size: u16,
    /// Initial congestion window, in segments (RFC 5681 section 3.1, RFC 6928).
    pub initial_window: u32,
    /// Initial slow-start threshold in bytes; `None` is "arbitrarily high" (RFC 5681 section 3.1).
    pub initial_slow_start_threshold: Option<u32>,
    /// Receive buffer in bytes; the limit of the advertised window.
    pub receive_buffer: u32,
    /// Growth of the receive buffer with the received data, up to `receive_buffer`.
    pub receive_autotuning: Autotuning,
    /// Send buffer in bytes, for data written and not acknowledged.
    pub send_buffer: u32,
    /// Let the send buffer begin small and grow with the congestion window, up to `send_buffer`. Only with
    /// [`Recovery::Linux`].
    pub send_autotuning: bool,
    /// Offer window scaling (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Offer selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Offer selective negative acknowledgments (SCPS-TP, CCSDS 714.0-B-2); not used if SACK is negotiated. Not with
    /// [`Recovery::Linux`].
    pub snack: bool,
    /// Highest sending rate, whatever the windows allow (SCPS-TP's open-loop rate control); in bits of IP packets.
    pub rate_limit: Option<DataRate>,
    /// Longest delay of ACKs, with one at least for every second full segment (RFC 1122 section 4.2.3.2); `None`
    /// acknowledges every segment at once.
    pub delayed_ack: Option<Duration>,
    /// Delay ACKs by the gaps between arrivals, at most by `delayed_ack` (Linux 2.0).
    pub delay_by_gaps: bool,
    /// Hold back small segments while data is unacknowledged (RFC 896, RFC 1122 section 4.2.3.4).
    pub nagle: bool,
    /// Send a new segment for each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate ACKs that trigger fast retransmit (RFC 5681 section 3.2); `None` switches it off.
    pub duplicate_ack_threshold: Option<u32>,
    /// Retransmission timeout before the first sample (RFC 6298 section 2.1).
    pub initial_rto: Duration,
    /// Lower bound of the retransmission timeout (RFC 6298 section 2.4).
    pub minimum_rto: Duration,
    /// Upper bound of the retransmission timeout (RFC 6298 section 2.5).
    pub maximum_rto: Duration,
    /// Granularity of the stack's clock: RTT samples and timeouts are multiples of it. Zero is exact.
    pub tick: Duration,
    /// Computation of the timeout from the estimates.
    pub rto_arithmetic: RtoArithmetic,
    /// Let a loss halve the congestion window instead of the data outstanding (RFC 5681 equation 4), and each timeout of
    /// the same data too; the window also grows while it does not limit the sender. As in ns-2.
    pub threshold_from_window: bool,
    /// Restart from the initial window after an idle retransmission timeout (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// Retransmissions of a SYN before the attempt is given up.
    pub syn_retries: u32,
    /// Retransmissions of a SYN-ACK before the attempt is given up.
    pub syn_ack_retries: u32,
    /// Retransmissions of the same data before the connection is given up (RFC 9293 section 3.8.3).
    pub data_retries: u32,
    /// Timeouts of a SYN that do not double the next: `tcp_syn_linear_timeouts`. They do not count as retries.
    pub syn_linear_timeouts: u32,
    /// Delay ACKs as Linux does: not at the start of a connection, later by a time that follows the gaps between
    /// arrivals and is at least `delayed_ack`.
    pub quick_acks: bool,
    /// Longest delay of ACKs for data beyond a gap, after the third: 5 % of the round-trip time and at most this
    /// (Linux's `tcp_comp_sack_delay_ns`); `None` sends each at once.
    pub sack_compression: Option<Duration>,
    /// Report duplicates by SACK (RFC 2883).
    pub duplicate_sack: bool,
    /// Detect losses by time (RACK, RFC 8985) instead of by RFC 6675. Only with [`Recovery::Linux`] and SACK.
    pub rack: bool,
    /// Probe for a loss at the tail of a flight (TLP, RFC 8985 section 7). Only with [`Recovery::Linux`] and SACK.
    pub tail_loss_probe: bool,
    /// Reduce the window in proportion to the delivered data (RFC 6937) instead of at once. Only with
    /// [`Recovery::Linux`].
    pub proportional_rate_reduction: bool,
    /// After a timeout, try new data before retransmitting the rest (F-RTO, RFC 5682). Only with [`Recovery::Linux`].
    pub forward_rto: bool,
    /// Undo a reduction that duplicate SACKs (RFC 3708) or timestamps (Eifel, RFC 3522) show to be spurious. Only with
    /// [`Recovery::Linux`].
    pub undo: bool,
    /// Form of Reno and CUBIC; for other controls, the growth per ACK in slow start, and whether a loss reduces the
    /// data outstanding or the window.
    pub window_arithmetic: WindowArithmetic,
    /// Leave slow start when trains of ACKs get long or delays grow (HyStart, in Linux's CUBIC).
    pub hystart: bool,
    /// Let BBR take a steady rate with many losses for a policer's, and keep to it for a while.
    pub long_term_rate: bool,
    /// Time over which the shortest round-trip time is taken, for loss detection and rate samples (Linux's
    /// `tcp_min_rtt_wlen`); `None` is since the start of the connection. Only with [`Recovery::Linux`].
    pub minimum_rtt_window: Option<Duration>,
    /// Send segments in pieces of several, with a short wait for a full piece, and PSH on the last segment of a piece.
    /// Only with [`Recovery::Linux`].
    pub push_bursts: bool,
    /// Round timers to Linux's timer wheel: 4 ms (`CONFIG_HZ` 250), and an eighth of the delay for long ones.
    pub timer_wheel: bool,
    /// Open and accept connections with T/TCP (RFC 1644).
    pub transaction_opening: bool,
    /// Duration of TIME_WAIT: twice the maximum segment lifetime (RFC 9293 section 3.4.2).
    pub time_wait: Duration,
}

/// Growth of a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autotuning {
    /// None: the buffer has its size from the start.
    Off,
    /// As in Linux: from 64 KiB, by what the application reads in a round trip.
    Linux,
    /// Dynamic right-sizing (Fisk and Feng, 2001): from two segments, to twice what arrives in the shortest round trip.
    RightSizing,
}

/// Loss recovery after a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Leave at the first new ACK (RFC 5681 section 3.2).
    Reno,
    /// Stay until all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
    /// Recovery by the scoreboard of SACK (RFC 6675) if the peer permits it, otherwise NewReno.
    Sack,
    /// Linux 2.0's, without SACK: Reno, but after a timeout no new data until all that was outstanding is acknowledged, at
    /// least one retransmission for each ACK meanwhile, and a timer that counts from the last transmission of the oldest
    /// segment.
    Linux20,
    /// Linux's state machine: RACK-TLP, PRR, F-RTO and undo, each of which can be switched off, by the scoreboard or,
    /// without SACK, by counting duplicate ACKs.
    Linux,
}

/// Form of a congestion control: the RFC's or Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowArithmetic {
    /// The RFC's.
    Rfc,
    /// Linux 2.0's, which counts segments and acknowledgments.
    Linux20,
    /// Linux's, which counts segments, and grows by every acknowledged segment in slow start.
    Linux,
}

/// Computation of the retransmission timeout from the smoothed round-trip time A and its mean deviation D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoArithmetic {
    /// A + max(4 D, tick) (RFC 6298 section 2).
    Rfc6298,
    /// A and four deviations of at least the floor, by Linux's own rules: `tcp_rtt_estimator` and `tcp_ack_update_rtt`
    /// of 6.18.
    Linux,
    /// (A + 4 D) · (5/4 + 2^(1 − congestion window in segments)): Linux 2.0's formula, according to the comment in its
    /// source to allow for bursts on slow links. T6's rise "above 50 s" needs the factor 5/4: A + 4 D alone peaks at
    /// about 2.6 times the old round-trip time. Every acknowledged segment gives a sample, the SYN does not.
    Linux20,
    /// A + 4 D as in OMNeT++'s INET (`TCPBaseAlg`): both follow a sample by an eighth, A from 0 and D from 0.75 s on;
    /// one segment per round trip is timed, never the SYN. D falls more slowly than in RFC 6298.
    Inet,
}

impl Profile {
    /// Names that [`Profile::named`] knows.
    pub const NAMES: [&'static str; 6] = [
        "rfc",
        "ns2",
        "linux-2.0.36",
        "linux-6",
        "classic",
        "scps-tp",
    ];

    /// Returns the profile of that name, one of [`Profile::NAMES`].
    pub fn named(name: &str) -> Option<Profile> {
        match name {
            "rfc" => Some(Profile::rfc()),
            "linux-6" => Some(Profile::linux_6()),
            "classic" => Some(Profile::classic()),
            "ns2" => Some(Profile::ns2()),
            "linux-2.0.36" => Some(Profile::linux_2_0_36()),
            "scps-tp" => Some(Profile::scps_tp()),
            _ => None,
        }
    }

    /// Returns the profile required or recommended by today's standards, with NewReno's window and SACK recovery.
    /// Timestamps are off: they are optional (RFC 7323), cost 12 bytes a segment, and without them a full segment in an
    /// Ethernet frame has the 1460 bytes of most textbooks.
    pub fn rfc() -> Profile {
        Profile {
            congestion: Algorithm::NewReno,
            recovery: Recovery::Sack,
            maximum_segment_size: 1460,
            initial_window: 10,
            initial_slow_start_threshold: None,
            receive_buffer: 1 << 20,
            receive_autotuning: Autotuning::Off,
            send_buffer: 1 << 20,
            send_autotuning: false,
            window_scaling: true,
            timestamps: false,
            sack: true,
            snack: false,
            rate_limit: None,
            delayed_ack: Some(Duration::from_millis(200)),
            delay_by_gaps: false,
            nagle: true,
            limited_transmit: true,
            duplicate_ack_threshold: Some(3),
            initial_rto: Duration::from_secs(1),
            minimum_rto: Duration::from_secs(1),
            maximum_rto: Duration::from_secs(60),
            tick: Duration::ZERO,
            rto_arithmetic: RtoArithmetic::Rfc6298,
            threshold_from_window: false,
            idle_restart: true,
            syn_retries: 6,
            syn_ack_retries: 6,
            data_retries: 15,
            syn_linear_timeouts: 0,
            quick_acks: false,
            sack_compression: None,
            duplicate_sack: false,
            rack: false,
            tail_loss_probe: false,
            proportional_rate_reduction: false,
            forward_rto: false,
            undo: false,
            window_arithmetic: WindowArithmetic::Rfc,
            hystart: false,
            long_term_rate: false,
            minimum_rtt_window: None,
            push_bursts: false,
            timer_wheel: false,
            transaction_opening: false,
            time_wait: Duration::from_secs(60),
        }
    }

    /// Returns the profile of a present Linux (6.18) with default settings: the constants of its `include/net/tcp.h`
    /// and the defaults of its settings under `net.ipv4`. CUBIC, an initial window of 10 segments, SACK, timestamps (so
    /// that a full segment in an Ethernet frame carries 1448 bytes), ACKs delayed by 40 ms, timeouts from 200 ms to 120
    /// s. The buffers have Linux's largest sizes, less overhead: half of the receive buffer's 32 MiB.
    pub fn linux_6() -> Profile {
        Profile {
            congestion: Algorithm::Cubic,
            receive_buffer: 16 << 20,
            receive_autotuning: Autotuning::Linux,
            send_buffer: 4 << 20,
            send_autotuning: true,
            timestamps: true,
            delayed_ack: Some(Duration::from_millis(40)),
            minimum_rto: Duration::from_millis(200),
            maximum_rto: Duration::from_secs(120),
            recovery: Recovery::Linux,
            rto_arithmetic: RtoArithmetic::Linux,
            syn_ack_retries: 5,
            syn_linear_timeouts: 4,
            quick_acks: true,
            sack_compression: Some(Duration::from_millis(1)),
            duplicate_sack: true,
            rack: true,
            tail_loss_probe: true,
            proportional_rate_reduction: true,
            forward_rto: true,
            undo: true,
            window_arithmetic: WindowArithmetic::Linux,
            hystart: true,
            long_term_rate: true,
            minimum_rtt_window: Some(Duration::from_secs(300)),
            push_bursts: true,
            timer_wheel: true,
            ..Profile::rfc()
        }
    }

    /// Returns the profile of the same Linux without SACK, timestamps, RACK, TLP and F-RTO, which leaves NewReno's
    /// recovery: the closest configuration of a real kernel to a stack of the nineties.
    pub fn classic() -> Profile {
        Profile {
            timestamps: false,
            sack: false,
            rack: false,
            tail_loss_probe: false,
            forward_rto: false,
            ..Profile::linux_6()
        }
    }

    /// Returns the defaults of ns-2's agents since 2006 (its ns-default.tcl and the notes on changed defaults in its
    /// test suites): segments of 1000 bytes in a window of 20, initial window 2, every segment acknowledged at once,
    /// limited transmit, initial timeout 3 s, floor 0.2 s (1 s before October 2004), a tick of 10 ms, NewReno as the
    /// usual agent. Nagle is on in FullTcp and cannot matter to a bulk sender.
    pub fn ns2() -> Profile {
        Profile {
            recovery: Recovery::NewReno,
            maximum_segment_size: 1000,
            initial_window: 2,
            receive_buffer: 20_000,
            send_buffer: 1 << 20,
            window_scaling: false,
            sack: false,
            delayed_ack: None,
            initial_rto: Duration::from_secs(3),
            minimum_rto: Duration::from_millis(200),
            tick: Duration::from_millis(10),
            ..Profile::rfc()
        }
    }

    /// Returns the profile of SCPS-TP (CCSDS 714.0-B-2): TCP with its options for long paths, SNACK in place of SACK,
    /// and Vegas; its other variant, Van Jacobson's, is `congestion = NewReno`. The mission sets the rate of its rate
    /// control.
    pub fn scps_tp() -> Profile {
        Profile {
            congestion: Algorithm::Vegas(VegasParameters::default()),
            recovery: Recovery::NewReno,
            timestamps: true,
            sack: false,
            snack: true,
            ..Profile::rfc()
        }
    }

    /// Returns the profile of Linux 2.0.36, the stack of study T (sections 3.5, 7.1 and 7.2), by the sources of the 2.0
    /// series: no options but the MSS, a 10 ms tick, an RTO floor of 200 ms and ceiling of 120 s, Reno, an initial window
    /// of one segment, 16 kB of window (Netperf's default in the study).
    pub fn linux_2_0_36() -> Profile {
        Profile {
            congestion: Algorithm::Reno,
            recovery: Recovery::Linux20,
            initial_window: 1,
            receive_buffer: 16_384,
            send_buffer: 65_536,
            window_scaling: false,
            timestamps: false,
            sack: false,
            limited_transmit: false,
            initial_rto: Duration::from_secs(3),
            minimum_rto: Duration::from_millis(200),
            maximum_rto: Duration::from_secs(120),
            tick: Duration::from_millis(10),
            rto_arithmetic: RtoArithmetic::Linux20,
            window_arithmetic: WindowArithmetic::Linux20,
            delayed_ack: Some(Duration::from_millis(500)),
            delay_by_gaps: true,
            idle_restart: false,
            syn_retries: 10,
            syn_ack_retries: 10,
            ..Profile::rfc()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_profile() {
        for name in Profile::NAMES {
            assert!(Profile::named(name).is_some(), "{name}");
        }
        assert_eq!(Profile::named("linux"), None);
    }

    /// `include/net/tcp.h` of Linux 6.18: `TCP_INIT_CWND`, `TCP_TIMEOUT_INIT`, `TCP_RTO_MIN`, `TCP_RTO_MAX`,
    /// `TCP_DELACK_MIN`, `TCP_SYN_RETRIES`, `TCP_SYNACK_RETRIES`, `TCP_RETR2`, `TCP_TIMEWAIT_LEN`.
    #[test]
    fn linux_has_the_constants_of_its_source() {
        let linux = Profile::linux_6();
        assert_eq!(linux.initial_window, 10);
        assert_eq!(linux.initial_rto, Duration::from_secs(1));
        assert_eq!(linux.minimum_rto, Duration::from_millis(200));
        assert_eq!(linux.maximum_rto, Duration::from_secs(120));
        assert_eq!(linux.delayed_ack, Some(Duration::from_millis(40)));
        assert_eq!((linux.syn_retries, linux.data_retries), (6, 15));
        assert_eq!(linux.syn_ack_retries, 5);
        assert_eq!(linux.time_wait, Duration::from_secs(60));
        assert_eq!(linux.congestion, Algorithm::Cubic);
    }
}
