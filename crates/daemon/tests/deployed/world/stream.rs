//! A stream of 1,000 datagrams a second, and what its two ends have seen by the same clock.

use super::Namespace;
use super::daemons::PATIENCE;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The bytes with which each datagram begins: nobody on the way may see them.
pub const PLAINTEXT: &[u8] = b"nobody on the way may read this line; ";
const LENGTH: usize = 200;
const INTERVAL: Duration = Duration::from_millis(1);
/// The time after the last datagram within which all arrive that ever do.
const REST: Duration = Duration::from_millis(700);

/// A stream that goes on.
pub struct Stream {
    phase: Arc<Phase>,
    sender: JoinHandle<Vec<Instant>>,
    receiver: JoinHandle<Record>,
}

#[derive(Debug, Default)]
struct Phase {
    is_sent: AtomicBool,
    is_over: AtomicBool,
    arrivals: AtomicU64,
}

/// Observations of a stream at both of its ends.
#[derive(Debug, Default)]
pub struct Record {
    /// The time of sending of each datagram.
    pub sent: Vec<Instant>,
    /// The time of the first arrival of each.
    arrived: BTreeMap<u64, Instant>,
    /// Datagrams that arrived twice.
    pub again: u64,
}

impl Stream {
    /// Begins a stream between two addresses, each in its namespace.
    pub fn begin(
        (from, source): (&Namespace, IpAddr),
        (to, destination): (&Namespace, IpAddr),
    ) -> Stream {
        let receiver = to.run(|| UdpSocket::bind((destination, 0)).unwrap());
        receiver.set_read_timeout(Some(REST / 10)).unwrap();
        let destination = receiver.local_addr().unwrap();
        let sender = from.run(|| UdpSocket::bind((source, 0)).unwrap());
        let phase = Arc::new(Phase::default());
        let (sending, receiving) = (phase.clone(), phase.clone());
        Stream {
            phase,
            sender: std::thread::spawn(move || send(&sender, destination, &sending)),
            receiver: std::thread::spawn(move || receive(&receiver, &receiving)),
        }
    }

    /// Waits until so many more datagrams have arrived.
    pub fn until_more(&self, datagrams: u64) {
        let begun = Instant::now();
        let arrivals = || self.phase.arrivals.load(Ordering::Relaxed);
        let wanted = arrivals() + datagrams;
        while arrivals() < wanted {
            assert!(begun.elapsed() < PATIENCE, "nothing arrives any more");
            std::thread::sleep(INTERVAL);
        }
    }

    /// Ends the stream.
    pub fn end(self) -> Record {
        self.phase.is_sent.store(true, Ordering::Relaxed);
        let sent = self.sender.join().unwrap();
        std::thread::sleep(REST);
        self.phase.is_over.store(true, Ordering::Relaxed);
        let received = self.receiver.join().unwrap();
        Record { sent, ..received }
    }
}

fn send(socket: &UdpSocket, destination: SocketAddr, phase: &Phase) -> Vec<Instant> {
    let mut payload = [b'.'; LENGTH];
    payload[..PLAINTEXT.len()].copy_from_slice(PLAINTEXT);
    let mut sent = Vec::new();
    let mut due = Instant::now();
    while !phase.is_sent.load(Ordering::Relaxed) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        payload[LENGTH - 8..].copy_from_slice(&(sent.len() as u64).to_be_bytes());
        sent.push(Instant::now());
        // What the kernel does not take is lost like any other.
        let _ = socket.send_to(&payload, destination);
        due += INTERVAL;
    }
    sent
}

fn receive(socket: &UdpSocket, phase: &Phase) -> Record {
    let mut record = Record::default();
    let mut buffer = [0; 2000];
    while !phase.is_over.load(Ordering::Relaxed) {
        let Ok(length) = socket.recv(&mut buffer) else {
            continue;
        };
        let number = u64::from_be_bytes(buffer[length - 8..length].try_into().unwrap());
        match record.arrived.entry(number) {
            Entry::Vacant(entry) => {
                entry.insert(Instant::now());
                phase.arrivals.fetch_add(1, Ordering::Relaxed);
            }
            Entry::Occupied(_) => record.again += 1,
        }
    }
    record
}

impl Record {
    /// Returns how many of the datagrams that were sent in a time did not arrive.
    pub fn lost(&self, when: Range<Instant>) -> usize {
        let sent = self.sent.iter().zip(0..);
        sent.filter(|(sent, number)| when.contains(sent) && !self.arrived.contains_key(number))
            .count()
    }

    /// Returns the longest time without an arrival that ended in a time.
    pub fn stall(&self, when: Range<Instant>) -> Duration {
        let mut arrivals: Vec<Instant> = self.arrived.values().copied().collect();
        arrivals.sort();
        longest_gap(&arrivals, &when)
    }

    /// Returns how late the sender itself was, at most, in a time.
    pub fn lateness(&self, when: Range<Instant>) -> Duration {
        longest_gap(&self.sent, &when).saturating_sub(INTERVAL)
    }

    /// Returns the whole time of the stream.
    pub fn whole(&self) -> Range<Instant> {
        let last = self.sent.last().copied();
        self.sent[0]..last.unwrap() + REST
    }
}

fn longest_gap(times: &[Instant], when: &Range<Instant>) -> Duration {
    let gaps = times.windows(2).filter(|pair| when.contains(&pair[1]));
    gaps.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}
