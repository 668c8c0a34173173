//! Timers of a connection: their times, and their effects.

use super::Event;
use super::connection::Connection;
use crate::time::Instant;

impl Connection {
    /// Sets the time of the next probe, if an answer is awaited.
    pub(super) fn arm_probe(&mut self, now: Instant) {
        if !self.waits_for_peer() {
            self.probing.at = None;
            return;
        }
        if self.probing.at.is_some() {
            return;
        }
        if self.probing.tries == 0 {
            self.awaited_since = now;
        }
        let pause = Self::next_question(self.answer_within(), self.probing.tries);
        self.probing.at = Some(now + pause);
    }

    pub(super) fn give_up_gaps(&mut self, now: Instant) {
        let skipped = self
            .receiver
            .give_up_gaps(now, self.configuration.reordering_wait);
        self.note_skipped(skipped);
    }

    pub(super) fn note_skipped(&mut self, skipped: u64) {
        if skipped > 0 {
            self.statistics.skipped += skipped;
            self.tell(Event::Skipped(skipped));
            self.tell(Event::Readable);
        }
    }

    /// Takes in that the last AFIN has left, in a mode without answers. Packets of the peer are still read for a while.
    pub(super) fn finish_one_way(&mut self, now: Instant) {
        self.over_at = Some(now + self.configuration.listen_timeout);
    }

    pub(super) fn confirmed_here(&self) -> u64 {
        self.confirmed_here
    }

    /// Returns true if silence of the peer ends the connection: an answer is due, or only packets of the peer would
    /// show that it is still there.
    pub(super) fn expects_peer(&self) -> bool {
        self.waits_for_peer() || !self.answers() && self.peer.is_some()
    }

    /// Returns the time at which a silent peer is given up. The silence of a connection without traffic does not count.
    fn give_up_at(&self) -> Option<Instant> {
        let since = self.last_heard.max(self.awaited_since);
        self.expects_peer()
            .then(|| since + self.configuration.close_timeout)
    }

    /// Closes what is over.
    pub(super) fn settle(&mut self, now: Instant) {
        let sent_all = self.ending.delivered && !self.is_unconfirmed()
            || self.ending.sent > 0 && !self.answers();
        // A peer that keeps its data until it is confirmed still waits for that.
        let owes_confirmation =
            self.configuration.keeps_until_confirmed && self.confirmed_here < self.receiver.next();
        if owes_confirmation {
            return;
        }
        if self.over_at.is_none() && self.finished && (sent_all || !self.answers()) {
            self.over_at = Some(now + self.configuration.listen_timeout);
        }
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), or of the next packet to send.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        let waits = self.waits_for_peer();
        let is_up = self.paths.iter().any(|path| path.is_up);
        let probe = self.probing.at.filter(|_| waits && is_up);
        [
            self.mack_due.filter(|_| is_up),
            self.confirmation_due.filter(|_| is_up),
            probe,
            self.give_up_at(),
            self.receiver.gap_until(),
            self.ending.repeat_at.filter(|_| is_up),
            self.blocks
                .as_ref()
                .and_then(|blocks| blocks.poll_timeout()),
            self.over_at,
            self.silence_deadline(),
            self.next_departure(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if self.is_over {
            return;
        }
        if due(self.probing.at) {
            self.probing.at = None;
            if self.waits_for_peer() {
                self.probing.due = true;
                // One packet: its answer shows what else is missing.
                self.sender.lose_oldest(1);
                self.probing.tries += 1;
                self.arm_probe(now);
            }
        }
        self.note_silence(now);
        if let Some(blocks) = &mut self.blocks {
            blocks.handle_timeout(now, self.sender.is_ready());
        }
        if due(self.receiver.gap_until()) {
            self.give_up_gaps(now);
            self.after_arrival(now);
        }
        if due(self.give_up_at()) {
            self.end(Event::TimedOut);
        } else if due(self.over_at) {
            self.end(Event::Closed);
        }
    }
}
