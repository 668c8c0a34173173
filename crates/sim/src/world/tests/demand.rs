//! Return links on demand, against closed forms.

use super::*;

/// Superframes of 50 ms with 50 slots of 184 B, 1 ms each: 29,440 bit/s are one slot a superframe.
const SLOT_RATE: f64 = 29_440.0;
/// A request at the beginning of a superframe counts 600 ms later: 580 ms for both ways, in whole superframes.
const CONTROL_LOOP_S: f64 = 0.6;

/// Returns a satellite link, 290 ms one way, to a terminal with these keys.
fn satellite(name: &str, demand: &str) -> String {
    format!(
        "[links.{name}]\nbetween = [\"hub\", \"{name}\"]\nkind = \"geo\"\nqueue = \"10000 packets\"\ndemand = {{ {demand} }}\n"
    )
}

/// Returns a satellite link with a carrier of its own.
fn carrier(name: &str, demand: &str) -> String {
    satellite(name, demand) + "up = { rate = \"1472 kbit/s\" }\n"
}

/// Returns a flow of datagrams of 184 B, a slot each, from a terminal; 28 B are headers.
fn datagrams(from: &str, rate: f64, times: (f64, f64)) -> String {
    let (start, stop) = times;
    let rate = rate * 156.0 / 184.0;
    format!(
        "[[flows]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"hub\"\ntransport = \"udp\"\nstart = \"{start} s\"\nstop = \"{stop} s\"\n\
         traffic = {{ kind = \"constant\", rate = \"{rate} bit/s\", packet_size = \"156 B\" }}\n"
    )
}

