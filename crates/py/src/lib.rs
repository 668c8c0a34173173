//! Python's side of the laboratory: the module `baton._baton`.
//!
//! Converts, releases the interpreter lock while a run works, and maps errors. The signatures and their
//! documentation stand in `python/baton/_baton.pyi`.
#![forbid(unsafe_code)]

mod aerotp;
mod by_hand;
mod classes;
mod columns;
mod connection;
mod control;
mod decision;
mod errors;
mod live_decisions;
mod remedy;
mod result;
mod scenario;
mod sweep;
mod table;
mod values;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The extension of the package `baton`.
#[pymodule]
mod _baton {
    #[pymodule_export]
    use super::build_commit;
    #[pymodule_export]
    use super::columns::{Batches, Column, TableFile, table_column};
    #[pymodule_export]
    use super::connection::{Connection, Listener};
    #[pymodule_export]
    use super::control::{AckSample, LossSample};
    #[pymodule_export]
    use super::decision::{Decision, LinkEvent, LinkView, MobileView};
    #[pymodule_export]
    use super::errors::{BatonError, FolderError, PacketError, RunError, ScenarioError};
    #[pymodule_export]
    use super::json_defaults;
    #[pymodule_export]
    use super::json_link_budget;
    #[pymodule_export]
    use super::json_radio_figures;
    #[pymodule_export]
    use super::json_remedies;
    #[pymodule_export]
    use super::json_schema;
    #[pymodule_export]
    use super::live_decisions::LiveDecisions;
    #[pymodule_export]
    use super::quantity;
    #[pymodule_export]
    use super::remedy::{Control, PathParameters, Signal, TransportView};
    #[pymodule_export]
    use super::result::Result;
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::sweep::{Stop, sweep_run};
    #[pymodule_export]
    use super::table::Table;
    use pyo3::prelude::*;

    /// Gives `baton.aerotp` the names that stand here for TCP's.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        module.add(
            "AerotpConnection",
            py.get_type::<super::aerotp::Connection>(),
        )?;
        module.add("AerotpPacket", py.get_type::<super::aerotp::Packet>())
    }
}

/// The JSON Schema (draft 2020-12) of scenario files, as text.
#[pyfunction]
fn json_schema() -> String {
    baton_sim::scenario::json_schema().to_string()
}

/// Returns the engine's facts about each remedy, as JSON text: an array of objects.
///
/// `name`, `about`; `installed`, where it is for data that goes to the mobile: "mobile", "sender", "gateway", or several;
/// `quic` and `ipsec`, whether it works there; `own`, whether it is Baton's own and no published one.
#[pyfunction]
fn json_remedies() -> String {
    baton_sim::scenario::json_remedies().to_string()
}

/// The defaults of links and TCP profiles, by the names of a scenario's keys, as JSON text.
#[pyfunction]
fn json_defaults() -> String {
    baton_sim::scenario::json_defaults().to_string()
}

/// A radio network's rates, link budget and losses by its model's formulas, as JSON text: for an aircraft at a
/// distance in metres, a dedicated control channel for so many aircraft, and a message of so many bytes with its
/// header.
///
/// `header_bytes`, and for `forward` and `return` each: `slowest_bps`, `fastest_bps`; `noise_dbm`, `sensitivity_dbm`,
/// `operation_point_dbm`, `received_dbm`, `margin_db`, `range_m`; `message_loss`, `message_loss_repeated` after all
/// retransmissions, for `return` also `message_loss_jointly_coded`; `computed_errors`, pairs of SNR in dB and loss of a
/// frame or tile by the computed error table, and `computed_snr_db`, the SNR at which that loss is study D's, or null.
#[pyfunction]
fn json_radio_figures(distance_m: f64, aircraft: u32, message_bytes: u32) -> String {
    baton_sim::link::cells::json_figures(distance_m, aircraft, message_bytes).to_string()
}

/// A direction's link budget by study D's formulas, as JSON text, for an SNR that a modulation needs and a distance.
///
/// `budget` is a JSON object with `transmit_power_dbm`, `transmit_gain_db`, `receive_gain_db`, `frequency_hz`,
/// `noise_figure_db`, `bandwidth_hz` and `margin_db`. The result has `noise_dbm`, `sensitivity_dbm`,
/// `operation_point_dbm`, `received_dbm`, `margin_db`, and `range_m`, where no margin is left. Raises `ValueError` if
/// `budget` is no such object.
#[pyfunction]
fn json_link_budget(budget: &str, snr_db: f64, distance_m: f64) -> PyResult<String> {
    let budget = serde_json::from_str(budget)
        .map_err(|error| PyValueError::new_err(format!("no link budget: {error}")))?;
    Ok(baton_sim::link::cells::json_budget(&budget, snr_db, distance_m).to_string())
}

/// A text with a unit, such as `5 Mbit/s`, as a number in base units; read as a scenario's value is.
///
/// `format` is one of the schema's: `time` and `positive-time` (seconds), `data-rate` (bit/s), `size` (bytes),
/// `distance` (metres), `speed` (m/s), `frequency` (hertz), `power` (dBm). Raises `ValueError`, whose text follows the
/// given one in a sentence.
#[pyfunction]
fn quantity(format: &str, text: &str) -> PyResult<f64> {
    baton_sim::scenario::quantity_of(format, text).map_err(PyValueError::new_err)
}

/// The commit that Baton was built from, with `-dirty` if the tree had changes; none outside a checkout.
#[pyfunction]
fn build_commit() -> Option<&'static str> {
    Some(env!("BATON_COMMIT")).filter(|commit| !commit.is_empty())
}
