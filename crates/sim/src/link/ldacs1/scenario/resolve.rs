//! Resolution of a network and its cells.

use super::{RawCell, RawErrors, RawModulation};
use crate::link::config::QueueLimit;
use crate::link::ldacs1::error_rate::ErrorRates;
use crate::link::ldacs1::modulation::Modulation;
use crate::link::ldacs1::{CellConfig, HandoverType, NetworkConfig};
use crate::scenario::document::Path;
use crate::scenario::model::NodeIndex;
use crate::scenario::raw_links::{RawLink, RawQueue};
use crate::scenario::resolve::{Report, node};
use crate::scenario::resolve_links::{Links, check_name};
use crate::scenario::resolve_tracks::position;
use crate::scenario::units::Power;

/// Most cells of a network: the range of their numbers.
const MOST_CELLS: usize = 65_536;

/// Resolves the parameters of a network and its cells, with the cells' nodes.
pub(crate) fn network(
    (name, raw): (&str, &RawLink),
    path: &Path,
    links: &Links,
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
    config.errors = radio.errors.map_or(config.errors, errors);
    config.joint_coding = radio.joint_coding.unwrap_or(config.joint_coding);
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

fn errors(raw: RawErrors) -> ErrorRates {
    match raw {
        RawErrors::Fixed => ErrorRates::AtTarget,
        RawErrors::BySignal => ErrorRates::BySignal,
        RawErrors::None => ErrorRates::Perfect,
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
