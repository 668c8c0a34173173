//! Times at which an uplink is down.

use baton_proto::time::Duration;
use jiff::Timestamp;
use jiff::civil;
use schemars::JsonSchema;
use serde::Deserialize;

/// Seconds of a day.
const DAY_S: u64 = 86_400;

/// A time of a timetable: a single moment, or one of every day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Moment {
    /// Unix time.
    Once(Duration),
    /// Time since midnight, UTC.
    Daily(Duration),
}

impl TryFrom<String> for Moment {
    type Error = String;

    fn try_from(text: String) -> Result<Moment, String> {
        // The parser also extracts a time from a date without an offset.
        let is_time = text
            .chars()
            .all(|character| character.is_ascii_digit() || ":.".contains(character));
        if let Some(time) = text.parse::<civil::Time>().ok().filter(|_| is_time) {
            let since = time.duration_since(civil::Time::midnight());
            return Ok(Moment::Daily(Duration::from_nanos(
                since.unsigned_abs().as_nanos() as u64,
            )));
        }
        let moment = text.parse::<Timestamp>().ok();
        let since = moment.and_then(|moment| u64::try_from(moment.as_nanosecond()).ok());
        since
            .map(|since| Moment::Once(Duration::from_nanos(since)))
            .ok_or_else(|| {
                format!(
                    "\"{text}\": expected a time of every day in UTC, such as \"08:15:30\", or one with date and offset, such as \
                     \"2026-11-25T08:15:30Z\""
                )
            })
    }
}

/// A time during which an uplink carries nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// The uplink.
    uplink: String,
    /// Its end: a time of every day in UTC, or one with a date and an offset.
    #[schemars(with = "String")]
    from: Moment,
    /// Its return, as its end.
    #[schemars(with = "String")]
    until: Moment,
}

impl Absence {
    /// Checks for mistakes that the types of single keys do not exclude; the error names the key, the mistake, and the
    /// expected value.
    pub fn check(&self, uplinks: &[String]) -> Result<(), String> {
        let name = &self.uplink;
        if !uplinks.contains(name) {
            let names = uplinks.join(", ");
            return Err(format!(
                "uplink: \"{name}\" is not an uplink; expected one of: {names}"
            ));
        }
        match (self.from, self.until) {
            (Moment::Once(from), Moment::Once(until)) if from < until => Ok(()),
            // It may extend over midnight.
            (Moment::Daily(from), Moment::Daily(until)) if from != until => Ok(()),
            (Moment::Once(_), Moment::Once(_)) | (Moment::Daily(_), Moment::Daily(_)) => {
                Err("until: not after `from`; expected a later time".to_owned())
            }
            _ => Err(
                "until: expected a time with a date if `from` has one, and without if it has none"
                    .to_owned(),
            ),
        }
    }

    /// Returns the time from the Unix time `unix` until an uplink is down, if that is at most `ahead`.
    pub fn begins_in(&self, uplink: &str, unix: Duration, ahead: Duration) -> Option<Duration> {
        if uplink != self.uplink {
            return None;
        }
        let left = match (self.from, self.until) {
            (Moment::Once(from), Moment::Once(until)) => {
                (unix < until).then(|| from.saturating_sub(unix))?
            }
            (Moment::Daily(from), Moment::Daily(until)) => {
                let day = Duration::from_secs(DAY_S);
                let of_day = |time: Duration| time.as_nanos() % day.as_nanos();
                let length = of_day(until + day - from);
                // Time since the latest start, and until the next one.
                let since = of_day(unix + day - from);
                match since < length {
                    true => Duration::ZERO,
                    false => Duration::from_nanos(day.as_nanos() - since),
                }
            }
            _ => return None,
        };
        (left <= ahead).then_some(left)
    }
}
