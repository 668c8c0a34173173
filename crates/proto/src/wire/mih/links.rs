//! Command service: parameters of links, and actions of links.

use super::field;
use super::service::MOST_LISTED;
use super::values::{DATA_RATE, LinkIdentifier, Reader, Writer, cut};
use crate::wire::DecodeError;

/// LINK_STATUS_REQ: the operation mode, the data rate, and no description.
pub(super) const STATUS_REQUEST: [u8; 7] = [0x80, 0, 1, DATA_RATE[0], DATA_RATE[1], 0, 0];
/// LINK_AC_ATTR: the link is to scan.
const SCAN: u8 = 0x80;
/// SIG_STRENGTH in per cent.
const PER_CENT: u8 = 1;

/// Operation mode of a link (OP_MODE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationMode {
    /// Normal.
    Normal,
    /// Power saving.
    PowerSaving,
    /// Powered down.
    PoweredDown,
}

/// Parameters of a link, as far as they are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// The link.
    pub link: LinkIdentifier,
    /// Operation mode.
    pub mode: Option<OperationMode>,
    /// Data rate in kbit/s.
    pub rate: Option<u16>,
}

impl LinkStatus {
    pub(super) fn value(&self) -> Vec<u8> {
        let mut out = Writer(self.link.value());
        match self.mode {
            Some(mode) => out.bytes(&[1, 0, mode as u8]),
            None => out.bytes(&[0]),
        }
        match self.rate.map(u16::to_be_bytes) {
            Some([high, low]) => out.bytes(&[1, DATA_RATE[0], DATA_RATE[1], 0, high, low]),
            None => out.bytes(&[0]),
        }
        // No description.
        out.bytes(&[0]);
        out.0
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<LinkStatus, DecodeError> {
        let link = LinkIdentifier::read(reader)?;
        let states = reader.list(MOST_LISTED, read_state)?;
        let parameters = reader.list(MOST_LISTED, read_parameter)?;
        reader.list(MOST_LISTED, |reader| reader.take(2))?;
        Ok(LinkStatus {
            link,
            mode: states.into_iter().flatten().next(),
            rate: parameters.into_iter().flatten().next(),
        })
    }
}

/// Reads a LINK_STATES_RSP; `None` for a channel.
fn read_state(reader: &mut Reader<'_>) -> Result<Option<OperationMode>, DecodeError> {
    match reader.byte()? {
        0 => Ok(Some(match reader.byte()? {
            0 => OperationMode::Normal,
            1 => OperationMode::PowerSaving,
            2 => OperationMode::PoweredDown,
            other => return Err(field("operation mode", u32::from(other))),
        })),
        1 => reader.take(2).map(|_| None),
        other => Err(field("link state", u32::from(other))),
    }
}

/// Reads a LINK_PARAM with a value of two bytes; `None` for another one than the data rate.
fn read_parameter(reader: &mut Reader<'_>) -> Result<Option<u16>, DecodeError> {
    let kind = reader.take(2)?;
    match reader.byte()? {
        0 => Ok(Some(reader.u16()?).filter(|_| kind == DATA_RATE)),
        other => Err(field("link parameter", u32::from(other))),
    }
}

/// Kind of an action (LINK_AC_TYPE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// None, such as for a scan alone.
    None,
    /// LINK_DISCONNECT.
    Disconnect,
    /// LINK_LOW_POWER.
    LowPower,
    /// LINK_POWER_DOWN.
    PowerDown,
    /// LINK_POWER_UP.
    PowerUp,
}

impl ActionKind {
    const ALL: [ActionKind; 5] = [
        ActionKind::None,
        ActionKind::Disconnect,
        ActionKind::LowPower,
        ActionKind::PowerDown,
        ActionKind::PowerUp,
    ];

    pub(super) const fn text(self) -> &'static str {
        match self {
            ActionKind::None => "no action",
            ActionKind::Disconnect => "disconnect",
            ActionKind::LowPower => "low power",
            ActionKind::PowerDown => "power down",
            ActionKind::PowerUp => "power up",
        }
    }
}

/// An action of a link (LINK_ACTION_REQ), due at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkAction {
    /// The link.
    pub link: LinkIdentifier,
    /// The kind.
    pub kind: ActionKind,
    /// True if the link is also to scan for points of attachment.
    pub scans: bool,
}

