//! Copies at the foreign agent, and the names of packets that the mobile has received. The mobile is at the first agent
//! from 0 ms on, leaves at 1500 ms and arrives at the second one at 1600 ms. A datagram with number n, from 1000 + 5n ms on,
//! is at the agent 20 ms later. The update, after solicitation, advertisement and request, is at the first agent at 1640
//! ms, and the request at the home agent.

use super::*;
use crate::mobility::buffering::{BufferPolicy, Overflow};
use crate::packet::PacketName;
use crate::testing::at;
use crate::wire::mobile_ipv4::{
    AuthenticationKind, Code, Extension, Message, Purpose, Request, RequestFlags,
};

/// Length of a datagram of these tests in bytes.
const DATAGRAM: u32 = 128;

fn policy(bytes: u32, age: Duration) -> BufferPolicy {
    BufferPolicy {
        bytes,
        age,
        overflow: Overflow::DropOldest,
        pace: None,
        drop_duplicates: false,
    }
}

pub(super) fn roomy() -> BufferPolicy {
    policy(64_000, Duration::from_secs(30))
}

fn with_copies(policy: BufferPolicy, names_received: bool) -> Network {
    let config = MobileNodeConfig {
        names_received,
        ..mobile_config()
    };
    let mut network = Network::with(config, home_agent_config(), false);
    for agent in &mut network.foreign {
        agent.keep_copies(policy);
    }
    network.jump_to(FOREIGN_LINKS[0]);
    network
}

/// Streams for a second with the move. Returns how often each datagram arrived.
fn stream(network: &mut Network) -> Vec<usize> {
    for number in 0..200 {
        let now = 1000 + 5 * u64::from(number);
        network.run_until(at(now));
        match now {
            1500 => network.detach_all(),
            1600 => network.attach(FOREIGN_LINKS[1], CareOf::ForeignAgent),
            _ => {}
        }
        network.send_data(number);
    }
    network.run_until(at(4000));
    (0..200).map(|number| network.received(number)).collect()
}

/// Lists the numbers of the datagrams that did not arrive.
fn lost(times: &[usize]) -> Vec<usize> {
    let all = times.iter().enumerate();
    all.filter(|(_, times)| **times == 0)
        .map(|(number, _)| number)
        .collect()
}

#[test]
fn none_is_lost_and_none_comes_twice() {
    let mut network = with_copies(roomy(), true);
    assert_eq!(stream(&mut network), vec![1; 200]);
    // Numbers 0 to 94 had arrived at 1500 ms; 95 to 123 waited at 1640 ms.
    let counts = network.foreign[0].buffered();
    assert_eq!(
        (counts.held, counts.duplicates, counts.released),
        (124, 95, 29)
    );
}

/// Without names the agent forwards all copies.
#[test]
fn without_names_all_come_again() {
    let mut network = with_copies(roomy(), false);
    let times = stream(&mut network);
    assert_eq!(times[..95], [2; 95]);
    assert_eq!(times[95..], [1; 105]);
}

/// Of 95 to 123, which wait at 1640 ms, a buffer for ten keeps the last ten. One for 50 ms keeps what came after 1590.
#[test]
fn copies_are_bounded_in_bytes_and_age() {
    let mut network = with_copies(policy(10 * DATAGRAM, Duration::from_secs(30)), true);
    assert_eq!(lost(&stream(&mut network)), (95..=113).collect::<Vec<_>>());
    assert_eq!(network.foreign[0].buffered().most_bytes, 10 * DATAGRAM);
    let mut network = with_copies(policy(64_000, Duration::from_millis(50)), true);
    assert_eq!(lost(&stream(&mut network)), (95..=114).collect::<Vec<_>>());
}

