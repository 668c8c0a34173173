//! Signals about a gateway's link: words of a modem or an operator over the control socket, forecasts, and the other
//! gateway's expectation.

mod told;
mod word;

pub use told::ToldRate;
pub use word::{LinkTable, LinkWord, Said};

use baton_proto::rate::DataRate;
use baton_proto::time::Instant;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
