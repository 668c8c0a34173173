//! Messages over UDP between hosts of mobility protocols: parsing and writing round-trip.

use baton_proto::wire::association::AssociationResponse;
use baton_proto::wire::dhcp::Dhcp;
use baton_proto::wire::mih::Mih;
use baton_proto::wire::mobile_ipv4::{AuthenticationKind, Message, SecurityAssociation};

/// Tries registration messages of Mobile IPv4 and their extensions. A signed message verifies, and no longer after a
/// change.
pub fn check_registration(data: &[u8]) {
    let Ok(mut message) = Message::decode(data) else {
        return;
    };
    let out = message.encode();
    assert_eq!(Message::decode(&out).as_ref(), Ok(&message));
    assert_eq!(out, data, "written differently from how it was read");
    let key = SecurityAssociation {
        index: 256,
        key: [7; 16],
    };
    let kind = AuthenticationKind::MobileHome;
    if message.place(kind).is_some() {
        return;
    }
    message.sign(kind, &key);
    assert_eq!(message.verify(kind, &key), Ok(()));
    let mut changed = message.encode();
    // Any bit, by the input.
    let sum = data.iter().map(|&byte| usize::from(byte)).sum::<usize>();
    let position = sum * 31 % (8 * out.len());
    changed[position / 8] ^= 0x80 >> (position % 8);
    if let Ok(changed) = Message::decode(&changed) {
        assert!(changed.verify(kind, &key).is_err(), "a change is not seen");
    }
}

/// Tries DHCP.
pub fn check_dhcp(data: &[u8]) {
    if let Ok(message) = Dhcp::decode(data) {
        assert_eq!(Dhcp::decode(&message.encode()), Ok(message));
    }
}

/// Tries the messages of IEEE 802.21.
pub fn check_mih(data: &[u8]) {
    if let Ok(message) = Mih::decode(data) {
        assert_eq!(Mih::decode(&message.encode()), Ok(message));
    }
}

/// Tries the Association Response of IEEE 802.11.
pub fn check_association(data: &[u8]) {
    if let Ok(frame) = AssociationResponse::decode(data) {
        assert_eq!(AssociationResponse::decode(&frame.encode()), Ok(frame));
    }
}
