//! Values of a configuration that cannot be wrong once they are read.

use baton_proto::wire::mobility_header::BindingLifetime;
use baton_proto::wire::prefix::Ipv6Prefix;
use core::fmt;
use core::net::Ipv6Addr;
use serde::Deserialize;

/// An IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Address(pub Ipv6Addr);

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        let wrong = |_| format!("\"{text}\": expected an IPv6 address, such as \"2001:db8::1\"");
        text.parse().map(Address).map_err(wrong)
    }
}

/// An IPv6 network: a prefix and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Network(pub Ipv6Prefix);

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Network, String> {
        let read = || {
            let (address, length) = text.split_once('/')?;
            let address: Ipv6Addr = address.parse().ok()?;
            let prefix = Ipv6Prefix::new(address, length.parse().ok()?)?;
            (prefix.address() == address).then_some(Network(prefix))
        };
        read().ok_or_else(|| {
            format!(
                "\"{text}\": expected an IPv6 prefix with its length, and zeros behind it, such as \"2001:db8:1::/64\""
            )
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.address(), self.0.length())
    }
}

/// A secret of 20 bytes, as HMAC-SHA1's key (RFC 4285 section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret(pub [u8; 20]);

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Secret, Self::Error> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .map(|digit| digit.to_digit(16).map(|value| value as u8))
            .collect();
        // The value is not repeated: what is nearly a secret is one, too.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
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

/// Lifetime of a binding, in seconds: from the shortest that a message can say (4 s, RFC 6275 section 6.1.7) to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub struct LifetimeS(u32);

impl LifetimeS {
    /// The lifetime as messages say it, in steps of 4 s.
    pub const fn as_binding_lifetime(self) -> BindingLifetime {
        BindingLifetime::at_most(self.0)
    }
}

/// Ten minutes, chosen: a mobile that is gone for good is forgotten after that, and another one renews its binding each 7.5
/// minutes.
impl Default for LifetimeS {
    fn default() -> LifetimeS {
        LifetimeS(600)
    }
}

impl TryFrom<i64> for LifetimeS {
    type Error = String;

    fn try_from(seconds: i64) -> Result<LifetimeS, String> {
        within(seconds, 4, 262_140, "seconds").map(LifetimeS)
    }
}

/// The name of a key between a mobile and its home agent; values below 256 are reserved (RFC 4285 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
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
