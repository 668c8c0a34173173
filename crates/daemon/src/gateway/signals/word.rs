//! Words of modems and operators over the control socket, in JSON.

use super::{LinkSignal, Source};
use crate::config::{Rate, Time};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::fmt;
use serde::{Deserialize, Serialize};

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

/// The link's part of a sentence, as an infinitive.
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
}
