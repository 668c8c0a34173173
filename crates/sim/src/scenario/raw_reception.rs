//! Lines with tunnels, and reception of links along them, as written.

use super::units::{Distance, Frequency, PositiveTime, Power, Time};
use schemars::JsonSchema;
use serde::Deserialize;

/// A line, such as a railway's: positions on it are measured from its beginning.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawLine {
    /// Tunnels, in which no satellite is in sight. Default: none.
    #[serde(default)]
    pub tunnels: Vec<RawTunnel>,
}

/// A tunnel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawTunnel {
    /// Beginning of the tunnel.
    pub from: Distance,
    /// End of the tunnel, which is farther from the line's beginning.
    pub to: Distance,
    /// Distance before `from` within which the tunnel already hides the satellite (`baton plan coverage` computes
    /// it). Default "0 m".
    pub shadow_before: Option<Distance>,
    /// Distance behind `to` within which the tunnel still hides the satellite. Default "0 m".
    pub shadow_behind: Option<Distance>,
    /// Gap fillers, which repeat the satellite inside the tunnel: distance from its ends up to which they are received
    /// outside. Default: none.
    pub gap_filler_reach: Option<Distance>,
}

/// A satellite link that needs line of sight: it is down where a tunnel hides it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawLineOfSight {
    /// Time from line of sight until the antenna points to the satellite. Default "500 ms".
    pub repointing: Option<Time>,
    /// Time from the end of pointing until the link is up. Default "50 ms".
    pub synchronisation: Option<Time>,
    /// Time before a tunnel hides the satellite at which the link reports that it is going down, since tunnels are
    /// known; zero: no report. Default "0 s".
    pub announced: Option<Time>,
    /// Antennas along the train, the first one at its head. The link is received while any has line of sight, and
    /// `shadowing` meets one after the other. Default: one.
    pub antennas: Option<RawAntennas>,
}

/// Antennas in a row, any of which suffices.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawAntennas {
    /// Their number.
    #[schemars(range(min = 2, max = 16))]
    pub count: u32,
    /// Distance between neighbours.
    pub spacing: Distance,
}

/// Times without line of sight, of exponentially distributed lengths.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawShadowing {
    /// Mean time between shadows.
    pub mean_clear: PositiveTime,
    /// Mean time in a shadow.
    pub mean_shadow: PositiveTime,
}

/// Access points along the line; the link is up within their range.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawCoverage {
    /// Position of the first access point.
    pub from: Distance,
    /// Position of the last access point. Default: there is only one.
    pub to: Option<Distance>,
    /// Largest distance between neighbouring access points, which are evenly spaced; `to` needs it. Default: none.
    pub spacing: Option<Distance>,
    /// Transmit power of an access point. Default "20 dBm".
    pub transmit_power: Option<Power>,
    /// Received power below which nothing is received. Default "-80 dBm".
    pub threshold: Option<Power>,
    /// Margin above the threshold, in dB; below it the link reports that it is going down. Default 3.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub margin_db: Option<f64>,
    /// Frequency of the channel. Default "2.4 GHz".
    pub frequency: Option<Frequency>,
    /// Height of the access points' antennas above the ground. Default "1.5 m".
    pub access_point_height: Option<Distance>,
    /// Height of the mobile's antenna above the ground. Default "1.5 m".
    pub mobile_height: Option<Distance>,
    /// Time from the first signal until the link is up. Default "50 ms".
    pub synchronisation: Option<Time>,
}
