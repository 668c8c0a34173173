//! Assignment of home network prefixes, as timelines. Every path takes 20 ms.

use super::*;
use crate::mobility::mobile_ipv6::prefix_assignment::{PrefixEvent, PrefixPool, PrefixServer};
use crate::wire::mobility_header::BindingStatus;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

const KEY: SharedKey = SharedKey {
    security_parameter_index: 256,
    key: [7; 20],
};
/// The mobile's home address in the first prefix of the pool.
const ASSIGNED: &str = "2001:db8:900::abc";

fn settings() -> MobileSettings {
    let mut settings = mobile_with(|fleet| {
        fleet.is_prefix_assigned = true;
        fleet.lifetime = BindingLifetime::at_most(60);
    });
    settings.home_address = Ipv6Addr::UNSPECIFIED;
    settings.key = Some(KEY);
    settings
}

/// Lends prefixes from a pool of this length, for so many seconds.
fn server(length: u8, lifetime_s: u32) -> PrefixServer {
    let pool = PrefixPool::new(prefix("2001:db8:900::", length), lifetime_s).expect("a pool");
    let mut server = PrefixServer::new(pool, Draws::new([8; 16]));
    // Of the home address only the identifier counts.
    let home_address = ip("::abc");
    server.enrol(Subscriber {
        home_address,
        key: Some(KEY),
        ..subscriber()
    });
    server
}

fn world(server: PrefixServer) -> World {
    let mut world = World::new(settings(), agent_settings(), subscriber());
    world.home_agent.assign_prefixes(server);
    world
}

/// Lists the events of the prefix, with their times in milliseconds.
fn said(world: &World) -> Vec<(u64, PrefixEvent)> {
    let events = world.events.iter();
    let prefixes = events.filter_map(|(at, event)| match event {
        MobileEvent::HomePrefix(event) => Some((at.as_nanos() / 1_000_000, *event)),
        _ => None,
    });
    prefixes.collect()
}

fn first() -> Ipv6Prefix {
    prefix("2001:db8:900::", 64)
}

#[test]
fn a_prefix_is_assigned_in_two_exchanges_before_the_first_binding() {
    let mut world = world(server(56, 3600));
    world.attach(0, 1);
    world.run_until(at(1000));
    // The advertisement arrives at 20 ms; each message takes 20 ms.
    assert_eq!(world.times_of("IKE_SA_INIT"), [20, 40]);
    assert_eq!(world.times_of("IKE_AUTH"), [60, 80]);
    assert_eq!(said(&world), [(100, PrefixEvent::Assigned(first()))]);
    // The binding update is later by two round trips, and needs no duplicate address detection.
    assert_eq!(world.times_of("BU"), [100]);
    assert_eq!(world.times_of("BA"), [120]);
    assert_eq!(world.home_agent.care_of(ip(ASSIGNED)), Some(care_of(1)));
    world.send_down(ip(ASSIGNED), 1);
    world.send_up(ip(ASSIGNED), 2);
    world.run_until(at(2000));
    assert_eq!(world.got, [1]);
    assert_eq!(world.answered, [(2, ip(ASSIGNED).into())]);
    // The prefix stays with the mobile when it moves.
    world.detach(0);
    world.attach(0, 2);
    world.run_until(at(3000));
    assert_eq!(world.home_agent.care_of(ip(ASSIGNED)), Some(care_of(2)));
    assert_eq!(world.times_of("IKE_SA_INIT").len(), 2);
}

#[test]
fn home_addresses_in_a_prefix_of_their_own_need_no_detection() {
    let agent = HomeAgentSettings {
        detection: DuplicateAddressDetection::STANDARD,
        ..agent_settings()
    };
    let mut world = World::new(settings(), agent, subscriber());
    world.home_agent.assign_prefixes(server(56, 3600));
    world.attach(0, 1);
    world.run_until(at(1000));
    assert_eq!(world.times_of("BA"), [120]);
    assert!(world.times_of("NS").is_empty());
}

#[test]
fn a_mobile_that_starts_anew_gets_its_prefix_again() {
    let mut lender = server(56, 3600);
    // Another mobile is there already.
    assert_eq!(lender.lend(at(0), 0x123), Some(first()));
    let mut world = world(lender);
    world.attach(0, 1);
    world.run_until(at(1000));
    let second = prefix("2001:db8:900:1::", 64);
    assert_eq!(said(&world), [(100, PrefixEvent::Assigned(second))]);
    world.detach(0);
    world.mobile = MobileNode::new(settings(), 2, [10; 16]);
    world.run_until(at(2000));
    world.attach(0, 2);
    world.run_until(at(3000));
    assert_eq!(said(&world)[1], (2100, PrefixEvent::Assigned(second)));
    let home = second.address_of(ip("::abc"));
    // The home agent remembers the sequence number, and the mobile follows.
    assert_eq!(world.home_agent.care_of(home), Some(care_of(2)));
}

