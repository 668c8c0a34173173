//! Two connections under any legal pair of remedies, any signals in any order and any path: what is written arrives once and in
//! order, nobody waits for ever, and nothing is sent beyond the window that was offered. Random handovers of whole worlds are in `crates/sim/tests/stress`.

use super::*;
use crate::crosslayer::{Acknowledgment, CrossLayerSignal, PathParameters, PeerMoved, Remedy};
use crate::rate::DataRate;
use crate::remedies::Kind;
use crate::tcp::profile::Algorithm;
use crate::testing::{Machines, Net, Wires};
use proptest::prelude::*;

/// Time of the last signal, in milliseconds; then the path behaves and the link is up.
const RESTLESS_MS: u64 = 60_000;

/// One end, with its parts of remedies: what a host does (`host/sockets.rs`).
struct Steered {
    connection: Connection,
    remedies: Vec<Box<dyn Remedy>>,
    received: u64,
    /// The farthest right edge that was offered to it.
    edge: i64,
}

impl Steered {
    fn tell(&mut self, now: Instant, signal: &CrossLayerSignal) {
        for remedy in &mut self.remedies {
            for control in remedy.on_signal(signal, &self.connection.view()) {
                self.connection.steer(now, control);
            }
        }
    }

    fn receive(&mut self, now: Instant, segment: Segment) {
        let header = segment.header;
        let was_out = self.connection.bytes_in_flight() > 0;
        let acknowledged = self.connection.bytes_acknowledged();
        let shift = self
            .connection
            .common
            .negotiated
            .window_shifts
            .map_or(0, |(_, s)| s);
        let shift = if header.flags.contains(TcpFlags::SYN) {
            0
        } else {
            shift
        };
        let base = self
            .connection
            .sender
            .flow
            .space
            .position(header.acknowledgment);
        self.edge = self.edge.max(base + (i64::from(header.window) << shift));
        self.connection
            .handle_segment(now, &header, segment.payload);
        self.received += self.connection.discard(u64::MAX);
        let bytes = self.connection.bytes_acknowledged() - acknowledged;
        if bytes > 0 {
            let rtt = self.connection.last_rtt_sample();
            let said = Acknowledgment {
                at: now,
                bytes,
                rtt,
            };
            for remedy in &mut self.remedies {
                for control in remedy.on_acknowledged(&said, &self.connection.view()) {
                    self.connection.steer(now, control);
                }
            }
        }
        if let Some(notice) = header.options.notice {
            self.tell(now, &CrossLayerSignal::Noticed(notice));
        }
        if was_out && self.connection.bytes_in_flight() == 0 {
            self.tell(now, &CrossLayerSignal::AllAcknowledged);
        }
    }

    /// New data is within the window that the other has offered, or probes it.
    fn check_sent(&self, segment: &Segment) {
        let header = &segment.header;
        let start = self.connection.sender.flow.space.position(header.sequence);
        let length = i64::from(segment.payload.length());
        let within = start + length <= self.edge || segment.retransmission || length == 1;
        assert!(within, "{} beyond the window", start + length - self.edge);
    }
}

const PATH: PathParameters = PathParameters {
    to_mobile: DataRate::from_bits_per_second(1_000_000),
    from_mobile: DataRate::from_bits_per_second(1_000_000),
    round_trip: Duration::from_millis(500),
    queue_packets: Some(35),
};

/// Returns the signals to both ends, by a number: to the mobile and to the correspondent.
fn signals(number: u8) -> [Option<CrossLayerSignal>; 2] {
    let moved = CrossLayerSignal::PeerMoved(PeerMoved {
        delay: Duration::from_millis(u64::from(number) * 3),
        rate: (number & 8 == 0).then_some(PATH.to_mobile),
        queue_packets: (number & 16 == 0).then_some(u32::from(number) / 4),
    });
    match number % 7 {
        0 => [Some(CrossLayerSignal::GoingDown), None],
        1 => [Some(CrossLayerSignal::Rollback), None],
        2 => [Some(CrossLayerSignal::Disconnected), None],
        3 => [Some(CrossLayerSignal::UpdateSent), Some(moved)],
        4 => [None, Some(moved)],
        _ => [Some(CrossLayerSignal::Connected(PATH)), None],
    }
}

struct Ends {
    /// The mobile's end, and the correspondent's.
    ends: [Steered; 2],
    /// Decides about segments while the path is restless.
    list: std::vec::IntoIter<u8>,
}

