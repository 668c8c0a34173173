//! Arbitrary messages at any agent: no panic, and no binding changes without authentication.

use super::*;
use crate::wire::mobility_header::{
    Authenticator, BindingAcknowledgement, BindingError, BindingErrorStatus, BindingUpdate,
    Ipv4AddressAcknowledgement, Ipv4AddressStatus, Ipv4HomeAddress, NonceIndices, PacketBuffering,
    RoutabilityTest,
};
use crate::wire::neighbor_discovery::{
    NeighborAdvertisement, NeighborDiscovery, NeighborSolicitation, PrefixInformation,
    RouterAdvertisement,
};
use crate::wire::prefix::Prefix;
use proptest::prelude::*;
use proptest::strategy::Strategy as Strategy_;

fn address() -> impl Strategy_<Value = Ipv6Addr> {
    let known = [
        HOME,
        HOME_AGENT,
        CORRESPONDENT,
        BEHIND,
        "2001:db8:301::abc",
        "2001:db8:302::abc",
        "2001:db8:901::1",
        "2001:db8:901::abc",
        "::",
        "ff02::1",
        "fe80::1",
        "fe80::abc",
        "::1",
    ];
    prop_oneof![
        9 => prop::sample::select(known.map(ip).to_vec()),
        1 => any::<u128>().prop_map(Ipv6Addr::from_bits),
    ]
}

/// An address of either version, mostly of IPv6.
fn any_address() -> impl Strategy_<Value = IpAddr> {
    let known = [
        "10.1.0.7",
        "10.2.0.7",
        CORRESPONDENT_V4,
        "0.0.0.0",
        "224.0.0.1",
    ];
    let known = known.map(|text| text.parse().expect("an address"));
    prop_oneof![
        3 => address().prop_map(IpAddr::V6),
        1 => prop::sample::select(known.to_vec()),
    ]
}

fn ipv4_home_address() -> impl Strategy_<Value = Ipv4HomeAddress> {
    let address = prop::sample::select(vec![[10, 1, 0, 0], [10, 2, 0, 0], [0; 4]]);
    (address, 0..64u8, any::<bool>()).prop_map(|(address, prefix_length, asks_for_prefix)| {
        Ipv4HomeAddress {
            address: address.into(),
            prefix_length,
            asks_for_prefix,
        }
    })
}

fn some_prefix() -> impl Strategy_<Value = Ipv6Prefix> {
    (address(), 0..=128u8).prop_filter_map("a prefix", |(address, length)| {
        Ipv6Prefix::new(address, length)
    })
}

fn lifetime() -> impl Strategy_<Value = BindingLifetime> {
    any::<u16>().prop_map(|units| BindingLifetime { units })
}

fn authenticator() -> impl Strategy_<Value = Option<Authenticator>> {
    prop_oneof![
        Just(None),
        any::<[u8; 12]>().prop_map(|data| Some(Authenticator::BindingAuthorization(data))),
        any::<[u8; 12]>().prop_map(|data| Some(Authenticator::MobileHomeAgent {
            security_parameter_index: 300,
            data,
        })),
    ]
}

fn update() -> impl Strategy_<Value = BindingUpdate> {
    (
        (any::<u16>(), any::<[bool; 4]>(), lifetime()),
        (
            prop::option::of(address()),
            prop::option::of((0..9u16, 0..9u16)),
        ),
        (
            prop::collection::vec(some_prefix(), 0..3),
            any::<bool>(),
            authenticator(),
            prop::collection::vec(ipv4_home_address(), 0..3),
        ),
    )
        .prop_map(
            |((sequence, flags, lifetime), (alternate, nonces), rest)| BindingUpdate {
                sequence,
                acknowledge: flags[0],
                home_registration: flags[1],
                mobile_router: flags[2],
                anchor_registration: flags[3],
                lifetime,
                alternate_care_of_address: alternate,
                nonce_indices: nonces.map(|(home, care_of)| NonceIndices { home, care_of }),
                mobile_network_prefixes: rest.0,
                ipv4_home_addresses: rest.3,
                packet_buffering: rest.1.then_some(PacketBuffering::Buffer),
                last_received: rest.1.then_some(u64::from(sequence)),
                path_report: None,
                authenticator: rest.2,
                ..BindingUpdate::default()
            },
        )
}

