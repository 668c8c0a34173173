//! Memory of a home agent; in a process of its own, since the system counts those.

mod pipe;

use baton_path::{Initiator, InitiatorConfig, PresharedKey, PrivateKey};
use baton_proto::time::Instant;
use pipe::{initiator_config, listener};
use std::net::SocketAddr;

const ROUTERS: u32 = 1_000;

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = status.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// The issue allows a home agent 8 kB for each bound router; a path may take half of that.
#[test]
fn a_router_takes_less_than_four_kilobytes_at_its_home_agent() {
    let now = Instant::from_secs(1);
    let address = SocketAddr::from(([192, 0, 2, 1], 1000));
    let mut home = listener(now, 1);
    let before = resident_bytes();
    for number in 0..ROUTERS {
        let mut key = [0x55; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        let local = PrivateKey::from_bytes(key);
        home.add_peer(local.public(), PresharedKey::default(), &[0; 32])
            .unwrap();
        let preshared = PresharedKey::default();
        let config = InitiatorConfig {
            local,
            preshared,
            seed: key,
            ..initiator_config(1, 0, 1)
        };
        let mut router = Initiator::new(now, config);
        let mut datagram = Vec::new();
        loop {
            datagram.clear();
            if router.poll_transmit(now, &mut datagram).is_some() {
                home.handle_datagram(now, address, &mut datagram).unwrap();
            } else if home.poll_transmit(now, &mut datagram).is_some() {
                router.handle_datagram(now, address, &mut datagram).unwrap();
            } else {
                break;
            }
        }
        assert!(router.is_up());
        while home.poll_event().is_some() {}
    }
    assert_eq!(home.counters().sessions, u64::from(ROUTERS));
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let each = (after - before) / u64::from(ROUTERS);
        println!("a router: {each} B");
        assert!(each < 4_000, "{each} B a router");
    }
}
