//! Header compression between mobile and foreign agent (the V bit).

use super::*;
use crate::host::layer::Look;
use crate::wire::mobile_ipv4::{Code, RequestFlags};
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};

/// Returns a network whose mobile asks for compression, with a reverse tunnel or without, and whose foreign agents offer
/// it.
fn network(delivery: Delivery, offered: bool) -> Network {
    let config = MobileNodeConfig {
        policy: PolicyTable::new(Vec::new(), delivery),
        header_compression: true,
        ..mobile_config()
    };
    let mut network = Network::with(config, home_agent_config(), false);
    for place in 0..2 {
        network.foreign_configs[place].header_compression = offered;
        network.restart_foreign(place);
    }
    network
}

/// The `number`th segment of a transfer: 100 bytes from the correspondent, or their acknowledgment.
fn segment(number: u32, is_data: bool) -> Packet {
    let end = SequenceNumber(1000 + 100 * number);
    let (sequence, acknowledgment) = match is_data {
        true => (end, SequenceNumber(5)),
        false => (SequenceNumber(5), end),
    };
    let header = TcpHeader {
        source_port: if is_data { 80 } else { 1025 },
        destination_port: if is_data { 1025 } else { 80 },
        sequence,
        acknowledgment,
        flags: TcpFlags::ACK,
        window: 8760,
        options: TcpOptions::default(),
    };
    let (source, destination) = match is_data {
        true => (CORRESPONDENT, HOME_ADDRESS),
        false => (HOME_ADDRESS, CORRESPONDENT),
    };
    let payload = Payload::Pattern {
        stream: 1,
        offset: 100 * u64::from(number),
        length: if is_data { 100 } else { 0 },
    };
    let mut packet = datagram(source, destination, number);
    packet.ip.identification = number as u16;
    packet.body = Body::Tcp(header, payload);
    packet
}

impl Network {
    /// Sends a segment, damaged on the mobile's link if said, and lets it arrive. Returns its length on that link.
    fn pass(&mut self, number: u32, is_data: bool, is_damaged: bool) -> u32 {
        let packet = segment(number, is_data);
        match is_data {
            true => self.wires.send((Node::Home, HOME_LINK, packet), HOP),
            false => {
                let now = self.now();
                assert_eq!(self.mobile.send(now, packet), None);
                self.settle();
            }
        }
        let mut length = 0;
        for _ in 0..6 {
            for (to, _, packet) in self.wires.iter_mut() {
                let at_link = match is_data {
                    true => *to == Node::Mobile,
                    false => matches!(to, Node::Foreign(_)) && packet.body.inner().is_none(),
                };
                if packet.flow == Some(FlowId(number)) && at_link && length == 0 {
                    length = packet.wire_length();
                    if is_damaged {
                        packet.bit_errors = vec![3].into();
                    }
                }
            }
            self.run_for(HOP);
        }
        length
    }

    /// Returns true if the segment has arrived as it was sent, but for its hop limit.
    fn has(&self, number: u32, is_data: bool) -> bool {
        let expected = segment(number, is_data);
        let found = match is_data {
            true => self.delivered.last().map(|(_, _, packet)| packet),
            false => self.at_correspondent.last(),
        };
        found.is_some_and(|packet| packet.body == expected.body && packet.flow == expected.flow)
    }

    fn asked(&self) -> Vec<bool> {
        let all = self.registrations();
        let from_mobile = all.iter().filter(|(_, from, _)| *from == Node::Mobile);
        from_mobile
            .filter_map(|(_, _, content)| match content {
                Content::Request(request) => {
                    Some(request.flags.contains(RequestFlags::HEADER_COMPRESSION))
                }
                Content::Reply(_) => None,
            })
            .collect()
    }
}

/// A header of 40 bytes becomes one of 3 with the next data in sequence, and of 4 with an acknowledgment of at most 255
/// bytes (RFC 1144 section 3.2.2).
#[test]
fn headers_are_short_between_mobile_and_foreign_agent() {
    for delivery in [Delivery::Triangle, Delivery::ReverseTunnel] {
        let mut network = network(delivery, true);
        network.jump_to(FOREIGN_LINKS[0]);
        network.run_until(Instant::from_secs(3));
        assert_eq!(network.asked(), [true]);
        for number in 1..6 {
            let header = if number == 1 { 40 } else { 3 };
            assert_eq!(network.pass(number, true, false), header + 100);
            assert!(network.has(number, true), "{delivery:?}");
            let header = if number == 1 { 40 } else { 4 };
            assert_eq!(network.pass(number, false, false), header);
            assert!(network.has(number, false), "{delivery:?}");
        }
    }
}

#[test]
fn without_an_offer_headers_stay_whole() {
    let mut network = network(Delivery::Triangle, false);
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(Instant::from_secs(3));
    assert_eq!(network.asked(), [false]);
    for number in 1..4 {
        assert_eq!(network.pass(number, true, false), 140);
        assert_eq!(network.pass(number, false, false), 40);
    }
    // With a co-located address there is no agent on the link.
    network.jump_to(MODEM_LINK);
    network.run_until(Instant::from_secs(6));
    assert!(network.asked().iter().all(|asked| !asked));
}

