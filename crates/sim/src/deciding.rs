//! Decisions of classes in Python in a live run: questions of the emulator, and replies of the process with the
//! classes. Each is a JSON object on a line.

use baton_proto::crosslayer::NetworkInformation;
use baton_proto::interface::LinkEvent;
use baton_proto::mobility::attachment::decision::{self, Answer, MobileView, Occasion};
use baton_proto::rate::DataRate;
use baton_proto::time::{Duration, Instant};
use core::net::Ipv6Addr;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Events passed to a decision, except the report of a link's parameters, whose name another report shares.
const EVENTS: [LinkEvent; 10] = [
    LinkEvent::Detected,
    LinkEvent::Up,
    LinkEvent::ParametersReport,
    LinkEvent::GoingDown,
    LinkEvent::CellGoingDown,
    LinkEvent::Rollback,
    LinkEvent::Down,
    LinkEvent::HandoverImminent,
    LinkEvent::HandoverComplete,
    LinkEvent::QueueDrained,
];

/// A question to the decision of a mobile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The mobile's name.
    pub mobile: String,
    /// Event of a link by the standard's name, and the link's place; none if the decision asked to be called again.
    event: Option<(String, usize)>,
    /// True if the event is one of a link elsewhere.
    #[serde(default)]
    remote: bool,
    /// That link's data rate, in a report of parameters.
    #[serde(default)]
    rate_bps: Option<u64>,
    now_ns: u64,
    used: Option<usize>,
    position_m: Option<f64>,
    links: Vec<LinkView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LinkView {
    up: bool,
    going_down: bool,
    received_dbm: Option<f64>,
    #[serde(default)]
    network: Option<Network>,
}

/// Information about a link's network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Network {
    rate_bps: u64,
    channel_khz: Option<[u32; 2]>,
    router: Ipv6Addr,
}

impl From<NetworkInformation> for Network {
    fn from(network: NetworkInformation) -> Network {
        Network {
            rate_bps: network.rate.bits_per_second(),
            channel_khz: network.channel_khz,
            router: network.router,
        }
    }
}

impl From<Network> for NetworkInformation {
    fn from(network: Network) -> NetworkInformation {
        NetworkInformation {
            rate: DataRate::from_bits_per_second(network.rate_bps),
            channel_khz: network.channel_khz,
            router: network.router,
        }
    }
}

impl Question {
    /// Creates the question of a mobile.
    pub fn new(mobile: &str, occasion: Occasion, view: &MobileView) -> Question {
        let event = match occasion {
            Occasion::Said(place, event) | Occasion::Remote(place, event, _) => {
                Some((event.name().to_owned(), place))
            }
            Occasion::Asked => None,
        };
        let rate = match occasion {
            Occasion::Remote(_, _, rate) => rate,
            _ => None,
        };
        let links = view.links.iter().map(|link| LinkView {
            up: link.up,
            going_down: link.going_down,
            received_dbm: link.received_dbm,
            network: link.network.map(Network::from),
        });
        Question {
            mobile: mobile.to_owned(),
            event,
            remote: matches!(occasion, Occasion::Remote(..)),
            rate_bps: rate.map(DataRate::bits_per_second),
            now_ns: view.now.as_nanos(),
            used: view.used,
            position_m: view.position_m,
            links: links.collect(),
        }
    }

    /// Returns the occasion and the view for a decision; none if no link has such an event.
    pub fn put(&self) -> Option<(Occasion, MobileView)> {
        let occasion = match &self.event {
            Some((name, place)) => {
                let mut events = EVENTS.into_iter();
                let event = events.find(|event| event.name() == name)?;
                let rate = self.rate_bps.map(DataRate::from_bits_per_second);
                match self.remote {
                    true => Occasion::Remote(*place, event, rate),
                    false => Occasion::Said(*place, event),
                }
            }
            None => Occasion::Asked,
        };
        let links = self.links.iter().map(|link| decision::LinkView {
            up: link.up,
            going_down: link.going_down,
            received_dbm: link.received_dbm,
            network: link.network.map(NetworkInformation::from),
        });
        let view = MobileView {
            now: Instant::from_nanos(self.now_ns),
            used: self.used,
            position_m: self.position_m,
            links: links.collect(),
        };
        Some((occasion, view))
    }
}

