//! Descriptions of path events.

use baton_path::Event;

/// Describes an event of a path to an operator; `None` for routine events.
pub fn of(event: &Event) -> Option<String> {
    match event {
        Event::Up => Some("is up".to_owned()),
        Event::Down => Some("is down".to_owned()),
        Event::Moved { from, to } => Some(format!("has moved from {from} to {to}")),
        Event::Restarted => Some("has a peer that was restarted".to_owned()),
        Event::LossExpected(Some(_)) => Some("is expected to go by the other end".to_owned()),
        Event::LossExpected(None) => Some("is expected to stay by the other end".to_owned()),
        Event::PacketMtu(bytes) => Some(format!("carries packets of {bytes} B")),
        Event::Refused => Some("is refused: the router has 16 others".to_owned()),
        Event::Suspect | Event::Receipted { .. } => None,
    }
}
