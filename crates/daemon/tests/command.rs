//! `batond` as an operator calls it.

use baton_linux::netlink::RouteSocket;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

fn batond(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_batond"));
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> &str {
    core::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn help_tells_how_it_is_called_and_wrong_calls_say_what_was_expected() {
    let help = batond(&["--help"]);
    assert!(help.status.success());
    assert!(String::from_utf8_lossy(&help.stdout).contains("mobile-router"));
    for (arguments, wrong) in [
        (&["fly"][..], "'fly'"),
        (&["node"], "<CONFIG>"),
        (&["node", "a.toml", "b.toml"], "'b.toml'"),
        (&["--fast"], "'--fast'"),
        (
            &["schema", "train"],
            "mobile-router, home-agent, gateway, node",
        ),
    ] {
        let output = batond(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = said(&output);
        assert!(said.contains(wrong) && said.contains("--help"), "{said}");
    }
}

#[test]
fn a_file_that_is_not_there_and_one_that_is_wrong_are_named() {
    let output = batond(&["node", "no-such-file.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("no-such-file.toml"),
        "{}",
        said(&output)
    );
    let file = std::env::temp_dir().join(format!("batond-{}.toml", std::process::id()));
    std::fs::write(&file, "[interfaces.air]\nkind = \"tap\"\n").unwrap();
    let output = batond(&["node", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("{}:2: kind: ", file.display());
    assert!(said(&output).contains(&expected), "{}", said(&output));
}

/// Nobody's namespace but the thread's, in which the daemon that it starts is, too.
#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_signal_ends_it_and_it_gives_back_what_it_made() {
    let inside = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may make namespaces");
        let file = std::env::temp_dir().join(format!("batond-signal-{}.toml", std::process::id()));
        let text = "addresses = [\"2001:db8::1\"]\n[interfaces.air]\nkind = \"tun\"\nmtu = 1280\n";
        std::fs::write(&file, text).unwrap();
        let mut kernel = RouteSocket::open().unwrap();
        assert!(kernel.link("air").is_err());
        let mut daemon = Command::new(env!("CARGO_BIN_EXE_batond"))
            .args(["node".as_ref(), file.as_os_str()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(daemon.stderr.take().unwrap()).lines();
        let mut until = |words: &str| {
            let found = said
                .by_ref()
                .find(|line| line.as_ref().unwrap().contains(words));
            found
                .unwrap_or_else(|| panic!("it never says {words}"))
                .unwrap()
        };
        until("air is up");
        let link = kernel.link("air").unwrap();
        assert!(link.is_up && link.mtu == 1280, "{link:?}");
        kernel.set_up(link.index, false).unwrap();
        until("air is down");
        kill(Pid::from_raw(daemon.id() as i32), Signal::SIGTERM).unwrap();
        until("ended by a signal");
        assert!(daemon.wait().unwrap().success());
        assert!(kernel.link("air").is_err());
        std::fs::remove_file(&file).unwrap();
    });
    inside.join().unwrap();
}
