//! Several aircraft on one radio network: each has one interface there and gets its own packets, under any mobility
//! protocol.

use super::signals::signals;
use super::*;
use crate::scenario::model::AttachmentPolicy;
use core::net::IpAddr;
use std::sync::Arc;

const AIRCRAFT: usize = 3;

/// Two cells whose base stations are 10 ms from a backbone, as a home agent and the airline are.
const GROUND: &str = r#"
    [links.radio]
    kind = "ldacs1"
    user_rate = "60 kbit/s"
    errors = "none"
    [links.radio.cells.west]
    node = "west"
    position = { latitude = 0, longitude = 0 }
    [links.radio.cells.east]
    node = "east"
    position = { latitude = 0, longitude = 3.147615 }
    [links.west-ground]
    between = ["west", "backbone"]
    kind = "wired"
    [links.east-ground]
    between = ["east", "backbone"]
    kind = "wired"
    [links.home-ground]
    between = ["home", "backbone"]
    kind = "wired"
    [links.airline-ground]
    between = ["airline", "backbone"]
    kind = "wired"
"#;

const IPV6: &str = "home_agents.home = { prefix = \"2001:db8:1::/64\", duplicate_address_detection = \"unique-prefix\" }\n";
const IPV4: &str = "home_agents.home = { prefix = \"192.0.2.0/24\" }\n";

/// Returns the keys of a mobile node of Mobile IPv6 or NEMO, with further ones.
fn ipv6(protocol: &str, keys: &str) -> String {
    format!(
        "mobility = {{ protocol = \"{protocol}\", home_agent = \"home\", duplicate_address_detection = \"icao-address\"{keys} }}\n"
    )
}

fn ipv4(care_of: &str) -> String {
    format!(
        "mobility = {{ protocol = \"mobile-ipv4\", home_agent = \"home\", care_of_address = \"{care_of}\" }}\n"
    )
}

/// Returns aircraft from west to east that cross the border one after the other, from about 20 s on, each with a
/// datagram of its own every 100 ms in both directions until 100 s; `mobility` holds the keys of each one's protocol.
fn fleet(mobility: impl Fn(usize) -> String, more: &str) -> String {
    let mut text = more.to_owned() + GROUND;
    for n in 0..AIRCRAFT {
        let behind = mobility(n).contains("nemo");
        let begin = 1.55 - 0.02 * n as f64;
        text += &format!(
            "[mobiles.a{n}]\ntimetable = [{{ at = \"0 s\", attach = \"radio\" }}]\n{}\
             track = {{ legs = [{{ latitude = 0, longitude = {begin} }}, {{ latitude = 0, longitude = 3 }}], speed = \"800 km/h\" }}\n",
            mobility(n)
        );
        if behind {
            text +=
                &format!("[links.cabin{n}]\nbetween = [\"a{n}\", \"seat{n}\"]\nkind = \"wired\"\n");
        }
        let end = if behind {
            format!("seat{n}")
        } else {
            format!("a{n}")
        };
        for (name, from, to) in [("down", "airline", &*end), ("up", &*end, "airline")] {
            text += &format!(
                "[[flows]]\nname = \"{name}{n}\"\nfrom = \"{from}\"\nto = \"{to}\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\n\
                 traffic.rate = \"8 kbit/s\"\ntraffic.packet_size = \"100 B\"\nstart = \"5 s\"\nstop = \"100 s\"\n"
            );
        }
    }
    scenario(105, &[&text])
}

/// Checks that each aircraft has changed its cell and received its own datagrams alone, except those at the moment of
/// the handover.
fn check(results: &Results) {
    check_but_for(results, 40);
}

