//! Connections between two hosts on a wire: handshakes, losses, moves, and invalid datagrams.

use crate::{Configuration, QuicConnection, QuicSockets};
use baton_proto::host::{Host, HostEvent, Pattern, SocketEvent, SocketId};
use baton_proto::interface::InterfaceId;
use baton_proto::packet::{Body, Packet, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::testing::{
    Arriving, Entering, Hosts, Logged, Machines, Net, Passage, Wires, address, at,
};
use baton_proto::time::{Duration, Instant};
use core::any::Any;
use core::net::{IpAddr, Ipv4Addr};

const PORT: u16 = 443;
/// Delay of the wire: the round-trip time is 100 ms.
const DELAY: Duration = Duration::from_millis(50);

/// A server at host 1 that sends each client a number of bytes, and a client at host 0 that reads them.
struct Download {
    row: Hosts,
    /// Number of events that are answered.
    answered: usize,
    client: SocketId,
    length: u64,
    written: u64,
    read: u64,
    done_at: Option<Instant>,
}

impl Download {
    fn begin(length: u64) -> Net<Download> {
        let mut row = Hosts::row(&[DELAY]);
        let (_, server) = row.hosts[1].transport_mut(QuicSockets::new);
        server.listen(PORT, Configuration::default(), None);
        let remote = Endpoint {
            address: address(1),
            port: PORT,
        };
        let (place, client) = row.hosts[0].transport_mut(QuicSockets::new);
        let number = client
            .connect(
                Instant::ZERO,
                address(0),
                remote,
                Configuration::default(),
                None,
            )
            .expect("there is a way");
        Net::of(Download {
            client: place.socket(number),
            row,
            answered: 0,
            length,
            written: 0,
            read: 0,
            done_at: None,
        })
    }

    fn answer(&mut self, now: Instant, host: usize, event: &HostEvent) {
        let &HostEvent::Socket { socket, event } = event else {
            return;
        };
        let Some(socket) = self.row.hosts[host].socket_mut(socket) else {
            return;
        };
        match event {
            SocketEvent::Connected | SocketEvent::Writable if host == 1 => {
                self.written += socket.write(Pattern {
                    stream: 7,
                    offset: self.written,
                    length: self.length - self.written,
                    is_record: false,
                });
                if self.written == self.length {
                    socket.close();
                }
            }
            SocketEvent::Readable => self.read += socket.read(now),
            SocketEvent::PeerClosed => {
                socket.close();
                self.done_at.get_or_insert(now);
            }
            _ => {}
        }
    }

    fn at_client(&self) -> &QuicConnection {
        connection(&self.row.hosts[0], self.client)
    }

    fn at_server(&self) -> &QuicConnection {
        connection(&self.row.hosts[1], self.row.accepted(1)[0])
    }
}

impl Machines for Download {
    type Message = Arriving;

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.row.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.row.handle_timeout(now);
    }

    fn handle_arrival(&mut self, arriving: Arriving, wires: &mut Wires<Arriving>) {
        self.row.handle_arrival(arriving, wires);
    }

    fn settle(&mut self, wires: &mut Wires<Arriving>) {
        self.row.settle(wires);
        while let Some(Logged { host, event, .. }) = self.row.log.get(self.answered).cloned() {
            self.answered += 1;
            self.answer(wires.now(), host, &event);
            self.row.settle(wires);
        }
    }
}

fn connection(host: &Host, socket: SocketId) -> &QuicConnection {
    let socket: &dyn Any = host.socket(socket).unwrap();
    socket.downcast_ref().unwrap()
}

/// Returns a decision that loses one packet in so many, the same ones in each run.
fn losing(one_in: u64) -> impl FnMut(&mut Packet, Entering) -> Passage {
    let mut state = 1_u64;
    move |_, _| {
        // Numerical Recipes' generator; its low bits are not used.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & 0xFFFF_FFFF;
        match (state >> 16).is_multiple_of(one_in) {
            true => Passage::Lost,
            false => Passage::Arrives,
        }
    }
}

#[test]
fn a_client_may_send_after_one_round_trip_and_a_server_s_data_is_there_after_two() {
    let mut download = Download::begin(1000);
    download.run_until(at(1000));
    // RFC 9001, figure 5: the client completes with the server's flight, the server with the client's Finished. The
    // amplification limit (RFC 9000 section 8.1) of three times the first 1200 bytes allows the whole flight.
    assert_eq!(download.row.seen(0, SocketEvent::Connected), Some(at(100)));
    assert_eq!(download.row.seen(1, SocketEvent::Connected), Some(at(150)));
    assert_eq!(download.done_at, Some(at(200)));
    assert_eq!(download.read, 1000);
    assert!(download.row.seen(0, SocketEvent::Closed).is_some());
    assert!(download.row.seen(1, SocketEvent::Closed).is_some());
}

#[test]
fn two_percent_of_losses_cost_time_and_no_byte() {
    let time_of = |lossy: bool| {
        let mut download = Download::begin(1_000_000);
        if lossy {
            download.row.decide(losing(50));
        }
        download.run_until(at(60_000));
        assert_eq!((download.written, download.read), (1_000_000, 1_000_000));
        (download.done_at.unwrap(), download.at_server().statistics())
    };
    let ((clean, none), (lossy, some)) = (time_of(false), time_of(true));
    assert_eq!(none.lost_packets, 0);
    assert!(
        some.lost_packets > 5 && some.congestion_events > 0,
        "{some:?}"
    );
    assert!(clean < lossy, "{clean:?} {lossy:?}");
}

