//! Processing of MACKs: arrivals and losses, the window, the round-trip time, and data confirmed by the far end.

use super::connection::{Connection, Probing, timestamp};
use super::path::{Path, PathId};
use super::{Event, Measurement};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::aerotp::Mack;

impl Connection {
    /// Takes in a MACK; `has_met_congestion` if it reports packets that were marked.
    pub(super) fn handle_mack(&mut self, now: Instant, mack: &Mack, has_met_congestion: bool) {
        let Some(cumulative) = self.position_of(mack.cumulative) else {
            self.statistics.refused += 1;
            return;
        };
        let place = |distance: u32| cumulative + u64::from(distance);
        let ends = mack.received.iter().map(|range| range.end());
        let ends = ends.chain(mack.missing.iter().map(|missing| missing.range.end()));
        let highest = place(ends.max().unwrap_or(0));
        if self.incarnations.is_later() {
            self.sender.skip_to(highest);
        }
        if highest > self.sender.next() || u64::from(mack.unconfirmed) > cumulative {
            self.statistics.refused += 1;
            return;
        }
        if !self.is_known {
            self.is_known = true;
            if self.peer.is_none() {
                self.tell(Event::Established);
            }
        }
        self.probing = Probing::default();
        self.is_doubtful = false;
        self.paths[self.heard_path].peer_error_rate = mack.error_rate;
        let heard = (self.heard_path, Self::echoed(now, mack));
        let mut new = self.sender.arrived(
            (self.sender.acknowledged(), cumulative),
            &mut self.paths,
            heard,
        );
        for range in &mack.received {
            new += self.sender.arrived(
                (place(range.start), place(range.end())),
                &mut self.paths,
                heard,
            );
        }
        self.sender.acknowledge(cumulative);
        let restored = mack.restored.saturating_sub(self.restored_there);
        self.sender.fates.lost = self.sender.fates.lost.saturating_add(restored);
        self.restored_there = self.restored_there.max(mack.restored);
        let window_end = cumulative + u64::from(mack.window);
        self.sender.window_end = self.sender.window_end.max(window_end);
        self.learn_from_echo(now, mack, has_met_congestion);
        self.find_lost(now, mack, cumulative);
        let confirmed = cumulative - u64::from(mack.unconfirmed);
        if confirmed > self.confirmed_there {
            self.confirmed_there = confirmed;
            self.sender.confirm(confirmed);
            self.tell(Event::Confirmed);
        }
        if new > 0 || self.configuration.keeps_until_confirmed {
            self.tell_of_room();
        }
        if mack.is_complete
            && self.ending.sent > 0
            && self.sender.is_done()
            && !self.ending.delivered
        {
            self.ending.delivered = true;
            self.tell(Event::Delivered);
        }
        self.settle(now);
        self.arm_probe(now);
    }

    /// Returns the sending time of the packet that the peer echoes.
    fn echoed(now: Instant, mack: &Mack) -> Instant {
        let ago = timestamp(now).wrapping_sub(mack.echo);
        Instant::from_nanos(now.as_nanos().saturating_sub(u64::from(ago) * 1000))
    }

    fn learn_from_echo(&mut self, now: Instant, mack: &Mack, has_met_congestion: bool) {
        // An echo from the future, or of a forgotten packet, gives no sample.
        if timestamp(now).wrapping_sub(mack.echo).cast_signed() < 0 {
            return;
        }
        let since = now.saturating_since(Self::echoed(now, mack));
        let rtt = since.saturating_sub(Duration::from_micros(u64::from(mack.held_for)));
        // The packet that a MACK echoes came over the path that the MACK takes.
        let path = &mut self.paths[self.heard_path];
        if has_met_congestion {
            path.rate.congested(now, arrival_rate(mack));
        }
        path.rate.measured(now, rtt, arrival_rate(mack));
        let left = Instant::from_nanos(now.as_nanos().saturating_sub(since.as_nanos()));
        let fates = core::mem::take(&mut self.sender.fates);
        if let Some(blocks) = self.blocks.as_mut().filter(|_| !self.shares_links) {
            blocks.note(fates);
        }
        let answers = |asked: Instant| left >= asked;
        self.measured = Some(Measurement {
            path: PathId(self.heard_path as u8),
            rtt,
            left,
            arrived: core::mem::take(&mut path.arrived),
            fates,
            has_met_congestion,
        });
        if path.shown_since.is_some_and(answers) {
            path.shown_since = None;
        }
        if path.silent.is_some_and(|silence| answers(silence.since)) {
            path.silent = None;
        }
    }

    fn find_lost(&mut self, now: Instant, mack: &Mack, cumulative: u64) {
        let echoed = Self::echoed(now, mack);
        let overtaking = |path: &Path| {
            let smoothed = path.rate.smoothed().unwrap_or(Duration::ZERO);
            Duration::from_nanos(smoothed.as_nanos() / 8)
        };
        for missing in &mack.missing {
            let range = missing.range;
            let range = (
                cumulative + u64::from(range.start),
                cumulative + u64::from(range.end()),
            );
            let until = match missing.damaged {
                // The echoed packet left within the microsecond of the echo.
                true => Instant::from_nanos(echoed.as_nanos() / 1000 * 1000 + 999),
                false => {
                    let overtaking = overtaking(&self.paths[self.heard_path]);
                    Instant::from_nanos(echoed.as_nanos().saturating_sub(overtaking.as_nanos()))
                }
            };
            self.sender.missing(range, (self.heard_path, until));
        }
        for (number, path) in self.paths.iter_mut().enumerate() {
            let overtaking = overtaking(path);
            self.sender.find_lost(number, path, overtaking);
        }
    }
}

/// Returns the arrival rate that a MACK reports.
fn arrival_rate(mack: &Mack) -> DataRate {
    DataRate::from_bits_per_second(u64::from(mack.arrival_rate) * 1000)
}
