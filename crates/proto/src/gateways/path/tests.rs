//! Agents on the path, in a row of a server, a gateway and a mobile.

mod from_mobile;
mod mobile_ipv6;
mod transfer;

use super::*;
use crate::host::{Host, HostEvent, Verdict};
use crate::interface::{LinkEvent, LinkParameters};
use crate::packet::{BitErrors, Identity, IpHeader, Payload, pattern_byte};
use crate::rate::DataRate;
use crate::tcp::profile::Profile;
use crate::tcp::{Connection, State};
use crate::testing::{Arriving, Entering, Hosts, Logged, Net, Passage, address, at};
use crate::time::Duration;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{TcpHeader, TcpOptions};
use proptest::prelude::*;

const PORT: u16 = 5001;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Returns the parameters of an access link at the gateway, with so many bits per second to the mobile and a million
/// from it.
fn carries(bits_to_mobile: u64) -> LinkParameters {
    LinkParameters {
        outgoing: DataRate::from_bits_per_second(bits_to_mobile),
        incoming: DataRate::from_bits_per_second(1_000_000),
        round_trip: ms(100),
        outgoing_queue: None,
        incoming_queue: None,
        mtu: 1500,
    }
}

/// Delays to the gateway and from it.
const DELAYS: [Duration; 2] = [ms(10), ms(50)];

/// Returns a row with these delays, in which the gateway serves connections to a port, or to any.
fn serving(delays: [Duration; 2], port: Option<u16>, service: Service) -> Net {
    let mut row = Net::of(Hosts::row(&delays));
    let served = Served {
        mobile: address(2),
        correspondent: address(0),
        port,
    };
    let gateway = &mut row.hosts[1];
    let path = gateway.layers_mut().get_or_add(|| PathAgents::new([2; 16]));
    path.serve(served, service);
    path.add_access(address(2), InterfaceId(1));
    let carries = LinkEvent::Parameters(carries(1_000_000));
    gateway.handle_link(Instant::ZERO, InterfaceId(1), carries);
    row
}

/// Returns a row with the usual delays, in which the gateway serves connections to [`PORT`].
fn row(service: Service) -> Net {
    serving(DELAYS, Some(PORT), service)
}

trait Row {
    /// Returns a connection of a host, or the half of one at the gateway.
    fn connection(&mut self, node: usize, socket: u32) -> &mut Connection;

    /// Opens the server's connection to the mobile; both sockets are the first of their hosts.
    fn begin(&mut self, profile: &Profile);

    /// Returns the TCP packets that left a node for another: time in ms, flags, payload.
    fn segments(&self, from: usize, to: usize) -> Vec<(u64, TcpFlags, u32)>;
}

impl Row for Net {
    fn connection(&mut self, node: usize, socket: u32) -> &mut Connection {
        let (host, socket) = (&mut self.hosts[node], SocketId(socket));
        let connection = match node {
            1 => {
                let agents = host.layer_mut::<PathAgents>().unwrap();
                agents.sockets.connection_mut(socket)
            }
            _ => host.connection_mut(socket),
        };
        connection.unwrap()
    }

    fn begin(&mut self, profile: &Profile) {
        self.hosts[2].tcp_listen(PORT, profile.clone(), 1, None);
        let remote = Endpoint {
            address: address(2),
            port: PORT,
        };
        let now = self.now();
        self.hosts[0].tcp_connect(now, remote, profile, None);
    }

    fn segments(&self, from: usize, to: usize) -> Vec<(u64, TcpFlags, u32)> {
        let way = self.sent.iter();
        let way = way.filter(|sent| (sent.from, sent.to) == (from, to));
        way.map(|sent| {
            let segment = sent.packet.segment_within().unwrap();
            let milliseconds = sent.at.as_nanos() / 1_000_000;
            (milliseconds, segment.header.flags, segment.payload.length())
        })
        .collect()
    }
}

fn split(profile: &Profile) -> Service {
    let split = Split::new(profile.clone(), profile.clone(), Vec::new());
    Service::Split(Box::new(split))
}

const SYN_ACK: TcpFlags = TcpFlags::SYN.with(TcpFlags::ACK);

