use super::detection::valid_until;
use super::*;
use crate::packet::Body;
use crate::wire::icmp::IcmpMessage;
use core::net::IpAddr;
use core::num::NonZeroU8;

fn ip(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn prefix(text: &str) -> Ipv6Prefix {
    Ipv6Prefix::new(ip(text), 64).expect("a length")
}

const ROUTER: &str = "fe80::1";

fn interface(detection: DuplicateAddressDetection) -> AddressConfiguration {
    let settings = ConfigurationSettings {
        detection,
        times: ConfigurationTimes::default(),
        home_prefix: Some(prefix("2001:db8:100::")),
    };
    let identifier = icao_interface_identifier(0x3C_6481);
    AddressConfiguration::new(identifier, settings.into(), Draws::new([1; 16]))
}

fn advertisement(network: &str) -> RouterAdvertisement {
    RouterAdvertisement {
        router_lifetime_s: 1800,
        prefixes: vec![PrefixInformation {
            prefix: prefix(network),
            on_link: true,
            autonomous: true,
            router_address: None,
            valid_lifetime_s: 2_592_000,
            preferred_lifetime_s: 604_800,
        }],
        ..RouterAdvertisement::default()
    }
}

fn hear(one: &mut AddressConfiguration, now: Instant, message: RouterAdvertisement) {
    let message = NeighborDiscovery::RouterAdvertisement(message);
    one.handle_discovery(now, (ip(ROUTER), true), &message);
}

/// Runs until `end`. Returns each message's time, kind, source and destination.
fn run(one: &mut AddressConfiguration, end: Instant) -> Vec<(u64, &'static str, IpAddr, IpAddr)> {
    let mut sent = Vec::new();
    let mut now = at(0);
    loop {
        while let Some(packet) = one.poll_transmit() {
            let kind = match &packet.body {
                Body::Icmp(IcmpMessage::NeighborDiscovery(message)) => match **message {
                    NeighborDiscovery::RouterSolicitation(_) => "RS",
                    NeighborDiscovery::NeighborSolicitation(_) => "NS",
                    NeighborDiscovery::NeighborAdvertisement(_) => "NA",
                    NeighborDiscovery::RouterAdvertisement(_) => "RA",
                    NeighborDiscovery::ProxySolicitation(_)
                    | NeighborDiscovery::ProxyAdvertisement(_) => "other",
                },
                Body::Icmp(IcmpMessage::MulticastListenerReport(_)) => "MLD",
                _ => "other",
            };
            let milliseconds = now.as_nanos() / 1_000_000;
            sent.push((milliseconds, kind, packet.ip.source, packet.ip.destination));
        }
        match one.poll_timeout().filter(|&due| due <= end) {
            Some(due) => now = due,
            None => return sent,
        }
        one.handle_timeout(now);
        assert!(one.poll_timeout().is_none_or(|due| due > now));
    }
}

fn of<'a>(
    sent: &'a [(u64, &'static str, IpAddr, IpAddr)],
    kind: &'a str,
) -> impl Iterator<Item = u64> + 'a {
    sent.iter()
        .filter(move |one| one.1 == kind)
        .map(|one| one.0)
}

/// Figure 5 of study D: forty zero bits and the ICAO address. Appendix A of RFC 4291 for Ethernet.
#[test]
fn interface_identifiers() {
    assert_eq!(icao_interface_identifier(0x3C_6481), 0x0000_0000_003C_6481);
    assert_eq!(icao_interface_identifier(0xFF3C_6481), 0x3C_6481);
    let ethernet = [0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE];
    assert_eq!(
        ethernet_interface_identifier(ethernet),
        0x3656_78FF_FE9A_BCDE
    );
}