fn answer() -> impl Strategy_<Value = BindingAcknowledgement> {
    let acknowledgement = ipv4_home_address().prop_map(|one| Ipv4AddressAcknowledgement {
        status: Ipv4AddressStatus(one.prefix_length * 4),
        prefix_length: one.prefix_length,
        address: one.address,
    });
    (
        (any::<u8>(), 0..20u16, any::<bool>()),
        (lifetime(), lifetime(), authenticator()),
        prop::collection::vec(acknowledgement, 0..3),
    )
        .prop_map(
            |((status, sequence, flag), (lifetime, advice, authenticator), ipv4)| {
                BindingAcknowledgement {
                    status: BindingStatus(status),
                    key_management_mobility: false,
                    mobile_router: flag,
                    sequence,
                    lifetime,
                    refresh_advice: flag.then_some(advice),
                    packet_buffering: flag.then_some(PacketBuffering::Buffer),
                    ipv4_acknowledgements: ipv4,
                    nat_detection: None,
                    timestamp: None,
                    authenticator,
                }
            },
        )
}

fn message() -> impl Strategy_<Value = MobilityMessage> {
    let test = (0..9u16, any::<[u8; 8]>()).prop_map(|(nonce_index, cookie)| RoutabilityTest {
        nonce_index,
        cookie,
        keygen_token: cookie,
    });
    prop_oneof![
        Just(MobilityMessage::BindingRefreshRequest),
        Just(MobilityMessage::HomeTestInit { cookie: [1; 8] }),
        Just(MobilityMessage::CareOfTestInit { cookie: [1; 8] }),
        test.clone().prop_map(MobilityMessage::HomeTest),
        test.prop_map(MobilityMessage::CareOfTest),
        update().prop_map(MobilityMessage::BindingUpdate),
        answer().prop_map(MobilityMessage::BindingAcknowledgement),
        prop::option::of(address()).prop_map(|home_address| {
            MobilityMessage::BindingError(BindingError {
                status: BindingErrorStatus::UnknownBinding,
                home_address,
            })
        }),
    ]
}

fn discovery() -> impl Strategy_<Value = NeighborDiscovery> {
    let advertisement = (
        some_prefix(),
        any::<[u32; 2]>(),
        any::<u16>(),
        any::<bool>(),
    );
    prop_oneof![
        address().prop_map(|target| NeighborDiscovery::NeighborSolicitation(
            NeighborSolicitation {
                target,
                source_link_layer_address: None,
            }
        )),
        address().prop_map(|target| NeighborDiscovery::NeighborAdvertisement(
            NeighborAdvertisement {
                target,
                router: false,
                solicited: false,
                overrides: true,
                target_link_layer_address: None,
            }
        )),
        (advertisement, address()).prop_map(|(rest, anchor)| {
            let (prefix, lifetimes, router_lifetime_s, flag) = rest;
            NeighborDiscovery::RouterAdvertisement(RouterAdvertisement {
                anchor_points: vec![AnchorPoint {
                    distance: 1,
                    preference: 15,
                    forms_addresses: true,
                    valid_lifetime_s: lifetimes[0],
                    address: anchor,
                }],
                router_lifetime_s,
                retransmission_time_ms: if flag { lifetimes[0] } else { 0 },
                advertisement_interval_ms: flag.then_some(lifetimes[1]),
                prefixes: vec![PrefixInformation {
                    prefix,
                    on_link: true,
                    autonomous: true,
                    router_address: None,
                    valid_lifetime_s: lifetimes[0],
                    preferred_lifetime_s: lifetimes[1],
                }],
                ..RouterAdvertisement::default()
            })
        }),
    ]
}

/// Returns an advertisement of link 1 with an anchor point.
fn advertisement(anchor: &str) -> Packet {
    let message = RouterAdvertisement {
        router_lifetime_s: 1800,
        prefixes: vec![PrefixInformation {
            prefix: link_prefix(1),
            on_link: true,
            autonomous: true,
            router_address: None,
            valid_lifetime_s: 3600,
            preferred_lifetime_s: 3600,
        }],
        anchor_points: vec![AnchorPoint {
            distance: 1,
            preference: 15,
            forms_addresses: true,
            valid_lifetime_s: 3600,
            address: ip(anchor),
        }],
        ..RouterAdvertisement::default()
    };
    let message = NeighborDiscovery::RouterAdvertisement(message);
    crate::mobility::discovery(ip("fe80::1"), ip("ff02::1"), message)
}

fn body() -> impl Strategy_<Value = Body> {
    let plain = prop_oneof![
        message().prop_map(|message| Body::Mobility(Box::new(message))),
        discovery().prop_map(|message| Body::Icmp(IcmpMessage::NeighborDiscovery(message.into()))),
        Just(datagram(ip(HOME), ip(CORRESPONDENT), 1).body),
        Just(Body::Opaque {
            protocol: 135,
            fragment: 0,
            bytes: Box::new([0; 8])
        }),
    ];
    let extended = (
        plain,
        prop::option::of(address()),
        prop::option::of(address()),
    )
        .prop_map(|(body, home, routing)| extend((home, routing), body));
    extended.prop_recursive(3, 8, 1, |inner| {
        let ends = (any_address(), any_address());
        (inner, ends, any::<u8>()).prop_map(|(body, (source, destination), hops)| {
            let mut packet = crate::mobility::packet(source, destination, body);
            packet.ip.hop_limit = hops;
            packet.ip.dont_fragment = hops % 2 == 0;
            Body::Tunnel(Box::new(packet))
        })
    })
}

