//! A mobile ad hoc network in a scenario: its keys and their resolution.

use super::motion::{Airspace, Course};
use super::{AdHocConfig, Keeping, Routing};
use crate::link::config::{LinkConfig, Medium, QueueLimit};
use crate::link::kinds::{Settings, plain, symmetric};
use crate::position::{Position, Track};
use crate::scenario::document::Path;
use crate::scenario::raw::Named;
use crate::scenario::raw_links::{RawLink, RawQueue};
use crate::scenario::raw_tracks::{RawPosition, RawTrack};
use crate::scenario::resolve::Report;
use crate::scenario::resolve_links::check_name;
use crate::scenario::resolve_tracks;
use crate::scenario::traces::Traces;
use crate::scenario::units::{Distance, Speed};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Largest airspace in metres, which counts as flat: over half of its side the ground falls by 785 m.
const LARGEST_AREA_M: f64 = 200e3;
/// Highest ceiling in metres.
const HIGHEST_M: f64 = 100e3;
/// Greatest speed that a geolocation can tell, in metres a second, an axis.
const FASTEST_M_S: f64 = 3276.0;

/// A mobile ad hoc network between the two nodes, which are its first members. Of the keys of links it has `mtu`,
/// `rate`, `queue`, `bit_error_rate` and `damaged`, both at each hop, `shapers`, `policers` and `ingress_filter`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct RawAdHoc {
    /// Routing protocol of its nodes. Default "aerorp".
    pub routing: Option<RawRouting>,
    /// Treatment of a packet for which no neighbour is better; only with routing = "aerorp". Default "ferry".
    pub keeping: Option<RawKeeping>,
    /// Beacons each second, by which neighbours know each other's position; only with routing = "aerorp". Without them
    /// they overhear it from packets. Default true.
    pub beacons: Option<bool>,
    /// Distance up to which nodes hear each other. Default "27.8 km".
    pub range: Option<Distance>,
    /// Nodes that wander through the airspace and forward for the others. Default 0.
    #[schemars(range(min = 0, max = 1000))]
    pub relays: Option<u32>,
    /// Side of the square airspace. Default "150 km".
    pub area: Option<Distance>,
    /// Height of the airspace. Default "10 km".
    pub ceiling: Option<Distance>,
    /// Centre of the airspace on the ground. Default: latitude 0, longitude 0.
    pub centre: Option<RawPosition>,
    /// Speed of wandering nodes. Default "200 m/s".
    pub speed: Option<Speed>,
    /// Tracks by node: of one of the two nodes, or of a further relay with a name of your choice. Default: the first node
    /// stands in the centre, the second wanders.
    #[serde(default)]
    pub tracks: Named<RawTrack>,
}

/// A routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawRouting {
    /// By position and velocity.
    Aerorp,
    /// On demand (RFC 3561).
    Aodv,
    /// By tables.
    Dsdv,
}

/// Treatment of a packet for which no neighbour is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawKeeping {
    /// Kept until a better neighbour is met.
    Ferry,
    /// Kept for 30 s, at most 64 of them.
    Buffer,
    /// Dropped.
    Drop,
}

impl Settings for RawAdHoc {
    fn shares(key: &str) -> bool {
        let own = [
            "between",
            "mtu",
            "rate",
            "queue",
            "bit_error_rate",
            "damaged",
            "shapers",
            "policers",
            "ingress_filter",
        ];
        own.contains(&key)
    }

    fn link(&self, name: &str) -> Option<LinkConfig> {
        // The rate is that of study A's airborne network. The queue is chosen: a node that has ferried a packet a second
        // for a quarter of an hour can send all of them.
        let rate = DataRate::from_bits_per_second(5_000_000);
        let direction = plain(rate, Duration::ZERO, QueueLimit::Packets(1000));
        Some(symmetric(name, Medium::FullDuplex, direction))
    }

    fn check(&self, wrong: &mut dyn FnMut(&str, String)) {
        if matches!(self.routing, None | Some(RawRouting::Aerorp)) {
            return;
        }
        let own = [
            ("keeping", self.keeping.is_some()),
            ("beacons", self.beacons.is_some()),
        ];
        for (key, _) in own.into_iter().filter(|(_, is_given)| *is_given) {
            let message = format!("\"{key}\" is AeroRP's; expected routing = \"aerorp\" with it");
            wrong(key, message);
        }
    }

