//! A gateway between two networks, and forged packets from both sides. Whatever they are, the gateway's state is
//! bounded, and a later client still gets through.

use super::{address, ip, plain, protection};
use crate::bytes::Bytes;
use crate::checksums;
use baton_proto::aerotp::Configuration;
use baton_proto::gateways::aerotp::{AerotpGateway, Rule, Selector};
use baton_proto::host::{Host, HostEvent, SocketId, Verdict};
use baton_proto::interface::{InterfaceId, LinkEvent, LinkParameters};
use baton_proto::packet::{BitErrors, Body, Identity, Packet, Payload};
use baton_proto::rate::DataRate;
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{self, Endpoint};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::aerotp::{AerotpPacket, Mack, Mode, Opening, TcpOffer};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use baton_proto::wire::udp::UdpHeader;

/// Most steps of a script; the rest of the input is ignored.
const MOST_STEPS: u32 = 300;
/// Most packets that may leave at one moment.
const MOST_AT_ONCE: u32 = 5_000;
/// Buffers of each connection, in bytes; a half of TCP's may hold as much again each way.
const BUFFER: u32 = 64 << 10;
/// Most half-open connections of the gateway, and so most splices without an answer.
const MOST_HALF_OPEN: usize = 1024;
/// Port of the far end of the legitimate connection; no forged packet uses it.
const QUIET_PORT: u16 = 8080;
const BYTES: u64 = 10_000;
/// The row: client, the two gateways, and server.
const CLIENT: u8 = 1;
const NEAR: u8 = 2;
const FAR: u8 = 3;
const SERVER: u8 = 4;
/// The near gateway's interface to the far one.
const AIRBORNE: InterfaceId = InterfaceId(1);

/// Client, gateway, far gateway and server in a row, 1 ms apart; the gateway is the one under attack.
struct Scene {
    now: Instant,
    hosts: [Host; 4],
    /// Packets that the gateway has sent last, for nearly correct answers.
    said: Vec<Packet>,
    steps: usize,
    /// True while packets come as bytes, as a daemon has those that cross as they are.
    as_bytes: bool,
    /// True while these come from the other side.
    from_far: bool,
}

/// Plays a script, and then lets a client through.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mode = bytes.one_of(&Mode::ALL);
    let mut scene = Scene::new(mode);
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        scene.step(&mut bytes);
        scene.settle();
        scene.judge();
    }
    scene.let_somebody_through();
}

fn rules(mode: Mode) -> Vec<Rule> {
    let mut configuration = Configuration::new(DataRate::ZERO);
    configuration.mode = mode;
    configuration.coding = baton_proto::aerotp::Coding::Fixed(protection(0, false));
    configuration.send_buffer = BUFFER;
    configuration.receive_buffer = BUFFER;
    configuration.close_timeout = Duration::from_secs(20);
    vec![Rule {
        selector: Selector::default(),
        configuration,
        profile: Profile::linux_6(),
    }]
}

/// Returns a host of the row; it forwards packets for another host to the next towards that.
fn host(place: u8, mode: Mode) -> Host {
    let mut host = Host::new(address(place), [place; 16]);
    let [back, on] = [0, 1].map(|_| host.add_interface(1_500));
    host.routes_mut().set_default(Some(back));
    for other in place + 1..=SERVER {
        host.routes_mut().set(address(other), on);
    }
    if place == NEAR || place == FAR {
        let airborne = if place == NEAR { on } else { back };
        let links = [(airborne, DataRate::from_bits_per_second(5_000_000))];
        host.add_layer(AerotpGateway::new(&links, rules(mode), [place; 16]));
    }
    host
}