fn some_packet() -> impl Strategy_<Value = Packet> {
    let ends = (any_address(), any_address());
    (body(), ends, any::<bool>()).prop_map(|(body, (source, destination), far)| {
        let mut packet = crate::mobility::packet(source, destination, body);
        packet.ip.hop_limit = if far { 64 } else { 255 };
        packet
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// With a secret and proofs required, no forged message moves a binding.
    #[test]
    fn nothing_forged_moves_a_binding(packets in prop::collection::vec(some_packet(), 1..60)) {
        let key = SharedKey { security_parameter_index: 300, key: [3; 20] };
        let mut world = World::new(
            MobileSettings {
                key: Some(key),
                ..mobile_with(|fleet| fleet.optimizes_routes = true)
            },
            agent_settings(),
            Subscriber { key: Some(key), ..subscriber() },
        );
        world.attach(0, 1);
        world.run_until(at(1000));
        world.send_down(ip(HOME), 1);
        world.run_until(at(2000));
        for packet in packets {
            let now = world.now();
            world.home_agent.handle_packet(now, packet.clone());
            world.correspondent.handle_packet(now, packet.clone());
            while world.home_agent.poll_transmit().is_some() {}
            while world.correspondent.poll_transmit().is_some() {}
        }
        prop_assert_eq!(world.home_agent.care_of(ip(HOME)), Some(care_of(1)));
        let bound = world.correspondent.care_of(world.now(), ip(HOME));
        prop_assert_eq!(bound, Some(care_of(1)));
    }

    /// Without a secret anything may be claimed, but nothing breaks, grows or loops.
    #[test]
    fn no_message_breaks_an_agent(
        packets in prop::collection::vec((some_packet(), 0..5000u64), 1..60),
        is_router: bool,
        is_anchored: bool,
    ) {
        let behind = prefix("2001:db8:aaaa::", 48).into();
        let ipv4 = Prefix::new("10.1.0.0".parse().expect("an address"), 16).expect("a length");
        let settings = mobile_with(|fleet| {
            fleet.optimizes_routes = true;
            fleet.configuration = configuration(DuplicateAddressDetection::STANDARD);
            fleet.buffering = Some(BufferingRequest::STUDY_D);
        });
        let router = is_router.then(|| RouterRegistration {
            prefixes: Box::new([behind, ipv4]),
            explicit: true,
        });
        let anchors = is_anchored.then(Box::<AnchorSettings>::default);
        let settings = MobileSettings { router, anchors, ..settings };
        let mut mobile = MobileNode::new(settings, 2, [1; 16]);
        let mut agent = HomeAgent::new(HomeAgentSettings {
            detection: DuplicateAddressDetection::STANDARD,
            ..agent_settings()
        });
        agent.subscribe(Subscriber {
            prefixes: Some(Box::new([behind, ipv4])),
            ..subscriber()
        });
        let mut correspondent = Correspondent::new(ip(CORRESPONDENT), [5; 20], [6; 16]);
        let mut now = at(0);
        mobile.link_up(now, InterfaceId(0));
        // An anchor point, if there is one for the mobile.
        mobile.handle_packet(now, InterfaceId(0), advertisement("2001:db8:901::1"));
        for (packet, wait) in packets {
            now += Duration::from_millis(wait);
            mobile.handle_packet(now, InterfaceId(0), packet.clone());
            mobile.handle_outgoing(now, packet.clone());
            mobile.link_going_down(now, InterfaceId(0));
            agent.handle_packet(now, packet.clone());
            correspondent.handle_packet(now, packet.clone());
            mobile.handle_timeout(now);
            agent.handle_timeout(now);
            correspondent.handle_timeout(now);
            // All due actions have been performed.
            for due in [mobile.poll_timeout(), agent.poll_timeout(), correspondent.poll_timeout()] {
                prop_assert!(due.is_none_or(|due| due > now), "{due:?} {now:?}");
            }
            let mut sent = 0;
            while mobile.poll_transmit().is_some() { sent += 1; }
            while agent.poll_transmit().is_some() { sent += 1; }
            while correspondent.poll_transmit().is_some() { sent += 1; }
            prop_assert!(sent < 50, "{sent}");
            while mobile.poll_received().is_some() {}
        }
    }
}
