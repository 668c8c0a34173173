//! A pair of gateways through random faults, for as long as `BATON_SOAK_SECONDS` says (`make soak`).

use crate::attacks::Numbers;
use crate::gateways::{byte, start};
use crate::hostile::relay;
use crate::world::daemons::Daemon;
use crate::world::{CORRESPONDENT, Version, WLAN, WWAN, World};
use nix::sys::signal::Signal;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Seconds of an ordinary test run.
const SECONDS: u64 = 15;
const PORT: u16 = 7001;
/// Transfers at the same time.
const WORKERS: u32 = 3;
/// A transfer that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Growth of a process's memory that its allocator may cause.
const SLACK: u64 = 2 << 20;

/// Returns a hash of the bytes that the other end sends, and their number.
fn take_all(stream: &mut TcpStream) -> std::io::Result<(u64, u64)> {
    let (mut hasher, mut bytes, mut buffer) = (DefaultHasher::new(), 0, vec![0; 64 << 10]);
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok((hasher.finish(), bytes));
        }
        // The hash must not depend on the lengths of reads.
        buffer[..read]
            .iter()
            .for_each(|byte| hasher.write_u8(*byte));
        bytes += read as u64;
    }
}

/// Takes connections, and answers each with the hash of what has come and with as many bytes.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        thread::spawn(move || {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let (hash, bytes) = take_all(&mut stream).unwrap();
            stream.write_all(&hash.to_be_bytes()).unwrap();
            stream.write_all(&data(bytes as usize)).unwrap();
        });
    }
}

fn data(bytes: usize) -> Vec<u8> {
    (0..bytes).map(byte).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.iter().for_each(|byte| hasher.write_u8(*byte));
    hasher.finish()
}

/// Sends bytes and gets as many back, and the hash of those that have arrived.
fn transfer(mut stream: TcpStream, bytes: usize) {
    let sent = data(bytes);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut arrived = [0; 8];
    stream.read_exact(&mut arrived).unwrap();
    assert_eq!(u64::from_be_bytes(arrived), hash(&sent), "on the way there");
    let back = take_all(&mut stream).unwrap();
    assert_eq!(back, (hash(&sent), bytes as u64), "on the way back");
}

/// Transfers one after the other, by several workers.
struct Transfers {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    workers: Vec<JoinHandle<()>>,
}

impl Transfers {
    fn begin(world: &World) -> Transfers {
        let is_over = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicU64::new(0));
        let worker = |number: u32| {
            let (is_over, done) = (is_over.clone(), done.clone());
            let to: SocketAddr =
                (CORRESPONDENT[0].parse::<std::net::IpAddr>().unwrap(), PORT).into();
            // A thread begins in the namespace of the one that starts it.
            world.host.run(|| {
                thread::spawn(move || {
                    let mut numbers = Numbers(number);
                    while !is_over.load(Ordering::Relaxed) {
                        let bytes = 1 << (10 + numbers.next() % 11);
                        transfer(TcpStream::connect(to).unwrap(), bytes);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
        };
        Transfers {
            workers: (1..=WORKERS).map(worker).collect(),
            is_over,
            done,
        }
    }

    /// Lets the transfers under way end; returns how many there were.
    fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        self.done.load(Ordering::Relaxed)
    }
}

/// Faults of the links, one after the other, and an end to each.
struct Faults<'a> {
    world: &'a World,
    gateways: &'a [Daemon; 2],
    numbers: Numbers,
    port: u16,
}

impl Faults<'_> {
    fn milliseconds(&mut self, most: u32) -> Duration {
        Duration::from_millis(u64::from(self.numbers.next() % most))
    }

    fn next(&mut self) {
        let uplink = [WLAN, WWAN][self.numbers.next() as usize % 2];
        let length = self.milliseconds(2500);
        match self.numbers.next() % 7 {
            0 | 1 => {
                self.world.air.cut(uplink, true);
                sleep(length);
                self.world.air.cut(uplink, false);
            }
            2 => {
                for uplink in [WLAN, WWAN] {
                    self.world.air.cut(uplink, true);
                }
                sleep(length);
                for uplink in [WLAN, WWAN] {
                    self.world.air.cut(uplink, false);
                }
            }
            3 => {
                self.world.air.state().uplinks[uplink].relay = Some(relay);
                sleep(length);
                self.world.air.state().uplinks[uplink].relay = None;
            }
            4 => {
                let delay = self.milliseconds(300);
                self.world.air.state().uplinks[uplink].delay = delay;
            }
            5 => {
                // The translator has forgotten the port.
                self.port += 1;
                let mut state = self.world.air.state();
                let outside = state.uplinks[uplink].outside.as_mut().unwrap();
                outside.set_port(20_000 + self.port);
            }
            _ => {
                for gateway in self.gateways {
                    gateway.signal(Signal::SIGHUP);
                    assert!(gateway.status().contains("carried"));
                }
            }
        }
        sleep(self.milliseconds(1000));
    }

    /// Lets faults follow each other for a time, below transfers; returns the number of transfers.
    fn last(&mut self, seconds: u64) -> u64 {
        let transfers = Transfers::begin(self.world);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) {
            self.next();
        }
        transfers.end()
    }
}

/// Waits until the other gateway has all that a gateway has acknowledged to others.
fn until_all_is_delivered(gateway: &Daemon) {
    let begun = Instant::now();
    loop {
        let state = gateway.state().gateway.unwrap();
        assert_eq!(state.refused_datagrams, 0);
        if state.custody_bytes == 0 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", gateway.status());
        sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn through_random_faults_nothing_is_lost_and_memory_does_not_grow() {
    let seconds = std::env::var("BATON_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(SECONDS, |text| text.parse().expect("a number of seconds"));
    let world = World::new(Version::V4);
    let gateways = start(&world, Version::V4, "");
    world.correspondent.run(|| {
        let listener = TcpListener::bind((CORRESPONDENT[0], PORT)).unwrap();
        thread::spawn(move || serve(&listener));
    });
    let mut faults = Faults {
        world: &world,
        gateways: &gateways,
        numbers: Numbers(28),
        port: 0,
    };
    let first = faults.last(seconds.div_ceil(3));
    let before = gateways.each_ref().map(Daemon::memory);
    let second = faults.last(seconds - seconds / 3);
    println!("{first} transfers, then {second}");
    assert!(first > 0 && second > 0, "{first}, {second}");
    gateways.iter().for_each(until_all_is_delivered);
    for (gateway, before) in gateways.iter().zip(before) {
        let after = gateway.memory();
        println!(
            "{before} B after a third of the time, {after} B in the end\n{}",
            gateway.status()
        );
        assert!(
            after < before + before / 10 + SLACK,
            "{before} B, then {after} B"
        );
    }
}
