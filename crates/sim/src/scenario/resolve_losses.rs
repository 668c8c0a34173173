//! Resolution of losses of signalling messages.

use super::document::Path;
use super::model::SignallingLoss;
use super::raw_losses::{RawLoss, RawMessage};
use super::resolve::Report;
use baton_proto::time::{Duration, Instant};

/// Resolves the losses; `protocols` is true if any node sends signalling messages.
pub(super) fn losses(
    raw: &[RawLoss],
    protocols: bool,
    report: &mut Report<'_>,
) -> Vec<SignallingLoss> {
    let top = Path::default().key("losses");
    if !raw.is_empty() && !protocols {
        let message =
            "no mobile has a `mobility` protocol, so nothing is signalled; add one, or remove this";
        report.wrong_key(&top, message.to_owned());
    }
    let losses = raw.iter().enumerate().map(|(index, loss)| {
        let path = top.index(index);
        let has_option = matches!(
            loss.message,
            RawMessage::BindingUpdate
                | RawMessage::BindingAcknowledgement
                | RawMessage::LocalBindingUpdate
        );
        if loss.buffering.is_some() && !has_option {
            let message =
                "only a Binding Update or Acknowledgement has the packet-buffering option";
            report.wrong_key(&path.key("buffering"), message.to_owned());
        }
        SignallingLoss {
            message: name(loss.message),
            buffering: loss.buffering,
            after: Instant::ZERO + loss.after.map_or(Duration::ZERO, |after| after.0),
            left: loss.count,
        }
    });
    losses.collect()
}

/// Returns the name in the table of signals.
const fn name(message: RawMessage) -> &'static str {
    match message {
        RawMessage::BindingUpdate => "Binding Update",
        RawMessage::BindingAcknowledgement => "Binding Acknowledgement",
        RawMessage::LocalBindingUpdate => "Local Binding Update",
        RawMessage::RouterSolicitation => "Router Solicitation",
        RawMessage::RouterAdvertisement => "Router Advertisement",
        RawMessage::AccessRequest => "Access-Request",
        RawMessage::AccessAccept => "Access-Accept",
        RawMessage::IkeSaInit => "IKE_SA_INIT",
        RawMessage::IkeAuth => "IKE_AUTH",
        RawMessage::RegistrationRequest => "Registration Request",
        RawMessage::RegistrationReply => "Registration Reply",
    }
}
