//! Reasons to reject datagrams, and counts of each.

use crate::frame::NoFrame;

/// Reason to reject a datagram, which has changed nothing unless stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejected {
    /// Wrong type: the first four bytes are not of this protocol.
    #[error("not a frame: does not begin with a known type and three zero bytes")]
    Type,
    /// Length impossible for the frame's type.
    #[error("wrong length for a frame of its type: cut short, or another version")]
    Length,
    /// Wrong `mac1`: the sender does not know this end's public key.
    #[error(
        "its first authentication code is wrong: the sender does not know this end's public key, or bits were flipped"
    )]
    Stranger,
    /// Too many handshakes: the sender was sent a cookie, or has shown one and there is no time for its handshake.
    #[error("under load: the sender may repeat it with the cookie from the reply")]
    Load,
    /// Noise message forged, or made with other keys.
    #[error(
        "its handshake is forged, or its sender has other keys: compare both ends' keys and preshared keys"
    )]
    Handshake,
    /// Authentic key of the sender, but unknown to this end.
    #[error("a peer with an unknown public key: add it, if it should be served")]
    UnknownPeer,
    /// Replay, or the sender's clock has gone back; the sender was told how far.
    #[error(
        "an initiation no newer than an earlier one: a replay, or the sender's clock has gone back"
    )]
    Stale,
    /// Maximum number of the peer's paths reached.
    #[error("the peer has 16 paths: let it close others first")]
    TooManyPaths,
    /// Response to no pending initiation.
    #[error("a response to no pending initiation: late, or sent twice")]
    Unexpected,
    /// Index of no session.
    #[error("no session has its index: the session has ended, or this end was started anew")]
    UnknownSession,
    /// Session with keys older than 180 s.
    #[error("its session's keys are older than 180 s")]
    Expired,
    /// Replay, or older than the window.
    #[error("a replay, or more than 8192 packets late")]
    Replayed,
    /// Forged, or damaged by bit errors.
    #[error("not authentic: forged, or bits were flipped")]
    Forged,
    /// Authentic, with unknown content.
    #[error("authentic, but with contents that this version does not know")]
    Content,
}

impl Rejected {
    /// Every reason, in the order of [`Counters::rejected`].
    pub const ALL: [Rejected; 14] = [
        Rejected::Type,
        Rejected::Length,
        Rejected::Stranger,
        Rejected::Load,
        Rejected::Handshake,
        Rejected::UnknownPeer,
        Rejected::Stale,
        Rejected::TooManyPaths,
        Rejected::Unexpected,
        Rejected::UnknownSession,
        Rejected::Expired,
        Rejected::Replayed,
        Rejected::Forged,
        Rejected::Content,
    ];
}

impl From<NoFrame> for Rejected {
    fn from(no_frame: NoFrame) -> Rejected {
        match no_frame {
            NoFrame::Type => Rejected::Type,
            NoFrame::Length => Rejected::Length,
        }
    }
}

/// Counters of one end, since its creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    rejected: [u64; Rejected::ALL.len()],
    /// Handshakes that ended with a session in use.
    pub sessions: u64,
    /// Answers dropped because too many were waiting to be polled.
    pub answers_dropped: u64,
}

impl Counters {
    /// Returns the number of datagrams rejected for this reason.
    pub fn rejected(&self, reason: Rejected) -> u64 {
        self.rejected.get(reason as usize).copied().unwrap_or(0)
    }

    /// Counts the rejection in a call's result.
    pub(crate) fn count<T>(&mut self, result: Result<T, Rejected>) -> Result<T, Rejected> {
        if let Err(reason) = &result
            && let Some(count) = self.rejected.get_mut(*reason as usize)
        {
            *count += 1;
        }
        result
    }
}
