//! Notes the commit that is built, for manifests; none outside a checkout.

use std::process::Command;

fn main() {
    let described = Command::new("git")
        .args([
            "describe",
            "--always",
            "--dirty",
            "--abbrev=40",
            "--exclude=*",
        ])
        .output();
    let commit = match described {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => String::new(),
    };
    println!("cargo::rustc-env=BATON_COMMIT={}", commit.trim());
    // The reflog grows with every commit and every change of branch.
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    println!("cargo::rerun-if-changed=build.rs");
}
