//! Positions from gpsd, which supports receivers of all makes (its protocol: gpsd_json(5)).

use super::coverage::place_at;
use core::net::SocketAddr;
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The request for reports.
const WATCH: &[u8] = b"?WATCH={\"enable\":true,\"json\":true};\n";
/// Maximum length of a line, in bytes (gpsd_json(5): 10,240 from protocol 3.10 on).
const LONGEST: u64 = 10_240;
/// Age at which a position expires (chosen: ten reports of a receiver that sends one a second).
const STALE: Duration = Duration::from_secs(10);
/// Interval of attempts to reach gpsd.
const PAUSE: Duration = Duration::from_secs(5);

/// A position with speed and course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// Latitude in degrees, north positive.
    pub latitude_deg: f64,
    /// Longitude in degrees, east positive.
    pub longitude_deg: f64,
    /// Speed over ground, in metres per second.
    pub speed_m_per_s: f64,
    /// Course in degrees, clockwise from north.
    pub course_deg: f64,
    /// Age of the position, in seconds.
    pub age_s: f64,
}

impl Fix {
    /// Reads a line of gpsd: a position taken now; `None` for any other report. A stationary receiver reports no course.
    pub fn parse(line: &[u8]) -> Option<Fix> {
        let report: Report = serde_json::from_slice(line).ok()?;
        let has_position = report.class == "TPV" && report.mode >= 2;
        let in_range = |value: f64, most: f64| Some(value).filter(|value| value.abs() <= most);
        let fix = Fix {
            latitude_deg: in_range(report.lat?, 90.0)?,
            longitude_deg: in_range(report.lon?, 180.0)?,
            speed_m_per_s: report.speed.filter(|speed| *speed >= 0.0).unwrap_or(0.0),
            course_deg: report.track.unwrap_or(0.0),
            age_s: 0.0,
        };
        (has_position && fix.speed_m_per_s.is_finite() && fix.course_deg.is_finite()).then_some(fix)
    }

    /// Returns latitude and longitude after a time in seconds, at the same speed and course.
    pub fn after(&self, seconds: f64) -> (f64, f64) {
        let distance_m = self.speed_m_per_s * (self.age_s + seconds);
        let here = (self.latitude_deg, self.longitude_deg);
        place_at(here, distance_m, self.course_deg)
    }
}

/// A report of gpsd: time, position and velocity, or another kind.
#[derive(Deserialize)]
struct Report {
    class: String,
    /// NMEA mode: 2 or 3 with a position.
    #[serde(default)]
    mode: u8,
    lat: Option<f64>,
    lon: Option<f64>,
    speed: Option<f64>,
    track: Option<f64>,
}

/// The latest position, and the time of its arrival.
type Latest = Mutex<Option<(Fix, Instant)>>;

/// A client of gpsd, in a thread of its own that ends some time after this value is dropped.
#[derive(Debug)]
pub struct Receiver(Arc<Latest>);

impl Receiver {
    /// Connects to gpsd at an address, and keeps trying while it is unavailable.
    pub fn listen(address: SocketAddr) -> Receiver {
        let latest = Arc::new(Mutex::new(None));
        let weak = Arc::downgrade(&latest);
        thread::spawn(move || {
            while weak.strong_count() > 0 {
                // Without gpsd there is no position, which the forecast detects by its age.
                let _ = follow(address, &weak);
                thread::sleep(PAUSE);
            }
        });
        Receiver(latest)
    }

    /// Returns the latest position, unless it is stale.
    pub fn fix(&self) -> Option<Fix> {
        let latest = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (fix, at) = latest.filter(|(_, at)| at.elapsed() < STALE)?;
        Some(Fix {
            age_s: at.elapsed().as_secs_f64(),
            ..fix
        })
    }
}

/// Reads positions until the connection is closed, or the receiver dropped.
fn follow(address: SocketAddr, latest: &Weak<Latest>) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, PAUSE)?;
    stream.set_read_timeout(Some(STALE))?;
    stream.write_all(WATCH)?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut reader).take(LONGEST).read_until(b'\n', &mut line)?;
        let Some(latest) = latest.upgrade().filter(|_| length > 0) else {
            return Ok(());
        };
        if let Some(fix) = Fix::parse(&line) {
            let taken = Some((fix, Instant::now()));
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = taken;
        }
    }
}
