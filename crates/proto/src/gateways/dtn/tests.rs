//! A client, two gateways and a server in a row; 1 ms, 100 ms and 1 ms apart, the gateways' link with 5 Mbit/s.

use super::*;
use crate::gateways::halves::end;
use crate::host::{HostEvent, SocketEvent};
use crate::interface::{LinkEvent, LinkParameters};
use crate::packet::pattern_byte;
use crate::rate::DataRate;
use crate::tcp::State;
use crate::testing::{Entering, Hosts, Net, Passage, address, at};
use core::ops::Range;

const PORT: u16 = 80;
const BYTES: u64 = 300_000;

/// Returns the gateway's interface to the other one, in a row of `count` hosts.
fn across(node: usize, gateways: [usize; 2]) -> InterfaceId {
    InterfaceId(usize::from(node == gateways[0] && node > 0))
}

fn configuration(node: usize, storage: u64, lifetime: Duration) -> Configuration {
    Configuration {
        node: node as u64,
        peer: 3 - node as u64,
        epoch_ms: 820_540_800_000,
        lifetime,
        storage,
    }
}

fn link() -> LinkParameters {
    let rate = DataRate::from_bits_per_second(5_000_000);
    LinkParameters {
        outgoing: rate,
        incoming: rate,
        round_trip: Duration::from_millis(200),
        outgoing_queue: None,
        incoming_queue: None,
        mtu: 1500,
    }
}

/// Returns a row with gateways at these places, whose server listens, and its client, which has begun to connect.
fn row(gateways: [usize; 2], storage: u64, lifetime: Duration) -> (Net, SocketId) {
    let mut row = Net::of(Hosts::row(&[1, 100, 1].map(Duration::from_millis)));
    for (number, node) in gateways.into_iter().enumerate() {
        let peer = gateways[1 - number];
        let host = &mut row.hosts[node];
        let ends = [address(node), address(peer)];
        let configuration = configuration(number + 1, storage, lifetime);
        host.add_layer(BundleGateway::new(
            ends,
            configuration,
            Profile::linux_6(),
            [node as u8; 16],
        ));
        let interface = across(node, gateways);
        host.handle_link(at(0), interface, LinkEvent::Parameters(link()));
    }
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let client = row.hosts[0].tcp_connect(at(0), end(address(3), PORT), &Profile::linux_6(), None);
    (row, client)
}

fn two_routers(storage: u64) -> (Net, SocketId) {
    row([1, 2], storage, Duration::from_secs(3600))
}

fn gateway(row: &Net, node: usize) -> &BundleGateway {
    row.hosts[node].layer::<BundleGateway>().unwrap()
}

/// Reports the gateways' link as up or down.
fn report(row: &mut Net, event: LinkEvent) {
    let now = row.now();
    for node in [1, 2] {
        row.hosts[node].handle_link(now, across(node, [1, 2]), event);
    }
    row.settle();
}

/// Loses packets between the gateways in a period.
fn outage(period: Range<Instant>) -> impl Fn(&mut Packet, Entering) -> Passage {
    move |_, entering| match entering.from.min(entering.to) == 1 && period.contains(&entering.at) {
        true => Passage::Lost,
        false => Passage::Arrives,
    }
}

/// Has both ends send `BYTES` and close, and checks what arrives, until the time is over. Returns the bytes that each
/// has received, the client first.
fn talk(row: &mut Net, client: SocketId, until: u64) -> [u64; 2] {
    let (mut written, mut read) = ([0; 2], [0; 2]);
    let start = row.now().as_nanos() / 100_000_000;
    for tenth in start + 1..=until / 100 {
        let server = row.accepted(3).first().copied();
        for (side, (node, socket)) in [(0, Some(client)), (3, server)].into_iter().enumerate() {
            let Some(socket) = socket else { continue };
            let connection = row.hosts[node].connection_mut(socket).unwrap();
            if written[side] < BYTES {
                written[side] += connection.write_pattern(7, BYTES - written[side]);
                if written[side] == BYTES {
                    connection.close();
                }
            }
            let mut bytes = vec![0; 1 << 20];
            let count = connection.read(&mut bytes);
            for byte in &bytes[..count] {
                assert_eq!(*byte, pattern_byte(7, read[side]), "at {}", read[side]);
                read[side] += 1;
            }
        }
        row.run_until(at(100 * tenth));
    }
    read
}

