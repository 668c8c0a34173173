//! The state of a daemon, as `batond status` prints it.

use baton_path::{Counters, Measured, Rejected};
use baton_proto::time::Duration;
use core::net::{Ipv6Addr, SocketAddr};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The state of a daemon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The role.
    pub role: String,
    /// The version of the program.
    pub version: String,
    /// Time since the start, in seconds.
    pub running_s: f64,
    /// The node's first address.
    pub address: String,
    /// The uplink in use, of a mobile router that has one.
    pub in_use: Option<String>,
    /// The uplink to which an operator holds the router.
    pub held_to: Option<String>,
    /// Uplinks that are expected to go down.
    #[serde(default)]
    pub leaving: Vec<String>,
    /// Links of a gateway that a program says to carry nothing.
    #[serde(default)]
    pub away: Vec<String>,
    /// Packets of the node.
    pub packets: PacketStatus,
    /// Handovers.
    pub handovers: HandoverStatus,
    /// Uplinks of a mobile router, or links of a gateway.
    pub uplinks: Vec<PathStatus>,
    /// Routers of a home agent.
    pub routers: Vec<RouterStatus>,
    /// Connections of a gateway.
    #[serde(default)]
    pub gateway: Option<GatewayStatus>,
    /// Codes of a gateway's links that deliver damaged packets.
    #[serde(default)]
    pub codes: Vec<CodeStatus>,
    /// Rejected datagrams, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// The capture under way.
    pub capture: Option<CaptureStatus>,
}

/// A capture under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureStatus {
    /// Packets and events so far, including those left out.
    pub records: u64,
    /// Packets and events left out because the reader was too slow.
    pub left_out: u64,
}

/// Packets of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PacketStatus {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets lost, by cause.
    pub lost: BTreeMap<String, u64>,
}

/// Connections of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayStatus {
    /// Connections carried now, of TCP and UDP.
    pub connections: u64,
    /// Connections of TCP that are not closed.
    pub tcp: u64,
    /// Bytes acknowledged to their sender that the other gateway has not acknowledged yet.
    pub custody_bytes: u64,
    /// Connections dropped half open, in favour of newer ones.
    #[serde(default)]
    pub replaced: u64,
    /// Packets of the other gateway without a connection here.
    #[serde(default)]
    pub strangers: u64,
    /// Datagrams beyond the buffer or the largest packet.
    #[serde(default)]
    pub refused_datagrams: u64,
    /// Lost packets restored by codes across packets.
    #[serde(default)]
    pub restored_packets: u64,
    /// Blocks of these codes that lost more packets than they had repair packets.
    #[serde(default)]
    pub failed_blocks: u64,
    /// The bound and the journal of custody.
    #[serde(default)]
    pub custody: CustodyStatus,
}

/// The code of a link that delivers damaged packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeStatus {
    /// The link's name.
    pub link: String,
    /// The bit error rate towards this end, by the errors found.
    pub bit_error_rate: f64,
    /// Datagrams opened after a correction.
    pub repaired: u64,
    /// Bytes corrected in these.
    pub corrected_bytes: u64,
    /// Datagrams damaged beyond repair, or forged.
    pub damaged: u64,
}

/// Custody of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustodyStatus {
    /// Most bytes of all connections together.
    pub limit: u64,
    /// Connections whose window is closed, because of the bound or of the disk.
    pub closed_windows: u64,
    /// Times that a window was closed for that.
    pub closed_windows_so_far: u64,
    /// Connections reset because their custody was too old.
    pub expired_connections: u64,
    /// The journal, if custody is on disk.
    pub journal: Option<JournalStatus>,
}

/// The journal of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStatus {
    /// The length of its file.
    pub file_bytes: u64,
    /// Writes that are durable.
    pub writes: u64,
    /// Writes that failed, and were tried again.
    pub failed_writes: u64,
    /// The reason why the disk takes nothing at present.
    pub trouble: Option<String>,
}

