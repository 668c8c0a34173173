//! Minimal and generic routing encapsulation.

use super::*;
use crate::wire::agent_discovery::{AgentDiscovery, AgentFlags};
use crate::wire::mobile_ipv4::{Code, RequestFlags};

pub(super) const FORMS: [Encapsulation; 3] = [
    Encapsulation::IpInIp,
    Encapsulation::Minimal,
    Encapsulation::Generic,
];

pub(super) const BOTH: Encapsulations = Encapsulations {
    minimal: true,
    generic: true,
};

/// Bytes that a tunnel adds (RFC 2003 section 3.1, RFC 2004 section 3.1, RFC 2784 section 2), and the protocol number.
pub(super) fn added(form: Encapsulation) -> (u32, u8) {
    match form {
        Encapsulation::IpInIp => (20, 4),
        Encapsulation::Minimal => (12, 55),
        Encapsulation::Generic => (24, 47),
    }
}

/// Returns a network of agents with these offers, and a mobile that asks for an encapsulation and a reverse tunnel.
fn network(form: Encapsulation, offered: Encapsulations, with_gateway: bool) -> Network {
    let config = MobileNodeConfig {
        policy: PolicyTable::new(Vec::new(), Delivery::ReverseTunnel),
        encapsulation: form,
        ..mobile_config()
    };
    let mut network = Network::with(config, home_agent_config(), with_gateway);
    network.offer(offered);
    network
}

/// Runs until the packets of a flow have arrived. Returns how they appear on links: length and protocol number.
fn forms_on_links(network: &mut Network, number: u32) -> BTreeSet<(u32, u8)> {
    let mut seen = BTreeSet::new();
    network.settle();
    for _ in 0..8 {
        for (_, _, packet) in network.wires.iter_mut() {
            if packet.flow == Some(FlowId(number)) {
                let mut bytes = Vec::new();
                packet.encode(&mut bytes);
                assert_eq!(bytes.len() as u32, packet.wire_length());
                seen.insert((packet.wire_length(), bytes[9]));
            }
        }
        network.run_for(HOP);
    }
    seen
}

/// A datagram of 128 bytes in both directions (RFC 3024 section 1: the reverse tunnel has the same encapsulation).
#[test]
fn tunnels_have_the_requested_encapsulation() {
    for form in FORMS {
        let (length, protocol) = added(form);
        let expected = BTreeSet::from([(128, 17), (128 + length, protocol)]);
        for (link, with_gateway) in [
            (MODEM_LINK, false),
            (FOREIGN_LINKS[0], false),
            (FOREIGN_LINKS[0], true),
        ] {
            let what = format!("{form:?} on {link:?}, gateway {with_gateway}");
            let mut network = network(form, BOTH, with_gateway);
            network.jump_to(link);
            network.run_until(Instant::from_secs(3));
            network.send_data(1);
            assert_eq!(forms_on_links(&mut network, 1), expected, "{what}");
            assert_eq!(network.received(1), 1, "{what}");
            let now = network.now();
            let packet = datagram(HOME_ADDRESS, CORRESPONDENT, 2);
            assert_eq!(network.mobile.send(now, packet), None);
            assert_eq!(forms_on_links(&mut network, 2), expected, "{what}");
            let back = network.at_correspondent.iter();
            let back: Vec<_> = back
                .filter(|packet| packet.flow == Some(FlowId(2)))
                .collect();
            assert_eq!(back.len(), 1, "{what}");
            assert_eq!(back[0].ip.source, IpAddr::V4(HOME_ADDRESS));
        }
    }
}

