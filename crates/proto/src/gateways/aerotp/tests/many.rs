//! Many connections that open at the same time.

use super::*;

/// Within the round trip of 42 ms between them no gateway hears whether the other one has the connection.
#[test]
fn gateways_with_authenticated_links_open_any_number_of_connections_in_a_round_trip() {
    const CONNECTIONS: usize = 3 * MOST_HALF_OPEN;
    const AT_ONCE: usize = MOST_HALF_OPEN / 2;
    let carried = |authenticate: bool| {
        let mut row = row(rules(Mode::NearReliable));
        for node in [1, 2].into_iter().filter(|_| authenticate) {
            let gateway = row.hosts[node].layer_mut::<AerotpGateway>();
            gateway.unwrap().leave_authentication_to_links();
        }
        row.decide(server_is_down);
        for turn in 0..CONNECTIONS / AT_ONCE {
            for _ in 0..AT_ONCE {
                row.connect(&Profile::linux_6());
            }
            // The clients have answered their gateway before the next ones begin.
            row.run_until(at(5 * (turn as u64 + 1)));
        }
        row.run_until(at(60));
        [1, 2].map(|node| row.carried(node))
    };
    assert_eq!(carried(true), [CONNECTIONS; 2]);
    assert!(carried(false)[1] <= MOST_HALF_OPEN);
}
