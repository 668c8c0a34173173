//! The IPv6 Mobility Header (RFC 6275 section 6.1), with NEMO (RFC 3963), authentication between mobile node and home
//! agent (RFC 4285), mobility anchor points (RFC 5380), transport over IPv4 (RFC 5555), fast handovers (RFC 5568), and
//! experimental options (RFC 5096) for buffering.
//!
//! Options are written in a fixed order, aligned as their standards require. A message of unknown type stays
//! [`Body::Opaque`](crate::packet::Body::Opaque) with protocol 135, so that a node can answer with a binding error.

use super::prefix::Ipv6Prefix;
use crate::crosslayer::PeerMoved;
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use core::net::{Ipv4Addr, Ipv6Addr};

/// A message in a Mobility Header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MobilityMessage {
    /// Binding Refresh Request (section 6.1.2).
    BindingRefreshRequest,
    /// Home Test Init, sent through the home agent (section 6.1.3).
    HomeTestInit {
        /// Random value that the answer returns.
        cookie: [u8; 8],
    },
    /// Care-of Test Init, sent directly (section 6.1.4).
    CareOfTestInit {
        /// Random value that the answer returns.
        cookie: [u8; 8],
    },
    /// Home Test, the answer to a Home Test Init (section 6.1.5).
    HomeTest(RoutabilityTest),
    /// Care-of Test, the answer to a Care-of Test Init (section 6.1.6).
    CareOfTest(RoutabilityTest),
    /// Binding Update (section 6.1.7).
    BindingUpdate(BindingUpdate),
    /// Binding Acknowledgement (section 6.1.8).
    BindingAcknowledgement(BindingAcknowledgement),
    /// Binding Error (section 6.1.9).
    BindingError(BindingError),
    /// Fast Binding Update: a mobile reports its location to the router of its previous link (RFC 5568 section 6.2.2).
    /// Its format is that of a binding update; the home address option has the mobile's previous address.
    FastBindingUpdate(BindingUpdate),
    /// Fast Binding Acknowledgement (RFC 5568 section 6.2.3), in the format of a binding acknowledgement.
    FastBindingAcknowledgement(BindingAcknowledgement),
    /// Handover Initiate, from the router of a mobile's link to that of its next one (RFC 5568 section 6.2.1).
    HandoverInitiate(HandoverInitiate),
    /// Handover Acknowledge, the answer (RFC 5568 section 6.2.1).
    HandoverAcknowledge(HandoverAcknowledge),
}

/// Handover Initiate (RFC 5568 section 6.2.1): a mobile will come with this address. The option with the mobile's
/// link-layer address is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverInitiate {
    /// Sequence number, which the answer returns.
    pub sequence: u16,
    /// U: packets are to be held until the mobile comes.
    pub buffers: bool,
    /// The mobile's address on the sender's link.
    pub previous_care_of_address: Ipv6Addr,
    /// The address that the mobile has formed for the receiver's link.
    pub new_care_of_address: Ipv6Addr,
}

/// Handover Acknowledge (RFC 5568 section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverAcknowledge {
    /// Sequence number of the [`HandoverInitiate`].
    pub sequence: u16,
    /// Result.
    pub code: HandoverCode,
}

/// Result of a [`HandoverInitiate`] (RFC 5568 section 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandoverCode(pub u8);

impl HandoverCode {
    /// Accepted, and the new care-of address is valid.
    pub const ACCEPTED: HandoverCode = HandoverCode(0);
    /// Accepted, but the new care-of address is not valid.
    pub const ADDRESS_NOT_VALID: HandoverCode = HandoverCode(1);
    /// Not accepted, administratively prohibited.
    pub const ADMINISTRATIVELY_PROHIBITED: HandoverCode = HandoverCode(129);
}

/// Contents of a Home Test or Care-of Test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutabilityTest {
    /// Index of the correspondent's nonce that the token is derived from.
    pub nonce_index: u16,
    /// Cookie of the Init message.
    pub cookie: [u8; 8],
    /// The keygen token.
    pub keygen_token: [u8; 8],
}

/// An IPv4 Home Address option (RFC 5555 section 3.1.1): an IPv4 address of the mobile, or an IPv4 network behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4HomeAddress {
    /// Address; 0.0.0.0 asks the home agent for one.
    pub address: Ipv4Addr,
    /// Length of the prefix that the mobile is allocated, in bits; 32 for the address alone. The field has six bits, so
    /// that a message may contain up to 63.
    pub prefix_length: u8,
    /// P: the mobile asks for a mobile network prefix.
    pub asks_for_prefix: bool,
}

/// An IPv4 Address Acknowledgement option (RFC 5555 section 3.2.1), the answer to an IPv4 Home Address option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4AddressAcknowledgement {
    /// Result for this address.
    pub status: Ipv4AddressStatus,
    /// Length of the allocated prefix, in bits, as in [`Ipv4HomeAddress`]; zero with a failure.
    pub prefix_length: u8,
    /// Address of the option that is answered, or the allocated one.
    pub address: Ipv4Addr,
}

