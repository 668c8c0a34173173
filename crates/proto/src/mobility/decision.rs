//! A decision which link to use that whoever runs the stack brings along: told what links say, it answers.

use crate::interface::LinkEvent;
use crate::time::{Duration, Instant};
use core::fmt;
use std::sync::Arc;

/// Why a decision is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A link says something: which, by its place among those to choose from.
    Said(usize, LinkEvent),
    /// The time has come that [`Answer::AskAgain`] named.
    Asked,
}

/// A link as its mobile knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkView {
    /// It can be used.
    pub up: bool,
    /// It has said that it will soon be down.
    pub going_down: bool,
    /// Received power in dBm, where it is known and enough to be measured.
    pub received_dbm: Option<f64>,
}

/// What a mobile knows when it decides.
#[derive(Clone, Debug, PartialEq)]
pub struct MobileView {
    /// What time it is.
    pub now: Instant,
    /// The link in use, by its place; `None` at the start, and on none.
    pub used: Option<usize>,
    /// Where it is, in metres from its line's beginning, if it moves on a line.
    pub position_m: Option<f64>,
    /// The links to choose from.
    pub links: Vec<LinkView>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This link is used from now on.
    Use {
        /// Which, by its place.
        link: usize,
        /// Whether the old link goes on delivering what it holds; else it is broken first, and nothing passes for `outage`.
        soft: bool,
        /// How long nothing passes in a hard handover.
        outage: Duration,
    },
    /// Nothing yet: the decision is asked again so much later. Of several questions the last counts.
    AskAgain(Duration),
}

/// Decides which link a mobile uses.
pub trait Decision: fmt::Debug + Send {
    /// Says what is to be done, or `None` for nothing. At the start each link that is up says so, and the last link that
    /// an answer names is the first in use.
    fn on_event(&mut self, occasion: Occasion, mobile: &MobileView) -> Option<Answer>;
}

/// Makes the decision of one mobile, of the names of the links to choose from.
type Factory = dyn Fn(&[String]) -> Box<dyn Decision> + Send + Sync;

/// A decision from outside this crate. Two are equal if they share a factory.
#[derive(Clone)]
pub struct External {
    name: Arc<str>,
    factory: Arc<Factory>,
}

impl External {
    /// The decision called `name`; `factory` makes one of the links' names, in the order of their places.
    pub fn new(
        name: &str,
        factory: impl Fn(&[String]) -> Box<dyn Decision> + Send + Sync + 'static,
    ) -> External {
        External {
            name: name.into(),
            factory: Arc::new(factory),
        }
    }

    /// The decision of a mobile with these links.
    pub fn build(&self, links: &[String]) -> Box<dyn Decision> {
        (self.factory)(links)
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
