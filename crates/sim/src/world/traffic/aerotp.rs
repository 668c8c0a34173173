//! An application over AeroTP: its writes and its deliveries.

use super::super::aerotp_paths::FlowPath;
use super::super::flow::{Delivered, FlowRun, Role};
use super::application::Kind;
use super::{Block, LONGEST_WRITE};
use crate::scenario::model::{AerotpSettings, Transport};
use baton_proto::aerotp::{Coding, Connection, Event};
use baton_proto::host::{AerotpDatagram, AerotpId, Host};
use baton_proto::packet::Payload;
use baton_proto::rate::DataRate;
use baton_proto::tcp;
use baton_proto::time::Instant;
use baton_proto::wire::aerotp::Protection;

/// State of a flow over AeroTP.
#[derive(Debug, Default)]
pub struct AerotpRun {
    /// Its paths, if it has several.
    pub paths: Vec<FlowPath>,
    /// The connection at source and sink.
    pub sockets: [Option<AerotpId>; 2],
    /// Bytes that the connection has left out.
    pub skipped: u64,
}

impl FlowRun {
    /// Returns its settings, if it goes over AeroTP.
    pub(in super::super) fn aerotp_settings(&self) -> Option<&AerotpSettings> {
        match &self.spec.transport {
            Transport::Aerotp(settings) => Some(settings),
            _ => None,
        }
    }

    /// Prepares the sink: a listener, or a port for datagrams.
    pub(in super::super) fn prepare_aerotp(&self, settings: &AerotpSettings, sink: &mut Host) {
        match self.spec.transport.connects() {
            true => {
                let mut configuration = settings.configuration.clone();
                // The sink writes nothing.
                configuration.initial_rate = settings.rate.unwrap_or(DataRate::ZERO);
                sink.aerotp_listen(self.port, configuration, 16, Some(self.id));
            }
            false => sink.aerotp_bind(self.port),
        }
    }

    /// Opens the source's connection, whose way carries `rate`.
    pub(in super::super) fn connect_aerotp(
        &mut self,
        now: Instant,
        host: &mut Host,
        rate: DataRate,
    ) -> Option<AerotpId> {
        let settings = self.aerotp_settings()?;
        let mut configuration = settings.configuration.clone();
        configuration.initial_rate = settings.rate.unwrap_or(rate);
        let remote = self.remote(Role::Source);
        let flow = Some(self.id);
        let socket = match self.aerotp.paths.is_empty() {
            true => host.aerotp_connect(now, remote, configuration, flow),
            false => {
                let ends = (self.addresses[Role::Source as usize], remote);
                host.aerotp_connect_from(now, ends, configuration, flow)
            }
        };
        self.aerotp.sockets[Role::Source as usize] = Some(socket);
        Some(socket)
    }

    /// Sends a block as a datagram of the mode without state.
    pub(super) fn send_aerotp_datagram(&self, now: Instant, host: &mut Host, block: Block) {
        let Some(settings) = self.aerotp_settings() else {
            return;
        };
        let datagram = AerotpDatagram {
            source_port: self.port,
            to: self.remote(Role::Source),
            class: settings.configuration.class,
            protection: match settings.configuration.coding {
                Coding::Fixed(protection) => protection,
                Coding::Adaptive => Protection::default(),
            },
            payload: block.payload(self.id.0),
        };
        host.aerotp_send_datagram(now, datagram, Some(self.id));
    }

    /// Takes in what happened on the connection at one end.
    pub(in super::super) fn handle_aerotp(
        &mut self,
        now: Instant,
        host: &mut Host,
        (role, socket): (Role, AerotpId),
        event: Event,
    ) -> Option<Delivered> {
        let connection = host.aerotp_mut(socket)?;
        match event {
            Event::Established | Event::Writable => self.fill_aerotp(role, connection),
            Event::Readable => return self.read_aerotp(now, connection),
            Event::Skipped(_) => {
                self.aerotp.skipped = connection.statistics().skipped;
                self.end_if_accounted(now);
            }
            Event::Finished => {
                if connection.configuration().mode.repeats() {
                    connection.close();
                }
                let delivered = self.read_aerotp(now, connection);
                if self.stream_bytes.is_some() {
                    self.complete(now);
                    self.progress.give_up_waiting(now);
                }
                return delivered;
            }
            Event::Reset => {
                self.failure.get_or_insert(tcp::Event::Reset);
            }
            Event::TimedOut => {
                self.failure.get_or_insert(tcp::Event::TimedOut);
            }
            Event::Confirmed | Event::Delivered | Event::Closed => {}
        }
        None
    }

    fn read_aerotp(&mut self, now: Instant, connection: &mut Connection) -> Option<Delivered> {
        let mut bytes = 0;
        while let Some(read) = connection.read(now, u64::MAX) {
            bytes += u64::from(read.payload.length());
        }
        if bytes == 0 {
            return None;
        }
        let accounted = self.progress.delivered_bytes + self.aerotp.skipped + bytes;
        let more = accounted < self.application.stream_length();
        let delivered = self.delivered(now, bytes, more);
        self.end_if_accounted(now);
        Some(delivered)
    }

    /// Ends a stream of known length if all its bytes have arrived or been skipped.
    fn end_if_accounted(&mut self, now: Instant) {
        let accounted = self.progress.delivered_bytes + self.aerotp.skipped;
        if self.stream_bytes.is_some_and(|bytes| accounted >= bytes) {
            self.complete(now);
            self.progress.give_up_waiting(now);
        }
    }

    /// Writes for as long as the connection has room, and closes when that was all.
    pub(in super::super) fn fill_aerotp(&mut self, role: Role, connection: &mut Connection) {
        let record = match &self.application.kind {
            Kind::Blocks(blocks) => Some(u64::from(blocks.size())),
            _ => None,
        };
        let outbox = &mut self.application.outboxes[role as usize];
        while outbox.unwritten > 0 {
            let most = record.unwrap_or(LONGEST_WRITE);
            let length = outbox.unwritten.min(most);
            let payload = Payload::Pattern {
                stream: self.id.0,
                offset: outbox.written,
                length: length as u32,
            };
            let taken = match record {
                Some(_) => write_record(connection, &payload),
                None => connection.write(&payload),
            };
            outbox.written += taken;
            outbox.unwritten -= taken;
            if taken < length {
                break;
            }
        }
        if outbox.unwritten == 0 && outbox.closing {
            connection.close();
        }
    }
}

/// Writes all or nothing: a record, or part of a stream if it is longer than a packet.
fn write_record(connection: &mut Connection, payload: &Payload) -> u64 {
    let length = u64::from(payload.length());
    if connection.write_record(payload) {
        length
    } else if connection.room() >= length {
        connection.write(payload)
    } else {
        0
    }
}
