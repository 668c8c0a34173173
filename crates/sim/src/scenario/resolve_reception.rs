//! Resolution of links that are up where the mobile receives them, and the lines along which it runs.

use super::document::Path;
use super::error::unknown;
use super::model::{AlongLine, NodeIndex};
use super::raw_links::RawLink;
use super::raw_reception::{RawCoverage, RawLine, RawLineOfSight};
use super::raw_tracks::RawTrack;
use super::resolve::{MOST_EVENTS, Report};
use super::resolve_radios::Tracks;
use super::units::Distance;
use crate::link::config::{LinkConfig, LinkKind, Shadowing};
use crate::link::kinds::RawReception;
use crate::link::reception::Reception;
use crate::link::reception::coverage::Coverage;
use crate::link::reception::line_of_sight::{Antennas, LineOfSight};
use crate::link::reception::two_ray::TwoRay;
use crate::position::line::{LineRun, Stretch};
use baton_proto::time::{Duration, Instant};

/// Farthest place on a line in metres, the largest distance of a scenario.
const END_OF_LINE_M: f64 = 1e8;
/// Most access points of a link.
const MOST_ACCESS_POINTS: f64 = 10_000.0;

/// Resolves the reception of a link at `path`, whose ends are these nodes.
pub(super) fn along_line(
    raw: &RawLink,
    path: &Path,
    nodes: &[NodeIndex; 2],
    sky: &Tracks<'_>,
    report: &mut Report<'_>,
) -> Option<Box<AlongLine>> {
    let given = raw.kind.settings().reception()?;
    let path = path.key(match given {
        RawReception::LineOfSight(_) => "line_of_sight",
        RawReception::Coverage(_) => "coverage",
    });
    let names = raw.between.as_ref()?;
    let mobiles = &sky.mobiles.0;
    let at = |end: usize| mobiles.iter().find(|(name, _)| *name == names[end]);
    let found = at(1)
        .map(|found| (1, found))
        .or(at(0).map(|found| (0, found)));
    let track = found.and_then(|(end, (name, mobile))| Some((end, name, mobile.track.as_ref()?)));
    let Some((end, name, track)) = track.filter(|(.., track)| track.along.is_some()) else {
        let message = format!(
            "depends on the mobile's position, which is not given; expected [mobiles.{}] with \
             track = {{ along = LINE, speed = \"320 km/h\" }}",
            found.map_or(&names[1], |(_, (name, _))| name)
        );
        report.wrong_key(&path, message);
        return None;
    };
    let track_path = Path::default().key("mobiles").key(name).key("track");
    let (run, line) = run(track, &track_path, sky, report)?;
    let reception = match given {
        RawReception::LineOfSight(raw) => Reception::LineOfSight(line_of_sight(raw, line)),
        RawReception::Coverage(raw) => Reception::Coverage(coverage(raw, &path, report)?),
    };
    Some(Box::new(AlongLine {
        reception,
        run,
        jitter: or(track.begin_jitter, Duration::ZERO),
        mobile: nodes[end],
    }))
}

/// Resolves a mobile's run, and its line.
fn run<'a>(
    raw: &RawTrack,
    path: &Path,
    sky: &Tracks<'a>,
    report: &mut Report<'_>,
) -> Option<(LineRun, &'a RawLine)> {
    let name = raw.along.as_ref()?;
    let lines = &sky.lines.0;
    let Some((_, line)) = lines.iter().find(|(known, _)| known == name) else {
        let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
        report.wrong(&path.key("along"), unknown("line", name, &names));
        return None;
    };
    let keys = [
        ("position", raw.position.is_some()),
        ("legs", raw.legs.is_some()),
        ("timetable", raw.timetable.is_some()),
        ("file", raw.file.is_some()),
        ("flights", raw.flights.is_some()),
    ];
    report.misplaced(path, &keys, &[], "\"along\"");
    let Some(speed) = raw.speed else {
        let message =
            "key \"speed\" is missing; expected a number with m/s, km/h or kt, like \"320 km/h\"";
        report.wrong_key(path, message.to_owned());
        return None;
    };
    let metres = |place: Option<Distance>, default| place.map_or(default, |place| place.0);
    let run = LineRun {
        begin: Instant::ZERO + or(raw.begin, Duration::ZERO),
        from_m: metres(raw.from, 0.0),
        to_m: metres(raw.to, END_OF_LINE_M),
        speed_m_s: speed.0,
    };
    Some((run.advanced(raw.ahead), line))
}

/// Checks the tunnels of all lines.
pub(super) fn check_lines(sky: &Tracks<'_>, report: &mut Report<'_>) {
    let top = Path::default().key("lines");
    for (name, line) in &sky.lines.0 {
        for (index, tunnel) in line.tunnels.iter().enumerate() {
            if tunnel.to.0 <= tunnel.from.0 {
                let path = top.key(name).key("tunnels").index(index).key("to");
                let message = "is not beyond the tunnel's `from`; both are distances from the start of the line";
                report.wrong(&path, message.to_owned());
            }
        }
    }
}

