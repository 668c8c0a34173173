//! A remedy that is a class in Python.

use crate::classes::attempt;
use baton_proto::crosslayer::{self, CrossLayerSignal, Remedy};
use baton_proto::remedies::{External, Side};
use baton_proto::time::Duration;
use core::num::NonZeroU8;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The remedy that a class is. Fails if its place is none.
pub(crate) fn external(name: &str, class: &Bound<'_, PyAny>) -> PyResult<External> {
    let place = class.getattr_opt("place")?;
    let place = place.map(|place| place.extract::<String>()).transpose();
    let side = match place.as_ref().map(Option::as_deref) {
        Ok(None | Some("mobile")) => Side::Mobile,
        Ok(Some("correspondent")) => Side::Correspondent,
        _ => {
            let found = class.getattr("place")?.repr()?;
            let message =
                format!("has the place {found}; expected \"mobile\" or \"correspondent\"");
            return Err(PyValueError::new_err(message));
        }
    };
    let class = class.clone().unbind();
    Ok(External::new(name, side, move |sends| {
        let object = attempt(|py| class.call0(py));
        Box::new(PythonRemedy { object, sends })
    }))
}

/// An object of such a class, at an end that sends the data or does not.
#[derive(Debug)]
struct PythonRemedy {
    object: Option<Py<PyAny>>,
    sends: bool,
}

impl Remedy for PythonRemedy {
    fn on_signal(
        &mut self,
        signal: &CrossLayerSignal,
        transport: &crosslayer::TransportView,
    ) -> Vec<crosslayer::Control> {
        let Some(object) = &self.object else {
            return Vec::new();
        };
        let view = TransportView {
            view: *transport,
            sends: self.sends,
        };
        let controls = attempt(|py| {
            let object = object.bind(py);
            let answer = object.call_method1("on_signal", (Signal::from(signal), view))?;
            if answer.is_none() {
                return Ok(Vec::new());
            }
            controls(&answer).map_err(|error| named(object, &error))
        });
        controls.unwrap_or_default()
    }
}

fn controls(answer: &Bound<'_, PyAny>) -> PyResult<Vec<crosslayer::Control>> {
    let Ok(items) = answer.try_iter() else {
        return Err(wrong(answer));
    };
    items
        .map(|item| {
            let item = item?;
            match item.cast::<Control>() {
                Ok(control) => control.get().carried_out(),
                Err(_) => Err(wrong(&item)),
            }
        })
        .collect()
}

fn wrong(what: &Bound<'_, PyAny>) -> PyErr {
    match what.repr() {
        Ok(found) => PyTypeError::new_err(format!("returned {found}; expected a list of Control")),
        Err(error) => error,
    }
}

/// The same error, with the class before its words.
fn named(object: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    let py = object.py();
    let class = object.get_type().name();
    let class = class.map_or_else(|_| String::new(), |name| name.to_string());
    PyErr::from_type(
        error.get_type(py),
        format!("{class}.on_signal {}", error.value(py)),
    )
}

/// Capacity and delay of a mobile's link, as far as the one who tells them knows.
#[pyclass(frozen, from_py_object, module = "baton.crosslayer")]
#[derive(Clone, Copy)]
pub(crate) struct PathParameters(crosslayer::PathParameters);

#[pymethods]
impl PathParameters {
    /// Rate of full IP packets towards the mobile, in bit/s.
    #[getter]
    fn rate_to_mobile_bps(&self) -> u64 {
        self.0.to_mobile.bits_per_second()
    }

    /// The same, from the mobile.
    #[getter]
    fn rate_from_mobile_bps(&self) -> u64 {
        self.0.from_mobile.bits_per_second()
    }

    /// Shortest round-trip time, in seconds.
    #[getter]
    fn round_trip(&self) -> f64 {
        self.0.round_trip.as_secs_f64()
    }

    /// Full packets that the queue towards the mobile holds; None if nobody says.
    #[getter]
    fn queue_packets(&self) -> Option<u32> {
        self.0.queue_packets
    }