/// RFC 4861 section 6.3.7: after a random delay below 1 s three solicitations, 4 s apart; from `::` until the
/// link-local address is ready.
#[test]
fn a_router_is_asked_for_three_times() {
    let mut one = interface(DuplicateAddressDetection::STANDARD);
    one.link_up(at(0));
    let sent = run(&mut one, at(60_000));
    let asked: Vec<u64> = of(&sent, "RS").collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[0] < 1000);
    assert_eq!(asked[1..], [asked[0] + 4000, asked[0] + 8000]);
    let sources: Vec<IpAddr> = sent
        .iter()
        .filter(|one| one.1 == "RS")
        .map(|one| one.2)
        .collect();
    assert_eq!(sources[0], IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    assert_eq!(sources[1], IpAddr::V6(ip("fe80::3c:6481")));
    assert_eq!(one.attachment(), Attachment::None);
    assert_eq!(one.poll_timeout(), None);
}

/// RFC 4862 section 5.4.2 and RFC 3810 section 6.1: report, solicitation, a second without an answer, and the report
/// again within a second.
#[test]
fn an_address_is_ready_a_second_after_its_solicitation() {
    let mut one = interface(DuplicateAddressDetection::STANDARD);
    one.link_up(at(0));
    run(&mut one, at(5000));
    hear(&mut one, at(10_000), advertisement("2001:db8:1::"));
    let sent = run(&mut one, at(20_000));
    let probes: Vec<u64> = of(&sent, "NS").collect();
    assert_eq!(probes.len(), 1);
    assert!((10_000..11_000).contains(&probes[0]));
    let to = IpAddr::V6(ip("ff02::1:ff3c:6481"));
    assert!(sent.iter().all(|one| one.1 != "NS" || one.3 == to));
    assert_eq!(
        one.attachment(),
        Attachment::Away(ip("2001:db8:1::3c:6481"))
    );
    let ready = one.poll_event();
    assert_eq!(ready, Some(ConfigurationEvent::Attached(one.attachment())));
    // The advertisement has ended the solicitations.
    assert_eq!(of(&sent, "RS").count(), 0);
}

#[test]
fn every_solicitation_that_was_chosen_is_sent_a_retransmission_time_apart() {
    let three = NonZeroU8::new(3).expect("not zero");
    let mut one = interface(DuplicateAddressDetection::Perform { transmits: three });
    one.link_up(at(0));
    let slow = RouterAdvertisement {
        retransmission_time_ms: 1500,
        ..advertisement("2001:db8:1::")
    };
    hear(&mut one, at(0), slow);
    let sent = run(&mut one, at(10_000));
    let probes: Vec<u64> = of(&sent, "NS").collect();
    // Two addresses, both probed once the link's first message may go.
    let first = probes[0];
    let expected: Vec<u64> = [0, 0, 1500, 1500, 3000, 3000]
        .map(|later| first + later)
        .into();
    assert_eq!(probes, expected);
    // One group for both, reported twice, the second time within a second.
    let reports: Vec<u64> = of(&sent, "MLD").collect();
    assert_eq!((reports.len(), reports[0]), (2, first));
    assert!(reports[1] - first < 1000);
}

#[test]
fn an_address_that_is_unique_is_ready_at_once() {
    let unique = DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress);
    let mut one = interface(unique);
    one.link_up(at(0));
    hear(&mut one, at(0), advertisement("2001:db8:1::"));
    assert_eq!(
        one.attachment(),
        Attachment::Away(ip("2001:db8:1::3c:6481"))
    );
    let sent = run(&mut one, at(10_000));
    assert_eq!(of(&sent, "NS").count(), 0);
    assert_eq!(of(&sent, "MLD").next(), Some(0));
}

/// RFC 4862 section 5.4.3: an advertisement of the address, or another node's probe for it.
#[test]
fn an_address_that_somebody_has_is_not_used() {
    let target = ip("2001:db8:1::3c:6481");
    let claim = NeighborDiscovery::NeighborAdvertisement(NeighborAdvertisement {
        target,
        router: false,
        solicited: false,
        overrides: true,
        target_link_layer_address: None,
    });
    let test = NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
        target,
        source_link_layer_address: None,
    });
    for (source, message) in [(target, claim), (Ipv6Addr::UNSPECIFIED, test)] {
        let mut one = interface(DuplicateAddressDetection::STANDARD);
        one.link_up(at(0));
        hear(&mut one, at(0), advertisement("2001:db8:1::"));
        run(&mut one, at(900));
        one.handle_discovery(at(950), (source, true), &message);
        run(&mut one, at(10_000));
        hear(&mut one, at(10_000), advertisement("2001:db8:1::"));
        run(&mut one, at(20_000));
        assert_eq!(one.attachment(), Attachment::None);
        assert_eq!(
            one.poll_event(),
            Some(ConfigurationEvent::Duplicate(target))
        );
    }
}

