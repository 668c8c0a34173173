//! A decision which link to use that is a class in Python.

use crate::classes::attempt;
use baton_proto::mobility::attachment::decision::{self, Answer, Occasion};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The decision that a class is.
pub(crate) fn external(name: &str, class: &Bound<'_, PyAny>) -> decision::External {
    let class = class.clone().unbind();
    decision::External::new(name, move |_, links, remote| {
        let object = attempt(|py| class.call0(py));
        Box::new(PythonDecision {
            object,
            links: links.into(),
            remote: remote.into(),
        })
    })
}

/// An object of such a class, and the names of the links that it chooses from, and of those elsewhere.
#[derive(Debug)]
struct PythonDecision {
    object: Option<Py<PyAny>>,
    links: Arc<[String]>,
    remote: Box<[String]>,
}

impl decision::Decision for PythonDecision {
    fn on_event(&mut self, occasion: Occasion, mobile: &decision::MobileView) -> Option<Answer> {
        let object = self.object.as_ref()?;
        let event = match occasion {
            Occasion::Said(place, event) => LinkEvent {
                name: event.name(),
                link: self.links.get(place).cloned(),
                remote: false,
                rate: None,
            },
            Occasion::Remote(place, event, rate) => LinkEvent {
                name: event.name(),
                link: self.remote.get(place).cloned(),
                remote: true,
                rate,
            },
            Occasion::Asked => LinkEvent {
                name: "Asked",
                link: None,
                remote: false,
                rate: None,
            },
        };
        let view = MobileView {
            view: mobile.clone(),
            names: Arc::clone(&self.links),
        };
        let answer = attempt(|py| {
            let object = object.bind(py);
            let answer = object.call_method1("on_event", (event, view))?;
            if answer.is_none() {
                return Ok(None);
            }
            let class = object.get_type().name()?.to_string();
            let Ok(decided) = answer.cast::<Decision>() else {
                let found = answer.repr()?;
                let message = format!(
                    "{class}.on_event returned {found}; expected a Decision, or None for nothing"
                );
                return Err(PyTypeError::new_err(message));
            };
            let carried_out = decided.get().carried_out(&self.links);
            carried_out
                .map(Some)
                .map_err(|why| PyValueError::new_err(format!("{class}.on_event returned {why}")))
        });
        answer.flatten()
    }
}

/// Event of a mobile's link (IEEE 802.21), or the time to decide again.
#[pyclass(frozen, module = "baton.crosslayer")]
pub(crate) struct LinkEvent {
    name: &'static str,
    link: Option<String>,
    remote: bool,
    rate: Option<DataRate>,
}

#[pymethods]
impl LinkEvent {
    /// Link_Detected, Link_Up, Link_Parameters_Report, Link_Going_Down, Link_Event_Rollback or Link_Down; or Asked, after
    /// AskAgain.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// The link that says so; None for Asked.
    #[getter]
    fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    /// True for a link of the point of service, which reports it over the network (remote_events).
    #[getter]
    fn remote(&self) -> bool {
        self.remote
    }

    /// Data rate in bit/s that has crossed the threshold, in a remote Link_Parameters_Report.
    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        self.rate.map(DataRate::bits_per_second)
    }

    fn __repr__(&self) -> String {
        match &self.link {
            Some(link) => format!("<LinkEvent {} of {link}>", self.name),
            None => format!("<LinkEvent {}>", self.name),
        }
    }
}

/// A mobile's view when it decides.
#[pyclass(frozen, module = "baton.crosslayer")]
pub(crate) struct MobileView {
    view: decision::MobileView,
    names: Arc<[String]>,
}

#[pymethods]
impl MobileView {
    /// Present time, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.view.now.as_secs_f64()
    }

    /// The link in use, or that a handover under way leads to; None at the start.
    #[getter]
    fn in_use(&self) -> Option<&str> {
        self.names.get(self.view.used?).map(String::as_str)
    }

    /// Its position, in metres from its line's beginning, if it moves on a line.
    #[getter]
    fn position_m(&self) -> Option<f64> {
        self.view.position_m
    }

    /// The links to choose from, by name.
    #[getter]
    fn links(&self) -> BTreeMap<String, LinkView> {
        let named = self.names.iter().cloned();
        let views = self.view.links.iter().map(|view| LinkView(*view));
        named.zip(views).collect()
    }
}

/// A link as its mobile knows it.
#[pyclass(frozen, module = "baton.crosslayer")]
#[derive(Clone, Copy)]
pub(crate) struct LinkView(decision::LinkView);

#[pymethods]
impl LinkView {
    /// True if it can be used.
    #[getter]
    fn up(&self) -> bool {
        self.0.up
    }

    /// True if it has said that it will soon be down.
    #[getter]
    fn going_down(&self) -> bool {
        self.0.going_down
    }

    /// Received power in dBm, where it is known and enough to be measured.
    #[getter]
    fn received_dbm(&self) -> Option<f64> {
        self.0.received_dbm
    }

    /// Data rate of its network in bit/s, the lower one of both directions, once the information service has told.
    #[getter]
    fn network_rate_bps(&self) -> Option<u64> {
        self.0.network.map(|network| network.rate.bits_per_second())
    }

    /// Lowest and highest frequency of its channel in kHz, once the information service has told, if known there.
    #[getter]
    fn network_channel_khz(&self) -> Option<(u32, u32)> {
        self.0.network?.channel_khz.map(|[low, high]| (low, high))
    }

    /// Address of its router, once the information service has told.
    #[getter]
    fn network_router(&self) -> Option<String> {
        self.0.network.map(|network| network.router.to_string())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// Decision of a mobile. Times in seconds.
#[pyclass(frozen, module = "baton.crosslayer")]
#[derive(Clone)]
pub(crate) enum Decision {
    /// This link is used from now on. Softly: the old one delivers what it holds. Otherwise that is broken first, and
    /// nothing passes for the outage.
    #[pyo3(constructor = (link, soft = true, outage = 0.0))]
    Use {
        link: String,
        soft: bool,
        outage: f64,
    },
    /// Nothing yet: on_event is called again so much later. Of several such answers the last counts.
    AskAgain { after: f64 },
}

impl Decision {
    /// Fails with what is wrong, to follow "answered".
    fn carried_out(&self, links: &[String]) -> Result<Answer, String> {
        let time = |what: &str, seconds: f64, fits: bool| match fits && seconds.is_finite() {
            true => Ok(Duration::from_secs_f64(seconds)),
            false => Err(format!("{what} of {seconds} s")),
        };
        match self {
            Decision::Use { link, soft, outage } => {
                let place = links.iter().position(|known| known == link);
                let place = place.ok_or_else(|| {
                    format!("the link \"{link}\"; expected one of: {}", links.join(", "))
                })?;
                Ok(Answer::Use {
                    link: place,
                    soft: *soft,
                    outage: time("an outage", *outage, *outage >= 0.0)?,
                })
            }
            Decision::AskAgain { after } => {
                Ok(Answer::AskAgain(time("a wait", *after, *after > 0.0)?))
            }
        }
    }
}
