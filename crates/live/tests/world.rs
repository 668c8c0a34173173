//! The daemon as a user calls it.

use std::process::{Command, Output};

fn batond(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_batond"))
        .args(arguments)
        .output()
        .expect("the binary of this crate runs")
}

#[test]
fn a_scenario_in_real_time_gives_what_it_gives_in_simulated_time() {
    let file = std::env::temp_dir().join(format!("batond-{}.toml", std::process::id()));
    let scenario = r#"
        name = "short"
        duration = "300 ms"
        [links.path]
        between = ["a", "b"]
        kind = "wired"
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        bytes = "50 kB"
    "#;
    std::fs::write(&file, scenario).unwrap();
    let output = batond(&["world", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &report["summary"]["flows"][0];
    assert_eq!(flow["delivered_bytes"], 50_000);
    // One and a half round trips of 10 ms, and 50 kB with 35 headers of 40 B at 10 Mbit/s: 56.12 ms, and the
    // handshake on the line.
    let completion = flow["completion_s"].as_f64().unwrap();
    assert!((0.0561..0.0563).contains(&completion), "{completion}");
    assert!(report["summary"]["wall_s"].as_f64().unwrap() >= 0.3);
    assert!(report["lateness"]["events"].as_u64().unwrap() > 10);
}

#[test]
fn wrong_input_is_named_and_has_its_status() {
    let output = batond(&["world", "no-such-file.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-file.toml"));
    assert_eq!(batond(&["fly"]).status.code(), Some(2));
}
