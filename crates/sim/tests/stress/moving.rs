//! Random scenarios with agents: mobility protocols whose packets go through tunnels, in copies and through buffers, and
//! gateways that answer for others. An aircraft changes cells; behind it there may be a network.

use super::rows;
use super::{Verdict, counts, ensure};
use baton_proto::time::Duration;
use baton_sim::rng::{Seed, Stream};
use baton_sim::run::Results;
use baton_sim::scenario::model::{Scenario, Traffic, Transport};
use std::fmt::Write;

/// A datagram every 20 ms.
const DATAGRAM: &str = "transport = \"udp\"\ntraffic.kind = \"constant\"\ntraffic.rate = \"40 kbit/s\"\ntraffic.packet_size = \"100 B\"";
/// Seconds of a run.
const END_S: u64 = 30;

/// Kind of world, by its mobiles and their protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum World {
    MobileIpv6,
    Nemo,
    MobileIpv4,
    Gateways,
    AerotpGateways,
    DtnGateways,
}

struct Generator {
    draws: Stream,
    world: World,
    text: String,
}

/// Returns the scenario of a seed.
pub fn scenario(seed: u64) -> String {
    let mut draws = Seed(seed).stream("stress moving");
    let worlds = [
        World::MobileIpv6,
        World::MobileIpv6,
        World::Nemo,
        World::MobileIpv4,
        World::Gateways,
        World::AerotpGateways,
        World::DtnGateways,
    ];
    let world = worlds[draws.below(worlds.len() as u64) as usize];
    let mut generator = Generator {
        draws,
        world,
        text: format!("name = \"moving\"\nseed = {seed}\nduration = \"{END_S} s\"\n"),
    };
    generator.links();
    generator.mobility();
    generator.flows();
    generator.text
}

/// Checks that counts add up, and a source of datagrams has sent as many as its rate implies.
pub fn check(scenario: &Scenario, results: &Results) -> Verdict {
    let rows = rows::read(scenario, results);
    counts::check(results, &rows)?;
    for (spec, flow) in scenario.flows.iter().zip(&results.summary.flows) {
        let Traffic::Constant {
            rate, packet_size, ..
        } = spec.traffic
        else {
            continue;
        };
        // AeroTP and DTN gateways send in the source's place, once more.
        let gateways = !scenario.aerotp_gateways.is_empty() || !scenario.dtn_gateways.is_empty();
        if spec.transport != Transport::Udp || gateways {
            continue;
        }
        let time = spec.stop.unwrap_or_default().saturating_since(spec.start);
        let interval = rate.transmission_time(u64::from(packet_size) * 8);
        let interval = interval.unwrap_or(Duration::MAX).as_nanos();
        let wanted = time.as_nanos().div_ceil(interval);
        let way = flow.packets.to_sink;
        ensure!(
            way.sent == wanted,
            "{}: sends {wanted} datagrams, {} counted",
            flow.name,
            way.sent
        );
        ensure!(
            way.delivered * u64::from(packet_size) >= flow.delivered_bytes,
            "{}: {} bytes out of {} datagrams",
            flow.name,
            flow.delivered_bytes,
            way.delivered
        );
    }
    Ok(())
}

