//! The keys of custody, and the file of its journal.

use super::store::{Store, path};
use super::*;
use baton_proto::gateways::aerotp::JournalStep;
use std::fs;

fn parse(text: &str) -> Result<CustodyConfig, String> {
    let custody: CustodyConfig = toml::from_str(text).map_err(|error| error.to_string())?;
    custody.check().map(|()| custody)
}

#[test]
fn keys_that_are_left_out_have_their_defaults() {
    let memory = CustodyConfig::Memory { bytes: 1 << 28 };
    assert_eq!(parse("kind = \"memory\""), Ok(memory.clone()));
    assert_eq!(CustodyConfig::default(), memory);
    let disk = CustodyConfig::Disk {
        bytes: 1 << 28,
        directory: "/var/lib/batond".into(),
        age: Time(Duration::from_secs(86_400)),
    };
    assert_eq!(parse("kind = \"disk\""), Ok(disk));
}

#[test]
fn wrong_values_are_refused_with_what_is_expected() {
    for (text, words) in [
        ("kind = \"tape\"", "memory"),
        ("kind = \"memory\"\nage = \"1 h\"", "age"),
        ("kind = \"memory\"\nbytes = 1000", "at least 1048576"),
        ("kind = \"disk\"\nage = \"1 ms\"", "at least \"1 s\""),
    ] {
        let refusal = parse(text).unwrap_err();
        assert!(refusal.contains(words), "{refusal}");
    }
}

/// A folder that goes with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("custody-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn until_durable(store: &Store) {
    while !store.poll_durable() {
        assert_eq!(store.trouble(), None);
        std::thread::yield_now();
    }
}

#[test]
fn the_file_has_what_was_written_in_order() {
    let folder = Folder::new("order");
    let waker = Waker::new().unwrap();
    let (store, file) = Store::open(&folder.0, &waker).unwrap();
    assert_eq!(file, b"");
    store.begin(b"first").unwrap();
    for step in [
        JournalStep::Append(b" second".to_vec()),
        JournalStep::Append(b" third".to_vec()),
    ] {
        store.write(step);
        until_durable(&store);
    }
    assert_eq!(fs::read(path(&folder.0)).unwrap(), b"first second third");
    assert_eq!(store.status().file_bytes, 18);
    store.write(JournalStep::Replace(b"new".to_vec()));
    until_durable(&store);
    store.write(JournalStep::Append(b"er".to_vec()));
    until_durable(&store);
    assert_eq!(fs::read(path(&folder.0)).unwrap(), b"newer");
    let another = Store::open(&folder.0, &waker).map(|_| ());
    let refusal = another.unwrap_err();
    assert!(refusal.contains("no other daemon uses"), "{refusal}");
    drop(store);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let waker = Waker::new().unwrap();
    let refusal = Store::open(Path::new("/proc/custody"), &waker).map(|_| ());
    let refusal = refusal.unwrap_err();
    assert!(refusal.contains("/proc/custody"), "{refusal}");
}
