//! Kinds of links, each with its keys in a scenario, its defaults and their sources. To add a kind, write a file here,
//! or a type in one, and add a line to the list below.

pub mod geo;
pub mod gsm;
pub mod tdma;
pub mod today;
pub mod traced;
pub mod wifi;
pub mod wired;

use super::ad_hoc::scenario::RawAdHoc;
use super::cells::RawRadio;
use super::config::{
    Access, ChannelConfig, Damaged, DirectionConfig, Framing, LinkConfig, LinkKind, Medium,
    QueueConfig, QueueLimit, Shared, Start,
};
use super::demand::scenario::RawDemand;
use super::tdma::scenario::RawFrame;
use crate::link::queue::Management;
use crate::scenario::raw_reception::{RawCoverage, RawLineOfSight, RawShadowing};
use crate::scenario::tagged::{Kind, Tag};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use serde::Deserialize;
use traced::Traced;

/// Key that tells kinds apart.
pub(crate) const TAG: Tag = Tag {
    key: "kind",
    about: "Kind of link; it gives every other key its default.",
    default: None,
};

/// Makes [`RawKind`] of the list of kinds: variant, name, settings.
macro_rules! kinds {
    ($($kind:ident = $name:literal: $settings:path,)*) => {
        /// Kind of a link, with its own keys.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(tag = "kind")]
        pub enum RawKind {
            $(
                #[doc = concat!("The kind `", $name, "`.")]
                #[serde(rename = $name)]
                $kind($settings),
            )*
        }

        impl RawKind {
            /// Returns all kinds, as a scenario has them.
            pub(crate) fn kinds() -> Vec<Kind> {
                vec![$(Kind::of::<$settings>($name).sharing(<$settings>::shares),)*]
            }

            /// Returns the kind's own settings.
            pub(crate) fn settings(&self) -> &dyn Settings {
                match self {
                    $(RawKind::$kind(settings) => settings,)*
                }
            }
        }
    };
}

kinds! {
    Wired = "wired": wired::Wired,
    Geo = "geo": geo::Geo,
    Wifi = "wifi": wifi::Wifi,
    Gsm = "gsm": gsm::Gsm,
    Tdma = "tdma": tdma::Tdma,
    Wifi6 = "wifi6": today::Wifi6,
    Lte = "lte": today::Lte,
    FiveG = "5g": today::FiveG,
    Starlink = "starlink": today::Starlink,
    Trace = "trace": traced::Traced,
    AdHoc = "ad-hoc": RawAdHoc,
    Ldacs1 = "ldacs1": RawRadio,
}

/// Settings of a kind of link, as a scenario has them.
pub(crate) trait Settings {
    /// Returns true if this kind has this common key of links.
    fn shares(key: &str) -> bool
    where
        Self: Sized,
    {
        key != "recording"
    }

    /// Returns a link before the keys of all links are applied; `None` for a radio network, which is no link between
    /// two nodes.
    fn link(&self, name: &str) -> Option<LinkConfig>;

    /// Reports conflicting settings: the key and the message.
    fn check(&self, _wrong: &mut dyn FnMut(&str, String)) {}

    /// Returns the places in which a mobile receives the link.
    fn reception(&self) -> Option<RawReception<'_>> {
        None
    }

    /// Returns the moments without line of sight.
    fn shadowing(&self) -> Option<&RawShadowing> {
        None
    }

    /// Returns the settings of a return link on demand.
    fn demand(&self) -> Option<&RawDemand> {
        None
    }

    /// Returns the settings of a TDMA link's slots.
    fn frame(&self) -> Option<&RawFrame> {
        None
    }

    /// Returns the settings of a mobile ad hoc network.
    fn ad_hoc(&self) -> Option<&RawAdHoc> {
        None
    }

    /// Returns the settings of a link that recordings drive.
    fn recorded(&self) -> Option<&Traced> {
        None
    }

    /// Returns the settings of a radio network.
    fn radio(&self) -> Option<&RawRadio> {
        None
    }
}

/// Places in which a mobile receives a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawReception<'a> {
    /// In sight of the satellite.
    LineOfSight(&'a RawLineOfSight),
    /// Near access points.
    Coverage(&'a RawCoverage),
}

/// Returns a direction without impairments, framing or trace, with a drop-tail queue.
pub(super) fn plain(rate: DataRate, delay: Duration, queue: QueueLimit) -> DirectionConfig {
    DirectionConfig {
        rate,
        framing: Framing {
            bytes_per_packet: 0,
            bits_per_byte: 8,
        },
        delay,
        jitter: Duration::ZERO,
        queue: QueueConfig {
            limit: queue,
            management: Management::DropTail,
        },
        flow_control: None,
        retransmission: None,
        channel: ChannelConfig {
            packet_error_rate: 0.0,
            bit_error_rate: 0.0,
            burst: None,
            shadowing: None,
            coding: None,
            damaged: Damaged::Dropped,
            spares_headers: false,
        },
        trace: None,
        access: Access::Always,
    }
}

/// Returns a link that is the same both ways, with Ethernet's MTU of 1500 B.
pub(super) fn symmetric(name: &str, medium: Medium, direction: DirectionConfig) -> LinkConfig {
    let direction = Shared::from(direction);
    let kind = LinkKind {
        medium,
        up: direction.clone(),
        down: direction,
        regulators: Vec::new(),
        start: Start::At(Duration::ZERO),
        mtu: 1500,
    };
    LinkConfig::new(name, kind)
}