/// Returns the packets of a lossy download, with their times.
fn trace(secret: u8) -> Vec<(Instant, Vec<u8>)> {
    let mut download = Download::begin(100_000);
    download.row.hosts[0] = Host::new(address(0), [secret; 16]);
    let interface = download.row.hosts[0].add_interface(1500);
    download.row.hosts[0]
        .routes_mut()
        .set_default(Some(interface));
    let remote = Endpoint {
        address: address(1),
        port: PORT,
    };
    let (_, client) = download.row.hosts[0].transport_mut(QuicSockets::new);
    let opened = client.connect(
        Instant::ZERO,
        address(0),
        remote,
        Configuration::default(),
        None,
    );
    assert!(opened.is_some());
    download.row.decide(losing(20));
    download.run_until(at(20_000));
    assert_eq!(download.read, 100_000);
    let sent = download.row.sent.iter().map(|sent| {
        let mut bytes = Vec::new();
        sent.packet.encode(&mut bytes);
        (sent.at, bytes)
    });
    sent.collect()
}

#[test]
fn one_seed_gives_one_trace() {
    let first = trace(3);
    assert!(first == trace(3), "two runs differ");
    assert!(
        first != trace(4),
        "another secret gives the same connection IDs"
    );
}

/// Attaches the client at another address, as a host with an address for each interface does.
fn attach(download: &mut Net<Download>, last: u8) {
    let moved = IpAddr::V4(Ipv4Addr::new(10, 1, 0, last));
    let now = download.now();
    let host = &mut download.row.hosts[0];
    host.add_interface_address(moved, InterfaceId(0));
    host.handle_attached(now, InterfaceId(0));
}

#[test]
fn a_soft_handover_to_another_address_goes_on_without_a_new_connection() {
    let mut download = Download::begin(20_000_000);
    download.run_until(at(1000));
    let before = download.read;
    attach(&mut download, 9);
    download.run_until(at(60_000));
    assert_eq!(download.read, 20_000_000);
    assert!(0 < before && before < 20_000_000);
    let [client, server] = [download.at_client(), download.at_server()];
    assert_eq!(
        [client, server].map(|end| end.statistics().migrations),
        [1, 1]
    );
    assert_eq!(server.peer().ip().to_string(), "10.1.0.9");
    assert_eq!(download.row.accepted(1).len(), 1);
}

/// Downloads across an outage from 1 s to 3 s, after which the client may have another address.
fn hard_handover(changes_address: bool) -> Net<Download> {
    let mut download = Download::begin(20_000_000);
    download.row.decide(
        |_, entering| match (at(1000)..at(3000)).contains(&entering.at) {
            true => Passage::Lost,
            false => Passage::Arrives,
        },
    );
    download.run_until(at(3000));
    if changes_address {
        attach(&mut download, 9);
    }
    download.run_until(at(60_000));
    assert_eq!(download.read, 20_000_000);
    assert_eq!(download.row.accepted(1).len(), 1);
    download
}

#[test]
fn a_hard_handover_resumes_at_the_kept_address_with_the_next_probe() {
    let download = hard_handover(false);
    assert_eq!(download.at_server().statistics().migrations, 0);
}

#[test]
fn a_hard_handover_resumes_at_a_changed_address_at_once() {
    let [kept, changed] = [false, true].map(|changes| hard_handover(changes).done_at.unwrap());
    assert_eq!(hard_handover(true).at_server().statistics().migrations, 1);
    // The client's packet from the new address elicits data from the server, whose own probes are seconds apart by
    // then.
    assert!(changed < kept, "{changed:?} {kept:?}");
}

#[test]
fn silence_ends_a_connection_after_quinn_s_30_seconds() {
    let mut download = Download::begin(10_000_000);
    download.run_until(at(1000));
    download.row.decide(|_, _| Passage::Lost);
    download.run_until(at(100_000));
    let lost = download.row.seen(0, SocketEvent::TimedOut).unwrap();
    // Counted from the last packet received, at 1.05 s, or from the first ack-eliciting one sent after it (RFC 9000
    // section 10.1).
    assert!(at(31_050) <= lost && lost < at(31_250), "{lost:?}");
}

#[test]
fn a_port_without_a_listener_is_silent() {
    let mut net = Net::of(Hosts::row(&[DELAY]));
    let (_, server) = net.hosts[1].transport_mut(QuicSockets::new);
    server.listen(PORT, Configuration::default(), None);
    let remote = Endpoint {
        address: address(1),
        port: PORT + 1,
    };
    let (_, client) = net.hosts[0].transport_mut(QuicSockets::new);
    client.connect(
        Instant::ZERO,
        address(0),
        remote,
        Configuration::default(),
        None,
    );
    net.run_until(at(60_000));
    // No socket is at the port: it answers with ICMP, which QUIC ignores.
    assert_eq!(net.seen(0, SocketEvent::TimedOut), Some(at(30_000)));
    assert!(net.hosts[1].discarded().no_receiver > 0);
}

/// Checks that a truncated, damaged or replaced packet is refused by its tag, and the data arrives all the same.
#[test]
fn damaged_and_foreign_datagrams_change_nothing() {
    let mut download = Download::begin(300_000);
    download.row.decide(|packet, entering| {
        if let Body::Udp(_, Payload::Bytes(bytes)) = &mut packet.body {
            let (length, number) = (bytes.len(), entering.number as usize);
            match number % 17 {
                3 => bytes[number * 31 % length] ^= 1 << (number % 8),
                5 => *bytes = bytes[..number * 7 % length].into(),
                7 => bytes.iter_mut().enumerate().for_each(|(place, byte)| {
                    *byte = byte.wrapping_mul(167).wrapping_add((place * number) as u8);
                }),
                _ => {}
            }
        }
        Passage::Arrives
    });
    download.run_until(at(120_000));
    assert_eq!(download.read, 300_000);
}
