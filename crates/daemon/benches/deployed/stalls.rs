//! Stalls and losses of two streams of 1,000 datagrams a second, one to the vehicle and one from it.

use super::world::stream::Record;
use super::world::{CARE_OF, DELAYS, Version, WLAN, WWAN, World, until_bound};
use super::{Row, milliseconds, spread};
use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;
/// The time for which an uplink flickers, and how long it is there and away.
const FLICKER: Duration = Duration::from_secs(60);
const BEAT: Duration = Duration::from_millis(500);

/// The better uplink dies, and nobody says so.
pub fn unannounced() -> Vec<Row> {
    let world = World::new(Version::V4);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    let mut cuts = Vec::new();
    for _ in 0..ROUNDS {
        sleep(2 * SECOND);
        cuts.push(world.air.cut(WLAN, true));
        until_bound(&mut router, WWAN);
        sleep(SECOND);
        world.air.cut(WLAN, false);
        until_bound(&mut router, WLAN);
    }
    let records = streams.map(|stream| stream.end());
    let late = world.lateness(&records, &records[0].whole());
    let ways = ["to the vehicle", "from the vehicle"]
        .into_iter()
        .zip(&records);
    let stalls = ways.map(|(way, record)| {
        let stalls = cuts.iter().map(|cut| record.stall(*cut..*cut + SECOND));
        (way, spread(stalls.collect()))
    });
    // The part of the target that is the same for both ways.
    let most = 4 * DELAYS[WLAN] + 2 * DELAYS[WWAN] + Duration::from_millis(50);
    let target = format!("{}; up to {} late", milliseconds(most), milliseconds(late));
    let mut rows: Vec<Row> = stalls
        .map(|(way, stalls)| match way {
            "to the vehicle" => Row(
                "unannounced loss, stall to the vehicle",
                stalls,
                target.clone(),
            ),
            _ => Row(
                "unannounced loss, stall from the vehicle",
                stalls,
                target.clone(),
            ),
        })
        .collect();
    let lost = records.each_ref().map(|record| record.lost(record.whole()));
    rows.push(Row(
        "unannounced losses and returns, datagrams lost",
        format!("{} to the vehicle, {} from it", lost[0], lost[1]),
        "0 to the vehicle".to_owned(),
    ));
    rows
}

/// The better uplink goes at times that the router knows a second ahead.
pub fn announced() -> Vec<Row> {
    let world = World::new(Version::V4);
    let begun = Instant::now();
    // Away for two seconds, and back for the hold time and two more.
    let away: Vec<Range<Duration>> = (0..ROUNDS as u32)
        .map(|round| (5 + 6 * round) * SECOND..(7 + 6 * round) * SECOND)
        .collect();
    world.foretell(WLAN, &away);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    let mut moves = Vec::new();
    for away in &away {
        until_bound(&mut router, WWAN);
        moves.push(Instant::now());
        sleep((begun + away.start).saturating_duration_since(Instant::now()));
        world.air.cut(WLAN, true);
        sleep((begun + away.end).saturating_duration_since(Instant::now()));
        world.air.cut(WLAN, false);
        until_bound(&mut router, WLAN);
    }
    sleep(SECOND / 2);
    let records = streams.map(|stream| stream.end());
    let late = world.lateness(&records, &records[0].whole());
    let most = DELAYS[WWAN] - DELAYS[WLAN] + Duration::from_millis(20);
    let target = format!("{}; up to {} late", milliseconds(most), milliseconds(late));
    let gap = |record: &Record| {
        let around = moves.iter().map(|at| *at - SECOND / 2..*at + SECOND / 2);
        spread(around.map(|around| record.stall(around)).collect())
    };
    let lost = records.each_ref().map(|record| record.lost(record.whole()));
    vec![
        Row(
            "announced handover, gap to the vehicle",
            gap(&records[0]),
            target.clone(),
        ),
        Row(
            "announced handover, gap from the vehicle",
            gap(&records[1]),
            target,
        ),
        Row(
            "announced handovers and returns, datagrams lost",
            format!("{} to the vehicle, {} from it", lost[0], lost[1]),
            "0".to_owned(),
        ),
    ]
}

/// The better uplink comes and goes for a minute; then it stays.
pub fn flicker() -> Vec<Row> {
    let world = World::new(Version::V4);
    let (_home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    sleep(SECOND);
    world.air.cut(WLAN, true);
    until_bound(&mut router, WWAN);
    let moved = Instant::now();
    while moved.elapsed() < FLICKER {
        world.air.cut(WLAN, false);
        sleep(BEAT);
        world.air.cut(WLAN, true);
        sleep(BEAT);
    }
    let flickered = router.times("Registered");
    world.air.cut(WLAN, false);
    until_bound(&mut router, WLAN);
    sleep(SECOND);
    let bindings =
        CARE_OF.map(|address| router.times(&format!("Registered, care-of address {address}\n")));
    let records = streams.map(|stream| stream.end());
    let lost = records
        .each_ref()
        .map(|record| record.lost(moved..record.whole().end));
    vec![
        Row(
            "an uplink that flickers for 60 s, handovers meanwhile",
            format!("{}", flickered - 2),
            "0".to_owned(),
        ),
        Row(
            "  and after it, to the uplink",
            format!("{}", bindings[WLAN] - 1),
            "1".to_owned(),
        ),
        Row(
            "  datagrams lost in all that time, fail-back included",
            format!("{} to the vehicle, {} from it", lost[0], lost[1]),
            "0".to_owned(),
        ),
    ]
}

/// The home agent is killed and started anew.
pub fn restart() -> Vec<Row> {
    let world = World::new(Version::V4);
    let (mut home_agent, mut router) = world.start();
    let streams = world.streams(Version::V6);
    let mut kills = Vec::new();
    for _ in 0..ROUNDS {
        // By then the other path, which has nothing to send, knows of the last restart too.
        sleep(4 * SECOND);
        router.pass();
        kills.push(Instant::now());
        home_agent.kill();
        home_agent = world.start_home_agent();
        until_bound(&mut router, WLAN);
    }
    sleep(2 * SECOND);
    let records = streams.map(|stream| stream.end());
    let target = milliseconds(2 * DELAYS[WLAN] + SECOND / 5);
    let silence = |place: usize| {
        let record: &super::world::stream::Record = &records[place];
        spread(
            kills
                .iter()
                .map(|kill| record.stall(*kill..*kill + 2 * SECOND))
                .collect(),
        )
    };
    vec![
        Row(
            "restart of the home agent, silence to the vehicle",
            silence(0),
            target.clone(),
        ),
        Row(
            "restart of the home agent, silence from the vehicle",
            silence(1),
            target,
        ),
    ]
}
