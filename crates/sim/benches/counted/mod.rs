//! Instructions of a benchmark's case, counted by valgrind: a figure that the machine's load does not change.

use std::process::{Command, Output};

/// Counts of one run of a case.
pub struct Counted {
    /// Instructions of the engine, without the set-up and the summary.
    pub instructions: u64,
    /// Data packets that the senders sent.
    pub packets: u64,
}

/// Runs one case of this executable under valgrind; `None` where valgrind is missing or fails.
pub fn count(case: &str) -> Option<Counted> {
    let Output { stdout, stderr, .. } = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*World*run_until*")
        .arg(std::env::current_exe().ok()?)
        .args([case, "once"])
        .output()
        .ok()?;
    Some(Counted {
        instructions: after("Collected :", &stderr)?,
        packets: after("data packets", &stdout)?,
    })
}

/// Returns the number that follows a label in a program's output.
fn after(label: &str, output: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(output);
    let (_, rest) = text.split_once(label)?;
    rest.split_whitespace().next()?.parse().ok()
}
