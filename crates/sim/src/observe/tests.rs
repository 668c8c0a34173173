//! Timelines written by hand, with results computed by hand.

use super::*;
use baton_proto::wire::tcp::TcpFlags;
use core::net::{IpAddr, Ipv4Addr};
use proptest::prelude::*;

const SYN: TcpFlags = TcpFlags::SYN;
const ACK: TcpFlags = TcpFlags::ACK;
const FIN: TcpFlags = TcpFlags(TcpFlags::FIN.0 | TcpFlags::ACK.0);
const RST: TcpFlags = TcpFlags::RST;
const SYN_ACK: TcpFlags = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0);

const PAYLOAD: [u8; 4000] = [7; 4000];

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn view(tcp: Option<TcpFields>, length: usize) -> PacketView<'static> {
    PacketView {
        source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        destination: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        protocol: if tcp.is_some() { 6 } else { 17 },
        ports: (40_000, 443),
        tcp,
        payload: &PAYLOAD[..length],
        wire_length: length as u32 + 40,
    }
}

fn segment(
    flags: TcpFlags,
    sequence: u32,
    acknowledgment: u32,
    length: usize,
) -> PacketView<'static> {
    let window = 1000;
    view(
        Some(TcpFields {
            sequence,
            acknowledgment,
            flags,
            window,
            window_scale: None,
        }),
        length,
    )
}

fn with_window(view: PacketView<'static>, window: u16) -> PacketView<'static> {
    let tcp = view.tcp.map(|tcp| TcpFields { window, ..tcp });
    PacketView { tcp, ..view }
}

/// A conversation, and the number of the next packet.
struct Bench {
    conversation: Conversation,
    number: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            conversation: Conversation::new(at(0)),
            number: 0,
        }
    }

    fn sent(&mut self, time: u64, from: Side, view: PacketView) -> (u64, Sending) {
        self.number += 1;
        let (sending, _) = self.conversation.sent(at(time), from, self.number, &view);
        (self.number, sending)
    }

    fn received(&mut self, time: u64, from: Side, number: u64, view: PacketView) -> Arrival {
        self.conversation.received(at(time), from, number, &view)
    }

    /// Sends a packet that arrives after a time.
    fn pass(&mut self, time: u64, after: u64, from: Side, view: PacketView) -> Arrival {
        let (number, _) = self.sent(time, from, view);
        self.received(time + after, from, number, view)
    }

    /// Makes a handshake from `time` on, 10 ms each way. Streams begin at 1000 (opener) and at the end of the numbers.
    fn open(&mut self, time: u64) {
        self.pass(time, 10, Side::Opener, segment(SYN, 999, 0, 0));
        self.pass(
            time + 10,
            10,
            Side::Responder,
            segment(SYN_ACK, u32::MAX, 1000, 0),
        );
        self.pass(time + 20, 10, Side::Opener, segment(ACK, 1000, 0, 0));
    }

    fn longest(&self, from: Side) -> Duration {
        self.conversation.progress(from).longest_stall
    }

    fn bytes(&self, from: Side) -> u64 {
        self.conversation.progress(from).delivered_bytes
    }
}

use Side::{Opener, Responder};

#[test]
fn retransmissions_with_other_boundaries_deliver_each_byte_once() {
    let mut bench = Bench::new();
    bench.open(0);
    // 0..1000 arrives, 1000..2000 is lost, 2000..3000 waits for it.
    bench.pass(100, 10, Opener, segment(ACK, 1000, 0, 1000));
    bench.sent(101, Opener, segment(ACK, 2000, 0, 1000));
    let ahead = bench.pass(102, 10, Opener, segment(ACK, 3000, 0, 1000));
    assert_eq!(ahead, Arrival::default());
    // The retransmitted segment begins earlier and ends later.
    let again = segment(ACK, 1500, 0, 2000);
    let (number, sending) = bench.sent(300, Opener, again);
    assert_eq!(sending, Sending::Retransmission);
    let arrived = bench.received(310, Opener, number, again).arrived.unwrap();
    assert_eq!((arrived.bytes, arrived.waited), (2000, Some(ms(200))));
    // Once more: nothing new.
    let spurious = bench.pass(320, 10, Opener, segment(ACK, 2000, 0, 1000));
    assert!(spurious.spurious && spurious.arrived.is_none());
    assert_eq!(bench.bytes(Opener), 3000);
    let counters = bench.conversation.counters(Opener);
    assert_eq!((counters.retransmitted, counters.spurious), (2, 1));
}

