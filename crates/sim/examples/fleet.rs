//! Cost of a fleet of aircraft behind mobile routers: `fleet AIRCRAFT CELLS SECONDS [mobile-ipv6]` prints the processor
//! time to set it up and to run it, and the memory of each aircraft: each written on its own, without and with a flow;
//! and all written at once, with `count`.

#[path = "../tests/counting/mod.rs"]
mod counting;
#[path = "../benches/measured/mod.rs"]
#[expect(dead_code, reason = "only the benchmarks print a table")]
mod measured;

use baton_proto::time::Instant;
use baton_sim::run::{Run, RunOptions};
use baton_sim::scenario;
use measured::processor_seconds;
use std::fmt::Write;
use std::path::Path;

/// Form in which a fleet is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Each,
    EachWithFlow,
    Count,
}

/// Writes the scenario without its aircraft.
fn ground(cells: usize, seconds: u64) -> String {
    let mut text = format!(
        "name = \"fleet\"\nduration = \"{seconds} s\"\nrecord = {{ series = false, packets = false }}\n\
         [links.radio]\nkind = \"ldacs1\"\nuser_rate = \"300 kbit/s\"\n"
    );
    for cell in 0..cells {
        let longitude = cell as f64 * 4.0;
        write!(
            text,
            "[links.radio.cells.c{cell}]\nnode = \"ground{cell}\"\nposition = {{ latitude = 50.0, longitude = {longitude}, altitude = \"100 m\" }}\n\
             [links.line{cell}]\nbetween = [\"ground{cell}\", \"backbone\"]\nkind = \"wired\"\ndelay = \"5 ms\"\n"
        )
        .expect("a string");
    }
    text += "[links.home]\nbetween = [\"home\", \"backbone\"]\nkind = \"wired\"\n\
             [links.airline]\nbetween = [\"operations\", \"backbone\"]\nkind = \"wired\"\n\
             [home_agents.home]\nprefix = \"2001:db8:1::/64\"\nduplicate_address_detection = \"unique-prefix\"\n";
    text
}

/// Returns aircraft at one place.
fn counted(aircraft: usize, protocol: &str) -> String {
    let mut text = format!(
        "[mobiles.a]\ncount = {aircraft}\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\n\
         track = {{ position = {{ latitude = 50.5, longitude = 0.0, altitude = \"10 km\" }} }}\n\
         [mobiles.a.mobility]\nprotocol = \"{protocol}\"\nhome_agent = \"home\"\nduplicate_address_detection = \"unique-prefix\"\n"
    );
    if protocol == "nemo" {
        text += "network_prefix = \"2001:db8:2::/64\"\n[links.cabin]\nbetween = [\"a\", \"seat\"]\nkind = \"wired\"\n";
    }
    text
}

/// Returns aircraft at places of their own.
fn written(aircraft: usize, cells: usize, protocol: &str, flows: bool) -> String {
    let mut text = String::new();
    for n in 0..aircraft {
        let longitude = (n * 37 % 1000) as f64 / 1000.0 * ((cells - 1) as f64 * 4.0);
        write!(
            text,
            "[mobiles.a{n}]\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\n\
             track = {{ position = {{ latitude = 50.5, longitude = {longitude}, altitude = \"10 km\" }} }}\n\
             [mobiles.a{n}.mobility]\nprotocol = \"{protocol}\"\nhome_agent = \"home\"\nduplicate_address_detection = \"unique-prefix\"\n"
        )
        .expect("a string");
        if protocol == "nemo" {
            write!(
                text,
                "network_prefix = \"2001:db8:2:{n:x}::/64\"\n[links.cabin{n}]\nbetween = [\"a{n}\", \"seat{n}\"]\nkind = \"wired\"\n"
            )
            .expect("a string");
        }
        if flows {
            let to = if protocol == "nemo" {
                format!("seat{n}")
            } else {
                format!("a{n}")
            };
            write!(
                text,
                "[[flows]]\nname = \"f{n}\"\nfrom = \"operations\"\nto = \"{to}\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"80 bit/s\"\ntraffic.packet_size = \"100 B\"\nstart = \"{} ms\"\n",
                1000 + n % 1000
            )
            .expect("a string");
        }
    }
    text
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| {
        arguments
            .get(place)
            .and_then(|text| text.parse::<usize>().ok())
    };
    let (Some(aircraft), Some(cells), Some(seconds)) = (number(0), number(1), number(2)) else {
        println!("expected AIRCRAFT CELLS SECONDS [nemo | mobile-ipv6]");
        return;
    };
    let protocol = arguments.get(3).map_or("nemo", String::as_str);
    let end = Instant::from_secs(seconds as u64);
    for form in [Form::Each, Form::EachWithFlow, Form::Count] {
        let flying = match form {
            Form::Count => counted(aircraft, protocol),
            _ => written(aircraft, cells, protocol, form == Form::EachWithFlow),
        };
        let text = ground(cells, seconds as u64) + &flying;
        let (begun, before) = (processor_seconds(), counting::live_bytes());
        let each = || (counting::live_bytes() - before) / aircraft as i64;
        let loaded = scenario::parse(&text, "fleet", Path::new("."), &[]);
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let mut run = Run::new(loaded, &RunOptions::default()).expect("a run");
        let set_up = (processor_seconds() - begun, each());
        run.advance_to(end).expect("no file");
        let ran = (processor_seconds() - begun - set_up.0, each());
        run.finish(None).expect("no file");
        println!(
            "{aircraft} aircraft, {cells} cells, {protocol}, {form:?}: set up in {:.2} s, {} B each; ran in {:.2} s, {} B each",
            set_up.0, set_up.1, ran.0, ran.1
        );
    }
}
