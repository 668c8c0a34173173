//! AeroTP packets for Python: their fields, and those that need no connection.

use super::beginning::{settings, settings_table};
use crate::by_hand::{Clock, checked_mtu, encoded, endpoints, text};
use crate::errors::{PacketError, from_decode, guarded};
use baton_proto::aerotp::{Coding, reset_reply};
use baton_proto::host::AerotpDatagram;
use baton_proto::packet::{self, Body, Payload};
use baton_proto::tcp::Endpoint;
use baton_proto::wire::aerotp::{AerotpPacket, Condition, Mack, Mode, Protection};
use baton_sim::transport::aerotp::mode_name;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// An AeroTP packet that was read; section 4 of docs/aerotp.md has its fields.
#[pyclass(frozen, module = "baton.aerotp")]
pub(crate) struct Packet {
    from: Endpoint,
    to: Endpoint,
    pub(super) packet: AerotpPacket,
}

impl Packet {
    /// Of a whole IP packet.
    pub(super) fn read(bytes: &[u8]) -> PyResult<Packet> {
        let packet::Packet { ip, body, .. } = packet::Packet::decode(bytes).map_err(from_decode)?;
        let Body::Aerotp(packet) = body else {
            return Err(PacketError::new_err(
                "the packet does not hold an AeroTP packet",
            ));
        };
        let end = |address, port| Endpoint { address, port };
        Ok(Packet {
            from: end(ip.source, packet.header.source_port),
            to: end(ip.destination, packet.header.destination_port),
            packet: *packet,
        })
    }

    /// Sender and receiver.
    pub(super) fn ends(&self) -> (Endpoint, Endpoint) {
        (self.from, self.to)
    }
}

#[pymethods]
impl Packet {
    /// Reads a whole IP packet, and puts right what its code can. Raises `PacketError` if a receiver would drop it.
    #[staticmethod]
    fn decode(packet: &[u8]) -> PyResult<Packet> {
        guarded(|| Packet::read(packet))
    }

    /// A whole IP packet with a datagram of mode `"unreliable-datagram"`, which needs no connection.
    ///
    /// Ends, `mtu` and exceptions as in `Connection.connect`; `options` are `coding` and `class_`. `data` that does not
    /// fit a packet with its code raises `ValueError`.
    #[staticmethod]
    #[pyo3(signature = (local, remote, data, *, now, mtu = 1500, **options))]
    fn datagram<'py>(
        py: Python<'py>,
        local: &str,
        remote: &str,
        data: &[u8],
        now: f64,
        mtu: u32,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (from, to) = endpoints(local, remote)?;
        let (mtu, now) = (checked_mtu(mtu)?, Clock::new().at(now)?);
        let mut table = settings_table(options)?;
        let mode = mode_name(Mode::UnreliableDatagram);
        if table.insert("mode".to_owned(), mode.into()).is_some() {
            let message = format!("a datagram's mode is {mode:?}; leave `mode` out");
            return Err(PyValueError::new_err(message));
        }
        let configuration = settings(table)?.configuration;
        let protection = match configuration.coding {
            Coding::Fixed(protection) => protection,
            Coding::Adaptive => Protection::default(),
        };
        let too_long = || {
            PyValueError::new_err(format!(
                "{} B of data with headers and code do not fit a packet of mtu = {mtu} B; expected less data, a weaker code or a larger mtu",
                data.len()
            ))
        };
        if data.len() > mtu as usize {
            return Err(too_long());
        }
        let bytes = guarded(|| {
            let datagram = AerotpDatagram {
                source_port: from.port,
                to,
                class: configuration.class,
                protection,
                payload: Payload::Bytes(data.into()),
            };
            let body = Body::Aerotp(Box::new(datagram.into_packet(now)));
            Ok(encoded(from.address, to.address, 0, body))
        })?;
        if bytes.len() > mtu as usize {
            return Err(too_long());
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// The reset with which a host answers this packet if it has no connection for it, as a whole IP packet; None if
    /// none is due.
    fn reset_reply<'py>(&self, py: Python<'py>, now: f64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let now = Clock::new().at(now)?;
        let reset = guarded(|| {
            let reset = reset_reply(&self.packet.header, now);
            Ok(reset.map(|reset| {
                let body = Body::Aerotp(Box::new(reset));
                encoded(self.to.address, self.from.address, 0, body)
            }))
        })?;
        Ok(reset.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Address that it comes from.
    #[getter]
    fn source(&self) -> String {
        text(self.from)
    }

    /// Address that it goes to.
    #[getter]
    fn destination(&self) -> String {
        text(self.to)
    }

    /// Guarantees of delivery of its connection.
    #[getter]
    fn mode(&self) -> &'static str {
        mode_name(self.packet.header.mode)
    }

    /// Service class, 0 to 7.
    #[getter]
    fn class_(&self) -> u8 {
        self.packet.header.class.number()
    }

    /// Words of 32 bits of redundancy, 0 to 256, as the prelude says.
    #[getter]
    fn strength(&self) -> u16 {
        self.packet.header.protection.strength.words()
    }

    /// True if the header stands inside the code.
    #[getter]
    fn covers_header(&self) -> bool {
        self.packet.header.protection.covers_header
    }

    /// Sequence number of the payload's first byte; without payload, of the next byte that was never sent.
    #[getter]
    fn sequence(&self) -> u32 {
        self.packet.header.sequence.0
    }

    /// Time at which it left, in microseconds modulo 2**32.
    #[getter]
    fn timestamp(&self) -> u32 {
        self.packet.header.timestamp
    }

    /// AFIN: the end of its sender's data.
    #[getter]
    fn is_final(&self) -> bool {
        self.packet.header.is_final
    }

    /// RECORD: the payload's last byte ends a record.
    #[getter]
    fn ends_record(&self) -> bool {
        self.packet.header.ends_record
    }

    /// PULL: a MACK is wanted at once.
    #[getter]
    fn wants_mack(&self) -> bool {
        self.packet.header.wants_mack
    }

    /// With `token`: the source is one more path, and takes no other's place.
    #[getter]
    fn adds_path(&self) -> bool {
        self.packet.header.adds_path
    }

    /// The flags of TCP's header; RST (4) resets.
    #[getter]
    fn tcp_flags(&self) -> u8 {
        self.packet.header.tcp_flags.0
    }

    /// ASYN: `initial`, the sequence number of the first byte, and `token`.
    #[getter]
    fn opening<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(opening) = self.packet.header.opening else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        dict.set_item("initial", opening.initial.0)?;
        dict.set_item("token", opening.token)?;
        Ok(Some(dict))
    }

