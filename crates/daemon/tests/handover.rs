//! Two nodes with Mobile IPv6 between two TUN devices, in real time, moved by what the kernel says of the devices: the mobile
//! node has their descriptors, the home agent and access router has packet sockets on them.

use baton_daemon::config::{self, Config};
use baton_daemon::driver::Driver;
use baton_daemon::engine::Owner;
use baton_daemon::node;
use baton_daemon::port::Port;
use baton_linux::addresses::AddressMonitor;
use baton_linux::links::LinkMonitor;
use baton_linux::netlink::RouteSocket;
use baton_proto::host::{Host, HostEvent, SocketEvent, SocketId};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::Signal;
use baton_proto::packet::{Wording, pattern_byte};
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::profile::{Autotuning, Profile};
use baton_proto::time::{Duration, Instant};
use nix::sched::{CloneFlags, unshare};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

const MOBILE: &str = r#"
[interfaces.wifi]
kind = "tun"
[interfaces.cellular]
kind = "tun"
[mobile_node]
home_address = "2001:db8:100::a"
home_prefix = "2001:db8:100::/64"
home_agent = "2001:db8:100::1"
failback = { prefer = ["wifi", "cellular"], hold_time = "2 s" }
key = "00112233445566778899aabbccddeeff01234567"
"#;

const ROUTER: &str = r#"
addresses = ["2001:db8:200::2"]
[interfaces.wifi]
kind = "packet"
[interfaces.cellular]
kind = "packet"
[access_routers.wifi]
prefix = "2001:db8:1::/64"
[access_routers.cellular]
prefix = "2001:db8:2::/64"
advertisements = "frequent"
[home_agent]
address = "2001:db8:100::1"
home_prefix = "2001:db8:100::/64"
[[home_agent.mobiles]]
home_address = "2001:db8:100::a"
key = "00112233445566778899aabbccddeeff01234567"
"#;

const WIFI: InterfaceId = InterfaceId(0);
const CELLULAR: InterfaceId = InterfaceId(1);
const SERVER: &str = "2001:db8:200::2";
const PORT: u16 = 80;
/// Number of the pattern that the server sends.
const STREAM: u32 = 3;
/// Bytes that are to come before and after each handover: some hundred windows.
const ENOUGH: u64 = 8 << 20;
/// Bytes that the server writes at once.
const BLOCK: u64 = 1 << 20;
/// Bytes between two reports of the client.
const REPORT_EVERY: u64 = 64 << 10;
/// A wait that takes longer hangs.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
/// Longest turn of a driver, after which it is asked whether the test is over.
const TURN: Duration = Duration::from_millis(50);

/// A window of 64 KiB, so that no queue on the way overflows.
fn profile() -> Profile {
    Profile {
        receive_buffer: 65_535,
        receive_autotuning: Autotuning::Off,
        ..Profile::linux_6()
    }
}

/// A report of the mobile node.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    /// Its attachment uses this interface from now on.
    Attached(InterfaceId),
    /// Its home agent knows its care-of address at this interface.
    Registered(InterfaceId),
    /// Bytes that have come so far.
    Received(u64),
    /// The server has closed after this many bytes.
    Complete(u64),
}

/// The mobile's owner: a client that reads all that the server sends.
struct Client<'a> {
    reports: Sender<Report>,
    is_enough: &'a AtomicBool,
    socket: Option<SocketId>,
    received: u64,
    reported: u64,
    /// The time at which data came last, and the longest time without any.
    last: Instant,
    longest: Duration,
}

/// The interface whose care-of address is registered, if that is what the mobile node says.
fn registered_at(signal: &Wording) -> Option<InterfaceId> {
    let places = [(WIFI, "2001:db8:1::a"), (CELLULAR, "2001:db8:2::a")];
    let mut places = places.into_iter();
    let is_here = |(_, address): &(_, &str)| signal.details.ends_with(address);
    let found = places.find(is_here).filter(|_| signal.name == "Registered");
    found.map(|(interface, _)| interface)
}

