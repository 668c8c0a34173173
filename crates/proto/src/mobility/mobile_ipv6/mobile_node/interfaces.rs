//! A mobile's interfaces. Each is made when its link is first spoken of: of links to many cells a mobile uses one at a time.

use crate::interface::InterfaceId;
use crate::mobility::address_configuration::{AddressConfiguration, ConfigurationSettings};
use crate::mobility::draws::Draws;

/// The interfaces of a mobile, all down at first.
#[derive(Clone, Debug)]
pub(super) struct Interfaces {
    settings: ConfigurationSettings,
    all: Vec<Interface>,
}

#[derive(Clone, Debug)]
struct Interface {
    /// Of its random delays.
    secret: [u8; 16],
    /// `None`: it is down and knows nothing.
    made: Option<Box<AddressConfiguration>>,
}

impl Interfaces {
    /// So many interfaces, whose secrets are drawn.
    pub fn new(settings: ConfigurationSettings, count: usize, draws: &mut Draws) -> Interfaces {
        let all = (0..count).map(|_| {
            let secret = [draws.bits(), draws.bits()].map(u64::to_be_bytes);
            Interface {
                secret: core::array::from_fn(|place| secret[place / 8][place % 8]),
                made: None,
            }
        });
        Interfaces {
            settings,
            all: all.collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// An interface whose link was spoken of.
    pub fn get(&self, place: InterfaceId) -> Option<&AddressConfiguration> {
        self.all.get(place.0)?.made.as_deref()
    }

    /// An interface whose link is spoken of.
    pub fn get_mut(&mut self, place: InterfaceId) -> Option<&mut AddressConfiguration> {
        let interface = self.all.get_mut(place.0)?;
        let draws = Draws::new(interface.secret);
        let new = || Box::new(AddressConfiguration::new(self.settings, draws));
        Some(interface.made.get_or_insert_with(new))
    }

    /// Those whose links were spoken of, with their places.
    pub fn iter(&self) -> impl Iterator<Item = (InterfaceId, &AddressConfiguration)> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(place, interface)| Some((InterfaceId(place), interface.made.as_deref()?)))
    }

    /// The same, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (InterfaceId, &mut AddressConfiguration)> {
        let all = self.all.iter_mut().enumerate();
        all.filter_map(|(place, interface)| {
            Some((InterfaceId(place), interface.made.as_deref_mut()?))
        })
    }

    /// The place of the first that is so.
    pub fn position(&self, is_so: impl Fn(&AddressConfiguration) -> bool) -> Option<InterfaceId> {
        let mut all = self.iter();
        all.find_map(|(place, interface)| is_so(interface).then_some(place))
    }
}
