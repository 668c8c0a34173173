//! Interface for a link-selection policy outside this crate: link events in, answers out.

use crate::crosslayer::NetworkInformation;
use crate::interface::LinkEvent;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use core::fmt;
use std::sync::Arc;

/// Reason for a call of [`Decision::on_event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// An event of the link at this index among the candidates.
    Said(usize, LinkEvent),
    /// An event of a link elsewhere, by its place among those that the mobile subscribes to, and its data rate in a report of
    /// parameters.
    Remote(usize, LinkEvent, Option<DataRate>),
    /// The end of the delay that [`Answer::AskAgain`] set.
    Asked,
}

/// The mobile's view of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkView {
    /// True while the link can be used.
    pub up: bool,
    /// True if the link has announced that it will soon go down.
    pub going_down: bool,
    /// Received power in dBm, if known and strong enough to be measured.
    pub received_dbm: Option<f64>,
    /// Information about its network, by the information service.
    pub network: Option<NetworkInformation>,
}

/// The state of a mobile that a decision sees.
#[derive(Clone, Debug, PartialEq)]
pub struct MobileView {
    /// Current time.
    pub now: Instant,
    /// Index of the link in use; `None` at the start and while on no link.
    pub used: Option<usize>,
    /// Position in metres from the beginning of the mobile's line, if it moves on a line.
    pub position_m: Option<f64>,
    /// The candidate links.
    pub links: Vec<LinkView>,
}

/// Result of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Use this link from now on.
    Use {
        /// Index of the link.
        link: usize,
        /// True if the old link delivers its queue (soft handover). Otherwise it breaks first, and nothing passes for
        /// `outage`.
        soft: bool,
        /// Interruption of a hard handover.
        outage: Duration,
    },
    /// Change nothing, and ask again after this delay. A later answer replaces an earlier delay.
    AskAgain(Duration),
}

/// Response to a question: the answer, or a promise of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The answer.
    Now(Option<Answer>),
    /// The answer is delayed: the mobile's driver passes it in ([`Input::Answer`](super::Input::Answer)).
    Later,
}

/// A policy that decides which link a mobile uses.
pub trait Decision: fmt::Debug + Send {
    /// Returns the change to make, or `None`. At the start, every link that is up is reported as such; the first link
    /// in use is the last one named by an answer.
    fn on_event(&mut self, occasion: Occasion, mobile: &MobileView) -> Option<Answer>;

    /// Asks the same question without waiting: the answer may be delayed.
    fn ask(&mut self, occasion: Occasion, mobile: &MobileView) -> Response {
        Response::Now(self.on_event(occasion, mobile))
    }
}

/// A constructor of a mobile's decision from the names of the mobile, of its candidate links, and of the links elsewhere
/// whose events it gets.
type Factory = dyn Fn(&str, &[String], &[String]) -> Box<dyn Decision> + Send + Sync;

/// A named decision outside this crate. Two are equal if they share a factory.
#[derive(Clone)]
pub struct External {
    name: Arc<str>,
    factory: Arc<Factory>,
}

impl External {
    /// Creates the decision `name`; `factory` receives the names of the mobile, of its links, and of the links elsewhere, in
    /// the order of their indices.
    pub fn new(
        name: &str,
        factory: impl Fn(&str, &[String], &[String]) -> Box<dyn Decision> + Send + Sync + 'static,
    ) -> External {
        External {
            name: name.into(),
            factory: Arc::new(factory),
        }
    }

    /// Returns the decision's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Builds the decision of a mobile with these links, and these links elsewhere.
    pub fn build(&self, mobile: &str, links: &[String], remote: &[String]) -> Box<dyn Decision> {
        (self.factory)(mobile, links, remote)
    }
}

impl PartialEq for External {
    fn eq(&self, other: &External) -> bool {
        Arc::ptr_eq(&self.factory, &other.factory)
    }
}

impl Eq for External {}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
