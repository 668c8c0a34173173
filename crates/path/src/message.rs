//! Contents of transport messages: `kind 1, time of sending 3`, then a packet, a report, or padding of probes and trains. A
//! notice is a probe whose report is followed by `milliseconds to the loss of the sender's link 4`, the least significant
//! byte first.
//!
//! Every message has the time of sending, so that the receiver can measure the variation of delays, and an answer can
//! echo it without either end storing it. It counts units of 8.192 µs and wraps after 137 s.

use crate::frame::{array_at, u32_at, u64_at};
use baton_proto::time::{Duration, Instant};

/// Length of kind and time before a message's content.
pub(crate) const HEADER: usize = 4;

/// Kind of an unmodified IP packet.
pub const PACKET: u8 = 0;
/// Kind of a packet whose outer header is elided; the callers at both ends know the header.
pub const ELIDED: u8 = 1;
pub(crate) const PROBE: u8 = 2;
pub(crate) const ANSWER: u8 = 3;
pub(crate) const RECEIPT: u8 = 4;
pub(crate) const MTU_PROBE: u8 = 5;
pub(crate) const NOTICE: u8 = 6;
/// Kind of a train's datagram (see `rate`): a byte, 1 if a receipt is to leave at once, and padding.
pub(crate) const TRAIN: u8 = 7;

/// A time by the sender's clock, 24 bits in units of 8.192 µs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamp(u32);

impl Stamp {
    const SHIFT: u32 = 13;
    const MASK: u32 = 0xFF_FFFF;

    pub(crate) fn of(now: Instant) -> Stamp {
        Stamp((now.as_nanos() >> Stamp::SHIFT) as u32 & Stamp::MASK)
    }

    /// Converts a duration to the same units, at most the longest one.
    fn of_duration(length: Duration) -> Stamp {
        Stamp((length.as_nanos() >> Stamp::SHIFT).min(u64::from(Stamp::MASK)) as u32)
    }

    fn as_duration(self) -> Duration {
        Duration::from_nanos(u64::from(self.0) << Stamp::SHIFT)
    }

    /// Returns the units from `earlier` until this time, negative in the opposite order: within 68 s.
    pub(crate) fn since(self, earlier: Stamp) -> i32 {
        (self.0.wrapping_sub(earlier.0) << 8) as i32 >> 8
    }

    fn bytes(self) -> [u8; 3] {
        let [low, middle, high, _] = self.0.to_le_bytes();
        [low, middle, high]
    }

    pub(crate) fn at(bytes: &[u8], offset: usize) -> Stamp {
        let [low, middle, high] = array_at(bytes, offset);
        Stamp(u32::from_le_bytes([low, middle, high, 0]))
    }
}

/// Converts a difference of [`Stamp`]s.
pub(crate) fn units(count: u32) -> Duration {
    Duration::from_nanos(u64::from(count) << Stamp::SHIFT)
}

/// Receive state of one end, in each of its probes, answers and receipts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Report {
    /// Counter after the largest that has arrived.
    pub(crate) next: u64,
    /// Datagrams received, without duplicates.
    pub(crate) received: u32,
    /// Sending time of a message by the peer's clock: of the one with the largest counter, or in an answer of the one
    /// that it answers.
    pub(crate) echo: Stamp,
    /// Time from the arrival of the message with `echo` to the departure of this one.
    pub(crate) held: Stamp,
    /// Number of the probe, in a probe and its answer.
    pub(crate) sequence: u16,
    /// Bytes received, as UDP payload and without duplicates; wraps. Only on paths whose ends find their rate.
    pub(crate) received_bytes: Option<u32>,
}

impl Report {
    pub(crate) const BYTES: usize = 20;
    /// Length with `received_bytes`.
    pub(crate) const RATED_BYTES: usize = Report::BYTES + 4;

    /// Sets the time from the arrival of the message with `echo` to the departure of this one.
    pub(crate) fn hold(mut self, length: Duration) -> Report {
        self.held = Stamp::of_duration(length);
        self
    }