/// Returns the times at which a flow's packets arrive, in seconds.
fn arrivals(results: &Results, flow: &str) -> Vec<f64> {
    let rows = packets(results).into_iter();
    let mut times: Vec<f64> = rows
        .filter(|row| row.flow == flow && row.is_delivered())
        .map(|row| row.decided_s())
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the bit rate of slots that arrive in a time, from the number of datagrams.
fn rate(arrivals: &[f64], (from, to): (f64, f64)) -> f64 {
    let count = arrivals.iter().filter(|&&at| from <= at && at < to).count();
    count as f64 * 184.0 * 8.0 / (to - from)
}

/// Returns the time of arrival of a single datagram offered at 1.01 s.
fn single(demand: &str) -> f64 {
    let flow = datagrams("t", 1472.0, (1.01, 1.02));
    let results = run(&scenario(4, &[&carrier("t", demand), &flow]));
    let arrivals = arrivals(&results, "t");
    assert_eq!(arrivals.len(), 1);
    arrivals[0]
}

#[test]
fn a_packet_after_silence_takes_three_hops_by_volume_and_one_at_a_constant_rate() {
    // The next superframe begins at 1.05 s; the first slot of the assigned superframe takes 1 ms, the hop 290 ms.
    near(
        single("cra = \"29440 bit/s\", vbdc = false"),
        1.05 + 0.001 + 0.29,
        1e-9,
    );
    near(single(""), 1.05 + CONTROL_LOOP_S + 0.001 + 0.29, 1e-9);
    near(
        single("rbdc = \"29440 bit/s\", vbdc = false"),
        1.05 + CONTROL_LOOP_S + 0.001 + 0.29,
        1e-9,
    );
    // Free capacity: 50 slots of each superframe, so the next slot is at once: at 1.01 s.
    near(
        single("fca = true, vbdc = false"),
        1.01 + 0.001 + 0.29,
        1e-9,
    );
}

#[test]
fn in_saturation_the_assigned_rate_is_carried() {
    // 64 kbit/s are 2.17 slots a superframe, and fractions of slots are not lost.
    for (demand, expected) in [
        ("cra = \"64 kbit/s\", vbdc = false", 64e3),
        ("rbdc = \"150 kbit/s\", vbdc = false", 5.0 * SLOT_RATE),
        (
            "cra = \"64 kbit/s\", rbdc = \"150 kbit/s\", vbdc = false",
            64e3 + 5.0 * SLOT_RATE,
        ),
        ("", 50.0 * SLOT_RATE),
        ("fca = true, vbdc = false", 50.0 * SLOT_RATE),
    ] {
        let flow = datagrams("t", 2e6, (0.0, 22.0));
        let results = run(&scenario(22, &[&carrier("t", demand), &flow]));
        let span = (2.0, 22.0);
        let slot_in_span = 184.0 * 8.0 / (span.1 - span.0);
        near(
            rate(&arrivals(&results, "t"), span),
            expected,
            1.01 * slot_in_span,
        );
    }
}

#[test]
fn a_requested_rate_follows_the_traffic_up_to_its_maximum() {
    // Four slots a superframe, then more than the maximum of ten.
    let flows = [
        datagrams("t", 4.0 * SLOT_RATE, (0.0, 10.0)),
        datagrams("t", 30.0 * SLOT_RATE, (10.0, 20.0)),
    ];
    let flows = flows[0].clone() + &flows[1].replace("name = \"t\"", "name = \"more\"");
    let link = carrier("t", "rbdc = \"294400 bit/s\", vbdc = false");
    let results = run(&scenario(20, &[&link, &flows]));
    let assigned = series(&results, "link t up", "assigned rate");
    let at = |time: f64| assigned.iter().rev().find(|row| row.0 <= time).unwrap().1;
    for step in 0..80 {
        // After the request of the first superframes.
        near(
            at(2.0 + f64::from(step) / 10.0),
            4.0 * SLOT_RATE,
            1.0 + SLOT_RATE,
        );
        near(at(12.0 + f64::from(step) / 10.0), 10.0 * SLOT_RATE, 1e-6);
    }
    assert!(assigned.iter().all(|row| row.1 <= 10.0 * SLOT_RATE + 1e-6));
    near(
        rate(&arrivals(&results, "t"), (2.0, 10.0)),
        4.0 * SLOT_RATE,
        300.0,
    );
}

#[test]
fn a_volume_is_assigned_once() {
    // 30 datagrams at once, as many slots in all, then nothing.
    let flow = datagrams("t", 1472e6, (1.01, 1.01003));
    let results = run(&scenario(6, &[&carrier("t", ""), &flow]));
    let count = arrivals(&results, "t").len() as f64;
    assert_eq!(count, 30.0);
    for quantity in ["assigned rate", "requested rate"] {
        let rows = series(&results, "link t up", quantity);
        let sum: f64 = rows.iter().map(|row| row.1).sum();
        near(sum / SLOT_RATE, count, 1e-6);
    }
}

#[test]
fn unused_slots_are_lost() {
    // One slot a superframe: ten datagrams after 5 s of silence leave one by one.
    let flow = datagrams("t", 1472e6, (5.01, 5.01001));
    let link = carrier("t", "cra = \"29440 bit/s\", vbdc = false");
    let results = run(&scenario(8, &[&link, &flow]));
    let expected = (0..10).map(|number| 5.05 + f64::from(number) * 0.05 + 0.291);
    for (found, expected) in arrivals(&results, "t").iter().zip(expected) {
        near(*found, expected, 1e-9);
    }
}

#[test]
fn terminals_share_a_carrier_max_min_fairly() {
    // Free capacity: 5 slots for the first by its constant rate, then 15 each of 45.
    let links = [
        carrier("a", "cra = \"147.2 kbit/s\", fca = true, vbdc = false"),
        satellite("b", "shares = \"a\", fca = true, vbdc = false"),
        satellite("c", "shares = \"a\", fca = true, vbdc = false"),
    ];
    let flows = ["a", "b", "c"].map(|name| datagrams(name, 2e6, (0.0, 12.0)));
    let results = run(&scenario(12, &[&links.join(""), &flows.join("")]));
    for (name, slots) in [("a", 20.0), ("b", 15.0), ("c", 15.0)] {
        let found = rate(&arrivals(&results, name), (2.0, 12.0));
        near(found, slots * SLOT_RATE, SLOT_RATE / 100.0);
    }
    // Volumes: the one with 4 slots a superframe gets them, the two others 23 each.
    let links = [
        carrier("a", ""),
        satellite("b", "shares = \"a\""),
        satellite("c", "shares = \"a\""),
    ];
    let flows = [("a", 4.0 * SLOT_RATE), ("b", 2e6), ("c", 2e6)]
        .map(|(name, rate)| datagrams(name, rate, (0.0, 22.0)));
    let results = run(&scenario(22, &[&links.join(""), &flows.join("")]));
    for (name, slots) in [("a", 4.0), ("b", 23.0), ("c", 23.0)] {
        let found = rate(&arrivals(&results, name), (12.0, 22.0));
        near(found, slots * SLOT_RATE, SLOT_RATE / 100.0);
    }
}

#[test]
fn a_requested_rate_outlives_its_terminal_for_the_timeout() {
    let flow = datagrams("t", 2e6, (0.0, 6.0));
    let change = "[[changes]]\nat = \"3.02 s\"\nlink = \"t\"\nstate = \"down\"\n";
    for (timeout, superframes) in [(1, 1.0), (2, 2.0), (15, 15.0)] {
        let demand = format!("rbdc = \"294400 bit/s\", rbdc_timeout = {timeout}, vbdc = false");
        let results = run(&scenario(6, &[&carrier("t", &demand), &flow, change]));
        let assigned = series(&results, "link t up", "assigned rate");
        let (expiry, rate) = *assigned.last().unwrap();
        assert_eq!(rate, 0.0);
        // The last request, at 3.00 s, counts from 3.60 s on.
        near(expiry, 3.0 + CONTROL_LOOP_S + 0.05 * superframes, 1e-6);
    }
}

/// A transfer of 50 kB takes the handshake and three windows (of 10 segments of 1460 B, RFC 6928, 20 and the rest), and by
/// volume each of these four waits for a request and its plan.
#[test]
fn tcp_starts_more_slowly_by_volume() {
    let stack = "transport.profile = \"rfc\"\ntransport.initial_rto = \"3 s\"";
    let flow = format!(
        "[[flows]]\nname = \"f\"\nfrom = \"t\"\nto = \"hub\"\n{stack}\ntraffic = {{ kind = \"bulk\", bytes = \"50 kB\" }}\n"
    );
    let time = |demand: &str| {
        let results = run(&scenario(60, &[&carrier("t", demand), &flow]));
        super::flow(&results.summary, "f").completion_s.unwrap()
    };
    let constant = time("cra = \"1472 kbit/s\", vbdc = false");
    let by_volume = time("");
    // At most a superframe until the request, and one in which a window's slots begin.
    let waits = 4.0 * CONTROL_LOOP_S..4.0 * (CONTROL_LOOP_S + 0.1);
    assert!(
        waits.contains(&(by_volume - constant)),
        "{constant} s, {by_volume} s"
    );
}
