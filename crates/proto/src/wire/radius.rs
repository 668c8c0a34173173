//! RADIUS messages (RFC 2865) for access control, with the Message-Authenticator of RFC 3579 section 3.2 in each.
//! Unknown attributes are skipped.

use super::{DecodeError, Words, expect_length, ipv6_at, u16_at};
use core::net::Ipv6Addr;
use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};

/// UDP port of servers (RFC 2865 section 3).
pub const PORT: u16 = 1812;
/// Maximum length of a user name in bytes, the data of an attribute (RFC 2865 section 5).
pub const LONGEST_NAME: usize = 253;

const HEADER: &str = "RADIUS";
/// Offset of the attributes.
const ATTRIBUTES: usize = 20;
const LONGEST: usize = 4096;
const USER_NAME: u8 = 1;
const MESSAGE_AUTHENTICATOR: u8 = 80;
const NAS_IPV6_ADDRESS: u8 = 95;

/// Message code (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Access-Request.
    Request,
    /// Access-Accept.
    Accept,
    /// Access-Reject.
    Reject,
}

impl Code {
    const fn number(self) -> u8 {
        match self {
            Code::Request => 1,
            Code::Accept => 2,
            Code::Reject => 3,
        }
    }

    /// Returns the standard's name.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Request => "Access-Request",
            Code::Accept => "Access-Accept",
            Code::Reject => "Access-Reject",
        }
    }
}

/// A RADIUS message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radius {
    /// Message code.
    pub code: Code,
    /// Identifier, which matches an answer to its request.
    pub identifier: u8,
    /// Random number of a request; in its answer, a digest of that number, the answer and the secret.
    pub authenticator: [u8; 16],
    /// User name; bytes after [`LONGEST_NAME`] are cut.
    pub user_name: Option<Box<[u8]>>,
    /// NAS-IPv6-Address, the requester (RFC 3162 section 2.1).
    pub asks: Option<Ipv6Addr>,
    /// Message-Authenticator: keyed digest of the message (RFC 3579 section 3.2).
    pub message_authenticator: Option<[u8; 16]>,
}

impl Radius {
    /// Creates a request with authenticator. `random` must differ for each.
    pub fn request(
        (identifier, random): (u8, [u8; 16]),
        user_name: &[u8],
        asks: Ipv6Addr,
        secret: &[u8],
    ) -> Radius {
        let mut request = Radius {
            code: Code::Request,
            identifier,
            authenticator: random,
            user_name: Some(user_name.into()),
            asks: Some(asks),
            message_authenticator: None,
        };
        request.message_authenticator = Some(request.keyed_digest(&random, secret));
        request
    }

    /// Creates the answer to this request, with authenticators.
    pub fn answer(&self, code: Code, secret: &[u8]) -> Radius {
        let mut answer = Radius {
            code,
            identifier: self.identifier,
            authenticator: self.authenticator,
            user_name: None,
            asks: None,
            message_authenticator: None,
        };
        answer.message_authenticator = Some(answer.keyed_digest(&self.authenticator, secret));
        answer.authenticator = response_authenticator(&answer.encode(), secret);
        answer
    }

    /// Returns true if the message is a request with this secret.
    pub fn is_request_of(&self, secret: &[u8]) -> bool {
        let expected = self.keyed_digest(&self.authenticator, secret);
        self.code == Code::Request && self.message_authenticator == Some(expected)
    }

    /// Returns true if the message is the answer to `request` with this secret.
    pub fn answers(&self, request: &Radius, secret: &[u8]) -> bool {
        self.code != Code::Request && *self == request.answer(self.code, secret)
    }

    /// Computes the HMAC-MD5 of the message with the request's authenticator, and zeros in place of the digest.
    fn keyed_digest(&self, request_authenticator: &[u8; 16], secret: &[u8]) -> [u8; 16] {
        let blank = Radius {
            authenticator: *request_authenticator,
            message_authenticator: Some([0; 16]),
            ..self.clone()
        };
        // HMAC takes keys of any length.
        let mac = Hmac::<Md5>::new_from_slice(secret);
        let digest = mac.map(|mac| mac.chain_update(blank.encode()).finalize().into_bytes());
        digest.map_or([0; 16], Into::into)
    }

