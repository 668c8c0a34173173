//! The sampler's figures of connections, against those that the kernel gives to their owner.

#![allow(unsafe_code)] // getsockopt(TCP_INFO)

mod namespace;

use baton_live::sampler::{Sampler, SamplerReport, listening};
use baton_proto::tcp::Endpoint;
use baton_proto::time::Duration;
use baton_sim::observe::TcpInfoSample;
use baton_sim::scenario::model::NodeIndex;
use namespace::{Namespace, take_down};
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::mpsc::{Receiver, channel};

/// The kernel's own answer to the owner of a socket: the struct's bytes as far as the kernel knows it.
fn tcp_info(stream: &TcpStream) -> (libc::tcp_info, Option<u16>) {
    let mut bytes = [0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `bytes`.
    let result = unsafe {
        let place = bytes.as_mut_ptr().cast();
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            place,
            &mut length,
        )
    };
    assert_eq!(result, 0);
    // SAFETY: the struct is plain integers, and shorter than the buffer.
    let info = unsafe { bytes.as_ptr().cast::<libc::tcp_info>().read_unaligned() };
    // tcpi_total_rto follows tcpi_rehash, both of which libc's struct may not have yet.
    let total_rto = (length >= 248).then(|| u16::from_ne_bytes([bytes[240], bytes[241]]));
    (info, total_rto)
}

fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint {
        address: address.ip(),
        port: address.port(),
    }
}

struct Running {
    sampler: Sampler,
    samples: Receiver<TcpInfoSample>,
}

fn sample(namespace: &Namespace, milliseconds: u64) -> Running {
    let (sender, samples) = channel();
    let interval = Duration::from_millis(milliseconds);
    let zero = std::time::Instant::now();
    let sampler = Sampler::start(namespace.as_fd(), NodeIndex(3), zero, interval, sender).unwrap();
    Running { sampler, samples }
}

impl Running {
    /// Ends it; gives what was said of the end at `local`.
    fn stop(self, local: Endpoint) -> (Vec<TcpInfoSample>, SamplerReport) {
        let report = self.sampler.stop();
        assert_eq!((report.lost_messages, &report.failure), (0, &None));
        let of_end = self.samples.iter().filter(|sample| sample.local == local);
        (of_end.collect(), report)
    }
}

/// A connection over loopback of the present namespace, client first.
fn connection(address: &str) -> [TcpStream; 2] {
    let listener = TcpListener::bind(address).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [client, listener.accept().unwrap().0]
}

fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

#[track_caller]
fn assert_same(sample: &TcpInfoSample, stream: &TcpStream) {
    let (info, total_rto) = tcp_info(stream);
    assert_eq!(sample.node, NodeIndex(3));
    assert_eq!(sample.remote, endpoint(stream.peer_addr().unwrap()));
    assert_eq!(
        sample.congestion_window,
        info.tcpi_snd_cwnd * info.tcpi_snd_mss
    );
    let threshold =
        (info.tcpi_snd_ssthresh < 0x7fff_ffff).then(|| info.tcpi_snd_ssthresh * info.tcpi_snd_mss);
    assert_eq!(sample.slow_start_threshold, threshold);
    assert_eq!(
        sample.retransmission_timeout,
        Duration::from_micros(info.tcpi_rto.into())
    );
    assert_eq!(
        sample.smoothed_rtt,
        Duration::from_micros(info.tcpi_rtt.into())
    );
    assert_eq!(
        sample.bytes_in_flight,
        info.tcpi_unacked * info.tcpi_snd_mss
    );
    assert_eq!(sample.retransmitted, u64::from(info.tcpi_total_retrans));
    assert_eq!(sample.timeouts, total_rto.map(u64::from));
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn samples_say_what_the_kernel_says_to_the_owner_of_the_socket() {
    let namespace = Namespace::new();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let running = sample(&namespace, 10);
        let [mut client, mut server] = namespace.inside(|| connection(address));
        client.write_all(&[0; 100_000]).unwrap();
        server.read_exact(&mut [0; 100_000]).unwrap();
        pause(60);
        let local = endpoint(client.local_addr().unwrap());
        let (samples, report) = running.stop(local);
        assert!((3..=20).contains(&samples.len()), "{}", samples.len());
        assert_same(samples.last().unwrap(), &client);
        assert!(samples.last().unwrap().smoothed_rtt > Duration::ZERO);
        assert_eq!(report.congestion_controls.len(), 1, "{report:?}");
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn timeouts_and_retransmissions_are_counted() {
    let namespace = Namespace::new();
    let running = sample(&namespace, 10);
    let [mut client, _server] = namespace.inside(|| connection("127.0.0.1:0"));
    setsockopt(&client, sockopt::TcpCongestion, &"reno".into()).unwrap();
    client.write_all(&[0; 1000]).unwrap();
    pause(50);
    namespace.inside(|| take_down("lo"));
    client.write_all(&[0; 1000]).unwrap();
    pause(700);
    let (samples, report) = running.stop(endpoint(client.local_addr().unwrap()));
    let last = samples.last().unwrap();
    assert_same(last, &client);
    assert!(
        last.timeouts.is_none_or(|timeouts| timeouts > 0),
        "{last:?}"
    );
    assert!(last.slow_start_threshold.is_some(), "{last:?}");
    assert!(report.congestion_controls.contains("reno"), "{report:?}");
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn a_connection_that_closes_between_two_samples_gives_its_last_figures() {
    let namespace = Namespace::new();
    let running = sample(&namespace, 60_000);
    // The first sample is past; the next would come in a minute.
    pause(50);
    let [mut client, server] = namespace.inside(|| connection("127.0.0.1:0"));
    let local = endpoint(client.local_addr().unwrap());
    client.write_all(&[0; 10_000]).unwrap();
    pause(10);
    let (info, _) = tcp_info(&client);
    // Unread data makes the server's close a reset, which ends both at once.
    drop(server);
    drop(client);
    pause(100);
    let (samples, _) = running.stop(local);
    assert_eq!(samples.len(), 1, "{samples:?}");
    assert_eq!(
        samples[0].congestion_window,
        info.tcpi_snd_cwnd * info.tcpi_snd_mss
    );
    assert_eq!(
        samples[0].smoothed_rtt,
        Duration::from_micros(info.tcpi_rtt.into())
    );
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn listening_is_told_of_tcp_and_udp_and_not_of_clients() {
    let namespace = Namespace::new();
    let told = || listening(namespace.as_fd()).unwrap();
    assert!(!told());
    for address in ["127.0.0.1:0", "[::]:0"] {
        let listener = namespace.inside(|| TcpListener::bind(address).unwrap());
        assert!(told(), "TCP at {address}");
        drop(listener);
        let socket = namespace.inside(|| UdpSocket::bind(address).unwrap());
        assert!(told(), "UDP at {address}");
        drop(socket);
        assert!(!told());
    }
    let client = namespace.inside(|| UdpSocket::bind("127.0.0.1:0").unwrap());
    client.connect("127.0.0.1:53").unwrap();
    assert!(!told());
}
