//! The IPv6 Mobility Header (RFC 6275 section 6.1), NEMO's additions (RFC 3963), authentication between mobile node
//! and home agent (RFC 4285), fast handovers' updates (RFC 5568), and experimental options (RFC 5096) for buffering.
//!
//! Options come in a fixed order, aligned as their standards ask. A message of a type that is not known here stays
//! [`Body::Opaque`](crate::packet::Body::Opaque) of protocol 135, so that a node can answer it with a binding error.

use super::prefix::Ipv6Prefix;
use crate::crosslayer::PeerMoved;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use core::net::Ipv6Addr;

/// A message in a Mobility Header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MobilityMessage {
    /// A correspondent or home agent asks for a binding update (section 6.1.2).
    BindingRefreshRequest,
    /// Begins the return routability procedure by way of the home agent (section 6.1.3).
    HomeTestInit {
        /// The mobile's random value, which the answer returns.
        cookie: [u8; 8],
    },
    /// Begins it on the direct way (section 6.1.4).
    CareOfTestInit {
        /// The mobile's random value, which the answer returns.
        cookie: [u8; 8],
    },
    /// The correspondent's answer to a home test init (section 6.1.5).
    HomeTest(RoutabilityTest),
    /// The correspondent's answer to a care-of test init (section 6.1.6).
    CareOfTest(RoutabilityTest),
    /// The mobile says where it is (section 6.1.7).
    BindingUpdate(BindingUpdate),
    /// What became of a binding update (section 6.1.8).
    BindingAcknowledgement(BindingAcknowledgement),
    /// Something is wrong with a binding (section 6.1.9).
    BindingError(BindingError),
    /// The mobile tells the router of the link that it has left where it is (RFC 5568 section 6.2.2). It is identical
    /// to a binding update; its home address option has the address that the mobile had there.
    FastBindingUpdate(BindingUpdate),
    /// What became of that (RFC 5568 section 6.2.3): identical to a binding acknowledgement.
    FastBindingAcknowledgement(BindingAcknowledgement),
}

/// What a home test and a care-of test say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutabilityTest {
    /// Which of the correspondent's nonces the token was made of.
    pub nonce_index: u16,
    /// That of the message which is answered.
    pub cookie: [u8; 8],
    /// The keygen token.
    pub keygen_token: [u8; 8],
}

/// RFC 6275 section 6.1.7, RFC 3963 section 4.1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingUpdate {
    /// Orders updates, modulo 2^16.
    pub sequence: u16,
    /// A: an acknowledgement is asked for.
    pub acknowledge: bool,
    /// H: the receiver shall be the home agent.
    pub home_registration: bool,
    /// L: the home address has the interface identifier of the mobile's link-local address.
    pub link_local_compatible: bool,
    /// K: the key management protocol survives movements.
    pub key_management_mobility: bool,
    /// R: the sender is a mobile router (RFC 3963).
    pub mobile_router: bool,
    /// How long the binding is to hold; zero asks to delete it.
    pub lifetime: BindingLifetime,
    /// The care-of address, if not the source of the packet (section 6.2.5).
    pub alternate_care_of_address: Option<Ipv6Addr>,
    /// With which nonces a correspondent makes the key again (section 6.2.6).
    pub nonce_indices: Option<NonceIndices>,
    /// Prefixes of the network behind a mobile router, in explicit mode (RFC 3963 section 4.3); at most
    /// [`MAXIMUM_PREFIXES`](Self::MAXIMUM_PREFIXES) are sent.
    pub mobile_network_prefixes: Vec<Ipv6Prefix>,
    /// What the home agent is to do with packets for the mobile.
    pub packet_buffering: Option<PacketBuffering>,
    /// To a router that has copies of the mobile's packets: which one the mobile received last, by its
    /// [`fingerprint`](crate::mobility::buffering::fingerprint). Sent as the experimental mobility option (RFC 5096
    /// section 4, type 18) with nine bytes of data, chosen here: 0xBC, which tells it from other experiments, and these
    /// eight.
    pub last_received: Option<u64>,
    /// What the sender's transports may want to know of the new path.
    pub path_report: Option<PathReport>,
    /// Who it is from.
    pub authenticator: Option<Authenticator>,
}

