//! Packets across handovers: tunnels, the network behind a mobile router, strategies, and tunnels that would loop.

use super::*;

fn behind() -> Ipv6Prefix {
    prefix("2001:db8:aaaa::", 48)
}

/// Returns a mobile router on link 1.
fn router_world(explicit: bool) -> World {
    let router = RouterRegistration {
        prefixes: Box::from([behind().into()]),
        explicit,
    };
    let mut world = World::new(
        MobileSettings {
            router: Some(router),
            ..mobile_settings()
        },
        agent_settings(),
        Subscriber {
            prefixes: Some(Box::new([behind().into()])),
            ..subscriber()
        },
    );
    world.attach(0, 1);
    world.run_until(at(1000));
    world
}

fn buffering_world() -> World {
    World::new(
        mobile_with(|fleet| fleet.buffering = Some(BufferingRequest::STUDY_D)),
        HomeAgentSettings {
            strategy: Strategy::Buffer(POLICY),
            ..agent_settings()
        },
        subscriber(),
    )
}

#[test]
fn packets_go_both_ways_through_the_tunnel() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1000));
    world.send_down(ip(HOME), 1);
    world.send_up(ip(HOME), 2);
    world.run_until(at(2000));
    assert_eq!(world.got, [1]);
    assert_eq!(world.answered, [(2, ip(HOME).into())]);
}

#[test]
fn the_network_behind_moves_with_its_router() {
    for explicit in [true, false] {
        let mut world = router_world(explicit);
        world.send_down(ip(BEHIND), 1);
        world.send_up(ip(BEHIND), 2);
        world.run_until(at(2000));
        assert_eq!(world.got, [1]);
        assert_eq!(world.answered, [(2, ip(BEHIND).into())]);
        // Not from elsewhere, and not to itself.
        world.send_up(ip("2001:db8:bbbb::1"), 3);
        let around = datagram(ip(BEHIND), ip("2001:db8:aaaa::8"), 4);
        let now = world.now();
        world.mobile.handle_outgoing(now, around);
        assert_eq!(world.mobile.counts().misdirected, 1);
        assert_eq!(world.mobile.counts().turned_back, 1);
        assert!(world.mobile.poll_transmit().is_none());
    }
}

#[test]
fn a_tunnel_from_somewhere_else_is_not_believed() {
    let mut world = router_world(true);
    // From another address than the mobile's.
    let inner = datagram(ip(HOME), ip(CORRESPONDENT), 1);
    let forged = Body::Tunnel(Box::new(inner));
    let forged = crate::mobility::packet(care_of(2).into(), ip(HOME_AGENT).into(), forged);
    let now = world.now();
    assert_eq!(world.home_agent.handle_packet(now, forged), None);
    // From another source than the mobile's.
    let inner = datagram(ip("2001:db8:bbbb::1"), ip(CORRESPONDENT), 1);
    let forged = Body::Tunnel(Box::new(inner));
    let forged = crate::mobility::packet(care_of(1).into(), ip(HOME_AGENT).into(), forged);
    let now = world.now();
    assert_eq!(world.home_agent.handle_packet(now, forged), None);
    assert_eq!(world.home_agent.counts().strangers, 2);
    // To the mobile, but not from its home agent.
    let inner = datagram(ip(CORRESPONDENT), ip(HOME), 1);
    let forged = Body::Tunnel(Box::new(inner));
    let forged = crate::mobility::packet(ip(CORRESPONDENT).into(), care_of(1).into(), forged);
    let now = world.now();
    assert_eq!(
        world.mobile.handle_packet(now, InterfaceId(0), forged),
        None
    );
    assert_eq!(world.mobile.counts().unregistered, 1);
}

