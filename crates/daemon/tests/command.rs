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

/// A gateway's configuration with every key.
const GATEWAY: &str = r#"private_key = "gateway.key"
networks = ["10.9.0.0/16", "2001:db8:9::/48"]
device = "baton0"
addresses = ["192.0.0.8"]
metrics = "127.0.0.1:9191"
control = "/run/batond/gateway.sock"
key_log = "/run/batond/keys"

[peer]
public_key = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo="
preshared_key = "preshared.key"

[[links]]
name = "satellite"
device = "wwan0"
endpoint = "198.51.100.1:4191"
rate = "2 Mbit/s"

[[rules]]
port = 5001
destination = "10.9.0.0/16"
code_point = 46
mode = "reliable"
class = 7
blocks = { data = 8, repair = 2 }
reordering_wait = "1 s"
close_timeout = "10 s"
"#;

/// Checks a gateway's configuration, and returns the message about it.
fn check(text: &str) -> (bool, String) {
    let file = std::env::temp_dir().join(format!("batond-check-{}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_batond"));
    let output = command.args(["check".as_ref(), file.as_os_str()]).output();
    std::fs::remove_file(&file).unwrap();
    let output = output.unwrap();
    let words = [&output.stdout[..], &output.stderr].concat();
    let words = String::from_utf8(words).unwrap();
    let name = file.display().to_string();
    (output.status.success(), words.replace(&name, "FILE"))
}

/// Every key of a gateway, misspelt and with a value that it cannot have: the message names the line and the key, and what
/// is expected.
#[test]
fn each_mistake_in_a_gateways_configuration_is_located_and_explained() {
    let (is_right, words) = check(GATEWAY);
    assert!(is_right, "{words}");
    assert!(words.contains("can read all packets"), "{words}");
    for (number, line) in (1..).zip(GATEWAY.lines()) {
        let Some((key, value)) = line.split_once(" = ") else {
            continue;
        };
        let wrong = GATEWAY.replacen(line, &format!("{key}y = {value}"), 1);
        let (is_right, words) = check(&wrong);
        assert!(!is_right, "{key}y is taken");
        let located = words.contains(&format!("FILE:{number}: "));
        let named = words.contains(&format!("`{key}y`")) && words.contains(&format!("`{key}`"));
        assert!(located && named && words.contains("expected"), "{words}");
    }
    let ninth: String = (0..9)
        .map(|number| format!("[[links]]\nname = \"{number}\"\nlisten = \"192.0.2.1:{number}\"\n"))
        .collect();
    for (line, wrong, words) in [
        (
            "networks = [\"10.9.0.0/16\", \"2001:db8:9::/48\"]",
            "networks = []",
            &["networks: ", "at least one"][..],
        ),
        (
            "\"10.9.0.0/16\", ",
            "\"10.9.0.0/33\", ",
            &[":2: networks", "10.9.0.0/33", "expected"],
        ),
        (
            "device = \"baton0\"",
            "device = \"the tunnel\"",
            &[":3: device", "the tunnel", "expected"],
        ),
        (
            "[\"192.0.0.8\"]",
            "[\"192.0.0.256\"]",
            &[":4: addresses", "IP address"],
        ),
        (
            "\"127.0.0.1:9191\"",
            "\"9191\"",
            &[":5: metrics", "socket address"],
        ),
        (
            "hSDwCYkwp",
            "SDwCYkwp",
            &[
                ":10: public_key",
                "44 characters of base64",
                "batond key FILE",
            ],
        ),
        (
            "name = \"satellite\"",
            "name = \"baton0\"",
            &["links[0].name", "baton0", "expected"],
        ),
        (
            "device = \"wwan0\"",
            "device = \"baton0\"",
            &["links[0].device", "baton0", "expected"],
        ),
        (
            "endpoint = \"198.51.100.1:4191\"",
            "",
            &["satellite", "`endpoint`", "`listen`"],
        ),
        (
            "198.51.100.1:4191",
            "198.51.100.1",
            &[":16: endpoint", "socket address"],
        ),
        ("2 Mbit/s", "2 Mbps", &[":17: rate", "2 Mbps", "expected"]),
        ("2 Mbit/s", "0 bit/s", &[":17: rate", "0 bit/s", "expected"]),
        ("port = 5001", "port = 0", &[":20: port", "nonzero"]),
        ("port = 5001", "port = 65536", &[":20: port", "65536"]),
        (
            "destination = \"10.9.0.0/16\"",
            "destination = \"10.9.0.0\"",
            &[":21: destination", "10.9.0.0", "expected"],
        ),
        (
            "code_point = 46",
            "code_point = 64",
            &[":22: code_point", "64", "from 0 to 63"],
        ),
        (
            "mode = \"reliable\"",
            "mode = \"relaible\"",
            &[":23: mode", "relaible", "`near-reliable`"],
        ),
        (
            "class = 7",
            "class = 8",
            &[":24: class", "8", "from 0 to 7"],
        ),
        (
            "data = 8",
            "data = 0",
            &[":25: blocks", "0 data", "at least one of each"],
        ),
        (
            "reordering_wait = \"1 s\"",
            "reordering_wait = \"1\"",
            &[":26: reordering_wait", "expected"],
        ),
        (
            "close_timeout = \"10 s\"",
            "close_timeout = \"-1 s\"",
            &[":27: close_timeout", "-1 s", "expected"],
        ),
        (
            "[[rules]]",
            &format!("{ninth}[[rules]]"),
            &["links: ", "1 to 8"],
        ),
        (
            "[[rules]]",
            "[[links]]\nname = \"satellite\"\nlisten = \"192.0.2.1:4192\"\n[[rules]]",
            &[
                "links[1].name",
                "\"satellite\" is the name of another link",
                "expected",
            ],
        ),
    ] {
        assert!(GATEWAY.contains(line), "{line}");
        let (is_right, said) = check(&GATEWAY.replacen(line, wrong, 1));
        assert!(!is_right, "{wrong} is taken");
        for word in words {
            assert!(said.contains(word), "{wrong}: no \"{word}\" in {said}");
        }
    }
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
