//! A congestion control that is a class in Python.

use crate::classes::attempt;
use baton_proto::tcp::congestion::{self, CongestionControl, External};
use baton_proto::time::Duration;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The congestion control that a class is.
pub(crate) fn external(name: &str, class: &Bound<'_, PyAny>) -> External {
    let class = class.clone().unbind();
    External::new(name, move |segment_size, window, threshold| {
        let mut control = PythonControl {
            object: None,
            window,
            threshold,
        };
        attempt(|py| {
            let object = class.bind(py).call1((segment_size, window, threshold))?;
            control.read(&object)?;
            control.object = Some(object.unbind());
            Ok(())
        });
        Box::new(control)
    })
}

/// An object of such a class, and its window and threshold as they were after the last call.
#[derive(Debug)]
struct PythonControl {
    object: Option<Py<PyAny>>,
    window: u32,
    threshold: u32,
}

impl PythonControl {
    fn tell<S>(&mut self, method: &str, sample: S)
    where
        S: for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    {
        attempt(|py| {
            if let Some(object) = self.object.as_ref().map(|object| object.clone_ref(py)) {
                let object = object.bind(py);
                object.call_method1(method, sample(py)?)?;
                self.read(object)?;
            }
            Ok(())
        });
    }

    fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window = bytes(object, "window")?;
        self.threshold = bytes(object, "slow_start_threshold")?;
        Ok(())
    }
}

/// An attribute that holds bytes, fractions cut off; more than fits is as much as fits.
fn bytes(object: &Bound<'_, PyAny>, name: &str) -> PyResult<u32> {
    let (held, class) = (object.getattr(name)?, object.get_type().name()?);
    let Ok(value) = held.extract::<f64>() else {
        let kind = held.get_type().name()?;
        let message = format!("{class}.{name} is of type {kind}; expected a number of bytes");
        return Err(PyTypeError::new_err(message));
    };
    if value >= 1.0 {
        return Ok(value as u32);
    }
    let message = format!("{class}.{name} is {value}; expected at least 1 byte");
    Err(PyValueError::new_err(message))
}

impl CongestionControl for PythonControl {
    fn on_acknowledged(&mut self, sample: &congestion::AckSample) {
        let sample = AckSample(*sample);
        self.tell("on_acknowledged", |py| (sample,).into_pyobject(py));
    }

    fn on_loss(&mut self, loss: &congestion::LossSample) {
        let loss = LossSample(*loss);
        self.tell("on_loss", |py| (loss,).into_pyobject(py));
    }

    fn on_timeout(&mut self, loss: &congestion::LossSample) {
        let loss = LossSample(*loss);
        self.tell("on_timeout", |py| (loss,).into_pyobject(py));
    }

    fn on_idle_restart(&mut self, restart_window: u32) {
        self.tell("on_idle_restart", |py| (restart_window,).into_pyobject(py));
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn slow_start_threshold(&self) -> u32 {
        self.threshold
    }
}

/// An acknowledgment of new data, as a congestion control in Python is told of it.
#[pyclass(frozen, module = "baton.tcp")]
pub(crate) struct AckSample(congestion::AckSample);

#[pymethods]
impl AckSample {
    /// Time of its arrival, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// Bytes that it acknowledged for the first time.
    #[getter]
    fn acknowledged_bytes(&self) -> u32 {
        self.0.acknowledged_bytes
    }

    /// The round-trip time that it measured, in seconds, if it measured one.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }

    /// Smoothed round-trip time (RFC 6298) in seconds, this sample included.
    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        self.0.smoothed_rtt.map(Duration::as_secs_f64)
    }

    /// Shortest round-trip time of the connection so far, in seconds.
    #[getter]
    fn minimum_rtt(&self) -> Option<f64> {
        self.0.minimum_rtt.map(Duration::as_secs_f64)
    }

    /// Bytes outstanding before it arrived.
    #[getter]
    fn bytes_in_flight(&self) -> u32 {
        self.0.bytes_in_flight
    }

    /// True if the congestion window, not the application or the receiver, kept the sender from sending more.
    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A loss, found by duplicate acknowledgments or by the retransmission timer.
#[pyclass(frozen, module = "baton.tcp")]
pub(crate) struct LossSample(congestion::LossSample);

#[pymethods]
impl LossSample {
    /// Time at which it was found, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// Bytes outstanding when it was found: FlightSize (RFC 5681).
    #[getter]
    fn bytes_in_flight(&self) -> u32 {
        self.0.bytes_in_flight
    }

    /// Smoothed round-trip time (RFC 6298) in seconds.
    #[getter]
    fn smoothed_rtt(&self) -> Option<f64> {
        self.0.smoothed_rtt.map(Duration::as_secs_f64)
    }

    /// The same data timed out again: the slow-start threshold stays (RFC 5681 section 3.1).
    #[getter]
    fn repeated(&self) -> bool {
        self.0.repeated
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