impl Client<'_> {
    fn read(&mut self, now: Instant, host: &mut Host, socket: SocketId) {
        let connection = host.connection_mut(socket).unwrap();
        let mut buffer = [0; 4096];
        loop {
            let length = connection.read(&mut buffer);
            if length == 0 {
                break;
            }
            // Whole and in order: each byte is the one of its place.
            for byte in &buffer[..length] {
                assert_eq!(
                    *byte,
                    pattern_byte(STREAM, self.received),
                    "at {}",
                    self.received
                );
                self.received += 1;
            }
            self.longest = self.longest.max(now.saturating_since(self.last));
            self.last = now;
        }
        if self.received >= self.reported + REPORT_EVERY {
            self.reported = self.received;
            self.reports.send(Report::Received(self.received)).unwrap();
        }
        if self.is_enough.load(Ordering::Relaxed) {
            host.connection_mut(socket).unwrap().close();
        }
    }
}

impl Owner for Client<'_> {
    fn handle_event(&mut self, now: Instant, host: &mut Host, event: HostEvent) {
        match event {
            HostEvent::Layer(signal) => {
                let Some(interface) = registered_at(&signal) else {
                    return;
                };
                if self.socket.is_none() {
                    let address = SERVER.parse().unwrap();
                    let remote = Endpoint {
                        address,
                        port: PORT,
                    };
                    self.last = now;
                    self.socket = Some(host.tcp_connect(now, remote, &profile(), None));
                }
                self.reports.send(Report::Registered(interface)).unwrap();
            }
            HostEvent::Socket { socket, event } => match event {
                SocketEvent::Readable => self.read(now, host, socket),
                SocketEvent::PeerClosed => {
                    self.read(now, host, socket);
                    self.reports.send(Report::Complete(self.received)).unwrap();
                }
                SocketEvent::Reset | SocketEvent::Refused | SocketEvent::TimedOut => {
                    panic!("{event:?}")
                }
                SocketEvent::Connected
                | SocketEvent::Writable
                | SocketEvent::Closed
                | SocketEvent::Skipped => {}
            },
            other => panic!("{other:?}"),
        }
    }

    fn handle_attachment(&mut self, _: Instant, signal: Signal) {
        if let Signal::Attached(Some(interface)) = signal {
            self.reports.send(Report::Attached(interface)).unwrap();
        }
    }

    fn handle_link(&mut self, _: Instant, _: (InterfaceId, bool)) {}
}

/// The router's owner: a server that sends for as long as the client does not close.
#[derive(Default)]
struct Server {
    written: u64,
    is_closed: bool,
}

impl Server {
    /// Fills the connection's buffer, so that there is an event when there is room again.
    fn write(&mut self, host: &mut Host, socket: SocketId) {
        let connection = host.connection_mut(socket).unwrap();
        while !self.is_closed {
            let taken = connection.write_pattern(STREAM, BLOCK);
            self.written += taken;
            if taken < BLOCK {
                break;
            }
        }
    }
}