#[test]
fn sequence_numbers_wrap_around() {
    let mut bench = Bench::new();
    bench.open(0);
    // The responder's first byte is number 0, after its SYN at 2^32 - 1. Once around takes 2^32 bytes.
    let step = 4000;
    let mut position: u64 = 0;
    let mut conversation = bench.conversation.clone();
    for number in 0..1_100_000_u64 {
        let data = segment(ACK, position as u32, 1000, step as usize);
        conversation.sent(at(100), Responder, 10 + number, &data);
        conversation.received(at(110), Responder, 10 + number, &data);
        position += step;
        let acknowledgment = segment(ACK, 1000, position as u32, 0);
        conversation.sent(at(110), Opener, 10 + number, &acknowledgment);
        conversation.received(at(120), Opener, 10 + number, &acknowledgment);
    }
    assert!(position > 1 << 32);
    assert_eq!(conversation.progress(Responder).delivered_bytes, position);
    assert_eq!(conversation.counters(Responder).retransmitted, 0);
    assert!(!conversation.waits());
}

#[test]
fn probes_are_no_retransmissions() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.pass(100, 10, Opener, segment(ACK, 1000, 0, 500));
    bench.pass(110, 10, Responder, segment(ACK, 0, 1500, 0));
    assert_eq!(
        bench.sent(5000, Opener, segment(ACK, 1499, 0, 0)).1,
        Sending::KeepAlive
    );
    assert_eq!(
        bench.sent(6000, Opener, segment(ACK, 1499, 0, 1)).1,
        Sending::KeepAlive
    );
    // The receiver has closed its window.
    let full = with_window(segment(ACK, 0, 1500, 0), 0);
    bench.pass(7000, 10, Responder, full);
    assert_eq!(
        bench.sent(8000, Opener, segment(ACK, 1499, 0, 0)).1,
        Sending::WindowProbe
    );
    assert_eq!(
        bench.sent(9000, Opener, segment(ACK, 1500, 0, 1)).1,
        Sending::WindowProbe
    );
    let counters = bench.conversation.counters(Opener);
    assert_eq!((counters.retransmitted, counters.probes), (0, 4));
    assert_eq!(bench.longest(Opener), ms(10));
}

#[test]
fn an_outage_stalls_a_connection_and_a_pause_does_not() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.pass(100, 10, Opener, segment(ACK, 1000, 0, 500));
    bench.pass(110, 10, Responder, segment(ACK, 0, 1500, 0));
    // Ten seconds of nothing, then an outage of 3 s that takes one segment three times.
    for time in [10_000, 10_300, 11_000] {
        bench.sent(time, Opener, segment(ACK, 1500, 0, 500));
    }
    let arrived = bench.pass(13_000, 10, Opener, segment(ACK, 1500, 0, 500));
    assert_eq!(arrived.arrived.unwrap().waited, Some(ms(3010)));
    assert_eq!(bench.longest(Opener), ms(3010));
    // Its acknowledgment is lost. No end misses anything, so the end of the run is no stall.
    assert_eq!(bench.conversation.open_stall(Opener, at(60_000)), ms(0));
    bench.sent(60_000, Opener, segment(ACK, 2000, 0, 500));
    assert!(bench.conversation.open_stall(Opener, at(61_000)) >= ms(1000));
}

