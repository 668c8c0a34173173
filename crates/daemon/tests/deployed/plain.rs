//! A router without encryption, as in RFC 5555, behind address translators, and an encrypted one at the same home agent.

use crate::attacks::{attacker, recorded};
use crate::world::datagram::{datagram, endpoints, payload};
use crate::world::stream::PLAINTEXT;
use crate::world::{HOME_AGENT, UPLINKS, Version, WLAN, WWAN, World, until_bound};
use std::net::{SocketAddr, SocketAddrV4};
use std::thread::sleep;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
/// The place of the next header in IPv6, and that of mobility (RFC 8200 section 3, RFC 6275 section 6.1.1).
const NEXT_HEADER: usize = 6;
const MOBILITY: u8 = 135;

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_router_without_encryption_moves_between_uplinks_beside_an_encrypted_one() {
    let world = World::plain();
    let home_agent = world.start_home_agent();
    let mut router = world.start_router(&world.router);
    until_bound(&mut router, WLAN);
    let other = world.start_other();
    let both = [Version::V4, Version::V6].map(|version| world.streams(version));
    let beside = world.stream_beside();
    let go_on = || {
        let streams = both.iter().flatten().chain([&beside]);
        streams.for_each(|stream| stream.until_more(300));
    };
    go_on();
    // The kernel tells of it.
    world.switch_off(WLAN);
    until_bound(&mut router, WWAN);
    go_on();
    world.switch_on(WLAN, &UPLINKS[WLAN]);
    until_bound(&mut router, WLAN);
    go_on();
    // Nobody tells of it: updates are not answered.
    let cut = world.air.cut(WLAN, true);
    until_bound(&mut router, WWAN);
    println!("an uplink that is cut is left after {:?}", cut.elapsed());
    go_on();
    let mended = world.air.cut(WLAN, false);
    until_bound(&mut router, WLAN);
    println!("and is used again after {:?}", mended.elapsed());
    go_on();
    world.renumber(WLAN, UPLINKS[WLAN][0], "192.0.2.77");
    go_on();
    assert_eq!(other.times("Registered"), 1, "{}", other.said());
    // Whoever is started anew is found by packets that nobody answers.
    home_agent.kill();
    let home_agent = world.start_home_agent();
    go_on();
    assert_eq!(router.times("Refused"), 0, "{}", router.said());
    drop(home_agent);
    both.into_iter()
        .flatten()
        .chain([beside])
        .for_each(|stream| {
            stream.end();
        });
    // It was an update over UDP at first, and later what anybody can read.
    let sent = recorded(&world, WLAN);
    assert_eq!((sent[0][0] >> 4, sent[0][NEXT_HEADER]), (6, MOBILITY));
    let is_read = |datagram: &Vec<u8>| {
        let mut windows = datagram.windows(PLAINTEXT.len());
        windows.any(|window| window == PLAINTEXT)
    };
    for version in [4, 6] {
        let of_version = |datagram: &&Vec<u8>| datagram[0] >> 4 == version;
        assert!(sent.iter().filter(of_version).any(is_read), "{version}");
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn forged_and_replayed_updates_of_a_router_without_encryption_are_refused() {
    let world = World::plain();
    let home_agent = world.start_home_agent();
    let mut router = world.start_router(&world.router);
    until_bound(&mut router, WLAN);
    let streams = world.streams(Version::V6);
    let go_on = || streams.iter().for_each(|stream| stream.until_more(500));
    go_on();
    let bindings = home_agent.times("Binding Updated");
    let recorded = recorded(&world, WLAN);
    let is_update = |datagram: &&Vec<u8>| datagram[NEXT_HEADER] == MOBILITY;
    let update = recorded.iter().find(is_update).unwrap();
    let to = SocketAddrV4::new(HOME_AGENT[0].parse().unwrap(), 4191);
    let mut sent_bytes = 0;
    for round in 0..2000_usize {
        let mut forged = update.clone();
        forged[round % update.len()] ^= 1 << (round % 8);
        let cut = update[..round % update.len()].to_vec();
        let data = recorded[round % recorded.len()].clone();
        for content in [update.clone(), forged, cut, data] {
            sent_bytes += content.len();
            let from = attacker(round as u32);
            world.air.inject(datagram(from, to, &content));
        }
        sleep(SECOND / 2000);
    }
    go_on();
    assert_eq!(home_agent.times("Binding Updated"), bindings);
    for record in streams.map(|stream| stream.end()) {
        assert_eq!(record.again, 0);
        let (lost, all) = (record.lost(record.whole()), record.sent.len());
        assert!(lost * 50 < all, "{lost} of {all}");
    }
    let state = world.air.state();
    // The kernel has to say something, too.
    let is_ours = |packet: &&Vec<u8>| {
        endpoints(packet).is_some_and(|(source, _)| source == SocketAddr::V4(to))
    };
    let astray = state.astray.iter().filter(is_ours);
    let astray: Vec<&[u8]> = astray.map(|packet| payload(packet)).collect();
    let answers: usize = astray.iter().map(|answer| answer.len()).sum();
    println!("{answers} bytes of answers to {sent_bytes}");
    assert!(answers < sent_bytes, "{answers}");
    // No packet of the tunnel went to an attacker: each answer is a refusal.
    assert!(!astray.is_empty());
    for answer in astray {
        assert_eq!(answer[NEXT_HEADER], MOBILITY);
    }
}