/// The mobile router drops a packet for no node behind it: it does not go back into the tunnel.
#[test]
fn packets_from_a_tunnel_do_not_go_back() {
    let mut world = router_world(true);
    let wrong = datagram(ip(CORRESPONDENT), ip("2001:db8:cccc::1"), 1);
    let outer = Body::Tunnel(Box::new(wrong));
    let outer = crate::mobility::packet(ip(HOME_AGENT).into(), care_of(1).into(), outer);
    let now = world.now();
    world.mobile.handle_packet(now, InterfaceId(0), outer);
    assert_eq!(world.mobile.counts().misdirected, 1);
    assert!(world.mobile.poll_transmit().is_none());
    // Nor does the home agent return a mobile's packet to that mobile.
    let around = datagram(ip(BEHIND), ip("2001:db8:aaaa::8"), 1);
    let outer = Body::Tunnel(Box::new(around));
    let outer = crate::mobility::packet(care_of(1).into(), ip(HOME_AGENT).into(), outer);
    let now = world.now();
    world.home_agent.handle_packet(now, outer);
    assert_eq!(world.home_agent.counts().turned_back, 1);
    assert!(world.home_agent.poll_transmit().is_none());
}

/// Two home agents, each with a mobile registered at the other's home address: a packet enters both tunnels once and
/// ends at the third entry.
#[test]
fn two_bindings_that_point_at_each_other_end_a_packet() {
    let homes = ["2001:db8:100::abc", "2001:db8:900::abc"].map(ip);
    let addresses = ["2001:db8:100::1", "2001:db8:900::1"].map(ip);
    let mut agents = [0, 1].map(|number: usize| {
        let mut agent = HomeAgent::new(HomeAgentSettings {
            address: addresses[number],
            home_prefix: Ipv6Prefix::new(homes[number], 64).expect("a length"),
            ..agent_settings()
        });
        agent.subscribe(Subscriber {
            home_address: homes[number],
            ..subscriber()
        });
        let message = MobilityMessage::BindingUpdate(crate::wire::mobility_header::BindingUpdate {
            home_registration: true,
            lifetime: BindingLifetime::at_most(600),
            ..Default::default()
        });
        let ends = (homes[1 - number], addresses[number]);
        let packet = mobility_packet(ends, (Some(homes[number]), None), message);
        agent.handle_packet(at(0), packet);
        agent.poll_transmit();
        assert_eq!(agent.care_of(homes[number]), Some(homes[1 - number]));
        agent
    });
    let packet = datagram(ip(CORRESPONDENT), homes[0], 1);
    agents[0].handle_packet(at(1), packet);
    let mut passes = 0;
    loop {
        let mut moved = false;
        for number in [0, 1] {
            while let Some((_, packet)) = agents[number].poll_transmit() {
                passes += 1;
                moved = true;
                assert!(packet.wire_length() <= 148 + 4 * 40 + 40);
                let other = 1 - number;
                assert!(agents[other].intercepts(packet.ip.destination));
                agents[other].handle_packet(at(1), packet);
            }
        }
        assert!(passes < 10, "it goes round");
        if !moved {
            break;
        }
    }
    assert_eq!(passes, 2);
    let ended = agents.iter().map(|agent| agent.counts().tunnels.loops);
    assert_eq!(ended.sum::<u64>(), 1);
}

/// A packet ends within one home agent, too, if each of two mobile routers is registered in the other's network.
#[test]
fn two_networks_that_are_inside_each_other_end_a_packet() {
    let behind = [behind(), prefix("2001:db8:bbbb::", 48)];
    let homes = ["2001:db8:100::a", "2001:db8:100::b"].map(ip);
    let mut agent = HomeAgent::new(agent_settings());
    for number in [0, 1] {
        agent.subscribe(Subscriber {
            home_address: homes[number],
            prefixes: Some(Box::new([behind[number].into()])),
            ..subscriber()
        });
        let message = MobilityMessage::BindingUpdate(crate::wire::mobility_header::BindingUpdate {
            home_registration: true,
            mobile_router: true,
            lifetime: BindingLifetime::at_most(600),
            ..Default::default()
        });
        let at_other = behind[1 - number].address_of(ip("::9"));
        let ends = (at_other, ip(HOME_AGENT));
        let packet = mobility_packet(ends, (Some(homes[number]), None), message);
        agent.handle_packet(at(0), packet);
    }
    while agent.poll_transmit().is_some() {}
    assert_eq!(agent.registered(), 2);
    agent.handle_packet(at(1), datagram(ip(CORRESPONDENT), homes[0], 1));
    assert!(agent.poll_transmit().is_none());
    assert!(agent.counts().tunnels.loops > 0);
}

