//! Recordings of links, as written.

use super::tagged::{self, Kind, Tag};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

/// A recording of a direction's rate, delay or loss.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(transform = add_kinds)]
pub struct RawRecording {
    /// Format of its files, and their names.
    #[serde(flatten)]
    #[schemars(skip)]
    pub kind: RawFiles,
    /// Continuation after its end. Default "repeat".
    pub at_end: Option<RawAtEnd>,
}

/// Files of a recording, by their format. Names are relative to the scenario's folder; gzip is unpacked.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RawFiles {
    /// mahimahi's.
    Mahimahi(Mahimahi),
    /// LeoReplayer's.
    Leoreplayer(Leoreplayer),
    /// Baton's own.
    Csv(Csv),
}

impl RawFiles {
    /// Returns the first file's key and name.
    pub fn first(&self) -> (&'static str, &str) {
        match self {
            RawFiles::Mahimahi(own) => ("file", &own.file),
            RawFiles::Leoreplayer(own) => ("bandwidth", &own.bandwidth),
            RawFiles::Csv(own) => ("file", &own.file),
        }
    }
}

/// Delivery opportunities, as mahimahi has them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Mahimahi {
    /// File of opportunities: one millisecond a line, for 1500 B each.
    pub file: String,
}

/// Rates and delays, as LeoReplayer has them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Leoreplayer {
    /// File of rates.
    pub bandwidth: String,
    /// File of delays.
    pub delay: String,
}

/// Rates, delays and losses over time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Csv {
    /// CSV file with a header and any of the columns time_s, rate_bps, delay_ms, loss.
    pub file: String,
}

/// Continuation after the end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawAtEnd {
    /// The recording from its start.
    Repeat,
    /// The last values, forever.
    Hold,
}

fn add_kinds(schema: &mut Schema) {
    let format = Tag {
        key: "kind",
        about: "Format of its files.",
        default: None,
    };
    let kinds = [
        Kind::of::<Mahimahi>("mahimahi"),
        Kind::of::<Leoreplayer>("leoreplayer"),
        Kind::of::<Csv>("csv"),
    ];
    tagged::add_to(schema, format, &kinds);
}
