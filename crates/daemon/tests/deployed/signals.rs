//! Signals about the links of a pair of gateways: forecasts, words over the control socket, and the kernel's.

use crate::gateways::{Setup, Transfer, longest_without};
use crate::world::daemons::Daemon;
use crate::world::stream::Record;
use crate::world::{DELAYS, HOME_AGENT, Version, WLAN, WWAN, World};
use baton_linux::netlink::RouteSocket;
use nix::sys::signal::Signal;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
/// The probes go before the bulk transfer.
const RULES: &str = "[[rules]]\nport = 5001\n[[rules]]\nclass = 7\n";

/// Returns the table of a forecast: the first link is away at this time from now on, and left a second before.
fn forecast(from: Duration, until: Duration) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let [from, until] = [from, until].map(|after| {
        let at = jiff::Timestamp::from_nanosecond((now + after).as_nanos() as i128);
        at.unwrap()
    });
    format!(
        "[forecast]\nannounce = \"1 s\"\ntimetable = [{{ uplink = \"wlan0\", from = \"{from}\", until = \"{until}\" }}]\n"
    )
}

/// Has an operator say something of the first link, to which the gateway agrees.
fn say(gateway: &Daemon, words: &[&str]) {
    let all = [&["link", "wlan0"], words].concat();
    let output = gateway.command(&all).output().unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {wrong}");
}