fn line_of_sight(raw: &RawLineOfSight, line: &RawLine) -> LineOfSight {
    let metres = |given: Option<Distance>| given.map_or(0.0, |given| given.0);
    let hidden = line.tunnels.iter().map(|tunnel| Stretch {
        from_m: tunnel.from.0 - metres(tunnel.shadow_before),
        to_m: tunnel.to.0 + metres(tunnel.shadow_behind),
    });
    let filled = line.tunnels.iter().filter_map(|tunnel| {
        let reach_m = tunnel.gap_filler_reach?.0;
        Some(Stretch {
            from_m: tunnel.from.0 - reach_m,
            to_m: tunnel.to.0 + reach_m,
        })
    });
    let antennas = raw.antennas.as_ref();
    LineOfSight {
        hidden: hidden.collect(),
        filled: filled.collect(),
        antennas: Antennas {
            count: antennas.map_or(1, |antennas| antennas.count),
            spacing_m: metres(antennas.map(|antennas| antennas.spacing)),
        },
        repointing: or(raw.repointing, Duration::from_millis(500)),
        synchronisation: or(raw.synchronisation, Duration::from_millis(50)),
        announced: or(raw.announced, Duration::ZERO),
    }
}

fn coverage(raw: &RawCoverage, path: &Path, report: &mut Report<'_>) -> Option<Coverage> {
    let access_points_m = access_points(raw, path, report)?;
    let height = |given: Option<Distance>| given.map_or(1.5, |height| height.0);
    let heights_m = [raw.access_point_height, raw.mobile_height].map(height);
    for (key, height) in ["access_point_height", "mobile_height"]
        .into_iter()
        .zip(heights_m)
    {
        if height <= 0.0 {
            let message =
                "is on the ground, where nothing is received; expected a height above zero";
            report.wrong(&path.key(key), message.to_owned());
            return None;
        }
    }
    let power =
        |given: Option<super::units::Power>, default| given.map_or(default, |power| power.0);
    let coverage = Coverage {
        access_points_m,
        radio: TwoRay {
            transmit_power_dbm: power(raw.transmit_power, 20.0),
            frequency_hz: raw.frequency.map_or(2.4e9, |frequency| frequency.0),
            heights_m,
        },
        threshold_dbm: power(raw.threshold, -80.0),
        margin_db: raw.margin_db.unwrap_or(3.0),
        ready_after: or(raw.synchronisation, Duration::from_millis(50)),
    };
    let range_m = coverage.radio.range_m(coverage.threshold_dbm);
    if !(1.0..=END_OF_LINE_M).contains(&range_m) {
        let message = format!(
            "reaches {range_m:.3} m; expected a transmit_power and a threshold with which it reaches 1 m to 100000 km"
        );
        report.wrong(path, message);
        return None;
    }
    Some(coverage)
}

/// Resolves the positions of access points.
fn access_points(raw: &RawCoverage, path: &Path, report: &mut Report<'_>) -> Option<Vec<f64>> {
    let from = raw.from.0;
    let (to, spacing) = match (raw.to, raw.spacing) {
        (None, None) => return Some(vec![from]),
        (Some(to), Some(spacing)) => (to.0, spacing.0),
        (Some(_), None) => {
            let message = "key \"spacing\" is missing; expected a distance, like \"400 m\"";
            report.wrong_key(path, message.to_owned());
            return None;
        }
        (None, Some(_)) => {
            let message = "goes with \"to\", the position of the last access point";
            report.wrong_key(&path.key("spacing"), message.to_owned());
            return None;
        }
    };
    if to < from {
        let message = "is before the first access point";
        report.wrong(&path.key("to"), message.to_owned());
        return None;
    }
    let gaps = ((to - from) / spacing).ceil();
    if gaps.is_nan() || gaps >= MOST_ACCESS_POINTS {
        let message = format!(
            "would make more than {MOST_ACCESS_POINTS} access points; expected a longer distance"
        );
        report.wrong(&path.key("spacing"), message);
        return None;
    }
    let place = |number: u32| from + (to - from) * f64::from(number) / gaps.max(1.0);
    Some((0..=gaps as u32).map(place).collect())
}

/// Sets shadowing, which the antennas of a mobile that is received along a line meet one after the other.
pub(super) fn shadowing(
    raw: &RawLink,
    path: &Path,
    (config, along): (&mut LinkConfig, Option<&AlongLine>),
    end: Instant,
    report: &mut Report<'_>,
) {
    let Some(shadowing) = raw.kind.settings().shadowing() else {
        return;
    };
    let (antennas, antennas_apart) = match along {
        Some(AlongLine {
            reception: Reception::LineOfSight(sight),
            run,
            ..
        }) => {
            let apart = sight.antennas.spacing_m / run.speed_m_s;
            (sight.antennas.count, Duration::from_secs_f64(apart))
        }
        _ => (1, Duration::ZERO),
    };
    let model = Shadowing {
        mean_clear: shadowing.mean_clear.0,
        mean_shadow: shadowing.mean_shadow.0,
        antennas,
        antennas_apart,
    };
    let cycle = (model.mean_clear + model.mean_shadow).as_nanos().max(1);
    // The first antenna meets shadows ahead of the last one.
    let ahead = model.antennas_apart.saturating_mul(u64::from(antennas - 1));
    let shadows = (end + ahead).as_nanos() / cycle;
    if shadows > MOST_EVENTS {
        let message = match antennas {
            1 => format!("would occur {shadows} times; choose longer mean times"),
            _ => format!(
                "would occur {shadows} times until the last antenna has met them; choose longer mean times, or antennas \
                 closer to each other"
            ),
        };
        report.wrong(&path.key("shadowing"), message);
    }
    let LinkKind { down, up, .. } = &mut **config;
    for direction in [down, up] {
        direction.channel.shadowing = Some(model);
    }
}

fn or(given: Option<super::units::Time>, default: Duration) -> Duration {
    given.map_or(default, |time| time.0)
}
