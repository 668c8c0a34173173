//! Flights that exist for a part of the run, and the loads and delays that results tell of them.

use super::*;

/// Runs two flights in and near a cell at 0° for 1000 s, with a packet of 100 B a second down to each.
fn day(more: &str) -> Results {
    let folder =
        std::env::temp_dir().join(format!("baton-day-{}-{}", std::process::id(), more.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let flights = "flight,time,latitude,longitude,altitude\n\
        A,100,0,0.5,9000\nA,400,0,0.9,9000\nB,700,0.4,0,9000\nB,5000,0,0.5,9000\n";
    std::fs::write(folder.join("day.csv"), flights).unwrap();
    let flow = r#"
        name = "day"
        duration = "1000 s"
        [links.radio]
        kind = "ldacs1"
        [links.radio.cells.only]
        node = "ground"
        position = { latitude = 0, longitude = 0 }
        [mobiles.aircraft]
        timetable = [{ at = "0 s", attach = "radio" }]
        track = { flights = "day.csv" }
        [[flows]]
        name = "news"
        from = "ground"
        to = "aircraft"
        transport = "udp"
        traffic = { kind = "constant", rate = "800 bit/s", packet_size = "100 B" }
    "#;
    let loaded = scenario::parse(&format!("{flow}{more}"), "test", &folder, &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    let mut run = Run::new(loaded, &RunOptions::default()).unwrap();
    while !run.advance().unwrap() {}
    run.finish(None).unwrap()
}

#[test]
fn a_flight_is_in_a_cell_for_its_time_only() {
    let results = day("start = \"10 s\"");
    let radio = &results.summary.radios[0];
    let ends = |place: usize| {
        let track = &radio.aircraft[place].track;
        (track[0].at_s, track[track.len() - 1].at_s)
    };
    assert_eq!((ends(0), ends(1)), ((100.0, 400.0), (700.0, 1000.0)));
    let cells: Vec<bool> = radio.aircraft[0]
        .track
        .iter()
        .map(|place| place.cell.is_some())
        .collect();
    // It looks for the cell, is there, and has left it by its last point.
    assert!(!cells[0] && cells[1..cells.len() - 1].iter().all(|&is_in| is_in));
    // An entry takes a few superframes of 240 ms; the first flight stays until the superframe after its end.
    let load = &radio.cells[0].load;
    let seconds: f64 = load.aircraft.iter().map(|mean| mean * load.stretch_s).sum();
    assert!((597.0..600.3).contains(&seconds), "{seconds}");
    let at = |time: f64| load.aircraft[(time / load.stretch_s) as usize];
    assert_eq!(
        (at(50.0), at(250.0), at(550.0), at(950.0)),
        (0.0, 1.0, 0.0, 1.0)
    );
}

#[test]
fn a_cells_load_is_the_bits_that_it_delivered() {
    let results = day("start = \"10 s\"");
    // A packet a second from ten seconds after each flight's first point, to the end of the first flight and of the run; the
    // last one does not arrive.
    let class = &results.summary.classes[0];
    assert_eq!(
        (class.sent_packets, class.delivered_packets),
        (290 + 291, 290 + 290)
    );
    let load = &results.summary.radios[0].cells[0].load;
    let bits: f64 = load
        .forward_bps
        .iter()
        .map(|rate| rate * load.stretch_s)
        .sum();
    // IPv4 and UDP have 28 B; rates are rounded to a thousandth.
    assert!((bits - 580.0 * 128.0 * 8.0).abs() < 2.0, "{bits}");
    assert!(load.return_bps.iter().all(|&rate| rate == 0.0));
    assert_eq!(load.forward_bps.len(), 96);
}

/// Study D's download has a window of 6 kB, five segments, all of which are under way when the handover begins: the home
/// agent holds them, or they drain from the old cell. They are the slowest of all.
#[test]
fn delays_during_a_handover_are_told_apart() {
    let study = super::radio::study(
        "packet_bit = true",
        "duplicate_address_detection = \"icao-address\"\nasks_for_buffering = true",
        "buffering = {}",
    );
    let results = run(&scenario(80, &[&study, "class = \"weather\""]));
    let class = &results.summary.classes[0];
    let all = class.delay.unwrap();
    let [during] = class.during_handovers.as_slice() else {
        panic!("{:?}", class.during_handovers);
    };
    assert_eq!((during.name, class.lost_packets), ("hard", 0));
    assert_eq!(during.delay.packets, 5);
    assert_eq!(during.delay.largest_s, all.largest_s);
    assert!(during.delay.p5_s > all.p95_s);
}
