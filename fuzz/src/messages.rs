//! Messages over UDP between hosts of mobility protocols: parsing and writing round-trip.

use baton_proto::wire::association::AssociationResponse;
use baton_proto::wire::dhcp::Dhcp;
use baton_proto::wire::ikev2::{Content, Ikev2, KeyExchange, Protection};
use baton_proto::wire::micro_mobility::{RouteMessage, is_signed};
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

/// Tries messages of micro-mobility's routers. A message verifies by its key, and no longer after a change.
pub fn check_route_update(data: &[u8]) {
    let key = [7; 16];
    let Ok(message) = RouteMessage::decode(data) else {
        return;
    };
    let out = message.encode(&key);
    assert_eq!(RouteMessage::decode(&out), Ok(message));
    assert!(is_signed(&out, &key), "a signed message verifies");
    let mut changed = out.clone();
    let sum = data.iter().map(|&byte| usize::from(byte)).sum::<usize>();
    let position = sum * 31 % (8 * out.len());
    changed[position / 8] ^= 0x80 >> (position % 8);
    assert!(!is_signed(&changed, &key), "a change is not seen");
}

/// Tries messages of IKEv2. A sealed message proves its sender, and no longer after a change.
pub fn check_ikev2(data: &[u8]) {
    let Ok(message) = Ikev2::decode(data) else {
        return;
    };
    let out = message.encode();
    assert_eq!(Ikev2::decode(&out).as_ref(), Ok(&message));
    let own = KeyExchange {
        public_value: [1; 32],
        nonce: [2; 32],
    };
    let [request, response] = [Content::InitRequest(own), Content::InitResponse(own)];
    let first = |content| Ikev2 {
        content,
        ..message.clone()
    };
    let protection = Protection::new([5; 20], &first(request), &first(response));
    let protection = protection.expect("the messages of an exchange");
    let mut sealed = message;
    protection.seal(&mut sealed);
    if matches!(
        sealed.content,
        Content::InitRequest(_) | Content::InitResponse(_)
    ) {
        assert!(!protection.proves(&sealed));
        return;
    }
    assert!(protection.proves(&sealed), "a sealed message is proved");
    let mut changed = sealed.encode();
    let sum = data.iter().map(|&byte| usize::from(byte)).sum::<usize>();
    let position = sum * 31 % (8 * changed.len());
    changed[position / 8] ^= 0x80 >> (position % 8);
    if let Ok(changed) = Ikev2::decode(&changed) {
        let is_same = changed == sealed;
        assert!(
            is_same || !protection.proves(&changed),
            "a change is not seen"
        );
    }
}