#[test]
fn a_mobile_without_a_prefix_says_so_and_asks_again() {
    // A single prefix, on loan to another mobile for 20 s.
    let mut lender = server(64, 20);
    lender.lend(at(0), 0x123);
    let mut world = world(lender);
    world.attach(0, 1);
    world.run_until(at(30_000));
    assert_eq!(said(&world), [(100, PrefixEvent::NoneLeft)]);
    assert!(world.times_of("BU").is_empty());
    // 30 s after the refusal, and two exchanges.
    world.run_until(at(31_000));
    assert_eq!(said(&world)[1], (30_180, PrefixEvent::Assigned(first())));
    assert_eq!(world.home_agent.care_of(ip(ASSIGNED)), Some(care_of(1)));
}

#[test]
fn a_lease_is_renewed_after_three_quarters_of_it() {
    let mut world = world(server(64, 100));
    world.attach(0, 1);
    world.run_until(at(300_000));
    let asked: Vec<u64> = world.times_of("IKE_SA_INIT");
    assert_eq!(
        asked,
        [20, 40, 75_100, 75_120, 150_180, 150_200, 225_260, 225_280]
    );
    assert_eq!(said(&world).len(), 1);
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(1)));
}

#[test]
fn a_lease_that_is_not_renewed_ends_at_both_ends() {
    let mut world = world(server(64, 100));
    world.attach(0, 1);
    world.run_until(at(10_000));
    world.lost_names = vec!["IKE_SA_INIT"];
    world.run_until(at(100_200));
    assert_eq!(said(&world)[1], (100_100, PrefixEvent::Lost(first())));
    assert_eq!(world.home_agent.care_of(ip(ASSIGNED)), None);
    assert_eq!(world.mobile.registered(world.now()), None);
    // Another mobile may have it now.
    let server = world.home_agent.prefix_server_mut().expect("a server");
    assert_eq!(server.lend(at(100_200), 0x123), Some(first()));
}

/// Restarts the home agent and lends the mobile's prefix to another; returns the prefix's events, and the world after
/// 150 s. The key is the mobile's and the agent's.
fn restarted(key: Option<SharedKey>) -> (Vec<PrefixEvent>, World) {
    let subscriber = || Subscriber {
        home_address: ip("::abc"),
        key,
        ..subscriber()
    };
    let mut own = settings();
    own.key = key;
    let mut world = World::new(own, agent_settings(), subscriber());
    let mut lender = server(56, 3600);
    lender.enrol(subscriber());
    world.home_agent.assign_prefixes(lender);
    world.attach(0, 1);
    world.run_until(at(1000));
    let mut lender = server(56, 3600);
    lender.enrol(subscriber());
    lender.lend(at(1000), 0x123);
    world.home_agent = HomeAgent::new(agent_settings());
    world.home_agent.assign_prefixes(lender);
    world.run_until(at(150_000));
    let events = said(&world).into_iter().map(|(_, event)| event);
    (events.collect(), world)
}

#[test]
fn a_restarted_home_agent_assigns_a_prefix_again() {
    let second = prefix("2001:db8:900:1::", 64);
    let home = second.address_of(ip("::abc"));
    let (begin, end) = (
        PrefixEvent::Assigned(first()),
        PrefixEvent::Assigned(second),
    );
    // The agent does not know the mobile's key, and so its refusal is not believed: the binding expires after 60 s.
    let (events, world) = restarted(Some(KEY));
    assert_eq!(events, [begin, end]);
    assert_eq!(world.home_agent.care_of(home), Some(care_of(1)));
    // Without keys the refusal of the refresh tells.
    let (events, world) = restarted(None);
    let refused = MobileEvent::Refused(BindingStatus::NOT_HOME_SUBNET);
    assert!(world.events.iter().any(|(_, event)| *event == refused));
    assert_eq!(events, [begin, PrefixEvent::Lost(first()), end]);
    assert_eq!(world.home_agent.care_of(home), Some(care_of(1)));
}

/// The timeouts are 1, 2, 4, 8 and 16 s.
#[test]
fn without_an_answer_the_mobile_asks_five_times_and_later_again() {
    let mut world = world(server(56, 3600));
    world.lost_names = vec!["IKE_SA_INIT"];
    world.attach(0, 1);
    world.run_until(at(31_020));
    let asked = [20, 1020, 3020, 7020, 15_020];
    assert_eq!(world.times_of("IKE_SA_INIT"), asked);
    assert_eq!(said(&world), [(31_020, PrefixEvent::Unanswered)]);
    world.lost_names.clear();
    world.run_until(at(62_000));
    assert_eq!(said(&world)[1], (61_100, PrefixEvent::Assigned(first())));
}

