//! A mobile's interfaces. Each is created at its first link event: a mobile with links to many cells uses one at a
//! time.

use super::MobileSettings;
use crate::interface::InterfaceId;
use crate::mobility::address_configuration::AddressConfiguration;
use crate::mobility::draws::Draws;
use std::sync::Arc;

/// The interfaces of a mobile, initially down.
#[derive(Clone, Debug)]
pub(super) struct Interfaces(Box<[Interface]>);

#[derive(Clone, Debug)]
struct Interface {
    /// Secret behind the random delays.
    secret: [u8; 16],
    /// Address configuration; `None` before the first link event.
    made: Option<Box<AddressConfiguration>>,
}

impl Interfaces {
    /// Creates `count` interfaces, with secrets from `draws`.
    pub fn new(count: usize, draws: &mut Draws) -> Interfaces {
        let all = (0..count).map(|_| {
            let secret = [draws.bits(), draws.bits()].map(u64::to_be_bytes);
            Interface {
                secret: core::array::from_fn(|place| secret[place / 8][place % 8]),
                made: None,
            }
        });
        Interfaces(all.collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns an interface, if created.
    pub fn get(&self, place: InterfaceId) -> Option<&AddressConfiguration> {
        self.0.get(place.0)?.made.as_deref()
    }

    /// Returns an interface, and creates it if necessary.
    pub fn get_mut(
        &mut self,
        place: InterfaceId,
        settings: &MobileSettings,
    ) -> Option<&mut AddressConfiguration> {
        let interface = self.0.get_mut(place.0)?;
        let draws = Draws::new(interface.secret);
        let new = || {
            let shared = Arc::clone(&settings.fleet.configuration);
            let identifier = settings.interface_identifier;
            Box::new(AddressConfiguration::new(identifier, shared, draws))
        };
        Some(interface.made.get_or_insert_with(new))
    }

    /// Iterates over the created interfaces.
    pub fn iter(&self) -> impl Iterator<Item = (InterfaceId, &AddressConfiguration)> {
        let all = self.0.iter().enumerate();
        all.filter_map(|(place, interface)| Some((InterfaceId(place), interface.made.as_deref()?)))
    }

    /// Iterates over the created interfaces, mutably.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (InterfaceId, &mut AddressConfiguration)> {
        let all = self.0.iter_mut().enumerate();
        all.filter_map(|(place, interface)| {
            Some((InterfaceId(place), interface.made.as_deref_mut()?))
        })
    }

    /// Returns the first created interface that satisfies the predicate.
    pub fn position(&self, is_so: impl Fn(&AddressConfiguration) -> bool) -> Option<InterfaceId> {
        let mut all = self.iter();
        all.find_map(|(place, interface)| is_so(interface).then_some(place))
    }
}
