//! A home agent of 10,000 routers, each with two paths: its memory, its restart, and 100 handovers a second.
//!
//! The daemon runs by itself; all routers are in this process, behind one socket, and each is found by the index of its session that
//! datagrams bring (`baton_path`, frames).

use super::Row;
use super::router::{self, HOME_AGENT, Router};
use super::world::Namespace;
use super::world::daemons::{Daemon, Folder, Surroundings, make_key};
use baton_daemon::keys::{Public, read_private};
use baton_linux::readiness::wait_readable;
use baton_linux::udp::{ReceiveBuffer, UdpSocket};
use baton_path::PublicKey;
use baton_proto::time::{Duration, Instant};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;

const ROUTERS: u16 = 10_000;
/// Routers that are started in a second: each makes two handshakes, and above 1,000 they cost a round trip more.
const JOINING: u64 = 400;
const HANDOVERS: u64 = 100;
const SECONDS: u64 = 20;
/// The times for which all may take to be bound, and for which answers are waited for.
const PATIENCE: Duration = Duration::from_secs(60);
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const MOST_BATCHES: usize = 64;
const ADDRESS: &str = "127.0.0.1:4191";

/// All routers, and their way to the home agent.
struct Crowd {
    zero: std::time::Instant,
    routers: Vec<Router>,
    socket: UdpSocket,
    buffer: ReceiveBuffer,
    remote: SocketAddr,
    /// Routers and paths, by the indices of their sessions at this end.
    indices: HashMap<u32, (u16, usize)>,
    /// The same by the indices of the home agent, which a reset brings.
    remote_indices: HashMap<u32, (u16, usize)>,
    due: BinaryHeap<Reverse<(Instant, u16)>>,
    scheduled: Vec<Instant>,
    /// Acknowledged bindings.
    registered: u64,
    /// Datagrams that the kernel did not take.
    refused: u64,
    /// Handovers that have begun.
    begun: u64,
    /// The beginnings of those that are under way, and the times that the others took.
    under_way: HashMap<u16, Instant>,
    took: Vec<Duration>,
}

/// Binds all of them, starts the home agent anew, moves some, and looks at the daemon.
pub fn bound() -> Vec<Row> {
    let (namespace, folder) = (Namespace::new(), Folder::new());
    namespace.run(|| {
        let mut kernel = baton_linux::netlink::RouteSocket::open().expect("route netlink");
        let lo = kernel.link("lo").expect("a device").index;
        kernel.set_up(lo, true).expect("a device");
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "0").expect("a namespace");
    });
    let key = folder.0.join("home-agent.key");
    make_key(&key);
    let public = read_private(&key).expect("a key").public();
    let empty = start(&namespace, &write_config(&folder.0, &key, 1));
    let before = resident_bytes(&empty);
    drop(empty);
    let config = write_config(&folder.0, &key, ROUTERS);
    let daemon = start(&namespace, &config);
    let any = ([127, 0, 0, 1], 0).into();
    let socket = namespace.run(|| UdpSocket::open(any, None).expect("a port"));
    let mut crowd = Crowd::new(socket);
    crowd.join(&public);
    let bound = crowd.registered;
    let each = (resident_bytes(&daemon).saturating_sub(before)) as f64 / f64::from(ROUTERS);
    let killed = crowd.now();
    drop(daemon);
    let daemon = start(&namespace, &config);
    let starts = crowd.now().saturating_since(killed);
    crowd.wait_until_bound_again();
    let back = crowd.now().saturating_since(killed);
    // An operator looks on meanwhile.
    let status = thread::scope(|scope| {
        let status = scope.spawn(|| daemon.status());
        crowd.hand_over();
        status.join().expect("a status")
    });
    crowd.took.sort();
    let longest = crowd.took.last().copied().unwrap_or_default();
    let is_bound = |line: &&str| line.contains("bound to path") && !line.contains("path none");
    let told = status.lines().filter(is_bound).count();
    vec![
        Row(
            "home agent: routers bound, by themselves and by its status",
            format!("{bound}, {told}"),
            format!("{ROUTERS}"),
        ),
        Row(
            "  memory of each with two paths",
            format!("{each:.0} B"),
            "8000 B".to_owned(),
        ),
        Row(
            "  killed and started: running, all bound again with both paths",
            format!("{:.1} s, {:.1} s", starts.as_secs_f64(), back.as_secs_f64()),
            "-".to_owned(),
        ),
        Row(
            "  100 handovers a second: begun, complete",
            format!("{0}, {1} in {SECONDS} s", crowd.begun, crowd.took.len()),
            format!("{0}, {0}", HANDOVERS * SECONDS),
        ),
        Row(
            "  the longest of them",
            format!("{:.1} ms", longest.as_secs_f64() * 1e3),
            "-".to_owned(),
        ),
        Row(
            "  datagrams that this end's kernel did not take",
            format!("{}", crowd.refused),
            "0".to_owned(),
        ),
    ]
}

