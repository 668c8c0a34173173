//! Events of the Mobile IPv6 agents as text.

use super::{HomeAgentEvent, MobileEvent};
use crate::mobility::address_configuration::Attachment;
use crate::mobility::handover_service::HandoverServiceEvent;
use crate::mobility::mobile_ipv6::prefix_assignment::PrefixEvent;
use crate::mobility::network_access::AccessEvent;
use crate::packet::Wording;
use crate::wire::prefix::{Ipv6Prefix, Prefix};

/// Describes an event; `None` for a sent update, since the message is a signal of its own.
pub(super) fn of_mobile(event: &MobileEvent) -> Option<Wording> {
    let (name, details) = match event {
        MobileEvent::Attached(Attachment::None) => ("Detached", String::new()),
        MobileEvent::Attached(Attachment::Home) => ("Attached", "at home".to_owned()),
        MobileEvent::Attached(Attachment::Away(address)) => {
            ("Attached", format!("care-of address {address}"))
        }
        MobileEvent::DuplicateAddress(address) => ("Duplicate Address", address.to_string()),
        MobileEvent::UpdateSent { .. } => return None,
        MobileEvent::Registered(address) => ("Registered", format!("care-of address {address}")),
        MobileEvent::Anchored(address) => {
            ("Anchored", format!("on-link care-of address {address}"))
        }
        MobileEvent::AnchorLost(address) => ("Anchor Point Lost", address.to_string()),
        MobileEvent::Deregistered => ("Deregistered", String::new()),
        MobileEvent::Refused(status) => ("Refused", format!("status {}", status.0)),
        MobileEvent::NetworkRefused { network, status } => {
            let network = Prefix::V4(*network);
            let details = match status {
                Some(status) => format!("network {network}, status {}", status.0),
                None => format!("network {network}, not acknowledged"),
            };
            ("Network Refused", details)
        }
        MobileEvent::Buffering(true) => ("Buffering", String::new()),
        MobileEvent::Buffering(false) => ("Not Buffering", String::new()),
        MobileEvent::Forwarding(true) => ("Forwarding", String::new()),
        MobileEvent::Forwarding(false) => ("Not Forwarding", String::new()),
        MobileEvent::FastHandover(true) => ("Fast Handover Prepared", String::new()),
        MobileEvent::FastHandover(false) => ("Fast Handover Not Prepared", String::new()),
        MobileEvent::Announced(true) => ("Move Announced", String::new()),
        MobileEvent::Announced(false) => ("Move Not Announced", String::new()),
        MobileEvent::Expired => ("Binding Expired", String::new()),
        MobileEvent::Optimized(address) => ("Route Optimized", format!("correspondent {address}")),
        MobileEvent::HomePrefix(event) => match event {
            PrefixEvent::Assigned(prefix) => ("Home Prefix Assigned", prefix_words(prefix)),
            PrefixEvent::NoneLeft => ("Home Prefix Refused", "no prefix left".to_owned()),
            PrefixEvent::Unanswered => ("Home Prefix Unanswered", String::new()),
            PrefixEvent::Lost(prefix) => ("Home Prefix Lost", prefix_words(prefix)),
        },
        MobileEvent::Access(event) => {
            let (name, address) = match event {
                AccessEvent::Granted(address) => ("Access Granted", address),
                AccessEvent::Refused(address) => ("Access Refused", address),
                AccessEvent::Unanswered(address) => ("Access Unanswered", address),
            };
            (name, format!("care-of address {address}"))
        }
        MobileEvent::HandoverService(HandoverServiceEvent::Prepared) => {
            ("Handover Prepared", String::new())
        }
        MobileEvent::HandoverService(HandoverServiceEvent::Unprepared) => {
            ("Handover Not Prepared", String::new())
        }
        MobileEvent::HandoverService(HandoverServiceEvent::Information(_, network)) => {
            let rate = network.rate.bits_per_second() / 1000;
            let details = format!("{rate} kbit/s, router {}", network.router);
            ("Network Information", details)
        }
        MobileEvent::HandoverService(HandoverServiceEvent::Ordered(_)) => {
            ("Handover Ordered", String::new())
        }
        // The message itself is in the record.
        MobileEvent::HandoverService(HandoverServiceEvent::Released(_)) => return None,
        MobileEvent::HandoverService(HandoverServiceEvent::Remote(_)) => return None,
    };
    Some(Wording::new(name, details))
}

fn prefix_words(prefix: &Ipv6Prefix) -> String {
    format!("prefix {}", Prefix::V6(*prefix))
}

/// Describes an event.
pub(super) fn of_home_agent(event: &HomeAgentEvent) -> Wording {
    match event {
        HomeAgentEvent::Updated {
            home_address,
            care_of,
            status,
            buffering,
        } => {
            let name = match (status.is_accepted(), buffering) {
                (false, _) => "Binding Refused",
                (true, false) => "Binding Updated",
                (true, true) => "Buffering",
            };
            let details = format!("home address {home_address}, care-of address {care_of}");
            Wording::new(name, details)
        }
        HomeAgentEvent::Expired { home_address } => {
            Wording::new("Binding Expired", format!("home address {home_address}"))
        }
    }
}