#[test]
fn a_syn_is_answered_at_the_gateway_which_opens_the_other_half_in_the_same_names() {
    let profile = Profile::rfc();
    let mut row = row(split(&profile));
    row.begin(&profile);
    row.connection(0, 0).write_pattern(7, 1000);
    row.run_until(at(400));
    // The server has its answer after 20 ms, the mobile after 60.
    assert_eq!(row.segments(1, 0)[0], (10, SYN_ACK, 0));
    let pushed = TcpFlags::PSH.with(TcpFlags::ACK);
    assert_eq!(row.segments(0, 1)[1], (20, pushed, 1000));
    assert_eq!(row.segments(1, 2)[0], (10, TcpFlags::SYN, 0));
    assert_eq!(row.segments(2, 1)[0], (60, SYN_ACK, 0));
    assert_eq!(row.segments(1, 2)[1], (110, pushed, 1000));
    // The gateway's ACKs run ahead of the mobile's.
    let data = row.segments(1, 0).into_iter().find(|seen| seen.0 > 20);
    assert_eq!(
        data,
        Some((30, TcpFlags::ACK, 0)),
        "with a window that is scaled"
    );
    for (from, to, [source, destination]) in [(1, 2, [0, 2]), (1, 0, [2, 0])] {
        for sent in row
            .sent
            .iter()
            .filter(|sent| (sent.from, sent.to) == (from, to))
        {
            let ends = (sent.packet.ip.source, sent.packet.ip.destination);
            assert_eq!(ends, (address(source), address(destination)));
        }
    }
    assert_eq!(row.connection(2, 0).readable(), 1000);
    assert!(
        row.log.iter().all(|logged| logged.host != 1),
        "no one's business"
    );
}

/// With a mobile that reads nothing, its window takes the first data, the gateway a send and a receive buffer, and the
/// server the rest.
#[test]
fn a_gateway_may_serve_connections_to_any_port() {
    let profile = Profile::rfc();
    for (port, is_split) in [(None, true), (Some(PORT), true), (Some(PORT + 1), false)] {
        let mut row = serving(DELAYS, port, split(&profile));
        row.begin(&profile);
        row.run_until(at(400));
        let answered = if is_split { 10 } else { 110 };
        assert_eq!(row.segments(1, 0)[0], (answered, SYN_ACK, 0), "{port:?}");
    }
}

#[test]
fn the_window_towards_the_sender_follows_the_room_that_is_left() {
    let mut profile = Profile::rfc();
    (profile.receive_buffer, profile.send_buffer) = (20_000, 30_000);
    let mut row = row(split(&profile));
    let mut open = profile.clone();
    open.send_buffer = 1 << 20;
    row.begin(&open);
    row.connection(0, 0).write_pattern(7, 500_000);
    row.run_until(at(30_000));
    assert_eq!(row.connection(2, 0).readable(), 20_000);
    // A window smaller than a segment is not used up.
    let at_gateway = row.connection(0, 0).bytes_acknowledged();
    let room = 20_000 + 30_000 + 20_000;
    assert!((room - 1460..=room).contains(&at_gateway), "{at_gateway}");
    assert!(row.connection(0, 0).peer_window() < 1460);
    // As the mobile reads, the rest follows.
    let mut read = 0;
    while row.now() < Instant::from_secs(600) && read < 500_000 {
        read += row.connection(2, 0).discard(u64::MAX);
        row.run_for(ms(20));
    }
    assert_eq!(read, 500_000);
}

#[test]
fn one_direction_closes_while_the_other_goes_on() {
    let profile = Profile::rfc();
    let mut row = row(split(&profile));
    row.begin(&profile);
    row.connection(0, 0).write(b"question");
    row.connection(0, 0).close();
    row.run_until(at(1_000));
    assert_eq!(row.connection(2, 0).state(), State::CloseWait);
    assert_eq!(row.connection(0, 0).state(), State::FinWait2);
    row.connection(2, 0).write(b"a longer answer");
    row.connection(2, 0).close();
    row.run_until(at(3_000));
    let mut heard = [0; 20];
    assert_eq!(row.connection(0, 0).read(&mut heard), 15);
    assert_eq!(&heard[..15], b"a longer answer");
    row.run_until(at(200_000));
    for (node, socket) in [(0, 0), (1, 0), (1, 1), (2, 0)] {
        let state = row.connection(node, socket).state();
        assert_eq!(state, State::Closed, "{node} {socket}");
    }
}

