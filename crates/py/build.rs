//! Notes the commit that is built, for manifests; none outside a checkout.

use std::process::Command;

fn main() {
    let commit = git("describe --always --dirty --abbrev=40 --exclude=*");
    println!("cargo::rustc-env=BATON_COMMIT={commit}");
    // The reflog grows with every commit and every change of branch. It is elsewhere in a linked worktree; and cargo
    // runs this anew at each build if told of a file that is not there.
    let reflog = git("rev-parse --git-path logs/HEAD");
    if !reflog.is_empty() {
        println!("cargo::rerun-if-changed={reflog}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Returns what git prints; an empty string without git or outside a checkout.
fn git(arguments: &str) -> String {
    match Command::new("git").args(arguments.split(' ')).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => String::new(),
    }
}
