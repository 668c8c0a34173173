//! A congestion control supplied by the program that runs the stack.

use super::CongestionControl;
use core::fmt;
use std::sync::Arc;

/// Builds a controller from segment size, initial window and initial slow-start threshold, as [`super::new`]
/// takes them.
type Factory = dyn Fn(u32, u32, u32) -> Box<dyn CongestionControl> + Send + Sync;

/// A congestion control from outside this crate. Two are equal if they share a factory.
#[derive(Clone)]
pub struct External {
    name: Arc<str>,
    factory: Arc<Factory>,
}

impl External {
    /// Creates the control called `name`. `factory` may be called several times for one connection, as its segment size
    /// becomes known, and should return controllers that behave alike.
    pub fn new(
        name: &str,
        factory: impl Fn(u32, u32, u32) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> External {
        External {
            name: name.into(),
            factory: Arc::new(factory),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn build(
        &self,
        segment_size: u32,
        initial_window: u32,
        initial_slow_start_threshold: u32,
    ) -> Box<dyn CongestionControl> {
        (self.factory)(segment_size, initial_window, initial_slow_start_threshold)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::{self, reno::Reno};
    use crate::tcp::profile::{Algorithm, Profile};

    fn reno() -> External {
        External::new("mine", |segment_size, window, threshold| {
            Box::new(Reno::new(segment_size, window, threshold))
        })
    }

    #[test]
    fn the_factory_is_told_what_every_control_is_told() {
        let profile = Profile {
            congestion: Algorithm::External(reno()),
            initial_slow_start_threshold: Some(9000),
            ..Profile::rfc()
        };
        let control = congestion::new(&profile, 1000, 4000);
        assert_eq!(
            (control.window(), control.slow_start_threshold()),
            (4000, 9000)
        );
    }

    #[test]
    fn equal_is_what_shares_a_factory() {
        let one = reno();
        assert_eq!(one, one.clone());
        assert_ne!(one, reno());
        assert_eq!(format!("{one:?}"), "mine");
    }
}