/// RFC 2002 section 3.4: code 73; the mobile then registers without.
#[test]
fn an_agent_that_no_longer_offers_it_refuses() {
    let mut network = network(Delivery::Triangle, true);
    network.jump_to(FOREIGN_LINKS[0]);
    while network.asked().is_empty() {
        network.run_for(Duration::from_millis(1));
    }
    // The request is under way.
    network.foreign_configs[0].header_compression = false;
    network.restart_foreign(0);
    network.run_until(Instant::from_secs(2));
    let refused = network.events.iter().find_map(|(_, event)| match event {
        MobileNodeEvent::Refused { code, .. } => Some(*code),
        _ => None,
    });
    assert_eq!(refused, Some(Code(73)));
    assert_eq!(network.asked()[..2], [true, false]);
    assert!(network.registered().is_some());
    assert_eq!(network.pass(1, true, false), 140);
    assert_eq!(network.pass(2, true, false), 140);
}

/// RFC 1144 section 4: what follows a damaged packet is discarded until the retransmission, which has its whole header.
#[test]
fn a_damaged_packet_costs_those_behind_it() {
    let mut network = network(Delivery::Triangle, true);
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(Instant::from_secs(3));
    for (is_data, header) in [(true, 3), (false, 4)] {
        let data = if is_data { 100 } else { 0 };
        for number in [1, 2] {
            network.pass(number, is_data, false);
        }
        assert_eq!(network.pass(3, is_data, true), header + data);
        assert_eq!(network.pass(4, is_data, false), header + data);
        assert!(network.has(2, is_data));
        // Sent again: the sequence number goes back.
        assert_eq!(network.pass(3, is_data, false), 40 + data);
        assert!(network.has(3, is_data));
        assert_eq!(network.pass(4, is_data, false), header + data);
        assert!(network.has(4, is_data));
    }
    assert_eq!(network.mobile.dropped().compressed, 2);
    assert_eq!(network.foreign[0].dropped().compressed, 2);
}

#[test]
fn compression_begins_anew_at_another_agent_and_at_a_restarted_one() {
    let mut network = network(Delivery::ReverseTunnel, true);
    let mut number = 0;
    let mut check = |network: &mut Network| {
        for header in [40, 3] {
            number += 1;
            assert_eq!(network.pass(number, true, false), header + 100);
            assert!(network.has(number, true));
            network.pass(number, false, false);
            assert!(network.has(number, false));
        }
    };
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(Instant::from_secs(3));
    check(&mut network);
    network.jump_to(FOREIGN_LINKS[1]);
    network.run_until(Instant::from_secs(6));
    check(&mut network);
    network.restart_foreign(1);
    network.run_until(Instant::from_secs(10));
    check(&mut network);
    network.restart_mobile();
    network.run_until(Instant::from_secs(14));
    check(&mut network);
}

/// Nobody else could restore a stranger's packet.
#[test]
fn only_a_visitor_s_compressed_packets_are_taken() {
    let mut network = network(Delivery::Triangle, true);
    let mut compressor = crate::wire::van_jacobson::Compressor::default();
    let packet = segment(1, false).compress(&mut compressor);
    let now = network.now();
    let agent = &mut network.foreign[0];
    assert_eq!(agent.look_at(FOREIGN_LINKS[0], &packet), Look::Drop);
    let whole = segment(1, false);
    assert_eq!(agent.look_at(FOREIGN_LINKS[0], &whole), Look::Pass);
    assert_eq!(agent.forward(now, FOREIGN_LINKS[0], packet.clone()), None);
    assert!(!agent.send_on(now, packet));
    assert_eq!(agent.dropped().compressed, 2);
}

/// In a node, the agent takes a visitor's compressed packets before they are routed, and sends them on.
#[test]
fn a_visitor_s_packet_goes_on_with_its_whole_header() {
    let mut network = network(Delivery::Triangle, true);
    network.jump_to(FOREIGN_LINKS[0]);
    network.run_until(Instant::from_secs(3));
    let mut compressor = crate::wire::van_jacobson::Compressor::default();
    let now = network.now();
    for number in 1..3 {
        let sent = segment(number, false);
        let packet = sent.clone().compress(&mut compressor);
        let agent = &mut network.foreign[0];
        assert_eq!(agent.look_at(FOREIGN_LINKS[0], &packet), Look::Take);
        assert_eq!(agent.look_at(FOREIGN_LINKS[1], &packet), Look::Drop);
        assert!(agent.send_on(now, packet));
        let transmit = agent.poll_transmit().expect("the packet");
        assert_eq!(transmit.interface, None);
        assert_eq!(transmit.packet.body, sent.body);
        assert_eq!(transmit.packet.ip.hop_limit, sent.ip.hop_limit - 1);
    }
}
