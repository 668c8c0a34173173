//! Check of this machine's ability to run worlds with real hosts, and of missing requirements.

use crate::namespace::{HostSpec, InterfaceSpec, RealHost};
use crate::plan::KernelFacts;
use crate::rights::{Invoker, Rights};
use serde_json::{Value, json};

/// Tries the requirements of a live run; returns true if all are met. The process must have a single thread, and may
/// have entered a user namespace afterwards.
pub fn examine() -> (bool, Value) {
    let facts = KernelFacts::read();
    let mut problems = Vec::new();
    let rights = match Rights::acquire() {
        Ok(rights) => Some(rights),
        Err(error) => {
            problems.push(error.to_string());
            None
        }
    };
    if rights.is_some()
        && let Err(error) = RealHost::build(trial())
    {
        problems.push(error.to_string());
    }
    let report = json!({
        "ok": problems.is_empty(),
        "problems": problems,
        "rights": rights.map(Rights::name),
        "kernel": facts.release,
        "congestion": facts.congestion_controls,
        "priority": crate::priority::raise(),
    });
    (problems.is_empty(), report)
}

/// Returns a host like those of a run.
fn trial() -> HostSpec {
    HostSpec {
        name: "trial".to_owned(),
        interfaces: vec![InterfaceSpec {
            name: "trial".to_owned(),
            mtu: 1500,
            addresses: Vec::new(),
        }],
        sysctls: Vec::new(),
        metrics: Vec::new(),
        group: Invoker::find().gid.as_raw(),
    }
}