/// Handovers since the start of the daemon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandoverStatus {
    /// Completed handovers; of a home agent, the moves of all bindings.
    pub completed: u64,
    /// Duration of the last handover, up to the home agent's answer, in seconds; of a home agent zero.
    pub last_s: f64,
    /// The longest of these durations, in seconds.
    pub longest_s: f64,
    /// The sum of these durations, in seconds.
    pub total_s: f64,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStatus {
    /// The device of the uplink, or the path's number at its router.
    pub name: String,
    /// True if the path is up.
    pub up: bool,
    /// The destination address of its datagrams.
    pub remote: SocketAddr,
    /// The longest packet that fits into it, in bytes.
    pub packet_mtu: u16,
    /// The smoothed round-trip time, in seconds; none before the first measurement.
    pub round_trip_s: Option<f64>,
    /// The mean deviation of the round-trip time, in seconds.
    pub round_trip_variation_s: f64,
    /// The delay variation of arriving datagrams, in seconds.
    pub delay_variation_s: f64,
    /// The share of datagrams lost in the last ten seconds, on the way out and on the way in.
    pub loss: [f64; 2],
    /// Bytes of datagrams in the last whole second, sent and received.
    pub bytes_per_s: [u64; 2],
    /// The rate from this end, of a gateway's link.
    #[serde(default)]
    pub rate: Option<RateStatus>,
}

/// The rate of a link from this end, of IP packets with all headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStatus {
    /// The rate in use, in bits per second.
    pub used_bit_per_s: u64,
    /// The rate told by the configuration, an operator or a modem, in bits per second.
    pub told_bit_per_s: Option<u64>,
    /// Times that the link has carried less than half of the rate told for three seconds.
    pub overruled: u64,
}

/// A router of a home agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouterStatus {
    /// Its home address.
    pub home_address: Ipv6Addr,
    /// The path to which its binding leads.
    pub bound_to: Option<String>,
    /// Its paths.
    pub paths: Vec<PathStatus>,
    /// Packets held for it.
    pub held_packets: u64,
}

impl PathStatus {
    /// Describes a path without measurements.
    pub fn new((name, up): (String, bool), remote: SocketAddr, packet_mtu: u16) -> PathStatus {
        PathStatus {
            name,
            up,
            remote,
            packet_mtu,
            round_trip_s: None,
            round_trip_variation_s: 0.0,
            delay_variation_s: 0.0,
            loss: [0.0; 2],
            bytes_per_s: [0; 2],
            rate: None,
        }
    }

    /// Adds measurements.
    pub fn with(self, measured: Measured) -> PathStatus {
        let seconds = |time: Duration| time.as_secs_f64();
        PathStatus {
            round_trip_s: measured.round_trip.map(seconds),
            round_trip_variation_s: seconds(measured.round_trip_variation),
            delay_variation_s: seconds(measured.delay_variation),
            loss: [measured.outward.loss(), measured.inward.loss()],
            bytes_per_s: [
                measured.sent_bytes_per_second,
                measured.received_bytes_per_second,
            ],
            ..self
        }
    }
}

impl Status {
    /// Adds packets lost for a cause.
    pub fn lose(&mut self, cause: &str, number: u64) {
        if number > 0 {
            *self.packets.lost.entry(cause.to_owned()).or_default() += number;
        }
    }

    /// Adds datagrams rejected for a reason.
    pub fn refuse(&mut self, reason: &str, number: u64) {
        if number > 0 {
            *self.rejected.entry(reason.to_owned()).or_default() += number;
        }
    }

    /// Adds the datagrams rejected by one path or by all.
    pub fn reject(&mut self, counters: &Counters) {
        for reason in Rejected::ALL {
            self.refuse(&format!("{reason:?}"), counters.rejected(reason));
        }
    }
}

impl fmt::Display for PathStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.up { "up" } else { "down" };
        write!(f, "{:<12} {state:<5} {:<24}", self.name, self.remote)?;
        if let Some(round_trip) = self.round_trip_s {
            let milliseconds = |seconds: f64| seconds * 1e3;
            write!(
                f,
                " {:.1} ± {:.1} ms",
                milliseconds(round_trip),
                milliseconds(self.round_trip_variation_s)
            )?;
        }
        let [out, back] = self.loss.map(|share| share * 100.0);
        let [sent, received] = self.bytes_per_s.map(|bytes| bytes as f64 * 8e-6);
        write!(
            f,
            ", loss {out:.1} % out, {back:.1} % in, {sent:.3} Mbit/s out, {received:.3} Mbit/s in, packets of {} B",
            self.packet_mtu
        )?;
        self.rate.as_ref().map_or(Ok(()), |rate| rate.fmt(f))
    }
}

