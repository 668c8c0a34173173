//! Tracks of mobiles, as written.

use super::units::{Distance, Speed, Time};
use crate::position::Track;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

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

/// Track of a mobile: `position`, `legs`, `timetable`, `file` or `flights` for radio networks, or `along` a line
/// (exactly one of them).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawTrack {
    /// Place at which it stands. Default: it moves.
    pub position: Option<RawPosition>,
    /// Points joined by straight legs, at `speed`. Default: none.
    pub legs: Option<Vec<RawPosition>>,
    /// Name of one of `lines`, along which it runs at `speed`. Default: none.
    pub along: Option<String>,
    /// Start of the run on the line. Default "0 m".
    pub from: Option<Distance>,
    /// End of the run on the line. Default: it runs on.
    pub to: Option<Distance>,
    /// Speed over the ground on `legs` or `along` a line, which need it. Default: none.
    pub speed: Option<Speed>,
    /// Places between which it jumps, with their times. Default: none.
    pub timetable: Option<Vec<RawPlace>>,
    /// A recorded track: CSV with the columns time (in seconds), latitude, longitude and altitude (in metres). Default:
    /// none.
    pub file: Option<String>,
    /// A file of many recorded tracks: CSV like that of `file`, with a column flight more. Each flight is a mobile of its
    /// own, NAME-1, NAME-2 and on, up to `count`, which exists from its first point to its last; times count from the
    /// start of the run, those of its flows from its first point. Default: none.
    pub flights: Option<String>,
    /// Time at which it is at the first point; times of a timetable and of a file count from then. Before, it stands
    /// there. Default "0 s".
    pub begin: Option<Time>,
    /// Added to `begin`: drawn from the seed, uniform from zero up to this. Default "0 s".
    pub begin_jitter: Option<Time>,
    /// With a count: lead of each mobile over the one before, as if it had begun so much earlier.
    /// Default "0 s".
    pub spacing: Option<Time>,
    /// Lead of this one over the first.
    #[serde(skip)]
    #[schemars(skip)]
    pub ahead: Duration,
    /// The flights of its file; of a copy its own one. Shared, since each copy clones the mobile.
    #[serde(skip)]
    #[schemars(skip)]
    pub flown: Arc<[Arc<Track>]>,
}

/// An entry of a track's timetable.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RawPlace {
    /// Time from which it is there.
    pub at: Time,
    /// The place.
    #[serde(flatten)]
    pub position: RawPosition,
}
