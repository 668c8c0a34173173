//! Segments that neither side has sent: what of them is believed.

use crate::bench::{Bench, PLAIN, Setting, Side};
use crate::for_each;
use baton_proto::host::SocketEvent;
use baton_proto::packet::{Body, Payload};
use baton_proto::tcp::State;
use baton_proto::tcp::profile::Profile;
use baton_proto::wire::icmp::{IcmpError, IcmpMessage, QuotedPacket};
use baton_proto::wire::protocol;
use baton_proto::wire::tcp::{SackBlocks, TcpFlags, TcpHeader};
use std::io::ErrorKind;

const SETTING: Setting<'static> = Setting {
    links: PLAIN,
    sysctls: &[],
    receive_buffer: None,
    ipv6: false,
};

/// A connection that has carried something both ways and rests.
fn at_rest(profile: &Profile, opener: Side) -> Bench {
    let mut bench = Bench::connected(&SETTING, profile, opener);
    bench.carry(Side::Ours, 20_000);
    bench.carry(Side::Kernel, 20_000);
    bench.settle();
    bench
}

/// The segment without data that the side across from `to` would send next.
fn genuine(bench: &Bench, to: Side) -> TcpHeader {
    let [theirs, own] = [to.other(), to].map(|side| bench.sent[side as usize]);
    let mut header = theirs.last.unwrap();
    header.flags = TcpFlags::ACK;
    header.sequence = theirs.next.unwrap();
    header.acknowledgment = own.next.unwrap();
    header.options.sack = SackBlocks::default();
    header
}

/// Forges a segment and expects the acknowledgment that RFC 5961 has in answer to it. Ours keeps Linux's limit, one in 500 ms,
/// which the kernel's end is free of.
fn assert_challenged(bench: &mut Bench, to: Side, header: TcpHeader, payload: Payload) {
    if to == Side::Ours {
        bench.quieten();
    }
    let before = bench.sent[to as usize].segments;
    bench.forge(to, Body::Tcp(header, payload));
    bench.until("challenged", |bench| {
        bench.sent[to as usize].segments > before
    });
    let answer = bench.sent[to as usize].last.unwrap();
    let expected = genuine(bench, to.other());
    assert_eq!(answer.flags, TcpFlags::ACK, "{to:?} answers {header:?}");
    assert_eq!(
        (answer.sequence, answer.acknowledgment),
        (expected.sequence, expected.acknowledgment)
    );
}

