//! Reception of a link by a mobile on a line: of a satellite in sight, or of nearby access points.
//!
//! The state follows from the position alone, so that it is a function of time. The link's events are those of 802.21:
//! detected; up when the mobile is ready to use it; a parameters report when the power has the margin; going down when
//! the power loses the margin, or when the mobile knows of a tunnel ahead; rollback; down.

pub mod coverage;
pub mod line_of_sight;
pub mod two_ray;

use crate::position::line::LineRun;
use baton_proto::interface::LinkEvent;
use baton_proto::time::Instant;
use coverage::Coverage;
use line_of_sight::LineOfSight;

/// Reception of a link along a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Reception {
    /// A satellite.
    LineOfSight(LineOfSight),
    /// Access points along the line.
    Coverage(Coverage),
}

/// An event of a link, with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceptionEvent {
    /// Time of the event; zero for a link that is not received at the start.
    pub at: Instant,
    /// The event.
    pub news: LinkEvent,
    /// Power received by the mobile then, if known.
    pub received_dbm: Option<f64>,
}

impl Reception {
    /// Returns the carrier's frequency in kHz, if known.
    pub fn frequency_khz(&self) -> Option<u32> {
        match self {
            Reception::LineOfSight(_) => None,
            Reception::Coverage(coverage) => Some((coverage.radio.frequency_hz / 1e3) as u32),
        }
    }

    /// Returns all events that a link reports to a mobile on this run, in order of time. A link is up at the start
    /// unless it reports at once that it is down.
    pub fn events(&self, run: &LineRun) -> Vec<ReceptionEvent> {
        let mut told = match self {
            Reception::LineOfSight(sight) => sight.events(run),
            Reception::Coverage(coverage) => coverage.events(run),
        };
        told.sort_by_key(|&(at, _)| at);
        let event = |(at, news)| ReceptionEvent {
            at,
            news,
            received_dbm: self.received_dbm(run.position_m(at)),
        };
        told.into_iter().map(event).collect()
    }

    /// Returns the power in dBm that a mobile receives at a place, if known.
    pub fn received_dbm(&self, position_m: f64) -> Option<f64> {
        match self {
            Reception::LineOfSight(_) => None,
            Reception::Coverage(coverage) => Some(coverage.received_dbm(position_m)),
        }
    }

    /// Returns that power if it suffices to be measured.
    pub fn measured_dbm(&self, position_m: f64) -> Option<f64> {
        match self {
            Reception::LineOfSight(_) => None,
            Reception::Coverage(coverage) => coverage.measured_dbm(position_m),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_proto::time::Duration;

    /// Run at 100 m/s from the beginning of the line.
    pub const RUN: LineRun = LineRun {
        begin: Instant::ZERO,
        from_m: 0.0,
        to_m: 1e6,
        speed_m_s: 100.0,
    };

    pub fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    /// Returns the events and their times, to a millisecond.
    pub fn told(reception: &Reception, run: &LineRun) -> Vec<(f64, LinkEvent)> {
        let events = reception.events(run).into_iter();
        events
            .map(|event| ((event.at.as_secs_f64() * 1e3).round() / 1e3, event.news))
            .collect()
    }
}