#[test]
fn strangers_get_no_prefix() {
    let mut own = settings();
    own.key = Some(SharedKey {
        key: [8; 20],
        ..KEY
    });
    let mut world = World::new(own, agent_settings(), subscriber());
    world.home_agent.assign_prefixes(server(56, 3600));
    world.attach(0, 1);
    world.run_until(at(40_000));
    assert_eq!(said(&world), [(31_060, PrefixEvent::Unanswered)]);
    assert_eq!(world.home_agent.counts().unexpected, 5);
    let server = world.home_agent.prefix_server_mut().expect("a server");
    assert_eq!(server.counts().unproved, 5);
    assert_eq!(server.lend(at(40_000), 0x123), Some(first()));
}

/// Attaches, moves in the middle of the exchanges, and stays.
fn journey(lost: Vec<usize>) -> World {
    let mut world = world(server(56, 3600));
    world.lost = lost;
    world.attach(0, 1);
    world.run_until(at(70));
    world.detach(0);
    world.run_until(at(500));
    world.attach(0, 2);
    world.run_until(at(150_000));
    world
}

#[test]
fn any_one_or_two_lost_messages_end_in_a_working_binding() {
    let works = |mut world: World, lost: &[usize]| {
        let home = ip(ASSIGNED);
        assert_eq!(world.home_agent.care_of(home), Some(care_of(2)), "{lost:?}");
        world.got.clear();
        world.send_down(home, 7);
        let end = world.now() + Duration::from_secs(1);
        world.run_until(end);
        assert_eq!(world.got, [7], "{lost:?}");
    };
    let all = journey(Vec::new()).ladder.len();
    assert!(all > 12, "{all}");
    works(journey(Vec::new()), &[]);
    for first in 0..all {
        let world = journey(vec![first]);
        let after = world.ladder.len();
        works(world, &[first]);
        for second in first + 1..after {
            works(journey(vec![first, second]), &[first, second]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Study D, section 3.2: aircraft with different ICAO addresses never share an address, on a link or at home.
    #[test]
    fn addresses_are_unique(
        aircraft in prop::collection::btree_set(0..1_u32 << 24, 1..40),
        wanted in prop::collection::vec(0..20_u64, 40),
        length in 55..=64_u8,
    ) {
        let whole = prefix("2001:db8:800::", length);
        let mut pool = PrefixPool::new(whole, 60).expect("a pool");
        let mut lent = BTreeSet::new();
        let mut addresses = BTreeSet::new();
        for (&icao, &wanted) in aircraft.iter().zip(&wanted) {
            let identifier = icao_interface_identifier(icao);
            let host = Ipv6Addr::from_bits(identifier.into());
            prop_assert!(addresses.insert(link_prefix(1).address_of(host)));
            let wanted = PrefixPool::nth(whole, wanted);
            let Some(assigned) = pool.lend(at(0), identifier, wanted) else {
                // None is left: as many as the pool has are on loan.
                prop_assert_eq!(lent.len(), 1 << (64 - length));
                continue;
            };
            prop_assert!(whole.contains(assigned.address()) && assigned.length() == 64);
            prop_assert!(lent.insert(assigned));
            prop_assert!(addresses.insert(assigned.address_of(host)));
            // The same one to the same mobile.
            prop_assert_eq!(pool.lend(at(1), identifier, None), Some(assigned));
        }
        while let Some((_, ended)) = pool.poll_ended(at(60_001)) {
            prop_assert!(lent.remove(&ended));
        }
        prop_assert!(lent.is_empty() && pool.poll_timeout().is_none());
    }

    #[test]
    fn anything_at_the_port_is_survived(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..8),
    ) {
        let mut world = world(server(56, 3600));
        world.attach(0, 1);
        world.run_until(at(30));
        for message in messages {
            let now = world.now();
            let ends = [ip(HOME_AGENT), care_of(1)];
            for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let packet = crate::mobility::datagram((from, to), ikev2::PORT, message.clone());
                if to == ends[0] {
                    world.home_agent.handle_packet(now, packet);
                } else {
                    world.mobile.handle_packet(now, InterfaceId(0), packet);
                }
            }
        }
        world.run_until(at(1000));
        prop_assert_eq!(world.home_agent.care_of(ip(ASSIGNED)), Some(care_of(1)));
    }
}