/// Checks the results, except that so many datagrams each way may be lost.
fn check_but_for(results: &Results, lost: u64) {
    for n in 0..AIRCRAFT {
        let mut own = results.summary.handovers.iter();
        let own = own.find(|handover| handover.mobile == format!("a{n}"));
        let own = own.unwrap_or_else(|| panic!("no handover of a{n}"));
        let to = own.to.as_deref();
        assert_eq!(to, Some(format!("radio.east.a{n}").as_str()));
        assert!(own.completed_s.is_some(), "a{n} is not reachable");
        for name in ["down", "up"] {
            let flow = flow(&results.summary, &format!("{name}{n}"));
            let most = 950 * 100;
            assert!(
                (most - lost * 100..=most).contains(&flow.delivered_bytes),
                "{name}{n}: {} of {most}",
                flow.delivered_bytes
            );
        }
    }
    for row in packets(results) {
        let aircraft = row.link.rsplit_once('.');
        if let (Some((_, aircraft)), false) = (aircraft, row.flow.is_empty()) {
            let ends = |name: &str| name.chars().last();
            assert_eq!(ends(&row.flow), ends(aircraft), "{row:?}");
        }
    }
}

#[test]
fn without_a_protocol_routes_follow_each_aircraft() {
    let results = run(&fleet(|_| String::new(), ""));
    check(&results);
    let lost = |n: usize| flow(&results.summary, &format!("down{n}")).lost_packets;
    // About 0.3 s of each.
    assert!((0..AIRCRAFT).all(|n| (1..=6).contains(&lost(n))));
}

#[test]
fn mobile_ipv6_and_nemo_reach_each_aircraft_in_the_same_cell() {
    let network = |n: usize| format!(", network_prefix = \"2001:db8:2:{n}::/64\"");
    check(&run(&fleet(|_| ipv6("mobile-ipv6", ""), IPV6)));
    check(&run(&fleet(|n| ipv6("nemo", &network(n)), IPV6)));
    for keys in [
        ", advertisements = \"frequent\"",
        ", advertisements = \"seldom\"",
        ", access_router_buffering = { size = \"64 kB\" }",
        ", access_router_buffering = {}, fast_handovers = \"predictive\"",
        ", multicast_buffering = { size = \"16 kB\" }",
        ", mih = { point_of_service = \"home\" }",
    ] {
        check(&run(&fleet(|_| ipv6("mobile-ipv6", keys), IPV6)));
    }
}

/// A radio network with the P-bit tells an aircraft its next cell, whose care-of address the aircraft announces.
#[test]
fn an_aircraft_announces_its_next_cell() {
    let bicasting = IPV6.replace(" }", ", bicasting = \"10 s\" }");
    let keys = ", predictive_binding_updates = true";
    let text = fleet(|_| ipv6("mobile-ipv6", keys), &bicasting);
    let text = text.replace("user_rate = \"60", "packet_bit = true\nuser_rate = \"16");
    let results = run(&text);
    // The datagrams in their tunnels fill that rate, so that the base station always has some.
    check_but_for(&results, 100);
    let rows = signals(&results);
    for n in 0..AIRCRAFT {
        let name = format!("a{n}");
        let of = |event: &str, since: f64| {
            let mut own = rows.iter().filter(|row| row.sent_s >= since);
            let found = own.find(|row| row.sender == name && row.name == event);
            found.map(|row| row.sent_s)
        };
        let announced = of("Move Announced", 0.0).unwrap_or_else(|| panic!("{name} is silent"));
        let arrived = of("Link_Up", announced).expect("a new cell");
        let registered = of("Registered", announced).expect("a registration");
        assert!(of("Binding Update", announced).is_none_or(|sent| sent > registered));
        // Only the base station's advertisement is between.
        assert!(
            (arrived..arrived + 0.5).contains(&registered),
            "{arrived} {registered}"
        );
    }
}

#[test]
fn mobile_ipv4_reaches_each_aircraft_by_any_care_of_address() {
    let agents = IPV4.to_owned() + "foreign_agents = { west = {}, east = {} }\n";
    check(&run(&fleet(|_| ipv4("foreign-agent"), &agents)));
    check(&run(&fleet(|_| ipv4("known"), IPV4)));
    // A client waits for up to ten seconds before it asks (RFC 2131 section 4.4.1).
    check_but_for(&run(&fleet(|_| ipv4("dhcp"), IPV4)), 150);
}