    /// Returns the round-trip time by this report at `now`, without the time held; `None` if that was too long for its
    /// field.
    pub(crate) fn round_trip(&self, now: Instant) -> Option<Duration> {
        if self.held.0 >= Stamp::MASK / 2 {
            return None;
        }
        let since = Stamp::of(now).since(self.echo);
        let whole = units(u32::try_from(since).ok()?);
        Some(whole.saturating_sub(self.held.as_duration()))
    }

    /// Returns the arrival of the message with `echo` by the sender's clock, if this report left at `departure`.
    pub(crate) fn arrival(&self, departure: Stamp) -> Option<Stamp> {
        let is_known = self.held.0 < Stamp::MASK / 2;
        is_known.then(|| Stamp(departure.0.wrapping_sub(self.held.0) & Stamp::MASK))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.next.to_le_bytes());
        out.extend_from_slice(&self.received.to_le_bytes());
        out.extend_from_slice(&self.echo.bytes());
        out.extend_from_slice(&self.held.bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        if let Some(bytes) = self.received_bytes {
            out.extend_from_slice(&bytes.to_le_bytes());
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Report> {
        let received_bytes = match bytes.len() {
            Report::BYTES => None,
            Report::RATED_BYTES => Some(u32_at(bytes, 20)),
            _ => return None,
        };
        Some(Report {
            next: u64_at(bytes, 0),
            received: u32_at(bytes, 8),
            echo: Stamp::at(bytes, 12),
            held: Stamp::at(bytes, 15),
            sequence: u16::from_le_bytes(array_at(bytes, 18)),
            received_bytes,
        })
    }
}

/// Appends a message's header to `out`.
pub(crate) fn write_header(kind: u8, now: Instant, out: &mut Vec<u8>) {
    let [low, middle, high] = Stamp::of(now).bytes();
    out.extend_from_slice(&[kind, low, middle, high]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_told_across_the_wrap_of_stamps() {
        let wrap = Instant::from_nanos(1 << 37);
        let sent = Instant::from_nanos(wrap.as_nanos() - 20_000_000);
        let report = Report {
            echo: Stamp::of(sent),
            ..Report::default()
        };
        let report = report.hold(Duration::from_millis(15));
        let now = wrap + Duration::from_millis(30);
        let told = report
            .round_trip(now)
            .unwrap()
            .as_nanos()
            .abs_diff(35_000_000);
        assert!(told <= 2 * 8_192, "off by {told} ns");
        assert_eq!(report.hold(Duration::from_secs(100)).round_trip(now), None);
        // An echo from the future gives no round-trip time.
        assert_eq!(
            report.round_trip(Instant::from_nanos(sent.as_nanos() - 1_000_000)),
            None
        );
    }

    /// Checks the layout on the module's page, byte by byte.
    #[test]
    fn a_report_is_twenty_bytes_in_this_order_and_four_more_of_a_path_with_rates() {
        let report = Report {
            next: 0x0807_0605_0403_0201,
            received: 0x0C0B_0A09,
            echo: Stamp(0x0F0E0D),
            held: Stamp(0x121110),
            sequence: 0x1413,
            received_bytes: None,
        };
        let mut bytes = Vec::new();
        report.write(&mut bytes);
        assert_eq!(bytes, (1..=20).collect::<Vec<u8>>());
        assert_eq!(Report::decode(&bytes), Some(report));
        assert_eq!(Report::decode(&bytes[1..]), None);
        let rated = Report {
            received_bytes: Some(0x1817_1615),
            ..report
        };
        bytes.clear();
        rated.write(&mut bytes);
        assert_eq!(bytes, (1..=24).collect::<Vec<u8>>());
        assert_eq!(Report::decode(&bytes), Some(rated));
        assert_eq!(Report::decode(&bytes[1..]), None);
    }
}
