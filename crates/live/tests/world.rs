//! The emulator as a user calls it.

use std::process::{Command, Output};

fn emulator(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baton-emulator"))
        .args(arguments)
        .output()
        .expect("the binary of this crate runs")
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_flow_between_two_kernels_takes_the_time_of_its_link() {
    let file = std::env::temp_dir().join(format!("baton-emulator-{}.toml", std::process::id()));
    let scenario = r#"
        name = "short"
        duration = "500 ms"
        [links.path]
        between = ["a", "b"]
        kind = "wired"
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        traffic.bytes = "50 kB"
        transport.profile = "linux-6"
    "#;
    std::fs::write(&file, scenario).unwrap();
    let output = emulator(&["world", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert!(output.status.success(), "{output:?}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &summary["flows"][0];
    assert_eq!(flow["delivered_bytes"], 50_000);
    // 1448 B a segment: a round trip of 10 ms to connect, one for the first ten segments, two for twenty and what
    // is left of 35; no less than 50 kB with headers of 52 B on the line and 15 ms.
    let completion = flow["completion_s"].as_f64().unwrap();
    assert!((0.0564..0.09).contains(&completion), "{completion}");
    assert!(summary["wall_s"].as_f64().unwrap() >= 0.5);
    let live = &summary["live"];
    // 35 segments of data and the handshake, at least.
    assert!(live["lateness"]["events"].as_u64().unwrap() >= 37);
    assert_eq!(
        (&live["dropped_outside_model"], &live["lost_rows"]),
        (&0.into(), &0.into())
    );
}

#[test]
fn wrong_input_is_named_and_has_its_status() {
    let output = emulator(&["world", "no-such-file.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-file.toml"));
    assert_eq!(emulator(&["fly"]).status.code(), Some(2));
}
