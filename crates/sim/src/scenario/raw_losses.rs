//! Losses of signalling messages, as written.

use super::units::Time;
use schemars::JsonSchema;

/// Signalling messages that are lost where their sender hands them to its link, whatever the link's state.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
pub struct RawLoss {
    /// The message, by its name in the table of signals.
    pub message: RawMessage,
    /// Packet-buffering option of the messages to lose: only those with it (true) or without it (false). Default: all.
    pub buffering: Option<bool>,
    /// Earliest sending time of the messages to lose. Default: from the start.
    pub after: Option<Time>,
    /// Number of messages to lose, from the first on. Default: all.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: Option<u32>,
}

/// A message of a mobility protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub enum RawMessage {
    /// Of Mobile IPv6.
    #[serde(rename = "Binding Update")]
    BindingUpdate,
    /// Of Mobile IPv6.
    #[serde(rename = "Binding Acknowledgement")]
    BindingAcknowledgement,
    /// Of hierarchical Mobile IPv6.
    #[serde(rename = "Local Binding Update")]
    LocalBindingUpdate,
    /// Of IPv6.
    #[serde(rename = "Router Solicitation")]
    RouterSolicitation,
    /// Of IPv6.
    #[serde(rename = "Router Advertisement")]
    RouterAdvertisement,
    /// Of RADIUS.
    #[serde(rename = "Access-Request")]
    AccessRequest,
    /// Of RADIUS.
    #[serde(rename = "Access-Accept")]
    AccessAccept,
    /// Of IKEv2.
    #[serde(rename = "IKE_SA_INIT")]
    IkeSaInit,
    /// Of IKEv2.
    #[serde(rename = "IKE_AUTH")]
    IkeAuth,
    /// Of Mobile IPv4.
    #[serde(rename = "Registration Request")]
    RegistrationRequest,
    /// Of Mobile IPv4.
    #[serde(rename = "Registration Reply")]
    RegistrationReply,
}