impl fmt::Display for RateStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabits = |bits: u64| bits as f64 * 1e-6;
        write!(f, ", rate {:.3} Mbit/s", megabits(self.used_bit_per_s))?;
        if let Some(told) = self.told_bit_per_s {
            write!(f, " of {:.3} Mbit/s told", megabits(told))?;
        }
        match self.overruled {
            0 => Ok(()),
            times => write!(f, ", overruled {times} times"),
        }
    }
}

impl fmt::Display for CustodyStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "custody: at most {} B; {} windows closed, {} so far; {} connections too old",
            self.limit, self.closed_windows, self.closed_windows_so_far, self.expired_connections
        )?;
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        writeln!(
            f,
            "journal: {} B, {} writes, {} failed",
            journal.file_bytes, journal.writes, journal.failed_writes
        )?;
        match &journal.trouble {
            Some(trouble) => writeln!(f, "the disk takes nothing: {trouble}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} at {}, version {}, running for {:.0} s",
            self.role, self.address, self.version, self.running_s
        )?;
        if let Some(in_use) = &self.in_use {
            let held = if self.held_to.is_some() {
                ", held there by an operator"
            } else {
                ""
            };
            writeln!(f, "uses {in_use}{held}")?;
        }
        for uplink in &self.leaving {
            writeln!(f, "{uplink} is expected to go")?;
        }
        for link in &self.away {
            writeln!(f, "{link} is said to be down")?;
        }
        for uplink in &self.uplinks {
            writeln!(f, "  {uplink}")?;
        }
        for code in &self.codes {
            writeln!(
                f,
                "  {}: bit error rate {:.1e}, {} datagrams repaired ({} B), {} beyond repair",
                code.link, code.bit_error_rate, code.repaired, code.corrected_bytes, code.damaged
            )?;
        }
        for router in &self.routers {
            let bound = router.bound_to.as_deref().unwrap_or("none");
            writeln!(
                f,
                "router {}: bound to path {bound}, {} packets held",
                router.home_address, router.held_packets
            )?;
            for path in &router.paths {
                writeln!(f, "  path {path}")?;
            }
        }
        if let Some(gateway) = &self.gateway {
            writeln!(
                f,
                "{} connections carried, {} of TCP, {} B in custody",
                gateway.connections, gateway.tcp, gateway.custody_bytes
            )?;
            for (number, words) in [
                (gateway.replaced, "half-open connections replaced"),
                (gateway.strangers, "packets without a connection here"),
                (gateway.refused_datagrams, "datagrams without room"),
            ] {
                if number > 0 {
                    writeln!(f, "{number} {words}")?;
                }
            }
            if gateway.restored_packets + gateway.failed_blocks > 0 {
                writeln!(
                    f,
                    "blocks: {} lost packets restored, {} blocks beyond repair",
                    gateway.restored_packets, gateway.failed_blocks
                )?;
            }
            write!(f, "{}", gateway.custody)?;
        }
        if self.gateway.is_none() {
            let handovers = &self.handovers;
            writeln!(
                f,
                "handovers: {}, the last in {:.3} s, the longest in {:.3} s",
                handovers.completed, handovers.last_s, handovers.longest_s
            )?;
        }
        write!(
            f,
            "packets: {} received, {} sent",
            self.packets.received, self.packets.sent
        )?;
        for (cause, number) in &self.packets.lost {
            write!(f, ", {number} {cause}")?;
        }
        for (reason, number) in &self.rejected {
            write!(f, "\n{number} datagrams not taken: {reason}")?;
        }
        if let Some(CaptureStatus { records, left_out }) = &self.capture {
            write!(
                f,
                "\ncapture: {records} packets and events, of which {left_out} are left out"
            )?;
        }
        Ok(())
    }
}
