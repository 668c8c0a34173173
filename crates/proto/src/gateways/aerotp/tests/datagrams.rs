//! Queues of datagrams: short while a link is up, as long as the buffer while none is.

use super::*;

/// Length of a datagram, in bytes.
const LENGTH: usize = 1000;
/// Interface of the client's gateway to the other one.
const AIRBORNE: InterfaceId = InterfaceId(1);

/// Sends numbered datagrams, one in each step; returns the times at which they left.
fn send(row: &mut Net, number: u32, step: Duration) -> Vec<Instant> {
    let mut left = Vec::new();
    for number in 0..number {
        let mut bytes = vec![0; LENGTH];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        left.push(row.now());
        let payload = Payload::Bytes(bytes.into());
        row.hosts[0].udp_send(6000, end(address(3), 5000), payload, None);
        row.run_until(row.now() + step);
    }
    left
}

/// Returns the numbers of the datagrams at the server, and the times at which they came.
fn arrivals(row: &Net) -> Vec<(usize, Instant)> {
    let here = row.log.iter().filter(|logged| logged.host == 3);
    here.filter_map(|logged| match &logged.event {
        HostEvent::Datagram {
            payload: Payload::Bytes(bytes),
            ..
        } => {
            assert_eq!(bytes.len(), LENGTH);
            let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
            Some((number as usize, logged.at))
        }
        _ => None,
    })
    .collect()
}

fn bound() -> Net {
    let mut row = row(rules(Mode::NearReliable));
    row.hosts[3].udp_bind(5000);
    row.hosts[0].udp_bind(6000);
    row
}

/// At twice the link's rate a datagram waits for a quarter of a second and no longer, and the link stays full. 22 ms are
/// the way; headers take a tenth of the rate.
#[test]
fn a_sender_that_fills_the_link_finds_a_short_queue() {
    let mut row = bound();
    let left = send(&mut row, 2_500, Duration::from_micros(800));
    row.run_until(at(4_000));
    let arrivals = arrivals(&row);
    let waits = arrivals
        .iter()
        .map(|&(number, came)| came.saturating_since(left[number]));
    let longest = waits.max().unwrap();
    assert!(longest < Duration::from_millis(22 + 250 + 40), "{longest}");
    // Two seconds and the queue, at 5 Mbit/s.
    let most = 2.25 * RATE as f64 / (LENGTH * 8) as f64;
    assert!(arrivals.len() as f64 > 0.8 * most, "{}", arrivals.len());
    let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
    assert_eq!(
        gateway.discards().datagrams as usize,
        2_500 - arrivals.len()
    );
}

/// Datagrams sent while the link is away arrive when it is back, and so do those sent behind them.
#[test]
fn without_a_link_the_gateway_keeps_what_its_buffer_holds() {
    let mut row = bound();
    send(&mut row, 1, Duration::from_millis(500));
    let tell = |row: &mut Net, event: LinkEvent| {
        let now = row.now();
        row.hosts[1].handle_link(now, AIRBORNE, event);
        row.settle();
    };
    tell(&mut row, LinkEvent::Down);
    send(&mut row, 2_000, Duration::from_millis(1));
    tell(&mut row, LinkEvent::Up);
    send(&mut row, 100, Duration::from_millis(5));
    row.run_until(at(10_000));
    assert_eq!(arrivals(&row).len(), 2_101);
}