#[test]
fn a_packet_larger_than_the_tunnel_comes_back_as_an_error() {
    let mut world = router_world(true);
    let mut packet = datagram(ip(CORRESPONDENT), ip(BEHIND), 1);
    let Body::Udp(_, Payload::Pattern { length, .. }) = &mut packet.body else {
        panic!("a datagram");
    };
    *length = 1500 - 48;
    let now = world.now();
    world.home_agent.handle_packet(now, packet);
    let (_, error) = world.home_agent.poll_transmit().expect("an error");
    assert_eq!(error.ip.destination, IpAddr::V6(ip(CORRESPONDENT)));
    let Body::Icmp(IcmpMessage::Error { kind, quoted }) = error.body else {
        panic!("an error");
    };
    assert_eq!(
        kind,
        crate::wire::icmp::IcmpError::PacketTooBig { mtu: 1460 }
    );
    assert_eq!(quoted.destination, IpAddr::V6(ip(BEHIND)));
    assert_eq!(world.home_agent.counts().tunnels.too_big, 1);
}

/// Study D, proposal 2: while the mobile is between two links, packets wait at the home agent, in order.
#[test]
fn a_home_agent_that_buffers_loses_nothing() {
    let mut world = buffering_world();
    world.attach(0, 1);
    world.run_until(at(1000));
    let start = world.now();
    let now = world.now();
    world.mobile.link_going_down(now, InterfaceId(0));
    for number in 0..10 {
        world.run_until(at(1100 + number * 100));
        world.send_down(ip(HOME), number);
        if number == 2 {
            world.detach(0);
        }
        if number == 7 {
            world.attach(0, 2);
        }
    }
    world.run_until(at(5000));
    assert_eq!(world.got, (0..10).collect::<Vec<_>>());
    assert_eq!(
        world.names_since(start),
        ["MBU", "MBA", "MLD", "RA", "BU", "BA", "MLD"]
    );
    let buffered = world.home_agent.counts().buffered;
    assert_eq!((buffered.held, buffered.released), (8, 8));
    assert!(world.stale.is_empty());
}

/// The aircraft of study D begins at home, without a binding: its packets and those of its network are held all the
/// same.
#[test]
fn packets_are_held_for_a_mobile_that_leaves_home() {
    let mut world = buffering_world();
    world.attach(0, 0);
    world.run_until(at(1000));
    world.send_down(ip(HOME), 0);
    world.run_until(at(1100));
    let now = world.now();
    world.mobile.link_going_down(now, InterfaceId(0));
    world.run_until(at(1200));
    assert!(world.home_agent.intercepts(ip(HOME).into()));
    world.detach(0);
    world.send_down(ip(HOME), 1);
    world.run_until(at(1500));
    world.attach(0, 1);
    world.run_until(at(1600));
    world.send_down(ip(HOME), 2);
    world.run_until(at(3000));
    assert_eq!(world.got, [0, 1, 2]);
    assert!(world.stale.is_empty());
}

#[test]
fn a_mobile_that_stays_gets_the_held_packets() {
    for link in [0, 1] {
        let mut world = buffering_world();
        world.attach(0, link);
        world.run_until(at(1000));
        let now = world.now();
        world.mobile.link_going_down(now, InterfaceId(0));
        world.run_until(at(1100));
        world.send_down(ip(HOME), 1);
        world.run_until(at(1500));
        assert!(world.got.is_empty(), "{link}");
        let now = world.now();
        world.mobile.link_rollback(now, InterfaceId(0));
        world.run_until(at(2000));
        assert_eq!(world.got, [1], "{link}");
    }
}

