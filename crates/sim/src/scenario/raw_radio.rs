//! Radio networks and tracks, as written.

use super::raw::Named;
use super::units::{Distance, Frequency, Power, Rate, Speed, Time};
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// What only a radio network has (kind = "ldacs1").
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawRadio {
    /// ldacs1 only, which needs at least one: its cells by name. Default: none.
    pub cells: Option<Named<RawCell>>,
    /// ldacs1 only: the most that one aircraft is granted in each direction. Default: what the others leave.
    pub user_rate: Option<Rate>,
    /// ldacs1 only: who prepares a handover. 1: the aircraft, by random access; 2: the base stations. Default 1.
    #[schemars(range(min = 1, max = 2))]
    pub handover_type: Option<u32>,
    /// ldacs1 only: whether a handover is announced while packets wait for the aircraft, and comes when they are gone
    /// (the P-bit of study D's HO_COM). Default false.
    pub packet_bit: Option<bool>,
    /// ldacs1 only: whether what waits in the old base station, or comes there during the handover, follows to the new
    /// one. Default false: it is lost.
    pub base_station_buffering: Option<bool>,
    /// ldacs1 only: modulation and coding of all aircraft, or "adaptive" by each one's signal. Default "qpsk-1/2".
    pub modulation: Option<RawModulation>,
    /// ldacs1 only: how frames are lost. Default "fixed".
    pub errors: Option<RawErrors>,
    /// ldacs1 only: whether an aircraft's tiles of one multiframe are coded together. Default false.
    pub joint_coding: Option<bool>,
    /// ldacs1 only: frames of the common control channel in a multiframe, at least. Default 3.
    #[schemars(range(min = 1, max = 8))]
    pub common_control_frames: Option<u32>,
}

/// A cell of a radio network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawCell {
    /// The node at its base station: an access router, which links join to others. A new node if the scenario has no
    /// other links.
    pub node: String,
    /// Where its antenna is.
    pub position: RawPosition,
    /// How far away aircraft may register. Default "225 km".
    pub radius: Option<Distance>,
    /// Aircraft that receive less look for other cells (Th1). Default: what is received at three quarters of the radius.
    pub scan_below: Option<Power>,
    /// A handover that waits for packets waits no longer (Th2). Default: what is received at the radius.
    pub force_below: Option<Power>,
    /// The most that one aircraft is granted here in each direction. Default: as the network.
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

/// How frames are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawErrors {
    /// Study D's two error rates, wherever the aircraft is.
    Fixed,
    /// By the signal that is received.
    BySignal,
    /// None.
    None,
}

/// A point on or above the earth.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawPosition {
    /// Degrees, north positive.
    #[schemars(range(min = -90.0, max = 90.0))]
    pub latitude: f64,
    /// Degrees, east positive.
    #[schemars(range(min = -180.0, max = 180.0))]
    pub longitude: f64,
    /// Height. Default "0 m".
    pub altitude: Option<Distance>,
}

/// Where a mobile is: `position`, `legs`, `timetable` or `file` for radio networks, or `along` a line (exactly one of them).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawTrack {
    /// It stands here. Default: it moves.
    pub position: Option<RawPosition>,
    /// It goes straight from point to point at `speed`. Default: none.
    pub legs: Option<Vec<RawPosition>>,
    /// It runs along this one of `lines`, at `speed`. Default: none.
    pub along: Option<String>,
    /// Where on the line it begins. Default "0 m".
    pub from: Option<Distance>,
    /// Where on the line it ends. Default: it runs on.
    pub to: Option<Distance>,
    /// Speed over the ground on `legs` or `along` a line, which need it. Default: none.
    pub speed: Option<Speed>,
    /// It jumps from place to place. Default: none.
    pub timetable: Option<Vec<RawPlace>>,
    /// A recorded track: CSV with the columns time (in seconds), latitude, longitude and altitude (in metres). Default:
    /// none.
    pub file: Option<String>,
    /// When it is at the first point; times of a timetable and of a file count from then. Before, it stands there.
    /// Default "0 s".
    pub begin: Option<Time>,
    /// Added to `begin`: drawn from the seed, uniform from zero up to this. Default "0 s".
    pub begin_jitter: Option<Time>,
    /// With a count: each of the mobiles is so far ahead of the one before, as if it had begun so much earlier. Default "0 s".
    pub spacing: Option<Time>,
    /// How far ahead this one is of the first.
    #[serde(skip)]
    #[schemars(skip)]
    pub ahead: Duration,
}

/// An entry of a track's timetable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawPlace {
    /// From when on it is there.
    pub at: Time,
    /// Where.
    #[serde(flatten)]
    pub position: RawPosition,
}
