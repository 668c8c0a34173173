//! Congestion control: how much may be outstanding. One file an algorithm, behind one small trait.
//!
//! A controller moves the window; it does not find losses and does not repair them. Fast retransmit, the
//! inflation of the window by duplicate acknowledgments and the end of recovery are the connection's.

mod bbr;
mod bic;
mod cubic;
mod external;
mod frame;
mod hybla;
mod linux;
mod reno;
mod scalable;
mod vegas;
mod westwood;

pub use bic::BicParameters;
pub use external::External;
pub use hybla::HyblaParameters;
pub use scalable::ScalableParameters;
pub use vegas::VegasParameters;
pub use westwood::WestwoodParameters;

use super::profile::{Profile, WindowArithmetic};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use core::fmt::Debug;
use frame::Frame;

/// Makes [`Algorithm`] of a list of controls with parameters: variant, name, and the type of the parameters.
macro_rules! controls {
    ($($(#[$about:meta])* $kind:ident = $name:literal: $parameters:ty,)*) => {
        /// A congestion control by name, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Algorithm {
            /// RFC 5681.
            Reno,
            /// RFC 6582.
            NewReno,
            /// RFC 9438.
            Cubic,
            /// BBR version 1, as in Linux. It needs [`Recovery::Linux`](super::profile::Recovery::Linux), which measures the rate
            /// of delivery.
            Bbr,
            $($(#[$about])* $kind($parameters),)*
            /// One that whoever runs the stack brings along.
            External(External),
        }

        impl Algorithm {
            /// Names of all controls but those from outside.
            pub const NAMES: &[&str] = &["reno", "newreno", "cubic", "bbr", $($name),*];

            /// Returns its name; that of the kernel's module, where there is one.
            pub fn name(&self) -> &str {
                match self {
                    Algorithm::Reno => "reno",
                    Algorithm::NewReno => "newreno",
                    Algorithm::Cubic => "cubic",
                    Algorithm::Bbr => "bbr",
                    $(Algorithm::$kind(_) => $name,)*
                    Algorithm::External(external) => external.name(),
                }
            }

            /// Returns the control of a name, with its default parameters.
            pub fn named(name: &str) -> Option<Algorithm> {
                Some(match name {
                    "reno" => Algorithm::Reno,
                    "newreno" => Algorithm::NewReno,
                    "cubic" => Algorithm::Cubic,
                    "bbr" => Algorithm::Bbr,
                    $($name => Algorithm::$kind(Default::default()),)*
                    _ => return None,
                })
            }

            /// Returns the controller of one with parameters.
            fn with_parameters(&self, frame: &Frame) -> Option<Box<dyn CongestionControl>> {
                match self {
                    $(Algorithm::$kind(parameters) => {
                        Some(Box::new(frame.around(parameters.law(frame.segment_size))))
                    })*
                    _ => None,
                }
            }
        }
    };
}

controls! {
    /// Westwood+ (2004).
    Westwood = "westwood": WestwoodParameters,
    /// Scalable TCP (2003).
    Scalable = "scalable": ScalableParameters,
    /// BIC (2004).
    Bic = "bic": BicParameters,
    /// Vegas (1995).
    Vegas = "vegas": VegasParameters,
    /// Hybla (2004).
    Hybla = "hybla": HyblaParameters,
}

/// Parameters of a control that is a law in the common frame.
trait Parameters {
    /// The law.
    type Law: frame::Law;

    /// Returns the law for segments of this size, in bytes.
    fn law(self, segment_size: u32) -> Self::Law;
}

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

    /// The first segment leaves after nothing was outstanding, `idle` after the last new data.
    fn on_transmission_start(&mut self, _now: Instant, _idle: Duration) {}

    /// An acknowledgment arrived, in whatever phase: in recovery, too, and before what it makes of window and phase.
    fn on_feedback(&mut self, _sample: &FeedbackSample) {}

    /// The path is another one: what was measured of the old one's round-trip time says nothing of it.
    fn on_path_change(&mut self) {}

    /// Full segments are of this size from now on, in bytes (path-MTU discovery). A window that counts segments keeps
    /// their number, one that counts bytes its bytes (RFC 1191 section 6.4).
    fn on_segment_size(&mut self, _segment_size: u32) {}

    /// The handshake is over; `rtt` is the round-trip time that it measured, if it measured one.
    fn on_established(&mut self, _now: Instant, _rtt: Option<Duration>) {}

    /// A reduction was wrong: `window` and `slow_start_threshold` are what they were before it.
    fn on_undo(&mut self, window: u32, slow_start_threshold: u32) {
        let window = window.max(self.window());
        let threshold = slow_start_threshold.max(self.slow_start_threshold());
        self.set(window, threshold);
    }

    /// Sets window and slow-start threshold, in bytes: a stack that reduces the window step by step (RFC 6937), or
    /// takes a reduction back, does it by this. A control that does not take part keeps its own.
    fn set(&mut self, _window: u32, _slow_start_threshold: u32) {}

    /// Congestion window, in bytes.
    fn window(&self) -> u32;

    /// Slow-start threshold, in bytes; `u32::MAX` while it is "arbitrarily high".
    fn slow_start_threshold(&self) -> u32;

    /// Returns true if it goes by [`on_rate_sample`](Self::on_rate_sample), and the connection leaves the window to it.
    fn is_rate_based(&self) -> bool {
        false
    }

    /// An acknowledgment, in whatever phase; only for controls that go by a rate.
    fn on_rate_sample(&mut self, _sample: &RateSample) {}

    /// Returns true if it sends less than it might, on purpose: rates that are measured now say as little of the path
    /// as if the application had nothing to send.
    fn holds_back(&self) -> bool {
        false
    }

    /// The rate at which segments should leave; `None` is as fast as the window lets them.
    fn pacing_rate(&self) -> Option<DataRate> {
        None
    }
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// Time of its arrival.
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
    /// True if the congestion window, and not the application or the receiver, kept the sender from sending more.
    pub window_limited: bool,
}

/// An acknowledgment, in whatever phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackSample {
    /// Time of its arrival.
    pub now: Instant,
    /// The round-trip time that it measured, if it measured one.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298), this sample included.
    pub smoothed_rtt: Option<Duration>,
    /// Bytes acknowledged, and bytes sent, from the start of the connection.
    pub acknowledged_to: u64,
    /// See `acknowledged_to`.
    pub sent_to: u64,
    /// Bytes that have arrived from the start of the connection, as far as acknowledgments tell: also those beyond a
    /// gap, by SACK, or without it one segment for each duplicate.
    pub delivered: u64,
    /// Bytes outstanding before it arrived.
    pub bytes_in_flight: u32,
}

/// Sample of the rate of delivery, from an acknowledgment (draft-cheng-iccrg-delivery-rate-estimation). Counts are
/// segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Time of its arrival.
    pub now: Instant,
    /// Delivered from the start of the connection.
    pub delivered: u64,
    /// Segments that had been delivered when the newest segment of this acknowledgment left, and the longer of the
    /// times that were needed to send and to acknowledge those delivered since. `None` if there is no such segment, or
    /// the time is shorter than any round trip.
    pub interval: Option<(u64, Duration)>,
    /// The application, not the path, limited that rate.
    pub application_limited: bool,
    /// Found lost from the start of the connection.
    pub lost: u64,
    /// Delivered, and found lost, by this acknowledgment.
    pub newly_delivered: u32,
    /// See `newly_delivered`.
    pub newly_lost: u32,
    /// In flight before it.
    pub prior_in_flight: u32,
    /// In flight now.
    pub in_flight: u32,
    /// Time for which pacing still holds back the next segment.
    pub until_departure: Duration,
    /// The round-trip time of the newest segment, if it measured one.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Phase of loss recovery.
    pub phase: RatePhase,
}