#[test]
fn a_reset_is_carried_across_and_so_is_a_refusal() {
    let profile = Profile::rfc();
    for resets in [0, 2] {
        let mut row = row(split(&profile));
        row.begin(&profile);
        row.run_until(at(1_000));
        row.connection(resets, 0).abort();
        row.run_until(at(2_000));
        for (node, socket) in [(0, 0), (1, 0), (1, 1), (2, 0)] {
            let state = row.connection(node, socket).state();
            assert_eq!(state, State::Closed, "{resets}: {node} {socket}");
        }
    }
    // The mobile has no listener: the server, answered already, is reset.
    let mut row = row(split(&profile));
    let remote = Endpoint {
        address: address(2),
        port: PORT,
    };
    row.hosts[0].tcp_connect(at(0), remote, &profile, None);
    row.run_until(at(1_000));
    let reset = tcp_event(crate::tcp::Event::Reset);
    let is_reset = |logged: &Logged| logged.host == 0 && logged.event == reset;
    assert!(row.log.iter().any(is_reset), "{:?}", row.log);
}

fn tcp_event(event: crate::tcp::Event) -> HostEvent {
    let socket = SocketId(0);
    let event = event.into();
    HostEvent::Socket { socket, event }
}

/// Connections that began elsewhere, or are not at the last hop, pass unsplit.
#[test]
fn only_the_gateway_at_the_last_hop_splits() {
    let profile = Profile::rfc();
    let mut row = row(split(&profile));
    // The mobile is behind another router now.
    let routes = row.hosts[1].routes_mut();
    routes.set(address(2), InterfaceId(0));
    let mut syn = tcp(header(TcpFlags::SYN), Payload::EMPTY);
    let verdict = row.hosts[1].route(at(0), InterfaceId(0), &mut syn, 40);
    assert_eq!(verdict, Verdict::Forward(InterfaceId(0)));
    // So do packets of connections unknown here.
    row.hosts[1].routes_mut().set(address(2), InterfaceId(1));
    let mut late = tcp(header(TcpFlags::ACK), Payload::EMPTY);
    let verdict = row.hosts[1].route(at(0), InterfaceId(0), &mut late, 40);
    assert_eq!(verdict, Verdict::Forward(InterfaceId(1)));
}

fn header(flags: TcpFlags) -> TcpHeader {
    TcpHeader {
        source_port: 49152,
        destination_port: PORT,
        sequence: SequenceNumber(100),
        acknowledgment: SequenceNumber(0),
        flags,
        window: 1000,
        options: TcpOptions::default(),
    }
}

/// Returns a packet from the server to the mobile.
fn tcp(header: TcpHeader, payload: Payload) -> Packet {
    Packet {
        ip: IpHeader {
            source: address(0),
            destination: address(2),
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
        body: Body::Tcp(header, payload),
    }
}

/// A router's ICMP error about a packet that the gateway sent in the mobile's name reaches the half that sent it.
#[test]
fn an_error_about_a_half_reaches_it() {
    let profile = Profile::rfc();
    let mut row = row(split(&profile));
    row.begin(&profile);
    row.run_until(at(1_000));
    row.connection(2, 0).write_pattern(3, 1460);
    row.run_until(at(1_055));
    let sent = row.sent.iter().rfind(|sent| (sent.from, sent.to) == (1, 0));
    let quoted = sent.unwrap().packet.quote().unwrap();
    let kind = crate::wire::icmp::IcmpError::PacketTooBig { mtu: 1000 };
    let mut error = tcp(header(TcpFlags::ACK), Payload::EMPTY);
    error.ip.source = address(8);
    error.body = Body::Icmp(IcmpMessage::Error { kind, quoted });
    row.arrive(Arriving {
        to: 1,
        interface: InterfaceId(0),
        packet: error,
    });
    let half = row.connection(1, 0);
    assert_eq!(half.statistics().path_mtu_reductions, 1);
    assert_eq!(half.segment_size(), 960);
}

/// Takes passages from a list of numbers; then all packets arrive.
fn by_list(list: Vec<u8>) -> impl FnMut(&mut Packet, Entering) -> Passage {
    let mut list = list.into_iter();
    move |_, _| match list.next() {
        None => Passage::Arrives,
        Some(number) if number < 40 => Passage::Lost,
        Some(number) if number < 60 => Passage::Copies(vec![ms(0), ms(number.into())]),
        Some(number) => Passage::Copies(vec![ms(u64::from(number) / 4)]),
    }
}

/// Asserts that a million bytes cross once from a node to the other end, in order and complete, and that both
/// directions close, if `list` determines the fates of the first packets.
fn crosses(list: Vec<u8>, service: usize, name: usize, pattern: bool, sender: usize) {
    const LENGTH: u64 = 1_000_000;
    let mut profile = Profile::named(Profile::NAMES[name]).unwrap();
    profile.maximum_rto = Duration::from_secs(4);
    profile.data_retries = 400;
    profile.syn_retries = 400;
    profile.syn_ack_retries = 400;
    let service = if service == 0 {
        split(&profile)
    } else {
        Service::Watch
    };
    let mut row = row(service);
    row.decide(by_list(list));
    row.begin(&profile);
    let receiver = 2 - sender;
    let bytes: Vec<u8> = (0..LENGTH).map(|place| pattern_byte(7, place)).collect();
    let (mut written, mut heard) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 20];
    while heard.len() < bytes.len() && row.now() < Instant::from_secs(100_000) {
        if row.hosts[2].connection(SocketId(0)).is_some() {
            let from = row.connection(sender, 0);
            written += match pattern {
                true => from.write_pattern(7, LENGTH - written),
                false => from.write(&bytes[written as usize..]) as u64,
            };
            if written == LENGTH {
                from.close();
            }
            let to = row.connection(receiver, 0);
            let count = to.read(&mut buffer);
            heard.extend_from_slice(&buffer[..count]);
            // The sender may not have begun yet.
            if sender == 0 || !heard.is_empty() {
                to.close();
            }
        }
        if !row.step(Instant::from_secs(100_000)) {
            break;
        }
    }
    assert_eq!(heard.len(), bytes.len());
    assert!(heard == bytes);
    row.run_for(Duration::from_secs(1000));
    assert_eq!(row.connection(0, 0).state(), State::Closed);
    assert_eq!(row.connection(2, 0).state(), State::Closed);
}

