//! Allocations of the engine: none for a packet's hop, and few for a flow.

mod counting;

use baton_proto::time::Instant;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use std::fmt::Write;
use std::path::Path;

/// Returns bulk flows between hosts of their own over one bottleneck, with windows of at most `window`.
fn dumbbell(flows: usize, window: &str) -> Run {
    let mut text = String::from(
        "name = \"test\"\nduration = \"60 s\"\nrecord = { series = false, packets = false }\n
        [links.bottleneck]\nbetween = [\"left\", \"right\"]\nkind = \"wired\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"50 packets\"\n",
    );
    let access = "kind = \"wired\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = \"100 packets\"";
    for n in 0..flows {
        write!(
            text,
            "[links.s{n}]\nbetween = [\"s{n}\", \"left\"]\n{access}\n[links.c{n}]\nbetween = [\"right\", \"c{n}\"]\n{access}\n
            [[flows]]\nname = \"f{n}\"\nfrom = \"s{n}\"\nto = \"c{n}\"\ntransport.congestion = \"newreno\"\ntransport.receive_buffer = \"{window}\"\ntransport.send_buffer = \"{window}\"\n"
        )
        .unwrap();
    }
    let loaded = scenario::parse(&text, "test", Path::new("."), &[]).unwrap();
    Run::new(loaded, &RunOptions::default()).unwrap()
}

#[test]
fn a_packet_hop_allocates_nothing() {
    let mut run = dumbbell(2, "1 MiB");
    run.advance_to(Instant::from_secs(20)).unwrap();
    let (allocations, events) = (counting::allocations(), run.world().events());
    run.advance_to(Instant::from_secs(60)).unwrap();
    let (allocations, events) = (
        counting::allocations() - allocations,
        run.world().events() - events,
    );
    let summary = run.finish(None).unwrap().summary;
    assert!(events > 100_000, "{events}");
    // Queues overflow and are repaired all the time: that needs no allocations either.
    assert!(
        summary
            .flows
            .iter()
            .any(|flow| flow.retransmitted > Some(10))
    );
    assert_eq!(allocations, 0, "in {events} events");
}

#[test]
fn a_flow_takes_at_most_8_kib_beside_what_is_in_flight() {
    let live_with = |flows| {
        let before = counting::live_bytes();
        let mut run = dumbbell(flows, "4 KiB");
        run.advance_to(Instant::from_secs(10)).unwrap();
        counting::live_bytes() - before
    };
    // Each brings two hosts and two links of its own; the difference excludes the parts that a world has once.
    let bytes = (live_with(250) - live_with(50)) / 200;
    println!("{bytes} B");
    assert!((1_000..=8 * 1024).contains(&bytes), "{bytes} B");
}

/// Returns aircraft behind mobile routers, on one radio network, each with a host behind it; a datagram goes to the
/// last of them now and then.
fn fleet(aircraft: usize, cells: usize) -> Run {
    let mut text = String::from(
        "name = \"test\"\nduration = \"500 s\"\nrecord = { series = false, packets = false }\n
        [links.radio]\nkind = \"ldacs1\"\nuser_rate = \"300 kbit/s\"\n
        [links.cabin]\nbetween = [\"a\", \"seat\"]\nkind = \"wired\"\n
        [links.airline]\nbetween = [\"operations\", \"home\"]\nkind = \"wired\"\n
        [home_agents.home]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n",
    );
    for n in 0..cells {
        write!(
            text,
            "[links.radio.cells.c{n}]\nnode = \"c{n}\"\nposition = {{ latitude = {}, longitude = 10, altitude = \"0 m\" }}\n
            [links.line{n}]\nbetween = [\"c{n}\", \"home\"]\nkind = \"wired\"\n",
            50 - 2 * n as i32
        )
        .unwrap();
    }
    write!(
        text,
        "[mobiles.a]\ncount = {aircraft}\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\n
        track = {{ position = {{ latitude = 50, longitude = 10, altitude = \"10 km\" }} }}\n
        [mobiles.a.mobility]\nprotocol = \"nemo\"\nhome_agent = \"home\"\nnetwork_prefix = \"2001:db8:2::/64\"\n
        duplicate_address_detection = \"unique-prefix\"\n"
    )
    .unwrap();
    write!(
        text,
        "[[flows]]\nname = \"last\"\nfrom = \"operations\"\nto = \"seat-{aircraft}\"\ntransport = \"udp\"\n
        traffic.kind = \"constant\"\ntraffic.rate = \"800 bit/s\"\ntraffic.packet_size = \"100 B\"\ntraffic.bytes = \"500 B\"\nstart = \"450 s\"\n"
    )
    .unwrap();
    let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    Run::new(loaded, &RunOptions::default()).unwrap()
}

/// A search for each node behind each mobile in all links made this take half a day.
#[test]
fn five_thousand_aircraft_are_set_up_and_the_last_one_is_reached() {
    let mut run = fleet(5000, 2);
    run.advance_to(Instant::from_secs(500)).unwrap();
    // In one cell nearly all of them register within a minute; aircraft whose request collided repeat it.
    let summary = run.finish(None).unwrap().summary;
    assert_eq!(summary.flows[0].delivered_bytes, 500);
    // Advertisements to a cell without aircraft are no loss.
    assert_eq!(summary.overloads, []);
}

/// Returns the bytes of each of so many additional aircraft, without flows, before the run.
fn bytes_of_each(few: usize, many: usize, cells: usize) -> i64 {
    // The first scenario of a process builds the schema, which stays.
    baton_sim::scenario::json_schema();
    let live_with = |aircraft| {
        let before = counting::live_bytes();
        let _run = fleet(aircraft, cells);
        counting::live_bytes() - before
    };
    (live_with(many) - live_with(few)) / (many - few) as i64
}

#[test]
fn an_aircraft_costs_the_same_in_a_large_fleet() {
    let (few, many) = (bytes_of_each(100, 200, 2), bytes_of_each(1000, 2000, 2));
    assert!(few > 1000 && many < few + few / 4, "{few} B, then {many} B");
}

/// Returns the bytes of each of so many additional aircraft when all have registered and nothing is under way.
fn bytes_of_each_at_rest(cells: usize) -> i64 {
    let live_with = |aircraft| {
        let before = counting::live_bytes();
        let mut run = fleet(aircraft, cells);
        run.advance_to(Instant::from_secs(400)).unwrap();
        counting::live_bytes() - before
    };
    (live_with(1000) - live_with(500)) / 500
}

/// Nothing is stored for a pair of an aircraft and a cell that it has not visited: with an access link for each such
/// pair a cell cost 1.4 kB.
#[test]
fn a_cell_that_an_aircraft_is_not_in_costs_it_nothing() {
    let [two, twelve] = [2, 12].map(|cells| bytes_of_each(500, 1000, cells));
    let rest = bytes_of_each_at_rest(12);
    println!("{two} B with two cells, {twelve} B with twelve, {rest} B at rest");
    assert!(
        (twelve - two).abs() <= 100,
        "{two} B with two, {twelve} B with twelve"
    );
    assert!((1000..=4_500).contains(&twelve), "{twelve} B");
    assert!((1000..=4_100).contains(&rest), "{rest} B");
}

/// Returns twenty mobiles that change between two links of their own every second, of which the results list so many
/// handovers.
fn restless(listed: usize) -> Run {
    let mut text = format!(
        "name = \"test\"\nduration = \"300 s\"\nrecord = {{ series = false, packets = false, handovers = {listed} }}\n
        [links.backbone]\nbetween = [\"west\", \"east\"]\nkind = \"wired\"\n
        [links.old]\nbetween = [\"m\", \"west\"]\nkind = \"wired\"\n
        [links.new]\nbetween = [\"m\", \"east\"]\nkind = \"wired\"\n
        [mobiles.m]\ncount = 20\ntimetable = [\n"
    );
    for second in 0..250 {
        let link = ["old", "new"][second % 2];
        writeln!(text, "{{ at = \"{second} s\", attach = \"{link}\" }},").unwrap();
    }
    text += "]\n";
    let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    Run::new(loaded, &RunOptions::default()).unwrap()
}

/// Returns the bytes that a run takes more after 200 s than after 100 s.
fn growth(listed: usize) -> i64 {
    let mut run = restless(listed);
    run.advance_to(Instant::from_millis(100_500)).unwrap();
    let before = counting::live_bytes();
    run.advance_to(Instant::from_millis(200_500)).unwrap();
    counting::live_bytes() - before
}

#[test]
fn handovers_that_are_only_counted_take_no_memory() {
    let (all, few) = (growth(1_000_000), growth(10));
    println!("{all} B for 2,000 handovers, {few} B with ten listed");
    assert!(all >= 2_000 * 100, "{all} B");
    assert!(few.abs() <= 1_000, "{few} B");
}

#[test]
fn handovers_that_are_not_listed_are_counted() {
    let mut run = restless(30);
    run.advance_to(Instant::from_secs(300)).unwrap();
    let summary = run.finish(None).unwrap().summary;
    let [counted] = summary.unlisted_handovers.as_slice() else {
        panic!("{:?}", summary.unlisted_handovers)
    };
    // Twenty mobiles with 249 handovers each.
    assert_eq!(summary.handovers.len(), 30);
    assert_eq!((counted.handovers, counted.completed), (4_950, 4_950));
    assert_eq!(counted.mobile_class.as_deref(), Some("m"));
    // The first second has twenty, the next has the other ten.
    let last = summary.handovers.iter().map(|one| one.at_s);
    assert_eq!(last.fold(0.0, f64::max), 2.0);
}

/// Returns mobiles that fly to and fro between two cells, a hundred and eighty to a pair of cells, with a handover a minute
/// each. Their bindings last a minute, so that no deadline is far. The results list no handover.
fn to_and_fro(pairs: usize) -> Run {
    let mut text = String::from(
        "name = \"test\"\nduration = \"900 s\"\nrecord = { series = false, packets = false, handovers = 0 }\n
        [links.radio]\nkind = \"ldacs1\"\nuser_rate = \"31.5 kbit/s\"\npacket_bit = true\n
        [links.line]\nbetween = [\"ground\", \"home\"]\nkind = \"wired\"\n
        [home_agents.home]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n",
    );
    // On the equator, a degree of 111 km from pair to pair; a cell reaches a little beyond the border, and a leg takes a minute.
    let place = |pair: usize, east_km: f64| {
        format!(
            "{{ latitude = 0, longitude = {} }}",
            pair as f64 + east_km / 111.2
        )
    };
    for pair in 0..pairs {
        for (cell, east_km) in [-15.0, 15.0].into_iter().enumerate() {
            let position = place(pair, east_km);
            write!(text, "[links.radio.cells.c{pair}-{cell}]\nnode = \"ground\"\nradius = \"20 km\"\nposition = {position}\n").unwrap();
        }
        let legs: Vec<String> = (0..18)
            .map(|corner| place(pair, [-6.7, 6.7][corner % 2]))
            .collect();
        write!(
            text,
            "[mobiles.m{pair}]\ncount = 180\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\n
            track = {{ legs = [{}], speed = \"800 km/h\", spacing = \"660 ms\" }}\n
            [mobiles.m{pair}.mobility]\nprotocol = \"mobile-ipv6\"\nhome_agent = \"home\"\nlifetime = \"60 s\"\n
            duplicate_address_detection = \"icao-address\"\n",
            legs.join(", ")
        )
        .unwrap();
    }
    let loaded = scenario::parse(&text, "test", Path::new("."), &[]);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    Run::new(loaded, &RunOptions::default()).unwrap()
}

/// A network noted each registration for its map and its cells' loads, 32 B a handover.
#[test]
fn a_handover_of_a_fleet_leaves_nothing_behind() {
    let mut run = to_and_fro(12);
    run.advance_to(Instant::from_secs(300)).unwrap();
    let before = counting::live_bytes();
    run.advance_to(Instant::from_secs(840)).unwrap();
    let growth = counting::live_bytes() - before;
    let summary = run.finish(None).unwrap().summary;
    let handovers: u64 = (summary.unlisted_handovers.iter())
        .map(|class| class.handovers)
        .sum();
    println!("{growth} B, {handovers} handovers");
    assert!(handovers > 25_000, "{handovers}");
    // Nine handovers of each; a hundred aircraft are on the map.
    assert!(growth <= 9 * 2_160 * 8, "{growth} B");
}
