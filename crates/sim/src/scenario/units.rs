//! Values with units, written as text: `"20 ms"`, `"5 Mbit/s"`, `"16 kB"`, `"100 packets"`.

use super::defaults;
use super::error::{nearest, quoted};
use super::ipv4_prefix::Ipv4Prefix;
use super::profiles;
use crate::link::config::QueueLimit;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use baton_proto::wire::prefix::Ipv6Prefix;
use core::net::Ipv6Addr;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Longest time in a scenario: ten years.
pub const LONGEST_TIME: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Highest rate: 1 Tbit/s.
pub const HIGHEST_RATE: DataRate = DataRate::from_bits_per_second(1_000_000_000_000);
/// Largest size: 1 PB.
pub const LARGEST_SIZE: u64 = 1_000_000_000_000_000;
/// Most packets of a queue's limit.
pub const MOST_QUEUED_PACKETS: u64 = 1_000_000_000;

/// A time, zero included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time(pub Duration);

impl From<Time> for String {
    fn from(time: Time) -> String {
        defaults::time(time.0)
    }
}

/// A time above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct PositiveTime(pub Duration);

impl From<PositiveTime> for String {
    fn from(time: PositiveTime) -> String {
        defaults::time(time.0)
    }
}

/// A data rate of at least 1 bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Rate(pub DataRate);

/// Parses the prefix of a network.
pub(crate) fn prefix(text: &str) -> Result<Ipv6Prefix, String> {
    let (address, length) = text
        .split_once('/')
        .ok_or("has no prefix length after a \"/\"")?;
    let address: Ipv6Addr = address
        .parse()
        .map_err(|_| format!("{} is not an IPv6 address", quoted(address)))?;
    let length: u8 = length
        .parse()
        .ok()
        .filter(|length| *length <= 64)
        .ok_or_else(|| format!("{} is not a prefix length from 0 to 64", quoted(length)))?;
    // RFC 4291 section 2.4: ::/8 is reserved, ff00::/8 is multicast, and fe80::/10 link-local.
    if address.octets()[0] == 0 || address.is_multicast() || address.is_unicast_link_local() {
        return Err(NO_HOSTS.to_owned());
    }
    let prefix = Ipv6Prefix::new(address, length).filter(|prefix| prefix.address() == address);
    prefix.ok_or_else(|| "has host bits set".to_owned())
}

/// Reason for refusing a prefix whose addresses are not routable unicast.
const NO_HOSTS: &str = "has no addresses at which routers can reach hosts";

/// The prefix of a home network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HomePrefix {
    /// Prefix for Mobile IPv6.
    Ipv6(Ipv6Prefix),
    /// Prefix for Mobile IPv4.
    Ipv4(Ipv4Prefix),
}

/// Parses the prefix of a home network.
pub(crate) fn home_prefix(text: &str) -> Result<HomePrefix, String> {
    match text.contains(':') {
        true => prefix(text).map(HomePrefix::Ipv6),
        false => match Ipv4Prefix::parse(text)? {
            prefix if prefix.is_for_hosts() => Ok(HomePrefix::Ipv4(prefix)),
            _ => Err(NO_HOSTS.to_owned()),
        },
    }
}

/// A number of bytes, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size(pub u64);

impl From<Size> for String {
    fn from(size: Size) -> String {
        defaults::whole(size.0, &defaults::SIZES)
    }
}

/// A distance or a height, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Distance(pub f64);

/// A speed above zero, in metres a second.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Speed(pub f64);

/// A radio frequency above zero, in hertz.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Frequency(pub f64);

/// A received power, in dBm.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Power(pub f64);

/// Limit of a queue: packets or bytes, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct QueueSize(pub QueueLimit);

/// A kind of text in a scenario: its check and its description. The schema names it as `format`.
pub(super) struct Format {
    /// Name in the schema.
    pub name: &'static str,
    /// Description of valid values.
    pub expected: &'static str,
    /// Check of a text; an error is worded to follow the text in a sentence.
    pub check: fn(&str) -> Result<(), String>,
}

/// Syntax of a time.
pub(super) const EXPECTED_TIME: &str = "a number with ns, us, ms, s, min, h or d, like \"20 ms\"";
const EXPECTED_PREFIX: &str = "an IPv6 prefix of at most 64 bits, like \"2001:db8:1::/64\"";
const EXPECTED_HOME_PREFIX: &str = "an IPv6 prefix of at most 64 bits, like \"2001:db8:1::/64\", or an IPv4 prefix of at most 30 bits, like \"192.0.2.0/24\"";
const EXPECTED_RATE: &str = "a number with bit/s, kbit/s, Mbit/s or Gbit/s, like \"5 Mbit/s\"";
const EXPECTED_SIZE: &str = "a number with B, kB, MB, GB, KiB or MiB, like \"16 kB\"";