/// Status of an IPv4 Address Acknowledgement (RFC 5555 section 3.2.1); below 128 the address was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ipv4AddressStatus(pub u8);

impl Ipv4AddressStatus {
    /// Success.
    pub const ACCEPTED: Ipv4AddressStatus = Ipv4AddressStatus(0);
    /// Failure, reason unspecified.
    pub const REASON_UNSPECIFIED: Ipv4AddressStatus = Ipv4AddressStatus(128);
    /// Administratively prohibited.
    pub const ADMINISTRATIVELY_PROHIBITED: Ipv4AddressStatus = Ipv4AddressStatus(129);
    /// Incorrect IPv4 home address.
    pub const INCORRECT_HOME_ADDRESS: Ipv4AddressStatus = Ipv4AddressStatus(130);
    /// Invalid IPv4 address.
    pub const INVALID_ADDRESS: Ipv4AddressStatus = Ipv4AddressStatus(131);
    /// Dynamic IPv4 home address assignment not available.
    pub const DYNAMIC_ASSIGNMENT_NOT_AVAILABLE: Ipv4AddressStatus = Ipv4AddressStatus(132);
    /// Prefix allocation unauthorized.
    pub const PREFIX_ALLOCATION_UNAUTHORIZED: Ipv4AddressStatus = Ipv4AddressStatus(133);

    /// Returns true if the address was accepted.
    pub const fn is_accepted(self) -> bool {
        self.0 < 128
    }
}

/// Binding Update (RFC 6275 section 6.1.7, RFC 3963 section 4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingUpdate {
    /// Sequence number, modulo 2^16.
    pub sequence: u16,
    /// A: an acknowledgement is requested.
    pub acknowledge: bool,
    /// H: requests a home registration.
    pub home_registration: bool,
    /// L: the home address has the interface identifier of the mobile's link-local address.
    pub link_local_compatible: bool,
    /// K: the key management protocol survives movements.
    pub key_management_mobility: bool,
    /// M: requests a registration with a mobility anchor point (RFC 5380 section 4.1): a local binding update.
    pub anchor_registration: bool,
    /// R: the sender is a mobile router (RFC 3963).
    pub mobile_router: bool,
    /// F: requires packets in UDP over IPv4 even without an address translator on the way (RFC 5555 section 3.1.3).
    pub forces_udp_encapsulation: bool,
    /// Requested lifetime; zero deletes the binding.
    pub lifetime: BindingLifetime,
    /// Care-of address, if not the packet's source (section 6.2.5).
    pub alternate_care_of_address: Option<Ipv6Addr>,
    /// Nonces from which a correspondent recomputes the key (section 6.2.6).
    pub nonce_indices: Option<NonceIndices>,
    /// IPv6 prefixes of the network behind a mobile router, in explicit mode (RFC 3963 section 4.3). Together with
    /// `ipv4_home_addresses`, at most [`MAXIMUM_PREFIXES`](Self::MAXIMUM_PREFIXES) are sent.
    pub mobile_network_prefixes: Vec<Ipv6Prefix>,
    /// IPv4 addresses of the mobile, and IPv4 prefixes of the network behind it (RFC 5555 section 3.1.1).
    pub ipv4_home_addresses: Vec<Ipv4HomeAddress>,
    /// IPv4 care-of address, as the mobile knows it; an address translator changes it (RFC 5555 section 3.1.2).
    pub ipv4_care_of_address: Option<Ipv4Addr>,
    /// Requested handling of the mobile's packets at the home agent.
    pub packet_buffering: Option<PacketBuffering>,
    /// Fingerprint of the last packet that the mobile received, for a router with copies of its packets
    /// ([`fingerprint`](crate::mobility::buffering::fingerprint)). Encoded as the experimental mobility option (RFC
    /// 5096 section 4, type 18) with nine bytes of data, chosen here: 0xBC, which distinguishes the experiment, and the
    /// fingerprint.
    pub last_received: Option<u64>,
    /// Parameters of the new path, for transports.
    pub path_report: Option<PathReport>,
    /// Time of sending, to detect replays (RFC 4285 section 6).
    pub timestamp: Option<Timestamp>,
    /// Proof of the sender's identity.
    pub authenticator: Option<Authenticator>,
}

/// Path report in a binding update (study S, section 6): a timestamp, the new link's rate, and its buffer size; the
/// rate is added here. Encoded as the experimental mobility option (RFC 5096 section 4, type 18) with eleven bytes of
/// data, chosen here: 0xBD, which distinguishes the experiment, and the fields in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// Time of sending, in microseconds of a clock shared by both ends, modulo 2^32.
    pub sent: u32,
    /// Rate of the new link towards the mobile, in kbit/s; zero if unknown.
    pub rate: u32,
    /// Capacity of the link's queue in full packets; zero if unknown.
    pub queue_packets: u16,
}

impl PathReport {
    /// Converts the report for a receiver at `now`.
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
    /// Maximum number of prefixes sent and accepted, of both IP versions. Chosen: the header's 2048 bytes hold 84, less
    /// other options.
    pub const MAXIMUM_PREFIXES: usize = 64;
}

