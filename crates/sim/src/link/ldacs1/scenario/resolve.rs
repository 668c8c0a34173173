//! Resolution of a network and its cells.

use super::{RawCell, RawErrors, RawModulation, RawRadio};
use crate::link::cells::{CellId, Direction};
use crate::link::config::QueueLimit;
use crate::link::ldacs1::error_rate::ErrorRates;
use crate::link::ldacs1::error_table::ErrorTable;
use crate::link::ldacs1::modulation::Modulation;
use crate::link::ldacs1::{CellConfig, HandoverType, NetworkConfig};
use crate::scenario::document::Path;
use crate::scenario::model::NodeIndex;
use crate::scenario::raw_links::{RawLink, RawQueue};
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::{Links, check_name};
use crate::scenario::resolve_tracks::position;
use crate::scenario::traces::Traces;
use crate::scenario::units::Power;
use std::sync::Arc;

/// Most cells of a network: the range of their numbers.
const MOST_CELLS: usize = 65_536;

/// Resolves the parameters of a network and its cells, with the cells' nodes.
pub(crate) fn network(
    (name, raw): (&str, &RawLink),
    path: &Path,
    links: &Links,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<(NetworkConfig, Vec<NodeIndex>)> {
    let radio = raw.kind.settings().radio()?;
    let cells = &radio.cells.0;
    let mut configs = Vec::new();
    let mut nodes = Vec::new();
    for (name, cell) in cells {
        let path = path.key("cells").key(name);
        check_name(name, &path, report);
        nodes.extend(node(&cell.node, &path.key("node"), links, report));
        configs.push(cell_config(name, cell));
    }
    if configs.is_empty() || configs.len() > MOST_CELLS {
        let message = format!(
            "has {} cells; expected 1 to {MOST_CELLS}, like [links.{name}.cells.NAME]",
            configs.len()
        );
        report.wrong(path, message);
        return None;
    }
    let mut config = NetworkConfig::new(name, configs);
    config.user_rate = radio.user_rate.map(|rate| rate.0);
    config.common_control_frames = radio
        .common_control_frames
        .unwrap_or(config.common_control_frames);
    config.modulation = radio.modulation.map_or(config.modulation, modulation);
    config.joint_coding = radio.joint_coding.unwrap_or(config.joint_coding);
    config.standing_grant = radio.standing_grant.unwrap_or(config.standing_grant);
    config.slot_delivery = radio.slot_delivery.unwrap_or(config.slot_delivery);
    let limited = |cell| config.user_rate_in(CellId(cell as u16)).is_some();
    if config.standing_grant && !(0..config.cells.len()).all(limited) {
        let message =
            "goes with \"user_rate\", the rate that is granted, of the network or of each cell";
        report.wrong_key(&path.key("standing_grant"), message.to_owned());
    }
    config.errors = errors(radio, path, config.modulation, traces, report)?;
    if radio.handover_type == Some(2) {
        config.handover = HandoverType::Two;
    }
    config.packet_bit = radio.packet_bit.unwrap_or(config.packet_bit);
    config.forwards_queue = radio
        .base_station_buffering
        .unwrap_or(config.forwards_queue);
    if let Some(bytes) = queue_bytes(raw.both.queue.as_ref(), &path.key("queue"), report) {
        config.queue_bytes = bytes;
    }
    // The lack of a node was reported.
    (nodes.len() == config.cells.len()).then_some((config, nodes))
}

fn cell_config(name: &str, raw: &RawCell) -> CellConfig {
    let radius_m = raw.radius.map_or(225e3, |radius| radius.0);
    let mut config = CellConfig::new(name, position(&raw.position), radius_m);
    let (forward, back) = (&mut config.forward, &mut config.back);
    forward.frequency_hz = raw
        .forward_frequency
        .map_or(forward.frequency_hz, |at| at.0);
    back.frequency_hz = raw.return_frequency.map_or(back.frequency_hz, |at| at.0);
    let (scan, force) = (0.75 * radius_m, radius_m);
    let received = |given: Option<Power>, distance_m| {
        given.map_or(config.forward.received_dbm(distance_m), |power| power.0)
    };
    (config.scan_below_dbm, config.force_below_dbm) = (
        received(raw.scan_below, scan),
        received(raw.force_below, force),
    );
    config.user_rate = raw.user_rate.map(|rate| rate.0);
    config
}

fn modulation(raw: RawModulation) -> Option<Modulation> {
    match raw {
        RawModulation::Adaptive => None,
        RawModulation::QpskHalf => Some(Modulation::QpskHalf),
        RawModulation::QpskTwoThirds => Some(Modulation::QpskTwoThirds),
        RawModulation::QpskThreeQuarters => Some(Modulation::QpskThreeQuarters),
        RawModulation::Qam16Half => Some(Modulation::Qam16Half),
        RawModulation::Qam16TwoThirds => Some(Modulation::Qam16TwoThirds),
        RawModulation::Qam64Half => Some(Modulation::Qam64Half),
        RawModulation::Qam64TwoThirds => Some(Modulation::Qam64TwoThirds),
        RawModulation::Qam64ThreeQuarters => Some(Modulation::Qam64ThreeQuarters),
    }
}

/// Resolves the source of error rates for a network's modulation.
fn errors(
    radio: &RawRadio,
    path: &Path,
    modulation: Option<Modulation>,
    traces: &mut Traces<'_>,
    report: &mut Report<'_>,
) -> Option<ErrorRates> {
    let (key, table) = match (radio.errors, &radio.error_table) {
        (None | Some(RawErrors::BySignal), Some(name)) => {
            let here = path.key("error_table");
            let file = (name.as_str(), "table");
            let table = traces.parsed(file, &here, report, ErrorTable::parse_csv)?;
            check_covers(&table, modulation, &here, report);
            ("error_table", table)
        }
        (Some(RawErrors::Computed), None) => match ErrorTable::computed() {
            Ok(table) => ("errors", table),
            Err(error) => {
                report.wrong(&path.key("errors"), error.to_string());
                return None;
            }
        },
        (Some(_), Some(_)) => {
            let message = "is set beside another source of error rates; expected errors = \"by-signal\" with it";
            report.wrong_key(&path.key("error_table"), message.to_owned());
            return None;
        }
        (None | Some(RawErrors::Fixed), None) => return Some(ErrorRates::AtTarget),
        (Some(RawErrors::BySignal), None) => return Some(ErrorRates::BySignal),
        (Some(RawErrors::None), None) => return Some(ErrorRates::Perfect),
    };
    if radio.joint_coding == Some(true) {
        let message = "is set beside joint_coding, of which a table has no error rates; expected only one of them";
        report.wrong_key(&path.key(key), message.to_owned());
        return None;
    }
    Some(ErrorRates::Table(Arc::new(table)))
}

/// Checks that a table has the rates of the network's modulation, or of all for adaptive modulation.
fn check_covers(
    table: &ErrorTable,
    modulation: Option<Modulation>,
    path: &Path,
    report: &mut Report<'_>,
) {
    let needed = Modulation::ALL.into_iter();
    let needed = needed.filter(|each| modulation.is_none_or(|fixed| *each == fixed));
    let lacking = needed
        .flat_map(|each| [(Direction::Forward, each), (Direction::Return, each)])
        .find(|&(direction, each)| !table.covers(direction, each));
    if let Some((direction, each)) = lacking {
        let direction = match direction {
            Direction::Forward => "forward",
            Direction::Return => "return",
        };
        let message = format!(
            "has no rows of {direction},{}; expected rows of both directions for each modulation that the network uses",
            each.name()
        );
        report.wrong(path, message);
    }
}

/// Resolves the most bytes waiting for one aircraft.
fn queue_bytes(raw: Option<&RawQueue>, path: &Path, report: &mut Report<'_>) -> Option<u32> {
    match raw? {
        RawQueue::Size(size) => match size.0 {
            QueueLimit::Bytes(bytes) => Some(u32::try_from(bytes).unwrap_or(u32::MAX)),
            QueueLimit::Packets(_) => {
                let message = "a radio network counts bytes; expected a size, like \"64 kB\"";
                report.wrong(path, message.to_owned());
                None
            }
        },
        RawQueue::Managed(_) => {
            let message =
                "a radio network has no queue management; expected a size, like \"64 kB\"";
            report.wrong(path, message.to_owned());
            None
        }
    }
}
