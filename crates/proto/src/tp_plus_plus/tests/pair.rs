//! Two ends of a connection and the path between them.

use super::*;
use std::collections::BTreeMap;

/// One way of the path.
pub(super) const DELAY: Duration = Duration::from_millis(50);
/// Full packets of this MTU take 12 ms at 1 Mbit/s.
pub(super) const MTU: u32 = 1500;

/// An end of the connection; A opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    A,
    B,
}

/// Decides about a packet by its end and its number there: the delays of the copies that arrive.
type Fate = Box<dyn FnMut(End, usize, &TpPlusPlusPacket) -> Vec<Duration>>;

/// A packet under way: its end and its addresses.
type UnderWay = (End, (IpAddr, IpAddr), TpPlusPlusPacket);

pub(super) struct Pair {
    pub now: Instant,
    pub a: Connection,
    pub b: Option<Connection>,
    configuration: Configuration,
    fate: Fate,
    under_way: BTreeMap<(Instant, usize), UnderWay>,
    /// Packets as sent.
    pub log: Vec<(Instant, End, Transmission)>,
    pub events: Vec<(Instant, End, Event)>,
    /// Chunks as B's application reads them.
    pub read: Vec<(Instant, Chunk)>,
    pub reads: bool,
    /// Packets sent by A and by B, and copies of packets under way so far.
    sent: [usize; 2],
    copies: usize,
    pub written: u64,
}

pub(super) fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// Returns the defaults at 1 Mbit/s.
pub(super) fn configuration() -> Configuration {
    Configuration::new(DataRate::from_bits_per_second(1_000_000))
}

pub(super) fn label() -> ConnectionLabel {
    ConnectionLabel {
        source_port: 1000,
        destination_port: 2000,
        identifier: 0xC1D,
    }
}

pub(super) fn address(host: u8) -> IpAddr {
    [192, 0, 2, host].into()
}

impl Pair {
    /// Creates two ends with the same settings, and a path with these fates.
    pub fn new(
        configuration: Configuration,
        fate: impl FnMut(End, usize, &TpPlusPlusPacket) -> Vec<Duration> + 'static,
    ) -> Pair {
        let addresses = (address(1), address(2));
        Pair {
            now: Instant::ZERO,
            a: Connection::connect(configuration.clone(), label(), addresses, MTU),
            b: None,
            configuration,
            fate: Box::new(fate),
            under_way: BTreeMap::new(),
            log: Vec::new(),
            events: Vec::new(),
            read: Vec::new(),
            reads: true,
            sent: [0; 2],
            copies: 0,
            written: 0,
        }
    }

    /// Creates a pair whose packets all arrive after the delay, except those of A with these numbers.
    pub fn losing(configuration: Configuration, lost: &'static [usize]) -> Pair {
        Pair::new(configuration, move |end, number, _| {
            match end == End::A && lost.contains(&number) {
                true => Vec::new(),
                false => vec![DELAY],
            }
        })
    }

    /// Writes bytes at A.
    pub fn write(&mut self, bytes: u32, is_record: bool) {
        let payload = Payload::Pattern {
            stream: 7,
            offset: self.written,
            length: bytes,
        };
        assert_eq!(self.a.write(&payload, is_record), u64::from(bytes));
        self.written += u64::from(bytes);
    }

    /// Runs until a time, inclusive.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            self.settle();
            let b = self.b.as_ref().and_then(Connection::poll_timeout);
            let arrival = self.under_way.keys().next().map(|key| key.0);
            let next = [self.a.poll_timeout(), b, arrival];
            let next = next.into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else {
                self.now = end;
                return;
            };
            self.now = next.max(self.now);
            while let Some(first) = self.under_way.first_entry() {
                if first.key().0 > self.now {
                    break;
                }
                let (from, ends, packet) = first.remove();
                self.arrive(from, ends, packet);
            }
            self.a.handle_timeout(self.now);
            if let Some(b) = &mut self.b {
                b.handle_timeout(self.now);
            }
        }
    }

    fn arrive(&mut self, from: End, ends: (IpAddr, IpAddr), packet: TpPlusPlusPacket) {
        // As bytes, as they would arrive.
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        let packet = TpPlusPlusPacket::decode(&bytes).expect("it was encoded");
        if from == End::B {
            return self.a.handle_packet(self.now, ends, packet);
        }
        let own = (packet.label.reversed(), (ends.1, ends.0));
        let configuration = &self.configuration;
        let b = self
            .b
            .get_or_insert_with(|| Connection::accept(configuration.clone(), own.0, own.1, MTU));
        b.handle_packet(self.now, ends, packet);
    }

    fn settle(&mut self) {
        loop {
            let mut sent = self.a.poll_transmit(self.now).map(|sent| (End::A, sent));
            if let Some(b) = &mut self.b {
                if self.reads {
                    let chunks = core::iter::from_fn(|| b.read());
                    self.read.extend(chunks.map(|chunk| (self.now, chunk)));
                }
                sent = sent.or_else(|| b.poll_transmit(self.now).map(|sent| (End::B, sent)));
            }
            let Some((end, sent)) = sent else {
                break;
            };
            let number = self.sent[end as usize];
            self.sent[end as usize] += 1;
            let length = 20 + sent.packet.wire_length();
            assert!(length <= MTU, "{length} bytes");
            for delay in (self.fate)(end, number, &sent.packet) {
                self.copies += 1;
                let key = (self.now + delay, self.copies);
                let packet = (end, sent.addresses, sent.packet.clone());
                self.under_way.insert(key, packet);
            }
            self.log.push((self.now, end, sent));
        }
        let a = core::iter::from_fn(|| self.a.poll_event()).map(|event| (self.now, End::A, event));
        self.events.extend(a);
        if let Some(b) = &mut self.b {
            let b = core::iter::from_fn(|| b.poll_event()).map(|event| (self.now, End::B, event));
            self.events.extend(b);
        }
    }

    /// Returns the times at which an end sent packets that a test picks.
    pub fn times(&self, end: End, picks: impl Fn(&Content) -> bool) -> Vec<Instant> {
        let of_end = self.log.iter().filter(|(_, of, _)| *of == end);
        let picked = of_end.filter(|(_, _, sent)| picks(&sent.packet.content));
        picked.map(|&(now, _, _)| now).collect()
    }

    pub fn saw(&self, end: End, event: Event) -> bool {
        let mut events = self.events.iter();
        events.any(|&(_, of, seen)| (of, seen) == (end, event))
    }

    /// Asserts that B has read all bytes once, each at its place; returns their number.
    pub fn assert_read(&self) -> u64 {
        let mut places = std::collections::BTreeSet::new();
        for (_, chunk) in &self.read {
            let mut bytes = Vec::new();
            chunk.payload.copy_into(&mut bytes);
            for (place, byte) in (chunk.position..).zip(bytes) {
                assert_eq!(byte, pattern_byte(7, place), "at {place}");
                assert!(places.insert(place), "{place} twice");
            }
        }
        places.len() as u64
    }
}

/// Returns true for a packet with data.
pub(super) fn is_data(content: &Content) -> bool {
    matches!(content, Content::Data(_))
}

/// Returns true for an acknowledgment.
pub(super) fn is_acknowledgment(content: &Content) -> bool {
    matches!(content, Content::Acknowledgment(_))
}
