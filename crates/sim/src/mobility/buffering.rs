//! Buffers for mobiles' packets, as they are written in a scenario.

use crate::scenario::document::Path;
use crate::scenario::resolve::Report;
use crate::scenario::units::{Rate, Size, Time};
use baton_proto::mobility::buffering::{BufferPolicy, Overflow};
use baton_proto::time::Duration;
use schemars::JsonSchema;

/// A bounded buffer for a mobile's packets.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
pub struct RawBuffering {
    /// Capacity for one mobile. Default "64 kB".
    pub size: Option<Size>,
    /// Longest time for which a packet is held. Default "30 s".
    pub age: Option<Time>,
    /// Choice of the packets to drop when there is no room. Default "drop-newest".
    pub overflow: Option<RawOverflow>,
    /// Rate at which held packets are sent. Default: all at once.
    pub pace: Option<Rate>,
    /// Duplicate suppression: a TCP segment that is already held is dropped; false where IPsec hides the segments.
    /// Default true.
    pub drop_duplicates: Option<bool>,
}

/// Packets that are dropped when a buffer has no room for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RawOverflow {
    /// The newcomer.
    DropNewest,
    /// The packets that have waited longest, until there is room.
    DropOldest,
}

/// Returns the policy of a buffer.
pub(super) fn buffer_policy(raw: &RawBuffering) -> BufferPolicy {
    let size = raw.size.map_or(64_000, |size| size.0);
    BufferPolicy {
        bytes: u32::try_from(size).unwrap_or(u32::MAX),
        age: raw.age.map_or(Duration::from_secs(30), |age| age.0),
        overflow: match raw.overflow.unwrap_or(RawOverflow::DropNewest) {
            RawOverflow::DropNewest => Overflow::DropNewest,
            RawOverflow::DropOldest => Overflow::DropOldest,
        },
        pace: raw.pace.map(|pace| pace.0),
        drop_duplicates: raw.drop_duplicates.unwrap_or(true),
    }
}

/// Returns the policy of a buffer for copies: it keeps the newest packets, and both of two with the same segment, since
/// the mobile may lack either.
pub(super) fn copies_policy(
    raw: &RawBuffering,
    (path, what): (&Path, &str),
    report: &mut Report<'_>,
) -> BufferPolicy {
    let keys = [
        ("overflow", raw.overflow.is_some()),
        ("drop_duplicates", raw.drop_duplicates.is_some()),
    ];
    let allowed = ["size", "age", "pace"];
    report.misplaced(path, &keys, &allowed, what);
    BufferPolicy {
        overflow: Overflow::DropOldest,
        drop_duplicates: false,
        ..buffer_policy(raw)
    }
}
