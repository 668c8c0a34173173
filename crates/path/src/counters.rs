//! Reasons why datagrams are not taken, and how many there were of each.

use crate::frame::NoFrame;

/// Reason why a datagram was not taken. It has changed nothing, except where said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejected {
    /// It is no frame of this protocol: its first four bytes say so.
    #[error("no frame: it does not begin with a known type and three zero bytes")]
    Type,
    /// No frame of its type has this length.
    #[error("no frame of its type has this length: cut short, or another version")]
    Length,
    /// Its sender does not know this end's public key.
    #[error(
        "its first code is wrong: the sender does not know this end's public key, or bits were flipped"
    )]
    Stranger,
    /// Too many ask for handshakes: its sender has been sent a cookie, or has shown one and there is no time for it.
    #[error("under load: its sender may repeat it, with the cookie that it was sent")]
    Load,
    /// Its Noise message is forged, or made with other keys.
    #[error(
        "its handshake is forged, or its sender has other keys: compare both ends' keys and preshared keys"
    )]
    Handshake,
    /// Its sender has proved to have a key that this end does not know.
    #[error("a peer with an unknown public key: add it, if it is to be served")]
    UnknownPeer,
    /// It is a replay, or its sender's clock has gone back; the sender has been told how far.
    #[error(
        "an initiation that is not younger than one seen: a replay, or the sender's clock has gone back"
    )]
    Stale,
    /// The peer has as many paths as it may have.
    #[error("the peer has 16 paths: let it close others first")]
    TooManyPaths,
    /// An answer to nothing that is out.
    #[error("an answer to nothing that is out: late, or sent twice")]
    Unexpected,
    /// No session has its index.
    #[error("no session has its index: the session has ended, or this end was started anew")]
    UnknownSession,
    /// Its session's keys are older than 180 s.
    #[error("its session's keys are older than 180 s")]
    Expired,
    /// It was taken before, or is older than the window.
    #[error("a replay, or later than 8192 others")]
    Replayed,
    /// It is forged, or bits were flipped.
    #[error("not authentic: forged, or bits were flipped")]
    Forged,
    /// It is authentic, but what it says is unknown.
    #[error("authentic, with contents that this version does not know")]
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

/// Numbers of one end, since it exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    rejected: [u64; Rejected::ALL.len()],
    /// Handshakes that have ended with a session in use.
    pub sessions: u64,
    /// Answers that were not sent because too many were waiting to be polled.
    pub answers_dropped: u64,
}

impl Counters {
    /// Datagrams that were not taken for this reason.
    pub fn rejected(&self, reason: Rejected) -> u64 {
        self.rejected.get(reason as usize).copied().unwrap_or(0)
    }

    /// Counts what a call returns.
    pub(crate) fn count<T>(&mut self, result: Result<T, Rejected>) -> Result<T, Rejected> {
        if let Err(reason) = &result
            && let Some(count) = self.rejected.get_mut(*reason as usize)
        {
            *count += 1;
        }
        result
    }
}
