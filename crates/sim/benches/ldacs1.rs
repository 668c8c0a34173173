//! Speed and size of an L-DACS1 network: each figure beside its target.
//!
//! The transfers are bare: a window of six packets of 1084 B down, an acknowledgment of 60 B up for each, no
//! timers. So the figures are the radio's alone.

#[path = "../tests/counting/mod.rs"]
mod counting;
mod measured;

use baton_proto::time::Instant;
use baton_sim::link::Outcome;
use baton_sim::link::cells::{
    CellConfig, CellId, Direction, Network, NetworkConfig, Offered, Output, StationId, Way,
};
use baton_sim::packets::PacketId;
use baton_sim::position::{Position, Track};
use baton_sim::rng::Seed;
use measured::{line, processor_seconds};
use std::sync::Arc;

/// 110 kB in segments of 1024 B.
const DOWNLOAD: u32 = 108;
const WINDOW: u32 = 6;
const HOUR: u64 = 3600;

fn main() {
    println!("{:<54} {:>12} {:>16}", "case", "figure", "target");
    // The same bytes for each aircraft once in the hour, or the whole hour.
    cell("1 cell, 90 aircraft, 110 kB each, 1 h", 1, ">= 100");
    cell("1 cell, 90 aircraft, busy the whole hour", u32::MAX, "");
    memory();
}

/// Measures simulated seconds per second of processor time.
fn cell(case: &str, downloads: u32, target: &str) {
    let begun = processor_seconds();
    let mut transfers = Transfers::new(90, downloads);
    let events = transfers.run();
    let used = processor_seconds() - begun;
    line(case, &format!("{:.0} x", HOUR as f64 / used), target);
    let delivered = f64::from(transfers.delivered) * 1024.0 / 1e6;
    println!("  {delivered:.1} MB delivered, {events} polls, {used:.2} s of processor time");
}

struct Transfers {
    network: Network,
    /// Packets still to be sent down to each aircraft.
    left: Vec<u32>,
    packets: u32,
    delivered: u32,
}

impl Transfers {
    fn new(aircraft: u32, downloads: u32) -> Transfers {
        let cell = CellConfig::new("cell", Position::new(50.0, 5.0, 0.0), 225e3);
        let mut network = Network::new(NetworkConfig::new("radio", vec![cell]), Seed(1));
        for number in 0..aircraft {
            // Criss-cross within the radius, at 800 km/h.
            let angle = f64::from(number) * 0.7;
            let at = |side: f64| {
                let north = side * angle.sin();
                let east = side * angle.cos() * 1.5;
                Position::new(50.0 + north, 5.0 + east, 10_000.0)
            };
            let corners = [at(1.3), at(-1.3), at(1.3), at(-1.3), at(1.3)];
            let track =
                Track::legs(Instant::ZERO, &corners, 800.0 / 3.6).expect("the legs are right");
            network.add_station(Instant::ZERO, Arc::new(track), Some(CellId(0)));
        }
        Transfers {
            network,
            left: vec![DOWNLOAD.saturating_mul(downloads); aircraft as usize],
            packets: 0,
            delivered: 0,
        }
    }

    fn offer(&mut self, now: Instant, station: StationId, way: Way, length: u32) {
        let packet = PacketId(self.packets);
        self.packets += 1;
        let offered = Offered {
            station,
            way,
            packet,
            length,
            priority: 0,
            acknowledged: true,
        };
        self.network.offer(now, offered);
    }

    fn send(&mut self, now: Instant, station: StationId) {
        let left = &mut self.left[station.0 as usize];
        if *left > 0 {
            *left -= 1;
            self.offer(now, station, Way::Forward(CellId(0)), 1084);
        }
    }

    /// Returns the number of due events.
    fn run(&mut self) -> u64 {
        let aircraft = self.left.len() as u64;
        let mut events = 0;
        for number in 0..aircraft {
            // They begin evenly over nine tenths of the hour.
            let begin = Instant::from_millis(number * HOUR * 900 / aircraft);
            events += self.run_until(begin);
            for _ in 0..WINDOW {
                self.send(begin, StationId(number as u32));
            }
        }
        events + self.run_until(Instant::from_secs(HOUR))
    }

    fn run_until(&mut self, end: Instant) -> u64 {
        let mut events = 0;
        while let Some(deadline) = self.network.next_deadline().filter(|&at| at <= end) {
            events += 1;
            while let Some(output) = self.network.poll(deadline) {
                let Output::Fate(fate) = output else {
                    continue;
                };
                match fate.direction {
                    Direction::Forward if fate.outcome == Outcome::UNDAMAGED => {
                        self.delivered += 1;
                        self.offer(deadline, fate.station, Way::Return, 60);
                    }
                    // Lost data counts as sent: there is no TCP here.
                    _ => self.send(deadline, fate.station),
                }
            }
        }
        events
    }
}

/// Measures the bytes of an aircraft that is registered and idle.
fn memory() {
    const AIRCRAFT: u32 = 100_000;
    let before = counting::live_bytes();
    let cell = CellConfig::new("cell", Position::new(50.0, 5.0, 0.0), 225e3);
    let mut network = Network::new(NetworkConfig::new("radio", vec![cell]), Seed(1));
    let track = Arc::new(Track::fixed(Position::new(50.5, 5.0, 0.0)));
    for _ in 0..AIRCRAFT {
        network.add_station(Instant::ZERO, track.clone(), Some(CellId(0)));
    }
    while network.poll(Instant::from_secs(1)).is_some() {}
    let bytes = (counting::live_bytes() - before) as f64 / f64::from(AIRCRAFT);
    line(
        "memory of 1 of 100 000 idle aircraft",
        &format!("{bytes:.0} B"),
        "<= 600",
    );
}
