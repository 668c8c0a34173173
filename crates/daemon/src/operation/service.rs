//! Notifications to a service manager: ready, alive, stopping (sd_notify(3)).

use sd_notify::{NotifyState, notify, watchdog_enabled};
use std::time::{Duration, Instant};

/// The service manager, if there is one.
#[derive(Debug)]
pub struct ServiceManager {
    /// Interval of watchdog notifications, if requested.
    interval: Option<Duration>,
    next: Instant,
}

impl ServiceManager {
    /// Finds the service manager in the environment.
    pub fn find() -> ServiceManager {
        ServiceManager {
            // Twice as often as requested (sd_watchdog_enabled(3)).
            interval: watchdog_enabled().map(|wanted| wanted / 2),
            next: Instant::now(),
        }
    }

    /// Notifies that the daemon is ready.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready]);
    }

    /// Notifies that the configuration is being reloaded; follow with [`ready`](Self::ready).
    pub fn reloading(&self) {
        if let Ok(since) = NotifyState::monotonic_usec_now() {
            tell(&[NotifyState::Reloading, since]);
        }
    }

    /// Notifies that the daemon is stopping.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }

    /// Notifies the watchdog, if it is time; returns the time to the next notification.
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

/// Sends a notification. Without a listener it has no effect.
fn tell(state: &[NotifyState<'_>]) {
    let _ = notify(state);
}
