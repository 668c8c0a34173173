//! Forecast of uplinks: a mobile router leaves an uplink before it goes down, and a gateway a link, by a timetable or its
//! position.
//!
//! A forecast names the uplinks that are expected to go down soon; the router uses them only if it has no other, and
//! then asks its home agent to hold packets. It is a hint: an uplink that goes down unannounced is left when its path
//! dies.

mod coverage;
mod gpsd;
mod timetable;

use crate::config::{SOCKET_ADDRESS, Time};
use baton_proto::time::Duration;
use core::net::SocketAddr;
use gpsd::Receiver;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};
use timetable::Absence;

pub use coverage::Coverage;
pub use gpsd::Fix;

/// Interval of checks of clock and position (chosen: a tenth of the shortest useful announcement).
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(100);
/// Default time from the announcement of an uplink's end to that end (chosen: ten round trips of 200 ms).
const ANNOUNCED: Duration = Duration::from_secs(2);

/// The sources of a forecast.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForecastConfig {
    /// The time ahead at which an uplink is left.
    pub announce: Option<Time>,
    /// Times at which uplinks carry nothing.
    #[serde(default)]
    pub timetable: Vec<Absence>,
    /// The file with the coverage along the way: CSV with `latitude` and `longitude` in degrees, and a column of 0 and 1 for each uplink.
    pub coverage: Option<PathBuf>,
    /// The address of gpsd, which tells the position.
    #[schemars(regex(pattern = SOCKET_ADDRESS))]
    pub gpsd: Option<SocketAddr>,
}

impl ForecastConfig {
    /// Checks for mistakes that the types of single keys do not exclude, for a router with these uplinks.
    ///
    /// # Errors
    /// The key, the mistake, and the expected value.
    pub fn check(&self, uplinks: &[String]) -> Result<(), String> {
        for (place, absence) in self.timetable.iter().enumerate() {
            absence
                .check(uplinks)
                .map_err(|wrong| format!("forecast.timetable[{place}].{wrong}"))?;
        }
        match (&self.coverage, self.gpsd) {
            (Some(_), None) => Err(
                "forecast.gpsd: coverage needs a position; expected the address of gpsd, such as \"127.0.0.1:2947\""
                    .to_owned(),
            ),
            (None, Some(_)) => Err(
                "forecast.coverage: a position alone forecasts nothing; expected a file with the coverage along the route"
                    .to_owned(),
            ),
            (None, None) if self.timetable.is_empty() => {
                Err("forecast: expected a `timetable`, or `coverage` and `gpsd`".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// A forecast without clock and position.
#[derive(Debug)]
pub struct Forecast {
    announced: Duration,
    timetable: Vec<Absence>,
    coverage: Option<Coverage>,
    /// True for each uplink that is expected to go down.
    leaving: Vec<(String, bool)>,
}

/// A change of the forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The uplink.
    pub uplink: String,
    /// The time left until it is expected to go down; `None` if it is expected to stay up after all.
    pub goes_in: Option<Duration>,
}

impl Forecast {
    /// Reads the files of a forecast for a router with these uplinks.
    ///
    /// # Errors
    /// The file, the line, the mistake, and the expected value.
    pub fn read(config: &ForecastConfig, uplinks: &[String]) -> Result<Forecast, String> {
        let coverage = config.coverage.as_ref();
        Ok(Forecast {
            announced: config.announce.map_or(ANNOUNCED, |time| time.0),
            timetable: config.timetable.clone(),
            coverage: coverage
                .map(|file| Coverage::read(file, uplinks))
                .transpose()?,
            leaving: uplinks.iter().map(|name| (name.clone(), false)).collect(),
        })
    }

    /// Looks ahead from a Unix time and a position, if known; returns the uplinks whose forecast has changed.
    pub fn look(&mut self, unix: Duration, fix: Option<Fix>) -> Vec<Expected> {
        let mut changes = Vec::new();
        for (uplink, leaving) in &mut self.leaving {
            let absent = |absence: &Absence| absence.begins_in(uplink, unix, self.announced);
            let by_time = self.timetable.iter().filter_map(absent);
            let coverage = self.coverage.as_ref().zip(fix);
            let by_place =
                coverage.and_then(|(coverage, fix)| coverage.ends_in(uplink, fix, self.announced));
            let goes_in = by_time.chain(by_place).min();
            if core::mem::replace(leaving, goes_in.is_some()) != goes_in.is_some() {
                let uplink = uplink.clone();
                changes.push(Expected { uplink, goes_in });
            }
        }
        changes
    }

    /// Continues a forecast that expected these uplinks to go down.
    pub fn go_on_from(&mut self, before: &[String]) {
        for (uplink, leaving) in &mut self.leaving {
            *leaving = before.contains(uplink);
        }
    }

    /// Returns the uplinks that are expected to go down.
    pub fn leaving(&self) -> impl Iterator<Item = &str> {
        let leaving = self.leaving.iter().filter(|(_, leaving)| *leaving);
        leaving.map(|(name, _)| name.as_str())
    }
}

/// A forecast with the machine's clock and gpsd's position.
#[derive(Debug)]
pub struct Forecaster {
    forecast: Forecast,
    receiver: Option<Receiver>,
    next: Instant,
}

impl Forecaster {
    /// Reads the files of a forecast, and starts the receiver of gpsd's positions.
    ///
    /// # Errors
    /// As for [`Forecast::read`].
    pub fn open(config: &ForecastConfig, uplinks: &[String]) -> Result<Forecaster, String> {
        Ok(Forecaster {
            forecast: Forecast::read(config, uplinks)?,
            receiver: config.gpsd.map(Receiver::listen),
            next: Instant::now(),
        })
    }

    /// Returns the time to the next look ahead of [`poll`](Self::poll).
    pub fn left(&self) -> Duration {
        let left = self.next.saturating_duration_since(Instant::now());
        Duration::from_nanos(left.as_nanos() as u64)
    }

    /// Looks ahead, if it is time; returns the uplinks whose forecast has changed.
    pub fn poll(&mut self) -> Vec<Expected> {
        let now = Instant::now();
        if now < self.next {
            return Vec::new();
        }
        self.next = now + INTERVAL;
        let unix = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let unix = Duration::from_nanos(u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX));
        let fix = self.receiver.as_ref().and_then(Receiver::fix);
        self.forecast.look(unix, fix)
    }

    /// Continues a forecast that expected these uplinks to go down.
    pub fn go_on_from(&mut self, before: &[String]) {
        self.forecast.go_on_from(before);
    }

    /// Returns the forecast.
    pub fn forecast(&self) -> &Forecast {
        &self.forecast
    }
}

#[cfg(test)]
mod tests;