/// Sends a line to the control socket; returns the answer.
fn ask(gateway: &Daemon, line: &[u8]) -> String {
    let mut stream = UnixStream::connect(gateway.socket()).unwrap();
    stream.write_all(line).unwrap();
    stream.write_all(b"\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns the stalls in a time of the streams to the host and from it.
fn stalls(records: &[Record; 2], begin: Instant, end: Instant) -> [Duration; 2] {
    [0, 1].map(|stream: usize| records[stream].stall(begin..end))
}

/// Expects that nothing is lost, unless this machine was so late that the kernel's queues have overflowed.
fn expect_all(records: &[Record; 2], late: Duration) {
    for record in records {
        let lost = record.lost(record.whole());
        assert!(
            lost == 0 || late > SECOND / 10,
            "{lost} lost, {late:?} late"
        );
    }
}

fn until(moment: Instant) {
    sleep(moment.saturating_duration_since(Instant::now()));
}

/// Only the vehicle's gateway has the forecast; the one on the ground leaves the link by its word. Beside a bulk
/// transfer, 1,000 datagrams a second each way are the client's clock.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_forecast_loss_is_not_felt_at_either_end_and_one_without_is_for_two_round_trips() {
    let world = World::new(Version::V4);
    let begun = Instant::now();
    let forecast = forecast(10 * SECOND, 12 * SECOND) + RULES;
    let setup = Setup {
        rate: "4 Mbit/s",
        tables: [&forecast, RULES],
        ..Setup::over(Version::V4)
    };
    let [mut near, mut far] = setup.start(&world);
    let bytes = 7_000_000;
    let transfer = Transfer::begin(&world, Version::V4, bytes);
    let streams = world.streams(Version::V6);
    near.until("wlan0 is expected to go");
    far.until("is expected to go by the other end");
    assert!(near.status().contains("wlan0 is expected to go"));
    assert!(begun.elapsed() < 10 * SECOND, "{:?}", begun.elapsed());
    until(begun + 10 * SECOND);
    let foretold = world.air.cut(WLAN, true);
    until(begun + 12 * SECOND);
    world.air.cut(WLAN, false);
    near.until("wlan0 is expected to stay");
    far.until("is expected to stay by the other end");
    // The paths measure their round trips again.
    sleep(3 * SECOND);
    let most = longest_without(&near, WLAN);
    let sudden = world.air.cut(WLAN, true);
    sleep(2 * SECOND);
    let records = streams.map(|stream| stream.end());
    transfer.end(bytes);
    let late = world.lateness(&records, &(begun..sudden + SECOND));
    expect_all(&records, late);
    let announced = stalls(&records, foretold - 3 * SECOND / 2, foretold + SECOND);
    let unannounced = stalls(&records, sudden, sudden + SECOND);
    // How much this machine itself delays, on both links and on one.
    let calm = stalls(&records, sudden - SECOND, sudden);
    let calm = calm
        .into_iter()
        .chain(stalls(&records, sudden + SECOND, sudden + 2 * SECOND));
    let calm = calm.max().unwrap_or_default();
    println!(
        "announced {announced:?}, unannounced {unannounced:?} of {most:?}, {calm:?} without a loss; up to {late:?} late"
    );
    for (announced, unannounced) in announced.into_iter().zip(unannounced) {
        assert!(announced < unannounced + 2 * calm, "{announced:?}");
        let difference = DELAYS[WWAN] - DELAYS[WLAN];
        assert!(
            announced < difference + 2 * calm + 5 * late,
            "{announced:?}"
        );
        assert!(unannounced < most + 2 * calm + 5 * late, "{unannounced:?}");
    }
}

/// The end that is called has one of its links over IPv4 and by its device, the other over IPv6.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_device_or_an_address_that_goes_moves_the_traffic_of_its_end_at_once() {
    let world = World::new(Version::V6);
    let setup = Setup {
        over: [Version::V4, Version::V6],
        far_device: Some("eth0"),
        tables: [RULES; 2],
        ..Setup::over(Version::V4)
    };
    let [mut near, mut far] = setup.start(&world);
    let streams = world.streams(Version::V6);
    sleep(2 * SECOND);
    far.pass();
    let begun = Instant::now();
    change_address(&world, false);
    let far_knows = far.until("wlan0 is down") - begun;
    sleep(SECOND);
    change_address(&world, true);
    far.until("wlan0 is up");
    sleep(2 * SECOND);
    near.pass();
    let off = Instant::now();
    world.switch_off(WLAN);
    let near_knows = near.until("wlan0 is down") - off;
    sleep(SECOND);
    world.switch_on(WLAN, &crate::world::UPLINKS[WLAN]);
    near.until("wlan0 is up");
    sleep(SECOND);
    let records = streams.map(|stream| stream.end());
    let late = world.lateness(&records, &(begun..off + SECOND));
    let [to_host, _] = stalls(&records, begun, begun + SECOND);
    let [_, from_host] = stalls(&records, off, off + SECOND);
    // How much this machine itself delays.
    let calm = [begun, off].map(|at| stalls(&records, at - SECOND, at));
    let calm = calm.concat().into_iter().max().unwrap_or_default();
    println!(
        "{calm:?} without a loss; the far end knew after {far_knows:?}, stall {to_host:?}; the near one after {near_knows:?}, stall {from_host:?}; up to {late:?} late"
    );
    expect_all(&records, late);
    for stall in [to_host, from_host] {
        // Without a round trip: the data in flight leaves again by the other link.
        let most = 2 * DELAYS[WLAN] + DELAYS[WWAN];
        assert!(stall < most + 2 * calm + 5 * late, "{stall:?}");
    }
}

