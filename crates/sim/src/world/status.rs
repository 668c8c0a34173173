//! State of a running world in one line, for an interactive user.

use super::flow::FlowRun;
use super::{Load, World};
use crate::scenario::model::LinkIndex;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write;

/// Most flows in the line.
const FLOWS_SHOWN: usize = 3;

impl World {
    /// Returns the number of packets waiting or in flight on links.
    pub fn packets_under_way(&self) -> usize {
        self.net.packets.len()
    }

    /// Returns the scenario's flows in its order, with their ports and drawn starts; then conversations in order of
    /// their start.
    pub fn flows(&self) -> &[FlowRun] {
        &self.load.flows
    }

    /// Returns the state: for each mobile the link in use and since when, and the bytes delivered by some flows.
    pub fn status(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for mobile in &self.net.mobiles {
            let node = &self.scenario.nodes[mobile.node.0];
            let link = mobile.attached().map_or(Cow::Borrowed("no link"), |link| {
                self.scenario.link_name(LinkIndex(link))
            });
            let mut part = format!("{node} on {link}");
            if let Some(handover) = mobile.handovers.last() {
                let _ = write!(part, " (handover at {:.1} s)", handover.at.as_secs_f64());
            }
            parts.push(part);
        }
        parts.truncate(FLOWS_SHOWN);
        for flow in self.load.flows_shown() {
            let flow = &self.load.flows[flow];
            let delivered = size(flow.progress.delivered_bytes);
            parts.push(format!("{} {delivered}", flow.spec.name));
        }
        if let Some(more) = self.load.flows.len().checked_sub(FLOWS_SHOWN + 1) {
            parts.push(format!("and {} more flows", more + 1));
        }
        parts.join(", ")
    }
}

/// Formats a number of bytes with three or four digits and a unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

impl Load {
    /// Returns the first flows; if real hosts keep adding flows, the ones with the latest deliveries.
    fn flows_shown(&self) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.flows.len()).collect();
        if self.flows.iter().any(|flow| flow.observed.is_some()) {
            shown.sort_by_key(|&flow| Reverse(self.flows[flow].progress.last_delivery));
        }
        shown.truncate(FLOWS_SHOWN);
        shown.sort_unstable();
        shown
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{Quantities, RecordNames, RecordSettings, Recorder, Sink};
    use crate::scenario;
    use crate::world::World;
    use baton_proto::time::Instant;
    use std::path::Path;

    const SCENARIO: &str = r#"
        name = "status"
        duration = "10 s"
        links.lan = { between = ["server", "laptop"], kind = "wired", rate = "8 Mbit/s" }
        links.modem = { between = ["server", "laptop"], kind = "gsm" }
        mobiles.laptop.timetable = [{ at = "0 s", attach = "lan" }, { at = "5 s", attach = "modem" }]
        [[flows]]
        name = "call"
        from = "server"
        to = "laptop"
        transport = "udp"
        traffic.kind = "constant"
        traffic.rate = "80 kbit/s"
        traffic.packet_size = "1000 B"
    "#;

    #[test]
    fn tells_links_handovers_and_bytes() {
        let loaded = scenario::parse(SCENARIO, "test.toml", Path::new(""), &[]).unwrap();
        let settings = RecordSettings {
            series: Quantities::NONE,
            packets: false,
            signals: false,
        };
        let recorder = Recorder::new(settings, RecordNames::default(), Sink::Memory).unwrap();
        let mut world = World::new(loaded.scenario, recorder, None);
        assert_eq!(world.status(), "laptop on lan, call 0 B");
        // A packet of 1000 B every 100 ms from 0 s on: eleven by 1 s and a bit.
        world.run_until(Instant::from_millis(1050), 1_000_000);
        assert_eq!(world.status(), "laptop on lan, call 11.0 kB");
        assert_eq!(world.packets_under_way(), 0);
        world.run_until(Instant::from_millis(5010), 1_000_000);
        assert_eq!(
            world.status(),
            "laptop on modem (handover at 5.0 s), call 50.0 kB"
        );
        assert_eq!(world.packets_under_way(), 1);
    }
}
