//! Opening of datagrams, and processing of their contents.

use super::transmit::MTU_BIT;
use super::{Event, Path};
use crate::counters::Rejected;
use crate::frame::{array_at, u32_at, u64_at};
use crate::message::{
    ANSWER, ELIDED, HEADER, MTU_PROBE, NOTICE, PACKET, PROBE, RECEIPT, Report, Stamp, TRAIN,
};
use crate::mtu;
use crate::rate::Heard;
use baton_proto::time::{Duration, Instant};
use core::net::SocketAddr;

/// A received packet.
#[derive(PartialEq, Eq, Debug)]
pub struct Content<'a> {
    /// [`PACKET`](crate::PACKET) or [`ELIDED`](crate::ELIDED), as the sender gave it.
    pub kind: u8,
    /// The packet, in place in its datagram.
    pub packet: &'a mut [u8],
}

impl Path {
    /// Takes in a transport frame of at least the length of an empty one.
    pub(crate) fn receive<'a>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Option<Content<'a>>, Rejected> {
        let length = datagram.len();
        let counter = u64_at(datagram, 8);
        let content = self.open(now, counter, datagram)?;
        let (header, rest) = content
            .split_at_mut_checked(HEADER)
            .ok_or(Rejected::Content)?;
        let [kind] = array_at(header, 0);
        let stamp = Stamp::at(header, 1);
        if counter & MTU_BIT != 0 {
            return self.take_mtu_probe(now, counter, kind, stamp, rest);
        }
        let progress = counter.saturating_add(1).saturating_sub(self.window.next());
        self.window.take(counter);
        self.received = self.received.wrapping_add(1);
        self.received_bytes = self.received_bytes.wrapping_add(length as u32);
        self.measurement.received(now, length, progress, stamp);
        if progress > 0 {
            self.latest = (stamp, now);
            self.roam(from);
        }
        if matches!(kind, PACKET | ELIDED) {
            self.arrived(now);
            self.liveness.stream_arrived(now);
            self.receipts.packet_arrived(now, length);
            return Ok(Some(Content { kind, packet: rest }));
        }
        if kind == TRAIN && self.finder.is_some() {
            self.arrived(now);
            self.receipts.packet_arrived(now, length);
            if rest.first() == Some(&1) {
                self.receipts.press();
            }
            return Ok(None);
        }
        let (rest, left_ms) = match kind {
            NOTICE => rest.split_last_chunk().ok_or(Rejected::Content)?,
            _ => (&*rest, &[0; 4]),
        };
        let report = Report::decode(rest)
            .filter(|report| report.received_bytes.is_some() == self.finder.is_some())
            .ok_or(Rejected::Content)?;
        match kind {
            PROBE | NOTICE => {
                let left = Duration::from_millis(u32::from_le_bytes(*left_ms).into());
                let left = (kind == NOTICE).then_some(left);
                self.take_notice(now, counter, left);
                self.will_answer(now, report.sequence, stamp);
            }
            ANSWER => self.take_answer(now, report.sequence),
            RECEIPT => self.liveness.stream_arrived(now),
            _ => return Err(Rejected::Content),
        }
        self.take_report(now, kind, &report);
        self.pass_report(now, (kind, stamp), &report);
        Ok(None)
    }