/// At one datagram in 2 ms, 29 take 58 ms; those that come meanwhile wait behind them.
#[test]
fn a_pace_keeps_the_order() {
    let pace = crate::rate::DataRate::from_bits_per_second(u64::from(DATAGRAM) * 8 * 500);
    let mut network = with_copies(
        BufferPolicy {
            pace: Some(pace),
            ..roomy()
        },
        true,
    );
    assert_eq!(stream(&mut network), vec![1; 200]);
    let from_old = network.delivered.iter().filter_map(|(time, _, packet)| {
        let number = packet.flow?.0;
        (95..=123).contains(&number).then_some((number, *time))
    });
    // 1640 ms, and 20 to the mobile.
    let expected = (95..=123).map(|number| (number, at(1660 + 2 * u64::from(number - 95))));
    assert_eq!(from_old.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// Any message may be lost: then a datagram may not come, but none comes twice, and the mobile is reached again.
#[test]
fn no_loss_of_two_messages_duplicates() {
    let run = |lost: &[usize]| {
        let mut network = with_copies(roomy(), true);
        network.lost = lost.iter().copied().collect();
        let times = stream(&mut network);
        assert!(times.iter().all(|&times| times <= 1), "lost: {lost:?}");
        let counted = network.signalling.len();
        network.run_for(Duration::from_secs(25));
        network.send_data(300);
        network.run_for(Duration::from_secs(1));
        assert_eq!(network.received(300), 1, "lost: {lost:?}");
        counted
    };
    lose_any_two(run);
}

/// The mobile goes there and back: the copies of each stay are for that stay.
#[test]
fn a_mobile_may_come_back() {
    let mut network = with_copies(roomy(), true);
    network.run_until(at(1000));
    for number in 0..400 {
        let now = 1000 + 5 * u64::from(number);
        network.run_until(at(now));
        match now {
            1500 | 2000 => network.detach_all(),
            1600 => network.attach(FOREIGN_LINKS[1], CareOf::ForeignAgent),
            2100 => network.attach(FOREIGN_LINKS[0], CareOf::ForeignAgent),
            _ => {}
        }
        network.send_data(number);
    }
    network.run_until(at(5000));
    let times: Vec<usize> = (0..400).map(|number| network.received(number)).collect();
    assert_eq!(times, vec![1; 400]);
}

/// The update's authenticator covers the names.
#[test]
fn changed_names_are_refused() {
    let name = |identification| PacketName {
        source: CORRESPONDENT,
        identification,
    };
    for (changed, code) in [
        (false, Code::ACCEPTED),
        (true, Code::FOREIGN_MOBILE_AUTHENTICATION),
    ] {
        let mut network = with_copies(roomy(), true);
        network.run_until(at(1000));
        network.send_data(5);
        network.run_until(at(1100));
        let now = network.now();
        let mut update = Message::from(Request {
            purpose: Purpose::Handoff,
            flags: RequestFlags(0),
            lifetime: 10,
            home_address: HOME_ADDRESS,
            agent: FOREIGN_AGENTS[0],
            care_of_address: FOREIGN_AGENTS[1],
            identification: Clock::default().timestamp(now),
        });
        let names = Extension::ReceivedPackets([name(6)].into());
        update.extensions.push(names);
        update.sign(AuthenticationKind::MobileForeign, &association(300));
        if changed {
            update.extensions[0] = Extension::ReceivedPackets([name(5)].into());
        }
        let mut outbox = Outbox::default();
        let envelope = Envelope {
            source: FOREIGN_AGENTS[1],
            destination: FOREIGN_AGENTS[0],
            port: PORT,
            hop_limit: 64,
        };
        outbox.send_message(None, envelope, &update);
        let packet = outbox.pop().expect("a message").packet;
        network.foreign[0].handle_packet(now, HOME_LINK, packet);
        let mut copies = 0;
        let mut answered = None;
        while let Some(sent) = network.foreign[0].poll_transmit() {
            match Received::from_packet(&sent.packet) {
                Some(Ok(received)) => {
                    if let Content::Reply(reply) = received.message.content {
                        answered = Some(reply.code);
                    }
                }
                _ => copies += usize::from(sent.packet.body.inner().is_some()),
            }
        }
        assert_eq!((answered, copies), (Some(code), usize::from(!changed)));
    }
}