    /// Encodes the message as a UDP payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.code.number(), self.identifier, 0, 0];
        out.extend_from_slice(&self.authenticator);
        let mut attribute = |kind: u8, content: &[u8]| {
            let content = &content[..content.len().min(LONGEST_NAME)];
            out.extend_from_slice(&[kind, content.len() as u8 + 2]);
            out.extend_from_slice(content);
        };
        if let Some(name) = &self.user_name {
            attribute(USER_NAME, name);
        }
        if let Some(asks) = self.asks {
            attribute(NAS_IPV6_ADDRESS, &asks.octets());
        }
        if let Some(digest) = self.message_authenticator {
            attribute(MESSAGE_AUTHENTICATOR, &digest);
        }
        let length = out.len() as u16;
        out[2..4].copy_from_slice(&length.to_be_bytes());
        out
    }

    /// Decodes a UDP payload. Bytes after the message's length are padding (section 3).
    ///
    /// # Errors
    /// Too few bytes, another code, or an attribute of an invalid length.
    pub fn decode(bytes: &[u8]) -> Result<Radius, DecodeError> {
        expect_length(HEADER, bytes, ATTRIBUTES)?;
        let length = usize::from(u16_at(bytes, 2));
        if !(ATTRIBUTES..=LONGEST).contains(&length) {
            return Err(field("length", length as u32));
        }
        expect_length(HEADER, bytes, length)?;
        let code = match bytes[0] {
            1 => Code::Request,
            2 => Code::Accept,
            3 => Code::Reject,
            other => return Err(field("code", u32::from(other))),
        };
        let mut read = Radius {
            code,
            identifier: bytes[1],
            authenticator: sixteen(bytes, 4),
            user_name: None,
            asks: None,
            message_authenticator: None,
        };
        let mut rest = &bytes[ATTRIBUTES..length];
        while !rest.is_empty() {
            expect_length(HEADER, rest, 2)?;
            let end = usize::from(rest[1]);
            if end < 2 {
                return Err(field("attribute length", end as u32));
            }
            expect_length(HEADER, rest, end)?;
            read.take_in(rest[0], &rest[2..end])?;
            rest = &rest[end..];
        }
        Ok(read)
    }

    fn take_in(&mut self, kind: u8, content: &[u8]) -> Result<(), DecodeError> {
        let of_sixteen = || match content.len() {
            16 => Ok(content),
            length => Err(field("attribute length", length as u32 + 2)),
        };
        match kind {
            USER_NAME => self.user_name = Some(content.into()),
            NAS_IPV6_ADDRESS => self.asks = Some(ipv6_at(of_sixteen()?, 0)),
            MESSAGE_AUTHENTICATOR => {
                self.message_authenticator = Some(sixteen(of_sixteen()?, 0));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Computes the MD5 of the answer, with the request's authenticator, and the secret (RFC 2865 section 3).
fn response_authenticator(answer: &[u8], secret: &[u8]) -> [u8; 16] {
    let digest = Md5::new().chain_update(answer).chain_update(secret);
    digest.finalize().into()
}

fn sixteen(bytes: &[u8], at: usize) -> [u8; 16] {
    core::array::from_fn(|index| bytes[at + index])
}

fn field(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Field {
        header: HEADER,
        field,
        value,
    }
}

/// Describes the message in a UDP datagram, if its ports are this protocol's.
pub(super) fn words(ports: [u16; 2], datagram: &[u8]) -> Option<Words> {
    if !ports.contains(&PORT) {
        return None;
    }
    Radius::decode(datagram).ok().map(|message| message.words())
}

impl Radius {
    fn words(&self) -> Words {
        let name = self.user_name.as_deref();
        let user = name.map(|name| format!("user {}", String::from_utf8_lossy(name)));
        (self.code.name(), user.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u8> = hexadecimal
            .chars()
            .filter_map(|one| one.to_digit(16))
            .map(|digit| digit as u8)
            .collect();
        digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
    }

    /// Checks the example of RFC 2865 section 7.1: user nemo, secret xyzzy5461.
    #[test]
    fn the_example_of_the_standard() {
        let request = bytes(
            "01 00 00 38 0f 40 3f 94 73 97 80 57 bd 83 d5 cb 98 f4 22 7a 01 06 6e 65 6d 6f 02 12 \
             0d be 70 8d 93 d4 13 ce 31 96 e4 3f 78 2a 0a ee 04 06 c0 a8 01 10 05 06 00 00 00 03",
        );
        let read = Radius::decode(&request).expect("right");
        assert_eq!((read.code, read.identifier), (Code::Request, 0));
        assert_eq!(read.user_name.as_deref(), Some(&b"nemo"[..]));
        let mut accept = bytes(
            "02 00 00 26 86 fe 22 0e 76 24 ba 2a 10 05 f6 bf 9b 55 e0 b2 06 06 00 00 00 01 0f 06 \
             00 00 00 00 0e 06 c0 a8 01 03",
        );
        let said = sixteen(&accept, 4);
        accept[4..20].copy_from_slice(&read.authenticator);
        assert_eq!(response_authenticator(&accept, b"xyzzy5461"), said);
    }

    /// Checks messages laid out by RFC 2865, with digests by Python's `hmac` and `hashlib`.
    #[test]
    fn a_request_and_its_answer_as_another_writes_them() {
        let random = core::array::from_fn(|index| index as u8);
        let asks = "2001:db8::7".parse().expect("an address");
        let request = Radius::request((9, random), b"2001:db8:1::40:0", asks, b"secret");
        assert_eq!(request.encode(), bytes(REQUEST));
        assert_eq!(Radius::decode(&bytes(REQUEST)), Ok(request.clone()));
        let answer = request.answer(Code::Accept, b"secret");
        assert_eq!(answer.encode(), bytes(ACCEPT));
        let read = Radius::decode(&bytes(ACCEPT)).expect("right");
        assert!(read.answers(&request, b"secret") && request.is_request_of(b"secret"));
        // Both are invalid with another secret, and the answer with another request.
        assert!(!read.answers(&request, b"other") && !request.is_request_of(b"other"));
        let other = Radius::request((9, [7; 16]), b"2001:db8:1::40:0", asks, b"secret");
        assert!(!read.answers(&other, b"secret"));
        // Changing the code does not turn a refusal into an acceptance.
        let mut refused = request.answer(Code::Reject, b"secret");
        assert!(refused.answers(&request, b"secret"));
        refused.code = Code::Accept;
        assert!(!refused.answers(&request, b"secret"));
    }

    const REQUEST: &str = "01 09 00 4a 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 01 12 32 30 30 31 3a 64 \
        62 38 3a 31 3a 3a 34 30 3a 30 5f 12 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 07 \
        50 12 e1 fe 71 90 96 7d 86 fc 05 75 da 01 49 d6 41 29";
    const ACCEPT: &str = "02 09 00 26 a1 f4 1e 95 b7 6a e5 67 5b d7 c7 2e fd 56 eb d9 50 12 3f 17 14 68 61 b1 \
        51 7b 9c e9 be 87 af bf 18 e2";

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn nothing_panics_and_what_is_read_is_written_again(
            code in 0..5u8,
            attributes in prop::collection::vec(any::<u8>(), 0..80),
            whole in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let length = (ATTRIBUTES + attributes.len()) as u16;
            let [high, low] = length.to_be_bytes();
            let mut message = vec![code, 1, high, low];
            message.resize(ATTRIBUTES, 5);
            message.extend_from_slice(&attributes);
            if let Ok(read) = Radius::decode(&message) {
                prop_assert_eq!(Radius::decode(&read.encode()), Ok(read.clone()));
                let _ = (read.is_request_of(b"s"), read.answers(&read, b"s"));
            }
            let _ = Radius::decode(&whole);
        }
    }
}