    /// Bytes that fill it for a mobile that sends, or receives: rate times round-trip time.
    fn pipe(&self, sends: bool) -> u32 {
        self.0.pipe(sends)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A signal that reaches one end of a connection.
#[pyclass(frozen, module = "baton.crosslayer")]
#[derive(Clone)]
pub(crate) enum Signal {
    /// To a mobile's connection that begins: the link in use.
    Begun { path: PathParameters },
    /// The link in use will soon be down (Link_Going_Down).
    GoingDown {},
    /// It stays after all.
    Rollback {},
    /// Packets no longer pass (Link_Down).
    Disconnected {},
    /// The mobile has said where it is now, and packets may come by both ways.
    UpdateSent {},
    /// Packets pass again, or by another link.
    Connected { path: PathParameters },
    /// To a correspondent: the peer is elsewhere. Seconds that the binding update was on its way; rate (bit/s) and queue of
    /// the new link, if the update says.
    PeerMoved {
        delay: f64,
        rate_bps: Option<u64>,
        queue_packets: Option<u32>,
    },
    /// The other end's notice arrived: which handover, and how many segments are missing below what has arrived there.
    Noticed { number: u8, outstanding: u16 },
    /// To a sender: a base station has failed once more to pass on a segment of what is out, and goes on trying.
    BadState {},
    /// All that was out is acknowledged.
    AllAcknowledged {},
    /// To a connection of the node that feeds a link: new state of its queue at the link's entrance (SI-C-QUEUE_STATUS, of a
    /// shaper with reports): its QID, packets that wait, full packets that it holds, and the link's shortest round-trip time in
    /// seconds.
    QueueStatus {
        queue: u16,
        packets: u32,
        capacity_packets: u32,
        round_trip: f64,
    },
}

impl From<&CrossLayerSignal> for Signal {
    fn from(signal: &CrossLayerSignal) -> Signal {
        match *signal {
            CrossLayerSignal::Begun(path) => Signal::Begun {
                path: PathParameters(path),
            },
            CrossLayerSignal::GoingDown => Signal::GoingDown {},
            CrossLayerSignal::Rollback => Signal::Rollback {},
            CrossLayerSignal::Disconnected => Signal::Disconnected {},
            CrossLayerSignal::UpdateSent => Signal::UpdateSent {},
            CrossLayerSignal::Connected(path) => Signal::Connected {
                path: PathParameters(path),
            },
            CrossLayerSignal::PeerMoved(moved) => Signal::PeerMoved {
                delay: moved.delay.as_secs_f64(),
                rate_bps: moved.rate.map(|rate| rate.bits_per_second()),
                queue_packets: moved.queue_packets,
            },
            CrossLayerSignal::Noticed(notice) => Signal::Noticed {
                number: notice.number.get(),
                outstanding: notice.outstanding,
            },
            CrossLayerSignal::BadState => Signal::BadState {},
            CrossLayerSignal::AllAcknowledged => Signal::AllAcknowledged {},
            CrossLayerSignal::QueueStatus(status) => Signal::QueueStatus {
                queue: status.queue,
                packets: status.packets,
                capacity_packets: status.capacity_packets,
                round_trip: status.round_trip.as_secs_f64(),
            },
        }
    }
}

/// Facts that a remedy may know of its connection.
#[pyclass(frozen, module = "baton.crosslayer")]
pub(crate) struct TransportView {
    view: crosslayer::TransportView,
    sends: bool,
}

#[pymethods]
impl TransportView {
    /// True if this end sends the data.
    #[getter]
    fn sends(&self) -> bool {
        self.sends
    }

    /// Congestion window, in bytes.
    #[getter]
    fn congestion_window(&self) -> u32 {
        self.view.congestion_window
    }

    /// Slow-start threshold, in bytes; the largest number of 32 bits while it is arbitrarily high.
    #[getter]
    fn slow_start_threshold(&self) -> u32 {
        self.view.slow_start_threshold
    }

    /// Bytes sent and not acknowledged.
    #[getter]
    fn bytes_in_flight(&self) -> u32 {
        self.view.bytes_in_flight
    }

    /// Payload of a full segment, in bytes.
    #[getter]
    fn segment_size(&self) -> u32 {
        self.view.segment_size
    }

    /// Smoothed round-trip time in seconds, if any was measured.
    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        self.view.smoothed_rtt.map(Duration::as_secs_f64)
    }

    /// The retransmission timer has gone off since the connection was frozen.
    #[getter]
    fn timed_out(&self) -> bool {
        self.view.timed_out
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.view)
    }
}

