//! Initial sequence numbers that an attacker off the path cannot guess (RFC 6528).

use super::Endpoint;
use crate::time::Instant;
use crate::wire::sequence::SequenceNumber;
use core::hash::Hasher;
use core::net::IpAddr;
use siphasher::sip::SipHasher24;

/// Returns `ISN = M + F(localip, localport, remoteip, remoteport, secretkey)` of RFC 6528 section 3: M counts every
/// four microseconds, F is SipHash-2-4. The secret must come from a good source of randomness in a deployment; a
/// simulation derives it from its seed.
pub fn initial_sequence_number(
    secret: &[u8; 16],
    now: Instant,
    local: Endpoint,
    remote: Endpoint,
) -> SequenceNumber {
    let hasher = pair_hasher(secret, local, remote);
    let clock = now.as_nanos() / 4_000;
    SequenceNumber((clock as u32).wrapping_add(hasher.finish() as u32))
}

/// Returns a keyed hash that has taken in both ends of a connection.
pub(crate) fn pair_hasher(secret: &[u8; 16], local: Endpoint, remote: Endpoint) -> SipHasher24 {
    let mut hasher = SipHasher24::new_with_key(secret);
    for end in [local, remote] {
        match end.address {
            IpAddr::V4(address) => hasher.write(&address.octets()),
            IpAddr::V6(address) => hasher.write(&address.octets()),
        }
        hasher.write(&end.port.to_be_bytes());
    }
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(address: &str, port: u16) -> Endpoint {
        Endpoint {
            address: address.parse().unwrap(),
            port,
        }
    }

    #[test]
    fn the_clock_ticks_every_four_microseconds() {
        let (local, remote) = (end("10.0.0.1", 80), end("10.0.0.2", 4000));
        let at = |nanoseconds| {
            let now = Instant::from_nanos(nanoseconds);
            initial_sequence_number(&[7; 16], now, local, remote)
        };
        assert_eq!(at(3_999), at(0));
        assert_eq!(at(4_000), at(0) + 1);
        // RFC 9293 section 3.4.1: the numbers cycle about every 4.55 hours (2^32 * 4 µs = 17179.869184 s).
        assert_eq!(at(17_179_869_184_000), at(0));
    }

    #[test]
    fn every_part_of_the_connection_and_the_secret_count() {
        let (a, b) = (end("10.0.0.1", 80), end("10.0.0.2", 4000));
        let number = |secret, local, remote| {
            initial_sequence_number(&[secret; 16], Instant::ZERO, local, remote)
        };
        let all = [
            number(1, a, b),
            number(2, a, b),
            number(1, b, a),
            number(1, end("10.0.0.3", 80), b),
            number(1, end("10.0.0.1", 81), b),
            number(1, a, end("10.0.0.4", 4000)),
            number(1, a, end("10.0.0.2", 4001)),
            number(1, end("fd00::1", 80), end("fd00::2", 4000)),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| other != one));
        }
    }
}