/// What study S lets a binding update carry (section 6): a timestamp and the size of the new link's buffer; and the link's rate.
/// Sent as the experimental mobility option (RFC 5096 section 4, type 18) with eleven bytes of data, chosen here: 0xBD, which
/// tells it from other experiments, and these in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// When it was sent, in microseconds of a clock that both ends share, modulo 2^32.
    pub sent: u32,
    /// Rate of the new link towards the mobile, in kbit/s; zero if it is not known.
    pub rate: u32,
    /// Full packets that its queue holds; zero if nobody says.
    pub queue_packets: u16,
}

impl PathReport {
    /// What it tells who hears it now.
    pub fn heard(self, now: Instant) -> PeerMoved {
        let clock = (now.as_nanos() / 1_000) as u32;
        let delay = Duration::from_micros(u64::from(clock.wrapping_sub(self.sent)));
        let rate = DataRate::from_bits_per_second(u64::from(self.rate) * 1_000);
        PeerMoved {
            delay,
            rate: (self.rate > 0).then_some(rate),
            queue_packets: (self.queue_packets > 0).then_some(self.queue_packets.into()),
        }
    }
}

impl BindingUpdate {
    /// More prefixes are neither sent nor read. Chosen: the header's 2048 bytes hold 84 of them, less other options.
    pub const MAXIMUM_PREFIXES: usize = 64;
}

/// RFC 6275 section 6.1.8, RFC 3963 section 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingAcknowledgement {
    /// What became of the update.
    pub status: BindingStatus,
    /// K: the key management protocol survives movements.
    pub key_management_mobility: bool,
    /// R: the home agent has treated the sender as a mobile router (RFC 3963).
    pub mobile_router: bool,
    /// That of the update which is answered; with status
    /// [`SEQUENCE_NUMBER_OUT_OF_WINDOW`](BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW) the last that was accepted.
    pub sequence: u16,
    /// How long the binding will hold.
    pub lifetime: BindingLifetime,
    /// When the home agent would like the next update (section 6.2.4), which is before the lifetime ends.
    pub refresh_advice: Option<BindingLifetime>,
    /// What the home agent does with packets for the mobile; only in answer to such an option.
    pub packet_buffering: Option<PacketBuffering>,
    /// Who it is from.
    pub authenticator: Option<Authenticator>,
}

impl BindingAcknowledgement {
    /// An answer to the update of that number, without flags or options.
    pub const fn new(
        status: BindingStatus,
        sequence: u16,
        lifetime: BindingLifetime,
    ) -> BindingAcknowledgement {
        BindingAcknowledgement {
            status,
            key_management_mobility: false,
            mobile_router: false,
            sequence,
            lifetime,
            refresh_advice: None,
            packet_buffering: None,
            authenticator: None,
        }
    }
}

/// RFC 6275 section 6.1.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingError {
    /// What was wrong.
    pub status: BindingErrorStatus,
    /// Home address of the packet that was wrong, if it had a home address option.
    pub home_address: Option<Ipv6Addr>,
}

/// What a binding error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingErrorStatus {
    /// A home address option without a binding for it.
    UnknownBinding = 1,
    /// A Mobility Header of a type that the sender of this does not know.
    UnrecognizedType = 2,
}

/// A time of bindings in units of four seconds, as the wire has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingLifetime {
    /// Units of four seconds.
    pub units: u16,
}

impl BindingLifetime {
    /// No time: the binding is deleted.
    pub const ZERO: BindingLifetime = BindingLifetime { units: 0 };

    /// The longest that is not longer than `seconds`, at most 262,140 s.
    pub const fn at_most(seconds: u32) -> BindingLifetime {
        let units = seconds / 4;
        let units = if units > 0xFFFF { 0xFFFF } else { units as u16 };
        BindingLifetime { units }
    }

    /// In seconds.
    pub const fn seconds(self) -> u32 {
        self.units as u32 * 4
    }
}

/// Nonces of a correspondent by their indices (RFC 6275 section 6.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceIndices {
    /// Of the home test's nonce.
    pub home: u16,
    /// Of the care-of test's nonce; not used when a binding is deleted.
    pub care_of: u16,
}

