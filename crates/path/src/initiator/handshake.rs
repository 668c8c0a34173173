//! Initiations, and their answers: a session, a cookie, or a refusal.

use super::{Initiator, InitiatorConfig};
use crate::cookie::write_mac2;
use crate::counters::Rejected;
use crate::frame::{
    INITIATION_MAC1, Kind, MOST_ASSIGNED, RESET_MAC1, RESPONSE_NOISE, Reply, Request, Start,
    array_at, u32_at, u64_at,
};
use crate::hash::MAC_BYTES;
use crate::noise::{Asked, SECOND_OVERHEAD, Split, prologue};
use crate::path::Event;
use crate::session::{Agreed, REKEY_AFTER, REKEY_AFTER_MESSAGES, Session};
use baton_proto::time::{Duration, Instant};

/// First interval between two initiations without a known round-trip time (chosen, as in RFC 6298 for an unknown
/// round-trip time).
pub(super) const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Shortest interval between two initiations (chosen).
const LEAST_RETRY: Duration = Duration::from_millis(250);
/// Longest interval between two initiations (WireGuard, section 6.4).
const LARGEST_RETRY: Duration = Duration::from_secs(5);
/// Silence of a path with keys that triggers an initiation (chosen: ten probes of a path that is down).
const LONGEST_SILENCE: Duration = Duration::from_secs(10);
/// Shortest interval between two handshakes caused by resets (chosen, to stop two routers with one key from constantly
/// taking the path from each other).
const RESET_INTERVAL: Duration = Duration::from_secs(1);
/// Lifetime of a cookie (WireGuard, section 6.6).
const COOKIE_LIFE: Duration = Duration::from_secs(120);

/// An initiation that waits for its response.
pub(super) struct Attempt {
    asked: Asked,
    index: u32,
    start: Start,
    timestamp: u64,
    mac1: [u8; MAC_BYTES],
    sent: Instant,
}

impl Initiator {
    pub(super) fn rekeys(&self, now: Instant) -> bool {
        self.path
            .session()
            .is_some_and(|session| now >= session.established + REKEY_AFTER)
            || self.path.messages() >= REKEY_AFTER_MESSAGES
    }

    /// Ensures that initiations continue while there are no keys, or new ones are due. A path that is down and has keys
    /// is probed: a restarted home agent answers by a reset. An initiation costs it a hundred times as much as a probe,
    /// and those of all routers at once would take all its time; therefore a path with keys sends one, rarely, only if
    /// resets do not arrive either.
    pub(super) fn keep_trying(&mut self, now: Instant) {
        if self.next_attempt.is_some() {
            return;
        }
        if self.path.session().is_none() || self.rekeys(now) {
            self.begin_handshake(now);
        } else if !self.path.is_up() && self.path.silence(now) >= LONGEST_SILENCE {
            self.begin_handshake(now);
            self.retry = LARGEST_RETRY;
        }
    }

    pub(super) fn begin_handshake(&mut self, now: Instant) {
        let known = self.path.known_round_trip();
        self.retry = known.map_or(FIRST_RETRY, |trip| trip.saturating_mul(2).max(LEAST_RETRY));
        self.next_attempt = Some(now);
    }

    /// Writes an initiation, with its own timestamp and ephemeral key.
    pub(super) fn initiate(&mut self, now: Instant, out: &mut Vec<u8>) -> Result<(), snow::Error> {
        self.next_attempt = Some(now + self.retry);
        self.retry = self.retry.saturating_mul(2).min(LARGEST_RETRY);
        let clock = self.config.unix_nanoseconds;
        let timestamp = clock.saturating_add(now.saturating_since(self.made).as_nanos());
        let timestamp = timestamp.max(self.last_timestamp.saturating_add(1));
        let start = self.path.start();
        let request = Request {
            timestamp,
            path: self.config.path,
            start,
        };
        let index = self.random.number();
        let begin = out.len();
        Kind::Initiation.write(out);
        out.extend_from_slice(&index.to_le_bytes());
        let InitiatorConfig {
            local,
            home_agent,
            preshared,
            finds_rate,
            ..
        } = &self.config;
        let prologue = prologue(*finds_rate);
        let seed = self.random.bytes();
        let payload = request.encode();
        let asked = Asked::write(prologue, local, home_agent, preshared, seed, &payload, out)?;
        self.to_home.write_mac1(begin, out);
        let mac1 = array_at(out, begin + INITIATION_MAC1);
        self.cookie
            .take_if(|(_, received)| now.saturating_since(*received) >= COOKIE_LIFE);
        write_mac2(self.cookie.as_ref().map(|(cookie, _)| cookie), begin, out);
        self.last_timestamp = timestamp;
        self.attempt = Some(Box::new(Attempt {
            asked,
            index,
            start,
            timestamp,
            mac1,
            sent: now,
        }));
        Ok(())
    }