#[test]
fn a_lost_request_stalls_its_answer() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.sent(5000, Opener, segment(ACK, 1000, 0, 100));
    bench.pass(6000, 10, Opener, segment(ACK, 1000, 0, 100));
    // The server thinks for half a second.
    bench.pass(6510, 10, Responder, segment(ACK, 0, 1100, 1000));
    assert_eq!(bench.longest(Responder), ms(1010));
    assert_eq!(bench.conversation.main_direction(), Responder);
}

#[test]
fn slow_start_waits_from_delivery_to_delivery() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.pass(100, 50, Opener, segment(ACK, 1000, 0, 1000));
    bench.pass(150, 50, Responder, segment(ACK, 0, 2000, 0));
    let next = bench.pass(200, 50, Opener, segment(ACK, 2000, 0, 1000));
    assert_eq!(next.arrived.unwrap().waited, Some(ms(100)));
}

#[test]
fn a_connection_ends_with_both_fins_or_a_reset() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.pass(100, 10, Opener, segment(FIN, 1000, 0, 500));
    assert!(bench.conversation.is_finished(Opener));
    assert_eq!((bench.bytes(Opener), bench.conversation.end()), (500, None));
    bench.pass(120, 10, Responder, segment(FIN, 0, 1501, 0));
    assert_eq!(bench.conversation.end(), Some(End::Finished));
    // A SYN with another number is another connection; the same one again is not.
    assert!(
        bench
            .conversation
            .is_over_with(Opener, &segment(SYN, 77, 0, 0))
    );
    assert!(
        !bench
            .conversation
            .is_over_with(Opener, &segment(SYN, 999, 0, 0))
    );

    let mut refused = Bench::new();
    refused.pass(0, 10, Opener, segment(SYN, 999, 0, 0));
    refused.pass(10, 10, Responder, segment(RST, 0, 1000, 0));
    assert_eq!(refused.conversation.end(), Some(End::Refused));

    let mut reset = Bench::new();
    reset.open(0);
    reset.sent(100, Opener, segment(ACK, 1000, 0, 500));
    reset.pass(200, 10, Responder, segment(RST, 0, 0, 0));
    assert_eq!(reset.conversation.end(), Some(End::Reset));
    assert_eq!(reset.conversation.open_stall(Opener, at(9000)), ms(0));
}

#[test]
fn an_acknowledgment_tells_of_what_was_not_seen() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.sent(100, Opener, segment(ACK, 1000, 0, 700));
    let acknowledgment = segment(ACK, 0, 1700, 0);
    let (_, unseen) = bench
        .conversation
        .sent(at(150), Responder, 99, &acknowledgment);
    let unseen = unseen.unwrap();
    assert_eq!(
        (unseen.from, unseen.bytes, unseen.waited),
        (Opener, 700, Some(ms(50)))
    );
}

/// A transfer of datagrams (QUIC, say) across a hard handover: the last ones are lost, and then neither end
/// sends for two seconds, since their timers run.
#[test]
fn a_datagram_transfer_that_an_outage_silences_stalls() {
    let mut bench = Bench::new();
    let data = view(None, 1200);
    for time in (0..1000).step_by(20) {
        bench.pass(time, 15, Responder, data);
        bench.pass(time + 15, 5, Opener, view(None, 40));
    }
    bench.sent(1000, Responder, data);
    bench.sent(1020, Responder, data);
    bench.pass(3100, 15, Responder, data);
    // All was delivered by 995 and acknowledged by 1000, when the first lost datagram left.
    assert_eq!(bench.longest(Responder), ms(3115 - 1000));
    // An idle connection kept open, then another request and its answer: no stall.
    bench.pass(3115, 15, Opener, view(None, 40));
    bench.pass(13_000, 15, Opener, view(None, 200));
    bench.pass(13_030, 15, Responder, data);
    assert_eq!(bench.longest(Responder), ms(3115 - 1000));
    // It closes; the last packet is lost. The rest of the run is no stall.
    bench.sent(14_000, Opener, view(None, 40));
    assert_eq!(bench.conversation.open_stall(Responder, at(60_000)), ms(0));
    assert_eq!(bench.bytes(Responder), 52 * 1200);
}

