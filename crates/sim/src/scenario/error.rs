//! Mistakes in a scenario: the fault, its place, and the expected value.

use baton_proto::time::Duration;
use std::fmt;

/// Largest number of mistakes in a message.
const MOST_LINES: usize = 50;
/// Most names to list where one is unknown.
pub(super) const MOST_LISTED: usize = 40;

/// A place in the input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as the user named it, or `--set key=value`.
    pub origin: String,
    /// Line and column, both from 1, the column in characters; `None` without a text: on the command line and for
    /// values from code.
    pub position: Option<(usize, usize)>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Its place in the input.
    pub place: Place,
    /// The key, like `links.satellite.rate`; empty if there is none.
    pub key: String,
    /// The mistake, the expected value, and the remedy.
    pub message: String,
}

/// Mistakes that prevent a scenario's run: all that were found, in the order of the file.
///
/// Its text has one line per mistake. The caller shows it and exits with status 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.diagnostics))]
pub struct ScenarioError {
    /// The mistakes; never empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place.origin)?;
        if let Some((line, column)) = self.place.position {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

fn lines(diagnostics: &[Diagnostic]) -> String {
    let first = diagnostics.iter().take(MOST_LINES);
    let mut lines: Vec<String> = first.map(ToString::to_string).collect();
    if diagnostics.len() > MOST_LINES {
        lines.push(format!("and {} more", diagnostics.len() - MOST_LINES));
    }
    lines.join("\n")
}

/// Returns the one of `names` that `given` was most likely meant to be, if any is near enough.
pub(super) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| {
            let distance = strsim::damerau_levenshtein(&lower(given), &lower(name));
            (distance, name)
        })
        // A third of the letters may be wrong.
        .filter(|(distance, name)| *distance <= name.chars().count() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn lower(text: &str) -> String {
    // The distance costs the product of the lengths: a long text is not near any name anyway.
    text.chars()
        .take(100)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns a message like `unknown link "satelite"; did you mean "satellite"? (valid: satellite, tunnel)`.
pub(crate) fn unknown(what: &str, given: &str, names: &[&str]) -> String {
    unknown_among(what, given, names, names.len())
}

/// Returns the same message from the first `names` of `count`.
pub(crate) fn unknown_among(what: &str, given: &str, names: &[&str], count: usize) -> String {
    let near = nearest(given, names.iter().copied());
    let listed = &names[..names.len().min(MOST_LISTED)];
    unknown_of((what, given), near, (listed, count))
}

/// Returns the same message from a near name already found, and the first names of all.
pub(super) fn unknown_of(
    (what, given): (&str, &str),
    near: Option<&str>,
    (listed, count): (&[&str], usize),
) -> String {
    let mut message = format!("unknown {what} {}", quoted(given));
    if let Some(name) = near {
        message += &format!("; did you mean \"{name}\"?");
    }
    message + &valid_of(what, (listed, count))
}

/// Returns a list like ` (valid: satellite, tunnel)`.
pub(super) fn valid(what: &str, names: &[&str]) -> String {
    let listed = &names[..names.len().min(MOST_LISTED)];
    valid_of(what, (listed, names.len()))
}

/// Returns the same list from the first names and the number of all.
fn valid_of(what: &str, (listed, count): (&[&str], usize)) -> String {
    match count {
        0 => format!(" (there is no {what})"),
        all if all <= listed.len() => format!(" (valid: {})", listed.join(", ")),
        more => format!(" (valid: {}, … {more} in all)", listed.join(", ")),
    }
}

/// Returns `time` in seconds, without needless zeros.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// Returns `text` in quotes, cut to a readable length.
pub(crate) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
