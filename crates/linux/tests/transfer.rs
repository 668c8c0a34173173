//! Transfers between two hosts' kernels through TUN devices with offloads, which this process joins.

mod namespace;

use baton_linux::netlink::{Prefix, RouteSocket};
use baton_linux::offload::{Coalescer, LONGEST_FRAME, OffloadTun, Segmentation};
use baton_linux::readiness::wait_readable;
use baton_linux::udp::UdpSocket;
use namespace::{PATIENCE, frames_received, in_new_namespace, lead, numbered, raise};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Bytes of a transfer.
const LENGTH: usize = 16 << 20;
/// Reads a number of this thread's namespace: in a file with names in one line and numbers in the next one.
fn tcp_counter(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|other| other == name).unwrap();
    numbers.split(' ').nth(place).unwrap().parse().unwrap()
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Makes a host with a device, which it passes on, does `work` there, and returns how many frames the device has taken in.
fn host(
    addresses: [&'static str; 2],
    pass: Sender<OffloadTun>,
    work: impl FnOnce() + Send + 'static,
) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let (tell, told) = channel();
        in_new_namespace(move || {
            let mut kernel = RouteSocket::open().unwrap();
            let tun = OffloadTun::create("host").unwrap();
            let index = raise(&mut kernel, "host", &addresses);
            lead(&mut kernel, Prefix::ALL_IPV4, index);
            lead(&mut kernel, Prefix::ALL_IPV6, index);
            pass.send(tun).unwrap();
            work();
            assert_eq!(tcp_counter("InCsumErrors"), 0);
            tell.send(frames_received("host")).unwrap();
        });
        told.recv().unwrap()
    })
}

/// Returns a way into a device for what a [`Coalescer`] hands on, all of which it takes.
fn all_taken(to: &OffloadTun) -> impl FnMut(&[u8], Option<Segmentation>) {
    |packet, segmentation| assert!(to.send(packet, segmentation).unwrap())
}

/// A way from one device to another, and what went along.
struct Carrier {
    from: Arc<OffloadTun>,
    to: Arc<OffloadTun>,
    coalescer: Coalescer,
    buffer: Vec<u8>,
    frames: u64,
    packets: u64,
}

impl Carrier {
    fn new(from: &Arc<OffloadTun>, to: &Arc<OffloadTun>) -> Carrier {
        Carrier {
            from: from.clone(),
            to: to.clone(),
            coalescer: Coalescer::default(),
            buffer: vec![0; LONGEST_FRAME],
            frames: 0,
            packets: 0,
        }
    }

    /// Carries what waits, each packet on its own.
    fn carry(&mut self) {
        // The device's MTU.
        let mut place = [0; 1500];
        while let Some(mut packets) = self.from.receive(&mut self.buffer).unwrap() {
            self.frames += 1;
            while let Some(length) = packets.write_next(&mut place).unwrap() {
                self.packets += 1;
                self.coalescer
                    .add(&place[..length], &mut all_taken(&self.to));
            }
        }
        self.coalescer.flush(&mut all_taken(&self.to));
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_transfer_through_devices_with_offloads_arrives_whole() {
    let (pass_client, client) = channel();
    let (pass_server, server) = channel();
    let (tell_ready, ready) = channel();
    let serving = host(["10.0.0.2", "2001:db8::2"], pass_server, move || {
        let listeners = ["0.0.0.0:5001", "[::]:5002"].map(|at| TcpListener::bind(at).unwrap());
        let datagrams = std::net::UdpSocket::bind("10.0.0.2:5003").unwrap();
        tell_ready.send(()).unwrap();
        for listener in listeners {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == numbered(LENGTH), "{} bytes", received.len());
            stream.write_all(&received).unwrap();
        }
        datagrams.set_read_timeout(Some(PATIENCE)).unwrap();
        for expected in numbered(30_500).chunks(1000) {
            let mut datagram = [0; 2000];
            let length = datagrams.recv(&mut datagram).unwrap();
            assert_eq!(&datagram[..length], expected);
        }
    });
    let asking = host(["10.0.0.1", "2001:db8::1"], pass_client, move || {
        ready.recv().unwrap();
        for at in ["10.0.0.2:5001", "[2001:db8::2]:5002"] {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(&numbered(LENGTH)).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == numbered(LENGTH), "{} bytes", received.len());
        }
        let socket = UdpSocket::open(address("10.0.0.1:0"), None).unwrap();
        let to = address("10.0.0.2:5003");
        assert!(socket.send(to, 0, &numbered(30_500), 1000).unwrap());
    });
    let client = Arc::new(client.recv_timeout(PATIENCE).unwrap());
    let server = Arc::new(server.recv_timeout(PATIENCE).unwrap());
    let mut there = Carrier::new(&client, &server);
    let mut back = Carrier::new(&server, &client);
    while !(serving.is_finished() && asking.is_finished()) {
        let some = Duration::from_millis(20);
        wait_readable(&[client.as_fd(), server.as_fd()], some).unwrap();
        there.carry();
        back.carry();
    }
    let frames = [serving.join().unwrap(), asking.join().unwrap()];
    for (carrier, frames_out) in [there, back].iter().zip(frames) {
        let (packets, frames_in) = (carrier.packets, carrier.frames);
        assert!(packets > 2 * LENGTH as u64 / 1500);
        assert!(
            frames_in * 2 < packets,
            "{frames_in} frames of {packets} packets"
        );
        assert!(
            frames_out * 2 < packets,
            "{packets} packets in {frames_out} frames"
        );
        assert_eq!(carrier.from.malformed(), 0);
    }
}