/// A download over QUIC as seen by a client: after an outage the server answers its pings at once, and sends data again
/// half a second later. The client measures from data to data.
#[test]
fn answers_to_pings_end_no_stall() {
    let mut bench = Bench::new();
    let (data, short) = (view(None, 1200), view(None, 36));
    bench.pass(0, 15, Opener, data);
    for time in (20..1000).step_by(20) {
        bench.pass(time, 15, Responder, data);
        bench.pass(time + 15, 4, Opener, short);
    }
    bench.sent(1000, Responder, data);
    for time in [1100, 1350] {
        bench.sent(time, Opener, short);
    }
    for time in [1600, 1850] {
        bench.pass(time, 15, Opener, short);
        let answered = bench.pass(time + 15, 15, Responder, short).arrived.unwrap();
        assert_eq!((answered.bytes, answered.waited), (36, None));
    }
    let arrived = bench.pass(2100, 15, Responder, data).arrived.unwrap();
    // The one of 980 came at 995.
    assert_eq!(arrived.waited, Some(ms(2115 - 995)));
    assert_eq!(bench.longest(Responder), ms(2115 - 995));
    assert_eq!(bench.bytes(Responder), 50 * 1200 + 2 * 36);
    assert_eq!(bench.conversation.data_from_bytes(Responder), 200);
}

#[test]
fn datagrams_of_one_size_are_all_data_however_short() {
    let mut bench = Bench::new();
    for time in (0..1000).step_by(20) {
        bench.pass(time, 15, Responder, view(None, 33));
    }
    assert_eq!(bench.conversation.data_from_bytes(Responder), 9);
    bench.sent(1000, Responder, view(None, 33));
    let arrived = bench
        .pass(1700, 15, Responder, view(None, 33))
        .arrived
        .unwrap();
    assert_eq!(arrived.waited, Some(ms(715)));
}

/// A probe of the path's MTU, for example: it is not retransmitted.
#[test]
fn data_that_is_not_sent_again_is_given_up() {
    let mut bench = Bench::new();
    bench.pass(0, 15, Responder, view(None, 1200));
    bench.sent(100, Responder, view(None, 1400));
    for time in (200..20_000).step_by(1000) {
        bench.pass(time, 15, Opener, view(None, 36));
        bench.pass(time + 15, 15, Responder, view(None, 36));
    }
    let next = bench.pass(20_000, 15, Responder, view(None, 1200));
    assert_eq!(next.arrived.unwrap().waited, Some(ms(15)));
    assert_eq!(bench.conversation.open_stall(Responder, at(60_000)), ms(0));
}

/// Numbers drawn by a raw socket: none of them is within the window of 1000 B, nor within 64 KiB beyond.
#[test]
fn forged_segments_deliver_nothing_and_are_counted() {
    let mut bench = Bench::new();
    bench.open(0);
    bench.pass(100, 10, Opener, segment(ACK, 1000, 0, 500));
    bench.pass(110, 10, Responder, segment(ACK, 0, 1500, 0));
    for (number, step) in (1..200_u32).enumerate() {
        let sequence = 1500_u32.wrapping_add(step * 10_000_019);
        let forged = segment(ACK, sequence, 0, 1400);
        let (_, sending) = bench.sent(200, Opener, forged);
        let ahead = sequence.wrapping_sub(1500) < 1 << 31;
        let expected = if ahead {
            Sending::Impossible
        } else {
            Sending::Retransmission
        };
        assert_eq!(sending, expected, "{number} {sequence}");
        assert_eq!(
            bench.received(210, Opener, bench.number, forged).arrived,
            None
        );
        bench.pass(
            220,
            10,
            Responder,
            segment(ACK, 0, sequence.wrapping_add(1400), 0),
        );
    }
    assert_eq!(bench.bytes(Opener), 500);
    assert!(bench.conversation.counters(Opener).impossible > 50);
    // The connection continues.
    assert!(
        bench
            .pass(300, 10, Opener, segment(ACK, 1500, 0, 500))
            .arrived
            .is_some()
    );
}

