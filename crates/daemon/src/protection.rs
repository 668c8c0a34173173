//! Protection of what crosses the Internet between a mobile router and its home agent.

use crate::config::{Secret, SecurityParameterIndex};
use crate::keys::Public;
use serde::Deserialize;
use std::path::PathBuf;

/// Protection, as both ends have it in their configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Encrypted and authenticated by the other end's public key.
    Encrypted {
        /// Its public key.
        public_key: Public,
        /// The file with a secret that both have beside their keys.
        preshared_key: Option<PathBuf>,
    },
    /// Everybody on the way can read, change and redirect what is carried.
    Unencrypted(Unencrypted),
}

/// A shared key, by which registrations alone are authenticated (RFC 4285).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unencrypted {
    /// Names the key.
    #[serde(default)]
    pub security_parameter_index: SecurityParameterIndex,
    /// The secret that both ends have.
    pub key: Secret,
}

impl Protection {
    /// Reads the keys of which a configuration has one set.
    ///
    /// # Errors
    /// The keys that are too many or not there.
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
            (None, None, None) => Err("no protection; expected `public_key`, or `unencrypted` if everybody on the way may read and redirect what is carried".to_owned()),
            (_, _, Some(_)) => Err("`unencrypted` beside `public_key` or `preshared_key`; expected one of the two".to_owned()),
        }
    }
}
