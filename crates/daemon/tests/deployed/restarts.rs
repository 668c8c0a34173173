//! Gateways without custody on disk that are killed: both ends learn of it, also while they only wait.

use crate::custody::{FAR, NEAR, Pair};
use crate::world::{CORRESPONDENT, Version, World};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Longest time from the start of the gateway until an end knows.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// Connects the host and the correspondent; a byte crosses in each direction.
fn connect(world: &World) -> [TcpStream; 2] {
    let to: IpAddr = CORRESPONDENT[0].parse().unwrap();
    let listener = world
        .correspondent
        .run(|| TcpListener::bind((to, 0)).unwrap());
    let to = listener.local_addr().unwrap();
    let mut stream = world.host.run(|| TcpStream::connect(to).unwrap());
    let (mut accepted, _) = listener.accept().unwrap();
    for end in [&stream, &accepted] {
        end.set_read_timeout(Some(KNOWN_WITHIN * 4)).unwrap();
    }
    let mut byte = [7];
    stream.write_all(&byte).unwrap();
    accepted.read_exact(&mut byte).unwrap();
    accepted.write_all(&byte).unwrap();
    stream.read_exact(&mut byte).unwrap();
    [stream, accepted]
}

/// Waits for more from the other end; returns the error instead, and when it came.
fn wait(mut end: TcpStream) -> JoinHandle<(ErrorKind, Instant)> {
    thread::spawn(move || {
        let error = end.read(&mut [0]).unwrap_err();
        (error.kind(), Instant::now())
    })
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn ends_that_only_wait_are_reset_after_a_restart_of_either_gateway() {
    for which in [NEAR, FAR] {
        let world = World::new(Version::V4);
        let mut pair = Pair::start(&world, "20 Mbit/s", ["", ""]);
        let waiting = connect(&world).map(wait);
        sleep(Duration::from_secs(1));
        assert!(waiting.iter().all(|end| !end.is_finished()));
        pair.restart(which);
        let restarted = Instant::now();
        for (end, name) in waiting.into_iter().zip(["host", "correspondent"]) {
            let (error, at) = end.join().unwrap();
            let after = at.saturating_duration_since(restarted);
            println!("gateway {which} restarted: the {name} has {error:?} after {after:?}");
            assert_eq!(error, ErrorKind::ConnectionReset, "{name}");
            assert!(after < KNOWN_WITHIN, "{name}: {after:?}");
        }
    }
}
