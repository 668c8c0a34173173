//! Tests of whole connections. [`Pair`] joins two of them by a path and jumps from wake-up to wake-up;
//! [`Solo`] feeds one of them segments by hand, so that a test reads as a timeline.

mod buffers;
mod closing;
mod handshake;
mod holding;
mod hostile;
mod linux20;
mod linux6;
mod linux6_doubt;
mod linux6_habits;
mod linux6_scripts;
mod linux6_shut_window;
mod loss;
mod moving;
mod pair;
mod path_mtu;
mod properties;
mod reassembly;
mod remedies;
mod right_sizing;
mod scps;
mod solo;
mod steering;
mod timers;
mod transaction;
mod window;

use pair::{Application, Ends, Fate, Pair, Passing, Path, Side, delay, link};
use solo::{Incoming, PEER_ISS, Solo, ack, data, from_peer};

use super::profile::{Autotuning, Profile};
use super::transaction::OpeningCache;
use super::{Connection, Endpoint, Event, Segment, State};
use crate::packet::{Payload, pattern_byte};
use crate::time::{Duration, Instant};
use crate::wire::icmp::QuotedPacket;
use crate::wire::protocol;
use crate::wire::sequence::SequenceNumber;
use crate::wire::tcp::{ConnectionCount, SackBlocks, TcpFlags, TcpHeader, TcpOptions};

pub(super) fn profile(name: &str) -> Profile {
    Profile::named(name).unwrap()
}

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) fn at_ms(count: u64) -> Instant {
    Instant::from_millis(count)
}

pub(super) fn end_point(last: u8, port: u16) -> Endpoint {
    Endpoint {
        address: [192, 0, 2, last].into(),
        port,
    }
}

/// Returns a router's quotation of a segment of this sequence number.
pub(super) fn quoting(sequence: SequenceNumber) -> QuotedPacket {
    QuotedPacket {
        source: end_point(1, 0).address,
        destination: end_point(2, 0).address,
        protocol: protocol::TCP,
        source_port: 0,
        destination_port: 0,
        sequence: sequence.0,
        within: None,
    }
}

pub(super) const ISS_A: SequenceNumber = SequenceNumber(u32::MAX - 20_000);
pub(super) const ISS_B: SequenceNumber = SequenceNumber(u32::MAX - 10_000);

pub(super) fn is_pattern(bytes: &[u8], stream: u32) -> bool {
    (0..).zip(bytes).all(|(p, b)| *b == pattern_byte(stream, p))
}

/// A segment in words, its numbers relative to the initial ones: `SYN`, `1..1001`, `ack 1001`, `FIN 5`, `RST 1`.
pub(super) fn describe(segment: &Segment, connection: &Connection) -> String {
    let header = &segment.header;
    let flag = |bit| header.flags.contains(bit);
    let first = connection.sender.flow.space.position(header.sequence);
    let start = first + i64::from(flag(TcpFlags::SYN));
    let length = i64::from(segment.payload.length());
    let mut words = Vec::new();
    if flag(TcpFlags::RST) {
        words.push(format!("RST {start}"));
    }
    if flag(TcpFlags::SYN) {
        words.push("SYN".to_string());
    }
    if length > 0 {
        words.push(format!("{start}..{}", start + length));
    }
    if flag(TcpFlags::FIN) {
        words.push(format!("FIN {}", start + length));
    }
    let bare = words.is_empty() || flag(TcpFlags::SYN);
    if flag(TcpFlags::ACK) && bare {
        let acknowledged = connection.receiving.position(header.acknowledgment);
        words.push(format!("ack {acknowledged}"));
    }
    for &(first, after_last) in header.options.sack.as_slice() {
        let position = |number| connection.receiving.position(number);
        words.push(format!(
            "sack {}..{}",
            position(first),
            position(after_last)
        ));
    }
    match header.options.sack.connection_count() {
        None => {}
        Some(ConnectionCount::Count(own)) => words.push(format!("CC={own}")),
        Some(ConnectionCount::New(own)) => words.push(format!("CC.new={own}")),
        Some(ConnectionCount::Echo { own, echo }) => {
            words.push(format!("CC={own} CC.echo={echo}"));
        }
    }
    words.join(" ")
}
