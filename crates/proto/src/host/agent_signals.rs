//! What agents have to say, in words, for a record.

use super::AgentEvent;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::mobile_ipv6::{HomeAgentEvent, MobileEvent};
use crate::packet::Signal;

impl AgentEvent {
    /// The event by its name; `None` where it only says that a message has left, which is a signal of its own.
    pub fn signal(&self) -> Option<Signal> {
        match self {
            AgentEvent::Mobile(event) => of_mobile(event),
            AgentEvent::HomeAgent(event) => Some(of_home_agent(event)),
        }
    }
}

fn of_mobile(event: &MobileEvent) -> Option<Signal> {
    let (name, details) = match event {
        MobileEvent::Attached(Attachment::None) => ("Detached", String::new()),
        MobileEvent::Attached(Attachment::Home) => ("Attached", "at home".to_owned()),
        MobileEvent::Attached(Attachment::Away(address)) => {
            ("Attached", format!("care-of address {address}"))
        }
        MobileEvent::DuplicateAddress(address) => ("Duplicate Address", address.to_string()),
        MobileEvent::UpdateSent { .. } => return None,
        MobileEvent::Registered(address) => ("Registered", format!("care-of address {address}")),
        MobileEvent::Deregistered => ("Deregistered", String::new()),
        MobileEvent::Refused(status) => ("Refused", format!("status {}", status.0)),
        MobileEvent::Buffering(true) => ("Buffering", String::new()),
        MobileEvent::Buffering(false) => ("Not Buffering", String::new()),
        MobileEvent::Forwarding(true) => ("Forwarding", String::new()),
        MobileEvent::Forwarding(false) => ("Not Forwarding", String::new()),
        MobileEvent::Expired => ("Binding Expired", String::new()),
        MobileEvent::Optimized(address) => ("Route Optimized", format!("correspondent {address}")),
    };
    Some(Signal::new(name, details))
}

fn of_home_agent(event: &HomeAgentEvent) -> Signal {
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
            Signal::new(name, details)
        }
        HomeAgentEvent::Expired { home_address } => {
            Signal::new("Binding Expired", format!("home address {home_address}"))
        }
    }
}
