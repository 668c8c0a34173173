//! Userspace WireGuard over the same uplinks. It follows the kernel's routes, so somebody has to change them: a manager of connections, who
//! notices the loss after half a second.

use super::world::{HOME_AGENT, UPLINKS, Version, WLAN, WWAN, World};
use super::world::{Namespace, daemons::make_key, stream::Stream};
use super::{Row, spread};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// The time after which the manager of connections notices a loss.
const NOTICED: Duration = Duration::from_millis(500);
/// The longest stall that is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
const ROUNDS: usize = 2;
const PORT: u16 = 51_820;
const INSIDE: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(10, 12, 0, 1)),
    IpAddr::V4(Ipv4Addr::new(10, 12, 0, 2)),
];

/// A process that ends with this value.
struct Tunnel(Child);

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The better uplink dies and comes back, and its kernel's routes are changed half a second later each time.
pub fn unannounced() -> Vec<Row> {
    let Some(program) = find() else {
        println!("no wireguard-go on the path, nor named by WIREGUARD_GO: it is left out");
        return Vec::new();
    };
    let world = World::new(Version::V4);
    let sides = [&world.home, &world.router];
    let keys: [(String, String); 2] = ["home", "vehicle"].map(|side| {
        let file = world.file(&format!("wireguard-{side}.key"), "");
        std::fs::remove_file(&file).expect("a file");
        let public = make_key(&file);
        (
            hexadecimal(&std::fs::read_to_string(&file).expect("a key")),
            hexadecimal(&public),
        )
    });
    let endpoint = format!("endpoint={}:{PORT}\n", HOME_AGENT[0]);
    let _tunnels = [
        start(&program, sides[0], (&keys[0].0, &keys[1].1), (0, "")),
        start(&program, sides[1], (&keys[1].0, &keys[0].1), (1, &endpoint)),
    ];
    let place = |side: usize| (sides[side], INSIDE[side]);
    let streams = [
        Stream::begin(place(0), place(1)),
        Stream::begin(place(1), place(0)),
    ];
    streams.iter().for_each(|stream| stream.until_more(100));
    let mut losses = Vec::new();
    for _ in 0..ROUNDS {
        for uplink in [WLAN, WWAN] {
            sleep(2 * SECOND);
            losses.push(world.air.cut(uplink, true));
            sleep(NOTICED);
            world.air.cut(WLAN + WWAN - uplink, false);
            match uplink {
                WLAN => world.switch_off(WLAN),
                _ => world.switch_on(WLAN, &UPLINKS[WLAN]),
            }
            streams.iter().for_each(|stream| stream.until_more(100));
        }
    }
    sleep(SECOND);
    let [to, from] = streams.map(|stream| {
        let record = stream.end();
        spread(
            losses
                .iter()
                .map(|loss| record.stall(*loss..*loss + PATIENCE))
                .collect(),
        )
    });
    let beside = "noticed after 500 ms by others".to_owned();
    vec![
        Row(
            "  the same with wireguard-go, to the vehicle",
            to,
            beside.clone(),
        ),
        Row(
            "  the same with wireguard-go, from the vehicle",
            from,
            beside,
        ),
    ]
}

fn find() -> Option<PathBuf> {
    let named = std::env::var_os("WIREGUARD_GO").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("wireguard-go"));
    named.into_iter().chain(on_path).find(|file| file.is_file())
}

/// Writes a key as the protocol of `wireguard-go` has it.
fn hexadecimal(key: &str) -> String {
    let bytes = BASE64_STANDARD.decode(key.trim()).expect("a key in base64");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Starts one end.
fn start(
    program: &PathBuf,
    inside: &Namespace,
    (private, public): (&str, &str),
    (side, endpoint): (usize, &str),
) -> Tunnel {
    let device = format!("wg{side}-{}", std::process::id());
    let mut command = Command::new(program);
    command
        .arg("-f")
        .arg(&device)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let tunnel = Tunnel(inside.run(|| command.spawn().expect("wireguard-go runs")));
    let mut socket = connect(&PathBuf::from(format!("/var/run/wireguard/{device}.sock")));
    let request = format!(
        "set=1\nprivate_key={private}\nlisten_port={PORT}\npublic_key={public}\n{endpoint}persistent_keepalive_interval=1\nallowed_ip=0.0.0.0/0\n\n"
    );
    socket.write_all(request.as_bytes()).expect("a request");
    let mut answer = [0; 64];
    let length = socket.read(&mut answer).expect("an answer");
    assert!(
        answer[..length].starts_with(b"errno=0"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    inside.run(|| {
        let mut kernel = baton_linux::netlink::RouteSocket::open().expect("route netlink");
        let index = kernel.link(&device).expect("the device").index;
        kernel.add_address(index, INSIDE[side]).expect("an address");
        kernel.set_up(index, true).expect("the device");
        let to = baton_linux::netlink::Prefix::of(INSIDE[1 - side], 32).expect("a prefix");
        kernel
            .set_route(&super::world::route(to, index, 1))
            .expect("a route");
    });
    tunnel
}

fn connect(path: &PathBuf) -> UnixStream {
    let begun = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(socket) => return socket,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{}: {error}", path.display()),
        }
        sleep(Duration::from_millis(20));
    }
}
