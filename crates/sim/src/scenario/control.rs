//! Congestion controls of TCP, as written: by name, as a class in Python, or as a table with parameters. Each kind's
//! settings are a type here; the defaults are the control's.

use super::document::Path;
use super::error::quoted;
use super::profiles;
use super::raw_flows::{OrOff, RawOff};
use super::resolve::Report;
use super::tagged::{self, Kind, Tag};
use super::units::PositiveTime;
use baton_proto::tcp::congestion::{
    BicParameters, HyblaParameters, ScalableParameters, VegasParameters, WestwoodParameters,
};
use baton_proto::tcp::profile::Algorithm;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use std::borrow::Cow;

/// Makes [`RawControl`] of a list of controls with parameters: variant, name, settings.
macro_rules! controls {
    ($($kind:ident = $name:literal,)*) => {
        /// A congestion control and its parameters.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        pub enum RawControl {
            $(
                #[doc = concat!("The control `", $name, "`.")]
                $kind($kind),
            )*
        }

        impl RawControl {
            fn kinds() -> Vec<Kind> {
                vec![$(Kind::of::<$kind>($name),)*]
            }

            fn resolve(&self, path: &Path, report: &mut Report<'_>) -> Option<Algorithm> {
                match self {
                    $(RawControl::$kind(settings) => settings.resolve(path, report),)*
                }
            }
        }
    };
}

controls! {
    Westwood = "westwood",
    Scalable = "scalable",
    Bic = "bic",
    Vegas = "vegas",
    Hybla = "hybla",
}

/// Westwood+.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Westwood {
    /// Period over which the shortest round-trip time is taken; "off" takes the connection's.
    pub minimum_rtt_window: OrOff<PositiveTime>,
}

impl Default for Westwood {
    fn default() -> Westwood {
        let window = WestwoodParameters::default().minimum_rtt_window;
        Westwood {
            minimum_rtt_window: window.map_or(OrOff::Off(RawOff::Off), |window| {
                OrOff::Value(PositiveTime(window))
            }),
        }
    }
}

impl Westwood {
    fn resolve(&self, _: &Path, _: &mut Report<'_>) -> Option<Algorithm> {
        let minimum_rtt_window = match self.minimum_rtt_window {
            OrOff::Off(_) => None,
            OrOff::Value(window) => Some(window.0),
        };
        Some(Algorithm::Westwood(WestwoodParameters {
            minimum_rtt_window,
        }))
    }
}

/// Scalable TCP.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scalable {
    /// Growth of the window for each acknowledged segment, in segments.
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub increase: f64,
    /// Share of the window by which a loss reduces it.
    #[schemars(range(min = 0.001, max = 0.999))]
    pub decrease: f64,
}

impl Default for Scalable {
    fn default() -> Scalable {
        let ScalableParameters { increase, decrease } = ScalableParameters::default();
        Scalable { increase, decrease }
    }
}

impl Scalable {
    fn resolve(&self, _: &Path, _: &mut Report<'_>) -> Option<Algorithm> {
        Some(Algorithm::Scalable(ScalableParameters {
            increase: self.increase,
            decrease: self.decrease,
        }))
    }
}

/// BIC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bic {
    /// Least growth in a round trip, in segments.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub smallest_increment: f64,
    /// Most growth in a round trip, in segments.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub largest_increment: f64,
    /// Share of the window by which a loss reduces it. Linux's module has 0.2.
    #[schemars(range(min = 0.001, max = 0.999))]
    pub decrease: f64,
}

impl Default for Bic {
    fn default() -> Bic {
        let parameters = BicParameters::default();
        Bic {
            smallest_increment: parameters.smallest_increment,
            largest_increment: parameters.largest_increment,
            decrease: parameters.decrease,
        }
    }
}

impl Bic {
    fn resolve(&self, path: &Path, report: &mut Report<'_>) -> Option<Algorithm> {
        let keys = ["smallest_increment", "largest_increment"];
        let values = [self.smallest_increment, self.largest_increment];
        in_order(keys, values, path, report)?;
        Some(Algorithm::Bic(BicParameters {
            smallest_increment: self.smallest_increment,
            largest_increment: self.largest_increment,
            decrease: self.decrease,
        }))
    }
}

/// Vegas.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Vegas {
    /// Segments in queues below which the window grows.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Segments in queues above which the window shrinks.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub beta: f64,
    /// Segments in queues above which slow start ends.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub gamma: f64,
}

impl Default for Vegas {
    fn default() -> Vegas {
        let VegasParameters { alpha, beta, gamma } = VegasParameters::default();
        Vegas { alpha, beta, gamma }
    }
}

impl Vegas {
    fn resolve(&self, path: &Path, report: &mut Report<'_>) -> Option<Algorithm> {
        in_order(["alpha", "beta"], [self.alpha, self.beta], path, report)?;
        Some(Algorithm::Vegas(VegasParameters {
            alpha: self.alpha,
            beta: self.beta,
            gamma: self.gamma,
        }))
    }
}

/// Hybla.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Hybla {
    /// Round-trip time at which Reno's window grows as fast.
    pub reference_rtt: PositiveTime,
}

impl Default for Hybla {
    fn default() -> Hybla {
        Hybla {
            reference_rtt: PositiveTime(HyblaParameters::default().reference_rtt),
        }
    }
}

impl Hybla {
    fn resolve(&self, _: &Path, _: &mut Report<'_>) -> Option<Algorithm> {
        Some(Algorithm::Hybla(HyblaParameters {
            reference_rtt: self.reference_rtt.0,
        }))
    }
}

/// A congestion control: one of the engine's by name, with its parameters if it has some, or a class in Python.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum RawCongestion {
    /// By name.
    Name(String),
    /// With parameters.
    Table(RawControl),
}

impl JsonSchema for RawCongestion {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "RawCongestion".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let whole = "A congestion control and its parameters.";
        let kind = Tag {
            key: "kind",
            about: "The congestion control.",
            default: None,
        };
        let table = tagged::table(kind, whole, Map::new(), &RawControl::kinds());
        json_schema!({ "anyOf": [
            { "type": "string", "enum": Algorithm::NAMES },
            { "type": "string", "format": "python-class" },
            table,
        ] })
    }
}

/// Resolves the congestion control of the table at `path`.
pub(super) fn congestion(
    given: &Option<RawCongestion>,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Algorithm> {
    let path = path.key("congestion");
    match given.as_ref()? {
        RawCongestion::Name(name) => profiles::congestion(name, report.classes)
            .map_err(|why| report.wrong(&path, format!("{} {why}", quoted(name))))
            .ok(),
        RawCongestion::Table(control) => control.resolve(&path, report),
    }
}

/// Reports two parameters if the first is above the second.
fn in_order(
    keys: [&str; 2],
    [low, high]: [f64; 2],
    path: &Path,
    report: &mut Report<'_>,
) -> Option<()> {
    if low <= high {
        return Some(());
    }
    let message = format!(
        "{} {low} is above {} {high}; expected at most {high}",
        keys[0], keys[1]
    );
    report.wrong(path, message);
    None
}