#[test]
fn a_scaled_window_allows_what_it_says() {
    let mut bench = Bench::new();
    let scaled = |flags, sequence, acknowledgment| {
        let view = segment(flags, sequence, acknowledgment, 0);
        let tcp = view.tcp.map(|tcp| TcpFields {
            window_scale: Some(10),
            ..tcp
        });
        PacketView { tcp, ..view }
    };
    bench.pass(0, 10, Opener, scaled(SYN, 999, 0));
    bench.pass(10, 10, Responder, scaled(SYN_ACK, 4999, 1000));
    bench.pass(20, 10, Opener, segment(ACK, 1000, 5000, 0));
    // A window of 1000 << 10 from 1000 on.
    bench.pass(30, 10, Responder, segment(ACK, 5000, 1000, 0));
    let sent =
        |bench: &mut Bench, sequence| bench.sent(40, Opener, segment(ACK, sequence, 5000, 1000)).1;
    assert_eq!(sent(&mut bench, 1000 + (1000 << 10) - 1000), Sending::New);
    assert_eq!(sent(&mut bench, 1000 + (1200 << 10)), Sending::Impossible);
}

#[test]
fn datagrams_that_overtake_are_counted() {
    let mut bench = Bench::new();
    let first = bench.sent(0, Opener, view(None, 10)).0;
    let second = bench.sent(1, Opener, view(None, 10)).0;
    assert!(!bench.received(5, Opener, second, view(None, 10)).reordered);
    assert!(bench.received(6, Opener, first, view(None, 10)).reordered);
    assert_eq!(bench.conversation.counters(Opener).reordered, 1);
    assert_eq!(bench.bytes(Opener), 20);
}

#[test]
fn a_program_does_not_stall_on_what_it_gave_up() {
    let mut program = Program::default();
    // Conversation 0 delivers at 1000 and is cut off with something outstanding.
    program.update(at(900), 0, true, false);
    program.deliver(at(1000), 500);
    program.update(at(1000), 0, true, false);
    // Conversation 1 takes over two seconds later, and comes to rest.
    program.update(at(2500), 1, true, false);
    program.deliver(at(3000), 500);
    program.update(at(3000), 1, false, false);
    assert_eq!(program.progress().longest_stall, ms(2000));
    // A pause of ten seconds, then conversation 1 again.
    program.update(at(13_000), 1, true, false);
    program.deliver(at(13_100), 500);
    program.update(at(13_100), 1, false, false);
    assert_eq!(program.longest_stall(at(60_000)), ms(2000));
    assert_eq!(program.progress().delivered_bytes, 1500);
}