    fn ad_hoc(&self) -> Option<&RawAdHoc> {
        Some(self)
    }
}

/// Sets the network of a link, if it is of this kind.
pub(crate) fn resolve(
    link: &RawLink,
    path: &Path,
    config: &mut LinkConfig,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) {
    let Some(raw) = link.kind.settings().ad_hoc() else {
        return;
    };
    if let Some(RawQueue::Managed(_)) = link.both.queue {
        let message =
            "has no management in a mobile ad hoc network; expected a size, like \"1000 packets\"";
        report.wrong(&path.key("queue"), message.to_owned());
    }
    let airspace = airspace(raw, path, report);
    let mut courses = vec![
        Course::Track(Arc::new(Track::fixed(airspace.centre))),
        Course::Wandering(airspace),
    ];
    let relays = raw.relays.unwrap_or(0) as usize;
    courses.extend(std::iter::repeat_n(Course::Wandering(airspace), relays));
    for (name, track) in &raw.tracks.0 {
        let path = path.key("tracks").key(name);
        check_name(name, &path, report);
        let Some((track, jitter)) = resolve_tracks::track(track, &path, traces, report) else {
            continue;
        };
        if !jitter.is_zero() {
            let message =
                "has no effect on a node of a mobile ad hoc network; expected no such key";
            report.wrong_key(&path.key("begin_jitter"), message.to_owned());
        }
        let course = Course::Track(Arc::new(track));
        let ends = link.between.iter().flatten();
        match ends.into_iter().position(|end| end == name) {
            Some(end) => courses[end] = course,
            None => courses.push(course),
        }
    }
    let network = AdHocConfig {
        routing: routing(raw),
        range_m: raw.range.map_or(27_800.0, |range| range.0),
        courses,
    };
    config.medium = Medium::AdHoc(network.into());
}

/// Reports a change of a network that has no effect: of one direction alone, or of another key than those it has.
pub(crate) fn check_change(
    before: &LinkConfig,
    after: &LinkConfig,
    path: &Path,
    report: &mut Report<'_>,
) {
    if !matches!(after.medium, Medium::AdHoc(_)) {
        return;
    }
    let mut allowed = before.down.clone();
    allowed.rate = after.down.rate;
    allowed.queue.limit = after.down.queue.limit;
    allowed.channel.bit_error_rate = after.down.channel.bit_error_rate;
    allowed.channel.damaged = after.down.channel.damaged;
    if after.down != allowed || after.up != allowed {
        let message = "changes a mobile ad hoc network, of which only mtu, state, and the rate, queue, bit_error_rate and damaged of \
                       all nodes can change";
        report.wrong(path, message.to_owned());
    }
}

fn routing(raw: &RawAdHoc) -> Routing {
    match raw.routing {
        None | Some(RawRouting::Aerorp) => Routing::Aerorp {
            keeping: match raw.keeping {
                None | Some(RawKeeping::Ferry) => Keeping::Ferry,
                Some(RawKeeping::Buffer) => Keeping::Buffer,
                Some(RawKeeping::Drop) => Keeping::Drop,
            },
            beacons: raw.beacons.unwrap_or(true),
        },
        Some(RawRouting::Aodv) => Routing::Aodv,
        Some(RawRouting::Dsdv) => Routing::Dsdv,
    }
}