/// Both links up: each packet comes twice during the overlap, and none goes to a location given up.
#[test]
fn bicasting_sends_each_packet_twice_and_counts_it() {
    let mut world = World::new(
        mobile_settings(),
        HomeAgentSettings {
            strategy: Strategy::Bicast {
                overlap: Duration::from_secs(2),
            },
            ..agent_settings()
        },
        subscriber(),
    );
    world.attach(0, 1);
    // The home link was the previous location.
    world.run_until(at(2500));
    world.send_down(ip(HOME), 1);
    world.run_until(at(3500));
    world.attach(1, 2);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(at(4500));
    assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(2)));
    world.send_down(ip(HOME), 2);
    world.run_until(at(6500));
    world.send_down(ip(HOME), 3);
    world.run_until(at(7500));
    assert_eq!(world.got, [1, 2, 2, 3]);
    assert_eq!(world.home_agent.counts().copies, 1);
    assert!(world.stale.is_empty());
}

/// Each packet comes twice during the overlap only if the mobile asks for it and the home agent grants it.
#[test]
fn bicasting_on_request_takes_two() {
    let overlap = Some(Duration::from_secs(2));
    let cases = [(true, overlap, 1), (true, None, 0), (false, overlap, 0)];
    for (asks, granted, copies) in cases {
        let mut settings = mobile_settings();
        Arc::make_mut(&mut settings.fleet).asks_for_bicasting = asks;
        let agent = HomeAgentSettings {
            strategy: Strategy::Buffer(POLICY),
            bicast_on_request: granted,
            ..agent_settings()
        };
        let mut world = World::new(settings, agent, subscriber());
        world.attach(0, 1);
        world.run_until(at(3500));
        world.attach(1, 2);
        let now = world.now();
        world.mobile.prefer(now, InterfaceId(1));
        world.run_until(at(4500));
        assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(2)));
        world.send_down(ip(HOME), 1);
        world.run_until(at(6500));
        world.send_down(ip(HOME), 2);
        world.run_until(at(7500));
        let got: &[u64] = if copies == 1 { &[1, 1, 2] } else { &[1, 2] };
        assert_eq!(world.got, got, "asks {asks}, granted {granted:?}");
        assert_eq!(world.home_agent.counts().copies, copies);
    }
}

/// The copy goes to the home link if a mobile leaves home without a binding.
#[test]
fn bicasting_covers_the_home_link() {
    let mut world = World::new(
        mobile_settings(),
        HomeAgentSettings {
            strategy: Strategy::Bicast {
                overlap: Duration::from_secs(2),
            },
            ..agent_settings()
        },
        subscriber(),
    );
    world.attach(0, 0);
    world.run_until(at(1000));
    world.attach(1, 1);
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(at(2000));
    world.send_down(ip(HOME), 1);
    world.run_until(at(5000));
    world.send_down(ip(HOME), 2);
    world.run_until(at(6000));
    assert_eq!(world.got, [1, 1, 2]);
    assert_eq!(world.home_agent.counts().copies, 1);
}

/// Both links up, one tunnel: nothing is lost, since packets under way still arrive at the old care-of address.
#[test]
fn a_soft_handover_loses_nothing() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1000));
    world.attach(1, 2);
    world.run_until(at(1500));
    // Attached, but not preferred.
    assert_eq!(world.mobile.interface(), Some(InterfaceId(0)));
    for number in 0..20 {
        world.run_until(at(1500 + number * 10));
        world.send_down(ip(HOME), number);
        if number == 5 {
            let now = world.now();
            world.mobile.prefer(now, InterfaceId(1));
        }
    }
    world.run_until(at(3000));
    world.got.sort_unstable();
    assert_eq!(world.got, (0..20).collect::<Vec<_>>());
    assert_eq!(world.mobile.registered(world.now()), Some(care_of(2)));
}