/// Packets that are held for one aircraft are not sent to another that comes or goes meanwhile, and none of them is lost.
#[test]
fn a_base_station_s_and_an_access_router_s_buffers_keep_aircraft_apart() {
    let kept = fleet(|_| String::new(), "");
    let kept = kept.replace("user_rate", "base_station_buffering = true\nuser_rate");
    let results = run(&kept);
    check(&results);
    let held = run(&fleet(
        |_| {
            ipv6(
                "mobile-ipv6",
                ", access_router_buffering = { size = \"64 kB\" }",
            )
        },
        IPV6,
    ));
    for results in [results, held] {
        for n in 0..AIRCRAFT {
            let lost = flow(&results.summary, &format!("down{n}")).lost_packets;
            assert!(lost <= 3, "a{n} lost {lost}");
        }
    }
}

/// Among aircraft with protocols there may be one without, and one of the other version of IP.
#[test]
fn different_protocols_share_a_cell() {
    let agents = "home_agents.home = { prefix = \"2001:db8:1::/64\", duplicate_address_detection = \"unique-prefix\" }\n\
         home_agents.backbone = { prefix = \"192.0.2.0/24\" }\nforeign_agents.east = {}\n";
    let mobility = |n: usize| match n {
        0 => ipv6("mobile-ipv6", ""),
        1 => ipv4("foreign-agent").replace("\"home\"", "\"backbone\""),
        _ => String::new(),
    };
    check(&run(&fleet(mobility, agents)));
}

/// The satellite carries the packets that the radio cannot: out of reach, and back.
#[test]
fn each_protocol_fails_over_to_a_satellite_and_back() {
    let agents = IPV4.to_owned() + "foreign_agents = { west = {}, east = {} }\n";
    for (mobility, agents) in [
        (String::new(), ""),
        (ipv6("mobile-ipv6", ""), IPV6),
        (ipv4("known"), IPV4),
        (ipv4("foreign-agent"), &agents),
    ] {
        let satellite = "[links.satellite]\nbetween = [\"backbone\", \"a\"]\nkind = \"geo\"\n";
        // 5 km a second: over the radius of 225 km after 5 s, out of reach at 470 km, and back.
        let text = format!(
            "{agents}{GROUND}{satellite}[mobiles.a]\nfailback = {{ prefer = [\"radio\", \"satellite\"] }}\n{mobility}\
             track = {{ legs = [{{ latitude = 0, longitude = -1.798642 }}, {{ latitude = 0, longitude = -4.496605 }}, {{ latitude = 0, longitude = 0 }}], speed = \"18000 km/h\" }}\n\
             [[flows]]\nname = \"down\"\nfrom = \"airline\"\nto = \"a\"\ntransport = \"udp\"\ntraffic.kind = \"constant\"\n\
             traffic.rate = \"8 kbit/s\"\ntraffic.packet_size = \"100 B\"\nstart = \"5 s\"\nstop = \"145 s\"\n"
        );
        let results = run(&scenario(150, &[&text]));
        let handovers = results.summary.handovers.iter();
        let ways: Vec<_> = handovers
            .map(|one| (one.to.as_deref().unwrap_or(""), one.completed_s.is_some()))
            .collect();
        let wanted = [("satellite", true), ("radio.west.a", true)];
        assert_eq!(ways, wanted, "{mobility}");
        let delivered = flow(&results.summary, "down").delivered_bytes;
        assert!(delivered > 1380 * 100, "{mobility}: {delivered}");
    }
}

/// An aircraft makes its address of the cell's prefix and its own identifier, and learns of both routers over one interface.
#[test]
fn a_cell_has_one_prefix_and_an_aircraft_one_interface() {
    let text = fleet(|_| ipv6("mobile-ipv6", ""), IPV6);
    let world = unrecorded(&text);
    let scenario = world.scenario();
    let care_of = |number: usize, cell: usize| {
        let link = scenario.radios[0].first_link.0 + number * 2 + cell;
        match world.care_of(number, link) {
            Some(IpAddr::V6(address)) => (address.to_bits() >> 64, address.to_bits() as u64),
            other => panic!("{other:?}"),
        }
    };
    for number in 0..AIRCRAFT {
        for cell in 0..2 {
            let (prefix, identifier) = care_of(number, cell);
            assert_eq!(prefix, care_of(0, cell).0);
            assert_eq!(identifier, care_of(number, 0).1);
            assert_eq!(identifier == care_of(0, 0).1, number == 0);
        }
        assert_ne!(care_of(number, 0).0, care_of(number, 1).0);
        let node = &world.net.nodes[scenario.mobiles[number].node.0];
        assert_eq!(node.interfaces.len(), 1);
    }
    let station = scenario.radios[0].stations[0].node.0;
    assert_eq!(world.net.nodes[station].interfaces.len(), 2);
}