    /// Offer of a TCP SYN that a gateway tells: `maximum_segment_size` in bytes, `window_scale` (None for none),
    /// `sack_permitted`, `timestamps`.
    #[getter]
    fn tcp_offer<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(offer) = self.packet.header.tcp_offer else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        dict.set_item("maximum_segment_size", offer.maximum_segment_size)?;
        dict.set_item("window_scale", offer.window_scale)?;
        dict.set_item("sack_permitted", offer.sack_permitted)?;
        dict.set_item("timestamps", offer.timestamps)?;
        Ok(Some(dict))
    }

    /// MACK and SNACK: `cumulative`, `unconfirmed` and `window` in bytes, `echo` and `held_for` in microseconds,
    /// `error_rate` of bits, `arrival_rate` in kbit/s, `is_complete` (AFINACK); `received`, pairs of start and length
    /// by their distance from `cumulative`; `missing`, the same with whether it came damaged (ELN).
    #[getter]
    fn mack<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let mack = self.packet.header.mack.as_deref();
        mack.map(|mack| mack_dict(py, mack)).transpose()
    }

    /// The sender's own token, shown after a move and with a reset.
    #[getter]
    fn token(&self) -> Option<u32> {
        self.packet.header.token
    }

    /// The place in a block of a code across packets: `number`, `index`, and how many `sources` and `repairs` there
    /// are.
    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(place) = self.packet.header.block else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        dict.set_item("number", place.block)?;
        dict.set_item("index", place.index)?;
        dict.set_item("sources", place.sources)?;
        dict.set_item("repairs", place.repairs)?;
        Ok(Some(dict))
    }

    /// The data; none if it is damaged.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut data = Vec::new();
        self.packet.payload.copy_into(&mut data);
        PyBytes::new(py, &data)
    }

    /// Bytes of data that it had when it left.
    #[getter]
    fn length(&self) -> u32 {
        match self.packet.condition {
            Condition::Damaged(length) => length,
            Condition::Clean | Condition::Corrected(_) => self.packet.payload.length(),
        }
    }

    /// Condition after the channel: "clean", "corrected" by the code, or "damaged" beyond it, with a header that is
    /// right.
    #[getter]
    fn condition(&self) -> &'static str {
        match self.packet.condition {
            Condition::Clean => "clean",
            Condition::Corrected(_) => "corrected",
            Condition::Damaged(_) => "damaged",
        }
    }

    /// Bytes that the code has put right.
    #[getter]
    fn corrected_bytes(&self) -> u32 {
        match self.packet.condition {
            Condition::Corrected(bytes) => bytes,
            Condition::Clean | Condition::Damaged(_) => 0,
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "<baton.aerotp.Packet {} to {}, {}, {} B>",
            text(self.from),
            text(self.to),
            self.mode(),
            self.length()
        )
    }
}

fn mack_dict<'py>(py: Python<'py>, mack: &Mack) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("cumulative", mack.cumulative.0)?;
    dict.set_item("unconfirmed", mack.unconfirmed)?;
    dict.set_item("window", mack.window)?;
    dict.set_item("echo", mack.echo)?;
    dict.set_item("held_for", mack.held_for)?;
    dict.set_item("error_rate", mack.error_rate.rate())?;
    dict.set_item("arrival_rate", mack.arrival_rate)?;
    dict.set_item("is_complete", mack.is_complete)?;
    let received = mack.received.iter();
    let received: Vec<(u32, u32)> = received.map(|range| (range.start, range.length)).collect();
    let missing = mack.missing.iter();
    let missing: Vec<(u32, u32, bool)> = missing
        .map(|missing| (missing.range.start, missing.range.length, missing.damaged))
        .collect();
    dict.set_item("received", received)?;
    dict.set_item("missing", missing)?;
    Ok(dict)
}