/// Make before break: until the home agent's acknowledgment the mobile sends from the old location, which the home
/// agent still accepts.
#[test]
fn a_mobile_sends_by_the_old_binding_until_the_new_one_is_acknowledged() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1000));
    world.attach(1, 2);
    world.run_until(at(1500));
    // The first update is lost, so that there is a second.
    world.lost_names = vec!["BU"];
    let now = world.now();
    world.mobile.prefer(now, InterfaceId(1));
    world.run_until(at(1600));
    world.lost_names.clear();
    let packet = datagram(ip(HOME), ip(CORRESPONDENT), 0);
    let now = world.now();
    world.mobile.handle_outgoing(now, packet);
    let (towards, sent) = world.mobile.poll_transmit().expect("a packet");
    assert_eq!(towards, Towards::Interface(InterfaceId(0)));
    assert_eq!(sent.ip.source, IpAddr::V6(care_of(1)));
    for number in 1..=200 {
        world.run_until(at(1600 + number * 10));
        world.send_up(ip(HOME), number);
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(5000));
    assert_eq!(world.times_of("BU"), [20, 1500, 2500]);
    let answered: Vec<u64> = world.answered.iter().map(|&(number, _)| number).collect();
    assert_eq!(answered, (1..=200).collect::<Vec<_>>());
    world.got.sort_unstable();
    assert_eq!(world.got, (1..=200).collect::<Vec<_>>());
    assert_eq!(world.mobile.counts().unreachable, 0);
    // From here on from the new location.
    world.send_up(ip(HOME), 0);
    let now = world.now();
    world
        .mobile
        .handle_outgoing(now, datagram(ip(HOME), ip(CORRESPONDENT), 0));
    let (towards, _) = world.mobile.poll_transmit().expect("a packet");
    assert_eq!(towards, Towards::Interface(InterfaceId(1)));
}

/// No packet is lost when the mobile leaves home, without a binding, or when it returns.
#[test]
fn soft_handovers_from_home_and_back_lose_nothing() {
    let mut world = World::plain();
    world.attach(0, 0);
    world.run_until(at(1000));
    let mut number = 0;
    for (interface, link) in [(1, 1), (0, 0)] {
        let begin = world.now();
        for _ in 0..50 {
            number += 1;
            world.send_up(ip(HOME), number);
            world.send_down(ip(HOME), number);
            let end = world.now() + Duration::from_millis(10);
            world.run_until(end);
            if number % 50 == 10 && world.links[interface] != Some(link) {
                world.attach(interface, link);
            }
            if number % 50 == 20 {
                let now = world.now();
                world.mobile.prefer(now, InterfaceId(interface));
            }
        }
        assert!(world.names_since(begin).contains(&"BA"));
    }
    let end = world.now() + Duration::from_secs(1);
    world.run_until(end);
    assert_eq!(world.mobile.registered(world.now()), None);
    let all: Vec<u64> = (1..=100).collect();
    let mut answered: Vec<u64> = world.answered.iter().map(|&(number, _)| number).collect();
    answered.sort_unstable();
    world.got.sort_unstable();
    assert_eq!((&answered, &world.got), (&all, &all));
}

/// Packets from a previous location are accepted for a while only.
#[test]
fn the_former_place_is_believed_for_ten_seconds() {
    let mut world = World::plain();
    world.attach(0, 1);
    world.run_until(at(1000));
    world.detach(0);
    world.attach(0, 2);
    world.run_until(at(2000));
    let from_former = || {
        let inner = datagram(ip(HOME), ip(CORRESPONDENT), 1);
        let outer = Body::Tunnel(Box::new(inner));
        crate::mobility::packet(care_of(1).into(), ip(HOME_AGENT).into(), outer)
    };
    for (seconds, strangers) in [(3, 0), (13, 1)] {
        world.run_until(Instant::from_secs(seconds));
        let now = world.now();
        world.home_agent.handle_packet(now, from_former());
        assert_eq!(world.home_agent.counts().strangers, strangers);
    }
}