    /// Opens a new datagram. A datagram under the keys of an offered session puts that session into use.
    fn open<'a>(
        &mut self,
        now: Instant,
        counter: u64,
        datagram: &'a mut [u8],
    ) -> Result<&'a mut [u8], Rejected> {
        let index = u32_at(datagram, 4);
        if let Some(next) = self.next.take_if(|next| next.local_index == index) {
            if now >= next.expiry() {
                return Err(Rejected::Expired);
            }
            let opened = next.open(counter, datagram);
            if opened.is_some() {
                self.adopt(now, next);
            } else {
                self.next = Some(next);
            }
            let opened = opened.ok_or(Rejected::Forged)?;
            return if self.is_new(counter) {
                Ok(opened)
            } else {
                Err(Rejected::Replayed)
            };
        }
        let session = [self.current.as_ref(), self.previous.as_ref()];
        let session = session
            .into_iter()
            .flatten()
            .find(|session| session.local_index == index);
        let session = session.ok_or(Rejected::UnknownSession)?;
        if now >= session.expiry() {
            return Err(Rejected::Expired);
        }
        if !self.is_new(counter) {
            return Err(Rejected::Replayed);
        }
        session.open(counter, datagram).ok_or(Rejected::Forged)
    }

    fn is_new(&self, counter: u64) -> bool {
        if counter & MTU_BIT == 0 {
            self.window.is_new(counter)
        } else {
            counter & !MTU_BIT >= self.mtu_seen
        }
    }

    fn take_mtu_probe<'a>(
        &mut self,
        now: Instant,
        counter: u64,
        kind: u8,
        stamp: Stamp,
        rest: &[u8],
    ) -> Result<Option<Content<'a>>, Rejected> {
        if kind != MTU_PROBE || rest.len() < 2 {
            return Err(Rejected::Content);
        }
        self.mtu_seen = (counter & !MTU_BIT).saturating_add(1);
        self.will_answer(now, u16::from_le_bytes(array_at(rest, 0)), stamp);
        self.arrived(now);
        Ok(None)
    }

    /// Takes in a notice with the time left when it was sent, or (`None`) a probe.
    fn take_notice(&mut self, now: Instant, counter: u64, left: Option<Duration>) {
        let round_trip = self.measurement.round_trip.smoothed().unwrap_or_default();
        let way = Duration::from_nanos(round_trip.as_nanos() / 2);
        let at = left.map(|left| now + left.saturating_sub(way));
        if self.departure.hear(now, counter, at) {
            self.events.push_back(Event::LossExpected(at));
        }
    }

    fn take_answer(&mut self, now: Instant, sequence: u16) {
        self.departure.answered(sequence);
        let before = self.packet_mtu();
        if self.mtu.answered(now, sequence) {
            self.tell_mtu(before);
        }
    }

    fn take_report(&mut self, now: Instant, kind: u8, report: &Report) {
        let report = &Report {
            next: report.next.min(self.counter),
            ..*report
        };
        let next = report.next;
        let is_newer = next > self.reported;
        if (is_newer || kind == ANSWER)
            && let Some(sample) = report.round_trip(now)
        {
            self.measurement.round_trip.sample(sample);
        }
        if is_newer {
            let lost = self.measurement.reported(now, report);
            if lost && core::mem::take(&mut self.large_sent) {
                self.mtu.doubt(now);
            }
            self.reported = next;
            match self.events.back_mut() {
                Some(Event::Receipted { up_to }) => *up_to = next,
                _ => self.events.push_back(Event::Receipted { up_to: next }),
            }
        }
        self.arrived(now);
    }

    /// Passes a report on to the search for the rate. An answer names the arrival of its probe, not of the newest datagram.
    fn pass_report(&mut self, now: Instant, (kind, departure): (u8, Stamp), report: &Report) {
        let (Some(finder), Some(received_bytes)) = (&mut self.finder, report.received_bytes) else {
            return;
        };
        let next = report.next;
        match report.arrival(departure).filter(|_| kind != ANSWER) {
            Some(arrival) => finder.reported(
                now,
                &Heard {
                    next,
                    received: report.received,
                    received_bytes,
                    headers: mtu::headers(self.remote),
                    arrival,
                    round_trip: report.round_trip(now),
                },
            ),
            None => finder.left_flight(next),
        }
    }

    /// Follows the initiator to another address, after a NAT rebinding or a new address of its uplink.
    fn roam(&mut self, from: SocketAddr) {
        if !self.is_initiator && from != self.remote {
            let before = self.packet_mtu();
            self.events.push_back(Event::Moved {
                from: self.remote,
                to: from,
            });
            self.remote = from;
            self.tell_mtu(before);
        }
    }
}