/// The reply to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The mobile's name.
    pub mobile: String,
    /// The decision.
    pub decided: Decided,
}

/// A decision, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    /// No change.
    Nothing,
    /// [`Answer::Use`].
    Use {
        /// The link's place.
        link: usize,
        /// True for a soft handover.
        soft: bool,
        /// Outage of a hard one.
        outage_ns: u64,
    },
    /// [`Answer::AskAgain`].
    AskAgain {
        /// The delay.
        after_ns: u64,
    },
    /// Failure of the class.
    Failed {
        /// Reason, in a sentence after the class's name.
        why: String,
    },
}

impl From<Option<Answer>> for Decided {
    fn from(answer: Option<Answer>) -> Decided {
        match answer {
            None => Decided::Nothing,
            Some(Answer::Use { link, soft, outage }) => Decided::Use {
                link,
                soft,
                outage_ns: outage.as_nanos(),
            },
            Some(Answer::AskAgain(after)) => Decided::AskAgain {
                after_ns: after.as_nanos(),
            },
        }
    }
}

impl Decided {
    /// Returns the answer.
    ///
    /// # Errors
    /// Fails with the reason that the class has no decision.
    pub fn answer(self) -> Result<Option<Answer>, String> {
        match self {
            Decided::Nothing => Ok(None),
            Decided::Use {
                link,
                soft,
                outage_ns,
            } => Ok(Some(Answer::Use {
                link,
                soft,
                outage: Duration::from_nanos(outage_ns),
            })),
            Decided::AskAgain { after_ns } => {
                Ok(Some(Answer::AskAgain(Duration::from_nanos(after_ns))))
            }
            Decided::Failed { why } => Err(why),
        }
    }
}

/// Encodes a message, with the end of its line.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    // Serialization of a message cannot fail: its keys are texts.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Decodes a line.
///
/// # Errors
/// Fails with the fault in the line.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values that a class sees pass the pipe unchanged, to the last bit.
    #[test]
    fn a_question_comes_through_as_it_was() {
        let view = MobileView {
            now: Instant::from_nanos(u64::MAX),
            used: Some(1),
            position_m: Some(0.1 + 0.2),
            links: [Some(-70.1 / 3.0), None, Some(5e-324)]
                .map(|received_dbm| decision::LinkView {
                    up: received_dbm.is_some(),
                    going_down: received_dbm.is_none(),
                    received_dbm,
                    network: received_dbm.map(|_| NetworkInformation {
                        rate: DataRate::from_bits_per_second(u64::MAX),
                        channel_khz: Some([1, u32::MAX]),
                        router: Ipv6Addr::LOCALHOST,
                    }),
                })
                .to_vec(),
        };
        let heard = EVENTS.map(|event| Occasion::Said(2, event));
        let rate = DataRate::from_bits_per_second(7000);
        let others = [
            Occasion::Asked,
            Occasion::Remote(1, LinkEvent::ParametersReport, Some(rate)),
            Occasion::Remote(0, LinkEvent::Down, None),
        ];
        for occasion in heard.into_iter().chain(others) {
            let line = encode(&Question::new("laptop", occasion, &view));
            let question: Question = decode(&line).expect("a question");
            let (put, seen) = question.put().expect("an event");
            assert_eq!(seen, view);
            match (put, occasion) {
                (Occasion::Said(2, put), Occasion::Said(_, event)) => {
                    assert_eq!(put.name(), event.name());
                }
                (put, occasion) => assert_eq!(put, occasion),
            }
        }
    }

    #[test]
    fn a_reply_comes_through_as_it_was() {
        let hard = Answer::Use {
            link: 3,
            soft: false,
            outage: Duration::from_nanos(1),
        };
        let again = Answer::AskAgain(Duration::from_secs(9));
        for answer in [None, Some(hard), Some(again)] {
            let reply = Reply {
                mobile: "laptop".to_owned(),
                decided: answer.into(),
            };
            let read: Reply = decode(&encode(&reply)).expect("a reply");
            assert_eq!(read.decided.answer(), Ok(answer));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for line in [
            &b""[..],
            b"{}",
            b"\xff",
            br#"{"mobile":"a","decided":"use"}"#,
        ] {
            assert!(decode::<Reply>(line).is_err());
            assert!(decode::<Question>(line).is_err());
        }
    }
}
