//! Path MTU discovery by probing (DPLPMTUD, RFC 8899).

use baton_proto::time::{Duration, Instant};
use core::net::{IpAddr, SocketAddr};

/// BASE_PLPMTU (RFC 8899, section 5.1.2) as a whole IP packet: the minimum of IPv6.
pub(crate) const BASE: u16 = 1280;
/// MAX_PROBES (RFC 8899, section 5.1.2).
const MOST_TRIES: u8 = 3;
/// PROBE_TIMER (RFC 8899, section 5.1.1): its lower bound.
const PROBE_TIMER: Duration = Duration::from_secs(1);
/// PMTU_RAISE_TIMER (RFC 8899, section 5.1.1).
const RAISE_TIMER: Duration = Duration::from_secs(600);
/// Bytes within which the search ends (chosen).
const PRECISION: u16 = 8;

/// Lowest number of this search's probes, which have the upper half of all numbers, so that no other probe's answer is
/// taken for one of these.
pub(crate) const OWN_NUMBERS: u16 = 0x8000;
/// Shortest time between two checks of the size (chosen: losses of small datagrams cause them too).
const DOUBT_AGAIN: Duration = Duration::from_secs(2);

/// A probe in flight.
#[derive(Clone, Copy)]
struct Out {
    size: u16,
    sequence: u16,
    tries: u8,
    sent: bool,
    deadline: Instant,
}

/// Search for the largest size, as the length of a whole IP packet.
pub(crate) struct Mtu {
    confirmed: u16,
    /// Size for the uplink itself, which is tried first.
    largest: u16,
    /// Smallest size known to be too large.
    too_large: u16,
    out: Option<Out>,
    raise: Instant,
    doubt_again: Instant,
}

impl Mtu {
    pub(crate) fn new(now: Instant, largest: u16) -> Mtu {
        let mut mtu = Mtu {
            confirmed: BASE.min(largest),
            largest,
            too_large: largest.saturating_add(1),
            out: None,
            raise: now,
            doubt_again: now,
        };
        mtu.search(now);
        mtu
    }

    pub(crate) fn confirmed(&self) -> u16 {
        self.confirmed
    }

    pub(crate) fn largest(&self) -> u16 {
        self.largest
    }

    /// Returns true while the first probe, of the uplink's own size, may still be answered.
    pub(crate) fn is_unknown(&self) -> bool {
        let asked = |out: Out| out.size == self.largest && out.tries == 1;
        self.confirmed <= BASE && self.out.is_some_and(asked)
    }

    /// Checks the size again, after the loss of datagrams of this length.
    pub(crate) fn doubt(&mut self, now: Instant) {
        if self.out.is_none() && self.confirmed > BASE && now >= self.doubt_again {
            self.doubt_again = now + DOUBT_AGAIN;
            self.ask(now, self.confirmed);
        }
    }

    /// Cancels the probe in flight: a dead path gives no information about sizes.
    pub(crate) fn pause(&mut self) {
        self.out = None;
    }

    /// Probes again for the confirmed size, or for a larger one.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.too_large = self.largest.saturating_add(1);
        if self.confirmed > BASE {
            self.ask(now, self.confirmed);
        } else {
            self.search(now);
        }
    }

    /// Returns the size and number of a probe due now.
    pub(crate) fn due(&self) -> Option<(u16, u16)> {
        self.out
            .filter(|out| !out.sent)
            .map(|out| (out.size, out.sequence))
    }

    pub(crate) fn sent(&mut self, now: Instant) {
        if let Some(out) = &mut self.out {
            out.sent = true;
            out.deadline = now + PROBE_TIMER;
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.out {
            Some(out) => Some(out.deadline),
            None if self.confirmed < self.largest => Some(self.raise),
            None => None,
        }
    }

    /// Takes in an answer. Returns true if the confirmed size has changed.
    pub(crate) fn answered(&mut self, now: Instant, sequence: u16) -> bool {
        let Some(out) = self.out.take_if(|out| out.sent && out.sequence == sequence) else {
            return false;
        };
        let changed = out.size != self.confirmed;
        self.confirmed = out.size;
        self.search(now);
        changed
    }

    /// Takes in a deadline. Returns true if the confirmed size has changed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return false;
        }
        let Some(out) = &mut self.out else {
            self.too_large = self.largest.saturating_add(1);
            self.search(now);
            return false;
        };
        if out.tries < MOST_TRIES {
            out.tries += 1;
            out.sequence = out.sequence.wrapping_add(1) | OWN_NUMBERS;
            out.sent = false;
            out.deadline = now + PROBE_TIMER;
            return false;
        }
        let size = out.size;
        self.out = None;
        self.too_large = size;
        // A confirmed size that no longer passes: a black hole (RFC 8899, section 4.3).
        let black_hole = size <= self.confirmed;
        if black_hole {
            self.confirmed = BASE.min(self.largest);
        }
        self.search(now);
        black_hole
    }

    fn search(&mut self, now: Instant) {
        let room = self.too_large.saturating_sub(self.confirmed);
        if self.too_large > self.largest && self.confirmed < self.largest {
            self.ask(now, self.largest);
        } else if room > PRECISION {
            self.ask(now, self.confirmed + room / 2);
        } else {
            self.raise = now + RAISE_TIMER;
        }
    }

    fn ask(&mut self, now: Instant, size: u16) {
        let sequence = OWN_NUMBERS | (now.as_nanos() >> 20) as u16;
        let deadline = now + PROBE_TIMER;
        self.out = Some(Out {
            size,
            sequence,
            tries: 1,
            sent: false,
            deadline,
        });
    }
}

/// Returns the length of the IP and UDP headers of a datagram to `remote`, in bytes.
pub(crate) fn headers(remote: SocketAddr) -> u16 {
    match remote.ip().to_canonical() {
        IpAddr::V4(_) => 28,
        IpAddr::V6(_) => 48,
    }
}
