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
mod linux20;
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
            /// A control supplied by the program that runs the stack.
            External(External),
        }

        impl Algorithm {
            /// Names of all controls of this crate.
            pub const NAMES: &[&str] = &["reno", "newreno", "cubic", "bbr", $($name),*];

            /// Returns its name; for a control of the kernel, that of its module.
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

            /// Returns the control with a name, with its default parameters.
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

            /// Returns the controller for a control with parameters.
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

/// Parameters of a control whose law fits the common frame.
trait Parameters {
    /// The law.
    type Law: frame::Law;

    /// Returns the law for segments of this size, in bytes.
    fn law(self, segment_size: u32) -> Self::Law;
}

/// A congestion control: takes in events, and returns the limit of data in flight.
pub trait CongestionControl: Debug + Send {
    /// Takes in an ACK of new data outside loss recovery.
    fn on_acknowledged(&mut self, sample: &AckSample);

    /// Takes in a fast retransmission: one call for each loss event, not for each lost segment. Afterwards
    /// [`window`](Self::window) is the window at the end of recovery, without inflation.
    fn on_loss(&mut self, loss: &LossSample);

    /// Takes in an expiry of the retransmission timer.
    fn on_timeout(&mut self, loss: &LossSample);

    /// Takes in that sending resumes after an idle retransmission timeout; `restart_window` is in bytes (RFC 5681
    /// section 4.1).
    fn on_idle_restart(&mut self, restart_window: u32);

    /// Takes in that the first segment leaves after nothing was outstanding, `idle` after the last new data.
    fn on_transmission_start(&mut self, _now: Instant, _idle: Duration) {}

    /// Takes in an ACK in any phase: in recovery, too, and before its effects on window and phase.
    fn on_feedback(&mut self, _sample: &FeedbackSample) {}

    /// Takes in a change of path: the round-trip times of the old path do not apply any more.
    fn on_path_change(&mut self) {}

    /// Sets the size of full segments, in bytes (path-MTU discovery). A window that counts segments keeps their number,
    /// one that counts bytes its bytes (RFC 1191 section 6.4).
    fn on_segment_size(&mut self, _segment_size: u32) {}

    /// Takes in the end of the handshake; `rtt` is its RTT sample, if it gave one.
    fn on_established(&mut self, _now: Instant, _rtt: Option<Duration>) {}

    /// Takes in that a reduction was spurious: `window` and `slow_start_threshold` are the values before it.
    fn on_undo(&mut self, window: u32, slow_start_threshold: u32) {
        let window = window.max(self.window());
        let threshold = slow_start_threshold.max(self.slow_start_threshold());
        self.set(window, threshold);
    }

    /// Sets window and slow-start threshold, in bytes, for a stack that reduces the window step by step (RFC 6937), or
    /// undoes a reduction. A control that manages its own window ignores this.
    fn set(&mut self, _window: u32, _slow_start_threshold: u32) {}

    /// Returns the congestion window, in bytes.
    fn window(&self) -> u32;

    /// Returns the slow-start threshold, in bytes; `u32::MAX` while it is "arbitrarily high".
    fn slow_start_threshold(&self) -> u32;

    /// Returns true if the control uses [`on_rate_sample`](Self::on_rate_sample), and sets the window alone.
    fn is_rate_based(&self) -> bool {
        false
    }

    /// Takes in an ACK in any phase; only for controls that use rate samples.
    fn on_rate_sample(&mut self, _sample: &RateSample) {}

    /// Returns true if the control limits its sending on purpose: rate samples then count as application-limited.
    fn holds_back(&self) -> bool {
        false
    }

    /// Returns the pacing rate; `None` is as fast as the window allows.
    fn pacing_rate(&self) -> Option<DataRate> {
        None
    }
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// Time of its arrival.
    pub now: Instant,
    /// Bytes that it newly acknowledged.
    pub acknowledged_bytes: u32,
    /// RTT sample, if the ACK gave one.
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
    /// RTT sample, if the ACK gave one.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298), this sample included.
    pub smoothed_rtt: Option<Duration>,
    /// Bytes acknowledged, and bytes sent, from the start of the connection.
    pub acknowledged_to: u64,
    /// See `acknowledged_to`.
    pub sent_to: u64,
    /// Bytes delivered since the start of the connection, as far as ACKs report: also those beyond a gap, by SACK, or
    /// without SACK one segment for each duplicate ACK.
    pub delivered: u64,
    /// Bytes outstanding before it arrived.
    pub bytes_in_flight: u32,
}

/// Delivery rate sample of an ACK (draft-cheng-iccrg-delivery-rate-estimation). Counts are segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Time of its arrival.
    pub now: Instant,
    /// Segments delivered since the start of the connection.
    pub delivered: u64,
    /// Segments delivered when the newest acknowledged segment left, and the longer of the send and ACK intervals of
    /// those delivered since. `None` if there is no such segment, or the interval is shorter than any round trip.
    pub interval: Option<(u64, Duration)>,
    /// True if the application, not the path, limited that rate.
    pub application_limited: bool,
    /// Segments lost since the start of the connection.
    pub lost: u64,
    /// Segments delivered, and found lost, by this ACK.
    pub newly_delivered: u32,
    /// See `newly_delivered`.
    pub newly_lost: u32,
    /// In flight before it.
    pub prior_in_flight: u32,
    /// In flight now.
    pub in_flight: u32,
    /// Time until pacing releases the next segment.
    pub until_departure: Duration,
    /// RTT sample of the newest segment, if the ACK gave one.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Phase of loss recovery.
    pub phase: RatePhase,
}

/// Phase of loss recovery, for a control that uses rate samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatePhase {
    /// No loss is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A loss, detected by duplicate ACKs or the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossSample {
    /// Time of its detection.
    pub now: Instant,
    /// Bytes outstanding at its detection: "FlightSize" (RFC 5681).
    pub bytes_in_flight: u32,
    /// Smoothed round-trip time (RFC 6298).
    pub smoothed_rtt: Option<Duration>,
    /// True if the same data timed out again: the slow-start threshold stays (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// Builds the profile's controller. `segment_size` is the sender's maximum segment size in bytes (SMSS; zero counts as
/// one), `initial_window` is in bytes.
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
        (Algorithm::Reno | Algorithm::NewReno, WindowArithmetic::Linux20) => {
            Box::new(linux20::Reno::new(size, window, threshold))
        }
        (Algorithm::Cubic, WindowArithmetic::Rfc | WindowArithmetic::Linux20) => {
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
            // All controls without parameters are named above.
            controller.unwrap_or_else(|| Box::new(reno::Reno::new(size, window, threshold)))
        }
    }
}