/// RFC 5944 section 3.6.1.1: through a foreign agent the mobile requests only what the agent advertises; RFC 5944
/// section 3.4: the home agent refuses with 139, and the mobile registers without.
#[test]
fn what_an_agent_does_not_offer_is_not_used() {
    let none = Encapsulations::default();
    for form in [Encapsulation::Minimal, Encapsulation::Generic] {
        let flag = match form {
            Encapsulation::Minimal => 0x10,
            _ => 0x08,
        };
        for (link, at_home, abroad, asked, refused) in [
            (MODEM_LINK, BOTH, none, vec![flag], None),
            (MODEM_LINK, none, none, vec![flag, 0], Some(Code(139))),
            (FOREIGN_LINKS[0], BOTH, none, vec![0], None),
            (FOREIGN_LINKS[0], none, BOTH, vec![flag, 0], Some(Code(139))),
        ] {
            let mut network = network(form, abroad, false);
            network.home_config.encapsulations = at_home;
            network.restart_home();
            network.jump_to(link);
            network.run_until(Instant::from_secs(3));
            let all = network.registrations();
            let from_mobile = all.iter().filter(|(_, from, _)| *from == Node::Mobile);
            let requests = from_mobile.filter_map(|(_, _, content)| match content {
                Content::Request(request) => Some(request.flags.0 & 0x18),
                Content::Reply(_) => None,
            });
            assert_eq!(requests.collect::<Vec<_>>(), asked, "{form:?} on {link:?}");
            let code = network.events.iter().find_map(|(_, event)| match event {
                MobileNodeEvent::Refused { code, .. } => Some(*code),
                _ => None,
            });
            assert_eq!(code, refused, "{form:?} on {link:?}");
            assert_eq!(network.bindings().len(), 1);
            network.send_data(1);
            network.run_for(Duration::from_secs(1));
            assert_eq!(network.received(1), 1);
        }
    }
}

/// RFC 5944 section 2.1.1: the bits M and G.
#[test]
fn agents_advertise_their_encapsulations() {
    for (minimal, generic, flags) in [
        (false, false, 0),
        (true, false, 0x0800),
        (false, true, 0x0400),
        (true, true, 0x0C00),
    ] {
        let offered = Encapsulations { minimal, generic };
        let mut network = network(Encapsulation::IpInIp, offered, false);
        network.signalling.clear();
        for link in [HOME_LINK, FOREIGN_LINKS[0]] {
            network.jump_to(link);
            network.run_for(Duration::from_secs(2));
        }
        let mut senders = BTreeSet::new();
        for sent in &network.signalling {
            if let Body::Icmp(IcmpMessage::AgentDiscovery(message)) = &sent.packet.body
                && let AgentDiscovery::Advertisement(advertisement) = &**message
                && let Some(agent) = &advertisement.mobility_agent
            {
                assert_eq!(agent.flags.0 & 0x0C00, flags);
                senders.insert(agent.flags.contains(AgentFlags::HOME_AGENT));
            }
        }
        assert_eq!(senders.len(), 2, "home agent and foreign agent");
    }
}

/// RFC 2004 section 3: a fragment goes as IP in IP, which every agent accepts.
#[test]
fn a_fragment_does_not_go_in_minimal_encapsulation() {
    let mut network = network(Encapsulation::Minimal, BOTH, false);
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(Instant::from_secs(3));
    let piece = Packet {
        body: Body::Opaque {
            protocol: 17,
            fragment: 0x2000,
            bytes: [0; 64].into(),
        },
        ..datagram(CORRESPONDENT, HOME_ADDRESS, 1)
    };
    network
        .wires
        .send((Node::Home, HOME_LINK, piece.clone()), HOP);
    let expected = BTreeSet::from([(84, 17), (104, 4)]);
    assert_eq!(forms_on_links(&mut network, 1), expected);
    assert_eq!(network.received(1), 1);
}

/// Of two requested, the agent takes one that it offers.
#[test]
fn an_agent_chooses_among_what_is_requested() {
    let choose = |minimal, generic, flags| {
        let offered = Encapsulations { minimal, generic };
        offered.choose(RequestFlags(flags))
    };
    assert_eq!(choose(true, true, 0x18), Some(Encapsulation::Minimal));
    assert_eq!(choose(false, true, 0x18), Some(Encapsulation::Generic));
    assert_eq!(choose(false, true, 0x10), None);
    assert_eq!(choose(true, false, 0x08), None);
    assert_eq!(choose(false, false, 0), Some(Encapsulation::IpInIp));
}