#[test]
fn both_directions_cross_in_bundles_and_leave_nothing_behind() {
    let (mut row, client) = two_routers(1 << 20);
    assert_eq!(talk(&mut row, client, 10_000), [BYTES; 2]);
    row.run_until(at(90_000));
    for node in [1, 2] {
        let gateway = gateway(&row, node);
        assert_eq!(gateway.connections(), 0, "{gateway:?}");
        assert_eq!((gateway.custody(), gateway.waiting()), (0, 0));
        assert_eq!(gateway.counts().duplicates, 0);
        assert_eq!(gateway.counts().retransmitted, 0);
    }
    // Between the gateways there are only bundles.
    let between = row.sent.iter().filter(|sent| sent.from.min(sent.to) == 1);
    let mut bodies = between.map(|sent| &sent.packet.body);
    assert!(
        bodies.all(|body| matches!(body, Body::Udp(header, _) if header.destination_port == 4556))
    );
}

/// A gateway may be at the end itself, as where a mobile is its own gateway.
#[test]
fn a_gateway_may_be_an_end() {
    for gateways in [[1, 3], [0, 2], [0, 3]] {
        let (mut row, client) = row(gateways, 1 << 20, Duration::from_secs(3600));
        assert_eq!(talk(&mut row, client, 10_000), [BYTES; 2], "{gateways:?}");
        row.run_until(at(90_000));
        for node in gateways {
            assert_eq!(gateway(&row, node).connections(), 0);
        }
    }
}

/// Through an outage the client goes on sending up to the capacity of the storage, and no timer of TCP fails.
#[test]
fn custody_bridges_an_outage() {
    let (mut row, client) = two_routers(1 << 20);
    row.run_until(at(500));
    row.decide(outage(at(600)..at(60_600)));
    row.run_until(at(600));
    report(&mut row, LinkEvent::Down);
    let mut read = talk(&mut row, client, 60_500);
    assert_eq!(read, [0, 0]);
    // All of the client's data is in custody, and acknowledged.
    let acknowledged = row.hosts[0]
        .connection(client)
        .unwrap()
        .bytes_acknowledged();
    assert_eq!(acknowledged, BYTES);
    assert_eq!(gateway(&row, 1).custody(), BYTES);
    row.run_until(at(60_600));
    report(&mut row, LinkEvent::Up);
    let start = row.now();
    while read[1] < BYTES && row.now() < at(70_000) {
        row.run_for(Duration::from_millis(10));
        let server = row.accepted(3)[0];
        let connection = row.hosts[3].connection_mut(server).unwrap();
        let mut bytes = vec![0; 1 << 20];
        read[1] += connection.read(&mut bytes) as u64;
    }
    // The rest of the outage is over: 300 kB at 5 Mbit/s with headers, and the delay.
    let took = row.now().saturating_since(start).as_secs_f64();
    let transmission = BYTES as f64 * 8.0 / 5e6;
    assert!(
        took > transmission + 0.1 && took < transmission * 1.22 + 0.13,
        "{took}"
    );
}

/// A full storage closes the window: the client's data waits at the client, and nothing is dropped.
#[test]
fn a_full_storage_closes_the_window() {
    let (mut row, client) = two_routers(20_000);
    row.run_until(at(500));
    row.decide(outage(at(600)..at(30_600)));
    row.run_until(at(600));
    report(&mut row, LinkEvent::Down);
    let mut written = 0;
    while row.now() < at(20_000) {
        let connection = row.hosts[0].connection_mut(client).unwrap();
        written += connection.write_pattern(7, 5_000_000 - written);
        row.run_for(Duration::from_millis(100));
    }
    assert_eq!(gateway(&row, 1).custody(), 20_000);
    assert_eq!(gateway(&row, 1).counts().most_bytes, 20_000);
    let connection = row.hosts[0].connection(client).unwrap();
    assert_eq!(connection.peer_window(), 0);
    assert!(connection.bytes_acknowledged() < written);
    row.run_until(at(30_600));
    report(&mut row, LinkEvent::Up);
    let mut read = 0;
    while row.now() < at(120_000) {
        row.run_for(Duration::from_millis(500));
        let server = row.accepted(3)[0];
        let mut bytes = vec![0; 1 << 20];
        let count = row.hosts[3]
            .connection_mut(server)
            .unwrap()
            .read(&mut bytes);
        for byte in &bytes[..count] {
            assert_eq!(*byte, pattern_byte(7, read));
            read += 1;
        }
    }
    assert_eq!(read, written);
    assert_eq!(gateway(&row, 1).counts().expired, 0);
}

