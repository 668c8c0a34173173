//! The file with the keys of sessions, for whoever is to read a capture of a link.

use baton_path::DatagramKey;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// The file with the keys of all links.
#[derive(Clone, Debug)]
pub struct KeyLog(Arc<File>);

impl KeyLog {
    /// Opens the file to append to it. A new one is readable only by its owner.
    ///
    /// # Errors
    /// The file, the kernel's message, and advice.
    pub fn open(path: &Path) -> Result<KeyLog, String> {
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).mode(0o600).open(path);
        let file = opened.map_err(|error| {
            let path = path.display();
            format!("key_log: {path}: {error}; expected a file in a folder that exists")
        })?;
        Ok(KeyLog(Arc::new(file)))
    }

    /// Appends a key: the receiver's index and the key, in hexadecimal digits.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn add(&self, key: &DatagramKey) -> io::Result<()> {
        let mut line = format!("{:08x} ", key.index);
        line.extend(key.key.iter().map(|byte| format!("{byte:02x}")));
        line.push('\n');
        (&*self.0).write_all(line.as_bytes())
    }
}
