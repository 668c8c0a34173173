//! Longest time for which an end of a connection may let the other wait: data is acknowledged soon, and an end with
//! unacknowledged data is not silent for longer than its longest timeout.

use super::rows::{Row, Tcp};
use super::{Verdict, ensure};
use baton_proto::tcp::profile::Profile;
use baton_proto::time::Duration;
use baton_sim::link::config::Damaged;
use baton_sim::scenario::model::Scenario;

/// RFC 1122 section 4.2.3.2: an acknowledgment is delayed by less than half a second, unless a profile has a longer
/// delay.
const MOST_DELAY: Duration = Duration::from_millis(500);

/// Interval in which one challenge ACK is sent, in nanoseconds (RFC 5961 section 7; Linux's).
const CHALLENGES: i64 = 500_000_000;

/// Returns true if some link delivers damaged packets, which the table of packets does not distinguish from intact
/// ones.
pub fn delivers_damaged(scenario: &Scenario) -> bool {
    let given = scenario.links.iter().map(|link| &link.config);
    let changed = scenario.changes.iter().map(|change| &change.config);
    let mut directions = given.chain(changed).flat_map(|link| [&link.down, &link.up]);
    directions.any(|direction| {
        direction.channel.bit_error_rate > 0.0 && direction.channel.damaged == Damaged::Delivered
    })
}

/// One end, by the packets that it sends and receives. Times are in nanoseconds.
pub struct Patience {
    answers_within: i64,
    silent_for: i64,
    /// Time since which data waits for an acknowledgment.
    waits: Option<i64>,
    stirred: i64,
    /// True if its FIN was sent, and the peer's has arrived.
    fins: [bool; 2],
    reset: bool,
    /// Time of its last acknowledgment.
    acknowledged: Option<i64>,
}

impl Patience {
    pub fn new(profile: &Profile) -> Patience {
        // A timer expires at a tick, and a coarse one of Linux up to an eighth late.
        let late = |time: Duration| {
            (time.as_nanos() + time.as_nanos() / 8 + 2 * profile.tick.as_nanos()) as i64
                + Duration::from_millis(10).as_nanos() as i64
        };
        Patience {
            answers_within: late(profile.delayed_ack.unwrap_or(MOST_DELAY).max(MOST_DELAY)),
            silent_for: late(profile.maximum_rto.max(profile.minimum_rto)),
            waits: None,
            stirred: 0,
            fins: [false; 2],
            reset: false,
            acknowledged: None,
        }
    }

    /// Checks its duties up to now; `out` is true if it has unacknowledged data.
    pub fn check(&self, now: i64, out: bool) -> Verdict {
        if self.reset {
            return Ok(());
        }
        // When both have closed, late segments find no connection.
        let waited = self.waits.filter(|_| self.fins != [true; 2]);
        let waited = waited.map_or(0, |since| now - since);
        ensure!(
            waited <= self.answers_within,
            "data was not acknowledged for {waited} ns, at {now}"
        );
        let silent = now - self.stirred;
        ensure!(
            !out || silent <= self.silent_for,
            "data is out, and it fell silent for {silent} ns, at {now}"
        );
        Ok(())
    }

    pub fn reached(&mut self, now: i64, row: &Row, tcp: &Tcp) {
        self.stirred = now;
        self.reset |= tcp.rst;
        self.fins[1] |= tcp.fin;
        // A repeated SYN with data, as T/TCP's, gets a challenge ACK, of which there is one in half a second.
        let is_challenged = tcp.syn && self.acknowledged.is_some_and(|at| now - at < CHALLENGES);
        if row.payload > 0 && !is_challenged || tcp.fin {
            self.waits.get_or_insert(now);
        }
    }

    pub fn sent(&mut self, now: i64, tcp: &Tcp) {
        self.stirred = now;
        self.reset |= tcp.rst;
        self.fins[0] |= tcp.fin;
        if tcp.acknowledgment.is_some() {
            self.waits = None;
            self.acknowledged = Some(now);
        }
    }
}
