//! Protection of traffic between a mobile router and its home agent across the Internet.

use crate::config::{Secret, SecurityParameterIndex};
use crate::keys::Public;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Protection, configured at both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Encrypted and authenticated by the other end's public key.
    Encrypted {
        /// Public key of the other end.
        public_key: Public,
        /// File with a secret that both ends have in addition to their keys.
        preshared_key: Option<PathBuf>,
    },
    /// Anyone on the path can read, change and redirect the traffic.
    Unencrypted(Unencrypted),
}

/// A shared key, by which registrations alone are authenticated (RFC 4285).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unencrypted {
    /// Index of the key (SPI).
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret that both ends have.
    pub key: Secret,
}

impl Protection {
    /// Returns the protection given by the keys of a configuration, which must be of exactly one kind.
    ///
    /// # Errors
    /// The superfluous or missing keys.
    pub fn of(
        public_key: Option<Public>,
        preshared_key: Option<PathBuf>,
        unencrypted: Option<Unencrypted>,
    ) -> Result<Protection, String> {
        match (public_key, preshared_key, unencrypted) {
            (Some(public_key), preshared_key, None) => Ok(Protection::Encrypted {
                public_key,
                preshared_key,
            }),
            (None, None, Some(unencrypted)) => Ok(Protection::Unencrypted(unencrypted)),
            (None, Some(_), None) => Err("`preshared_key` without `public_key`; expected both".to_owned()),
            (None, None, None) => Err("no protection; expected `public_key`, or `unencrypted` if everybody on the path may \
                                       read and redirect the packets".to_owned()),
            (_, _, Some(_)) => Err("`unencrypted` beside `public_key` or `preshared_key`; expected one of the two".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::parse;
    use crate::home_agent::HomeAgentRole;
    use crate::mobile_router::MobileRouterConfig;
    use crate::protection::Protection;

    const ROUTER: &str = "home_address = \"2001:db8:100::7\"
home_prefix = \"2001:db8:100::/64\"
uplinks = { prefer = [\"wlan0\"] }
[home_agent]
address = \"2001:db8:100::1\"
endpoint = \"198.51.100.1:4191\"
unencrypted = { key = \"00112233445566778899aabbccddeeff01234567\" }
";
    const PUBLIC: &str = "public_key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"\n";

    #[test]
    fn without_encryption_there_is_a_key_with_a_name() {
        let router = parse::<MobileRouterConfig>(ROUTER, "r.toml").unwrap();
        let Protection::Unencrypted(plain) = router.home_agent.protection else {
            panic!("{router:?}");
        };
        assert_eq!(plain.security_parameter_index.0, 256);
        assert_eq!(plain.key.0[..2], [0x00, 0x11]);
        let agent = "private_key = \"k\"\naddress = \"2001:db8:100::1\"\nhome_prefix = \"2001:db8:100::/64\"
[[routers]]\nhome_address = \"2001:db8:100::7\"
unencrypted = { key = \"00112233445566778899aabbccddeeff01234567\", security_parameter_index = 300 }
[[routers]]\nhome_address = \"2001:db8:100::8\"\n";
        let agent = parse::<HomeAgentRole>(&format!("{agent}{PUBLIC}"), "a.toml").unwrap();
        let is_plain = |place: usize| {
            matches!(
                agent.routers[place].protection,
                Protection::Unencrypted { .. }
            )
        };
        assert!(is_plain(0) && !is_plain(1));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let unencrypted = "unencrypted = { key = \"00112233445566778899aabbccddeeff01234567\" }\n";
        let cases = [
            (unencrypted, "", "no protection; expected `public_key`"),
            (
                unencrypted,
                "preshared_key = \"p\"\n",
                "`preshared_key` without `public_key`",
            ),
            (
                unencrypted,
                PUBLIC,
                "r.toml: private_key: missing; expected the file",
            ),
            (
                "unencrypted =",
                "preshared_key = \"p\"\nunencrypted =",
                "`unencrypted` beside",
            ),
            (
                "unencrypted = {",
                "unencrypted = { secret = 1,",
                "unknown field",
            ),
            (
                "home_prefix",
                "private_key = \"k\"\nhome_prefix",
                "private_key: the paths are not encrypted; expected none",
            ),
            (
                "198.51.100.1:4191",
                "[2001:db8::1]:4191",
                "home_agent.endpoint: expected an IPv4 address",
            ),
        ];
        for (text, instead, expected) in cases {
            assert!(ROUTER.contains(text), "{text}");
            let wrong = parse::<MobileRouterConfig>(&ROUTER.replacen(text, instead, 1), "r.toml");
            let message = wrong.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