impl Generator {
    fn pick<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.draws.below(values.len() as u64) as usize]
    }

    fn link(&mut self, name: &str, [from, to]: [&str; 2], delay: &str) {
        let rate = self.pick(&["100 kbit/s", "1 Mbit/s", "10 Mbit/s"]);
        let queue = self.pick(&["5 packets", "20 kB", "1000 packets"]);
        let noise = self.pick(&[
            "",
            "",
            "packet_error_rate = 0.02",
            "bit_error_rate = 1e-5\ndamaged = \"delivered\"",
            "retransmission = { attempts = 3, pause = \"3 ms\" }\npacket_error_rate = 0.1",
            "bit_error_rate = 1e-4\ncoding = { parity = 8 }",
            "bit_error_rate = 1e-4\ncoding = { loss = 0.01 }\ndamaged = \"delivered\"",
            "bit_error_rate = 1e-4\ncoding = { by = \"transport\" }",
        ]);
        let _ = writeln!(
            self.text,
            "\n[links.{name}]\nbetween = [\"{from}\", \"{to}\"]\nkind = \"wired\"\nrate = \"{rate}\"\n\
             delay = \"{delay}\"\nqueue = \"{queue}\"\n{noise}"
        );
    }

    fn links(&mut self) {
        for cell in ["home-agent", "north", "south"] {
            let delay = self.pick(&["5 ms", "50 ms", "300 ms"]);
            self.link(&format!("{cell}-cell"), [cell, "aircraft"], delay);
            self.link(&format!("{cell}-ground"), [cell, "hub"], "10 ms");
        }
        self.ground();
        self.link("lan", ["correspondent", "edge"], "1 ms");
        if self.world == World::Nemo {
            self.link("cabin", ["aircraft", "seat"], "1 ms");
        }
        if self.world == World::AerotpGateways {
            let rule = self.pick(&[
                "",
                "rules = [{ mode = \"near-reliable\" }]",
                "rules = [{ mode = \"unreliable-datagram\" }]",
                "rules = [{ mode = \"unreliable-connection\", tolerated_loss = 1e-3 }]",
            ]);
            let links = self.pick(&["\"ground\"", "\"ground\", \"spare\""]);
            if links.contains("spare") {
                self.link("spare", ["edge", "hub"], "40 ms");
            }
            let _ = writeln!(
                self.text,
                "\n[aerotp_gateways.air]\nlinks = [{links}]\n{rule}"
            );
        }
        if self.world == World::DtnGateways {
            let keys = self.pick(&["", "storage = \"20 kB\"", "lifetime = \"5 s\""]);
            let _ = writeln!(
                self.text,
                "\n[dtn_gateways.ground]\nbetween = [\"edge\", \"hub\"]\n{keys}"
            );
        }
    }

    /// Writes the link between the hub and the network's edge: wired, or a medium that several nodes share.
    fn ground(&mut self) {
        let shared = self.pick(&[
            "",
            "",
            "",
            "kind = \"tdma\"\nframe = { slots = 10, slot = \"2.5 ms\", down_slots = [0, 5], up_slots = [2, 7] }",
            "kind = \"tdma\"\nframe = { slots = 4, slot = \"1 ms\", guard = \"0.1 ms\", down_slots = [0], up_slots = [1], fragmentation = true }\nmtu = \"1500 B\"\nbit_error_rate = 1e-5\ncoding = { loss = 0.01 }",
            "kind = \"geo\"\ndemand = { rbdc = \"512 kbit/s\" }",
            "kind = \"geo\"\ndemand = { cra = \"64 kbit/s\", rbdc = \"256 kbit/s\", fca = true }",
            "kind = \"ad-hoc\"\nrelays = 3\nrange = \"200 km\"\nbit_error_rate = 1e-5\ndamaged = \"delivered\"",
            "kind = \"ad-hoc\"\nrelays = 8\nrange = \"60 km\"\nkeeping = \"buffer\"\nqueue = \"20 packets\"",
            "kind = \"ad-hoc\"\nrelays = 8\nrange = \"60 km\"\nrouting = \"aodv\"\nbit_error_rate = 1e-4",
            "kind = \"ad-hoc\"\nrelays = 8\nrange = \"60 km\"\nrouting = \"dsdv\"\nqueue = \"9 kB\"",
        ]);
        if shared.is_empty() {
            return self.link("ground", ["edge", "hub"], "10 ms");
        }
        let _ = writeln!(
            self.text,
            "\n[links.ground]\nbetween = [\"edge\", \"hub\"]\n{shared}"
        );
    }

    fn mobility(&mut self) {
        let keys = match self.world {
            World::MobileIpv6 | World::Nemo => self.ipv6(),
            World::MobileIpv4 => self.ipv4(),
            World::Gateways | World::AerotpGateways | World::DtnGateways => String::new(),
        };
        self.text += "\n[mobiles.aircraft]\ntimetable = [\n";
        let cells = ["home-agent-cell", "north-cell", "south-cell"];
        let mut cell = self.draws.below(3);
        let _ = writeln!(
            self.text,
            "  {{ at = \"0 s\", attach = \"{}\" }},",
            cells[cell as usize]
        );
        let (mut at_ms, mut moves) = (4_000, 0);
        loop {
            at_ms += 2_500 + self.draws.below(6_000);
            if at_ms > 24_000 {
                break;
            }
            // The first two lead to all cells.
            let skipped = if moves < 2 { 0 } else { self.draws.below(2) };
            cell = (cell + 1 + skipped) % 3;
            moves += 1;
            let how = self.pick(&[
                "",
                ", handover = \"soft\", overlap = \"1 s\"",
                ", handover = \"hard\"",
                ", handover = \"hard\", outage = \"300 ms\"",
                ", handover = \"hard\", outage = \"2 s\"",
            ]);
            let announced = self.pick(&["", "", ", announced = \"400 ms\""]);
            let _ = writeln!(
                self.text,
                "  {{ at = \"{at_ms} ms\", attach = \"{}\"{how}{announced} }},",
                cells[cell as usize]
            );
        }
        let _ = writeln!(self.text, "]\n{keys}");
    }

    fn ipv6(&mut self) -> String {
        let agent = self.pick(&[
            "",
            "buffering = {}",
            "buffering = { size = \"2 kB\" }",
            "buffering = { size = \"3 kB\", overflow = \"drop-oldest\" }",
            "buffering = { age = \"200 ms\", pace = \"50 kbit/s\" }",
            "bicasting = \"1 s\"",
        ]);
        let asks = self.pick(&["", "asks_for_buffering = true, "]);
        let more = self.pick(&[
            "",
            "access_router_buffering = {}, ",
            "access_router_buffering = {}, fast_handovers = \"predictive\", ",
            "multicast_buffering = {}, ",
            "multicast_buffering = { size = \"2 kB\" }, ",
            "route_optimization = true, ",
        ]);
        let protocol = match self.world {
            World::Nemo => "\"nemo\", network_prefix = \"2001:db8:1:100::/64\"",
            _ => "\"mobile-ipv6\"",
        };
        let more = match self.world {
            World::Nemo if more.contains("route") => "",
            _ => more,
        };
        let announces = agent.contains("bicasting") && asks.is_empty() && !more.contains("multi");
        let is_pooled =
            self.world == World::MobileIpv6 && !more.contains("multi") && self.draws.below(4) == 0;
        let (pool, home_link) = match is_pooled {
            true => ("prefix_pool = \"2001:db8:8::/48\"", ""),
            false => ("", "home_link = \"home-agent-cell\", "),
        };
        let _ = writeln!(
            self.text,
            "\n[home_agents.home-agent]\nprefix = \"2001:db8:1::/64\"\n\
             duplicate_address_detection = \"unique-prefix\"\n{agent}\n{pool}"
        );
        let announces = match announces {
            true => "predictive_binding_updates = true, ",
            false => "",
        };
        if announces.is_empty() && !more.contains("multi") {
            self.anchor_points();
        }
        format!(
            "mobility = {{ protocol = {protocol}, home_agent = \"home-agent\", {home_link}\
             {asks}{more}{announces}duplicate_address_detection = \"icao-address\" }}"
        )
    }

    /// Writes no mobility anchor point, one for both foreign cells, or one for each.
    fn anchor_points(&mut self) {
        let keys = self.pick(&["", "buffering = {}\n", "longest_lifetime = \"8 s\"\n"]);
        let domains: &[(&str, &str)] = match self.draws.below(3) {
            0 => &[],
            1 => &[("hub", "\"north\", \"south\"")],
            _ => &[("north", "\"north\""), ("south", "\"south\"")],
        };
        for (number, (node, routers)) in domains.iter().enumerate() {
            let _ = writeln!(
                self.text,
                "\n[mobility_anchor_points.{node}]\nprefix = \"2001:db8:9:{number}::/64\"\n\
                 access_routers = [{routers}]\n{keys}"
            );
        }
    }

    fn ipv4(&mut self) -> String {
        let agents = "[foreign_agents.north]\n[foreign_agents.south]";
        let buffering =
            "[foreign_agents.north]\nbuffering = {}\n[foreign_agents.south]\nbuffering = {}";
        let domain = "routers = [\"north\", \"south\"]\nroot = \"hub\"";
        let (agents, more) = match self.draws.below(8) {
            0 => (String::new(), ""),
            1 => (agents.to_owned(), ""),
            2 => (agents.to_owned(), ", header_compression = true"),
            3 => (agents.to_owned(), ", preregistration = true"),
            4 => (buffering.to_owned(), ", preregistration = true"),
            5 => (
                format!("[micro_mobility.all]\nprotocol = \"hawaii\"\n{domain}"),
                "",
            ),
            6 => {
                let path_setup = ["mnf", "msf", "ssf"][self.draws.below(3) as usize];
                let buffer = ["", "buffer = \"9 kB\""][self.draws.below(2) as usize];
                let keys = format!("path_setup = \"{path_setup}\"\n{buffer}");
                (
                    format!("[micro_mobility.all]\nprotocol = \"hawaii\"\n{keys}\n{domain}"),
                    "",
                )
            }
            _ => {
                let protocol = ["hawaii", "cellular-ip"][self.draws.below(2) as usize];
                let idle =
                    "refresh = \"1 s\"\nactive_timeout = \"500 ms\"\npaging_update = \"2 s\"";
                let keys = ["", idle][self.draws.below(2) as usize];
                (
                    format!("[micro_mobility.all]\nprotocol = \"{protocol}\"\n{keys}\n{domain}"),
                    "",
                )
            }
        };
        let _ = writeln!(
            self.text,
            "\n[home_agents.home-agent]\nprefix = \"192.0.2.0/24\"\n\n{agents}"
        );
        format!("mobility = {{ protocol = \"mobile-ipv4\", home_agent = \"home-agent\"{more} }}")
    }

    fn flows(&mut self) {
        let far = if self.world == World::Nemo {
            "seat"
        } else {
            "aircraft"
        };
        for number in 0..1 + self.draws.below(4) {
            let mut ends = ["correspondent", far];
            if self.draws.below(2) == 1 {
                ends.reverse();
            }
            let start = 3 + self.draws.below(6);
            let _ = writeln!(
                self.text,
                "\n[[flows]]\nname = \"f{number}\"\nfrom = \"{}\"\nto = \"{}\"\nstart = \"{start} s\"\nstop = \"26 s\"",
                ends[0], ends[1]
            );
            let kind = match self.draws.below(6) {
                0 | 1 => DATAGRAM.to_owned(),
                2 => "transport = \"udp\"\ntraffic.kind = \"on-off\"\ntraffic.rate = \"50 kbit/s\"\ntraffic.packet_size = \"160 B\"\ntraffic.on = \"700 ms\"\ntraffic.off = \"1 s\"".to_owned(),
                3 if self.world != World::AerotpGateways => {
                    "traffic.kind = \"ping\"\ntraffic.interval = \"100 ms\"".to_owned()
                }
                _ => self.download(),
            };
            self.text += &kind;
            self.text.push('\n');
        }
    }

    fn download(&mut self) -> String {
        let remedies = self.pick(&[
            "\"none\"",
            "[\"split-connection\"]",
            "[\"satellite-pep\"]",
            "[\"snoop\"]",
            "[\"snoop\"]",
        ]);
        let remedies = match self.world {
            World::MobileIpv6 | World::Gateways => remedies,
            _ => "\"none\"",
        };
        // Snoop asks for SACK.
        let profile = match remedies {
            "[\"snoop\"]" => "linux-6",
            _ => self.pick(&["rfc", "linux-6", "ns2"]),
        };
        format!("transport.profile = \"{profile}\"\nremedies = {remedies}")
    }
}