impl LinkAction {
    pub(super) fn value(&self) -> Vec<u8> {
        let attributes = if self.scans { SCAN } else { 0 };
        // No point of attachment before the action; no time until it after.
        let action = [0, self.kind as u8, attributes, 0, 0];
        [&*self.link.value(), &action].concat()
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<LinkAction, DecodeError> {
        let link = LinkIdentifier::read(reader)?;
        if reader.byte()? != 0 {
            LinkIdentifier::read_address(link.link_type, reader)?;
        }
        let number = reader.byte()?;
        let kind = ActionKind::ALL.get(usize::from(number)).copied();
        let kind = kind.ok_or_else(|| field("link action", u32::from(number)))?;
        let scans = reader.byte()? & SCAN != 0;
        match reader.u16()? {
            0 => Ok(LinkAction { link, kind, scans }),
            time => Err(field("time of a link action", u32::from(time))),
        }
    }
}

/// Outcome of an action (LINK_AC_RESULT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionOutcome {
    /// Success.
    Success,
    /// Failure.
    Failure,
    /// Refused.
    Refused,
    /// Not possible for the link.
    Incapable,
}

impl ActionOutcome {
    const ALL: [ActionOutcome; 4] = [
        ActionOutcome::Success,
        ActionOutcome::Failure,
        ActionOutcome::Refused,
        ActionOutcome::Incapable,
    ];

    pub(super) const fn text(self) -> &'static str {
        match self {
            ActionOutcome::Success => "success",
            ActionOutcome::Failure => "failure",
            ActionOutcome::Refused => "refused",
            ActionOutcome::Incapable => "incapable",
        }
    }
}

/// A point of attachment found by a scan (LINK_SCAN_RSP).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedLink {
    /// Its address, up to [`LONGEST_NAME`](super::LONGEST_NAME) bytes.
    pub address: Box<[u8]>,
    /// Its network's identifier, up to [`LONGEST_NAME`](super::LONGEST_NAME) bytes.
    pub network: Box<[u8]>,
    /// Signal strength in per cent.
    pub strength: u8,
}

impl DetectedLink {
    /// Creates the report of a link; an address or network that is too long is cut.
    pub fn new(address: &[u8], network: &[u8], strength: u8) -> DetectedLink {
        DetectedLink {
            address: cut(address),
            network: cut(network),
            strength,
        }
    }

    fn value(&self) -> Vec<u8> {
        let mut out = Writer(LinkIdentifier::new(0, &self.address).address_value());
        out.counted(&self.network);
        out.bytes(&[PER_CENT, self.strength]);
        out.0
    }

    fn read(reader: &mut Reader<'_>) -> Result<DetectedLink, DecodeError> {
        let address = LinkIdentifier::read_address(0, reader)?.address().into();
        let network = reader.name()?;
        match reader.byte()? {
            PER_CENT => Ok(DetectedLink {
                address,
                network,
                strength: reader.byte()?,
            }),
            other => Err(field("signal strength", u32::from(other))),
        }
    }
}

/// Result of an action (LINK_ACTION_RSP).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionResult {
    /// The link.
    pub link: LinkIdentifier,
    /// The outcome.
    pub outcome: ActionOutcome,
    /// Points of attachment found, if the link was to scan.
    pub scan: Option<Vec<DetectedLink>>,
}

impl ActionResult {
    pub(super) fn value(&self) -> Vec<u8> {
        let mut out = Writer(self.link.value());
        out.bytes(&[self.outcome as u8]);
        match &self.scan {
            Some(found) => {
                let found = &found[..found.len().min(MOST_LISTED)];
                out.bytes(&[1, found.len() as u8]);
                found.iter().for_each(|one| out.bytes(&one.value()));
            }
            None => out.bytes(&[0]),
        }
        out.0
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<ActionResult, DecodeError> {
        let link = LinkIdentifier::read(reader)?;
        let number = reader.byte()?;
        let outcome = ActionOutcome::ALL.get(usize::from(number)).copied();
        let outcome = outcome.ok_or_else(|| field("link action result", u32::from(number)))?;
        let scan = match reader.byte()? {
            0 => None,
            _ => Some(reader.list(MOST_LISTED, DetectedLink::read)?),
        };
        Ok(ActionResult {
            link,
            outcome,
            scan,
        })
    }
}
