//! Congestion controls and their parameters.

use super::document::Path;
use super::error::quoted;
use super::profiles;
use super::raw_flows::{RawCongestion, RawControl, RawControlKind};
use super::resolve::Report;
use super::resolve_tcp::{off, set};
use baton_proto::tcp::congestion::{
    BicParameters, HyblaParameters, ScalableParameters, VegasParameters, WestwoodParameters,
};
use baton_proto::tcp::profile::Algorithm;

/// The congestion control of the table at `path`.
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
        RawCongestion::Table(raw) => with_parameters(raw, &path, report),
    }
}

fn with_parameters(raw: &RawControl, path: &Path, report: &mut Report<'_>) -> Option<Algorithm> {
    let keys = [
        ("minimum_rtt_window", raw.minimum_rtt_window.is_some()),
        ("increase", raw.increase.is_some()),
        ("decrease", raw.decrease.is_some()),
        ("smallest_increment", raw.smallest_increment.is_some()),
        ("largest_increment", raw.largest_increment.is_some()),
        ("alpha", raw.alpha.is_some()),
        ("beta", raw.beta.is_some()),
        ("gamma", raw.gamma.is_some()),
        ("reference_rtt", raw.reference_rtt.is_some()),
    ];
    let (name, own, algorithm): (_, &[&str], _) = match raw.kind {
        RawControlKind::Westwood => ("westwood", &["minimum_rtt_window"], westwood(raw)),
        RawControlKind::Scalable => ("scalable", &["increase", "decrease"], scalable(raw)),
        RawControlKind::Bic => {
            let own = &["smallest_increment", "largest_increment"];
            ("bic", own, bic(raw, path, report)?)
        }
        RawControlKind::Vegas => {
            let own = &["alpha", "beta", "gamma"];
            ("vegas", own, vegas(raw, path, report)?)
        }
        RawControlKind::Hybla => ("hybla", &["reference_rtt"], hybla(raw)),
    };
    report.misplaced(path, &keys, own, &format!("kind = \"{name}\""));
    Some(algorithm)
}

fn westwood(raw: &RawControl) -> Algorithm {
    let mut parameters = WestwoodParameters::default();
    let window = raw.minimum_rtt_window;
    set(
        &mut parameters.minimum_rtt_window,
        window.map(|value| off(value).map(|time| time.0)),
    );
    Algorithm::Westwood(parameters)
}

fn scalable(raw: &RawControl) -> Algorithm {
    let mut parameters = ScalableParameters::default();
    set(&mut parameters.increase, raw.increase);
    set(&mut parameters.decrease, raw.decrease);
    Algorithm::Scalable(parameters)
}

fn bic(raw: &RawControl, path: &Path, report: &mut Report<'_>) -> Option<Algorithm> {
    let mut parameters = BicParameters::default();
    set(&mut parameters.smallest_increment, raw.smallest_increment);
    set(&mut parameters.largest_increment, raw.largest_increment);
    let keys = ["smallest_increment", "largest_increment"];
    let values = [parameters.smallest_increment, parameters.largest_increment];
    in_order(keys, values, path, report)?;
    Some(Algorithm::Bic(parameters))
}

fn vegas(raw: &RawControl, path: &Path, report: &mut Report<'_>) -> Option<Algorithm> {
    let mut parameters = VegasParameters::default();
    set(&mut parameters.alpha, raw.alpha);
    set(&mut parameters.beta, raw.beta);
    set(&mut parameters.gamma, raw.gamma);
    let values = [parameters.alpha, parameters.beta];
    in_order(["alpha", "beta"], values, path, report)?;
    Some(Algorithm::Vegas(parameters))
}

fn hybla(raw: &RawControl) -> Algorithm {
    let mut parameters = HyblaParameters::default();
    set(
        &mut parameters.reference_rtt,
        raw.reference_rtt.map(|time| time.0),
    );
    Algorithm::Hybla(parameters)
}

/// Of two parameters the first may not be above the second.
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
        "{} {low} is above {} {high}; expected it to be at most that",
        keys[0], keys[1]
    );
    report.wrong(path, message);
    None
}