fn start(namespace: &Namespace, config: &Path) -> Daemon {
    let mut daemon = Daemon::start(namespace, ("home-agent", config), &Surroundings::default());
    daemon.until("running");
    daemon
}

fn write_config(folder: &Path, key: &Path, routers: u16) -> PathBuf {
    let mut text = format!(
        "private_key = {key:?}\nlisten = [\"{ADDRESS}\"]\naddress = \"{HOME_AGENT}\"\nhome_prefix = \"2001:db8:100::/64\"\n"
    );
    for number in 0..routers {
        let public = Public(router::key(number).public());
        // Writing to a text does not fail.
        let _ = write!(
            text,
            "[[routers]]\npublic_key = \"{public}\"\nhome_address = \"{}\"\nnetworks = [\"{}\"]\n",
            router::home_address(number),
            router::network(number)
        );
    }
    let file = folder.join(format!("{routers}.toml"));
    std::fs::write(&file, text).expect("a file");
    file
}

fn resident_bytes(daemon: &Daemon) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", daemon.id())).expect("a process");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    4096 * pages.expect("a number of pages")
}

impl Crowd {
    fn new(socket: UdpSocket) -> Crowd {
        Crowd {
            zero: std::time::Instant::now(),
            routers: Vec::new(),
            socket,
            buffer: ReceiveBuffer::default(),
            remote: ADDRESS.parse().expect("an address"),
            indices: HashMap::new(),
            remote_indices: HashMap::new(),
            due: BinaryHeap::new(),
            scheduled: Vec::new(),
            registered: 0,
            refused: 0,
            begun: 0,
            under_way: HashMap::new(),
            took: Vec::new(),
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.zero.elapsed().as_nanos() as u64)
    }

    /// Starts the routers, so many a second, and waits until all are bound and have both paths.
    fn join(&mut self, home_agent: &PublicKey) {
        let begun = self.now();
        while self.routers.len() < usize::from(ROUTERS) {
            let now = self.now();
            let due = now.saturating_since(begun).as_nanos() * JOINING / 1_000_000_000;
            while (self.routers.len() as u64) < due.min(ROUTERS.into()) {
                let number = self.routers.len() as u16;
                let router = Router::new(now, number, home_agent, self.remote);
                self.routers.push(router);
                self.scheduled.push(Instant::NEVER);
                self.turn(number);
            }
            self.work();
        }
        self.wait_until_bound(0);
    }

    /// Waits until all routers are bound at a home agent that was started anew, and have both paths.
    fn wait_until_bound_again(&mut self) {
        self.wait_until_bound(self.registered);
    }

    /// Waits until each router is bound and has both paths, and as many have been acknowledged since there were `before`.
    fn wait_until_bound(&mut self, before: u64) {
        let is_up =
            |router: &Router| router.is_bound && router.paths.iter().all(|path| path.is_up());
        let end = self.now() + PATIENCE;
        while self.now() < end {
            self.work();
            // Only then all of them are looked at.
            let may_be = self.registered - before >= ROUTERS.into();
            if may_be && self.routers.iter().all(is_up) {
                return;
            }
        }
    }

