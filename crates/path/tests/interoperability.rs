//! Frames against a second implementation: Python's `noiseprotocol` 0.3.1 for the handshake, `hashlib` for BLAKE2s, and
//! `cryptography` for the cipher have made these bytes from the layout in the documentation of `frame` and `message`, with the
//! keys, the clock and the seed of `pipe`.

mod pipe;

use baton_path::{Event, Initiator, Rejected};
use baton_proto::time::{Duration, Instant};
use pipe::{initiator_config, listener};

/// A router's first initiation, at 1 s.
const INITIATION: &str = "\
    01000000d5e754eb92742fc395d6cdbf95f44f0c43b5cfeafc4f734fc0a65e8bde8ff5f7198ed25082df26fc8fb00436\
    a8d8a5c47c2091b883c4aaa4746514df07033770234c61b17387d6a9e15a513b41a236ebce14b8ba920337671046c5b8\
    2dd1d0ee9971195bd4a018933a91318d6f1b45f68dbcda201824088f66ffed99e641a5f4314bf47ff729e1008c000000\
    00000000000000000000000000";

/// A home agent's response, whose first counter is 1000 and which assigns "assigned".
const RESPONSE: &str = "\
    0200000000001000d5e754ebac01b2209e86354fb853237b5de0f4fab13c7fcbf433a61c019369617fecf10b77cc011f\
    6a97d28f86fc9477859acfbd07a7a6f02a0ae18cb885ed793ad58d9726e4911afa033652d51be50abca45caba272d895\
    0e";

/// The router's probe that confirms, at 1.02 s.
const CONFIRMATION: &str = "\
    04000000000010000000000000000000d223521dff7c1591f502c8945567797bbb299e92c8517ee2cb2d641b247a0523\
    4e328c157bafb81f";

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn a_router_s_frames_are_those_of_the_other_implementation() {
    let now = Instant::from_secs(1);
    let config = initiator_config(1, 0, 1);
    let home = config.remote;
    let mut router = Initiator::new(now, config);
    let mut frame = Vec::new();
    router.poll_transmit(now, &mut frame).unwrap();
    assert_eq!(frame, bytes(INITIATION));
    let now = now + Duration::from_millis(20);
    assert_eq!(
        router.handle_datagram(now, home, &mut bytes(RESPONSE)),
        Ok(None)
    );
    assert_eq!(router.poll_event(), Some(Event::Up));
    assert_eq!(router.assigned(), b"assigned");
    frame.clear();
    router.poll_transmit(now, &mut frame).unwrap();
    assert_eq!(frame, bytes(CONFIRMATION));
}

#[test]
fn a_home_agent_answers_the_other_implementation() {
    let now = Instant::from_secs(1);
    let from = "192.0.2.1:1000".parse().unwrap();
    let mut home = listener(now, 2);
    assert_eq!(
        home.handle_datagram(now, from, &mut bytes(INITIATION)),
        Ok(None)
    );
    let mut response = Vec::new();
    assert_eq!(home.poll_transmit(now, &mut response), Some(from));
    assert_eq!(response.len(), bytes(RESPONSE).len());
    // The other's session is not this one, and under these keys nothing else is taken.
    let mut other = bytes(CONFIRMATION);
    let unknown = home.handle_datagram(now, from, &mut other).unwrap_err();
    assert_eq!(unknown, Rejected::UnknownSession);
    let mut forged = bytes(CONFIRMATION);
    forged[4..8].copy_from_slice(&response[4..8]);
    let forged = home.handle_datagram(now, from, &mut forged).unwrap_err();
    assert_eq!(forged, Rejected::Forged);
}