    pub(super) fn take_response(&mut self, now: Instant, frame: &[u8]) -> Result<(), Rejected> {
        let attempt = self
            .attempt
            .take_if(|attempt| attempt.index == u32_at(frame, 8));
        let mut attempt = attempt.ok_or(Rejected::Unexpected)?;
        let mut payload = [0; Reply::LEAST_BYTES + MOST_ASSIGNED];
        let read = self.read_response(&mut attempt, frame, &mut payload);
        let (split, reply) = match read {
            Ok(read) => read,
            Err(rejected) => {
                self.attempt = Some(attempt);
                return Err(rejected);
            }
        };
        match reply {
            Reply::Accepted(peer, assigned) => {
                self.assigned = assigned.to_vec();
                if self.path.known_round_trip().is_none() {
                    self.path.round_trip(now.saturating_since(attempt.sent));
                }
                let agreed = Agreed {
                    local_index: attempt.index,
                    remote_index: u32_at(frame, 4),
                    own: attempt.start,
                    peer,
                };
                let session = Session::of_initiator(now, split, agreed);
                self.key_log.add(session.keys());
                self.path.adopt(now, session);
                self.counters.sessions += 1;
            }
            Reply::Stale(largest) => {
                self.last_timestamp = largest.max(attempt.timestamp);
                self.next_attempt = Some(now);
            }
            Reply::TooManyPaths => self.path.events.push_back(Event::Refused),
        }
        Ok(())
    }

    fn read_response<'a>(
        &self,
        attempt: &mut Attempt,
        frame: &[u8],
        payload: &'a mut [u8],
    ) -> Result<(Split, Reply<'a>), Rejected> {
        let end = frame.len().saturating_sub(MAC_BYTES);
        if !self.to_self.is_known(frame, end) {
            return Err(Rejected::Stranger);
        }
        let message = frame.get(RESPONSE_NOISE..end).unwrap_or_default();
        let length = message.len().saturating_sub(SECOND_OVERHEAD);
        let split = attempt
            .asked
            .read(message, payload)
            .map_err(|_| Rejected::Handshake)?;
        let reply = Reply::decode(payload.get(..length).unwrap_or_default());
        Ok((split, reply.ok_or(Rejected::Content)?))
    }

    /// Begins a handshake because the home agent has restarted and does not know the session. The session stays in use
    /// until there is another one: a forged reset costs a handshake.
    pub(super) fn take_reset(&mut self, now: Instant, frame: &[u8]) -> Result<(), Rejected> {
        if !self.to_home.is_known(frame, RESET_MAC1) {
            return Err(Rejected::Stranger);
        }
        if !self.path.is_under_way(u32_at(frame, 4), u64_at(frame, 8)) {
            return Err(Rejected::Unexpected);
        }
        let round_trip = self.path.known_round_trip().unwrap_or(FIRST_RETRY);
        let is_asked = self.attempt.as_ref().is_some_and(|attempt| {
            now.saturating_since(attempt.sent) < round_trip.saturating_mul(2)
        });
        let is_early = self
            .reset_at
            .is_some_and(|before| now.saturating_since(before) < RESET_INTERVAL);
        if is_asked || is_early {
            return Err(Rejected::Unexpected);
        }
        self.reset_at = Some(now);
        self.begin_handshake(now);
        Ok(())
    }

    pub(super) fn take_cookie(&mut self, now: Instant, frame: &[u8]) -> Result<(), Rejected> {
        let index = u32_at(frame, 4);
        let attempt = self.attempt.take_if(|attempt| attempt.index == index);
        let attempt = attempt.ok_or(Rejected::Unexpected)?;
        let Some(cookie) = self.to_home.read_cookie(&attempt.mac1, frame) else {
            self.attempt = Some(attempt);
            return Err(Rejected::Forged);
        };
        self.cookie = Some((cookie, now));
        self.next_attempt = Some(now);
        Ok(())
    }
}
