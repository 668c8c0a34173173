//! Values of a configuration, valid once parsed.

use baton_proto::rate::DataRate;
use baton_proto::time::Duration;
use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::prefix::{Ipv6Prefix, Prefix};
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use schemars::JsonSchema;
use serde::Deserialize;

/// An IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("format" = "ipv6"))]
pub struct Address(pub Ipv6Addr);

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        let wrong = |_| format!("\"{text}\": expected an IPv6 address, such as \"2001:db8::1\"");
        text.parse().map(Address).map_err(wrong)
    }
}

/// An IPv4 or IPv6 network: a prefix and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = r"^[0-9A-Fa-f:.]+/[0-9]{1,3}$"))]
pub struct Network(#[schemars(with = "String")] pub Prefix);

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Network, String> {
        prefix(&text).map(Network).ok_or_else(|| {
            format!(
                "\"{text}\": expected an IPv4 or IPv6 prefix with its length and no host bits set, such as \"10.1.0.0/16\" \
                 or \"2001:db8:1::/64\""
            )
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An IPv6 network: a prefix and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = r"^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/[0-9]{1,3}$"))]
pub struct Ipv6Network(#[schemars(with = "String")] pub Ipv6Prefix);

impl TryFrom<String> for Ipv6Network {
    type Error = String;

    fn try_from(text: String) -> Result<Ipv6Network, String> {
        match prefix(&text) {
            Some(Prefix::V6(prefix)) => Ok(Ipv6Network(prefix)),
            _ => Err(format!(
                "\"{text}\": expected an IPv6 prefix with its length and no host bits set, such as \"2001:db8:1::/64\""
            )),
        }
    }
}

impl fmt::Display for Ipv6Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Prefix::V6(self.0).fmt(f)
    }
}

/// Parses a prefix with its length, and zeros after the prefix.
fn prefix(text: &str) -> Option<Prefix> {
    let (address, length) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let prefix = Prefix::new(address, length.parse().ok()?)?;
    (prefix.address() == address).then_some(prefix)
}

/// A secret of 20 bytes, as HMAC-SHA1's key (RFC 4285 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = r"^[0-9A-Fa-f]{40}$"))]
pub struct Secret(#[schemars(with = "String")] pub [u8; 20]);

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Secret, Self::Error> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|digit| digit.to_digit(16).map(|value| value as u8))
            .collect();
        // The value is not repeated: a near miss of a secret is secret, too.
        match digits {
            Some(digits) if digits.len() == 40 => Ok(Secret(core::array::from_fn(|place| {
                digits[2 * place] << 4 | digits[2 * place + 1]
            }))),
            _ => Err("expected 40 hexadecimal digits, such as `openssl rand -hex 20` prints"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Largest packet of a device, in bytes: from the least that IPv6 allows (1280, RFC 8200 section 5) to the longest packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline, extend("minimum" = 1280, "maximum" = 65_535))]
pub struct Mtu(pub u32);

impl Default for Mtu {
    fn default() -> Mtu {
        Mtu(1500)
    }
}

impl TryFrom<i64> for Mtu {
    type Error = String;

    fn try_from(bytes: i64) -> Result<Mtu, String> {
        within(bytes, 1280, 65_535, "bytes").map(Mtu)
    }
}

/// Pattern of an address with a port, for editors.
pub(crate) const SOCKET_ADDRESS: &str = r"^([0-9.]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$";
/// Pattern of a time, for editors.
const TIME_PATTERN: &str = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|µs|ms|s|min|h|d)$";

/// A time with its unit, zero included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = TIME_PATTERN))]
pub struct Time(#[schemars(with = "String")] pub Duration);

/// Units of time, in nanoseconds.
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
/// Maximum time, in nanoseconds: ten years, as in a scenario.
const LONGEST_TIME: f64 = 3650.0 * 86_400e9;

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Time, String> {
        let read = || {
            let time = number_with_unit(&text, &TIME_UNITS)?;
            let is_time = (0.0..=LONGEST_TIME).contains(&time);
            is_time.then(|| Time(Duration::from_nanos(time.round() as u64)))
        };
        read().ok_or_else(|| {
            format!(
                "\"{text}\": expected a number with ns, us, ms, s, min, h or d, up to ten years, such as \"100 ms\""
            )
        })
    }
}

/// Pattern of a rate, for editors.
const RATE_PATTERN: &str = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(bit/s|kbit/s|Mbit/s|Gbit/s)$";

/// A rate of IP packets with its unit, up to a terabit per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = RATE_PATTERN))]
pub struct Rate(#[schemars(with = "String")] pub DataRate);

/// Units of rates, in bits per second.
const RATE_UNITS: [(&str, f64); 4] = [
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
];

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Rate, String> {
        let rate = number_with_unit(&text, &RATE_UNITS);
        match rate {
            Some(rate) if (1.0..=1e12).contains(&rate) => {
                Ok(Rate(DataRate::from_bits_per_second(rate.round() as u64)))
            }
            _ => Err(format!(
                "\"{text}\": expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, up to 1000 Gbit/s, such as \"2 Mbit/s\""
            )),
        }
    }
}

/// Reads a number followed by one of the units.
fn number_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let end = text.find(char::is_alphabetic)?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number.trim_end().parse::<f64>().ok()? * factor)
}

/// Lifetime of a binding: from the shortest that a message can say (4 s, RFC 6275 section 6.1.7) to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = TIME_PATTERN))]
pub struct Lifetime(#[schemars(with = "String")] pub BindingLifetime);

/// Ten minutes, chosen: a mobile that is gone for good is forgotten after that time, and others renew their bindings
/// every 7.5 minutes.
impl Default for Lifetime {
    fn default() -> Lifetime {
        Lifetime(BindingLifetime::at_most(600))
    }
}

impl TryFrom<String> for Lifetime {
    type Error = String;

    fn try_from(text: String) -> Result<Lifetime, String> {
        let Time(time) = Time::try_from(text.clone())?;
        let seconds = time.as_nanos() / 1_000_000_000;
        match u32::try_from(seconds) {
            Ok(seconds @ 4..=262_140) => Ok(Lifetime(BindingLifetime::at_most(seconds))),
            _ => Err(format!(
                "\"{text}\": expected a time from \"4 s\" to \"262140 s\""
            )),
        }
    }
}

/// The name of a key between a mobile and its home agent; values below 256 are reserved (RFC 4285 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
#[schemars(inline, extend("minimum" = 256, "maximum" = u32::MAX))]
pub struct SecurityParameterIndex(pub u32);

impl Default for SecurityParameterIndex {
    fn default() -> SecurityParameterIndex {
        SecurityParameterIndex(256)
    }
}

impl TryFrom<i64> for SecurityParameterIndex {
    type Error = String;

    fn try_from(number: i64) -> Result<SecurityParameterIndex, String> {
        within(number, 256, u32::MAX, "a number").map(SecurityParameterIndex)
    }
}

fn within(value: i64, least: u32, most: u32, what: &str) -> Result<u32, String> {
    match u32::try_from(value) {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("{value}: expected {what} from {least} to {most}")),
    }
}
