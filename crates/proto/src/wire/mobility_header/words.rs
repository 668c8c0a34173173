//! Messages of the Mobility Header as text.

use super::super::Words;
use super::{
    BindingAcknowledgement, BindingErrorStatus, BindingUpdate, HandoverCode, MobilityMessage,
    PacketBuffering,
};
use core::net::IpAddr;

impl MobilityMessage {
    /// Describes the message; `source` is that of the header with care-of addresses.
    pub(crate) fn words(&self, source: IpAddr) -> Words {
        match self {
            MobilityMessage::BindingRefreshRequest => ("Binding Refresh Request", String::new()),
            MobilityMessage::HomeTestInit { .. } => ("Home Test Init", String::new()),
            MobilityMessage::CareOfTestInit { .. } => ("Care-of Test Init", String::new()),
            MobilityMessage::HomeTest(test) => {
                ("Home Test", format!("nonce index {}", test.nonce_index))
            }
            MobilityMessage::CareOfTest(test) => {
                ("Care-of Test", format!("nonce index {}", test.nonce_index))
            }
            MobilityMessage::BindingUpdate(update) => {
                let name = match update.anchor_registration {
                    true => "Local Binding Update",
                    false => "Binding Update",
                };
                (name, of_update(update, source))
            }
            MobilityMessage::BindingAcknowledgement(answer) => {
                ("Binding Acknowledgement", of_answer(answer))
            }
            MobilityMessage::FastBindingUpdate(update) => {
                ("Fast Binding Update", of_update(update, source))
            }
            MobilityMessage::FastBindingAcknowledgement(answer) => {
                ("Fast Binding Acknowledgement", of_answer(answer))
            }
            MobilityMessage::HandoverInitiate(initiate) => (
                "Handover Initiate",
                format!(
                    "sequence {}, from {} to {}",
                    initiate.sequence,
                    initiate.previous_care_of_address,
                    initiate.new_care_of_address
                ),
            ),
            MobilityMessage::HandoverAcknowledge(answer) => {
                let result = match answer.code {
                    HandoverCode::ACCEPTED => "accepted",
                    _ => "refused",
                };
                let code = answer.code.0;
                let details = format!("sequence {}, {result} (code {code})", answer.sequence);
                ("Handover Acknowledge", details)
            }
            MobilityMessage::BindingError(error) => {
                let details = match error.status {
                    BindingErrorStatus::UnknownBinding => "unknown binding",
                    BindingErrorStatus::UnrecognizedType => "unrecognized type",
                };
                ("Binding Error", details.to_owned())
            }
        }
    }
}

fn of_update(update: &BindingUpdate, source: IpAddr) -> String {
    let care_of = update.alternate_care_of_address.map(Into::into);
    let last_received = update.last_received;
    let last_received = last_received.map(|last| format!(", last received {last:016x}"));
    format!(
        "sequence {}, care-of address {}, lifetime {} s{}{}",
        update.sequence,
        care_of.unwrap_or(source),
        update.lifetime.seconds(),
        of_buffering(update.packet_buffering),
        last_received.unwrap_or_default()
    )
}

fn of_answer(answer: &BindingAcknowledgement) -> String {
    let status = match answer.status.is_accepted() {
        true => "accepted",
        false => "refused",
    };
    format!(
        "sequence {}, {status} (status {}), lifetime {} s{}",
        answer.sequence,
        answer.status.0,
        answer.lifetime.seconds(),
        of_buffering(answer.packet_buffering)
    )
}

const fn of_buffering(buffering: Option<PacketBuffering>) -> &'static str {
    match buffering {
        Some(PacketBuffering::Buffer) => ", buffer",
        Some(PacketBuffering::Forward) => ", forward",
        Some(PacketBuffering::Bicast) => ", bicast",
        None => "",
    }
}
