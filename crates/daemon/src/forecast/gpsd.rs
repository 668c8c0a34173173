//! Positions from gpsd, which speaks to receivers of all makes (its protocol: gpsd_json(5)).

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
/// Longest line, in bytes (gpsd_json(5): 10,240 from protocol 3.10 on).
const LONGEST: u64 = 10_240;
/// The time after which a position says nothing any more (chosen: ten reports of a receiver that tells one a second).
const STALE: Duration = Duration::from_secs(10);
/// The time between two attempts to reach gpsd.
const PAUSE: Duration = Duration::from_secs(5);

/// A position with speed and course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// In degrees, north positive.
    pub latitude_deg: f64,
    /// In degrees, east positive.
    pub longitude_deg: f64,
    /// Over the ground, in metres a second.
    pub speed_m_per_s: f64,
    /// In degrees from north to east.
    pub course_deg: f64,
    /// The time since it was taken, in seconds.
    pub age_s: f64,
}

impl Fix {
    /// Returns latitude and longitude after a time in seconds, at the same speed and course.
    pub fn after(&self, seconds: f64) -> (f64, f64) {
        let distance_m = self.speed_m_per_s * (self.age_s + seconds);
        let here = (self.latitude_deg, self.longitude_deg);
        place_at(here, distance_m, self.course_deg)
    }
}

/// A report of gpsd: the one that tells time, position and velocity, or another.
#[derive(Deserialize)]
struct Report {
    class: String,
    /// 2 or 3 with a position.
    #[serde(default)]
    mode: u8,
    lat: Option<f64>,
    lon: Option<f64>,
    speed: Option<f64>,
    track: Option<f64>,
}

/// Reads a line of gpsd: a position that was taken now; `None` of any other report. A receiver that stands tells no course.
pub(super) fn read(line: &[u8]) -> Option<Fix> {
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

/// The latest position, and when it came.
type Latest = Mutex<Option<(Fix, Instant)>>;

/// A listener to gpsd, in a thread of its own that ends some time after this value.
#[derive(Debug)]
pub struct Receiver(Arc<Latest>);

impl Receiver {
    /// Listens to gpsd at an address, and tries again as long as it is not there.
    pub fn listen(address: SocketAddr) -> Receiver {
        let latest = Arc::new(Mutex::new(None));
        let weak = Arc::downgrade(&latest);
        thread::spawn(move || {
            while weak.strong_count() > 0 {
                // Without gpsd there is no position, which the forecast knows by its age.
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

/// Takes positions until the connection, or the one who wants them, is gone.
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
        if let Some(fix) = read(&line) {
            let taken = Some((fix, Instant::now()));
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = taken;
        }
    }
}
