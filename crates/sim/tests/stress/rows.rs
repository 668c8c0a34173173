//! The table of packets, read back.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use baton_sim::run::Results;
use baton_sim::scenario::model::Scenario;
use std::rc::Rc;

/// A packet on a link.
#[derive(Clone, Debug)]
pub struct Row {
    pub number: u64,
    pub copy: u32,
    /// The link, its direction (0 is down), and the nodes of departure and arrival.
    pub link: usize,
    pub direction: usize,
    pub from: usize,
    pub to: usize,
    pub flow: Option<usize>,
    pub sent: i64,
    pub decided: Option<i64>,
    pub fate: Rc<str>,
    pub wire_bytes: u32,
    pub source: Rc<str>,
    pub destination: Rc<str>,
    pub payload: u32,
    pub retransmission: bool,
    pub tcp: Option<Tcp>,
}

/// TCP header of the packet.
#[derive(Clone, Debug)]
pub struct Tcp {
    pub sequence: u32,
    pub acknowledgment: Option<u32>,
    pub window: u32,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
}

impl Row {
    pub fn is_delivered(&self) -> bool {
        &*self.fate == "delivered"
    }
}

fn names(column: &ArrayRef) -> Vec<Option<Rc<str>>> {
    let column = column.as_dictionary::<Int32Type>();
    let values = column.values().as_string::<i32>().iter();
    let values: Vec<Rc<str>> = values.flatten().map(Rc::from).collect();
    let keys = column.keys().iter();
    keys.map(|key| key.map(|key| values[key as usize].clone()))
        .collect()
}

/// Returns all rows, in the order of the table.
pub fn read(scenario: &Scenario, results: &Results) -> Vec<Row> {
    let batches = super::batches(results.tables.packets.clone());
    batches
        .iter()
        .flat_map(|batch| of_batch(scenario, batch))
        .collect()
}

fn of_batch(scenario: &Scenario, batch: &RecordBatch) -> Vec<Row> {
    let column = |name: &str| batch.column_by_name(name).expect("the column is there");
    let word = |name: &str| names(column(name));
    let [links, directions, flows, fates] = ["link", "direction", "flow", "fate"].map(word);
    let [sources, destinations, flags] = ["source", "destination", "flags"].map(word);
    let number = column("packet").as_primitive::<UInt64Type>();
    let sent = column("sent_ns").as_primitive::<Int64Type>();
    let decided = column("decided_ns").as_primitive::<Int64Type>();
    let small = |name: &str| column(name).as_primitive::<UInt32Type>().clone();
    let [wire_bytes, payload, copy] = ["wire_bytes", "payload_bytes", "copy"].map(small);
    let [sequence, acknowledgment, window] = ["sequence", "acknowledgment", "window"].map(small);
    let retransmission = column("retransmission").as_boolean();
    let text = |values: &[Option<Rc<str>>], index: usize| values[index].clone().unwrap_or_default();
    (0..batch.num_rows())
        .map(|index| {
            let name = text(&links, index);
            let link = scenario
                .links
                .iter()
                .position(|link| *link.config.name == *name);
            let link = link.expect("the link is in the scenario");
            let direction = usize::from(&*text(&directions, index) != "down");
            let ends = scenario.links[link].ends.map(|node| node.0);
            let flow = flows[index].as_deref();
            Row {
                number: number.value(index),
                copy: copy.value(index),
                link,
                direction,
                from: ends[direction],
                to: ends[1 - direction],
                flow: flow
                    .and_then(|name| scenario.flows.iter().position(|flow| flow.name == name)),
                sent: sent.value(index),
                decided: decided.is_valid(index).then(|| decided.value(index)),
                fate: text(&fates, index),
                wire_bytes: wire_bytes.value(index),
                source: text(&sources, index),
                destination: text(&destinations, index),
                payload: payload.value(index),
                retransmission: retransmission.value(index),
                tcp: sequence.is_valid(index).then(|| {
                    let flags = text(&flags, index);
                    let flag = |name| flags.split(' ').any(|flag| flag == name);
                    Tcp {
                        sequence: sequence.value(index),
                        acknowledgment: acknowledgment
                            .is_valid(index)
                            .then(|| acknowledgment.value(index)),
                        window: window.value(index),
                        syn: flag("SYN"),
                        fin: flag("FIN"),
                        rst: flag("RST"),
                    }
                }),
            }
        })
        .collect()
}
