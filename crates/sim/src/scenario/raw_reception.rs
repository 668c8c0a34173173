//! Lines with tunnels, and where links along them are received, as written.

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
    /// So far ahead of `from` it already hides the satellite (`baton plan coverage` computes it). Default "0 m".
    pub shadow_before: Option<Distance>,
    /// So far behind `to` it still hides the satellite. Default "0 m".
    pub shadow_behind: Option<Distance>,
}

/// A satellite link that needs line of sight: it is down where a tunnel hides it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawLineOfSight {
    /// From line of sight until the antenna points to the satellite. Default "500 ms".
    pub repointing: Option<Time>,
    /// From then until the link is up. Default "50 ms".
    pub synchronisation: Option<Time>,
    /// So long before it is hidden the link says that it is going down, since tunnels are known; with zero it does not
    /// say so. Default "0 s".
    pub announced: Option<Time>,
}

/// Moments without line of sight, each for exponentially distributed times.
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
    /// Position of the last one. Default: there is only one.
    pub to: Option<Distance>,
    /// From one to the next, at most; they stand evenly. `to` needs it. Default: none.
    pub spacing: Option<Distance>,
    /// Of an access point. Default "20 dBm".
    pub transmit_power: Option<Power>,
    /// Below this nothing is received. Default "-80 dBm".
    pub threshold: Option<Power>,
    /// With less than so many dB above the threshold the link says that it is going down. Default 3.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub margin_db: Option<f64>,
    /// Of the channel. Default "2.4 GHz".
    pub frequency: Option<Frequency>,
    /// Of the access points' antennas above the ground. Default "1.5 m".
    pub access_point_height: Option<Distance>,
    /// Of the mobile's antenna above the ground. Default "1.5 m".
    pub mobile_height: Option<Distance>,
    /// From the first signal until the link is up. Default "50 ms".
    pub synchronisation: Option<Time>,
}