fn airspace(raw: &RawAdHoc, path: &Path, report: &mut Report<'_>) -> Airspace {
    let speed_m_s = raw.speed.map_or(200.0, |speed| speed.0);
    let least = speed_m_s;
    let mut length = |key: &str, given: Option<Distance>, default: f64, most: f64| {
        let length = given.map_or(default, |given| given.0);
        if !(least..=most).contains(&length) {
            let message = format!(
                "{length} m does not fit; expected {least} m, a second's flight, to {most} m"
            );
            report.wrong(&path.key(key), message);
        }
        length
    };
    let airspace = Airspace {
        centre: raw
            .centre
            .as_ref()
            .map_or(Position::new(0.0, 0.0, 0.0), resolve_tracks::position),
        side_m: length("area", raw.area, 150e3, LARGEST_AREA_M),
        height_m: length("ceiling", raw.ceiling, 10e3, HIGHEST_M),
        speed_m_s,
    };
    if speed_m_s > FASTEST_M_S {
        let message = format!("{speed_m_s} m/s does not fit; expected at most {FASTEST_M_S} m/s");
        report.wrong(&path.key("speed"), message);
    }
    airspace
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn read(keys: &str, rest: &str) -> Result<AdHocConfig, String> {
        let text = format!(
            "name = \"n\"\nduration = \"9 s\"\n[links.air]\nbetween = [\"ground\", \"aircraft\"]\nkind = \"ad-hoc\"\n{keys}\n{rest}"
        );
        let loaded = parse(&text, "test.toml", std::path::Path::new(""), &[]);
        let loaded = loaded.map_err(|error| error.to_string())?;
        match &loaded.scenario.links[0].config.medium {
            Medium::AdHoc(network) => Ok((**network).clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ends_and_relays_have_their_courses() {
        let alone = read("", "").unwrap();
        assert_eq!(alone.range_m, 27_800.0);
        let [Course::Track(ground), Course::Wandering(airspace)] = &alone.courses[..] else {
            panic!("{:?}", alone.courses);
        };
        assert_eq!(
            ground.position(baton_proto::time::Instant::ZERO),
            airspace.centre
        );
        let keys = "relays = 2\nspeed = \"360 km/h\"\ncentre = { latitude = 35.0, longitude = -118.0 }\n\
                    tracks.aircraft.position = { latitude = 35.1, longitude = -118.0, altitude = \"9 km\" }\n\
                    tracks.tanker.position = { latitude = 35.2, longitude = -118.0, altitude = \"8 km\" }";
        let many = read(keys, "").unwrap();
        let altitude = |course: &Course| match course {
            Course::Track(track) => Some(
                track
                    .position(baton_proto::time::Instant::ZERO)
                    .altitude_m(),
            ),
            Course::Wandering(airspace) => {
                assert_eq!(
                    (airspace.speed_m_s, airspace.centre.latitude_deg().round()),
                    (100.0, 35.0)
                );
                None
            }
        };
        let altitudes: Vec<Option<f64>> = many.courses.iter().map(altitude).collect();
        assert_eq!(
            altitudes,
            [Some(0.0), Some(9000.0), None, None, Some(8000.0)]
        );
    }

    #[test]
    fn mistakes_are_named() {
        let change = |keys: &str| format!("[[changes]]\nat = \"1 s\"\nlink = \"air\"\n{keys}\n");
        for (keys, rest, part) in [
            (
                "routing = \"olsr\"",
                "",
                "links.air.routing: unknown routing \"olsr\" (valid: aerorp, aodv, dsdv)",
            ),
            (
                "routing = \"aodv\"\nbeacons = true",
                "",
                "links.air.beacons: \"beacons\" is AeroRP's; expected routing = \"aerorp\" with it",
            ),
            (
                "routing = \"dsdv\"\nkeeping = \"drop\"",
                "",
                "links.air.keeping: \"keeping\" is AeroRP's",
            ),
            (
                "delay = \"1 ms\"",
                "",
                "\"delay\" does not go with kind = \"ad-hoc\"",
            ),
            (
                "queue = { management = \"priority\" }",
                "",
                "links.air.queue: has no management in a mobile ad hoc network",
            ),
            (
                "area = \"100 m\"",
                "",
                "links.air.area: 100 m does not fit; expected 200 m, a second's flight, to 200000 m",
            ),
            (
                "ceiling = \"101 km\"",
                "",
                "links.air.ceiling: 101000 m does not fit",
            ),
            (
                "speed = \"4000 m/s\"",
                "",
                "links.air.speed: 4000 m/s does not fit; expected at most 3276 m/s",
            ),
            (
                "relays = 1001",
                "",
                "links.air.relays: 1001 is out of range; expected a whole number from 0 to 1000",
            ),
            (
                "tracks.aircraft.along = \"valley\"",
                "",
                "links.air.tracks.aircraft.along: is not a place on the earth",
            ),
            (
                "",
                &change("packet_error_rate = 0.1"),
                "of which only mtu, state, and the rate, queue, bit_error_rate and damaged of all nodes can change",
            ),
            (
                "",
                &change("up = { rate = \"1 Mbit/s\" }"),
                "of which only mtu, state",
            ),
        ] {
            let said = read(keys, rest).unwrap_err();
            assert!(said.contains(part), "{keys}{rest}: {said}");
        }
        let allowed = "rate = \"1 Mbit/s\"\nbit_error_rate = 1e-5\ndamaged = \"delivered\"";
        assert!(read("", &change(allowed)).is_ok());
    }
}
