//! Contexts of split connections: parsing and writing round-trip, and their receiver survives any content.

use crate::bytes::Bytes;
use baton_proto::packet::Payload;
use baton_proto::tcp::profile::Profile;
use baton_proto::tcp::{Connection, Endpoint};
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::split_context::{Message, SplitContext, TcpContext};
use baton_proto::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use core::net::SocketAddr;

/// Most timers that expire, and segments that leave at a time.
const TIMERS: u32 = 8;
const SEGMENTS: u32 = 40;
/// Delay of the path.
const AWAY: Duration = Duration::from_millis(300);

/// Tries a byte that chooses a profile and whether the length in the header is corrected, which a search hardly ever
/// does; then a stream of messages.
pub fn check(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let choice = bytes.u8();
    let name = Profile::NAMES[usize::from(choice & 0x7F) % Profile::NAMES.len()];
    let profile = Profile::named(name).expect("it is one of the names");
    let mut stream = bytes.rest().to_vec();
    if choice & 0x80 != 0 && stream.len() >= 8 {
        let length = (stream.len() - 8) as u32;
        stream[4..8].copy_from_slice(&length.to_be_bytes());
    }
    let mut rest = &stream[..];
    while let Ok(Some((message, length))) = Message::decode(rest) {
        rest = &rest[length..];
        let written = message.encode();
        assert_eq!(written.len(), length, "it is as long as it was");
        let again = Message::decode(&written);
        assert_eq!(again.as_ref(), Ok(&Some((message.clone(), length))));
        if let Message::Context(context) = message {
            resume(&context, &profile);
        }
    }
}

/// Continues both halves.
fn resume(context: &SplitContext, profile: &Profile) {
    let [mobile, correspondent] = [context.mobile, context.correspondent];
    for (half, ends) in [
        (&context.towards_mobile, [correspondent, mobile]),
        (&context.towards_correspondent, [mobile, correspondent]),
    ] {
        let mut now = Instant::from_secs(100);
        let [local, remote] = ends.map(endpoint);
        let mut connection = Connection::resume((now, AWAY), (local, remote), profile, 1500, half);
        check_again(&connection, now, context);
        live(&mut connection, now);
        for segment in segments(half, [local, remote]) {
            connection.handle_segment(now, &segment, Payload::EMPTY);
            live(&mut connection, now);
        }
        for _ in 0..TIMERS {
            let Some(at) = connection.poll_timeout() else {
                break;
            };
            now = now.max(at);
            connection.handle_timeout(now);
            live(&mut connection, now);
        }
        check_again(&connection, now, context);
    }
}

/// Reads, writes and sends.
fn live(connection: &mut Connection, now: Instant) {
    while connection.poll_event().is_some() {}
    connection.discard(u64::MAX);
    connection.write(b"more");
    for _ in 0..SEGMENTS {
        if connection.poll_transmit(now).is_none() {
            break;
        }
    }
}

/// Checks that a connection's context can be read.
fn check_again(connection: &Connection, now: Instant, context: &SplitContext) {
    let Some(half) = connection.context(now) else {
        return;
    };
    let message = Message::Context(Box::new(SplitContext {
        towards_mobile: half.clone(),
        towards_correspondent: half,
        ..context.clone()
    }));
    let bytes = message.encode();
    assert_eq!(Message::decode(&bytes), Ok(Some((message, bytes.len()))));
}

/// Returns acknowledgments of half of the data under way and of all of it, then a FIN.
fn segments(half: &TcpContext, [local, remote]: [Endpoint; 2]) -> [TcpHeader; 3] {
    let out = half.next - half.unacknowledged;
    let segment = |acknowledged: u64, flags: TcpFlags| TcpHeader {
        source_port: remote.port,
        destination_port: local.port,
        sequence: half.peer_initial_sequence + half.expected as u32,
        acknowledgment: SequenceNumber(
            half.initial_sequence
                .0
                .wrapping_add((half.unacknowledged + acknowledged) as u32),
        ),
        flags,
        window: 1000,
        options: TcpOptions::default(),
    };
    [
        segment(out / 2, TcpFlags::ACK),
        segment(out, TcpFlags::ACK),
        segment(out, TcpFlags::ACK.with(TcpFlags::FIN)),
    ]
}

fn endpoint(end: SocketAddr) -> Endpoint {
    Endpoint {
        address: end.ip(),
        port: end.port(),
    }
}