/// Binding Acknowledgement (RFC 6275 section 6.1.8, RFC 3963 section 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingAcknowledgement {
    /// Result of the update.
    pub status: BindingStatus,
    /// K: the key management protocol survives movements.
    pub key_management_mobility: bool,
    /// R: the home agent treats the sender as a mobile router (RFC 3963).
    pub mobile_router: bool,
    /// Sequence number of the update; with status
    /// [`SEQUENCE_NUMBER_OUT_OF_WINDOW`](BindingStatus::SEQUENCE_NUMBER_OUT_OF_WINDOW), the last accepted one.
    pub sequence: u16,
    /// Granted lifetime.
    pub lifetime: BindingLifetime,
    /// Recommended time to the next update (section 6.2.4), shorter than the lifetime.
    pub refresh_advice: Option<BindingLifetime>,
    /// Handling of the mobile's packets at the home agent; only in answer to this option.
    pub packet_buffering: Option<PacketBuffering>,
    /// Answers to the update's IPv4 home addresses (RFC 5555 section 3.2.1); at most
    /// [`MAXIMUM_PREFIXES`](BindingUpdate::MAXIMUM_PREFIXES) are sent and accepted.
    pub ipv4_acknowledgements: Vec<Ipv4AddressAcknowledgement>,
    /// Detection of an address translator on the way (RFC 5555 section 3.2.2).
    pub nat_detection: Option<NatDetection>,
    /// Timestamp of the update; with status [`IDENTIFICATION_MISMATCH`](BindingStatus::IDENTIFICATION_MISMATCH) the
    /// lower half of it, and the upper half by the home agent's clock (RFC 4285 section 6).
    pub timestamp: Option<Timestamp>,
    /// Proof of the sender's identity.
    pub authenticator: Option<Authenticator>,
}

impl BindingAcknowledgement {
    /// Creates an answer to the update with this sequence number, without flags or options.
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
            ipv4_acknowledgements: Vec::new(),
            nat_detection: None,
            timestamp: None,
            authenticator: None,
        }
    }
}

/// Binding Error (RFC 6275 section 6.1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingError {
    /// Kind of the error.
    pub status: BindingErrorStatus,
    /// Home address option of the offending packet, if any.
    pub home_address: Option<Ipv6Addr>,
}

/// Kind of a binding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingErrorStatus {
    /// Home address option without a binding.
    UnknownBinding = 1,
    /// Mobility Header of an unknown type.
    UnrecognizedType = 2,
}

/// A binding lifetime in units of four seconds, as encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingLifetime {
    /// Units of four seconds.
    pub units: u16,
}

impl BindingLifetime {
    /// Zero lifetime, which deletes the binding.
    pub const ZERO: BindingLifetime = BindingLifetime { units: 0 };

    /// Returns the longest lifetime of at most `seconds`, up to 262,140 s.
    pub const fn at_most(seconds: u32) -> BindingLifetime {
        let units = seconds / 4;
        let units = if units > 0xFFFF { 0xFFFF } else { units as u16 };
        BindingLifetime { units }
    }

    /// Returns the lifetime in seconds.
    pub const fn seconds(self) -> u32 {
        self.units as u32 * 4
    }
}

/// Indices of a correspondent's nonces (RFC 6275 section 6.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceIndices {
    /// Index of the home nonce.
    pub home: u16,
    /// Index of the care-of nonce; not used to delete a binding.
    pub care_of: u16,
}

/// Handling of packets at the home agent during a handover: the mobile's request in an update, the home agent's answer in an
/// acknowledgement.
///
/// Study D refers to a four-byte option of draft-xia-mipshop-ha-buffering-01, whose layout was not found. Encoded as
/// the experimental mobility option (RFC 5096 section 4, type 18) with two bytes of data, chosen here: 0xBA, which
/// distinguishes the experiment, and 0 to forward, 1 to buffer or 2 to bicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketBuffering {
    /// Forward packets to the care-of address.
    Forward = 0,
    /// Hold packets until the next update without this request.
    Buffer = 1,
    /// Send to the previous care-of address, too, for a time set at the home agent.
    Bicast = 2,
}

/// Authenticator of 96 bits over [`MobilityMessage::authenticated_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authenticator {
    /// Between mobile and correspondent, with the key of the return routability procedure: the binding authorization
    /// data option (RFC 6275 section 6.2.7).
    BindingAuthorization([u8; 12]),
    /// Between mobile and home agent, with their shared secret: the mobility message authentication option (RFC 4285
    /// section 5.1).
    MobileHomeAgent {
        /// SPI of the security association.
        security_parameter_index: u32,
        /// The authenticator.
        data: [u8; 12],
    },
}

/// Status of a binding acknowledgement; below 128 the update was accepted.
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

    /// Returns true if the update was accepted.
    pub const fn is_accepted(self) -> bool {
        self.0 < 128
    }
}

mod codec;
mod nat_detection;
mod options;
mod timestamp;
mod words;

pub use nat_detection::NatDetection;
pub use timestamp::Timestamp;