/// Buffering at the home agent. In an update the mobile asks for it, in an acknowledgement the home agent says what
/// it does.
///
/// Study D speaks of an option of four bytes of draft-xia-mipshop-ha-buffering-01, whose layout was not found. It is
/// sent as the experimental mobility option (RFC 5096 section 4, type 18) with two bytes of data, chosen here:
/// 0xBA, which tells it from other experiments, and 0 to forward or 1 to buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketBuffering {
    /// Packets are sent on to the care-of address.
    Forward = 0,
    /// Packets are held until the next update that does not say so.
    Buffer = 1,
}

/// The proof of who sent a message, of 96 bits. Of which bytes says
/// [`MobilityMessage::authenticated_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authenticator {
    /// Between mobile and correspondent, keyed by the return routability procedure: the binding authorization data
    /// option (RFC 6275 section 6.2.7).
    BindingAuthorization([u8; 12]),
    /// Between mobile and home agent, keyed by a secret that they share: the mobility message authentication option
    /// (RFC 4285 section 5.1).
    MobileHomeAgent {
        /// Names the security association.
        security_parameter_index: u32,
        /// The authenticator.
        data: [u8; 12],
    },
}

/// Status of a binding acknowledgement: below 128 the update was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingStatus(pub u8);

impl BindingStatus {
    /// Binding update accepted.
    pub const ACCEPTED: BindingStatus = BindingStatus(0);
    /// Accepted but prefix discovery necessary.
    pub const PREFIX_DISCOVERY_NECESSARY: BindingStatus = BindingStatus(1);
    /// Reason unspecified.
    pub const REASON_UNSPECIFIED: BindingStatus = BindingStatus(128);
    /// Administratively prohibited.
    pub const ADMINISTRATIVELY_PROHIBITED: BindingStatus = BindingStatus(129);
    /// Insufficient resources.
    pub const INSUFFICIENT_RESOURCES: BindingStatus = BindingStatus(130);
    /// Home registration not supported.
    pub const HOME_REGISTRATION_NOT_SUPPORTED: BindingStatus = BindingStatus(131);
    /// Not home subnet.
    pub const NOT_HOME_SUBNET: BindingStatus = BindingStatus(132);
    /// Not home agent for this mobile node.
    pub const NOT_HOME_AGENT: BindingStatus = BindingStatus(133);
    /// Duplicate address detection failed.
    pub const DUPLICATE_ADDRESS_DETECTION_FAILED: BindingStatus = BindingStatus(134);
    /// Sequence number out of window.
    pub const SEQUENCE_NUMBER_OUT_OF_WINDOW: BindingStatus = BindingStatus(135);
    /// Expired home nonce index.
    pub const EXPIRED_HOME_NONCE_INDEX: BindingStatus = BindingStatus(136);
    /// Expired care-of nonce index.
    pub const EXPIRED_CARE_OF_NONCE_INDEX: BindingStatus = BindingStatus(137);
    /// Expired nonces.
    pub const EXPIRED_NONCES: BindingStatus = BindingStatus(138);
    /// Registration type change disallowed.
    pub const REGISTRATION_TYPE_CHANGE_DISALLOWED: BindingStatus = BindingStatus(139);
    /// Mobile router operation not permitted (RFC 3963 section 4.2).
    pub const MOBILE_ROUTER_NOT_PERMITTED: BindingStatus = BindingStatus(140);
    /// Invalid prefix (RFC 3963 section 4.2).
    pub const INVALID_PREFIX: BindingStatus = BindingStatus(141);
    /// Not authorized for prefix (RFC 3963 section 4.2).
    pub const NOT_AUTHORIZED_FOR_PREFIX: BindingStatus = BindingStatus(142);
    /// Forwarding setup failed: prefixes missing (RFC 3963 section 4.2).
    pub const FORWARDING_SETUP_FAILED: BindingStatus = BindingStatus(143);
    /// The replay protection's identification does not match (RFC 4285 section 7).
    pub const IDENTIFICATION_MISMATCH: BindingStatus = BindingStatus(144);
    /// The replay protection option is missing (RFC 4285 section 7).
    pub const IDENTIFICATION_REQUIRED: BindingStatus = BindingStatus(145);
    /// Authentication failed (RFC 4285 section 7).
    pub const AUTHENTICATION_FAILED: BindingStatus = BindingStatus(146);
    /// Invalid care-of address.
    pub const INVALID_CARE_OF_ADDRESS: BindingStatus = BindingStatus(174);

    /// Whether the update was accepted.
    pub const fn is_accepted(self) -> bool {
        self.0 < 128
    }
}

mod codec;
mod options;
