//! A remedy supplied by the program that runs the stack.

use crate::crosslayer::Remedy;
use core::fmt;
use std::sync::Arc;

/// The end of a connection at which an external remedy is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The mobile.
    Mobile,
    /// The end that stays.
    Correspondent,
}

/// Builds a remedy for one end of a connection; the flag is true if that end sends the data.
type Factory = dyn Fn(bool) -> Box<dyn Remedy> + Send + Sync;

/// A remedy from outside this crate. Two are equal if they share a factory.
#[derive(Clone)]
pub struct External {
    name: Arc<str>,
    side: Side,
    factory: Arc<Factory>,
}

impl External {
    /// Creates the remedy called `name`, installed at one side alone; `factory` gives one for each connection.
    pub fn new(
        name: &str,
        side: Side,
        factory: impl Fn(bool) -> Box<dyn Remedy> + Send + Sync + 'static,
    ) -> External {
        External {
            name: name.into(),
            side,
            factory: Arc::new(factory),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the side on which it is installed.
    pub fn side(&self) -> Side {
        self.side
    }

    pub(super) fn part(&self, side: Side, sends: bool) -> Option<Box<dyn Remedy>> {
        (side == self.side).then(|| (self.factory)(sends))
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