#[test]
fn an_address_that_is_in_use_is_defended() {
    let unique = DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress);
    let mut one = interface(unique);
    one.link_up(at(0));
    hear(&mut one, at(0), advertisement("2001:db8:1::"));
    run(&mut one, at(5000));
    let target = ip("2001:db8:1::3c:6481");
    let test = NeighborDiscovery::NeighborSolicitation(NeighborSolicitation {
        target,
        source_link_layer_address: None,
    });
    one.handle_discovery(at(6000), (Ipv6Addr::UNSPECIFIED, true), &test);
    let answer = one.poll_transmit().expect("an answer");
    assert_eq!(answer.ip.destination, IpAddr::V6(ALL_NODES));
    assert_eq!(one.attachment(), Attachment::Away(target));
}

#[test]
fn the_home_link_is_known_by_its_prefix() {
    let mut one = interface(DuplicateAddressDetection::STANDARD);
    one.link_up(at(0));
    hear(&mut one, at(0), advertisement("2001:db8:100::"));
    assert_eq!(one.attachment(), Attachment::Home);
}

/// RFC 6275 section 11.5.1: three missing advertisement intervals, or the end of the router lifetime.
#[test]
fn a_router_that_falls_silent_is_left() {
    let unique = DuplicateAddressDetection::NotNeeded(Uniqueness::IcaoAddress);
    for (interval, gone) in [(Some(70), 210), (None, 1_800_000)] {
        let mut one = interface(unique);
        one.link_up(at(0));
        let message = RouterAdvertisement {
            advertisement_interval_ms: interval,
            ..advertisement("2001:db8:1::")
        };
        hear(&mut one, at(0), message);
        run(&mut one, at(gone - 1));
        assert_ne!(one.attachment(), Attachment::None);
        let sent = run(&mut one, at(gone + 100));
        assert_eq!(one.attachment(), Attachment::None);
        assert_eq!(of(&sent, "RS").collect::<Vec<_>>(), [gone]);
    }
    // Another router heard meanwhile takes its place.
    let mut one = interface(unique);
    one.link_up(at(0));
    let short = RouterAdvertisement {
        router_lifetime_s: 10,
        ..advertisement("2001:db8:1::")
    };
    hear(&mut one, at(0), short);
    let other = NeighborDiscovery::RouterAdvertisement(advertisement("2001:db8:2::"));
    one.handle_discovery(at(5000), (ip("fe80::2"), true), &other);
    assert_eq!(
        one.attachment(),
        Attachment::Away(ip("2001:db8:1::3c:6481"))
    );
    run(&mut one, at(11_000));
    assert_eq!(
        one.attachment(),
        Attachment::Away(ip("2001:db8:2::3c:6481"))
    );
}

/// RFC 4862 section 5.5.3 e, case by case.
#[test]
fn a_lifetime_is_not_cut_below_two_hours() {
    let hours = |hours: u64| Instant::from_secs(hours * 3600);
    let now = hours(10);
    let until = |known, lifetime| valid_until(now, known, lifetime);
    assert_eq!(until(None, 60), now + Duration::from_secs(60));
    assert_eq!(until(Some(hours(15)), 3 * 3600), hours(13));
    assert_eq!(
        until(Some(hours(11)), 5400),
        now + Duration::from_secs(5400)
    );
    assert_eq!(until(Some(hours(11)), 60), hours(11));
    assert_eq!(until(Some(hours(15)), 60), hours(12));
    assert_eq!(until(Some(hours(15)), u32::MAX), Instant::NEVER);
}
