//! Connections that share a link: a higher class goes first, and equals get equal shares.

use super::*;

const CONTROL: u16 = 5000;
/// Time of a full packet on the link.
const PACKET: Duration = Duration::from_micros(2_400);

/// Returns a row with a rule of class 7 and a mode for UDP to the control port, and bulk connections to its server.
fn with_bulk(control: Mode, connections: usize) -> (Net, Vec<SocketId>) {
    let mut all = rules(Mode::Reliable);
    all.insert(0, all[0].clone());
    all[0].selector.port = Some(CONTROL);
    all[0].configuration.class = ServiceClass::new(7).unwrap();
    all[0].configuration.mode = control;
    let mut row = row(all);
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let clients: Vec<SocketId> = (0..connections)
        .map(|_| row.connect(&Profile::linux_6()))
        .collect();
    row.run_until(at(500));
    (row, clients)
}

/// Fills the clients' buffers, and reads everything at the server.
fn pump(row: &mut Net, clients: &[SocketId]) -> Vec<u64> {
    for &client in clients {
        let connection = row.hosts[0].connection_mut(client).unwrap();
        connection.write_pattern(7, 1 << 20);
    }
    let servers = row.accepted(3);
    let host = &mut row.hosts[3];
    let read = servers.iter().map(|&server| {
        let connection = host.connection_mut(server).unwrap();
        connection.discard(u64::MAX)
    });
    read.collect()
}

/// Makes the wire between the gateways a link that sends one packet after the other.
fn link_in_the_air(row: &mut Net) {
    let mut free_at = Instant::ZERO;
    row.decide(move |packet, entering| {
        if (entering.from, entering.to) != (1, 2) {
            return Passage::Arrives;
        }
        let bits = u64::from(packet.wire_length()) * 8;
        let takes = DataRate::from_bits_per_second(RATE).transmission_time(bits);
        free_at = free_at.max(entering.at) + takes.unwrap();
        Passage::Copies(vec![free_at.saturating_since(entering.at)])
    });
}

/// Datagrams of 500 B every 4 ms, 1 Mbit/s, beside a bulk transfer that fills the link of 5 Mbit/s. The way takes
/// 22 ms and the times of its packets on the link.
#[test]
fn a_control_stream_waits_for_one_packet_of_a_bulk_transfer() {
    for mode in [Mode::Reliable, Mode::UnreliableDatagram] {
        let (mut row, clients) = with_bulk(mode, 1);
        link_in_the_air(&mut row);
        row.hosts[3].udp_bind(CONTROL);
        row.hosts[0].udp_bind(6000);
        let mut bulk = 0;
        for step in 0..1_000 {
            if step >= 250 {
                let payload = Payload::Pattern {
                    stream: 7,
                    offset: step * 500,
                    length: 500,
                };
                row.hosts[0].udp_send(6000, end(address(3), CONTROL), payload, None);
            }
            bulk += pump(&mut row, &clients)[0];
            row.settle();
            row.run_until(at(500 + 4 * (step + 1)));
        }
        row.run_until(at(5_000));
        let sent: Vec<Instant> = (250..1_000).map(|step| at(500 + 4 * step)).collect();
        let left = row
            .sent
            .iter()
            .filter(|sent| (sent.from, sent.to) == (1, 2));
        let left = left.filter(|sent| match &sent.packet.body {
            Body::Aerotp(it) => it.header.class.number() == 7 && it.payload.length() >= 500,
            _ => false,
        });
        // None waits in the gateway, however late that is.
        let left: Vec<Instant> = left.map(|sent| sent.at).collect();
        let at_gateway: Vec<Instant> = sent
            .iter()
            .map(|&at| at + Duration::from_millis(1))
            .collect();
        assert_eq!(left, at_gateway, "{mode:?}");
        let arrived = row.log.iter().filter(|logged| logged.host == 3);
        let arrived = arrived.filter(|logged| matches!(logged.event, HostEvent::Datagram { .. }));
        let mut delays: Vec<Duration> = arrived
            .zip(&sent)
            .map(|(logged, &sent)| logged.at.saturating_since(sent))
            .collect();
        assert_eq!(delays.len(), 750);
        delays.sort();
        let way = Duration::from_millis(22);
        let most = delays[742];
        assert!(most <= way + PACKET.saturating_mul(2), "{mode:?}: {most:?}");
        // The link is busy: half of the datagrams do wait, besides the 0.9 ms of their own.
        let median = delays[375];
        assert!(
            median > way + Duration::from_micros(1_400),
            "{mode:?}: {median:?}"
        );
        // And the transfer gets what remains of 4 s at 5 Mbit/s, 1 Mbit/s of which in 3 s is control, with its headers.
        let left = (4.0 * 5e6 - 3.0 * 1.15e6) / 8.0;
        assert!(bulk as f64 > 0.9 * left * 1454.0 / 1500.0, "{bulk}");
    }
}

/// Only one packet goes ahead of its turn: a class that fills the link alone is sent at the link's rate.
#[test]
fn a_class_that_fills_the_link_makes_no_queue_there() {
    let (mut row, clients) = with_bulk(Mode::UnreliableDatagram, 1);
    row.hosts[3].udp_bind(CONTROL);
    row.hosts[0].udp_bind(6000);
    let mut sent = 0;
    let since = row.now();
    for step in 0..500 {
        for _ in 0..4 {
            let payload = Payload::Pattern {
                stream: 7,
                offset: sent * 1_000,
                length: 1_000,
            };
            row.hosts[0].udp_send(6000, end(address(3), CONTROL), payload, None);
            sent += 1;
        }
        pump(&mut row, &clients);
        row.settle();
        row.run_until(at(500 + 4 * (step + 1)));
    }
    let air = row
        .sent
        .iter()
        .filter(|sent| (sent.from, sent.to) == (1, 2));
    let (mut free_at, mut most) = (Instant::ZERO, Duration::ZERO);
    let mut control = 0;
    for sent in air.filter(|sent| sent.at >= since) {
        let bits = u64::from(sent.packet.wire_length()) * 8;
        let takes = DataRate::from_bits_per_second(RATE).transmission_time(bits);
        most = most.max(free_at.saturating_since(sent.at));
        free_at = free_at.max(sent.at) + takes.unwrap();
        control += u32::from(
            matches!(&sent.packet.body, Body::Aerotp(it) if it.header.class.number() == 7),
        );
    }
    // Twice what the link carries was offered.
    assert!(control > 1_000, "{control}");
    assert!(most <= PACKET.saturating_mul(2), "{most:?}");
}

#[test]
fn equal_transfers_get_equal_shares() {
    let (mut row, clients) = with_bulk(Mode::Reliable, 4);
    let mut bytes = vec![0; 4];
    for step in 0..300 {
        for (bytes, read) in bytes.iter_mut().zip(pump(&mut row, &clients)) {
            *bytes += if step >= 100 { read } else { 0 };
        }
        row.settle();
        row.run_until(at(500 + 10 * (step + 1)));
    }
    let sum: u64 = bytes.iter().sum();
    assert!(
        sum as f64 > 0.95 * 2.0 * 5e6 / 8.0 * 1454.0 / 1500.0,
        "{bytes:?}"
    );
    for share in bytes {
        let share = share as f64 / sum as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
    }
}
