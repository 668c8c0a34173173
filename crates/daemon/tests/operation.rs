//! `batond` as its operator and its service manager see it: words for what is wrong, reloads, and the journal.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A home agent in a network namespace of the calling thread, with a folder of its own. It is killed with this value.
struct HomeAgent {
    folder: PathBuf,
    config: PathBuf,
    daemon: Option<Child>,
}

impl HomeAgent {
    /// Makes the namespace, the folder and the configuration, with further keys.
    fn prepare(name: &str, keys: &str) -> HomeAgent {
        unshare(CloneFlags::CLONE_NEWNET).expect("root may make namespaces");
        switch_ipv6(true);
        let folder = std::env::temp_dir().join(format!("batond-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let config = folder.join("home-agent.toml");
        let key = folder.join("key");
        let made = batond().arg("key").arg(&key).output().unwrap();
        assert!(made.status.success());
        let agent = HomeAgent {
            folder,
            config,
            daemon: None,
        };
        agent.write(keys);
        agent
    }

    fn write(&self, keys: &str) {
        let folder = self.folder.display();
        let text = format!(
            "private_key = \"{folder}/key\"\ncontrol = \"{folder}/control.sock\"\naddress = \"2001:db8:100::1\"\n\
             home_prefix = \"2001:db8:100::/64\"\nrouters = []\n{keys}\n"
        );
        fs::write(&self.config, text).unwrap();
    }

    /// Returns the command that runs it.
    fn command(&self) -> Command {
        let mut command = batond();
        command.arg("home-agent").arg(&self.config);
        command
    }

    /// Starts it, and returns the lines that it says.
    fn start(&mut self) -> Lines<BufReader<ChildStderr>> {
        let mut daemon = self.command().stderr(Stdio::piped()).spawn().unwrap();
        let said = daemon.stderr.take().unwrap();
        self.daemon = Some(daemon);
        BufReader::new(said).lines()
    }

    fn signal(&self, signal: Signal) {
        let daemon = self.daemon.as_ref().unwrap();
        kill(Pid::from_raw(daemon.id() as i32), signal).unwrap();
    }
}

impl Drop for HomeAgent {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn batond() -> Command {
    Command::new(env!("CARGO_BIN_EXE_batond"))
}

/// Switches IPv6 on or off for devices of the calling thread's namespace that are to be made.
fn switch_ipv6(on: bool) {
    let value = if on { "0" } else { "1" };
    fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", value).unwrap();
}

/// Returns the next line with these words.
fn until(said: &mut impl Iterator<Item = std::io::Result<String>>, words: &str) -> String {
    let found = said.find(|line| line.as_ref().unwrap().contains(words));
    found
        .unwrap_or_else(|| panic!("it never says {words}"))
        .unwrap()
}

/// Runs a test in a thread, whose namespaces are its own.
fn apart(test: fn()) {
    std::thread::spawn(test).join().unwrap();
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_machine_without_ipv6_is_named_with_what_helps() {
    apart(|| {
        let agent = HomeAgent::prepare("no-ipv6", "");
        switch_ipv6(false);
        let output = agent.command().output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("IPv6 is disabled"), "{said}");
        assert!(said.contains("net.ipv6.conf.all.disable_ipv6=0"), "{said}");
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_reload_names_the_keys_that_it_did_not_take_over() {
    apart(|| {
        let mut agent = HomeAgent::prepare("reload", "longest_lifetime = \"10 min\"");
        let mut said = agent.start();
        until(&mut said, "running");
        // Another way to write the same value is no change.
        agent.write("longest_lifetime = \"600 s\"");
        agent.signal(Signal::SIGHUP);
        let line = until(&mut said, "reloaded");
        assert!(line.ends_with("reloaded"), "{line}");
        agent.write("longest_lifetime = \"60 s\"\nmetrics = \"127.0.0.1:9191\"");
        agent.signal(Signal::SIGHUP);
        let line = until(&mut said, "reloaded");
        assert!(
            line.ends_with("to change longest_lifetime, metrics"),
            "{line}"
        );
        agent.write("");
        agent.signal(Signal::SIGHUP);
        let line = until(&mut said, "reloaded");
        assert!(line.ends_with("reloaded"), "{line}");
        agent.write("life = \"60 s\"");
        agent.signal(Signal::SIGHUP);
        until(&mut said, "`life`, expected one of");
    });
}

#[test]
#[ignore = "needs root: it makes a network namespace"]
fn a_daemon_goes_on_when_nobody_reads_what_it_says() {
    apart(|| {
        let mut agent = HomeAgent::prepare("unread", "");
        let mut said = agent.start();
        until(&mut said, "baton0 is up");
        drop(said);
        // It has something to say at a reload and at its end.
        agent.signal(Signal::SIGHUP);
        let control = agent.folder.join("control.sock");
        let status = batond()
            .arg("status")
            .arg("--control")
            .arg(&control)
            .output();
        assert!(status.unwrap().status.success());
        agent.signal(Signal::SIGTERM);
        let ended = agent.daemon.take().unwrap().wait().unwrap();
        assert!(ended.success(), "{ended}");
    });
}

/// The journal's protocol: https://systemd.io/JOURNAL_NATIVE_PROTOCOL.
#[test]
#[ignore = "needs root: it makes a network and a mount namespace"]
fn the_journal_gets_fields_where_standard_error_is_its_own() {
    apart(|| {
        let mut agent = HomeAgent::prepare("journal", "");
        let journal = journal_of_this_thread();
        let (error, _kept) = UnixDatagram::pair().unwrap();
        let stream = fstat(error.as_fd()).unwrap();
        let mut command = agent.command();
        command.env(
            "JOURNAL_STREAM",
            format!("{}:{}", stream.st_dev, stream.st_ino),
        );
        command.stderr(Stdio::from(std::os::fd::OwnedFd::from(error)));
        agent.daemon = Some(command.spawn().unwrap());
        let entry = until_entry(&journal, "baton0 is up");
        for field in [
            "BATON_INTERFACE=baton0",
            "BATON_STATE=up",
            "MESSAGE=baton0 is up",
            "SYSLOG_IDENTIFIER=batond",
        ] {
            assert!(entry.iter().any(|own| own == field), "{field}: {entry:?}");
        }
        agent.write("life = \"60 s\"");
        agent.signal(Signal::SIGHUP);
        let entry = until_entry(&journal, "the configuration is unchanged");
        // A warning, of syslog(3).
        assert!(entry.iter().any(|field| field == "PRIORITY=4"), "{entry:?}");
    });
}

/// Makes a mount namespace whose journal is the socket that is returned.
fn journal_of_this_thread() -> UnixDatagram {
    let folder = Path::new("/run/systemd/journal");
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
    mount(none, "/run", Some("tmpfs"), MsFlags::empty(), none).unwrap();
    fs::create_dir_all(folder).unwrap();
    let journal = UnixDatagram::bind(folder.join("socket")).unwrap();
    let patience = Some(Duration::from_secs(30));
    journal.set_read_timeout(patience).unwrap();
    journal
}

/// Returns the fields of the next entry of which one has these words.
fn until_entry(journal: &UnixDatagram, words: &str) -> Vec<String> {
    let mut datagram = [0; 65_536];
    loop {
        let length = journal.recv(&mut datagram).expect(words);
        let entry = fields(&datagram[..length]);
        if entry.iter().any(|field| field.contains(words)) {
            return entry;
        }
    }
}

/// Reads an entry's fields as `NAME=value`: each is a line, or its name on a line, a length in eight bytes, and the value.
fn fields(mut entry: &[u8]) -> Vec<String> {
    let mut fields = Vec::new();
    while let Some(end) = entry.iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(&entry[..end]).into_owned();
        entry = &entry[end + 1..];
        if line.contains('=') {
            fields.push(line);
            continue;
        }
        let (length, rest) = entry.split_first_chunk::<8>().unwrap();
        let length = u64::from_le_bytes(*length) as usize;
        let value = String::from_utf8_lossy(&rest[..length]);
        fields.push(format!("{line}={value}"));
        entry = &rest[length + 1..];
    }
    fields
}