/// Takes the home's IPv4 address from its device, or gives it back.
fn change_address(world: &World, is_there: bool) {
    world.home.run(|| {
        let mut kernel = RouteSocket::open().unwrap();
        let index = kernel.link("eth0").unwrap().index;
        let address = HOME_AGENT[Version::V4 as usize].parse().unwrap();
        match is_there {
            true => kernel.add_address(index, address).unwrap(),
            false => kernel.delete_address(index, address).unwrap(),
        }
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_modem_tells_rates_and_losses_and_each_bad_word_is_answered() {
    let world = World::new(Version::V4);
    let setup = Setup {
        tables: [RULES; 2],
        ..Setup::over(Version::V4)
    };
    let [mut near, mut far] = setup.start(&world);
    let begun = Instant::now();
    say(&near, &["--rate", "3 Mbit/s"]);
    assert!(
        near.status().contains("of 3.000 Mbit/s told"),
        "{}",
        near.status()
    );
    let answer = ask(&near, br#"{"link": {"name": "wlan0", "rate": "2 Mbit/s"}}"#);
    assert_eq!(answer, "\"done\"\n");
    assert!(
        near.status().contains("of 2.000 Mbit/s told"),
        "{}",
        near.status()
    );
    say(&near, &["--rate", "found"]);
    assert!(!near.status().contains("wlan0 0.000 Mbit/s told"));
    for (line, wrong) in [
        (
            &br#"{"link": {"name": "eth0", "is": "up"}}"#[..],
            "\\\"eth0\\\" is not a link of this gateway; expected one of: wlan0, wwan0",
        ),
        (
            br#"{"link": {"name": "wlan0"}}"#,
            "expected one of `rate`, `goes_down_in` and `is`",
        ),
        (
            br#"{"link": {"name": "wlan0", "rate": "fast"}}"#,
            "rate: \\\"fast\\\": expected a number",
        ),
        (b"{\"link\"", "not a command"),
        (b"\xff\xfe\x00", "not a command"),
    ] {
        let answer = ask(&near, line);
        assert!(
            answer.contains("refused") && answer.contains(wrong),
            "{answer}"
        );
    }
    say(&near, &["--goes-down-in", "20 s"]);
    far.until("is expected to go by the other end");
    assert!(near.status().contains("wlan0 is expected to go"));
    say(&near, &["--is", "up"]);
    far.until("is expected to stay by the other end");
    assert!(!near.status().contains("expected to go"));
    let streams = world.streams(Version::V4);
    streams.iter().for_each(|stream| stream.until_more(500));
    near.pass();
    say(&near, &["--is", "down"]);
    near.until("wlan0 is down");
    assert!(near.status().contains("wlan0 is said to be down"));
    far.until("wlan0 is down");
    streams.iter().for_each(|stream| stream.until_more(500));
    say(&near, &["--is", "up"]);
    near.until("wlan0 is up");
    let records = streams.map(|stream| stream.end());
    let late = world.lateness(&records, &(begun..Instant::now()));
    expect_all(&records, late);
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_reload_takes_over_rates_rules_and_forecast() {
    let world = World::new(Version::V4);
    let setup = Setup {
        tables: [RULES; 2],
        ..Setup::over(Version::V4)
    };
    let [mut near, _far] = setup.start(&world);
    let text = std::fs::read_to_string(near.config()).unwrap();
    let text = text
        .replacen("20 Mbit/s", "7 Mbit/s", 1)
        .replace(RULES, "[[rules]]\nport = 9\n");
    let text = text + &forecast(Duration::ZERO, 60 * SECOND);
    std::fs::write(near.config(), &text).unwrap();
    near.signal(Signal::SIGHUP);
    near.until("near.0.toml reloaded\n");
    near.until("wlan0 is expected to go");
    let status = near.status();
    assert!(status.contains("of 7.000 Mbit/s told"), "{status}");
    assert!(status.contains("of 20.000 Mbit/s told"), "{status}");
    // No rule selects the transfer, so it crosses as it is.
    let bytes = 10_000;
    Transfer::begin(&world, Version::V4, bytes).end(bytes);
    let status = near.status();
    assert!(status.contains("0 connections carried"), "{status}");
    let other = text.replace("rate = \"7 Mbit/s\"\n", "");
    std::fs::write(
        near.config(),
        other.replace("[[links]]\nname = \"wwan0\"", "[[links]]\nname = \"modem\""),
    )
    .unwrap();
    near.signal(Signal::SIGHUP);
    near.until("restart the daemon to change links");
    assert!(!near.status().contains("of 7.000 Mbit/s told"));
}