/// A mobile in the network of another, with the same home agent: two nested tunnels, and no loop.
#[test]
fn a_mobile_in_a_moving_network_is_reached_through_both_tunnels() {
    let mut agent = HomeAgent::new(agent_settings());
    let carrier = ip("2001:db8:100::b");
    let inside = behind().address_of(ip("::9"));
    agent.subscribe(Subscriber {
        home_address: carrier,
        prefixes: Some(Box::new([behind().into()])),
        ..subscriber()
    });
    agent.subscribe(subscriber());
    for (home, at_now, mobile_router) in [(carrier, care_of(1), true), (ip(HOME), inside, false)] {
        let message = MobilityMessage::BindingUpdate(crate::wire::mobility_header::BindingUpdate {
            home_registration: true,
            mobile_router,
            lifetime: BindingLifetime::at_most(600),
            ..Default::default()
        });
        let packet = mobility_packet((at_now, ip(HOME_AGENT)), (Some(home), None), message);
        agent.handle_packet(at(0), packet);
    }
    while agent.poll_transmit().is_some() {}
    agent.handle_packet(at(1), datagram(ip(CORRESPONDENT), ip(HOME), 1));
    let (_, outer) = agent.poll_transmit().expect("a packet");
    assert_eq!(outer.ip.destination, IpAddr::V6(care_of(1)));
    let Body::Tunnel(middle) = outer.body else {
        panic!("a tunnel");
    };
    assert_eq!(middle.ip.destination, IpAddr::V6(inside));
    let Body::Tunnel(inner) = middle.body else {
        panic!("a tunnel");
    };
    assert_eq!(inner.ip.destination, IpAddr::V6(ip(HOME)));
    assert!(agent.poll_transmit().is_none());
}

/// A mobile with one interface announces its next location: the home agent sends to both before the move, and no update
/// is needed after it.
#[test]
fn an_announced_place_gets_packets_before_the_mobile_is_there() {
    let mut world = World::new(
        mobile_settings(),
        HomeAgentSettings {
            strategy: Strategy::Bicast {
                overlap: Duration::from_secs(2),
            },
            ..agent_settings()
        },
        subscriber(),
    );
    world.attach(0, 1);
    world.run_until(at(1000));
    let now = world.now();
    world.mobile.know_router(InterfaceId(0), link_prefix(2));
    world.mobile.link_going_down(now, InterfaceId(0));
    world.run_until(at(1500));
    world.send_down(ip(HOME), 1);
    world.send_up(ip(HOME), 2);
    world.run_until(at(1900));
    assert_eq!(world.got, [1]);
    assert_eq!(world.answered, [(2, ip(HOME).into())]);
    // The copy for the next location came too early.
    assert_eq!(world.stale.len(), 1);
    assert_eq!(world.home_agent.counts().copies, 1);
    world.detach(0);
    world.attach(0, 2);
    let updates = world.times_of("BU").len();
    world.run_until(at(2000));
    world.send_down(ip(HOME), 3);
    world.run_until(at(4000));
    world.send_up(ip(HOME), 4);
    world.run_until(at(5000));
    assert_eq!(world.got, [1, 3]);
    assert_eq!(world.answered.len(), 2);
    assert_eq!(world.times_of("BU").len(), updates);
}

/// Returns a mobile that reports its location to previous routers, and routers that hold packets until then.
fn forwarding_world() -> World {
    let mobile = mobile_with(|fleet| fleet.tells_routers = true);
    World::new(mobile, agent_settings(), subscriber()).with_buffering_routers(POLICY)
}

/// RFC 5568, reactive mode: the router of the old link holds packets for the mobile and forwards them to its new
/// address, at home and abroad.
#[test]
fn access_routers_that_buffer_lose_nothing() {
    for from in [0, 1] {
        let mut world = forwarding_world();
        world.attach(0, from);
        world.run_until(at(1000));
        let start = world.now();
        for number in 0..20 {
            world.run_until(at(1000 + number * 50));
            match number {
                5 => world.detach(0),
                10 => world.attach(0, 2),
                _ => {}
            }
            world.send_down(ip(HOME), number);
        }
        world.run_until(at(5000));
        assert_eq!(world.got, (0..20).collect::<Vec<_>>(), "from {from}");
        let said = world.names_since(start);
        assert_eq!(said.iter().filter(|name| **name == "FBU").count(), 1);
        assert!(said.contains(&"FBack"));
        assert!(
            world
                .events
                .iter()
                .any(|(_, event)| *event == MobileEvent::Forwarding(true))
        );
        let counts = world.routers[from].counts();
        assert!(counts.held > 3, "{counts:?}");
        assert_eq!(counts.held, counts.released);
        assert!(world.stale.is_empty());
        // The router forgets the mobile, and then intercepts nothing.
        world.run_until(at(60_000));
        assert!(!world.routers[from].takes(world.neighbor(from).address));
    }
}

