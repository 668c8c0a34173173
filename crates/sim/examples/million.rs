//! Cost of a fleet whose home agent buffers: `million MOBILES SECONDS [REGIONS THREADS]` prints the processor time and the
//! wall time of the run and, with one thread, the memory of each mobile, each with a handover a minute.
//!
//! Each region has a radio network of its own, with a line to the home agent; without THREADS the world is not cut.
//!
//! The mobiles fly to and fro between two cells of L-DACS1, a hundred and eighty to a pair, and cross the border once a
//! minute. They ask their home agent to hold packets (study D, proposal 2). The results list no handover.

#[path = "../tests/counting/mod.rs"]
mod counting;
#[path = "../benches/measured/mod.rs"]
#[expect(dead_code, reason = "only the benchmarks print a table")]
mod measured;

use baton_proto::time::Instant as Time;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use measured::processor_seconds;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

/// Ninety a cell, as in study D.
const OF_A_PAIR: usize = 180;
const SPEED_M_S: f64 = 800.0 / 3.6;
/// Distance from a base station to the border: a little nearer than the edge of its cell.
const BORDER_M: f64 = 14.95e3;
/// Half of the way of a minute.
const REACH_M: f64 = SPEED_M_S * 30.0;
const DEGREE_M: f64 = 111_195.0;
/// Pairs of cells in a row, a degree apart.
const IN_A_ROW: usize = 300;

/// Writes the scenario. All cells of a region are of one node, beside the home agent.
fn text(mobiles: usize, seconds: u64, regions: usize) -> String {
    let mut text = format!(
        "name = \"million\"\nduration = \"{seconds} s\"\n\
         record = {{ series = false, packets = false, handovers = 0 }}\n\
         [home_agents.home]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n\
         buffering = {{ size = \"64 kB\" }}\n"
    );
    let pairs = mobiles.div_ceil(OF_A_PAIR);
    let region_of = |pair: usize| pair * regions / pairs;
    for region in 0..regions {
        write!(
            text,
            "[links.line{region}]\nbetween = [\"ground{region}\", \"home\"]\nkind = \"wired\"\ndelay = \"10 ms\"\n\
             rate = \"10 Gbit/s\"\nqueue = \"1 GB\"\n\
             [links.radio{region}]\nkind = \"ldacs1\"\nuser_rate = \"31.5 kbit/s\"\npacket_bit = true\n"
        )
        .expect("a string");
    }
    for pair in 0..pairs {
        let region = region_of(pair);
        for (cell, east_m) in [-BORDER_M, BORDER_M].into_iter().enumerate() {
            write!(
                text,
                "[links.radio{region}.cells.c{pair}-{cell}]\nnode = \"ground{region}\"\nradius = \"20 km\"\nposition = {{ {} }}\n",
                place(pair, east_m)
            )
            .expect("a string");
        }
    }
    for pair in 0..pairs {
        let corners = (0..seconds / 60 + 4).map(|corner| {
            let east_m = [-REACH_M, REACH_M][corner as usize % 2];
            format!("{{ {} }}", place(pair, east_m))
        });
        let legs: Vec<String> = corners.collect();
        let region = region_of(pair);
        let count = OF_A_PAIR.min(mobiles - pair * OF_A_PAIR);
        write!(
            text,
            "[mobiles.m{pair}]\ncount = {count}\ntimetable = [{{ at = \"0 s\", attach = \"radio{region}\" }}]\n\
             track = {{ legs = [{}], speed = \"800 km/h\", spacing = \"{} ms\" }}\n\
             [mobiles.m{pair}.mobility]\nprotocol = \"mobile-ipv6\"\nhome_agent = \"home\"\n\
             asks_for_buffering = true\nduplicate_address_detection = \"icao-address\"\n",
            legs.join(", "),
            120_000 / OF_A_PAIR
        )
        .expect("a string");
    }
    text
}

/// Returns the keys of a position east of a pair's border.
fn place(pair: usize, east_m: f64) -> String {
    let latitude = (pair / IN_A_ROW) as f64 - 9.0;
    let middle = (pair % IN_A_ROW) as f64 - 150.0;
    let longitude = middle + east_m / (DEGREE_M * latitude.to_radians().cos());
    format!("latitude = {latitude:.1}, longitude = {longitude:.6}")
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok());
    let (Some(mobiles @ 1..), Some(seconds @ 60..)) = (number(), number()) else {
        println!("expected MOBILES SECONDS [REGIONS THREADS], from 1 and from 60 on");
        return;
    };
    let (regions, threads) = (
        number().unwrap_or(1).max(1),
        number().and_then(NonZeroUsize::new),
    );
    let wall = Instant::now();
    let (begun, before) = (processor_seconds(), counting::live_bytes());
    // A thread counts only its own bytes.
    let counts = threads.is_none_or(|threads| threads.get() == 1);
    let each = || match counts {
        true => {
            let bytes = (counting::live_bytes() - before) as f64;
            format!(", {:.0} B each", bytes / mobiles as f64)
        }
        false => String::new(),
    };
    let scenario = text(mobiles, seconds as u64, regions);
    let loaded = scenario::parse(&scenario, "million", Path::new("."), &[]);
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    drop(scenario);
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let mut run = Run::new(loaded, &options).expect("a run");
    println!(
        "{mobiles} mobiles: set up in {:.1} s of wall time ({:.1} s of processors){}",
        wall.elapsed().as_secs_f64(),
        processor_seconds() - begun,
        each()
    );
    for minute in 1..=seconds as u64 / 60 {
        let (wall, begun, events) = (Instant::now(), processor_seconds(), run.events());
        run.advance_to(Time::from_secs(60 * minute))
            .expect("no file");
        let used = processor_seconds() - begun;
        println!(
            "minute {minute}: {:.1} s of wall time ({used:.1} s of processors), {:.1} us and {:.1} events a mobile{}",
            wall.elapsed().as_secs_f64(),
            used * 1e6 / mobiles as f64,
            (run.events() - events) as f64 / mobiles as f64,
            each()
        );
    }
    let summary = run.finish(None).expect("no file").summary;
    let handovers = summary.unlisted_handovers.iter();
    let (all, completed) = handovers.fold((0, 0), |(all, completed), class| {
        (all + class.handovers, completed + class.completed)
    });
    println!("{all} handovers, {completed} completed");
    if let Some(cut) = summary.cut {
        println!(
            "{} parts, {} windows of {} s, at most {:.2} times as fast",
            cut.parts, cut.windows, cut.window_s, cut.most_speed_up
        );
    }
}