/// A server that does not read fills the storage at its gateway, which refuses custody; all arrives once it reads.
#[test]
fn a_slow_receiver_has_custody_refused() {
    let (mut row, client) = two_routers(50_000);
    row.run_until(at(1_000));
    let server = row.accepted(3)[0];
    let mut written = 0;
    for _ in 0..300 {
        let connection = row.hosts[0].connection_mut(client).unwrap();
        written += connection.write_pattern(7, 20_000_000 - written);
        row.run_for(Duration::from_millis(100));
        assert!(gateway(&row, 2).waiting() <= 50_000);
    }
    assert!(gateway(&row, 2).counts().refused > 0);
    let mut read = 0;
    for _ in 0..1_000 {
        let mut bytes = vec![0; 1 << 20];
        let count = row.hosts[3]
            .connection_mut(server)
            .unwrap()
            .read(&mut bytes);
        for byte in &bytes[..count] {
            assert_eq!(*byte, pattern_byte(7, read));
            read += 1;
        }
        row.run_for(Duration::from_millis(100));
    }
    assert_eq!(read, written);
}

/// A stream with an expired bundle cannot go on: both ends learn of it.
#[test]
fn an_expired_bundle_resets_both_ends() {
    let (mut row, client) = row([1, 2], 1 << 20, Duration::from_secs(5));
    row.run_until(at(1_000));
    row.decide(outage(at(1_000)..at(10_000)));
    report(&mut row, LinkEvent::Down);
    row.hosts[0]
        .connection_mut(client)
        .unwrap()
        .write_pattern(7, 10_000);
    row.run_until(at(10_000));
    assert!(row.seen(0, SocketEvent::Reset).is_some());
    assert!(gateway(&row, 1).counts().expired > 0);
    report(&mut row, LinkEvent::Up);
    row.run_until(at(12_000));
    // The word of the reset has a lifetime of its own, from the expiry on.
    assert!(row.seen(3, SocketEvent::Reset).is_some());
    for node in [1, 2] {
        assert_eq!(gateway(&row, node).connections(), 0);
        assert_eq!(gateway(&row, node).custody(), 0);
    }
}

#[test]
fn a_refusal_and_a_reset_cross() {
    let (mut row, client) = two_routers(1 << 20);
    let closed = row.hosts[0].tcp_connect(at(0), end(address(3), 81), &Profile::linux_6(), None);
    row.run_until(at(1_000));
    assert!(row.hosts[0].connection(closed).unwrap().state() == State::Closed);
    let server = row.accepted(3)[0];
    row.hosts[3].connection_mut(server).unwrap().abort();
    row.run_until(at(2_000));
    assert!(row.seen(0, SocketEvent::Reset).is_some());
    assert!(row.hosts[0].connection(client).unwrap().state() == State::Closed);
    assert_eq!([1, 2].map(|node| gateway(&row, node).connections()), [0, 0]);
}

/// Losses, duplicates and reordering on the gateways' link leave the streams whole.
#[test]
fn a_bad_link_is_survived() {
    let (mut row, client) = two_routers(1 << 20);
    row.decide(|_, entering| {
        if entering.from.min(entering.to) != 1 {
            return Passage::Arrives;
        }
        match entering.number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60 {
            0..3 => Passage::Lost,
            3 => Passage::Copies(vec![Duration::ZERO, Duration::from_millis(30)]),
            4 => Passage::Copies(vec![Duration::from_millis(7)]),
            _ => Passage::Arrives,
        }
    });
    assert_eq!(talk(&mut row, client, 30_000), [BYTES; 2]);
    row.run_until(at(120_000));
    let counts = gateway(&row, 1).counts();
    assert!(counts.retransmitted > 0 && gateway(&row, 2).counts().duplicates > 0);
    assert_eq!([1, 2].map(|node| gateway(&row, node).connections()), [0, 0]);
    let refused = row
        .log
        .iter()
        .filter(|logged| matches!(logged.event, HostEvent::Undelivered { .. }));
    assert_eq!(refused.count(), 0);
}
