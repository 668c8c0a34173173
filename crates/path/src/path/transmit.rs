//! Sealing of packets, and the path's own messages.

use super::{NotSent, Path, Sent};
use crate::frame::{TAG_BYTES, TRANSPORT_HEADER};
use crate::message::{
    self, ANSWER, ELIDED, HEADER, MTU_PROBE, NOTICE, PROBE, RECEIPT, Report, Stamp, TRAIN,
};
use crate::mtu;
use baton_proto::time::Instant;

/// Bit of a counter that marks an MTU probe. These are counted separately, because their loss says nothing about the
/// path's.
pub(super) const MTU_BIT: u64 = 1 << 63;

impl Path {
    /// Appends a datagram with this packet to `out`.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        kind: u8,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Sent, NotSent> {
        if kind > ELIDED {
            return Err(NotSent::Kind(kind));
        }
        let longest = self.packet_mtu();
        if packet.len() > usize::from(longest) {
            let is_short = packet.len() <= usize::from(self.largest_packet());
            return Err(match self.mtu.is_unknown() && is_short {
                true => NotSent::MtuUnknown,
                false => NotSent::TooLong(longest),
            });
        }
        let counter = self.counter;
        self.seal(now, counter, kind, out, |out| out.extend_from_slice(packet))
            .ok_or(NotSent::NoSession)?;
        let length = packet.len() + super::OVERHEAD + usize::from(mtu::headers(self.remote));
        self.large_sent |= length > usize::from(mtu::BASE);
        self.asks(now);
        Ok(Sent {
            counter,
            to: self.remote,
        })
    }

    /// Returns true if [`Path::poll_transmit`] has a datagram to send.
    pub(crate) fn transmits(&self, now: Instant) -> bool {
        if self.current.is_none() {
            return false;
        }
        let receipt = self.receipts.deadline(&self.measurement.round_trip);
        self.probe_due
            || self.answer.is_some()
            || self.mtu_answer.is_some()
            || receipt.is_some_and(|time| now >= time)
            || (!self.liveness.is_down()
                && (self.mtu.due().is_some() || self.next_in_train().is_some()))
    }

    fn next_in_train(&self) -> Option<bool> {
        self.finder.as_ref()?.next_in_train()
    }

    /// Appends one datagram to `out`, if one is due.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<()> {
        if !self.transmits(now) {
            return None;
        }
        let mut report = Report {
            next: self.window.next(),
            received: self.received,
            echo: self.latest.0,
            received_bytes: self.finder.as_ref().map(|_| self.received_bytes),
            ..Report::default()
        };
        report = report.hold(now.saturating_since(self.latest.1));
        if core::mem::take(&mut self.probe_due) {
            self.sequence = self.sequence.wrapping_add(1) & !mtu::OWN_NUMBERS;
            report.sequence = self.sequence;
            self.send_probe(now, report, out)?;
            self.asks(now);
            return Some(());
        }
        if let Some(asked) = self.answer.take().or_else(|| self.mtu_answer.take()) {
            let (sequence, echo, arrival) = asked;
            report = Report {
                echo,
                sequence,
                ..report
            };
            return self.report(now, ANSWER, report.hold(now.saturating_since(arrival)), out);
        }
        if self
            .receipts
            .deadline(&self.measurement.round_trip)
            .is_some_and(|time| now >= time)
        {
            return self.report(now, RECEIPT, report, out);
        }
        if self.liveness.is_down() {
            return None;
        }
        self.probe_mtu(now, out)
            .or_else(|| self.send_in_train(now, out))
    }

    /// Writes a probe, which is a notice while a loss is expected.
    fn send_probe(&mut self, now: Instant, report: Report, out: &mut Vec<u8>) -> Option<()> {
        let round_trip = self.measurement.round_trip.smoothed();
        self.departure.sent(now, report.sequence, round_trip);
        let Some(left_ms) = self.departure.left_ms(now) else {
            return self.report(now, PROBE, report, out);
        };
        self.receipts.reported(now);
        self.seal(now, self.counter, NOTICE, out, |out| {
            report.write(out);
            out.extend_from_slice(&left_ms.to_le_bytes());
        })
    }

    fn report(&mut self, now: Instant, kind: u8, report: Report, out: &mut Vec<u8>) -> Option<()> {
        self.receipts.reported(now);
        self.seal(now, self.counter, kind, out, |out| report.write(out))
    }

    fn probe_mtu(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<()> {
        let (size, sequence) = self.mtu.due()?;
        let payload = usize::from(size.saturating_sub(mtu::headers(self.remote)));
        let length = payload.saturating_sub(TRANSPORT_HEADER + HEADER + TAG_BYTES);
        let counter = self.mtu_counter | MTU_BIT;
        self.mtu_counter += 1;
        self.mtu.sent(now);
        self.seal(now, counter, MTU_PROBE, out, |out| {
            let start = out.len();
            out.extend_from_slice(&sequence.to_le_bytes());
            out.resize(start + length.max(2), 0);
        })
    }

    /// Sends the next datagram of a train, as long as the longest packet.
    fn send_in_train(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<()> {
        let is_pressing = self.next_in_train()?;
        let length = usize::from(self.packet_mtu());
        self.seal(now, self.counter, TRAIN, out, |out| {
            let end = out.len() + length;
            out.push(u8::from(is_pressing));
            out.resize(end, 0);
        })
    }

    /// Notes that the last datagram requests an answer.
    fn asks(&mut self, now: Instant) {
        self.asked = self.counter;
        self.liveness.asked(now);
    }

    /// Writes a whole datagram; `None` without keys for it.
    fn seal(
        &mut self,
        now: Instant,
        counter: u64,
        kind: u8,
        out: &mut Vec<u8>,
        content: impl FnOnce(&mut Vec<u8>),
    ) -> Option<()> {
        let session = self
            .current
            .as_ref()
            .filter(|session| now < session.expiry())?;
        let start = out.len();
        session.write_header(counter, out);
        message::write_header(kind, now, out);
        content(out);
        if session.seal(counter, start, out).is_none() {
            out.truncate(start);
            return None;
        }
        let length = out.len() - start;
        if counter & MTU_BIT == 0 {
            self.counter += 1;
            if let Some(finder) = &mut self.finder {
                let bytes = length as u64 + u64::from(mtu::headers(self.remote));
                match kind {
                    TRAIN => finder.sent_in_train(now, bytes),
                    _ => finder.sent(now, bytes, !matches!(kind, ANSWER | RECEIPT)),
                }
            }
        }
        self.measurement.sent(now, length);
        Some(())
    }

    /// Notes a probe to answer.
    pub(super) fn will_answer(&mut self, now: Instant, sequence: u16, stamp: Stamp) {
        let asked = Some((sequence, stamp, now));
        if sequence & mtu::OWN_NUMBERS == 0 {
            self.answer = asked;
        } else {
            self.mtu_answer = asked;
        }
    }
}
