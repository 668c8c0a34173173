//! Predictive binding updates (study D, section 4, table 3): the mobile has a table of the routers of its next links,
//! and registers its care-of address there ahead of a move. A home agent that
//! [bicasts](crate::mobility::mobile_ipv6::Strategy::Bicast) then sends to both. On the new link no update is needed. A
//! mobile whose announcement is not answered registers its present place again.

use super::{MobileEvent, MobileNode};
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::Attachment;
use crate::time::Instant;
use crate::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;

impl MobileNode {
    /// Enters the router of an interface's next link into the table, by its prefix, so that a move there is announced
    /// to the home agent. In a radio network the next link is the next cell.
    pub fn know_router(&mut self, interface: InterfaceId, prefix: Ipv6Prefix) {
        let known = self.extras.known_routers_or_new();
        known.insert(interface, prefix);
    }

    /// Registers the care-of address of an interface's next link ahead of a move. Returns false if that is not possible:
    /// the table lacks the link, the mobile is there or goes home, where it deregisters, or the home agent does not know
    /// its present place.
    pub(super) fn announce(&mut self, now: Instant, interface: InterfaceId) -> bool {
        let known = self.extras.known_routers();
        let Some(&prefix) = known.and_then(|known| known.get(&interface)) else {
            return false;
        };
        let identifier = Ipv6Addr::from_bits(self.settings.interface_identifier.into());
        let next = prefix.address_of(identifier);
        let is_repeated = self.home.announced() == Some(next);
        let is_possible = match self.attachment() {
            Attachment::None => false,
            Attachment::Home => self.home.is_deleted() || is_repeated,
            Attachment::Away(here) => {
                here != next && (self.home.accepted(now) == Some(here) || is_repeated)
            }
        };
        let leads_home = self.settings.fleet.configuration.home_prefix == Some(prefix);
        if !is_possible || leads_home {
            return false;
        }
        self.announce_next(now, next);
        true
    }

    /// Announces a move that is being prepared, and reports at once if that is not possible.
    pub(super) fn prepare_announcement(&mut self, now: Instant, to: InterfaceId) {
        if self.extras.known_routers().is_some() && !self.announce(now, to) {
            self.events.push_back(MobileEvent::Announced(false));
        }
    }

    /// Reports a pending announcement that has failed, or that a change of attachment has overtaken.
    pub(super) fn end_announcement(&mut self) {
        if self.home.is_announcing() {
            self.events.push_back(MobileEvent::Announced(false));
        }
    }
}
