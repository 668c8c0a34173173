//! The settings of AeroTP: of a flow's, and of that between gateways.

use super::AerotpSettings;
use super::keys::{
    RawAerotp, RawBlocks, RawBlocksName, RawCoding, RawCodingName, RawFixedCoding, RawFlowAerotp,
    RawHostAerotp, RawMode,
};
use super::paths;
use crate::scenario::document::Path;
use crate::scenario::model::Transport;
use crate::scenario::raw_flows::RawFlow;
use crate::scenario::resolve::Report;
use crate::scenario::resolve_tcp::{bounded, set};
use crate::scenario::traffic::RawTraffic;
use crate::scenario::units;
use crate::transport::blocks::block_size;
use baton_proto::aerotp::{Blocks, Coding, Configuration};
use baton_proto::fec::interleaved::Strength;
use baton_proto::rate::DataRate;
use baton_proto::wire::aerotp::{Mode, Protection, ServiceClass};
use std::sync::Arc;

/// Largest buffer: sequence numbers distinguish positions less than 2 GiB apart.
const LARGEST_BUFFER: u64 = 1 << 30;
/// Words that suffice for quasi-reliable data at all error rates in study A's figures.
const QUASI_RELIABLE_WORDS: u16 = 96;

/// Resolves the transport of the flow at `path`.
pub(crate) fn transport(
    own: &RawFlowAerotp,
    raw: &RawFlow,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Transport> {
    if raw.code_point.is_some() {
        let message = "a flow over \"aerotp\" has the code point of its class; expected transport = { kind = \"aerotp\", class = 0 } to 7";
        report.wrong(&path.key("code_point"), message.to_owned());
    }
    let mode = mode(&own.host.keys);
    let here = path.key("transport");
    check_traffic(raw.traffic(), mode, &here, report);
    paths::check_mode(own, mode, &here, report);
    let settings = settings(&own.host, &here, report)?;
    Some(Transport::Other(Arc::new(settings)))
}

/// Resolves the settings of a host at `path`.
pub(crate) fn settings(
    raw: &RawHostAerotp,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<AerotpSettings> {
    let mode = mode(&raw.keys);
    if raw.rate.is_some() && mode == Mode::UnreliableDatagram {
        report.misplaced(path, &[("rate", true)], &[], &context(mode));
    }
    let rate = raw.rate.map(|rate| rate.0);
    if rate == Some(DataRate::ZERO) {
        let message = "at a rate of 0 nothing is sent; expected a rate above 0".to_owned();
        report.wrong(&path.key("rate"), message);
    }
    Some(AerotpSettings {
        configuration: keys(&raw.keys, path, report)?,
        rate,
    })
}

/// Resolves the keys of AeroTP at `path`.
pub(crate) fn keys(
    aerotp: &RawAerotp,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Configuration> {
    let mode = mode(aerotp);
    check_keys(aerotp, mode, path, report);
    let mut configuration = Configuration::new(DataRate::ZERO);
    configuration.mode = mode;
    configuration.coding = coding(aerotp.coding.as_ref(), mode, path, report)?;
    configuration.blocks = blocks(aerotp.blocks, mode, path, report);
    let class = aerotp.class.and_then(|class| u8::try_from(class).ok());
    set(&mut configuration.class, class.and_then(ServiceClass::new));
    let packets = aerotp.packets_per_mack;
    set(
        &mut configuration.packets_per_mack,
        packets.and_then(|packets| u8::try_from(packets).ok()),
    );
    // A share within the key's range, in millionths.
    let tolerated = |share: f64| libm::round(share * 1e6) as u32;
    set(
        &mut configuration.tolerated_loss_ppm,
        aerotp.tolerated_loss.map(tolerated),
    );
    let time = |time: Option<units::PositiveTime>| time.map(|time| time.0);
    set(&mut configuration.mack_delay, time(aerotp.mack_delay));
    set(
        &mut configuration.reordering_wait,
        time(aerotp.reordering_wait),
    );
    set(&mut configuration.close_timeout, time(aerotp.close_timeout));
    // A buffer smaller than a packet would stall.
    let mut buffer = |key, given| bounded(given, 65_536, LARGEST_BUFFER, &path.key(key), report);
    let send = buffer("send_buffer", aerotp.send_buffer);
    let receive = buffer("receive_buffer", aerotp.receive_buffer);
    set(&mut configuration.send_buffer, send);
    set(&mut configuration.receive_buffer, receive);
    Some(configuration)
}

fn mode(raw: &RawAerotp) -> Mode {
    match raw.mode.unwrap_or(RawMode::Reliable) {
        RawMode::Reliable => Mode::Reliable,
        RawMode::NearReliable => Mode::NearReliable,
        RawMode::QuasiReliable => Mode::QuasiReliable,
        RawMode::UnreliableConnection => Mode::UnreliableConnection,
        RawMode::UnreliableDatagram => Mode::UnreliableDatagram,
    }
}

/// Returns the mode's name in scenarios and results.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Reliable => "reliable",
        Mode::NearReliable => "near-reliable",
        Mode::QuasiReliable => "quasi-reliable",
        Mode::UnreliableConnection => "unreliable-connection",
        Mode::UnreliableDatagram => "unreliable-datagram",
    }
}

fn check_traffic(traffic: &RawTraffic, mode: Mode, path: &Path, report: &mut Report<'_>) {
    let message = match (traffic, mode) {
        (RawTraffic::Pages(_) | RawTraffic::Ping(_), _) => {
            "pages need \"tcp\" or \"quic\", and ping needs one of these, \"udp\" or \"icmp\"; \"aerotp\" carries bulk, constant and on-off"
        }
        (RawTraffic::Bulk(_), Mode::UnreliableDatagram) => {
            "bulk needs a connection, and mode \"unreliable-datagram\" has none; expected traffic constant or on-off, or another mode"
        }
        _ => return,
    };
    report.wrong(path, message.to_owned());
}

/// Reports keys without effect in a mode.
fn check_keys(raw: &RawAerotp, mode: Mode, path: &Path, report: &mut Report<'_>) {
    let keys = [
        ("blocks", raw.blocks.is_some()),
        ("packets_per_mack", raw.packets_per_mack.is_some()),
        ("mack_delay", raw.mack_delay.is_some()),
        ("close_timeout", raw.close_timeout.is_some()),
        ("reordering_wait", raw.reordering_wait.is_some()),
        ("tolerated_loss", raw.tolerated_loss.is_some()),
        ("send_buffer", raw.send_buffer.is_some()),
        ("receive_buffer", raw.receive_buffer.is_some()),
    ];
    let own: &[&str] = match mode {
        Mode::Reliable | Mode::NearReliable => &[
            "blocks",
            "packets_per_mack",
            "mack_delay",
            "close_timeout",
            "send_buffer",
            "receive_buffer",
        ],
        Mode::QuasiReliable => &["blocks", "reordering_wait", "send_buffer", "receive_buffer"],
        Mode::UnreliableConnection => &[
            "blocks",
            "reordering_wait",
            "tolerated_loss",
            "send_buffer",
            "receive_buffer",
        ],
        Mode::UnreliableDatagram => &[],
    };
    report.misplaced(path, &keys, own, &context(mode));
}

/// Returns the key and value that others do not go with.
fn context(mode: Mode) -> String {
    format!("mode = \"{}\"", mode_name(mode))
}

fn coding(
    raw: Option<&RawCoding>,
    mode: Mode,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Coding> {
    let fixed = |words, covers_header| {
        let strength = Strength::from_words(words)?;
        Some(Coding::Fixed(Protection {
            strength,
            covers_header,
        }))
    };
    match (raw, mode) {
        (None, Mode::Reliable | Mode::NearReliable) => Some(Coding::Adaptive),
        (None, Mode::QuasiReliable) => fixed(QUASI_RELIABLE_WORDS, false),
        (Some(RawCoding::Named(RawCodingName::Adaptive)), mode) => {
            if !mode.repeats() {
                let message = format!(
                    "\"adaptive\" needs feedback from the receiver, and mode \"{}\" has none; expected \"none\" or {{ words = 96 }}",
                    mode_name(mode)
                );
                report.wrong(&path.key("coding"), message);
            }
            Some(Coding::Adaptive)
        }
        (None | Some(RawCoding::Named(RawCodingName::None)), _) => fixed(0, false),
        (Some(RawCoding::Fixed(RawFixedCoding { words, header })), _) => {
            fixed(u16::try_from(*words).ok()?, header.unwrap_or(false))
        }
    }
}

fn blocks(
    raw: Option<RawBlocks>,
    mode: Mode,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<Blocks> {
    let fixed = match raw? {
        RawBlocks::Fixed(fixed) => fixed,
        RawBlocks::Named(RawBlocksName::Adaptive) => {
            if !mode.repeats() {
                let message = format!(
                    "\"adaptive\" needs feedback from the receiver, and mode \"{}\" has none; expected {{ data = 8, repair = 2 }}",
                    mode_name(mode)
                );
                report.wrong(&path.key("blocks"), message);
            }
            return Some(Blocks::Adaptive);
        }
    };
    block_size(fixed, path, report).map(Blocks::Fixed)
}
