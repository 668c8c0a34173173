//! Connections that share a link: a higher class goes first, and equals get equal shares.

use super::*;

const CONTROL: u16 = 5000;
/// Time of a full packet on the link.
const PACKET: Duration = Duration::from_micros(2_400);

/// Returns a row with a rule of class 7 for UDP to the control port, and bulk connections to its server.
fn with_bulk(connections: usize) -> (Net, Vec<SocketId>) {
    let mut all = rules(Mode::Reliable);
    all.insert(0, all[0].clone());
    all[0].selector.port = Some(CONTROL);
    all[0].configuration.class = ServiceClass::new(7).unwrap();
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

/// Datagrams of 500 B every 4 ms, 1 Mbit/s, beside a bulk transfer that fills the link of 5 Mbit/s. The way takes
/// 22 ms, and the wires of this row no time for a packet's length.
#[test]
fn a_control_stream_waits_for_one_packet_of_a_bulk_transfer() {
    let (mut row, clients) = with_bulk(1);
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
    let arrived = row.log.iter().filter(|logged| logged.host == 3);
    let arrived = arrived.filter(|logged| matches!(logged.event, HostEvent::Datagram { .. }));
    let sent = (250..).map(|step| at(500 + 4 * step));
    let mut delays: Vec<Duration> = arrived
        .zip(sent)
        .map(|(logged, sent)| logged.at.saturating_since(sent))
        .collect();
    assert_eq!(delays.len(), 750);
    delays.sort();
    let way = Duration::from_millis(22);
    assert!(
        delays[742] <= way + PACKET.saturating_mul(2),
        "{:?}",
        delays[742]
    );
    // The link is busy: half of the datagrams do wait.
    assert!(
        delays[375] > way + Duration::from_micros(500),
        "{:?}",
        delays[375]
    );
    // And the transfer gets what remains of 4 s at 5 Mbit/s, 1 Mbit/s of which in 3 s is control, with its headers.
    let left = (4.0 * 5e6 - 3.0 * 1.15e6) / 8.0;
    assert!(bulk as f64 > 0.9 * left * 1454.0 / 1500.0, "{bulk}");
}

#[test]
fn equal_transfers_get_equal_shares() {
    let (mut row, clients) = with_bulk(4);
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
