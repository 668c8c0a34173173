//! Speed at which a path seals and opens packets on one core, beside the bare cipher in the same run. The best of many short rounds
//! counts, in which all take turns, so that they meet the same disturbances.

use baton_path::{
    Initiator, InitiatorConfig, Listener, ListenerConfig, PACKET, PathKey, PresharedKey, PrivateKey,
};
use baton_proto::time::{Duration, Instant};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use std::hint::black_box;
use std::net::SocketAddr;

const ROUNDS: usize = 200;
const ROUND: std::time::Duration = std::time::Duration::from_millis(2);
const PACKET_BYTES: usize = 1400;
/// Datagrams that are sealed before any is opened, as a batch of a device has them.
const BATCH: usize = 32;

fn main() {
    let now = Instant::from_secs(1);
    let (mut router, mut home, key) = pair(now);
    let packet = vec![0x45; PACKET_BYTES];
    let mut batch = [(); BATCH].map(|()| Vec::with_capacity(PACKET_BYTES + 64));
    let from = SocketAddr::from(([192, 0, 2, 1], 1000));
    let mut spare = Vec::with_capacity(PACKET_BYTES + 64);
    // A packet a microsecond, and what both send of themselves in that time.
    let mut clock = now;
    let both = &mut || {
        clock += Duration::from_micros(BATCH as u64);
        for datagram in &mut batch {
            datagram.clear();
            router
                .send(clock, PACKET, black_box(&packet), datagram)
                .expect("the path is up");
        }
        for datagram in &mut batch {
            let taken = home.handle_datagram(clock, from, datagram);
            assert!(taken.is_ok_and(|content| content.is_some()));
        }
        home.handle_timeout(clock);
        router.handle_timeout(clock);
        spare.clear();
        while home.poll_transmit(clock, &mut spare).is_some() {
            let _ = router.handle_datagram(clock, from, &mut spare);
            spare.clear();
        }
        while router.poll_transmit(clock, &mut spare).is_some() {
            let _ = home.handle_datagram(clock, from, &mut spare);
            spare.clear();
        }
        while home.poll_event().is_some() || router.poll_event().is_some() {}
    };
    let bare_key = UnboundKey::new(&CHACHA20_POLY1305, &[7; 32]).expect("32 bytes");
    let bare_key = LessSafeKey::new(bare_key);
    let mut buffer = Vec::with_capacity(PACKET_BYTES + 16);
    let nonce = || Nonce::assume_unique_for_key([0; 12]);
    let bare = &mut || {
        for _ in 0..BATCH {
            buffer.clear();
            buffer.extend_from_slice(black_box(&packet));
            let sealed = bare_key.seal_in_place_append_tag(nonce(), Aad::empty(), &mut buffer);
            sealed.expect("it fits");
            let opened = bare_key.open_in_place(nonce(), Aad::empty(), &mut buffer);
            black_box(opened.expect("authentic"));
        }
    };
    let [path, cipher] = rates([both, bare]);
    println!(
        "{:<48} {path:>8.2} Gbit/s",
        "1400 B, path: seal, open, receipts"
    );
    println!(
        "{:<48} {cipher:>8.2} Gbit/s",
        "1400 B, cipher alone: seal and open"
    );
    println!(
        "{:<48} {:>8.2}",
        "share of the cipher's rate (target >= 0.67)",
        path / cipher
    );
    assert_eq!(home.path(key).map(|path| path.is_up), Some(true));
    println!(
        "{:<48} {:>8.0} 1/s",
        "handshakes at the home agent",
        handshakes()
    );
}

/// Handshakes a second at the home agent: initiations read, and responses written.
fn handshakes() -> f64 {
    let mut now = Instant::from_secs(1);
    let (mut router, mut home, _) = pair(now);
    let from = SocketAddr::from(([192, 0, 2, 1], 1000));
    let (mut best, mut datagram) = (f64::MAX, Vec::new());
    for _ in 0..ROUNDS {
        now += Duration::from_secs(10);
        router.uplink_down(now);
        router.uplink_up(now);
        datagram.clear();
        router
            .poll_transmit(now, &mut datagram)
            .expect("an initiation");
        let begun = std::time::Instant::now();
        assert_eq!(home.handle_datagram(now, from, &mut datagram), Ok(None));
        datagram.clear();
        home.poll_transmit(now, &mut datagram).expect("a response");
        best = best.min(begun.elapsed().as_secs_f64());
    }
    1.0 / best
}

/// Best rates of two ways, in Gbit/s of packets that were sealed and opened.
fn rates(ways: [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let mut best = [0.0_f64; 2];
    let mut ways = ways;
    for _ in 0..ROUNDS {
        for (best, way) in best.iter_mut().zip(ways.iter_mut()) {
            let (begun, mut calls) = (std::time::Instant::now(), 0_u32);
            while begun.elapsed() < ROUND {
                way();
                calls += 1;
            }
            let bits = f64::from(calls) * (BATCH * PACKET_BYTES * 8) as f64;
            *best = best.max(bits / begun.elapsed().as_secs_f64() / 1e9);
        }
    }
    best
}

/// Both ends of a path that is up.
fn pair(now: Instant) -> (Initiator, Listener, PathKey) {
    let [local, home_key] = [[1; 32], [2; 32]].map(PrivateKey::from_bytes);
    let (peer, home_public) = (local.public(), home_key.public());
    let address = SocketAddr::from(([192, 0, 2, 1], 1000));
    let config = ListenerConfig {
        local: home_key,
        uplink_mtu: 1500,
        finds_rate: false,
        seed: [3; 32],
    };
    let mut home = Listener::new(now, config);
    home.add_peer(peer, PresharedKey::default(), &[])
        .expect("short");
    let config = InitiatorConfig {
        local,
        home_agent: home_public,
        preshared: PresharedKey::default(),
        remote: address,
        path: 0,
        uplink_mtu: 1500,
        finds_rate: false,
        unix_nanoseconds: 0,
        seed: [4; 32],
    };
    let mut router = Initiator::new(now, config);
    let mut datagram = Vec::new();
    loop {
        datagram.clear();
        if router.poll_transmit(now, &mut datagram).is_some() {
            home.handle_datagram(now, address, &mut datagram)
                .expect("right");
        } else if home.poll_transmit(now, &mut datagram).is_some() {
            router
                .handle_datagram(now, address, &mut datagram)
                .expect("right");
        } else {
            break;
        }
    }
    let key = home.find(&peer, 0).expect("a path");
    (router, home, key)
}
