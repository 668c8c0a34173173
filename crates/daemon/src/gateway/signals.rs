//! Signals about a gateway's link: words of a modem or an operator over the control socket, forecasts, and the other
//! gateway's expectation.

use crate::config::{Rate, Time};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A signal to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSignal {
    /// Its rate; `None` if it is to be found.
    Rate(Option<DataRate>),
    /// The time of its loss by a source; `None` if it stays.
    Loss(Source, Option<Instant>),
    /// True if it carries nothing for now.
    Away(bool),
}

/// Source of an expected loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The forecast of the configuration.
    Forecast,
    /// A program at the control socket.
    Word,
    /// The other gateway.
    Peer,
}

/// Expected losses of one link, by their source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses([Option<Instant>; 3]);

impl Losses {
    /// Takes in the time of the loss by a source; returns true if the soonest loss is another now.
    pub fn expect(&mut self, source: Source, at: Option<Instant>) -> bool {
        let before = self.soonest();
        self.0[source as usize] = at;
        self.soonest() != before
    }

    /// Returns the time of the soonest loss.
    pub fn soonest(&self) -> Option<Instant> {
        self.0.into_iter().flatten().min()
    }

    /// Returns the time of the soonest loss that this gateway knows of by itself.
    pub fn own(&self) -> Option<Instant> {
        let [forecast, word, _] = self.0;
        [forecast, word].into_iter().flatten().min()
    }

    /// Forgets a program's word whose time has come: a link that is up again has been away.
    pub fn come_back(&mut self, now: Instant) {
        self.0[Source::Word as usize].take_if(|at| *at <= now);
    }
}

/// A link's rate by the word of a modem or an operator, beside what the path finds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToldRate {
    told: Option<DataRate>,
    /// The rate that the path was given.
    given: Option<DataRate>,
    /// Time of the next raise of the rate in use, and that of one after a word that did not hold.
    next_raise: Instant,
    next_trust: Instant,
    /// Time since which the link carries less than half of it.
    lower_since: Option<Instant>,
    is_overruled: bool,
    /// Times that the link has proved to carry less than half of what was told.
    overruled: u64,
}

impl ToldRate {
    /// Takes a rate of the configuration.
    pub fn of(told: Option<DataRate>) -> ToldRate {
        ToldRate {
            told,
            ..ToldRate::default()
        }
    }

    /// Returns the rate told.
    pub fn told(&self) -> Option<DataRate> {
        self.told
    }

    /// Replaces the rate; `None` if it is to be found.
    pub fn tell(&mut self, told: Option<DataRate>) {
        self.told = told;
    }

    /// Returns true if the path was not given the rate told yet.
    pub fn is_waiting(&self) -> bool {
        self.told != self.given
    }

    /// Returns the rate that the path was given.
    pub fn given(&self) -> Option<DataRate> {
        self.given
    }

    /// Returns the rate for a path that comes up.
    pub fn give(&mut self) -> Option<DataRate> {
        self.given = self.told;
        self.given
    }

    /// Returns the rate told if it is time to give it to a path that uses a rate and has a round-trip time. Words that
    /// lower the rate are given at once. Those that raise it leave the path the time to find that a link carries less, or
    /// a modem that repeats its mistake would flood the link.
    pub fn poll(
        &mut self,
        now: Instant,
        (used, round_trip): (Option<DataRate>, Duration),
    ) -> Option<Option<DataRate>> {
        /// Round trips between two raises, and the least time (chosen: a path finds a queue within two).
        const ROUND_TRIPS: u64 = 4;
        const LEAST: Duration = Duration::from_secs(1);
        /// Time between two raises if a word did not hold (chosen).
        const DISTRUST: Duration = Duration::from_secs(10);
        if !self.is_waiting() {
            return None;
        }
        let raises = |told: &DataRate| used.is_some_and(|used| *told >= used);
        if self.told.as_ref().is_some_and(raises) {
            let held = |given: DataRate| {
                let used = used.map_or(0, |used| used.bits_per_second());
                used >= given.bits_per_second() / 4 * 3
            };
            let from = match self.given.is_none_or(held) {
                true => self.next_raise,
                false => self.next_trust,
            };
            if now < from {
                return None;
            }
            self.next_raise = now + round_trip.saturating_mul(ROUND_TRIPS).max(LEAST);
            self.next_trust = now + round_trip.saturating_mul(ROUND_TRIPS).max(DISTRUST);
        }
        Some(self.give())
    }

    /// Returns the number of times that the link has proved to carry less than half of the rate told.
    pub fn overruled(&self) -> u64 {
        self.overruled
    }

    /// Takes in the rate that the path uses; `None` while it is down. Returns true when the rate told is overruled.
    pub fn use_rate(&mut self, now: Instant, used: Option<DataRate>) -> bool {
        /// Less than half for this long is neither a pause nor a path that is dying (chosen).
        const PROOF: Duration = Duration::from_secs(3);
        let (Some(told), Some(used)) = (self.told, used) else {
            self.lower_since = None;
            return false;
        };
        if used.bits_per_second() >= told.bits_per_second() / 2 {
            (self.lower_since, self.is_overruled) = (None, false);
            return false;
        }
        let since = *self.lower_since.get_or_insert(now);
        let is_proof = now.saturating_since(since) >= PROOF;
        let is_news = is_proof && !self.is_overruled;
        self.is_overruled |= is_proof;
        self.overruled += u64::from(is_news);
        is_news
    }
}