/// All kinds of text in the schema.
pub(super) const FORMATS: [Format; 13] = [
    Format {
        name: "time",
        expected: EXPECTED_TIME,
        check: |text| time(text).map(drop),
    },
    Format {
        name: "positive-time",
        expected: EXPECTED_TIME,
        check: |text| positive_time(text).map(drop),
    },
    Format {
        name: "ipv6-prefix",
        expected: EXPECTED_PREFIX,
        check: |text| prefix(text).map(drop),
    },
    Format {
        name: "ip-prefix",
        expected: EXPECTED_HOME_PREFIX,
        check: |text| home_prefix(text).map(drop),
    },
    Format {
        name: "data-rate",
        expected: EXPECTED_RATE,
        check: |text| rate(text).map(drop),
    },
    Format {
        name: "size",
        expected: EXPECTED_SIZE,
        check: |text| size(text).map(drop),
    },
    Format {
        name: "queue-size",
        expected: "a number of packets or bytes, like \"100 packets\" or \"64 kB\"",
        check: |text| queue_size(text).map(drop),
    },
    Format {
        name: "distance",
        expected: "a number with m, km, ft or NM, like \"225 km\"",
        check: |text| distance(text).map(drop),
    },
    Format {
        name: "speed",
        expected: "a number with m/s, km/h or kt, like \"800 km/h\"",
        check: |text| speed(text).map(drop),
    },
    Format {
        name: "frequency",
        expected: "a number with kHz, MHz or GHz, like \"993.5 MHz\"",
        check: |text| frequency(text).map(drop),
    },
    Format {
        name: "power",
        expected: "a number with dBm, like \"-95 dBm\"",
        check: |text| power(text).map(drop),
    },
    Format {
        name: "name",
        expected: "1 to 64 letters, digits, \"-\" and \"_\", the first a letter or digit",
        check: name,
    },
    Format {
        name: "python-class",
        expected: "\"python:module.Class\" for one in Python",
        check: profiles::python_class,
    },
];

macro_rules! text_type {
    ($type:ident, $format:literal, $parse:path) => {
        impl TryFrom<String> for $type {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                $parse(&text)
                    .map($type)
                    .map_err(|why| format!("{} {why}", quoted(&text)))
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $format })
            }
        }
    };
}

text_type!(Time, "time", time);
text_type!(PositiveTime, "positive-time", positive_time);
text_type!(Rate, "data-rate", rate);
text_type!(Size, "size", size);
text_type!(QueueSize, "queue-size", queue_size);
text_type!(Distance, "distance", distance);
text_type!(Speed, "speed", speed);
text_type!(Frequency, "frequency", frequency);
text_type!(Power, "power", power);

const TIME_UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];
const RATE_UNITS: [(&str, f64); 4] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];
const SIZE_UNITS: [(&str, f64); 6] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
];
const DISTANCE_UNITS: [(&str, f64); 4] = [("m", 1.0), ("km", 1e3), ("ft", 0.3048), ("NM", 1852.0)];
const SPEED_UNITS: [(&str, f64); 3] = [("m/s", 1.0), ("km/h", 1.0 / 3.6), ("kt", 1852.0 / 3600.0)];
const FREQUENCY_UNITS: [(&str, f64); 3] = [("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
const PACKET_UNITS: [(&str, f64); 2] = [("packets", 1.0), ("packet", 1.0)];

/// Parses a text with a unit as a value of this format in a scenario's schema: `time` and `positive-time` in seconds,
/// `data-rate` in bit/s, `size` in bytes, `distance` in metres, `speed` in m/s, `frequency` in hertz, `power` in dBm.
/// The error gives the fault and the expected value, worded to follow the text in a sentence.
pub fn quantity_of(format: &str, text: &str) -> Result<f64, String> {
    let value = match format {
        "time" => time(text).map(Duration::as_secs_f64),
        "positive-time" => positive_time(text).map(Duration::as_secs_f64),
        "data-rate" => rate(text).map(|rate| rate.bits_per_second() as f64),
        "size" => size(text).map(|bytes| bytes as f64),
        "distance" => distance(text),
        "speed" => speed(text),
        "frequency" => frequency(text),
        "power" => power(text),
        _ => return Err(format!("cannot be read as {}", quoted(format))),
    };
    let expected = |known: &&Format| known.name == format;
    value.map_err(|why| match FORMATS.iter().find(expected) {
        Some(known) => format!("{why}; expected {}", known.expected),
        None => why,
    })
}

/// Splits `text` into number and unit; the result is in the smallest unit, not negative and finite.
fn quantity(text: &str, what: &str, units: &[&[(&str, f64)]]) -> Result<f64, String> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || "+-._".contains(*c) || exponent(text, *at)))
        .map_or(text.len(), |(at, _)| at);
    let (number, unit) = (&text[..split], text[split..].trim());
    let units = || units.iter().copied().flatten();
    let factor = units().find(|(name, _)| *name == unit);
    let number: f64 = match number.replace('_', "").parse() {
        Ok(number) => number,
        Err(_) => return Err(format!("is not a {what}")),
    };
    let Some((_, factor)) = factor else {
        if unit.is_empty() {
            return Err("has no unit".to_owned());
        }
        return Err(match nearest(unit, units().map(|(name, _)| *name)) {
            Some(name) => format!("is not a {what} (did you mean \"{number} {name}\"?)"),
            None => format!("is not a {what}"),
        });
    };
    let scaled = number * factor;
    if scaled < 0.0 {
        Err("is negative".to_owned())
    } else if scaled.is_finite() {
        Ok(scaled)
    } else {
        Err("is far too large".to_owned())
    }
}

