//! Traffic between two namespaces, and what came of it.

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use nix::time::{ClockId, clock_gettime};
use std::io::{IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::pair::ADDRESSES;

const PORT: u16 = 5001;

/// Runs `work` in a network namespace.
pub fn inside<T: Send + 'static>(
    namespace: &OwnedFd,
    work: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let namespace = namespace.try_clone().expect("a descriptor can be copied");
    thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("a namespace can be entered");
        work()
    })
}

/// TCP from the first namespace to the second for `time`: bits a second of payload, over the second half.
pub fn tcp_rate(namespaces: &[OwnedFd; 2], time: Duration) -> f64 {
    let (ready, is_ready) = std::sync::mpsc::channel();
    let receiver = inside(&namespaces[1], move || {
        let listener = TcpListener::bind((ADDRESSES[1], PORT)).expect("a port is free");
        ready.send(()).expect("the sender waits");
        let (mut stream, _) = listener.accept().expect("the sender comes");
        let mut buffer = vec![0; 1 << 20];
        let begun = Instant::now();
        let mut counted = 0;
        let mut counted_since = None;
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            if begun.elapsed() > time / 2 {
                counted_since.get_or_insert_with(Instant::now);
                counted += length;
            }
        }
        let counted_for = counted_since.map_or(1.0, |since| since.elapsed().as_secs_f64());
        counted as f64 * 8.0 / counted_for
    });
    is_ready.recv().expect("the receiver listens");
    let sender = inside(&namespaces[0], move || {
        let mut stream = TcpStream::connect((ADDRESSES[1], PORT)).expect("the receiver answers");
        let data = vec![0; 1 << 18];
        let begun = Instant::now();
        while begun.elapsed() < time && stream.write_all(&data).is_ok() {}
    });
    sender.join().expect("the sender ends");
    receiver.join().expect("the receiver ends")
}

/// A datagram's moments in nanoseconds: before the sending call, and when the receiving kernel took it in.
#[derive(Clone, Copy)]
pub struct Passage {
    pub sent: i64,
    pub received: i64,
}

/// Datagrams of `length` bytes of IP packet, one every `interval` from the first namespace to the second, for `time`:
/// those that arrived.
pub fn datagrams(
    namespaces: &[OwnedFd; 2],
    length: usize,
    interval: Duration,
    time: Duration,
) -> Vec<Passage> {
    let (ready, is_ready) = std::sync::mpsc::channel();
    let over = Arc::new(AtomicBool::new(false));
    let is_over = over.clone();
    let receiver = inside(&namespaces[1], move || {
        let socket = UdpSocket::bind((ADDRESSES[1], PORT)).expect("a port is free");
        socket
            .set_read_timeout(Some(Duration::from_millis(200)))
            .expect("a timeout can be set");
        setsockopt(&socket, ReceiveTimestampns, &true).expect("the kernel stamps packets");
        ready.send(()).expect("the sender waits");
        let mut passages = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            passages.extend(receive_stamped(&socket));
        }
        passages
    });
    is_ready.recv().expect("the receiver listens");
    let sender = inside(&namespaces[0], move || {
        let socket = UdpSocket::bind((ADDRESSES[0], PORT)).expect("a port is free");
        let mut data = vec![0; length - 28];
        let begun = Instant::now();
        let mut due = begun;
        while begun.elapsed() < time {
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            due += interval;
            data[..8].copy_from_slice(&real_time().to_le_bytes());
            let _ = socket.send_to(&data, SocketAddr::new(ADDRESSES[1], PORT));
        }
    });
    sender.join().expect("the sender ends");
    thread::sleep(Duration::from_millis(500));
    over.store(true, Ordering::Relaxed);
    receiver.join().expect("the receiver ends")
}

fn real_time() -> i64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("there is a clock");
    now.tv_sec() * 1_000_000_000 + now.tv_nsec()
}

/// The next datagram.
fn receive_stamped(socket: &UdpSocket) -> Option<Passage> {
    let mut data = [0; 65_536];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut slices = [IoSliceMut::new(&mut data)];
    let message = recvmsg::<SockaddrStorage>(
        socket.as_raw_fd(),
        &mut slices,
        Some(&mut control),
        MsgFlags::empty(),
    )
    .ok()?;
    let stamp = message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    })?;
    let received = stamp.tv_sec() * 1_000_000_000 + stamp.tv_nsec();
    let sent = i64::from_le_bytes(data[..8].try_into().ok()?);
    Some(Passage { sent, received })
}
