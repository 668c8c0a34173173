//! Keys of paths in files and configurations: 32 bytes in base64, as written by WireGuard's tools.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use baton_path::{PresharedKey, PrivateKey, PublicKey};
use core::fmt;
use schemars::JsonSchema;
use serde::Deserialize;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The kernel's randomness; reading blocks until the kernel has gathered some.
pub const RANDOM: &str = "/dev/random";

/// A public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("pattern" = r"^[0-9A-Za-z+/]{43}=$"))]
pub struct Public(#[schemars(with = "String")] pub PublicKey);

impl TryFrom<String> for Public {
    type Error = String;

    fn try_from(text: String) -> Result<Public, String> {
        let key = decode(&text).ok_or_else(|| {
            format!("\"{text}\": expected a public key, 44 characters of base64, as `batond key FILE` prints it")
        })?;
        Ok(Public(PublicKey::from_bytes(key)))
    }
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64_STANDARD.encode(self.0.as_bytes()))
    }
}

/// Reads a private key.
///
/// # Errors
/// The file, the mistake, and the expected value.
pub fn read_private(path: &Path) -> Result<PrivateKey, String> {
    read(path).map(PrivateKey::from_bytes)
}

/// Reads a preshared key.
///
/// # Errors
/// As for [`read_private`].
pub fn read_preshared(path: &Path) -> Result<PresharedKey, String> {
    read(path).map(PresharedKey::from_bytes)
}

/// Writes a new private key into a file that only its owner may read, and returns the public key. Keeps an existing
/// key, and returns its public key.
///
/// # Errors
/// The file, and the kernel's message.
pub fn make(path: &Path) -> Result<Public, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let mut key = BASE64_STANDARD.encode(random().map_err(failed)?);
            key.push('\n');
            file.write_all(key.as_bytes()).map_err(failed)?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    Ok(Public(read_private(path)?.public()))
}

/// Returns random bytes from the kernel.
///
/// # Errors
/// Errors of the kernel.
pub fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    File::open(RANDOM)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read(path: &Path) -> Result<[u8; 32], String> {
    let path = &credential(path);
    let file = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        format!("{file}: the key cannot be read: {error}; `batond key {file}` makes one")
    })?;
    // The text is not repeated: a near miss of a key is secret, too.
    decode(text.trim()).ok_or_else(|| format!("{file}: expected a key, 44 characters of base64"))
}

/// Returns the path of a key: for a bare name, in the folder of a service's credentials, if there is one
/// (systemd.exec(5)).
fn credential(path: &Path) -> PathBuf {
    let folder = env::var_os("CREDENTIALS_DIRECTORY").filter(|_| path.is_relative());
    match folder {
        Some(folder) => Path::new(&folder).join(path),
        None => path.to_owned(),
    }
}

fn decode(text: &str) -> Option<[u8; 32]> {
    BASE64_STANDARD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key pair of RFC 7748 section 6.1, in base64.
    #[test]
    fn a_key_is_read_and_its_public_key_printed() {
        let file = std::env::temp_dir().join(format!("baton-key-{}", std::process::id()));
        fs::write(&file, "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=\n").unwrap();
        let public = make(&file).unwrap().to_string();
        assert_eq!(public, "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=");
        assert_eq!(
            Public::try_from(public.clone()).unwrap().to_string(),
            public
        );
        fs::write(&file, "dwdt\n").unwrap();
        assert!(read_private(&file).unwrap_err().contains("44 characters"));
        fs::remove_file(&file).unwrap();
        let made = make(&file).unwrap();
        assert_eq!(make(&file).unwrap(), made);
        assert!(make(Path::new("/nowhere/key")).is_err());
        fs::remove_file(&file).unwrap();
    }
}
