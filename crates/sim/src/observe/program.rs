//! Deliveries of all conversations together: the network as seen by a program's user.

use super::wait::Wait;
use crate::world::progress::Progress;
use baton_proto::time::{Duration, Instant};

/// One direction of many conversations, taken together.
///
/// The direction waits while a conversation waits that has delivered or sent last, or has sent since the last delivery:
/// a connection given up with something outstanding does not make every later pause a stall.
#[derive(Clone, Debug, Default)]
pub struct Program {
    wait: Wait,
    /// For each conversation the number of deliveries, plus one, at which it was last found waiting.
    waiting_at: Vec<u64>,
    deliveries: u64,
    /// Number of waiting conversations that are still counted.
    waiting: u64,
}

impl Program {
    /// Takes in an event of a conversation, which now `waits` or does not. `answers` is true if the conversation has
    /// sent in response to an arrival.
    pub fn update(&mut self, now: Instant, conversation: usize, waits: bool, answers: bool) {
        if self.waiting_at.len() <= conversation {
            self.waiting_at.resize(conversation + 1, 0);
        }
        let known = self.waiting_at[conversation] == self.deliveries + 1;
        if waits && !known {
            self.waiting_at[conversation] = self.deliveries + 1;
            self.waiting += 1;
            self.wait.begin(now, answers);
        } else if !waits && known {
            self.waiting_at[conversation] = 0;
            self.waiting -= 1;
            if self.waiting == 0 {
                self.wait.rest(now);
            }
        }
    }

    /// Notes a conversation's delivery in this direction. [`Program::update`] follows.
    pub fn deliver(&mut self, now: Instant, bytes: u64) {
        self.wait.deliver(now, bytes);
        self.deliveries += 1;
        self.waiting = 0;
        self.wait.rest(now);
    }

    /// Notes bytes of a conversation in this direction that ended no wait.
    pub fn count(&mut self, bytes: u64) {
        self.wait.progress.delivered_bytes += bytes;
    }

    /// Notes that a conversation has delivered in the other direction and has nothing outstanding in this one.
    /// [`Program::update`] follows.
    pub fn start_anew(&mut self, now: Instant) {
        if self.waiting <= 1 {
            self.wait.start_anew(now);
        }
    }

    /// Returns the progress of all conversations.
    pub fn progress(&self) -> &Progress {
        &self.wait.progress
    }

    /// Returns the longest stall, the present one included, of a run that ends now.
    pub fn longest_stall(&self, now: Instant) -> Duration {
        self.wait.progress.longest_stall.max(self.wait.current(now))
    }
}
