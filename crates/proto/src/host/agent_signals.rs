//! What agents have to say, in words, for a record.

use super::AgentEvent;
use crate::mobility::address_configuration::Attachment;
use crate::mobility::handover_service::HandoverServiceEvent;
use crate::mobility::mobile_ipv4::{self, ForeignAgentEvent, MobileNodeEvent, Point};
use crate::mobility::mobile_ipv6::{HomeAgentEvent, MobileEvent};
use crate::mobility::network_access::AccessEvent;
use crate::packet::Signal;

impl AgentEvent {
    /// The event by its name; `None` where it only says that a message has left, which is a signal of its own.
    pub fn signal(&self) -> Option<Signal> {
        match self {
            AgentEvent::Mobile(event) => of_mobile(event),
            AgentEvent::HomeAgent(event) => Some(of_home_agent(event)),
            AgentEvent::Ipv4Mobile(event) => Some(of_ipv4_mobile(event)),
            AgentEvent::Ipv4HomeAgent(event) => Some(of_ipv4_home_agent(event)),
            AgentEvent::ForeignAgent(event) => Some(of_foreign_agent(event)),
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

fn of_ipv4_mobile(event: &MobileNodeEvent) -> Signal {
    let (name, details) = match event {
        MobileNodeEvent::Registered { point, lifetime } => (
            "Registered",
            format!("{}, lifetime {lifetime} s", of_point(point)),
        ),
        MobileNodeEvent::AtHome { .. } => ("Deregistered", "at home".to_owned()),
        MobileNodeEvent::Refused { code, .. } => {
            ("Refused", format!("{} (code {})", code.text(), code.0))
        }
        MobileNodeEvent::Expired { point } => ("Registration Expired", of_point(point)),
        MobileNodeEvent::AddressReady { address, .. } => {
            ("Address Acquired", format!("address {address}"))
        }
        MobileNodeEvent::AddressLost { address, .. } => {
            ("Address Lost", format!("address {address}"))
        }
    };
    Signal::new(name, details)
}

fn of_point(point: &Point) -> String {
    let agent = point.agent.map(|agent| format!(", foreign agent {agent}"));
    format!(
        "care-of address {}{}",
        point.care_of_address,
        agent.unwrap_or_default()
    )
}

fn of_ipv4_home_agent(event: &mobile_ipv4::HomeAgentEvent) -> Signal {
    use mobile_ipv4::HomeAgentEvent;
    let of =
        |home_address, care_of| format!("home address {home_address}, care-of address {care_of}");
    match *event {
        HomeAgentEvent::Bound {
            home_address,
            care_of_address,
            ..
        } => Signal::new("Binding Updated", of(home_address, care_of_address)),
        HomeAgentEvent::Unbound {
            home_address,
            care_of_address,
            expired,
        } => {
            let name = match expired {
                true => "Binding Expired",
                false => "Binding Removed",
            };
            Signal::new(name, of(home_address, care_of_address))
        }
        HomeAgentEvent::Refused { home_address, code } => Signal::new(
            "Binding Refused",
            format!(
                "home address {home_address}, {} (code {})",
                code.text(),
                code.0
            ),
        ),
    }
}

fn of_foreign_agent(event: &ForeignAgentEvent) -> Signal {
    match *event {
        ForeignAgentEvent::Arrived { home_address, .. } => {
            Signal::new("Visitor Registered", format!("home address {home_address}"))
        }
        ForeignAgentEvent::Left {
            home_address,
            care_of_address,
        } => {
            let after = care_of_address.map(|address| format!(", packets go on to {address}"));
            Signal::new(
                "Visitor Left",
                format!("home address {home_address}{}", after.unwrap_or_default()),
            )
        }
        ForeignAgentEvent::Refused { home_address, code } => Signal::new(
            "Visitor Refused",
            format!(
                "home address {home_address}, {} (code {})",
                code.text(),
                code.0
            ),
        ),
    }
}
