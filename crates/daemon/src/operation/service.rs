//! News for a service manager: ready, alive, stopping (sd_notify(3)).

use sd_notify::{NotifyState, notify, watchdog_enabled};
use std::time::{Duration, Instant};

/// A service manager, or none.
#[derive(Debug)]
pub struct ServiceManager {
    /// The time between two signs of life, if it wants them.
    interval: Option<Duration>,
    next: Instant,
}

impl ServiceManager {
    /// Finds the service manager in the environment.
    pub fn find() -> ServiceManager {
        ServiceManager {
            // Twice as often as it is wanted (sd_watchdog_enabled(3)).
            interval: watchdog_enabled().map(|wanted| wanted / 2),
            next: Instant::now(),
        }
    }

    /// Tells that the daemon is at work.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// Tells that the configuration is being read anew; [`ready`](Self::ready) is to follow.
    pub fn reloading(&self) {
        if let Ok(since) = NotifyState::monotonic_usec_now() {
            tell(&[NotifyState::Reloading, since]);
        }
    }

    /// Tells that the daemon ends.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// Gives a sign of life, if it is time; returns the time until the next.
    pub fn live(&mut self) -> Option<Duration> {
        let interval = self.interval?;
        let now = Instant::now();
        if now >= self.next {
            tell(&[NotifyState::Watchdog]);
            self.next = now + interval;
        }
        Some(self.next - now)
    }
}

/// Tells a state. Where nobody listens, nobody is told.
fn tell(state: &[NotifyState<'_>]) {
    let _ = notify(state);
}