/// Order of a remedy to a connection. Sizes in bytes, times in seconds.
#[pyclass(frozen, module = "baton.crosslayer")]
#[derive(Clone)]
pub(crate) enum Control {
    /// No new data until Thaw.
    HoldNewData {},
    /// No data at all until Thaw; a timeout is noted and changes nothing.
    Freeze {},
    /// Ends both. A timer that has gone off meanwhile is set anew.
    Thaw {},
    /// The data in flight counts as lost, and the congestion control does not hear of it.
    ResendOutstanding {},
    /// The same for what a break has cut off, told when the connection was frozen: what had arrived by then waits for an acknowledgment.
    ResendCutOff {},
    /// The window becomes the threshold and is not halved, should the timer go off before the data in flight now is
    /// acknowledged.
    ForgiveTimeout {},
    /// The congestion control goes on from here, and forgets what it has learnt of the path.
    NewPath { window: u32, threshold: u32 },
    /// The congestion control forgets what it has learnt of the path, and goes on with its window.
    ForgetPath {},
    /// New data leaves only while it and what is in the network come to no more than this, beside what is out already, whatever the
    /// window is.
    LimitFlight { most: u32 },
    /// Slow start goes on up to here, if that is more than its threshold.
    RaiseThreshold { threshold: u32 },
    /// The retransmission timer, if it runs, starts again with the timeout in force.
    RestartTimer {},
    /// Round-trip time and timeout begin anew, with this sample if there is one.
    #[pyo3(constructor = (sample = None))]
    RestartTiming { sample: Option<f64> },
    /// At most this window is offered to the peer; zero shuts it, None ends it.
    Offer { window: Option<u32> },
    /// Beyond what has been offered at most this much is offered; the window's right edge never goes back. If what is missing still
    /// arrives, by another link, what comes ahead of it makes room for more.
    #[pyo3(constructor = (window, missing_arrives = false))]
    OfferMore { window: u32, missing_arrives: bool },
    /// Of acknowledgments one is kept back until the next is due.
    KeepLastAcknowledgment { keep: bool },
    /// So many acknowledgments leave at once, with the window that is offered now.
    Acknowledge { copies: u8 },
    /// Acknowledgments carry a notice of this number, from 1: so many, and as long as something is missing.
    Notice { number: u8, times: u8 },
    /// Duplicate acknowledgments and gaps are no losses, until all that is out now is acknowledged, or a timeout.
    TolerateReordering { tolerate: bool },
}

impl Control {
    fn carried_out(&self) -> PyResult<crosslayer::Control> {
        use crosslayer::Control as Carried;
        Ok(match *self {
            Control::HoldNewData {} => Carried::HoldNewData,
            Control::Freeze {} => Carried::Freeze,
            Control::Thaw {} => Carried::Thaw,
            Control::ResendOutstanding {} => Carried::ResendOutstanding,
            Control::ResendCutOff {} => Carried::ResendCutOff,
            Control::ForgiveTimeout {} => Carried::ForgiveTimeout,
            Control::NewPath { window, threshold } => Carried::NewPath { window, threshold },
            Control::ForgetPath {} => Carried::ForgetPath,
            Control::RestartTiming { sample } => {
                Carried::RestartTiming(sample.map(above_zero).transpose()?)
            }
            Control::LimitFlight { most } => Carried::LimitFlight(most),
            Control::RaiseThreshold { threshold } => Carried::RaiseThreshold(threshold),
            Control::RestartTimer {} => Carried::RestartTimer,
            Control::Offer { window } => Carried::Offer(window),
            Control::OfferMore {
                window,
                missing_arrives,
            } => Carried::OfferMore {
                window,
                missing_arrives,
            },
            Control::KeepLastAcknowledgment { keep } => Carried::KeepLastAcknowledgment(keep),
            Control::Acknowledge { copies } => Carried::Acknowledge(copies),
            Control::Notice { number, times } => Carried::Notice {
                number: NonZeroU8::new(number).ok_or_else(|| {
                    PyValueError::new_err("returned a notice of number 0; expected 1 to 255")
                })?,
                times,
            },
            Control::TolerateReordering { tolerate } => Carried::TolerateReordering(tolerate),
        })
    }
}

fn above_zero(seconds: f64) -> PyResult<Duration> {
    if seconds > 0.0 && seconds.is_finite() {
        return Ok(Duration::from_secs_f64(seconds));
    }
    let message = format!("returned a time of {seconds} s; expected a number above zero");
    Err(PyValueError::new_err(message))
}
