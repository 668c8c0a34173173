//! Several gateways, and agents with private addresses below them, as in TeleMIP.

use super::*;
use crate::wire::mobile_ipv4::{Code, Extension};
use crate::wire::prefix::Ipv4Prefix;

const GATEWAYS: [Ipv4Addr; 2] = [GATEWAY, Ipv4Addr::new(203, 0, 112, 2)];
const PRIVATE: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 168, 0, 1), Ipv4Addr::new(192, 168, 0, 2)];

fn gateway(address: Ipv4Addr) -> ForeignAgentConfig {
    ForeignAgentConfig {
        address,
        advertising: advertising(&[], 24),
        ..foreign_agent_config(0)
    }
}

/// Returns the settings of two agents below two gateways, and of these.
fn below_gateways() -> Vec<ForeignAgentConfig> {
    let agents = (0..2).map(|place| ForeignAgentConfig {
        gateways: GATEWAYS.to_vec(),
        ..foreign_agent_config(place)
    });
    agents.chain(GATEWAYS.map(gateway)).collect()
}

/// Returns the same with private addresses.
fn domain() -> Vec<ForeignAgentConfig> {
    let mut all = below_gateways();
    for (config, address) in all.iter_mut().zip(PRIVATE) {
        config.address = address;
        config.domain = Ipv4Prefix::new(PRIVATE[0], 16);
    }
    all
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// Lists the requests that the mobile has sent, with their times.
fn requests(network: &Network) -> Vec<(Instant, Content)> {
    let all = network.registrations().into_iter();
    let own = all.filter(|(_, from, _)| *from == Node::Mobile);
    own.map(|(at, _, content)| (at, content)).collect()
}

/// 192.0.2.10 is even, 192.0.2.11 odd: the first gateway and the second.
#[test]
fn the_home_address_decides_on_the_gateway() {
    for (last, gateway) in [(10, GATEWAYS[0]), (11, GATEWAYS[1]), (12, GATEWAYS[0])] {
        let home_address = Ipv4Addr::new(192, 0, 2, last);
        let config = MobileNodeConfig {
            home_address,
            ..mobile_config()
        };
        let mut network = Network::with_agents(config, home_agent_config(), below_gateways());
        network.home.add_mobile(home_address, association(256));
        for agent in &mut network.foreign_configs {
            agent.mobiles = [(home_address, association(300))].into();
        }
        (0..4).for_each(|place| network.restart_foreign(place));
        for link in FOREIGN_LINKS {
            network.jump_to(link);
            network.run_for(Duration::from_secs(3));
            let point = network.registered().expect("registered");
            assert_eq!(
                (point.gateway, point.care_of_address),
                (Some(gateway), gateway)
            );
        }
    }
}

/// Nobody outside learns a private address: not from an IP header (see `Agents::launch`), nor from a message, and all the
/// same packets arrive both ways, also those that the previous agent forwards inside.
#[test]
fn private_addresses_stay_inside() {
    let config = MobileNodeConfig {
        policy: PolicyTable::new(Vec::new(), Delivery::ReverseTunnel),
        ..mobile_config()
    };
    let mut network = Network::with_agents(config, home_agent_config(), domain());
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(2000));
    network.send_data(1);
    network.run_until(at(3000));
    network.jump_to(FOREIGN_LINKS[1]);
    // At the gateway 20 ms later, before the regional request, and 10 ms after that at the previous agent, which then
    // knows where to forward it.
    network.run_until(at(3015));
    network.send_data(2);
    network.run_until(at(6000));
    network.send_data(3);
    let now = network.now();
    let own = datagram(HOME_ADDRESS, CORRESPONDENT, 4);
    assert!(network.mobile.send(now, own).is_none());
    network.settle();
    network.run_until(at(60_000));
    assert_eq!([1, 2, 3].map(|number| network.received(number)), [1, 1, 1]);
    assert_eq!(network.at_correspondent.len(), 1);
    assert_eq!(network.bindings(), [GATEWAYS[0]]);
    let point = network.registered().expect("registered");
    assert_eq!(point.agent, Some(PRIVATE[1]));
    let to_home = network.signalling.iter().filter(|sent| {
        matches!(sent.from, Node::Foreign(_)) && sent.packet.ip.destination == HOME_AGENT
    });
    let mut messages = to_home.map(|sent| Received::from_packet(&sent.packet).unwrap().unwrap());
    // At the beginning, and a renewal.
    assert_eq!(messages.clone().count(), 2);
    assert!(messages.all(|received| {
        let inside = Extension::HierarchicalForeignAgent(PRIVATE[0]);
        let Content::Request(request) = received.message.content else {
            panic!("{:?}", received.message);
        };
        request.care_of_address == GATEWAYS[0] && !received.message.extensions.contains(&inside)
    }));
}

#[test]
fn any_two_messages_may_be_lost_below_two_gateways() {
    let moves = [(0, FOREIGN_LINKS[0]), (2500, FOREIGN_LINKS[1])];
    let make = || Network::with_agents(mobile_config(), home_agent_config(), domain());
    losses::check_all_losses(make, &moves, Some(GATEWAYS[0]));
}

/// Requests after 0, 1 and 3 s get no answer; the one after 7 s goes to the other gateway, which the mobile keeps.
#[test]
fn a_silent_gateway_is_left_for_the_next() {
    let mut all = below_gateways();
    all.remove(2);
    let mut network = Network::with_agents(mobile_config(), home_agent_config(), all);
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(9000));
    let sent = requests(&network);
    let care_of = sent.iter().map(|(_, content)| match content {
        Content::Request(request) => request.care_of_address,
        Content::Reply(_) => panic!("{content:?}"),
    });
    let [first, second] = GATEWAYS;
    assert_eq!(care_of.collect::<Vec<_>>(), [first, first, first, second]);
    assert_eq!(
        sent[3].0.saturating_since(sent[0].0),
        Duration::from_secs(7)
    );
    assert_eq!(network.bindings(), [second]);
    network.jump_to(FOREIGN_LINKS[1]);
    network.run_for(Duration::from_secs(2));
    assert_eq!(network.bindings(), [second]);
    assert_eq!(
        network.registered().expect("registered").gateway,
        Some(second)
    );
}

/// A gateway that falls silent after the registration: three regional requests, then the home agent learns of another.
#[test]
fn a_gateway_may_fall_silent_between_moves() {
    let mut network = Network::with_agents(mobile_config(), home_agent_config(), below_gateways());
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(2000));
    assert_eq!(network.bindings(), [GATEWAYS[0]]);
    network.foreign_configs[2].address = Ipv4Addr::UNSPECIFIED;
    network.jump_to(FOREIGN_LINKS[1]);
    network.run_until(at(12_000));
    assert_eq!(network.bindings(), [GATEWAYS[1]]);
    network.send_data(1);
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.received(1), 1);
}

/// A mobile without an association with gateways asks for the agent's own address, which the home agent could not reach.
#[test]
fn an_agent_of_a_domain_refuses_its_own_address() {
    let config = MobileNodeConfig {
        foreign: None,
        smooth_handoff: false,
        ..mobile_config()
    };
    let mut network = Network::with_agents(config, home_agent_config(), domain());
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(at(2000));
    assert!(network.bindings().is_empty());
    let refused = network.events.iter().any(|(_, event)| {
        matches!(
            event,
            MobileNodeEvent::Refused {
                code: Code::FOREIGN_CARE_OF_ADDRESS,
                ..
            }
        )
    });
    assert!(refused, "{:?}", network.events);
}