/// Returns true if the letter at `at` is the `e` of a number such as `1e-3`.
fn exponent(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let after = bytes[at + 1..]
        .iter()
        .find(|byte| !matches!(byte, b'+' | b'-'));
    at > 0
        && matches!(bytes[at], b'e' | b'E')
        && bytes[at - 1].is_ascii_digit()
        && after.is_some_and(u8::is_ascii_digit)
}

/// Parses a time, zero included, to the nearest nanosecond.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let nanoseconds = libm::round(quantity(text, "time", &[&TIME_UNITS])?);
    if nanoseconds > LONGEST_TIME.as_nanos() as f64 {
        return Err("is longer than ten years (3650 d)".to_owned());
    }
    Ok(Duration::from_nanos(nanoseconds as u64))
}

fn positive_time(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("is zero".to_owned()),
        time => Ok(time),
    }
}

pub(super) fn rate(text: &str) -> Result<DataRate, String> {
    let bits = libm::round(quantity(text, "data rate", &[&RATE_UNITS])?);
    if bits < 1.0 {
        return Err("is below 1 bit/s".to_owned());
    }
    if bits > HIGHEST_RATE.bits_per_second() as f64 {
        return Err("is above 1000 Gbit/s".to_owned());
    }
    Ok(DataRate::from_bits_per_second(bits as u64))
}

fn size(text: &str) -> Result<u64, String> {
    bytes(quantity(text, "size", &[&SIZE_UNITS])?)
}

fn bytes(bytes: f64) -> Result<u64, String> {
    if bytes < 1.0 {
        return Err("is less than a byte".to_owned());
    }
    if bytes > LARGEST_SIZE as f64 {
        return Err("is above 1000000 GB".to_owned());
    }
    Ok(libm::round(bytes) as u64)
}

fn queue_size(text: &str) -> Result<QueueLimit, String> {
    let units: [&[(&str, f64)]; 2] = [&PACKET_UNITS, &SIZE_UNITS];
    let number = quantity(text, "queue size", &units)?;
    if !text.contains("packet") {
        return bytes(number).map(QueueLimit::Bytes);
    }
    if number < 1.0 {
        return Err("holds no packet".to_owned());
    }
    if number > MOST_QUEUED_PACKETS as f64 {
        return Err("is above 1000000000 packets".to_owned());
    }
    Ok(QueueLimit::Packets(libm::round(number) as u32))
}

/// Parses a distance of at most 100 000 km: beyond geostationary satellites.
fn distance(text: &str) -> Result<f64, String> {
    let metres = quantity(text, "distance", &[&DISTANCE_UNITS])?;
    if metres > 1e8 {
        return Err("is above 100000 km".to_owned());
    }
    Ok(metres)
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = quantity(text, "speed", &[&SPEED_UNITS])?;
    match speed {
        ..1e-3 => Err("is below 1 mm a second".to_owned()),
        1e5.. => Err("is above 100 km a second".to_owned()),
        _ => Ok(speed),
    }
}

fn frequency(text: &str) -> Result<f64, String> {
    let frequency = quantity(text, "frequency", &[&FREQUENCY_UNITS])?;
    if !(1e3..=1e12).contains(&frequency) {
        return Err("is not from 1 kHz to 1000 GHz".to_owned());
    }
    Ok(frequency)
}

fn power(text: &str) -> Result<f64, String> {
    let number = text
        .trim()
        .strip_suffix("dBm")
        .ok_or("does not have the unit dBm")?;
    let power: f64 = number.trim().parse().map_err(|_| "is not a power")?;
    if !(-300.0..=300.0).contains(&power) {
        return Err("is not from -300 to 300 dBm".to_owned());
    }
    Ok(power)
}

/// Parses a name that may become part of file names and of dotted keys.
fn name(text: &str) -> Result<(), String> {
    let valid = text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if valid {
        Ok(())
    } else {
        Err("is not a name".to_owned())
    }
}
