//! Links whose code follows the bit error rate: the receiver reports the rate that it measures, and the sender takes the
//! weakest code with which few enough packets are lost, by the scenario or by the sending node's connections.
//!
//! A code chosen by one report is in use from the next one on. Reports are never lost and take no capacity.

use super::{Event, World};
use crate::link::End;
use crate::link::coding::{Code, Coding, Loss};
use crate::record::Quantity;
use baton_proto::time::Duration;

/// Shortest time between reports (chosen). A report takes a round trip at most.
const INTERVAL: Duration = Duration::from_millis(100);

/// Link whose code follows the bit error rate.
#[derive(Debug)]
pub(super) struct Coder {
    pub(super) link: usize,
    /// Time between reports.
    interval: Duration,
    /// Codes chosen by the last report, of each direction.
    chosen: [Option<Code>; 2],
}

impl World {
    /// Lets the receivers of links with adaptive codes report.
    pub(super) fn add_coders(&mut self) {
        for link in 0..self.scenario.links.len() {
            self.add_coder(link);
        }
    }

    /// Lets a link's receivers report from now on, if its code is adaptive and they do not report yet.
    pub(super) fn add_coder(&mut self, link: usize) {
        let config = self.net.wires.plain(link).link.config();
        let known = self.net.coders.iter().any(|coder| coder.link == link);
        if known || !config.adapts_code() {
            return;
        }
        let interval = config.round_trip_delay().max(INTERVAL);
        let event = Event::Coder(self.net.coders.len() as u32);
        self.queue.push(self.now + interval, event);
        self.net.coders.push(Coder {
            link,
            interval,
            chosen: [None; 2],
        });
    }

    /// Takes the codes that the last report chose, and lets the next report choose.
    pub(super) fn run_coder(&mut self, number: usize) {
        let coder = &mut self.net.coders[number];
        let number_of_link = coder.link;
        let ends = self.net.wires.ends(number_of_link);
        let link = &mut self.net.wires.plain_mut(number_of_link).link;
        link.catch_up(self.now);
        let mut config = link.config().clone();
        let mtu = config.mtu;
        for end in End::ALL {
            let direction = match end {
                End::A => &mut config.down,
                End::B => &mut config.up,
            };
            let Some(Coding {
                code,
                loss: Some(loss),
            }) = direction.channel.coding
            else {
                continue;
            };
            let tolerated = match loss {
                Loss::Of(share) => Some(share),
                Loss::AsConnectionsAsk => {
                    let (node, interface) = ends[end.index()];
                    let asked = self.net.nodes[node].host.tolerated_loss(interface);
                    asked.map(|millionths| f64::from(millionths) / 1e6)
                }
            };
            let chosen = &mut coder.chosen[end.index()];
            let code = chosen.take().unwrap_or(code);
            *chosen = link.bit_error_rate(end).map(|rate| match tolerated {
                Some(share) => Code::weakest(rate, mtu, share),
                None => Code::WEAKEST,
            });
            direction.channel.coding = Some(Coding {
                code,
                loss: Some(loss),
            });
        }
        let event = Event::Coder(number as u32);
        self.queue.push(self.now + coder.interval, event);
        if config != *link.config() {
            link.reconfigure(self.now, config);
            self.net.touch(number_of_link);
            self.report_parameters(number_of_link);
        }
        self.record_codes(number_of_link);
    }

    fn record_codes(&mut self, link: usize) {
        if !self.probes.recorder.records_series() {
            return;
        }
        let config = self.net.wires.plain(link).link.config();
        let codings = [&config.down, &config.up].map(|direction| direction.channel.coding);
        let subjects = self.subjects(link);
        for (coding, subject) in codings.into_iter().zip(subjects) {
            if let Some(coding) = coding {
                let parity = f64::from(coding.code.parity());
                let recorder = &mut self.probes.recorder;
                recorder.series(self.now, subject, Quantity::Parity, parity);
            }
        }
    }
}
