//! Keys and authenticators of IKEv2 (RFC 7296 sections 2.13 to 2.15), by PRF-HMAC-SHA1 and a shared key.

use super::{CHECK, Content, Ikev2, Proof};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

type Key = [u8; 20];

/// Protection of the IKE_AUTH exchange by the keys of an IKE association.
///
/// The shared key stands in for the secret of the key exchange (g^ir), which is not computed: messages have its public
/// values, and the authenticators are those of the standard with this value.
#[derive(Clone, Debug)]
pub struct Protection {
    shared: Key,
    /// SK_ai and SK_ar.
    integrity: [Key; 2],
    /// SK_pi and SK_pr.
    identity: [Key; 2],
    /// Encoded IKE_SA_INIT messages: request and response.
    first_messages: [Vec<u8>; 2],
    /// Nonces of initiator and responder.
    nonces: [[u8; 32]; 2],
}

impl Protection {
    /// Derives the keys from an IKE_SA_INIT exchange; `None` if these messages are not its request and its response.
    pub fn new(shared: Key, request: &Ikev2, response: &Ikev2) -> Option<Protection> {
        let (Content::InitRequest(initiator), Content::InitResponse(responder)) =
            (&request.content, &response.content)
        else {
            return None;
        };
        let nonces = [initiator.nonce, responder.nonce];
        let joined = nonces.concat();
        let seed = hash(&joined, &[&shared]);
        let spis = [response.initiator_spi, response.responder_spi].map(u64::to_be_bytes);
        let seeds = [&joined[..], &spis[0], &spis[1]].concat();
        // SK_d, SK_ai, SK_ar, SK_pi and SK_pr, one block each: keys of null encryption have no bytes.
        let mut blocks = [[0; 20]; 5];
        let mut last: &[u8] = &[];
        for (number, block) in (1..).zip(&mut blocks) {
            *block = hash(&seed, &[last, &seeds, &[number]]);
            last = block;
        }
        let [_, integrity_i, integrity_r, identity_i, identity_r] = blocks;
        Some(Protection {
            shared,
            integrity: [integrity_i, integrity_r],
            identity: [identity_i, identity_r],
            first_messages: [request.encode(), response.encode()],
            nonces,
        })
    }

    /// Sets the authenticators of an IKE_AUTH message.
    pub fn seal(&self, message: &mut Ikev2) {
        let side = match &message.content {
            Content::AuthRequest { .. } => 0,
            Content::AuthResponse { .. } => 1,
            Content::InitRequest(_) | Content::InitResponse(_) => return,
        };
        // Section 2.15: the own first message, the other side's nonce, and the own identity.
        let identity = hash(&self.identity[side], &[&message.identification()]);
        let pad = hash(&self.shared, &[b"Key Pad for IKEv2"]);
        let signed: [&[u8]; 3] = [
            &self.first_messages[side],
            &self.nonces[1 - side],
            &identity,
        ];
        let mut proof = Proof {
            authentication: hash(&pad, &signed),
            check: [0; CHECK],
        };
        message.set_proof(proof);
        let bytes = message.encode();
        let check = hash(&self.integrity[side], &[&bytes[..bytes.len() - CHECK]]);
        proof.check = core::array::from_fn(|place| check[place]);
        message.set_proof(proof);
    }

    /// Returns true if the authenticators of an IKE_AUTH message are right.
    pub fn proves(&self, message: &Ikev2) -> bool {
        let mut expected = message.clone();
        self.seal(&mut expected);
        matches!(
            message.content,
            Content::AuthRequest { .. } | Content::AuthResponse { .. }
        ) && expected == *message
    }
}

impl Ikev2 {
    fn set_proof(&mut self, new: Proof) {
        match &mut self.content {
            Content::AuthRequest { proof, .. } | Content::AuthResponse { proof, .. } => {
                *proof = new;
            }
            Content::InitRequest(_) | Content::InitResponse(_) => {}
        }
    }
}

/// Computes HMAC-SHA1 over the concatenated pieces.
fn hash(key: &[u8], pieces: &[&[u8]]) -> Key {
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(key) else {
        // HMAC takes keys of any length (RFC 2104 section 3).
        return [0; 20];
    };
    pieces.iter().for_each(|piece| mac.update(piece));
    mac.finalize().into_bytes().into()
}