/// The connection works as before.
fn assert_alive(bench: &mut Bench) {
    bench.carry(Side::Ours, 20_000);
    bench.carry(Side::Kernel, 20_000);
    bench.settle();
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn resets_and_syns_in_the_window_are_challenged() {
    for_each(|profile, opener| {
        let mut bench = at_rest(profile, opener);
        for to in Side::BOTH {
            for flags in [
                TcpFlags::RST,
                TcpFlags::RST.with(TcpFlags::ACK),
                TcpFlags::SYN,
                TcpFlags::SYN.with(TcpFlags::ACK),
            ] {
                let mut header = genuine(&bench, to);
                header.flags = flags;
                header.sequence += 100;
                assert_challenged(&mut bench, to, header, Payload::EMPTY);
            }
        }
        assert_alive(&mut bench);
        // Outside the window a reset is nothing at all (RFC 5961 section 3.2).
        for to in Side::BOTH {
            bench.quieten();
            let before = bench.sent[to as usize].segments;
            let mut header = genuine(&bench, to);
            header.flags = TcpFlags::RST;
            for distance in [1 << 30, u32::MAX - 1000] {
                header.sequence += distance;
                bench.forge(to, Body::Tcp(header, Payload::EMPTY));
            }
            // The next thing that it says is about what comes next.
            let header = TcpHeader {
                acknowledgment: header.acknowledgment + (u32::MAX - (1 << 30)),
                ..genuine(&bench, to)
            };
            assert_challenged(&mut bench, to, header, Payload::EMPTY);
            assert_eq!(bench.sent[to as usize].segments, before + 1);
        }
        bench.close(opener, 10_000);
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn an_exact_reset_ends_the_connection() {
    for_each(|profile, opener| {
        for to in Side::BOTH {
            let mut bench = at_rest(profile, opener);
            let mut header = genuine(&bench, to);
            header.flags = TcpFlags::RST;
            bench.forge(to, Body::Tcp(header, Payload::EMPTY));
            match to {
                Side::Ours => {
                    bench.until("reset", |bench| bench.events.contains(&SocketEvent::Reset));
                    assert_eq!(bench.connection().state(), State::Closed);
                }
                Side::Kernel => bench.until("reset", |bench| {
                    bench.read(Side::Ours);
                    bench.kernel.error == Some(ErrorKind::ConnectionReset)
                }),
            }
        }
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn acknowledgments_of_what_was_never_sent_change_nothing() {
    for_each(|profile, opener| {
        let mut bench = at_rest(profile, opener);
        for to in Side::BOTH {
            for beyond in [1, 5_000, 1 << 30] {
                let mut header = genuine(&bench, to);
                header.acknowledgment += beyond;
                // RFC 5961 section 5.2.
                assert_challenged(&mut bench, to, header, Payload::EMPTY);
            }
            let mut header = genuine(&bench, to);
            header.acknowledgment += 5_000;
            let data = Payload::Bytes(vec![0xEE; 100].into());
            assert_challenged(&mut bench, to, header, data);
            // The data went with its acknowledgment: the genuine bytes come in its place.
            assert_alive(&mut bench);
        }
        bench.close(opener, 10_000);
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn icmp_about_what_is_not_under_way_is_not_believed() {
    for_each(|profile, opener| {
        let mut bench = at_rest(profile, opener);
        for to in Side::BOTH {
            let own = genuine(&bench, to.other());
            // RFC 5927 section 4: too late, and of what was never sent. Section 5: no error ends a connection.
            let stray = [10_000, u32::MAX - 10_000].map(|distance| own.sequence + distance);
            let stray = stray.map(|sequence| (IcmpError::PacketTooBig { mtu: 600 }, sequence));
            let hard = [IcmpError::PortUnreachable, IcmpError::Unreachable];
            let hard = hard.map(|kind| (kind, own.sequence));
            for (kind, sequence) in stray.into_iter().chain(hard) {
                let quoted = QuotedPacket {
                    source: bench.addresses[to as usize],
                    destination: bench.addresses[to.other() as usize],
                    protocol: protocol::TCP,
                    source_port: own.source_port,
                    destination_port: own.destination_port,
                    sequence: sequence.0,
                    within: None,
                };
                let body = Body::Icmp(IcmpMessage::Error { kind, quoted });
                bench.forge(to, body);
            }
        }
        assert_alive(&mut bench);
        assert_eq!(bench.connection().statistics().path_mtu_reductions, 0);
        assert_eq!(bench.kernel.info().tcpi_pmtu, 1500);
        bench.close(opener, 10_000);
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn data_ahead_of_its_turn_meets_the_same_bytes_again() {
    for_each(|profile, opener| {
        let mut bench = at_rest(profile, opener);
        for to in Side::BOTH {
            let from = to.other();
            let position = bench.carried[from as usize].written;
            for (ahead, length) in [(100, 200), (250, 300), (1_400, 200), (50, 1_000)] {
                let mut header = genuine(&bench, to);
                header.sequence += ahead;
                let data = Payload::Pattern {
                    stream: from as u32,
                    offset: position + u64::from(ahead),
                    length,
                };
                bench.forge(to, Body::Tcp(header, data));
            }
            bench.carry(from, 50_000);
            bench.settle();
        }
        let received = *bench.connection().statistics();
        assert!(received.out_of_order_received > 0);
        bench.close(opener, 10_000);
    });
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn data_with_an_old_timestamp_is_dropped_by_both() {
    for opener in Side::BOTH {
        let mut bench = at_rest(&Profile::linux_6(), opener);
        for to in Side::BOTH {
            let mut header = genuine(&bench, to);
            let timestamps = header.options.timestamps.as_mut().unwrap();
            timestamps.value = timestamps.value.wrapping_sub(1000);
            let data = Payload::Bytes(vec![0xEE; 100].into());
            // RFC 7323 section 5.3 R1: dropped, and answered.
            assert_challenged(&mut bench, to, header, data);
        }
        assert_alive(&mut bench);
        assert_eq!(bench.connection().statistics().old_timestamps, 1);
        bench.close(opener, 10_000);
    }
}