/// A program's word about a link: one thing at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LinkTable", into = "LinkTable")]
pub struct LinkWord {
    /// The link's name.
    pub name: String,
    /// The word.
    pub said: Said,
}

/// Contents of a word about a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Its rate from this end; `None` if it is to be found.
    Rate(Option<DataRate>),
    /// It goes down after this time.
    GoesDownIn(Duration),
    /// It carries packets, and stays.
    IsUp,
    /// It carries nothing until it is said to be up.
    IsDown,
}

/// A word about a link as it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// The link's name.
    pub name: String,
    /// Its rate from this end, or "found".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// The time to its loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_down_in: Option<String>,
    /// "up" or "down".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
}

impl TryFrom<LinkTable> for LinkWord {
    type Error = String;

    fn try_from(table: LinkTable) -> Result<LinkWord, String> {
        let said = match (table.rate, table.goes_down_in, table.is) {
            (Some(rate), None, None) if rate == FOUND => Said::Rate(None),
            (Some(rate), None, None) => {
                let rate = Rate::try_from(rate);
                let Rate(rate) = rate.map_err(|wrong| format!("rate: {wrong}; or \"{FOUND}\""))?;
                Said::Rate(Some(rate))
            }
            (None, Some(time), None) => {
                let Time(time) =
                    Time::try_from(time).map_err(|wrong| format!("goes_down_in: {wrong}"))?;
                Said::GoesDownIn(time)
            }
            (None, None, Some(state)) => match &*state {
                "up" => Said::IsUp,
                "down" => Said::IsDown,
                _ => return Err(format!("is: \"{state}\"; expected \"up\" or \"down\"")),
            },
            _ => {
                let name = table.name;
                return Err(format!(
                    "link \"{name}\": expected one of `rate`, `goes_down_in` and `is`"
                ));
            }
        };
        Ok(LinkWord {
            name: table.name,
            said,
        })
    }
}

/// The rate of a link that is to be found.
const FOUND: &str = "found";

impl From<LinkWord> for LinkTable {
    fn from(LinkWord { name, said }: LinkWord) -> LinkTable {
        let mut table = LinkTable {
            name,
            ..LinkTable::default()
        };
        match said {
            Said::Rate(rate) => {
                let in_bits = |rate: DataRate| format!("{} bit/s", rate.bits_per_second());
                table.rate = Some(rate.map_or(FOUND.to_owned(), in_bits));
            }
            Said::GoesDownIn(time) => table.goes_down_in = Some(format!("{} ns", time.as_nanos())),
            Said::IsUp => table.is = Some("up".to_owned()),
            Said::IsDown => table.is = Some("down".to_owned()),
        }
        table
    }
}

/// What the link is said to do, as an infinitive.
impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Rate(Some(rate)) => write!(f, "carry {} bit/s", rate.bits_per_second()),
            Said::Rate(None) => f.write_str("find its rate"),
            Said::GoesDownIn(time) => write!(f, "go down in {time}"),
            Said::IsUp => f.write_str("be up"),
            Said::IsDown => f.write_str("be down"),
        }
    }
}

