//! The same world with a router that speaks without encryption, and another machine beside it that does not.

use super::daemons::{Daemon, Surroundings, make_key};
use super::stream::Stream;
use super::{CORRESPONDENT, HOME_AGENT, Version, World};
use baton_linux::netlink::RouteSocket;
use std::net::IpAddr;

/// The secret of the router and its home agent.
const KEY: &str = "00112233445566778899aabbccddeeff01234567";
/// The network behind the other machine, and its address there.
const BESIDE: [&str; 2] = ["2001:db8:8::/64", "2001:db8:8::2"];

impl World {
    /// Makes it, over IPv4 and with translators on the way.
    pub fn plain() -> World {
        let world = World::new(Version::V4);
        let folder = &world.folder.0;
        let [home_agent, other] = ["home-agent.key", "other.key"].map(|name| folder.join(name));
        let keys = [&home_agent, &other].map(|file| make_key(file));
        let networks = r#"["10.7.0.0/24", "2001:db8:7::/64"]"#;
        let home = "home_prefix = \"2001:db8:100::/64\"";
        let agent = format!(
            "address = \"2001:db8:100::1\"\nendpoint = \"{}:4191\"",
            HOME_AGENT[0]
        );
        let texts = [
            (
                world.home_agent_config.clone(),
                format!(
                    "private_key = {home_agent:?}\naddress = \"2001:db8:100::1\"\n{home}
[[routers]]\nunencrypted = {{ key = \"{KEY}\" }}\nhome_address = \"2001:db8:100::7\"\nnetworks = {networks}
[[routers]]\npublic_key = \"{}\"\nhome_address = \"2001:db8:100::8\"\nnetworks = [\"{}\"]\n",
                    keys[1], BESIDE[0]
                ),
            ),
            (
                world.router_config.clone(),
                format!(
                    "home_address = \"2001:db8:100::7\"\n{home}\nnetworks = {networks}
uplinks = {{ prefer = [\"wlan0\", \"wwan0\"], hold_time = \"2 s\" }}
[home_agent]\n{agent}\nunencrypted = {{ key = \"{KEY}\" }}\n"
                ),
            ),
            (
                folder.join("other.toml"),
                format!(
                    "private_key = {other:?}\nhome_address = \"2001:db8:100::8\"\n{home}\nnetworks = [\"{}\"]
uplinks = {{ prefer = [\"wlan0\"] }}\n[home_agent]\n{agent}\npublic_key = \"{}\"\n",
                    BESIDE[0], keys[0]
                ),
            ),
        ];
        for (file, text) in texts {
            std::fs::write(file, text).unwrap();
        }
        world.another.run(|| {
            let mut kernel = RouteSocket::open().unwrap();
            let index = kernel.link("lo").unwrap().index;
            kernel
                .add_address(index, BESIDE[1].parse().unwrap())
                .unwrap();
        });
        world
    }

    /// Starts the router of the other machine.
    pub fn start_other(&self) -> Daemon {
        let config = self.folder.0.join("other.toml");
        let mut daemon = Daemon::start(
            &self.another,
            ("mobile-router", &config),
            &Surroundings::default(),
        );
        daemon.until("Registered");
        daemon
    }

    /// Begins a stream to the other machine.
    pub fn stream_beside(&self) -> Stream {
        let address = |text: &str| -> IpAddr { text.parse().unwrap() };
        let correspondent = (&self.correspondent, address(CORRESPONDENT[1]));
        Stream::begin(correspondent, (&self.another, address(BESIDE[1])))
    }
}