impl Ends {
    /// A transfer of the first end's remedies' flow; which end sends `mobile_sends` says.
    fn new(profile: &Profile, kinds: &[Kind], mobile_sends: bool, list: Vec<u8>) -> Ends {
        let now = Instant::ZERO;
        let ends = [end_point(1, 40_000), end_point(2, 80)];
        let connect = |index: usize| Steered {
            connection: Connection::connect(
                now,
                ends[index],
                ends[1 - index],
                profile,
                [ISS_A, ISS_B][index],
                1500,
            ),
            remedies: kinds
                .iter()
                .filter_map(|kind| match index {
                    0 => kind.at_mobile(mobile_sends),
                    _ => kind.at_correspondent(!mobile_sends),
                })
                .collect(),
            received: 0,
            edge: 0,
        };
        Ends {
            // Both connect: no listener is needed.
            ends: [connect(0), connect(1)],
            list: list.into_iter(),
        }
    }
}

impl Machines for Ends {
    type Message = (usize, Segment);

    fn poll_timeout(&mut self) -> Option<Instant> {
        let ends = self.ends.iter();
        ends.filter_map(|end| end.connection.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for end in &mut self.ends {
            end.connection.handle_timeout(now);
        }
    }

    fn handle_arrival(&mut self, (from, segment): Self::Message, wires: &mut Wires<Self::Message>) {
        self.ends[1 - from].receive(wires.now(), segment);
    }

    /// Sends over a path that loses and delays while it is restless.
    fn settle(&mut self, wires: &mut Wires<Self::Message>) {
        for (from, end) in self.ends.iter_mut().enumerate() {
            while end.connection.poll_event().is_some() {}
            while let Some(segment) = end.connection.poll_transmit(wires.now()) {
                end.check_sent(&segment);
                let restless = wires.now() < at_ms(RESTLESS_MS);
                let number = self.list.next().filter(|_| restless).unwrap_or(255);
                if number >= 40 {
                    wires.send((from, segment), ms(20 + u64::from(number)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_remedy_breaks_a_connection_whatever_happens(
        list in prop::collection::vec(any::<u8>(), 0..400),
        signs in prop::collection::vec((any::<u8>(), 0_u64..9_000), 0..12),
        picks in prop::collection::vec(0_usize..Kind::ALL.len(), 1..3),
        (name, mobile_sends) in (0_usize..6, any::<bool>()),
        (cubic, timestamps) in any::<(bool, bool)>(),
        length in 1_000_u64..400_000,
    ) {
        let mut kinds: Vec<Kind> = Vec::new();
        for pick in picks {
            let kind = Kind::ALL[pick];
            if kinds.iter().all(|other| kind.contradicts(*other).is_none()) {
                kinds.push(kind);
            }
        }
        let mut profile = profile(Profile::NAMES[name]);
        if cubic {
            profile.congestion = Algorithm::Cubic;
        }
        profile.timestamps = timestamps;
        profile.send_buffer = profile.send_buffer.max(400_000);
        profile.send_autotuning = false;
        profile.maximum_rto = Duration::from_secs(8);
        profile.data_retries = 400;
        profile.syn_retries = 400;
        profile.syn_ack_retries = 400;
        let mut net = Net::of(Ends::new(&profile, &kinds, mobile_sends, list));
        let (source, sink) = if mobile_sends { (0, 1) } else { (1, 0) };
        prop_assert_eq!(net.ends[source].connection.write_pattern(0, length), length);
        net.ends[source].connection.close();
        net.ends[0].tell(Instant::ZERO, &CrossLayerSignal::Begun(PATH));
        let mut at = 0;
        for (number, gap) in signs {
            at = (at + gap).min(RESTLESS_MS);
            net.run_until(at_ms(at));
            let now = net.now();
            for (end, signal) in signals(number).into_iter().enumerate() {
                if let Some(signal) = signal {
                    net.ends[end].tell(now, &signal);
                }
            }
        }
        // Every handover ends: the mobile is connected, and stays so.
        net.run_until(at_ms(RESTLESS_MS));
        net.ends[0].tell(at_ms(RESTLESS_MS), &CrossLayerSignal::Connected(PATH));
        net.run_until(Instant::from_secs(2_000));
        let sink = &net.ends[sink];
        prop_assert_eq!(sink.received, length, "{:?} {}", kinds, Profile::NAMES[name]);
    }
}