impl Said {
    /// Returns the signals to the link.
    pub fn signals(self, now: Instant) -> Vec<LinkSignal> {
        let loss = |at| LinkSignal::Loss(Source::Word, at);
        match self {
            Said::Rate(rate) => vec![LinkSignal::Rate(rate)],
            Said::GoesDownIn(time) => vec![loss(Some(now + time))],
            Said::IsUp => vec![loss(None), LinkSignal::Away(false)],
            Said::IsDown => vec![loss(None), LinkSignal::Away(true)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::control::Command;

    fn read(json: &str) -> Result<Command, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn each_word_is_read_and_comes_through_as_it_was() {
        let mbit = DataRate::from_bits_per_second(2_000_000);
        for (fields, said) in [
            ("\"rate\": \"2 Mbit/s\"", Said::Rate(Some(mbit))),
            ("\"rate\": \"found\"", Said::Rate(None)),
            (
                "\"goes_down_in\": \"1.5 s\"",
                Said::GoesDownIn(Duration::from_millis(1500)),
            ),
            ("\"is\": \"up\"", Said::IsUp),
            ("\"is\": \"down\"", Said::IsDown),
        ] {
            let command = read(&format!("{{\"link\": {{\"name\": \"mast\", {fields}}}}}")).unwrap();
            let word = LinkWord {
                name: "mast".to_owned(),
                said,
            };
            assert_eq!(command, Command::Link(word));
            let sent = serde_json::to_string(&command).unwrap();
            assert_eq!(read(&sent).unwrap(), command);
        }
    }

    #[test]
    fn each_bad_word_is_answered_with_its_mistake() {
        for (fields, wrong) in [
            ("", "expected one of `rate`, `goes_down_in` and `is`"),
            (
                ", \"rate\": \"2 Mbit/s\", \"is\": \"up\"",
                "expected one of `rate`",
            ),
            (
                ", \"rate\": \"2 Mbps\"",
                "rate: \"2 Mbps\": expected a number with bit/s",
            ),
            (
                ", \"rate\": \"-1 bit/s\"",
                "rate: \"-1 bit/s\": expected a number",
            ),
            (", \"rate\": 2", "expected a string"),
            (
                ", \"goes_down_in\": \"soon\"",
                "goes_down_in: \"soon\": expected a number with",
            ),
            (
                ", \"is\": \"away\"",
                "is: \"away\"; expected \"up\" or \"down\"",
            ),
            (", \"speed\": \"2 Mbit/s\"", "unknown field `speed`"),
        ] {
            let error = read(&format!("{{\"link\": {{\"name\": \"mast\"{fields}}}}}")).unwrap_err();
            assert!(error.contains(wrong), "{fields}: {error}");
        }
        for (json, wrong) in [
            ("{\"link\": {}}", "missing field `name`"),
            ("{\"link\": \"mast\"}", "expected struct LinkTable"),
            ("{\"links\": {}}", "unknown variant `links`"),
            ("", "EOF"),
            ("{\"link\": {\"name\"", "EOF"),
            ("\u{1}\u{2}", "expected value"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(wrong), "{json}: {error}");
        }
    }

    #[test]
    fn the_soonest_loss_of_all_sources_counts_and_a_word_ends_with_its_loss() {
        let at = |s| Some(Instant::from_secs(s));
        let mut losses = Losses::default();
        assert!(losses.expect(Source::Forecast, at(9)));
        assert!(!losses.expect(Source::Peer, at(10)));
        assert!(losses.expect(Source::Word, at(8)));
        assert_eq!((losses.soonest(), losses.own()), (at(8), at(8)));
        losses.come_back(Instant::from_secs(7));
        assert_eq!(losses.soonest(), at(8));
        losses.come_back(Instant::from_secs(8));
        assert_eq!((losses.soonest(), losses.own()), (at(9), at(9)));
        assert!(losses.expect(Source::Forecast, None));
        assert_eq!((losses.soonest(), losses.own()), (at(10), None));
    }

    #[test]
    fn a_rate_is_overruled_once_by_three_seconds_below_half_of_it() {
        let mbit = |n: u64| Some(DataRate::from_bits_per_second(n * 1_000_000));
        let mut rate = ToldRate::of(mbit(10));
        let mut used = |ms: u64, n| rate.use_rate(Instant::from_nanos(ms * 1_000_000), mbit(n));
        assert!(!used(0, 1) && !used(2900, 1) && !used(2950, 6));
        assert!(!used(3000, 4) && used(6000, 4) && !used(19_000, 4));
        assert!(!used(19_100, 10) && !used(19_200, 1) && used(22_300, 1));
        assert_eq!(rate.overruled(), 2);
        assert!(!rate.use_rate(Instant::from_secs(31), None));
    }

    /// A modem repeats that the link carries 100 Mbit/s or a little more or less, and it carries ten.
    #[test]
    fn a_modem_that_repeats_its_mistake_raises_the_rate_once_in_ten_seconds() {
        let mbit = |n: u64| Some(DataRate::from_bits_per_second(n * 1_000_000));
        let mut rate = ToldRate::of(None);
        let mut raises = Vec::new();
        for ms in 0..30_000 {
            let now = Instant::from_nanos(ms * 1_000_000);
            rate.tell(mbit(100 + ms / 100 % 3));
            // For two round trips after a raise the path does not know.
            let is_new = raises.last().is_some_and(|raise| ms < raise + 1200);
            let used = mbit(if is_new { 100 } else { 10 });
            if rate.poll(now, (used, Duration::from_millis(600))).is_some() {
                raises.push(ms);
            }
        }
        assert_eq!(raises, [0, 10_000, 20_000]);
    }

    #[test]
    fn a_link_that_slows_down_is_followed_at_once_and_one_that_speeds_up_each_second() {
        let mbit = |n: u64| Some(DataRate::from_bits_per_second(n * 1_000_000));
        let mut rate = ToldRate::of(None);
        let mut tell = |ms: u64, told, used| {
            rate.tell(mbit(told));
            let facts = (mbit(used), Duration::from_millis(20));
            rate.poll(Instant::from_nanos(ms * 1_000_000), facts)
        };
        assert_eq!(tell(0, 10, 1), Some(mbit(10)));
        assert_eq!(tell(10, 2, 10), Some(mbit(2)));
        assert_eq!(tell(20, 1, 2), Some(mbit(1)));
        assert_eq!(tell(30, 1, 1), None);
        assert_eq!(tell(40, 5, 1), None);
        assert_eq!(tell(1000, 5, 1), Some(mbit(5)));
        assert_eq!(tell(2000, 10, 5), Some(mbit(10)));
    }
}