impl Owner for Server {
    fn handle_event(&mut self, _now: Instant, host: &mut Host, event: HostEvent) {
        match event {
            HostEvent::Accepted { socket, .. } => self.write(host, socket),
            HostEvent::Socket { socket, event } => match event {
                SocketEvent::Connected | SocketEvent::Writable => self.write(host, socket),
                SocketEvent::PeerClosed => {
                    self.is_closed = true;
                    host.connection_mut(socket).unwrap().close();
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn handle_attachment(&mut self, _: Instant, _: Signal) {}

    fn handle_link(&mut self, _: Instant, _: (InterfaceId, bool)) {}
}

/// Ends the drivers' threads, also if the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A driver of the node that a file describes, with secrets that nobody has to guess.
fn driver(text: &str, secret: u8) -> Driver {
    let config = config::parse::<Config>(text, "node.toml").unwrap();
    let mut kernel = RouteSocket::open().unwrap();
    let ports = node::open_ports(&config, &mut kernel).unwrap();
    let links = LinkMonitor::open().unwrap();
    let addresses = AddressMonitor::open().unwrap();
    let mut secret = [secret; 16];
    let random = || {
        secret[0] += 1;
        Ok(secret)
    };
    let interfaces: Vec<(&str, u32)> = ports.iter().map(Port::described).collect();
    let host = node::host(&config, &interfaces, random).unwrap();
    Driver::new(host, ports, (links, addresses))
}

/// Takes reports up to the wanted one.
fn until(
    reports: &Receiver<Report>,
    what: &str,
    mut wanted: impl FnMut(&Report) -> bool,
) -> Report {
    let begun = std::time::Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        let report = reports.recv_timeout(left);
        let report = report.unwrap_or_else(|error| panic!("not {what}: {error}"));
        if wanted(&report) {
            return report;
        }
    }
}

/// Takes reports until the mobile is attached and registered at an interface.
fn until_at(reports: &Receiver<Report>, interface: InterfaceId) {
    let mut missing = vec![Report::Attached(interface), Report::Registered(interface)];
    until(reports, "attached and registered", |report| {
        missing.retain(|wanted| wanted != report);
        missing.is_empty()
    });
}

/// Takes reports until more than enough further bytes have come.
fn until_more(reports: &Receiver<Report>, when: &str) {
    let mut first = None;
    until(reports, when, |report| match report {
        Report::Received(bytes) => *bytes >= *first.get_or_insert(*bytes) + ENOUGH,
        _ => false,
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_transfer_moves_between_two_devices_and_back_and_loses_nothing() {
    let inside = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may make namespaces");
        // The kernel is silent: of its own it would solicit routers and report groups.
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        transfer();
    });
    inside.join().unwrap();
}

fn transfer() {
    let mut mobile = driver(MOBILE, 1);
    let mut router = driver(ROUTER, 2);
    router.host_mut().tcp_listen(PORT, profile(), 1, None);
    let mut kernel = RouteSocket::open().unwrap();
    let devices = [WIFI, CELLULAR].map(|interface| {
        let device = kernel.link(&mobile.ports()[interface.0].name);
        device.unwrap().index
    });
    let (sender, reports) = channel();
    let (is_enough, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut client = Client {
        reports: sender,
        is_enough: &is_enough,
        socket: None,
        received: 0,
        reported: 0,
        last: Instant::ZERO,
        longest: Duration::ZERO,
    };
    let mut server = Server::default();
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                mobile.turn(&mut client, &[], TURN).unwrap();
            }
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                router.turn(&mut server, &[], TURN).unwrap();
            }
        });
        until_at(&reports, WIFI);
        until_more(&reports, "more by wifi");
        kernel.set_up(devices[0], false).unwrap();
        until_at(&reports, CELLULAR);
        until_more(&reports, "more by cellular");
        kernel.set_up(devices[0], true).unwrap();
        until_at(&reports, WIFI);
        // Nothing is needed of the other one any more.
        kernel.set_up(devices[1], false).unwrap();
        until_more(&reports, "more by wifi alone");
        is_enough.store(true, Ordering::Relaxed);
        until(&reports, "complete", |report| {
            matches!(report, Report::Complete(_))
        });
    });
    assert_eq!(client.received, server.written);
    println!(
        "{} bytes; the longest time without any: {:.3} s",
        client.received,
        client.longest.as_secs_f64()
    );
    // The kernel tells of the device at once, the other one is attached already, and a binding update is answered within a
    // turn of both nodes. What was on its way is sent again by TCP's timer, which begins at its least (200 ms) and doubles.
    // Where one binding update is lost, it goes again after 1 s (RFC 6275 section 12), and the timer is up to twice as late.
    assert!(
        client.longest < Duration::from_secs(10),
        "{:?}",
        client.longest
    );
}