/// Two moves in a row, faster than the home agent learns of the first: the first router's packets reach the second one,
/// which holds them, and arrive through two tunnels.
#[test]
fn what_was_held_follows_over_two_links() {
    let mut world = forwarding_world();
    world.attach(0, 0);
    world.run_until(at(1000));
    world.lost_names = vec!["BU"];
    world.detach(0);
    world.send_down(ip(HOME), 1);
    world.run_until(at(1100));
    world.attach(0, 1);
    // The home router is informed, and its packet is under way.
    world.run_until(at(1145));
    world.detach(0);
    world.run_until(at(1300));
    assert!(world.got.is_empty());
    world.attach(0, 2);
    world.run_until(at(1500));
    assert_eq!(world.got, [1]);
}

/// A mobile that comes back gets the held packets over the link, at the pace, and no packet overtakes them.
#[test]
fn a_mobile_that_comes_back_gets_the_held_packets() {
    let mut world = World::plain().with_buffering_routers(BufferPolicy {
        // 188 B, in the home agent's tunnel, in 10 ms.
        pace: Some(crate::rate::DataRate::from_bits_per_second(150_400)),
        ..POLICY
    });
    world.attach(0, 1);
    world.run_until(at(1000));
    let neighbor = world.neighbor(1);
    let now = world.now();
    world.routers[1].handle_departure(now, neighbor);
    for number in 0..5 {
        world.send_down(ip(HOME), number);
    }
    world.run_until(at(1100));
    assert!(world.got.is_empty());
    let now = world.now();
    world.routers[1].handle_return(now, care_of(1));
    world.send_down(ip(HOME), 5);
    world.run_until(at(1200));
    assert_eq!(world.got, [0, 1, 2, 3, 4, 5]);
}

/// A router forwards only for a mobile whose link went down there, and only to the source of its update.
#[test]
fn a_router_sends_packets_after_nobody_who_is_here() {
    let mut world = forwarding_world();
    world.attach(0, 1);
    world.run_until(at(1000));
    let update = |router: usize| {
        let update = crate::wire::mobility_header::BindingUpdate {
            acknowledge: true,
            home_registration: true,
            lifetime: BindingLifetime::at_most(60),
            ..Default::default()
        };
        let to = link_prefix(router).address_of(Ipv6Addr::from_bits(1 + router as u128));
        let message = MobilityMessage::FastBindingUpdate(update);
        mobility_packet(
            (ip("2001:db8:666::1"), to),
            (Some(care_of(1)), None),
            message,
        )
    };
    let now = world.now();
    assert_eq!(world.routers[1].take_message(now, update(1)), None);
    let (_, answer) = world.routers[1].poll_transmit().expect("an answer");
    let Body::Mobility(message) = answer.body else {
        panic!("an answer");
    };
    let MobilityMessage::FastBindingAcknowledgement(answer) = *message else {
        panic!("an answer");
    };
    assert_eq!(answer.status, BindingStatus::REASON_UNSPECIFIED);
    world.send_down(ip(HOME), 1);
    world.run_until(at(2000));
    assert_eq!(world.got, [1]);
    // Another router ignores the update.
    let now = world.now();
    assert!(world.routers[2].take_message(now, update(1)).is_some());
}

/// No other node can have an address that ends like the mobile's: packets from a new one are accepted although the
/// earlier update is lost. Otherwise they would count as a stranger's.
#[test]
fn packets_from_a_proven_address_do_not_wait_for_the_binding() {
    for (proven, answered, strangers) in [(Some(("2001:db8:300::", 44)), 1, 0), (None, 0, 1)] {
        let mut world = World::new(
            mobile_with(|fleet| fleet.sends_before_acknowledgement = true),
            HomeAgentSettings {
                proven_care_of: proven.map(|(address, length)| prefix(address, length)),
                ..agent_settings()
            },
            subscriber(),
        );
        world.attach(0, 1);
        world.attach(1, 2);
        world.run_until(at(2000));
        world.lost_names = vec!["BU"];
        world.detach(0);
        world.send_up(ip(HOME), 7);
        world.run_until(at(2500));
        assert_eq!(world.answered.len(), answered);
        assert_eq!(world.home_agent.counts().strangers, strangers);
    }
}