/// With others in the cell, only an arriving aircraft gets the advertisement: advertisements do not grow with the
/// square of the fleet.
#[test]
fn an_advertisement_for_one_does_not_go_to_all() {
    let results = run(&fleet(|_| ipv6("mobile-ipv6", ""), IPV6));
    let rows = signals(&results);
    let begun: Vec<f64> = (0..AIRCRAFT)
        .map(|n| {
            let mut own = rows.iter();
            let up = own.find(|row| {
                row.name == "Link_Up" && row.sent_s > 1.0 && row.link == format!("radio.east.a{n}")
            });
            up.expect("it changes").sent_s
        })
        .collect();
    for at in begun {
        let told = rows
            .iter()
            .filter(|row| row.name == "Router Advertisement" && row.sent_s == at);
        assert_eq!(told.count(), 1);
    }
}

/// Results name and number the link of each aircraft to each cell, whichever it has used.
#[test]
fn results_tell_of_links_by_aircraft_and_cell() {
    let results = run(&fleet(|_| String::new(), ""));
    let attached = |n: usize| series(&results, &format!("mobile a{n}"), "attached link");
    for n in 0..AIRCRAFT {
        // Four links on the ground come first.
        let numbers: Vec<f64> = attached(n).iter().map(|&(_, link)| link).collect();
        assert_eq!(numbers, [4.0 + 2.0 * n as f64, 5.0 + 2.0 * n as f64]);
        for cell in ["west", "east"] {
            let queue = series(
                &results,
                &format!("link radio.{cell}.a{n} down"),
                "queue bytes",
            );
            assert!(queue.iter().any(|&(_, bytes)| bytes > 0.0));
        }
    }
}

/// A million aircraft over ten thousand cells have more links than four bytes can count.
#[test]
fn links_with_large_numbers_give_the_same_results() {
    let text = fleet(|_| ipv6("mobile-ipv6", ""), IPV6);
    let told = |further: usize| {
        let mut loaded = scenario::parse(&text, "test", Path::new("."), &[]).unwrap();
        let first = &mut loaded.scenario.radios[0].first_link;
        first.0 += further;
        for mobile in &mut loaded.scenario.mobiles {
            let AttachmentPolicy::Timetable(entries) = &mut mobile.attachment else {
                panic!("{:?}", mobile.attachment);
            };
            Arc::make_mut(entries)[0].link = Some(*first);
        }
        let mut run = Run::new(loaded, &RunOptions::default()).unwrap();
        while !run.advance().unwrap() {}
        let results = run.finish(None).unwrap();
        let links: Vec<String> = packets(&results).into_iter().map(|row| row.link).collect();
        (serde_json::to_value(&results.summary).unwrap(), links)
    };
    let (summary, links) = told((1 << 32) + 1);
    assert!(links.iter().any(|link| link == "radio.east.a2"));
    assert_eq!((summary, links), told(0));
}

#[test]
fn a_cell_is_the_home_link_of_all_mobiles_of_its_home_agent_or_of_none() {
    let agent = IPV6.replace("home_agents.home", "home_agents.west");
    let mobility = |home: [&'static str; AIRCRAFT]| {
        move |n: usize| ipv6("mobile-ipv6", home[n]).replace("\"home\"", "\"west\"")
    };
    let parsed = |home| {
        let text = fleet(mobility(home), &agent);
        scenario::parse(&text, "test", Path::new(""), &[]).map(|_| ())
    };
    let at_home = ", home_link = \"radio.west\"";
    assert!(parsed([at_home; AIRCRAFT]).is_ok());
    let error = parsed([at_home, at_home, ""]).unwrap_err().to_string();
    let wanted = "mobiles.a2.mobility.home_link: is not \"radio.west\", the home link of \"a0\"";
    assert!(error.contains(wanted), "{error}");
    check(&run(&fleet(mobility([at_home; AIRCRAFT]), &agent)));
}
