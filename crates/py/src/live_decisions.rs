//! Answers of classes in Python to a live run, whose mobiles ask them by messages.

use crate::classes;
use crate::scenario::Scenario;
use baton_proto::mobility::attachment::decision::Decision;
use baton_sim::deciding::{Question, Reply, decode, encode};
use baton_sim::scenario::model::AttachmentPolicy;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The classes in Python that decide for a scenario's mobiles, while it runs live.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct LiveDecisions {
    by_mobile: Mutex<BTreeMap<String, Box<dyn Decision>>>,
}

#[pymethods]
impl LiveDecisions {
    /// An object of each mobile's class, made now. Raises what a class raises.
    #[new]
    fn new(scenario: &Bound<'_, Scenario>) -> PyResult<LiveDecisions> {
        let scenario = &scenario.get().loaded().scenario;
        let mut by_mobile = BTreeMap::new();
        for mobile in &scenario.mobiles {
            if let AttachmentPolicy::Decision(chosen) = &mobile.attachment {
                let name = &scenario.nodes[mobile.node.0];
                let remote = scenario.remote_names(mobile);
                let decision = raising(|| chosen.decision.build(name, &chosen.names, &remote))?;
                by_mobile.insert(name.clone(), decision);
            }
        }
        Ok(LiveDecisions {
            by_mobile: Mutex::new(by_mobile),
        })
    }

    /// True if no class decides.
    #[getter]
    fn is_empty(&self) -> bool {
        let by_mobile = self.by_mobile.lock();
        by_mobile.unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Returns the reply to a question, each a line of bytes. Raises what the class raises, and `ValueError` for a line that
    /// is no question to one of the classes.
    fn reply(&self, question: &[u8]) -> PyResult<Vec<u8>> {
        let asked: Question = decode(question).map_err(PyValueError::new_err)?;
        let mut by_mobile = self
            .by_mobile
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let decision = by_mobile.get_mut(&asked.mobile);
        let (Some(decision), Some((occasion, view))) = (decision, asked.put()) else {
            let text = String::from_utf8_lossy(question);
            let message = format!(
                "\"{}\" is not a question to a class of this scenario",
                text.trim_end()
            );
            return Err(PyValueError::new_err(message));
        };
        let answer = raising(|| decision.on_event(occasion, &view))?;
        Ok(encode(&Reply {
            mobile: asked.mobile,
            decided: answer.into(),
        }))
    }
}

/// Calls into classes; fails with what one raises.
fn raising<T>(call: impl FnOnce() -> T) -> PyResult<T> {
    // State that an earlier run left on this thread.
    classes::take_failure();
    let result = call();
    match classes::take_failure() {
        Some(error) => Err(error),
        None => Ok(result),
    }
}
