//! Keys of the return routability procedure (RFC 6275 section 5.2): a mobile proves that it is reachable at its home
//! and care-of addresses by two tokens, one received on each path.

use crate::time::{Duration, Instant};
use core::hash::Hasher;
use core::net::Ipv6Addr;
use hmac::{Hmac, KeyInit, Mac};
use sha1::{Digest, Sha1};
use siphasher::sip::SipHasher24;

/// A key of 20 bytes: a node key Kcn (section 5.2.1) or a binding management key Kbm (section 5.2.5).
pub type Key = [u8; 20];

/// MAX_TOKEN_LIFETIME: maximum age of a token at the mobile (RFC 6275 section 12).
pub const TOKEN_LIFETIME: Duration = Duration::from_secs(210);
/// Time for which a nonce is the current one. The rest of MAX_NONCE_LIFETIME (240 s) is a token's lifetime.
const NONCE_INTERVAL: Duration = Duration::from_secs(30);
/// Number of valid nonces, which makes MAX_NONCE_LIFETIME.
const NONCES: u16 = 8;
/// MAX_NONCE_LIFETIME (RFC 6275 section 12): a nonce proves nothing afterwards.
pub const NONCE_LIFETIME: Duration = NONCE_INTERVAL.saturating_mul(NONCES as u64);

/// The test that a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Test of the home address.
    Home = 0,
    /// Test of the care-of address.
    CareOf = 1,
}

/// Computes HMAC_SHA1 over the concatenated pieces.
fn keyed_hash(key: &Key, pieces: &[&[u8]]) -> Key {
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key) else {
        // HMAC takes keys of any length (RFC 2104 section 3).
        return [0; 20];
    };
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().into()
}

/// Returns the first bytes of a hash.
fn first<const N: usize>(hash: Key) -> [u8; N] {
    core::array::from_fn(|place| hash[place])
}

/// Computes First (64, HMAC_SHA1 (Kcn, (address | nonce | 0 or 1))) (section 5.2.5).
pub fn keygen_token(node_key: &Key, address: Ipv6Addr, nonce: &[u8; 8], test: Test) -> [u8; 8] {
    first(keyed_hash(
        node_key,
        &[&address.octets(), nonce, &[test as u8]],
    ))
}

/// Computes Kbm = SHA1 (home keygen token | care-of keygen token), or SHA1 (home keygen token) to delete a binding
/// (section 5.2.5).
pub fn binding_management_key(home: &[u8; 8], care_of: Option<&[u8; 8]>) -> Key {
    let mut hasher = Sha1::new();
    hasher.update(home);
    if let Some(care_of) = care_of {
        hasher.update(care_of);
    }
    hasher.finalize().into()
}

/// Computes First (96, HMAC_SHA1 (Kbm, (care-of address | correspondent | message))) (section 6.2.7).
pub fn authenticator(
    key: &Key,
    (care_of, correspondent): (Ipv6Addr, Ipv6Addr),
    message: &[u8],
) -> [u8; 12] {
    let pieces: [&[u8]; 3] = [&care_of.octets(), &correspondent.octets(), message];
    first(keyed_hash(key, &pieces))
}

/// A correspondent's nonces, computed from a secret and the time, so that no state is kept for a mobile before it has
/// proved to be reachable (section 5.2.2). The secret changes with a restart.
#[derive(Clone, Debug)]
pub struct Nonces {
    secret: [u8; 16],
}

impl Nonces {
    /// Creates the nonces of `secret`.
    pub const fn new(secret: [u8; 16]) -> Nonces {
        Nonces { secret }
    }

    /// Returns the index of the current nonce.
    pub const fn index(&self, now: Instant) -> u16 {
        (now.as_nanos() / NONCE_INTERVAL.as_nanos()) as u16
    }

    /// Returns the nonce of an index while it is valid.
    pub fn get(&self, now: Instant, index: u16) -> Option<[u8; 8]> {
        let age = self.index(now).wrapping_sub(index);
        (age < NONCES).then(|| {
            let mut hasher = SipHasher24::new_with_key(&self.secret);
            hasher.write_u16(index);
            hasher.finish().to_be_bytes()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Ipv6Addr {
        text.parse().expect("an address")
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 2202 section 3, test cases 1, 3 and 5 (keys of 20 bytes), and FIPS 180's "abc".
    #[test]
    fn the_hashes_are_those_of_their_standards() {
        let one = keyed_hash(&[0x0B; 20], &[b"Hi ", b"There"]);
        assert_eq!(hex(&one), "b617318655057264e28bc0b6fb378c8ef146be00");
        let three = keyed_hash(&[0xAA; 20], &[&[0xDD; 50]]);
        assert_eq!(hex(&three), "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
        let five = keyed_hash(&[0x0C; 20], &[b"Test With Truncation"]);
        let truncated: [u8; 12] = first(five);
        assert_eq!(hex(&truncated), "4c1a03424b55e07fe7f27be1");
        let abc: Key = Sha1::digest(b"abc").into();
        assert_eq!(hex(&abc), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }

    /// Values of section 5.2.5's and 6.2.7's formulas that Python's `hmac` and `hashlib` gave:
    /// `hmac.new(bytes(range(20)), ip + bytes(range(8)) + b"\0", "sha1")` and so on.
    #[test]
    fn tokens_keys_and_authenticators_are_those_of_another_implementation() {
        let node_key: Key = core::array::from_fn(|place| place as u8);
        let nonce: [u8; 8] = core::array::from_fn(|place| place as u8);
        let (home, care_of) = (address("2001:db8:1::2"), address("2001:db8:2::3"));
        let home_token = keygen_token(&node_key, home, &nonce, Test::Home);
        let care_of_token = keygen_token(&node_key, care_of, &nonce, Test::CareOf);
        assert_eq!(hex(&home_token), "ef5cc3ed984cb656");
        assert_eq!(hex(&care_of_token), "abdf79eb873daa72");
        let key = binding_management_key(&home_token, Some(&care_of_token));
        assert_eq!(hex(&key), "f02fcf1242809ee21afbfe56f76909829f9e7678");
        let without = binding_management_key(&home_token, None);
        assert_eq!(hex(&without), "cface34123e34e4aea28e5b692f48125b824a1b8");
        let proof = authenticator(&key, (care_of, address("2001:db8:3::4")), b"message");
        assert_eq!(hex(&proof), "e76f7fb1ceec02e8a54545b3");
    }

    /// A token is valid for MAX_TOKEN_LIFETIME, whatever its time of issue; a nonce for at most MAX_NONCE_LIFETIME.
    #[test]
    fn a_nonce_outlives_every_token_made_of_it() {
        let nonces = Nonces::new([7; 16]);
        for given in [0, 29_999, 30_000, 1_234_567, 65_536 * 30_000] {
            let given = Instant::from_millis(given);
            let index = nonces.index(given);
            let nonce = nonces.get(given, index);
            assert!(nonce.is_some());
            assert_eq!(nonces.get(given + TOKEN_LIFETIME, index), nonce);
            let lifetime = Duration::from_secs(240);
            assert_eq!(nonces.get(given + lifetime, index), None);
        }
        let now = Instant::from_secs(1000);
        assert_ne!(nonces.get(now, 33), nonces.get(now, 32));
        assert_ne!(nonces.get(now, 33), Nonces::new([8; 16]).get(now, 33));
        assert_eq!(nonces.get(now, 34), None);
    }
}