fn packet(hosts: [u8; 2], body: Body) -> Packet {
    Packet {
        ip: ip(hosts),
        body,
        flow: None,
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

impl Scene {
    fn new(mode: Mode) -> Scene {
        Scene {
            now: Instant::ZERO,
            hosts: [CLIENT, NEAR, FAR, SERVER].map(|place| host(place, mode)),
            said: Vec::new(),
            steps: 0,
            as_bytes: false,
            from_far: false,
        }
    }

    fn gateway(&mut self) -> &mut Host {
        &mut self.hosts[1]
    }

    fn hand_in(&mut self, mut packet: Packet) {
        let (now, length) = (self.now, packet.wire_length());
        let from = match packet.body {
            _ if self.as_bytes && self.from_far => AIRBORNE,
            Body::Aerotp(_) if !self.as_bytes => AIRBORNE,
            _ => InterfaceId(0),
        };
        if self.as_bytes {
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            let Ok(same) = Packet::verbatim(&bytes) else {
                panic!("a packet that was encoded");
            };
            packet = same;
        }
        let verdict = self.gateway().route(now, from, &mut packet, length);
        if verdict == Verdict::Local {
            self.gateway().handle_packet(now, from, packet);
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        self.steps += 1;
        let choice = bytes.u8();
        (self.as_bytes, self.from_far) = (choice & 0x80 != 0, choice & 0x40 != 0);
        match choice & 0x3F {
            12..=15 => self.hand_in_noise(bytes),
            some => self.step_of(some % 12, bytes),
        }
        let now = self.now;
        self.gateway().handle_timeout(now);
    }

    /// Hands in bytes without an order behind an IP header that is right.
    fn hand_in_noise(&mut self, bytes: &mut Bytes<'_>) {
        let (hosts, _) = ends(bytes);
        let header = UdpHeader {
            source_port: 0,
            destination_port: 0,
        };
        let length = usize::from(bytes.u8());
        let noise = Payload::Bytes(bytes.take(length).into());
        let mut whole = Vec::new();
        packet(hosts, Body::Udp(header, noise)).encode(&mut whole);
        // The header's tenth byte, of IPv4: TCP, UDP, ICMP, AeroTP, or a tunnel.
        whole[9] = bytes.one_of(&[6, 17, 1, 253, 4]);
        checksums::mend(&mut whole);
        let from = if self.from_far {
            AIRBORNE
        } else {
            InterfaceId(0)
        };
        if let Ok(mut packet) = Packet::verbatim(&whole) {
            let (now, length) = (self.now, packet.wire_length());
            if self.gateway().route(now, from, &mut packet, length) == Verdict::Local {
                self.gateway().handle_packet(now, from, packet);
            }
        }
    }

    fn step_of(&mut self, kind: u8, bytes: &mut Bytes<'_>) {
        match kind {
            0..=1 => self.hand_in(segment(bytes)),
            2 => self.hand_in(datagram(bytes)),
            3..=4 => self.hand_in(from_air(bytes)),
            5..=8 => self.answer(bytes),
            9 => self.flood(bytes),
            10 => self.now += Duration::from_millis(u64::from(bytes.u16())),
            _ => self.link(bytes),
        }
    }

    fn link(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.u8() {
            0..=99 => self.say(LinkEvent::Down),
            some => self.say_up(u64::from(some) * 100_000),
        }
    }

    /// Reports the link to the far gateway as up, at this rate in bit/s.
    fn say_up(&mut self, bits: u64) {
        let rate = DataRate::from_bits_per_second(bits);
        self.say(LinkEvent::Parameters(LinkParameters {
            outgoing: rate,
            incoming: rate,
            round_trip: Duration::from_millis(2),
            outgoing_queue: None,
            incoming_queue: None,
            mtu: 1_500,
        }));
        self.say(LinkEvent::Up);
    }

    fn say(&mut self, event: LinkEvent) {
        let now = self.now;
        self.gateway().handle_link(now, AIRBORNE, event);
    }

    /// Sends many openings without a continuation.
    fn flood(&mut self, bytes: &mut Bytes<'_>) {
        let (count, kind) = (u16::from(bytes.u8()) * 8, bytes.u8());
        for port in 1..=count {
            let hosts = [CLIENT, SERVER];
            self.hand_in(match kind % 3 {
                0 => {
                    let header = tcp_header([port, 1], TcpFlags::SYN, [u32::from(port), 0]);
                    packet(hosts, Body::Tcp(header, Payload::EMPTY))
                }
                1 => {
                    let header = UdpHeader {
                        source_port: port,
                        destination_port: 2,
                    };
                    packet(hosts, Body::Udp(header, data(5)))
                }
                _ => opening([port, 1], [SERVER, CLIENT], kind),
            });
        }
        self.settle();
    }

    /// Answers a packet of the gateway's, with a field or two from the input.
    fn answer(&mut self, bytes: &mut Bytes<'_>) {
        let number = usize::from(bytes.u8());
        let Some(said) = self.said.get(number % self.said.len().max(1)).cloned() else {
            return;
        };
        let mut answer = said.clone();
        core::mem::swap(&mut answer.ip.source, &mut answer.ip.destination);
        let (flags, odd) = (bytes.u8(), bytes.u8());
        let payload = data(u32::from(bytes.u8()) * 4);
        match &mut answer.body {
            Body::Tcp(header, there) => {
                core::mem::swap(&mut header.source_port, &mut header.destination_port);
                let all = header.sequence
                    + there.length()
                    + u32::from(header.flags.contains(TcpFlags::SYN))
                    + u32::from(header.flags.contains(TcpFlags::FIN));
                header.sequence = header.acknowledgment + u32::from(odd & 15);
                header.acknowledgment = all;
                header.flags = TcpFlags(flags & 0x3F).with(TcpFlags::ACK);
                if odd & 16 == 16 {
                    header.flags = header.flags.without(TcpFlags::ACK);
                }
                header.window = u16::from(odd) << 8;
                *there = payload;
            }
            Body::Udp(header, there) => {
                core::mem::swap(&mut header.source_port, &mut header.destination_port);
                *there = payload;
            }
            Body::Aerotp(said) => answer_aerotp(said, (flags, odd), payload),
            _ => return,
        }
        self.hand_in(answer);
    }

    /// Lets the gateway send everything that is due; none of it arrives.
    fn settle(&mut self) {
        let now = self.now;
        let mut sent = 0;
        loop {
            let mut quiet = true;
            while self.gateway().poll_event().is_some() {
                quiet = false;
            }
            while let Some((_, packet)) = self.gateway().poll_transmit(now) {
                quiet = false;
                sent += 1;
                assert!(sent < 10 * MOST_AT_ONCE, "there is no end to what is sent");
                let mut bytes = Vec::new();
                packet.encode(&mut bytes);
                assert_eq!(bytes.len(), packet.wire_length() as usize, "{packet:?}");
                self.said.push(packet);
                if self.said.len() > 8 {
                    self.said.remove(0);
                }
            }
            while self.gateway().poll_changed().is_some() {}
            if quiet {
                return;
            }
        }
    }

    /// Checks that the gateway's state is bounded: each step can make at most one connection more than half open.
    fn judge(&mut self) {
        let most = MOST_HALF_OPEN + self.steps;
        let host = self.gateway();
        let Some(gateway) = host.layer::<AerotpGateway>() else {
            panic!("the gateway is gone");
        };
        let connections = gateway.connections();
        assert!(connections <= most, "{connections} connections");
        let halves = gateway.halves();
        assert!(halves <= 2 * most, "{halves} halves");
        let custody = gateway.custody();
        assert!(
            custody <= connections as u64 * u64::from(BUFFER),
            "{custody} bytes of {connections} connections"
        );
    }

    /// Lets an honest client send its bytes to a server.
    fn let_somebody_through(&mut self) {
        self.say_up(5_000_000);
        self.hosts[3].tcp_listen(QUIET_PORT, Profile::linux_6(), 16, None);
        let server = Endpoint {
            address: address(SERVER),
            port: QUIET_PORT,
        };
        let profile = Profile::linux_6();
        let client = self.hosts[0].tcp_connect(self.now, server, &profile, None);
        if let Some(connection) = self.hosts[0].connection_mut(client) {
            connection.write_pattern(7, BYTES);
        }
        let (mut accepted, mut read) = (None, 0);
        let until = self.now + Duration::from_secs(120);
        while read < BYTES && self.now < until {
            self.pass_on(&mut accepted);
            if let Some(connection) = accepted.and_then(|id| self.hosts[3].connection_mut(id)) {
                read += connection.discard(u64::MAX);
            }
            self.now += Duration::from_millis(1);
        }
        let state = self.hosts[0].connection(client).map(tcp::Connection::state);
        assert_eq!(read, BYTES, "{state:?} at {:?}", self.now);
    }

    /// Runs a millisecond of the row: each host's packets arrive at the next host in the next one.
    fn pass_on(&mut self, accepted: &mut Option<SocketId>) {
        let now = self.now;
        let mut under_way = Vec::new();
        for (place, host) in self.hosts.iter_mut().enumerate() {
            host.handle_timeout(now);
            loop {
                let mut quiet = true;
                while let Some(event) = host.poll_event() {
                    quiet = false;
                    if let (3, HostEvent::Accepted { socket, .. }) = (place, event) {
                        *accepted = Some(socket);
                    }
                }
                while let Some((interface, packet)) = host.poll_transmit(now) {
                    quiet = false;
                    let back = interface == InterfaceId(0);
                    let to = if back {
                        place.checked_sub(1)
                    } else {
                        Some(place + 1)
                    };
                    under_way.extend(to.filter(|&to| to < 4).map(|to| (to, back, packet)));
                }
                while host.poll_changed().is_some() {}
                if quiet {
                    break;
                }
            }
        }
        let mut hops = 0;
        while let Some((to, back, mut packet)) = under_way.pop() {
            hops += 1;
            assert!(hops < 10 * MOST_AT_ONCE, "packets go round");
            let length = packet.wire_length();
            let host = &mut self.hosts[to];
            let interface = InterfaceId(usize::from(back));
            match host.route(now, interface, &mut packet, length) {
                Verdict::Local => host.handle_packet(now, interface, packet),
                Verdict::Forward(out) => {
                    let back = out == InterfaceId(0);
                    let next = if back {
                        to.checked_sub(1)
                    } else {
                        Some(to + 1)
                    };
                    under_way.extend(
                        next.filter(|&next| next < 4)
                            .map(|next| (next, back, packet)),
                    );
                }
                Verdict::Discard => {}
            }
        }
    }
}

fn data(length: u32) -> Payload {
    Payload::Pattern {
        stream: 2,
        offset: 0,
        length,
    }
}

fn tcp_header(ports: [u16; 2], flags: TcpFlags, numbers: [u32; 2]) -> TcpHeader {
    TcpHeader {
        source_port: ports[0],
        destination_port: ports[1],
        sequence: SequenceNumber(numbers[0]),
        acknowledgment: SequenceNumber(numbers[1]),
        flags,
        window: 0xFFFF,
        options: TcpOptions::default(),
    }
}

/// Draws the hosts and ports of a packet from either side; few ports, so that packets meet.
fn ends(bytes: &mut Bytes<'_>) -> ([u8; 2], [u16; 2]) {
    let ends = bytes.u8();
    let hosts = match ends & 1 {
        0 => [CLIENT, SERVER],
        _ => [SERVER, CLIENT],
    };
    (hosts, [u16::from(ends >> 1 & 7), u16::from(ends >> 4)])
}

fn segment(bytes: &mut Bytes<'_>) -> Packet {
    let (hosts, ports) = ends(bytes);
    let flags = match bytes.u8() {
        some @ 0..=0x3F => TcpFlags(some),
        _ => TcpFlags::SYN,
    };
    let mut header = tcp_header(ports, flags, [u32::from(bytes.u8()), bytes.u32()]);
    let options = bytes.u8();
    header.options.maximum_segment_size = (options & 1 == 1).then(|| bytes.u16());
    header.options.window_scale = (options & 2 == 2).then(|| bytes.u8());
    header.options.sack_permitted = options & 4 == 4;
    let payload = data(u32::from(options >> 4));
    packet(hosts, Body::Tcp(header, payload))
}

fn datagram(bytes: &mut Bytes<'_>) -> Packet {
    let (hosts, ports) = ends(bytes);
    let header = UdpHeader {
        source_port: ports[0],
        destination_port: ports[1],
    };
    let payload = data(u32::from(bytes.u16() % 1_473));
    packet(hosts, Body::Udp(header, payload))
}

/// Makes an AeroTP packet from the other side, with any of its headers, or an opening.
fn from_air(bytes: &mut Bytes<'_>) -> Packet {
    let (_, ports) = ends(bytes);
    match bytes.u8() {
        kind @ 0..=127 => opening(ports, [SERVER, CLIENT], kind),
        _ => {
            let hosts = ip([SERVER, CLIENT]);
            match AerotpPacket::decode(&hosts, bytes.take(64)) {
                Ok(read) => packet([SERVER, CLIENT], Body::Aerotp(Box::new(read))),
                Err(_) => datagram(bytes),
            }
        }
    }
}

fn opening(ports: [u16; 2], hosts: [u8; 2], kind: u8) -> Packet {
    let mode = Mode::ALL[usize::from(kind) % Mode::ALL.len()];
    let mut header = plain(protection(0, false), mode);
    [header.source_port, header.destination_port] = ports;
    header.opening = Some(Opening {
        initial: SequenceNumber(0),
        token: u32::from(kind),
    });
    if kind & 8 == 8 {
        header.tcp_flags = TcpFlags::SYN;
        header.tcp_offer = Some(TcpOffer {
            maximum_segment_size: u16::from(kind) * 16,
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: false,
        });
    }
    header.is_final = kind & 16 == 16;
    let payload = match kind & 32 {
        0 => Payload::EMPTY,
        _ => data(20),
    };
    packet(
        hosts,
        Body::Aerotp(Box::new(AerotpPacket::new(header, payload))),
    )
}

/// Makes the peer's answer to a packet of the gateway's, with a MACK for it.
fn answer_aerotp(said: &mut AerotpPacket, (flags, odd): (u8, u8), payload: Payload) {
    let known = said.header.mack.as_ref().map(|mack| mack.cumulative);
    let all = said.header.sequence + said.payload.length();
    let header = &mut said.header;
    core::mem::swap(&mut header.source_port, &mut header.destination_port);
    let first = known.unwrap_or(SequenceNumber(0x4000));
    header.sequence = first + u32::from(odd & 15);
    header.is_final = flags & 1 == 1;
    header.wants_mack = flags & 2 == 2;
    header.token = None;
    header.block = None;
    header.opening = (flags & 4 == 4 || known.is_none()).then_some(Opening {
        initial: first,
        token: 5,
    });
    header.mack = (flags & 8 == 0).then(|| {
        Box::new(Mack {
            cumulative: all,
            echo: header.timestamp,
            window: u32::from(odd) << 8,
            is_complete: flags & 16 == 16,
            ..Mack::default()
        })
    });
    if flags & 32 == 32 {
        header.tcp_flags = TcpFlags::RST;
        header.tcp_offer = None;
        header.token = Some(5);
    }
    *said = AerotpPacket::new(header.clone(), payload);
}
