//! A home network prefix that the home agent assigns, and the home address in it (study D, section 3.2). Without one the
//! mobile registers nothing.

use super::{MobileEvent, MobileNode};
use crate::mobility::mobile_ipv6::prefix_assignment::{Parties, PrefixEvent};
use crate::time::Instant;
use crate::wire::mobility_header::BindingStatus;
use core::net::Ipv6Addr;

impl MobileNode {
    /// Returns true if there is a home address to register.
    pub(super) fn has_home_address(&self) -> bool {
        !self.settings.home_address.is_unspecified()
    }

    fn parties(&self) -> Parties {
        Parties {
            home_agent: self.settings.fleet.home_agent,
            mobile: self.settings.interface_identifier,
            key: self.settings.key.map_or([0; 20], |shared| shared.key),
        }
    }

    /// Asks for a prefix from the place in use, if there is none.
    pub(super) fn follow_prefix(&mut self, now: Instant) {
        let place = self.interface().zip(self.care_of());
        let parties = self.parties();
        if let Some(prefix) = self.extras.prefix_mut() {
            prefix.follow(now, place, &parties, &mut self.draws);
        }
    }

    /// Takes in a message of the home agent.
    pub(super) fn handle_prefix_answer(&mut self, now: Instant, bytes: &[u8]) {
        let parties = self.parties();
        if let Some(prefix) = self.extras.prefix_mut()
            && !prefix.handle_answer(now, bytes, &parties)
        {
            self.counts_mut().unexpected += 1;
        }
        self.take_prefix_events(now);
    }

    /// Retransmits and renews.
    pub(super) fn step_prefix(&mut self, now: Instant) {
        let parties = self.parties();
        if let Some(prefix) = self.extras.prefix_mut()
            && prefix.poll_timeout().is_some_and(|at| at <= now)
        {
            prefix.handle_timeout(now, &parties, &mut self.draws);
            self.take_prefix_events(now);
        }
    }

    /// Asks whether the prefix is still assigned, after a binding that the home agent has not renewed.
    pub(super) fn confirm_prefix(&mut self, now: Instant) {
        let parties = self.parties();
        if let Some(prefix) = self.extras.prefix_mut() {
            prefix.confirm(now, &parties, &mut self.draws);
        }
    }

    /// Asks for a prefix again if the home agent does not know the home address in the present one, after a restart. An
    /// agent that signs cannot say so, since it does not know the key either.
    pub(super) fn doubt_prefix(&mut self, now: Instant, status: BindingStatus) {
        let is_unknown = [
            BindingStatus::NOT_HOME_AGENT,
            BindingStatus::NOT_HOME_SUBNET,
        ]
        .contains(&status);
        let parties = self.parties();
        if let Some(prefix) = self.extras.prefix_mut().filter(|_| is_unknown) {
            prefix.restart(now, &parties, &mut self.draws);
            self.take_prefix_events(now);
        }
    }

    /// Follows the prefix: forms and registers the home address in a new one.
    fn take_prefix_events(&mut self, now: Instant) {
        while let Some(event) = self.extras.prefix_mut().and_then(|one| one.poll_event()) {
            self.events.push_back(MobileEvent::HomePrefix(event));
            let home_address = match event {
                PrefixEvent::Assigned(prefix) => {
                    let identifier = u128::from(self.settings.interface_identifier);
                    prefix.address_of(Ipv6Addr::from_bits(identifier))
                }
                PrefixEvent::Lost(_) => Ipv6Addr::UNSPECIFIED,
                PrefixEvent::NoneLeft | PrefixEvent::Unanswered => continue,
            };
            self.settings.home_address = home_address;
            self.home.clear();
            self.former = None;
            self.register(now);
        }
    }
}
