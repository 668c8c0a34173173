//! L-DACS1 as it is written in a scenario.

mod defaults;
mod resolve;

use crate::link::config::LinkConfig;
use crate::link::kinds::Settings;
use crate::scenario::raw::Named;
use crate::scenario::raw_tracks::RawPosition;
use crate::scenario::units::{Distance, Frequency, Power, Rate};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use defaults::json_defaults;
pub(crate) use resolve::network;

/// L-DACS1: a network of cells for aircraft, which performs their handovers itself. Of the keys of links it has `mtu`,
/// and `queue` in bytes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawRadio {
    /// Its cells by name, at least one.
    pub cells: Named<RawCell>,
    /// Largest grant of one aircraft, in each direction. Default: what the others leave.
    pub user_rate: Option<Rate>,
    /// Type of a handover, by its preparer. 1: the aircraft, by random access; 2: the base stations.
    /// Default 1.
    #[schemars(range(min = 1, max = 2))]
    pub handover_type: Option<u32>,
    /// Announcement of a handover while packets wait for the aircraft; it comes when they are gone (the
    /// P-bit of study D's HO_COM). Default false.
    pub packet_bit: Option<bool>,
    /// Forwarding to the new base station of packets that wait in the old one, or come there during the
    /// handover. Default false: they are lost.
    pub base_station_buffering: Option<bool>,
    /// Modulation and coding of all aircraft, or "adaptive" by each one's signal. Default "qpsk-1/2".
    pub modulation: Option<RawModulation>,
    /// Source of frames' error rates. Default "fixed", with `error_table` "by-signal".
    pub errors: Option<RawErrors>,
    /// CSV file with frames' error rates by the received signal, for errors = "by-signal". Default: those of study D's
    /// one point, a factor of ten a decibel.
    pub error_table: Option<String>,
    /// Joint coding of an aircraft's tiles of one multiframe. Default false.
    pub joint_coding: Option<bool>,
    /// Standing grant of `user_rate` on the return link: an aircraft sends in every multiframe without a request, as on
    /// a channel of its own. Default false.
    pub standing_grant: Option<bool>,
    /// Delivery of data at the end of its multiframe's data slot, as by a receiver that decodes a slot at a time; false:
    /// with its own last frame. Default true.
    pub slot_delivery: Option<bool>,
    /// Frames of the common control channel in a multiframe, at least. Default 3.
    #[schemars(range(min = 1, max = 8))]
    pub common_control_frames: Option<u32>,
}

/// A cell of a radio network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawCell {
    /// The node at its base station: an access router, which links join to others. A new node if the scenario has no
    /// other links.
    pub node: String,
    /// Position of its antenna.
    pub position: RawPosition,
    /// Radius in which aircraft may register. Default "225 km".
    pub radius: Option<Distance>,
    /// Signal below which aircraft look for other cells (Th1). Default: the power received at three quarters of the
    /// radius.
    pub scan_below: Option<Power>,
    /// Signal below which a handover no longer waits for packets (Th2). Default: the power received at the radius.
    pub force_below: Option<Power>,
    /// Largest grant of one aircraft here, in each direction. Default: as the network.
    pub user_rate: Option<Rate>,
    /// Centre of the forward link. Default "993.5 MHz".
    pub forward_frequency: Option<Frequency>,
    /// Centre of the return link. Default "1056.5 MHz".
    pub return_frequency: Option<Frequency>,
}

/// Modulation and rate of the convolutional code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum RawModulation {
    /// The fastest that the aircraft's last power report allows.
    #[serde(rename = "adaptive")]
    Adaptive,
    /// The most robust: 291 kbit/s a cell.
    #[serde(rename = "qpsk-1/2")]
    QpskHalf,
    /// 384 kbit/s.
    #[serde(rename = "qpsk-2/3")]
    QpskTwoThirds,
    /// 432 kbit/s.
    #[serde(rename = "qpsk-3/4")]
    QpskThreeQuarters,
    /// 582 kbit/s.
    #[serde(rename = "16qam-1/2")]
    Qam16Half,
    /// 774 kbit/s.
    #[serde(rename = "16qam-2/3")]
    Qam16TwoThirds,
    /// 870 kbit/s.
    #[serde(rename = "64qam-1/2")]
    Qam64Half,
    /// 1171 kbit/s.
    #[serde(rename = "64qam-2/3")]
    Qam64TwoThirds,
    /// The fastest: 1318 kbit/s.
    #[serde(rename = "64qam-3/4")]
    Qam64ThreeQuarters,
}

/// Source of frames' error rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawErrors {
    /// Study D's two error rates, wherever the aircraft is.
    Fixed,
    /// Error rates by the received signal.
    BySignal,
    /// Error rates by the received signal, as this project's own physical layer has them in study D's channel.
    Computed,
    /// No errors.
    None,
}

impl Settings for RawRadio {
    fn shares(key: &str) -> bool {
        ["mtu", "queue"].contains(&key)
    }

    fn link(&self, _: &str) -> Option<LinkConfig> {
        None
    }

    fn radio(&self) -> Option<&RawRadio> {
        Some(self)
    }
}
