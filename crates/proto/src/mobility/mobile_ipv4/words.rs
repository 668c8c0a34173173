//! Events of the Mobile IPv4 agents as text.

use super::{ForeignAgentEvent, HomeAgentEvent, MobileNodeEvent, Point};
use crate::packet::Wording;
use core::net::Ipv4Addr;

pub(super) fn of_mobile(event: &MobileNodeEvent) -> Wording {
    let (name, details) = match event {
        MobileNodeEvent::Registered { point, lifetime } => (
            "Registered",
            format!("{}, lifetime {lifetime} s", of_point(point)),
        ),
        MobileNodeEvent::AtHome { .. } => ("Deregistered", "at home".to_owned()),
        MobileNodeEvent::Refused { code, .. } => {
            ("Refused", format!("{} (code {})", code.text(), code.0))
        }
        MobileNodeEvent::Preregistered { accepted } => {
            let outcome = if *accepted { "accepted" } else { "failed" };
            ("Preregistration", outcome.to_owned())
        }
        MobileNodeEvent::Expired { point } => ("Registration Expired", of_point(point)),
        MobileNodeEvent::AddressReady { address, .. } => {
            ("Address Acquired", format!("address {address}"))
        }
        MobileNodeEvent::AddressLost { address, .. } => {
            ("Address Lost", format!("address {address}"))
        }
    };
    Wording::new(name, details)
}

fn of_point(point: &Point) -> String {
    let agent = point.agent.map(|agent| format!(", foreign agent {agent}"));
    format!(
        "care-of address {}{}",
        point.care_of_address,
        agent.unwrap_or_default()
    )
}

pub(super) fn of_home_agent(event: &HomeAgentEvent) -> Wording {
    let of = |home_address: Ipv4Addr, care_of: Ipv4Addr| {
        format!("home address {home_address}, care-of address {care_of}")
    };
    match *event {
        HomeAgentEvent::Bound {
            home_address,
            care_of_address,
            ..
        } => Wording::new("Binding Updated", of(home_address, care_of_address)),
        HomeAgentEvent::Unbound {
            home_address,
            care_of_address,
            expired,
        } => {
            let name = match expired {
                true => "Binding Expired",
                false => "Binding Removed",
            };
            Wording::new(name, of(home_address, care_of_address))
        }
        HomeAgentEvent::Refused { home_address, code } => Wording::new(
            "Binding Refused",
            format!(
                "home address {home_address}, {} (code {})",
                code.text(),
                code.0
            ),
        ),
    }
}

pub(super) fn of_foreign_agent(event: &ForeignAgentEvent) -> Wording {
    match *event {
        ForeignAgentEvent::Arrived { home_address, .. } => {
            Wording::new("Visitor Registered", format!("home address {home_address}"))
        }
        ForeignAgentEvent::Left {
            home_address,
            care_of_address,
        } => {
            let after = care_of_address.map(|address| format!(", packets go on to {address}"));
            Wording::new(
                "Visitor Left",
                format!("home address {home_address}{}", after.unwrap_or_default()),
            )
        }
        ForeignAgentEvent::Refused { home_address, code } => Wording::new(
            "Visitor Refused",
            format!(
                "home address {home_address}, {} (code {})",
                code.text(),
                code.0
            ),
        ),
    }
}
