//! Custody on disk: gateways that are killed, links that are away, and a disk that is full. Neither the host nor the
//! correspondent notices.

use crate::world::daemons::{Daemon, Surroundings, make_key};
use crate::world::{CORRESPONDENT, HOME_AGENT, Version, WLAN, WWAN, World};
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A pair of gateways that can be killed and started again.
pub struct Pair<'a> {
    world: &'a World,
    files: [PathBuf; 2],
    running: [Option<Daemon>; 2],
}

pub const NEAR: usize = 0;
pub const FAR: usize = 1;

impl Pair<'_> {
    /// Starts both gateways, whose files end with these lines.
    pub fn start<'a>(world: &'a World, rate: &str, custody: [&str; 2]) -> Pair<'a> {
        let folder = &world.folder.0;
        let keys = ["near", "far"].map(|name| make_key(&folder.join(name)));
        let home = HOME_AGENT[0];
        let link = |name: &str, end: String| {
            format!("[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\n{end}\n")
        };
        let links = [("wlan0", 4191), ("wwan0", 4192)];
        let calling = links.map(|(name, port)| {
            link(
                name,
                format!("device = \"{name}\"\nendpoint = \"{home}:{port}\""),
            )
        });
        let listening = links.map(|(name, port)| link(name, format!("listen = \"{home}:{port}\"")));
        let file = |name: &str, peer: &str, network: &str, rest: String| {
            let key = folder.join(name);
            let text = format!(
                "private_key = {key:?}\nnetworks = [\"{network}\"]\n[peer]\npublic_key = \"{peer}\"\n{rest}"
            );
            world.file(&format!("{name}.toml"), &text)
        };
        let [near, far] = custody;
        let files = [
            file("near", &keys[1], "10.9.0.0/24", calling.concat() + near),
            file("far", &keys[0], "10.7.0.0/24", listening.concat() + far),
        ];
        let mut pair = Pair {
            world,
            files,
            running: [None, None],
        };
        pair.run(FAR);
        pair.run(NEAR);
        let near = pair.near();
        near.until("wlan0 is up");
        while !near.said().contains("wwan0 is up") {
            sleep(Duration::from_millis(2));
        }
        pair
    }

    fn run(&mut self, which: usize) {
        let machine = [&self.world.router, &self.world.home][which];
        let config = ("gateway", &*self.files[which]);
        let mut daemon = Daemon::start(machine, config, &Surroundings::default());
        daemon.until("running");
        self.running[which] = Some(daemon);
    }

    fn near(&mut self) -> &mut Daemon {
        self.running[NEAR].as_mut().unwrap()
    }

    /// Kills a gateway, as `kill -9` does, and starts it again.
    pub fn restart(&mut self, which: usize) -> String {
        self.running[which].take().unwrap().kill();
        self.run(which);
        let said = self.running[which].as_ref().unwrap().said();
        said.lines()
            .find(|line| line.contains("took up"))
            .unwrap_or_default()
            .to_owned()
    }
}

fn disk(folder: &Path) -> String {
    format!("[custody]\nkind = \"disk\"\ndirectory = {folder:?}\n")
}

/// Returns the byte at a place of the data in a direction: its neighbours differ.
fn byte(place: usize, direction: u64) -> u8 {
    let mixed = (place as u64 ^ direction << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 56) as u8
}

