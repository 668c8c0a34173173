//! A download on this machine. It also makes `cargo test` build the program, which `tests/test_live.py` runs.

use std::process::{Child, Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_quinn-transfer");

/// A server that ends with its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a port of this process and one of its two tests, below those that the kernel gives to clients: one of them would
/// take the port of a server that has yet to start.
fn port(test: u32) -> String {
    (20_000 + 2 * (std::process::id() % 5_000) + test).to_string()
}

#[test]
fn all_bytes_come_and_the_stall_is_reported() {
    let port = port(0);
    let serve = Command::new(PROGRAM)
        .args(["--port", &port, "serve"])
        .spawn();
    let _server = Server(serve.unwrap());
    let report = std::env::temp_dir().join(format!("baton-quinn-{}", std::process::id()));
    let fetch = Command::new(PROGRAM)
        .args(["--port", &port, "fetch", "127.0.0.1", "3000000"])
        .env("BATON_REPORT", &report)
        .output()
        .unwrap();
    let said = String::from_utf8(fetch.stdout).unwrap();
    assert!(fetch.status.success(), "{said}");
    assert!(said.starts_with("3000000 bytes in "), "{said}");
    let written = std::fs::read_to_string(&report).unwrap();
    std::fs::remove_file(&report).unwrap();
    let stall: f64 = written
        .strip_prefix("longest_stall_s=")
        .unwrap()
        .trim_end()
        .parse()
        .unwrap();
    // Nothing stands still within one machine for long.
    assert!((0.0..5.0).contains(&stall), "{stall}");
}

#[test]
fn a_fetch_ends_in_time_with_what_has_come() {
    let port = port(1);
    let serve = Command::new(PROGRAM)
        .args(["--port", &port, "--bbr", "serve"])
        .spawn();
    let _server = Server(serve.unwrap());
    let fetch = || {
        let fetch = Command::new(PROGRAM)
            .args(["--port", &port, "--bbr", "--within", "0.5"])
            .args(["fetch", "127.0.0.1", "1000000000000"])
            .output()
            .unwrap();
        let said = String::from_utf8(fetch.stdout).unwrap();
        assert!(fetch.status.success(), "{said}");
        said.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // A packet sent before the server listens is repeated after the time that the fetch has.
    let bytes = (0..20).map(|_| fetch()).find(|bytes| *bytes > 0).unwrap();
    assert!(bytes < 1_000_000_000_000, "{bytes}");
}
