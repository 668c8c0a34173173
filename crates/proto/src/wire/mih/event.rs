//! Event service: indications of remote events.

use super::found::Found;
use super::values::{DATA_RATE, LinkIdentifier, Threshold, Writer};
use super::{field, tlv};
use crate::wire::DecodeError;

/// LINK_DN_REASON: packet timeout.
const PACKET_TIMEOUT: u8 = 1;
/// LINK_GD_REASON: degrading parameters.
const DEGRADING: u8 = 1;

/// Events of a link (MIH_EVT_LIST), for a subscription.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(pub(super) u32);

impl Events {
    /// Link_Up.
    pub const UP: Events = Events(1 << 30);
    /// Link_Down.
    pub const DOWN: Events = Events(1 << 29);
    /// Link_Parameters_Report.
    pub const PARAMETERS_REPORT: Events = Events(1 << 28);
    /// Link_Going_Down.
    pub const GOING_DOWN: Events = Events(1 << 27);
    /// The events that have indications here.
    pub const ALL: Events =
        Events(Events::UP.0 | Events::DOWN.0 | Events::PARAMETERS_REPORT.0 | Events::GOING_DOWN.0);

    /// Returns the events of both sets.
    #[must_use]
    pub const fn and(self, other: Events) -> Events {
        Events(self.0 & other.0)
    }

    /// Returns the events of this set that are not in the other.
    #[must_use]
    pub const fn without(self, other: Events) -> Events {
        Events(self.0 & !other.0)
    }

    /// Returns true if no event is in both sets.
    pub const fn is_disjoint(self, other: Events) -> bool {
        self.0 & other.0 == 0
    }
}

/// Change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// Link_Up.
    Up,
    /// Link_Down.
    Down,
    /// Link_Going_Down, in an unknown time.
    GoingDown,
    /// Link_Parameters_Report: the data rate has crossed a threshold.
    Rate {
        /// Data rate in kbit/s.
        rate: u16,
        /// The threshold.
        threshold: Threshold,
    },
}

impl LinkChange {
    /// Returns the event of the subscription.
    pub const fn event(self) -> Events {
        match self {
            LinkChange::Up => Events::UP,
            LinkChange::Down => Events::DOWN,
            LinkChange::GoingDown => Events::GOING_DOWN,
            LinkChange::Rate { .. } => Events::PARAMETERS_REPORT,
        }
    }
}

/// A remote event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The link.
    pub link: LinkIdentifier,
    /// Its change.
    pub change: LinkChange,
}

impl Event {
    pub(super) const fn action(&self) -> u16 {
        match self.change {
            LinkChange::Up => 2,
            LinkChange::Down => 3,
            LinkChange::Rate { .. } => 5,
            LinkChange::GoingDown => 6,
        }
    }

    /// Returns the standard's name.
    pub(super) const fn name(&self) -> &'static str {
        match self.change {
            LinkChange::Up => "MIH_Link_Up indication",
            LinkChange::Down => "MIH_Link_Down indication",
            LinkChange::Rate { .. } => "MIH_Link_Parameters_Report indication",
            LinkChange::GoingDown => "MIH_Link_Going_Down indication",
        }
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.tlv(tlv::LINK_IDENTIFIER, &self.link.as_tuple());
        match self.change {
            LinkChange::Up => {}
            LinkChange::Down => out.tlv(tlv::LINK_DOWN_REASON, &[PACKET_TIMEOUT]),
            LinkChange::GoingDown => {
                out.tlv(tlv::TIME_INTERVAL, &[0; 2]);
                out.tlv(tlv::GOING_DOWN_REASON, &[DEGRADING]);
            }
            LinkChange::Rate { rate, threshold } => {
                let mut report = Writer(vec![1]);
                report.bytes(&DATA_RATE);
                // A value of two bytes, and the threshold.
                report.bytes(&[0]);
                report.bytes(&rate.to_be_bytes());
                report.bytes(&[1]);
                report.bytes(&threshold.value());
                out.tlv(tlv::PARAMETER_REPORTS, &report.0);
            }
        }
    }

    pub(super) fn read(action: u16, found: &Found<'_>) -> Result<Event, DecodeError> {
        let change = match action {
            2 => LinkChange::Up,
            3 => LinkChange::Down,
            5 => read_report(found)?,
            6 => LinkChange::GoingDown,
            other => return Err(field("action", u32::from(other))),
        };
        Ok(Event {
            link: LinkIdentifier::read(&mut found.needed(tlv::LINK_IDENTIFIER)?)?,
            change,
        })
    }
}

/// Reads a report of the data rate, the first of the list.
fn read_report(found: &Found<'_>) -> Result<LinkChange, DecodeError> {
    let mut value = found.needed(tlv::PARAMETER_REPORTS)?;
    let count = value.length()?;
    if count == 0 || value.take(2)? != DATA_RATE || value.byte()? != 0 {
        return Err(field("parameter reports", count as u32));
    }
    let rate = value.u16()?;
    match value.byte()? {
        1 => Ok(LinkChange::Rate {
            rate,
            threshold: Threshold::read(&mut value)?,
        }),
        other => Err(field("threshold choice", u32::from(other))),
    }
}
