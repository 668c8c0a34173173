//! Beginning of an AeroTP connection, from Python's arguments.

use super::Packet;
use crate::by_hand::{checked_mtu, options};
use crate::errors::{PacketError, from_scenario};
use baton_proto::aerotp::{Connection, Identity};
use baton_proto::rate::DataRate;
use baton_proto::tcp::Endpoint;
use baton_proto::time::Instant;
use baton_proto::wire::aerotp::Mode;
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::TcpFlags;
use baton_sim::scenario::{self, quantity_of};
use baton_sim::transport::aerotp::{AerotpSettings, mode_name};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Arguments that both ways to begin have.
pub(super) struct Beginning {
    /// As in a scenario; whether the mode stands there, it says itself.
    table: toml::Table,
    mtu: u32,
    initial: SequenceNumber,
    token: u32,
}

impl Beginning {
    pub(super) fn new(
        rate: &str,
        mtu: u32,
        (initial_sequence, token): (u32, u32),
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Beginning> {
        let mut table = settings_table(options)?;
        let datagram = mode_name(Mode::UnreliableDatagram);
        if table.get("mode").and_then(toml::Value::as_str) == Some(datagram) {
            let message = format!(
                "mode {datagram:?} has no connections; expected another mode, or `Packet.datagram`"
            );
            return Err(PyValueError::new_err(message));
        }
        table.insert("rate".to_owned(), rate.into());
        Ok(Beginning {
            table,
            mtu: checked_mtu(mtu)?,
            initial: SequenceNumber(initial_sequence),
            token,
        })
    }

    /// A connection that is opened from here.
    pub(super) fn connect(
        self,
        now: Instant,
        (local, remote): (Endpoint, Endpoint),
    ) -> PyResult<Connection> {
        let identity = self.identity(local, remote);
        let AerotpSettings {
            mut configuration,
            rate,
        } = settings(self.table)?;
        configuration.initial_rate = rate.unwrap_or_default();
        let addresses = (local.address, remote.address);
        Ok(Connection::connect(
            now,
            configuration,
            identity,
            addresses,
            self.mtu,
        ))
    }

    /// A connection that this packet opens.
    pub(super) fn accept(mut self, now: Instant, opening: Packet) -> PyResult<Connection> {
        let header = &opening.packet.header;
        let mode = mode_name(header.mode);
        let refusal = |why: String| {
            let message = format!("the packet does not open a connection: {why}");
            Err(PacketError::new_err(message))
        };
        if header.mode == Mode::UnreliableDatagram {
            return refusal(format!("mode {mode:?} has none; read it with `Packet`"));
        }
        if header.tcp_flags.contains(TcpFlags::RST) {
            return refusal("it is a reset".to_owned());
        }
        if header.opening.is_none() {
            return refusal("it has no ASYN; `Packet.reset_reply` answers it".to_owned());
        }
        self.table.entry("mode").or_insert(mode.into());
        let (remote, local) = opening.ends();
        let identity = self.identity(local, remote);
        let AerotpSettings {
            mut configuration,
            rate,
        } = settings(self.table)?;
        if configuration.mode != header.mode {
            let expected = mode_name(configuration.mode);
            return refusal(format!("its mode is {mode:?}; expected {expected:?}"));
        }
        configuration.initial_rate = rate.unwrap_or_default();
        let addresses = (local.address, remote.address);
        let mut connection = Connection::accept(now, configuration, identity, addresses, self.mtu);
        connection.handle_packet(now, (remote.address, local.address), opening.packet);
        Ok(connection)
    }

    fn identity(&self, local: Endpoint, remote: Endpoint) -> Identity {
        Identity {
            local_port: local.port,
            remote_port: remote.port,
            initial: self.initial,
            token: self.token,
        }
    }
}

/// The keys of a flow's `aerotp`. `class` is a word of Python's own: there it is `class_`.
pub(super) fn settings_table(given: Option<&Bound<'_, PyDict>>) -> PyResult<toml::Table> {
    let mut table = options(given, "aerotp")?;
    if let Some(class) = table.remove("class_") {
        table.insert("class".to_owned(), class);
    }
    Ok(table)
}

pub(super) fn settings(table: toml::Table) -> PyResult<AerotpSettings> {
    scenario::aerotp_settings(table).map_err(from_scenario)
}

/// A link's rate.
pub(super) fn rate(text: &str) -> PyResult<DataRate> {
    let bits = quantity_of("data-rate", text)
        .map_err(|why| PyValueError::new_err(format!("rate: {text:?} {why}")))?;
    Ok(DataRate::from_bits_per_second(bits as u64))
}
