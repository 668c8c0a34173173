//! A replacement for the TLS 1.3 handshake: its messages have TLS's order, levels and lengths (RFC 9001 section 4), but
//! contain only the transport parameters.

use crate::keys::{keys_of, packet_keys_of};
use quinn_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;

/// Length of a message's type and length in bytes (RFC 8446 section 4).
const PREFIX: usize = 4;
/// Length of a ClientHello in bytes, with one key share, SNI and ALPN; chosen, as in rustls and browsers without a
/// post-quantum share.
const CLIENT_HELLO: usize = 300;
/// Length of a ServerHello in bytes, with a key share; as in rustls.
const SERVER_HELLO: usize = 122;
/// Length of EncryptedExtensions, Certificate, CertificateVerify and Finished in bytes, with a chain of two
/// elliptic-curve certificates; chosen.
const SERVER_FLIGHT: usize = 2500;
/// Length of a Finished in bytes, with SHA-256.
const FINISHED: usize = 36;

/// Level of a handshake's messages.
const HANDSHAKE: u64 = 1;
/// First level of keys for data.
const DATA: u64 = 2;

/// Next step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client has a ClientHello to send.
    SendClientHello,
    /// The server waits for a ClientHello.
    AwaitClientHello,
    /// The server has a ServerHello to send, and then handshake keys.
    SendServerHello,
    /// The server has the rest of its flight to send, and then keys for data.
    SendServerFlight,
    /// The client waits for a ServerHello.
    AwaitServerHello,
    /// The client has a ServerHello: handshake keys are due.
    HandshakeKeys,
    /// The client waits for the rest of the server's flight.
    AwaitServerFlight,
    /// The client has a Finished to send, and then keys for data.
    SendFinished,
    /// The server waits for the client's Finished.
    AwaitFinished,
    /// Complete handshake.
    Complete,
}

/// Handshake of one end.
#[derive(Debug)]
pub(crate) struct NullSession {
    side: Side,
    step: Step,
    /// Transport parameters of this end, encoded.
    own: Vec<u8>,
    /// Transport parameters of the peer, as received.
    peer: Option<Vec<u8>>,
    /// Bytes of an incomplete message.
    partial: Vec<u8>,
    /// Level of the next keys for data.
    next_level: u64,
}

impl NullSession {
    fn new(side: Side, step: Step, parameters: &TransportParameters) -> NullSession {
        let mut own = Vec::new();
        parameters.write(&mut own);
        NullSession {
            side,
            step,
            own,
            peer: None,
            partial: Vec::new(),
            next_level: DATA,
        }
    }

    /// Returns the message expected next from the peer.
    fn awaited(&self) -> Option<(u8, usize)> {
        match self.step {
            Step::AwaitClientHello => Some((1, CLIENT_HELLO)),
            Step::AwaitServerHello => Some((2, SERVER_HELLO)),
            Step::AwaitServerFlight => Some((8, SERVER_FLIGHT)),
            Step::AwaitFinished => Some((20, FINISHED)),
            _ => None,
        }
    }

    /// Takes in a complete message, without its prefix.
    fn take(&mut self, body: &[u8]) -> Result<(), TransportError> {
        match self.step {
            Step::AwaitClientHello => {
                self.peer = Some(parameters_in(body)?);
                self.step = Step::SendServerHello;
            }
            Step::AwaitServerHello => self.step = Step::HandshakeKeys,
            Step::AwaitServerFlight => {
                self.peer = Some(parameters_in(body)?);
                self.step = Step::SendFinished;
            }
            _ => self.step = Step::Complete,
        }
        Ok(())
    }

    fn data_keys(&mut self) -> Keys {
        self.next_level = DATA + 1;
        keys_of(DATA)
    }
}

/// Returns the transport parameters in a message.
fn parameters_in(body: &[u8]) -> Result<Vec<u8>, TransportError> {
    let parameters = || {
        let (length, rest) = body.split_first_chunk::<2>()?;
        rest.get(..usize::from(u16::from_be_bytes(*length)))
    };
    let missing = || violation("a handshake message is cut short");
    parameters().map(<[u8]>::to_vec).ok_or_else(missing)
}

fn violation(reason: &str) -> TransportError {
    TransportError {
        code: TransportErrorCode::PROTOCOL_VIOLATION,
        frame: None,
        reason: reason.to_owned(),
    }
}

/// Appends a message of a type, with this total length, or longer if the contents require it; the rest is zero.
fn put_message(kind: u8, length: usize, contents: &[u8], out: &mut Vec<u8>) {
    let length = length.max(PREFIX + 2 + contents.len());
    let start = out.len();
    let [_, high, middle, low] = ((length - PREFIX) as u32).to_be_bytes();
    out.extend([kind, high, middle, low]);
    if !contents.is_empty() {
        out.extend((contents.len() as u16).to_be_bytes());
        out.extend_from_slice(contents);
    }
    out.resize(start + length, 0);
}

impl Session for NullSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys_of(0)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Complete
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend_from_slice(buf);
        loop {
            let Some((prefix, rest)) = self.partial.split_first_chunk::<PREFIX>() else {
                return Ok(false);
            };
            let &[kind, high, middle, low] = prefix;
            let length = u32::from_be_bytes([0, high, middle, low]) as usize;
            // A longer message would have longer transport parameters than possible.
            let is_awaited = |(awaited, usual): (u8, usize)| awaited == kind && length <= 2 * usual;
            if !self.awaited().is_some_and(is_awaited) {
                return Err(violation("a handshake message is out of order"));
            }
            let Some(body) = rest.get(..length) else {
                return Ok(false);
            };
            let body = body.to_vec();
            self.partial.drain(..PREFIX + length);
            self.take(&body)?;
        }
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(peer) = &self.peer else {
            return Ok(None);
        };
        let read = TransportParameters::read(self.side, &mut Cursor::new(peer));
        read.map(Some).map_err(Into::into)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.step {
            Step::SendClientHello => {
                put_message(1, CLIENT_HELLO, &self.own, buf);
                self.step = Step::AwaitServerHello;
                None
            }
            Step::SendServerHello => {
                put_message(2, SERVER_HELLO, &[], buf);
                self.step = Step::SendServerFlight;
                Some(keys_of(HANDSHAKE))
            }
            Step::SendServerFlight => {
                put_message(8, SERVER_FLIGHT, &self.own, buf);
                self.step = Step::AwaitFinished;
                Some(self.data_keys())
            }
            Step::HandshakeKeys => {
                self.step = Step::AwaitServerFlight;
                Some(keys_of(HANDSHAKE))
            }
            Step::SendFinished => {
                put_message(20, FINISHED, &[], buf);
                self.step = Step::Complete;
                Some(self.data_keys())
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let level = self.next_level;
        self.next_level += 1;
        Some(packet_keys_of(level))
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Start of handshakes at either end.
#[derive(Debug)]
pub(crate) struct NullCrypto;

impl ClientConfig for NullCrypto {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = NullSession::new(Side::Client, Step::SendClientHello, params);
        Ok(Box::new(session))
    }
}

impl ServerConfig for NullCrypto {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys_of(0))
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        let session = NullSession::new(Side::Server, Step::AwaitClientHello, params);
        Box::new(session)
    }
}
