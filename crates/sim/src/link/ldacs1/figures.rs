//! Figures that follow from the model's parameters without a run, in the form of study D: rates, link budget, losses.

use super::budget::LinkBudget;
use super::config::NetworkConfig;
use super::error_rate::ErrorRates;
use super::error_table::ErrorTable;
use super::frame::{FORWARD_FRAMES, data_tiles};
use super::modulation::{Modulation, TARGET_SNR_DB};
use super::network::HEADER_BYTES;
use super::queue::RETRANSMISSIONS;
use crate::link::cells::Direction;
use baton_proto::rate::DataRate;
use serde_json::{Value, json};

/// Returns the figures of study D's cell: for an aircraft at `distance_m` metres, a dedicated control channel for so
/// many `aircraft`, and a message of `message_bytes` with its header.
///
/// `header_bytes`, and for `forward` and `return` each: `slowest_bps` and `fastest_bps` of the modulations; `noise_dbm`,
/// `sensitivity_dbm`, `operation_point_dbm`, `received_dbm`, `margin_db` and `range_m` of the budget; `message_loss` of one
/// transmission, `message_loss_repeated` after all retransmissions, and for `return` `message_loss_jointly_coded`;
/// `computed_errors`, the computed table's pairs of SNR in dB and loss of a frame or tile with the slowest modulation, and
/// `computed_snr_db`, the SNR at which that loss is the published one, null if the table does not reach it.
pub fn json_figures(distance_m: f64, aircraft: u32, message_bytes: u32) -> Value {
    let control = NetworkConfig::new("figures", Vec::new()).common_control_frames;
    let [slowest, .., fastest] = Modulation::ALL;
    let errors = ErrorRates::AtTarget;
    let frames = |bytes: u32| message_bytes.div_ceil(bytes);

    let budget = |budget| json_budget(budget, TARGET_SNR_DB, distance_m);
    let mut forward = budget(&LinkBudget::FORWARD);
    let rate = |modulation: Modulation| modulation.forward_rate(FORWARD_FRAMES - control);
    put_rates(&mut forward, [slowest, fastest].map(rate));
    put_losses(
        &mut forward,
        errors.forward(slowest, TARGET_SNR_DB),
        frames(slowest.forward_bytes()),
    );

    let mut back = budget(&LinkBudget::RETURN);
    let rate = |modulation: Modulation| modulation.return_rate(data_tiles(aircraft));
    put_rates(&mut back, [slowest, fastest].map(rate));
    let tiles = frames(slowest.return_bytes());
    put_losses(&mut back, errors.tile(slowest, TARGET_SNR_DB), tiles);
    put_computed(
        &mut forward,
        Direction::Forward,
        errors.forward(slowest, TARGET_SNR_DB),
    );
    put_computed(
        &mut back,
        Direction::Return,
        errors.tile(slowest, TARGET_SNR_DB),
    );
    back["message_loss_jointly_coded"] = errors.burst(slowest, TARGET_SNR_DB, tiles).into();

    json!({ "header_bytes": HEADER_BYTES, "forward": forward, "return": back })
}

/// Returns a direction's link budget (study D, table 2) for a modulation that needs `snr_db`, at `distance_m` metres:
/// `noise_dbm`, `sensitivity_dbm`, `operation_point_dbm`, `received_dbm`, `margin_db`, and `range_m`, the distance at
/// which the margin is zero.
pub fn json_budget(budget: &LinkBudget, snr_db: f64, distance_m: f64) -> Value {
    let received_dbm = budget.received_dbm(distance_m);
    let sensitivity_dbm = budget.sensitivity_dbm(snr_db);
    let operation_point_dbm = sensitivity_dbm + budget.margin_db;
    json!({
        "noise_dbm": budget.noise_dbm(),
        "sensitivity_dbm": sensitivity_dbm,
        "operation_point_dbm": operation_point_dbm,
        "received_dbm": received_dbm,
        "margin_db": budget.snr_db(received_dbm) - snr_db,
        "range_m": budget.distance_m(operation_point_dbm),
    })
}

fn put_rates(direction: &mut Value, rates: [DataRate; 2]) {
    let [slowest, fastest] = rates.map(|rate| rate.bits_per_second());
    direction["slowest_bps"] = slowest.into();
    direction["fastest_bps"] = fastest.into();
}

/// Adds the loss of a message, which is lost if one of its frames is; its transmissions are independent (study D,
/// section 6).
fn put_losses(direction: &mut Value, frame_loss: f64, frames: u32) {
    let loss = 1.0 - libm::pow(1.0 - frame_loss, f64::from(frames));
    direction["message_loss"] = loss.into();
    let transmissions = f64::from(RETRANSMISSIONS) + 1.0;
    direction["message_loss_repeated"] = libm::pow(loss, transmissions).into();
}

/// Adds the curve of the computed table for the slowest modulation.
fn put_computed(figures: &mut Value, direction: Direction, published: f64) {
    // The table is part of the program, and a test reads it.
    let table = ErrorTable::computed().unwrap_or_default();
    let slowest = Modulation::QpskHalf;
    let points: Vec<(f64, f64)> = table.points(direction, slowest).collect();
    figures["computed_errors"] = json!(points);
    figures["computed_snr_db"] = json!(table.snr_db_at(direction, slowest, published));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_that_study_d_prints() {
        let figures = json_figures(225e3, 16, 84);
        let is = |direction: &str, key: &str, printed: f64, digit: f64| {
            let value = figures[direction][key].as_f64().expect("a number");
            assert!((value - printed).abs() <= digit / 2.0, "{key}: {value}");
        };
        is("forward", "slowest_bps", 291e3, 1e3);
        is("forward", "fastest_bps", 1318e3, 1e3);
        is("return", "fastest_bps", 1267e3, 1e3);
        is("forward", "noise_dbm", -111.03, 0.01);
        is("return", "operation_point_dbm", -97.33, 0.01);
        // Equation 1 with its sign corrected; the study prints -95.26.
        is("forward", "received_dbm", -95.93, 0.01);
        // 0.40 dB of margin are a factor of 10^(0.02) in distance.
        is("forward", "range_m", 235.6e3, 0.5e3);
        is("return", "message_loss", 0.322, 0.001);
        is("return", "message_loss_repeated", 1.1e-3, 0.1e-3);
        is("return", "message_loss_jointly_coded", 1e-2, 0.1e-2);
        is("forward", "message_loss", 6.31e-5, 0.01e-5);
        is("forward", "message_loss_repeated", 6.31e-26, 0.01e-26);
    }
}
