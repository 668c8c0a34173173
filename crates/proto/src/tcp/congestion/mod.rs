//! Congestion control: how much may be outstanding. One file an algorithm, behind one small trait.
//!
//! A controller moves the window; it does not find losses and does not repair them. Fast retransmit, the
//! inflation of the window by duplicate acknowledgments and the end of recovery are the connection's.

mod cubic;
mod external;
mod reno;

pub use external::External;

use super::profile::Algorithm;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use core::fmt::Debug;

/// A congestion control: told what happened, asked how much may be outstanding.
pub trait CongestionControl: Debug + Send {
    /// New data was acknowledged outside loss recovery.
    fn on_acknowledged(&mut self, sample: &AckSample);

    /// Fast retransmit found a loss: one call for each loss event, not for each lost segment. Afterwards
    /// [`window`](Self::window) is what recovery ends with, without inflation.
    fn on_loss(&mut self, loss: &LossSample);

    /// The retransmission timer went off.
    fn on_timeout(&mut self, loss: &LossSample);

    /// Sending resumes after an idle retransmission timeout; `restart_window` in bytes (RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, restart_window: u32);

    /// Congestion window, in bytes.
    fn window(&self) -> u32;

    /// Slow-start threshold, in bytes; `u32::MAX` while it is "arbitrarily high".
    fn slow_start_threshold(&self) -> u32;

    /// The rate at which segments should leave; `None` is as fast as the window lets them.
    fn pacing_rate(&self) -> Option<DataRate> {
        None
    }
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it acknowledged for the first time.
    pub acknowledged_bytes: u32,
    /// The round-trip time that it measured, if it measured one.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298), this sample included.
    pub smoothed_rtt: Option<Duration>,
    /// Shortest round-trip time of the connection so far.
    pub minimum_rtt: Option<Duration>,
    /// Bytes outstanding before it arrived.
    pub bytes_in_flight: u32,
    /// Whether the congestion window, and not the application or the receiver, kept the sender from sending more.
    pub window_limited: bool,
}

/// A loss, found by duplicate acknowledgments or by the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossSample {
    /// When it was found.
    pub now: Instant,
    /// Bytes outstanding when it was found: "FlightSize" (RFC 5681).
    pub bytes_in_flight: u32,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Duration>,
    /// The same data timed out again: the slow-start threshold stays (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// Builds a controller. `segment_size` is the sender's maximum segment size in bytes (SMSS; zero is taken as
/// one); `initial_window` and `initial_slow_start_threshold` are bytes.
pub fn new(
    algorithm: &Algorithm,
    segment_size: u32,
    initial_window: u32,
    initial_slow_start_threshold: u32,
) -> Box<dyn CongestionControl> {
    let segment_size = segment_size.max(1);
    match algorithm {
        // They differ in how recovery ends, which is the connection's; the window's rules are the same.
        Algorithm::Reno | Algorithm::NewReno => Box::new(reno::Reno::new(
            segment_size,
            initial_window,
            initial_slow_start_threshold,
        )),
        Algorithm::Cubic => Box::new(cubic::Cubic::new(
            segment_size,
            initial_window,
            initial_slow_start_threshold,
        )),
        Algorithm::External(external) => {
            external.build(segment_size, initial_window, initial_slow_start_threshold)
        }
    }
}
