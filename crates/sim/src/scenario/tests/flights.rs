//! Mobiles whose file has many flights.

use super::*;
use baton_proto::time::Instant;

const DAY: &str = r#"
name = "day"
duration = "10 min"
[links.radio]
kind = "ldacs1"
[links.radio.cells.west]
node = "ground"
position = { latitude = 0, longitude = 0 }
[links.line]
between = ["ground", "home"]
kind = "wired"
[links.cabin]
between = ["aircraft", "seat"]
kind = "wired"
[home_agents.home]
prefix = "2001:db8:1::/64"
[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "radio" }]
track = { flights = "day.csv" }
[mobiles.aircraft.mobility]
protocol = "nemo"
home_agent = "home"
network_prefix = "2001:db8:2::/64"
[[flows]]
name = "news"
from = "home"
to = "seat"
transport = "udp"
traffic = { kind = "constant", rate = "1 kbit/s" }
start = "10 s"
"#;

/// Three flights near the cell; the last one begins after the run.
const FLIGHTS: &str = "flight,time,latitude,longitude,altitude\n\
    LH1,30,0,0.5,9000\nLH1,300,0,0.9,9000\n\
    LH2,100,0,0.2,0\nLH2,105,0,0.21,0\n\
    LH3,200,0,0.4,0\nLH3,5000,0,0.5,0\n\
    LH4,600,0,0.4,0\nLH4,700,0,0.5,0\n";

fn loaded(text: &str, flights: &str) -> Result<Loaded, String> {
    let folder = tempfolder();
    std::fs::write(folder.join("day.csv"), flights).unwrap();
    let loaded = parse(text, "test.toml", &folder, &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    loaded.map_err(|error| error.to_string())
}

fn tempfolder() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("baton-flights-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn each_flight_of_the_run_is_a_mobile_with_flows_of_its_own_time() {
    let day = loaded(DAY, FLIGHTS).unwrap();
    let scenario = &day.scenario;
    assert_eq!(day.traces[0].0, "day.csv");
    let names = ["aircraft-1", "aircraft-2", "aircraft-3"];
    let aircraft = &scenario.radios[0].aircraft;
    let nodes: Vec<&str> = aircraft
        .iter()
        .map(|flier| scenario.nodes[flier.node.0].as_str())
        .collect();
    assert_eq!(nodes, names);
    let spans: Vec<(u64, u64)> = aircraft
        .iter()
        .map(|flier| flier.track.span())
        .map(|(first, last)| {
            (
                first.as_nanos() / 1_000_000_000,
                last.as_nanos() / 1_000_000_000,
            )
        })
        .collect();
    assert_eq!(spans, [(30, 300), (100, 105), (200, 5000)]);
    // The second flight ends before its flow begins.
    let flows: Vec<(&str, Instant, Option<Instant>)> = scenario
        .flows
        .iter()
        .map(|flow| (flow.name.as_ref(), flow.start, flow.stop))
        .collect();
    assert_eq!(
        flows,
        [
            (
                "news-1",
                Instant::from_secs(40),
                Some(Instant::from_secs(300))
            ),
            (
                "news-3",
                Instant::from_secs(210),
                Some(Instant::from_secs(5000))
            ),
        ]
    );
    let first = loaded(
        &DAY.replace("[mobiles.aircraft]", "[mobiles.aircraft]\ncount = 1"),
        FLIGHTS,
    );
    assert_eq!(first.unwrap().scenario.radios[0].aircraft.len(), 1);
}

#[test]
fn mistakes_in_flights_and_cells_are_named() {
    let header = "flight,time,latitude,longitude,altitude\n";
    let told = |flights: &str| loaded(DAY, flights).map(|_| ()).unwrap_err();
    let at = "mobiles.aircraft.track.flights: ";
    for (rows, expected) in [
        ("", "day.csv: expected at least one position, found none"),
        (
            "A,9,0,0.1,0\nA,5,0,0.2,0\n",
            "day.csv:3: column time: expected a time in seconds, later than",
        ),
        (
            "A,9,0,0.1,0\n",
            "day.csv:2: column flight: expected at least two lines of a flight, found A",
        ),
        (
            "A,900,0,0.1,0\nA,950,0,0.2,0\n",
            "has no flight that begins before the end of the run; expected times in seconds from its start",
        ),
        (
            "A,0,0,50,0\nA,500,0,50.2,0\n",
            "no flight comes into a cell of \"radio\"; expected cells under the flights",
        ),
    ] {
        let message = told(&format!("{header}{rows}"));
        assert!(
            message.contains(at) && message.contains(expected),
            "{message}"
        );
    }
    let along = "kind = \"wired\"\n[home_agents";
    assert!(DAY.contains(along));
    let both = DAY.replace(
        "flights = \"day.csv\"",
        "flights = \"day.csv\", begin = \"5 s\"",
    );
    let message = loaded(&both, FLIGHTS).map(|_| ()).unwrap_err();
    assert!(
        message.contains("mobiles.aircraft.track.begin: \"begin\" does not go with \"flights\""),
        "{message}"
    );
}

#[test]
fn flights_outside_the_cells_and_jumps_are_warned_of() {
    let header = "flight,time,latitude,longitude,altitude\n";
    let warnings = |rows: &str| {
        let day = loaded(DAY, &format!("{header}{rows}")).unwrap();
        let told = day.warnings.iter().map(ToString::to_string);
        told.collect::<Vec<_>>().join("\n")
    };
    // The cell's edge, at 225 km, is passed; another flight is always far away.
    let outside =
        warnings("A,0,0,1.9,0\nA,500,0,2.4,0\nB,0,0,50,0\nB,500,0,50.1,0\nC,0,0,1,0\nC,9,0,1,0\n");
    assert!(
        outside.contains(
            "2 of 3 flights are outside all cells of \"radio\" for a time, 1 of them always"
        ),
        "{outside}"
    );
    let jumps = warnings("A,0,0,1,0\nA,10,0,1.1,0\n");
    assert!(jumps.contains("has 1 flight that jumps: between two points it moves at 1112 m/s, expected at most 500 m/s"), "{jumps}");
    assert_eq!(warnings("A,0,0,1,0\nA,100,0,1.1,0\n"), "");
}