/// Phase of loss recovery, as a control that goes by a rate needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatePhase {
    /// Nothing is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A loss, found by duplicate acknowledgments or by the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossSample {
    /// Time at which it was found.
    pub now: Instant,
    /// Bytes outstanding when it was found: "FlightSize" (RFC 5681).
    pub bytes_in_flight: u32,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Duration>,
    /// The same data timed out again: the slow-start threshold stays (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// Builds the controller that the profile asks for. `segment_size` is the sender's maximum segment size in bytes
/// (SMSS; zero is taken as one), `initial_window` bytes.
pub fn new(
    profile: &Profile,
    segment_size: u32,
    initial_window: u32,
) -> Box<dyn CongestionControl> {
    let size = segment_size.max(1);
    let threshold = profile.initial_slow_start_threshold.unwrap_or(u32::MAX);
    let window = initial_window;
    let arithmetic = profile.window_arithmetic;
    match (&profile.congestion, arithmetic) {
        (Algorithm::Bbr, _) => {
            let policers = profile.long_term_rate;
            Box::new(bbr::Bbr::new(size, window, threshold, policers))
        }
        (Algorithm::External(external), _) => external.build(size, window, threshold),
        // Reno and NewReno differ in how recovery ends, which is the connection's; the window's rules are the
        // same.
        (Algorithm::Reno | Algorithm::NewReno, WindowArithmetic::Rfc) => {
            Box::new(reno::Reno::new(size, window, threshold))
        }
        (Algorithm::Reno | Algorithm::NewReno, WindowArithmetic::Linux) => {
            Box::new(linux::Reno::new(size, window, threshold))
        }
        (Algorithm::Cubic, WindowArithmetic::Rfc) => {
            Box::new(cubic::Cubic::new(size, window, threshold))
        }
        (Algorithm::Cubic, WindowArithmetic::Linux) => {
            Box::new(linux::Cubic::new(size, window, threshold, profile.hystart))
        }
        (algorithm, _) => {
            let frame = Frame {
                segment_size: size,
                window,
                threshold,
                arithmetic,
            };
            let controller = algorithm.with_parameters(&frame);
            // All that have none are named above.
            controller.unwrap_or_else(|| Box::new(reno::Reno::new(size, window, threshold)))
        }
    }
}