/// An ACK that snoop repeats to the sender is the newest, and without the mobile's FIN: TCP ignores an ACK with a
/// sequence number before its window (RFC 9293 section 3.10.7.4).
#[test]
fn an_acknowledgment_that_is_told_again_is_one_that_the_sender_takes() {
    let late = [
        0, 0, 0, 64, 76, 136, 168, 0, 164, 88, 164, 108, 60, 60, 124, 60, 0, 0, 0, 40, 0,
    ];
    crosses(late.to_vec(), 1, 1, false, 0);
    let twice = [
        60, 60, 40, 0, 84, 0, 60, 60, 60, 40, 60, 55, 60, 60, 0, 0, 40,
    ];
    crosses(twice.to_vec(), 1, 2, false, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_bytes_cross_once_and_in_order(
        list in prop::collection::vec(any::<u8>(), 0..2000),
        service in 0_usize..2,
        name in 0_usize..6,
        (pattern, uploads) in any::<(bool, bool)>(),
    ) {
        crosses(list, service, name, pattern, if uploads { 2 } else { 0 });
    }
}

fn any_segment() -> impl Strategy<Value = Packet> {
    let numbers = (0_u32..5000, 0_u32..5000, any::<u8>(), any::<u16>());
    let form = (any::<[bool; 3]>(), 0_u8..4, 0_u32..3000);
    (numbers, form).prop_map(|((sequence, acknowledgment, flags, window), form)| {
        let ([to_mobile, far, syn], wrapped, length) = form;
        let mut header = header(TcpFlags(if syn { 2 } else { flags }));
        header.sequence = SequenceNumber(if far { sequence << 19 } else { sequence });
        header.acknowledgment = SequenceNumber(acknowledgment);
        header.window = window;
        let payload = Payload::Pattern {
            stream: 1,
            offset: u64::from(sequence),
            length,
        };
        let mut packet = tcp(header, payload);
        if !to_mobile {
            core::mem::swap(&mut packet.ip.source, &mut packet.ip.destination);
            if let Body::Tcp(header, _) = &mut packet.body {
                core::mem::swap(&mut header.source_port, &mut header.destination_port);
            }
        }
        match wrapped {
            0 => Packet {
                ip: packet.ip,
                body: Body::Tunnel(Box::new(packet)),
                ..tcp(header, Payload::EMPTY)
            },
            1 => Packet {
                bit_errors: vec![200, 333].into(),
                ..packet
            },
            _ => packet,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// On any input, agents neither panic nor send for ever.
    #[test]
    fn anything_is_survived(
        packets in prop::collection::vec((any_segment(), 0_u64..500), 0..100),
        snoops in any::<bool>(),
    ) {
        let service = if snoops { Service::Watch } else { split(&Profile::rfc()) };
        let mut row = row(service);
        row.decide(|_, _| Passage::Lost);
        for (packet, wait) in packets {
            let interface = InterfaceId(usize::from(packet.ip.source != address(0)));
            row.arrive(Arriving { to: 1, interface, packet });
            row.run_for(ms(wait));
        }
        row.run_for(Duration::from_secs(10_000));
    }
}
