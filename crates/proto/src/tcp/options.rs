//! Options negotiated by the SYNs.

use super::profile::Profile;
use super::receiving::Receiver;
pub use crate::wire::tcp::Negotiated;
use crate::wire::tcp::{TcpFlags, TcpHeader, TcpOptions, Timestamps};
use core::net::IpAddr;

/// Bytes of a timestamps option with its padding (RFC 7323 appendix A).
pub(super) const TIMESTAMPS_LENGTH: u32 = 12;
/// Segment size towards a peer that does not specify one (RFC 9293 section 3.7.1).
const DEFAULT_SEGMENT_SIZE_V4: u16 = 536;
const DEFAULT_SEGMENT_SIZE_V6: u16 = 1220;

/// Returns the length of IP and TCP header without options towards `address`, in bytes.
pub(super) fn header_length(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 20 + 20,
        IpAddr::V6(_) => 40 + 20,
    }
}

/// Returns the MSS of a peer that does not specify one, or has not answered yet.
pub(super) fn default_segment_size(remote: IpAddr) -> u16 {
    match remote {
        IpAddr::V4(_) => DEFAULT_SEGMENT_SIZE_V4,
        IpAddr::V6(_) => DEFAULT_SEGMENT_SIZE_V6,
    }
}

/// Returns the options of this end's SYN, or of its SYN-ACK if `answering` the peer's SYN: then only those that the
/// peer offered.
pub(super) fn on_syn(
    profile: &Profile,
    segment_size: u16,
    answering: Option<&Negotiated>,
    timestamps: Timestamps,
) -> TcpOptions {
    let agreed = |wanted: bool, peer: fn(&Negotiated) -> bool| wanted && answering.is_none_or(peer);
    TcpOptions {
        maximum_segment_size: Some(segment_size),
        window_scale: agreed(profile.window_scaling, |n| n.window_shifts.is_some())
            .then(|| Receiver::wanted_shift(profile.receive_buffer)),
        sack_permitted: agreed(profile.sack, |n| n.sack),
        snack_permitted: agreed(profile.snack, |n| n.snack_unit.is_some()),
        timestamps: agreed(profile.timestamps, |n| n.timestamps).then_some(timestamps),
        ..TcpOptions::default()
    }
}

/// Returns the options negotiated by the peer's SYN or SYN-ACK. `own_segment_size` is the MSS in this end's SYN.
pub(super) fn negotiate(
    profile: &Profile,
    own_segment_size: u16,
    remote: IpAddr,
    syn: &TcpHeader,
) -> Negotiated {
    debug_assert!(syn.flags.contains(TcpFlags::SYN));
    let options = &syn.options;
    let sack = profile.sack && options.sack_permitted;
    let snack = profile.snack && options.snack_permitted && !sack;
    Negotiated {
        timestamps: profile.timestamps && options.timestamps.is_some(),
        sack,
        snack_unit: snack.then_some(own_segment_size.max(1)),
        // A shift above 14 is taken as 14 (RFC 7323 section 2.3).
        window_shifts: options
            .window_scale
            .filter(|_| profile.window_scaling)
            .map(|theirs| {
                (
                    Receiver::wanted_shift(profile.receive_buffer),
                    theirs.min(14),
                )
            }),
        peer_segment_size: options
            .maximum_segment_size
            .unwrap_or_else(|| default_segment_size(remote)),
    }
}