/// An end that sends so many bytes, then its end, and checks what comes: the same bytes of the other direction, then
/// the end, each once.
fn talk(mut stream: TcpStream, direction: u64, bytes: usize) -> JoinHandle<Duration> {
    let begun = Instant::now();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let sender = thread::spawn(move || {
        let data: Vec<u8> = (0..bytes).map(|place| byte(place, direction)).collect();
        writer.write_all(&data).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    thread::spawn(move || {
        let (mut place, mut buffer) = (0, vec![0; 64 << 10]);
        loop {
            let read = stream.read(&mut buffer).unwrap();
            if read == 0 {
                break;
            }
            for found in &buffer[..read] {
                assert_eq!(*found, byte(place, 1 - direction), "byte {place}");
                place += 1;
            }
        }
        assert_eq!(place, bytes);
        sender.join().unwrap();
        begun.elapsed()
    })
}

/// Begins a conversation in which both ends send so many bytes.
fn converse(world: &World, bytes: usize) -> [JoinHandle<Duration>; 2] {
    let to: IpAddr = CORRESPONDENT[0].parse().unwrap();
    let listener = world
        .correspondent
        .run(|| TcpListener::bind((to, 0)).unwrap());
    let to = listener.local_addr().unwrap();
    let stream = world.host.run(|| TcpStream::connect(to).unwrap());
    let (accepted, _) = listener.accept().unwrap();
    [talk(stream, 0, bytes), talk(accepted, 1, bytes)]
}

fn join(ends: [JoinHandle<Duration>; 2]) -> Duration {
    ends.map(|end| end.join().unwrap())
        .into_iter()
        .max()
        .unwrap()
}

#[test]
#[ignore = "needs root: it makes network namespaces"]
fn gateways_that_are_killed_with_the_links_away_lose_and_repeat_nothing() {
    let world = World::new(Version::V4);
    let folders = ["a", "b"].map(|name| world.folder.0.join(name));
    let custody = folders.each_ref().map(|folder| disk(folder));
    let mut pair = Pair::start(&world, "20 Mbit/s", [&custody[0], &custody[1]]);
    let ends = converse(&world, 24_000_000);
    sleep(Duration::from_millis(600));
    let mut said = vec![pair.restart(NEAR)];
    sleep(Duration::from_millis(1_500));
    said.push(pair.restart(FAR));
    sleep(Duration::from_millis(1_500));
    for link in [WLAN, WWAN] {
        world.air.cut(link, true);
    }
    sleep(Duration::from_millis(500));
    said.push(pair.restart(NEAR));
    said.push(pair.restart(FAR));
    said.push(pair.restart(NEAR));
    sleep(Duration::from_secs(1));
    for link in [WLAN, WWAN] {
        world.air.cut(link, false);
    }
    println!("{}", said.join("\n"));
    // The connection was there each time; with the links away there was data in custody, too.
    assert!(
        said.iter()
            .all(|line| line.contains("took up 1 connections"))
    );
    assert!(said[2..].iter().all(|line| !line.contains("with 0 B")));
    println!("both directions whole after {:?}", join(ends));
}

/// A file system of its own, which goes with this value.
struct Disk(PathBuf);

impl Disk {
    fn new(folder: PathBuf, megabytes: u32) -> Disk {
        fs::create_dir(&folder).unwrap();
        let size = format!("size={megabytes}m");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &size, "none"])
            .arg(&folder);
        assert!(mount.status().unwrap().success());
        Disk(folder)
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut file = fs::File::create(self.filler()).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        while file.write_all(&[1]).is_ok() {}
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
#[ignore = "needs root: it makes network namespaces and mounts a file system"]
fn a_full_disk_closes_the_window_and_is_shown_until_it_has_room() {
    let world = World::new(Version::V4);
    let small = Disk::new(world.folder.0.join("small"), 100);
    let custody = disk(&small.0);
    let mut pair = Pair::start(&world, "20 Mbit/s", [&custody, ""]);
    let ends = converse(&world, 20_000_000);
    sleep(Duration::from_millis(500));
    small.fill();
    pair.near()
        .until("no data is taken until the disk takes some");
    let status = pair.near().status();
    assert!(status.contains("the disk takes nothing"), "{status}");
    sleep(Duration::from_secs(2));
    assert!(ends.iter().all(|end| !end.is_finished()));
    fs::remove_file(small.filler()).unwrap();
    pair.near().until("the disk takes data again");
    println!("whole after {:?}", join(ends));
    let status = pair.near().status();
    assert!(!status.contains("the disk takes nothing"), "{status}");
    assert!(!status.contains(" 0 failed"), "{status}");
}

/// The cost of the journal, beside the same gateways without it.
#[test]
#[ignore = "needs root: it makes network namespaces"]
fn the_journal_costs_a_part_of_the_throughput() {
    let bytes = 40_000_000;
    let measure = |custody: Option<[String; 2]>, world: &World| {
        let custody = custody.unwrap_or_default();
        let pair = Pair::start(world, "400 Mbit/s", custody.each_ref().map(String::as_str));
        let took = join(converse(world, bytes));
        let status = pair.running[NEAR].as_ref().unwrap().status();
        (took, status)
    };
    let world = World::new(Version::V4);
    let (memory, _) = measure(None, &world);
    let folders = ["a", "b"].map(|name| disk(&world.folder.0.join(name)));
    let (journal, status) = measure(Some(folders), &world);
    let rate = |took: Duration| bytes as f64 * 8e-6 / took.as_secs_f64();
    println!(
        "each way {:.0} Mbit/s in memory, {:.0} on disk\n{status}",
        rate(memory),
        rate(journal)
    );
    assert!(status.contains("journal: "), "{status}");
    assert!(journal < memory * 20, "{journal:?} instead of {memory:?}");
}