proptest! {
    /// Segments of any boundaries, each lost, doubled or late: no byte is delivered twice, and once all have arrived,
    /// all are delivered.
    #[test]
    fn every_byte_is_delivered_once(
        first in any::<u32>(),
        events in proptest::collection::vec((0_u32..3000, 1_usize..900, any::<bool>()), 1..80),
    ) {
        let mut conversation = Conversation::new(at(0));
        let mut number = 0;
        let mut pass = |conversation: &mut Conversation, start: u32, length: usize, comes: bool| {
            number += 1;
            let view = segment(ACK, first.wrapping_add(start), 0, length);
            conversation.sent(at(number), Opener, number, &view);
            if comes {
                let arrival = conversation.received(at(number), Opener, number, &view);
                arrival.arrived.map_or(0, |arrived| arrived.bytes)
            } else {
                0
            }
        };
        pass(&mut conversation, 0, 1, false);
        let mut total = 0;
        let mut came = vec![false; 4000];
        for (start, length, comes) in events {
            total += pass(&mut conversation, start, length, comes);
            if comes {
                came[start as usize..start as usize + length].fill(true);
            }
            let in_order = came.iter().take_while(|&&came| came).count() as u64;
            prop_assert_eq!(total, in_order);
        }
        total += pass(&mut conversation, 0, 4000, true);
        prop_assert_eq!(total, 4000);
        prop_assert_eq!(conversation.progress(Opener).delivered_bytes, 4000);
    }

    /// No input makes it panic.
    #[test]
    fn any_bytes_are_parsed_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), v6 in any::<bool>()) {
        if let Some(first) = bytes.first_mut() {
            *first = if v6 { 0x60 } else { 0x45 };
        }
        if let Ok(view) = PacketView::parse(&bytes) {
            prop_assert!(view.wire_length as usize <= bytes.len());
        }
    }
}

/// Bytes of packets by RFC 791, 8200, 768 and 9293.
mod bytes {
    use super::*;