    /// Moves routers, one after the other, and waits for the last answers.
    fn hand_over(&mut self) {
        let started = self.now();
        loop {
            let elapsed = self.now().saturating_since(started).as_nanos();
            while self.begun < (elapsed * HANDOVERS / 1_000_000_000).min(HANDOVERS * SECONDS) {
                // Far from each other in the home agent's memory.
                let number = (self.begun * 7_919 % self.routers.len() as u64) as u16;
                let now = self.now();
                self.under_way.insert(number, now);
                self.routers[usize::from(number)].hand_over(now);
                self.turn(number);
                self.begun += 1;
            }
            self.work();
            let is_late =
                Duration::from_nanos(elapsed) > Duration::from_secs(SECONDS) + LAST_ANSWERS;
            if is_late || self.begun == HANDOVERS * SECONDS && self.under_way.is_empty() {
                return;
            }
        }
    }

    /// Takes what has come, and does what is due, for a millisecond.
    fn work(&mut self) {
        let ready = wait_readable(&[self.socket.as_fd()], std::time::Duration::from_millis(1));
        if ready.is_ok_and(|ready| ready[0]) {
            self.take_datagrams();
        }
        let end = self.now() + Duration::from_millis(1);
        while let Some(&Reverse((due, number))) = self.due.peek() {
            let now = self.now();
            if due > now || now > end {
                break;
            }
            self.due.pop();
            let scheduled = &mut self.scheduled[usize::from(number)];
            if *scheduled == due {
                *scheduled = Instant::NEVER;
                self.turn(number);
            }
        }
    }

    fn take_datagrams(&mut self) {
        let mut buffer = core::mem::take(&mut self.buffer);
        // Then deadlines have their turn, and new routers.
        for _ in 0..MOST_BATCHES {
            let Ok(Some(mut batch)) = self.socket.receive(&mut buffer) else {
                break;
            };
            let from = batch.sender;
            for datagram in batch.datagrams() {
                // Of a response the second number, of the others the first, which in a reset is the home agent's own.
                let (indices, place) = match datagram.first() {
                    Some(2) => (&self.indices, 8),
                    Some(5) => (&self.remote_indices, 4),
                    _ => (&self.indices, 4),
                };
                let index = datagram
                    .get(place..place + 4)
                    .and_then(|bytes| bytes.try_into().ok());
                let Some(&(number, path)) =
                    index.and_then(|bytes| indices.get(&u32::from_le_bytes(bytes)))
                else {
                    continue;
                };
                let now = self.now();
                self.routers[usize::from(number)].take(now, (path, from), datagram);
                self.turn(number);
            }
        }
        self.buffer = buffer;
    }

    fn turn(&mut self, number: u16) {
        let now = self.now();
        let router = &mut self.routers[usize::from(number)];
        let (socket, remote) = (&self.socket, self.remote);
        let (indices, remote_indices) = (&mut self.indices, &mut self.remote_indices);
        let mut refused = 0;
        router.turn(now, |path, datagram| {
            if let [kind @ (1 | 4), _, _, _, a, b, c, d, ..] = *datagram {
                let index = u32::from_le_bytes([a, b, c, d]);
                match kind {
                    1 => indices.insert(index, (number, path)),
                    _ => remote_indices.insert(index, (number, path)),
                };
            }
            let sent = socket.send(remote, 0, datagram, datagram.len());
            refused += u64::from(!matches!(sent, Ok(true)));
        });
        self.refused += refused;
        let answers = router.take_answers();
        self.registered += answers;
        if answers > 0
            && let Some(begun) = self.under_way.remove(&number)
        {
            self.took.push(now.saturating_since(begun));
        }
        let due = router.poll_timeout().unwrap_or(Instant::NEVER);
        if due != self.scheduled[usize::from(number)] {
            self.scheduled[usize::from(number)] = due;
            self.due.push(Reverse((due, number)));
        }
    }
}
