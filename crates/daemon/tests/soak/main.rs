//! A pair of gateways in simulated time, through faults drawn from a seed: losses, repetitions, reordering, changes of
//! rate, delay and MTU, links that go down, and restarts of either gateway. The nodes, the paths and their encryption are
//! the daemon's; sockets, devices and the clock are not there.
//!
//! `BATON_SOAK_SECONDS` gives the simulated time, and `BATON_SOAK_SEED` the first seed (`make soak`).

mod bulk;
mod channel;
#[path = "../../../sim/tests/counting/mod.rs"]
mod counting;
mod gateway;
mod numbers;
mod traffic;
mod world;

use baton_proto::rate::DataRate;
use channel::Channel;
use numbers::Numbers;
use world::World;

/// Rate of the second link that the gateways are told: more than it ever carries.
const UNTRUE: DataRate = DataRate::from_bits_per_second(30_000_000);

/// Simulated seconds of an ordinary test run, and its seeds.
const SECONDS: u64 = 120;
const SEEDS: u64 = 3;
/// Time without faults in which everything must have come to an end: UDP's idle time of two minutes, five minutes without
/// an answer, and TCP's waits.
const QUIET: u64 = 700;
/// Growth of a gateway's memory that is not one of its state, in bytes: collections that are empty in the end keep room for
/// the most that they have held.
const SLACK: i64 = 512 << 10;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number"))
    })
}

/// Lets faults follow each other for a time; returns the memory that each gateway takes when all is over, in bytes.
fn soak(seed: u64, seconds: u64) -> [i64; 2] {
    let channels = [Channel::sound(), Channel::sound()];
    let mut world = World::new(Numbers(seed), channels, [None, Some(UNTRUE)]);
    world.run(seconds);
    world.heal();
    world.run_quietly(QUIET);
    world.finish()
}

/// Each transfer's bytes arrive as they were sent, or its connection was reset by a restart; in the end nothing is left,
/// and twice the time takes no more memory.
#[test]
fn through_random_faults_nothing_is_lost_and_nothing_stays() {
    let seconds = setting("BATON_SOAK_SECONDS", SECONDS);
    let first = setting("BATON_SOAK_SEED", 1);
    for seed in first..first + SEEDS {
        let short = soak(seed, seconds / 2);
        let long = soak(seed, seconds);
        println!(
            "seed {seed}: {short:?} B after {} s, {long:?} B after {seconds} s",
            seconds / 2
        );
        for (short, long) in short.into_iter().zip(long) {
            assert!(
                long < short + SLACK,
                "seed {seed}: {short} B, then {long} B"
            );
        }
    }
}