    fn ipv4(options: &[u8], protocol: u8, fragment: u16, carried: &[u8]) -> Vec<u8> {
        let header = 20 + options.len();
        let length = (header + carried.len()) as u16;
        let mut bytes = vec![0x40 | (header / 4) as u8, 0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend(fragment.to_be_bytes());
        bytes.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(options);
        bytes.extend(carried);
        bytes
    }

    fn ipv6(next: u8, carried: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((carried.len() as u16).to_be_bytes());
        bytes.extend([next, 64]);
        bytes.extend(core::net::Ipv6Addr::LOCALHOST.octets());
        bytes.extend(core::net::Ipv6Addr::UNSPECIFIED.octets());
        bytes.extend(carried);
        bytes
    }

    const UDP: [u8; 11] = [0x9C, 0x40, 0x01, 0xBB, 0, 11, 0, 0, 1, 2, 3];

    #[test]
    fn options_and_extension_headers_are_passed_over() {
        let plain = ipv4(&[1, 1, 1, 0], 17, 0x4000, &UDP);
        let view = PacketView::parse(&plain).unwrap();
        assert_eq!((view.ports, view.payload), ((40_000, 443), &[1, 2, 3][..]));
        assert_eq!(view.wire_length, 35);

        // Hop-by-hop (8 bytes), destination options (16), a first fragment (8).
        let mut carried = vec![60, 0, 1, 4, 0, 0, 0, 0];
        carried.extend([44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        carried.extend([17, 0, 0, 1, 0, 0, 0, 9]);
        let fragment_at = carried.len() - 8;
        carried.extend(UDP);
        let view_of = |carried: &[u8]| PacketView::parse(&ipv6(0, carried)).map(|view| view.ports);
        assert_eq!(view_of(&carried), Ok((40_000, 443)));
        carried[fragment_at + 3] = 0x08;
        assert_eq!(view_of(&carried), Err(NoConversation::LaterFragment));
    }

    #[test]
    fn what_belongs_to_no_conversation_is_told_apart() {
        let parse = |bytes: &[u8]| PacketView::parse(bytes).map(|view| view.ports);
        assert_eq!(
            parse(&ipv4(&[], 17, 0x00B9, &UDP)),
            Err(NoConversation::LaterFragment)
        );
        assert_eq!(
            parse(&ipv4(&[], 1, 0, &[3, 4, 0, 0, 0, 0, 5, 0])),
            Err(NoConversation::Control)
        );
        assert_eq!(
            parse(&ipv4(&[], 1, 0, &[8, 0, 0, 0, 0x12, 0x34, 0, 1])),
            Ok((0x1234, 0x1234))
        );
        assert_eq!(
            parse(&ipv4(&[], 6, 0, &UDP)),
            Err(NoConversation::Malformed)
        );
        assert_eq!(
            parse(&ipv4(&[], 17, 0, &UDP)[..25]),
            Err(NoConversation::Malformed)
        );
        assert_eq!(parse(&[]), Err(NoConversation::Malformed));
    }

    /// A SYN with maximum segment size, SACK permitted, timestamps, a no-operation and a window scale of 7, as Linux sends.
    #[test]
    fn a_syns_window_scale_is_read() {
        let mut header = vec![
            0x9C, 0x40, 0x01, 0xBB, 0, 0, 0, 1, 0, 0, 0, 0, 0xA0, 0x02, 0xFA, 0xF0, 0, 0, 0, 0,
        ];
        header.extend([
            2, 4, 5, 0xB4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7,
        ]);
        let scale = |header: &[u8]| {
            PacketView::parse(&ipv4(&[], 6, 0, header))
                .unwrap()
                .tcp
                .unwrap()
                .window_scale
        };
        assert_eq!(scale(&header), Some(7));
        header[13] = 0x10;
        assert_eq!(scale(&header), None);
        // Options cut off in the middle.
        (header[13], header[12]) = (0x02, 0x60);
        assert_eq!(scale(&header[..24]), None);
    }

    #[test]
    fn both_directions_have_one_tuple() {
        let there = ipv4(&[], 17, 0, &UDP);
        let mut back = there.clone();
        back[12..20].rotate_left(4);
        back[20..24].rotate_left(2);
        let [there, back] = [&there, &back].map(|bytes| PacketView::parse(bytes).unwrap());
        assert_eq!(FiveTuple::of(&there), FiveTuple::of(&back));
        assert_eq!(there.describe(), "udp 10.0.0.1:40000 10.0.0.2:443");
    }
}

/// A gateway that answers the opener before the responder does, acknowledges at once, and numbers both halves itself.
#[test]
fn a_connection_that_a_gateway_ends_is_one_stream_of_bytes() {
    let (opener, responder) = (Side::Opener, Side::Responder);
    let mut bench = Bench::new();
    bench.conversation.pass_gateway();
    let (syn, _) = bench.sent(0, opener, segment(SYN, 999, 0, 0));
    // By the gateway, under the responder's address.
    bench.received(10, responder, 100, segment(SYN_ACK, 7_000, 1000, 0));
    bench.received(30, opener, syn, segment(SYN, 50_000, 0, 0));
    bench.sent(30, responder, segment(SYN_ACK, 90_000, 50_001, 0));
    bench.received(40, opener, 101, segment(ACK, 50_001, 90_001, 0));
    // The gateway has room for more than the responder.
    let (_, sending) = bench.sent(50, opener, segment(ACK, 1000, 7_001, 2000));
    assert_eq!(sending, Sending::New);
    bench.received(60, responder, 102, segment(ACK, 7_001, 3000, 0));
    assert!(
        bench.conversation.has_outstanding(opener),
        "the gateway has it"
    );
    let arrival = bench.received(400, opener, 103, segment(ACK, 50_001, 90_001, 1000));
    assert_eq!(arrival.arrived.map(|arrived| arrived.bytes), Some(1000));
    bench.received(900, opener, 104, segment(ACK, 51_001, 90_001, 1000));
    bench.sent(900, responder, segment(ACK, 90_001, 52_001, 0));
    assert!(!bench.conversation.has_outstanding(opener));
    assert_eq!(
        (bench.bytes(opener), bench.longest(opener)),
        (2000, ms(500))
    );
    // And back.
    bench.pass(910, 0, responder, segment(ACK, 90_001, 52_001, 0));
    let (number, _) = bench.sent(920, responder, segment(ACK, 90_001, 52_001, 300));
    bench.received(950, responder, number, segment(ACK, 7_001, 3000, 300));
    assert_eq!(bench.bytes(responder), 300);
    let counters = bench.conversation.counters(opener);
    assert_eq!((counters.impossible, counters.retransmitted), (0, 0));
}
