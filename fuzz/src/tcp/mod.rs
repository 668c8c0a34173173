//! TCP connections: one against a peer that sends anything, and two over a network that does anything.

pub mod hostile;
pub mod pair;
mod rules;

use crate::bytes::Bytes;
use baton_proto::tcp::Endpoint;
use baton_proto::tcp::congestion::{
    BicParameters, HyblaParameters, ScalableParameters, VegasParameters, WestwoodParameters,
};
use baton_proto::tcp::profile::{Algorithm, Profile, Recovery, RtoArithmetic, WindowArithmetic};
use baton_proto::time::Duration;
use baton_proto::wire::icmp::QuotedPacket;
use baton_proto::wire::protocol;
use baton_proto::wire::sequence::SequenceNumber;

/// Patterns of the data that the connecting end sends, and the other one.
const STREAMS: [u32; 2] = [1, 2];
/// Sequence numbers near their wrap-around.
const INITIAL: [SequenceNumber; 2] = [
    SequenceNumber(u32::MAX - 20_000),
    SequenceNumber(u32::MAX - 3_000),
];

fn endpoint(index: u8) -> Endpoint {
    Endpoint {
        address: [192, 0, 2, 1 + index].into(),
        port: [40_000, 80][usize::from(index)],
    }
}

/// Returns a router's quotation of a segment of the connecting end's.
fn quoting(sequence: SequenceNumber) -> QuotedPacket {
    QuotedPacket {
        source: endpoint(0).address,
        destination: endpoint(1).address,
        protocol: protocol::TCP,
        source_port: endpoint(0).port,
        destination_port: endpoint(1).port,
        sequence: sequence.0,
        within: None,
    }
}

/// Returns a profile with any settings of a scenario.
fn profile(bytes: &mut Bytes<'_>) -> Profile {
    let mut profile =
        Profile::named(bytes.one_of(&Profile::NAMES)).expect("it is one of the names");
    let choices = bytes.u16();
    if choices == 0 {
        return profile;
    }
    let bit = |number: u32| choices >> number & 1 == 1;
    profile.window_scaling ^= bit(0);
    profile.timestamps ^= bit(1);
    profile.sack ^= bit(2);
    profile.nagle ^= bit(3);
    profile.limited_transmit ^= bit(4);
    profile.idle_restart ^= bit(5);
    profile.threshold_from_window ^= bit(6);
    if bit(7) {
        profile.window_arithmetic = WindowArithmetic::Linux20;
    }
    if bit(9) {
        profile.congestion = bytes.one_of(&[
            Algorithm::Reno,
            Algorithm::NewReno,
            Algorithm::Cubic,
            Algorithm::Westwood(WestwoodParameters::default()),
            Algorithm::Scalable(ScalableParameters::default()),
            Algorithm::Bic(BicParameters::default()),
            Algorithm::Vegas(VegasParameters::default()),
            Algorithm::Hybla(HyblaParameters::default()),
        ]);
        profile.recovery = bytes.one_of(&[
            Recovery::Reno,
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Linux20,
        ]);
    }
    profile.transaction_opening = bit(15);
    if bit(10) {
        profile.maximum_segment_size = 64 + bytes.u16() % 9_000;
        profile.initial_window = 1 + u32::from(bytes.u8()) % 40;
    }
    if bit(11) {
        profile.receive_buffer = 1 + u32::from(bytes.u16());
        profile.send_buffer = 1 + u32::from(bytes.u16());
    }
    if bit(12) {
        let delays = [None, Some(1), Some(40), Some(500), Some(3_000)];
        profile.delayed_ack = bytes.one_of(&delays).map(Duration::from_millis);
        profile.duplicate_ack_threshold = bytes.one_of(&[None, Some(1), Some(3), Some(20)]);
    }
    if bit(13) {
        profile.minimum_rto = Duration::from_micros(1 + u64::from(bytes.u16()) * 100);
        profile.maximum_rto = profile.minimum_rto + Duration::from_millis(bytes.u16().into());
        profile.initial_rto = Duration::from_millis(1 + u64::from(bytes.u16()));
        profile.tick = Duration::from_millis(bytes.one_of(&[0, 1, 10, 500]));
        profile.rto_arithmetic = bytes.one_of(&[RtoArithmetic::Rfc6298, RtoArithmetic::Linux20]);
    }
    if bit(14) {
        profile.initial_slow_start_threshold = bytes.one_of(&[None, Some(1), Some(5_000)]);
        profile.time_wait = Duration::from_millis(bytes.one_of(&[0, 1, 60_000]));
    }
    profile
}
