//! Metrics in the text format of Prometheus, over HTTP.

use super::control::{Answer, Asker, Command};
use super::status::{CodeStatus, CustodyStatus, PathStatus, RateStatus, Status};
use core::fmt::Write as _;
use core::net::SocketAddr;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Maximum time for a caller.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves metrics at an address, under any path.
///
/// # Errors
/// The address, and the kernel's message.
pub fn serve(address: SocketAddr, asker: Asker) -> Result<(), String> {
    let listener =
        TcpListener::bind(address).map_err(|error| format!("metrics at {address}: {error}"))?;
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            // If a caller fails, there is nobody to report it to.
            let _ = answer(caller, &asker);
        }
    });
    Ok(())
}

fn answer(mut caller: TcpStream, asker: &Asker) -> io::Result<()> {
    caller.set_read_timeout(Some(PATIENCE))?;
    caller.set_write_timeout(Some(PATIENCE))?;
    let mut request = String::new();
    BufReader::new(&caller).read_line(&mut request)?;
    let body = match asker.ask(Command::Status) {
        Answer::Status(status) => text(&status),
        _ => String::new(),
    };
    let length = body.len();
    write!(
        caller,
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Formats the metrics of a state.
pub fn text(status: &Status) -> String {
    let mut out = Lines::default();
    out.one(
        "running_seconds",
        "gauge",
        "Time since the start.",
        &[("", status.running_s)],
    );
    let packets = [
        ("direction=\"in\"", status.packets.received as f64),
        ("direction=\"out\"", status.packets.sent as f64),
    ];
    out.one("packets_total", "counter", "Packets of the node.", &packets);
    let lost: Vec<(String, f64)> = status
        .packets
        .lost
        .iter()
        .map(|(cause, number)| (format!("cause=\"{cause}\""), *number as f64))
        .collect();
    out.one(
        "packets_lost_total",
        "counter",
        "Packets lost, by cause.",
        &lost,
    );
    let rejected: Vec<(String, f64)> = status
        .rejected
        .iter()
        .map(|(reason, number)| (format!("reason=\"{reason}\""), *number as f64))
        .collect();
    out.one(
        "datagrams_rejected_total",
        "counter",
        "Datagrams not taken, by reason.",
        &rejected,
    );
    let handovers = &status.handovers;
    out.one(
        "handovers_total",
        "counter",
        "Completed handovers.",
        &[("", handovers.completed as f64)],
    );
    out.one(
        "handover_seconds_total",
        "counter",
        "Total time of the completed handovers.",
        &[("", handovers.total_s)],
    );
    out.one(
        "handover_seconds_longest",
        "gauge",
        "Time of the longest handover.",
        &[("", handovers.longest_s)],
    );
    let bound = status
        .routers
        .iter()
        .filter(|router| router.bound_to.is_some())
        .count();
    out.one(
        "bindings",
        "gauge",
        "Routers with a binding.",
        &[("", bound as f64)],
    );
    let held: Vec<(String, f64)> = status
        .routers
        .iter()
        .map(|router| {
            (
                format!("router=\"{}\"", router.home_address),
                router.held_packets as f64,
            )
        })
        .collect();
    out.one("held_packets", "gauge", "Packets held for a router.", &held);
    if let Some(gateway) = &status.gateway {
        out.custody(&gateway.custody);
        let gauges = [
            ("connections", "Connections carried.", gateway.connections),
            (
                "tcp_connections",
                "Connections carried of TCP.",
                gateway.tcp,
            ),
            (
                "custody_bytes",
                "Bytes acknowledged to their sender that the other gateway has not acknowledged.",
                gateway.custody_bytes,
            ),
        ];
        for (name, help, value) in gauges {
            out.one(name, "gauge", help, &[("", value as f64)]);
        }
        let counters = [
            (
                "connections_replaced_total",
                "Connections dropped half open, in favour of newer ones.",
                gateway.replaced,
            ),
            (
                "packets_without_connection_total",
                "Packets of the other gateway without a connection here.",
                gateway.strangers,
            ),
            (
                "datagrams_refused_total",
                "Datagrams beyond the buffer or the largest packet.",
                gateway.refused_datagrams,
            ),
        ];
        for (name, help, value) in counters {
            out.one(name, "counter", help, &[("", value as f64)]);
        }
    }
    out.codes(status);
    out.paths(&paths(status));
    out.rates(status);
    out.0
}

/// Returns all paths, each with its labels.
fn paths(status: &Status) -> Vec<(String, &PathStatus)> {
    let uplinks = status
        .uplinks
        .iter()
        .map(|path| (format!("uplink=\"{}\"", path.name), path));
    let of_routers = status.routers.iter().flat_map(|router| {
        let label = |path: &PathStatus| {
            format!("router=\"{}\",path=\"{}\"", router.home_address, path.name)
        };
        router.paths.iter().map(move |path| (label(path), path))
    });
    uplinks.chain(of_routers).collect()
}

/// Lines of the format.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// Writes a metric with its samples, each with labels and a value; skips a metric without samples.
    fn one(&mut self, name: &str, kind: &str, help: &str, samples: &[(impl AsRef<str>, f64)]) {
        if samples.is_empty() {
            return;
        }
        // Writing to a string does not fail.
        let _ = write!(
            self.0,
            "# HELP baton_{name} {help}\n# TYPE baton_{name} {kind}\n"
        );
        for (labels, value) in samples {
            let _ = match labels.as_ref() {
                "" => writeln!(self.0, "baton_{name} {value}"),
                labels => writeln!(self.0, "baton_{name}{{{labels}}} {value}"),
            };
        }
    }

    /// Writes the rates of a gateway's links, and the losses expected.
    fn rates(&mut self, status: &Status) {
        let rated = status.uplinks.iter();
        let rated: Vec<(String, &RateStatus)> = rated
            .filter_map(|path| Some((format!("uplink=\"{}\"", path.name), path.rate.as_ref()?)))
            .collect();
        let samples = |value: &dyn Fn(&RateStatus) -> Option<u64>| -> Vec<(String, f64)> {
            let each = rated.iter();
            each.filter_map(|(label, rate)| Some((label.clone(), value(rate)? as f64)))
                .collect()
        };
        self.one(
            "path_rate_bits_per_second",
            "gauge",
            "Rate in use, with all headers.",
            &samples(&|rate| Some(rate.used_bit_per_s)),
        );
        self.one(
            "path_told_rate_bits_per_second",
            "gauge",
            "Rate told by the configuration, an operator or a modem.",
            &samples(&|rate| rate.told_bit_per_s),
        );
        self.one(
            "path_rate_overruled_total",
            "counter",
            "Times that the link has carried less than half of the rate told.",
            &samples(&|rate| Some(rate.overruled)),
        );
        let leaving: Vec<(String, f64)> = status
            .uplinks
            .iter()
            .map(|path| {
                let is_leaving = status.leaving.contains(&path.name);
                (format!("uplink=\"{}\"", path.name), f64::from(is_leaving))
            })
            .collect();
        self.one(
            "path_leaving",
            "gauge",
            "1 if the path is expected to go down.",
            &leaving,
        );
    }

    /// Writes the counters of codes, across packets and in them.
    fn codes(&mut self, status: &Status) {
        if let Some(gateway) = &status.gateway {
            let repairs = [
                (
                    "restored_packets_total",
                    "Lost packets restored.",
                    gateway.restored_packets,
                ),
                (
                    "failed_blocks_total",
                    "Blocks beyond repair.",
                    gateway.failed_blocks,
                ),
            ];
            for (name, help, value) in repairs {
                self.one(name, "counter", help, &[("", value as f64)]);
            }
        }
        let mut each = |name: &str, kind: &str, help: &str, value: &dyn Fn(&CodeStatus) -> f64| {
            let sample = |code: &CodeStatus| (format!("uplink=\"{}\"", code.link), value(code));
            let samples: Vec<(String, f64)> = status.codes.iter().map(sample).collect();
            self.one(name, kind, help, &samples);
        };
        each(
            "bit_error_rate",
            "gauge",
            "Bit error rate towards this end, by the errors found.",
            &|code| code.bit_error_rate,
        );
        each(
            "repaired_datagrams_total",
            "counter",
            "Damaged datagrams opened after a correction.",
            &|code| code.repaired as f64,
        );
        each(
            "corrected_bytes_total",
            "counter",
            "Bytes corrected in them.",
            &|code| code.corrected_bytes as f64,
        );
    }

    fn custody(&mut self, custody: &CustodyStatus) {
        let mut each = |name: &str, kind: &str, help: &str, value: u64| {
            self.one(name, kind, help, &[("", value as f64)]);
        };
        let help = "Most bytes in custody.";
        each("custody_limit_bytes", "gauge", help, custody.limit);
        let help = "Connections whose window is closed by the bound or the disk.";
        each(
            "custody_closed_windows",
            "gauge",
            help,
            custody.closed_windows,
        );
        let help = "Times that the bound or the disk closed a window.";
        let count = custody.closed_windows_so_far;
        each("custody_closed_windows_total", "counter", help, count);
        let help = "Connections reset because their custody was too old.";
        let count = custody.expired_connections;
        each("custody_expired_total", "counter", help, count);
        if let Some(journal) = &custody.journal {
            let help = "Length of the journal's file.";
            each("journal_bytes", "gauge", help, journal.file_bytes);
            let help = "Durable writes of the journal.";
            each("journal_writes_total", "counter", help, journal.writes);
            let help = "Writes of the journal that failed.";
            let count = journal.failed_writes;
            each("journal_failed_writes_total", "counter", help, count);
        }
    }

    fn paths(&mut self, paths: &[(String, &PathStatus)]) {
        let mut each = |name: &str, help: &str, value: &dyn Fn(&PathStatus) -> f64| {
            let samples: Vec<(&str, f64)> = paths
                .iter()
                .map(|(labels, path)| (labels.as_str(), value(path)))
                .collect();
            self.one(name, "gauge", help, &samples);
        };
        each("path_up", "1 if the path carries packets.", &|path| {
            f64::from(u8::from(path.up))
        });
        each(
            "path_round_trip_seconds",
            "Smoothed round-trip time.",
            &|path| path.round_trip_s.unwrap_or(f64::NAN),
        );
        each(
            "path_loss_out_ratio",
            "Share of outgoing datagrams lost, over ten seconds.",
            &|path| path.loss[0],
        );
        each(
            "path_loss_in_ratio",
            "Share of incoming datagrams lost, over ten seconds.",
            &|path| path.loss[1],
        );
        each(
            "path_sent_bytes_per_second",
            "Bytes of datagrams sent.",
            &|path| path.bytes_per_s[0] as f64,
        );
        each(
            "path_received_bytes_per_second",
            "Bytes of datagrams received.",
            &|path| path.bytes_per_s[1] as f64,
        );
        each("path_packet_mtu_bytes", "Longest packet.", &|path| {
            path.packet_mtu.into()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_written_in_the_format() {
        let (name, remote) = (("wlan0".to_owned(), true), ([192, 0, 2, 1], 4191).into());
        let status = Status {
            uplinks: vec![PathStatus::new(name, remote, 1436)],
            ..Status::default()
        };
        let text = text(&status);
        assert!(
            text.contains("# TYPE baton_path_up gauge\nbaton_path_up{uplink=\"wlan0\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("\nbaton_handovers_total 0\n"), "{text}");
        assert!(!text.contains("held_packets"), "{text}");
        assert!(!text.contains("path_rate"), "{text}");
    }

    #[test]
    fn a_link_has_its_rate_beside_the_one_told() {
        let (name, remote) = (("mast".to_owned(), true), ([192, 0, 2, 1], 4191).into());
        let rate = RateStatus {
            used_bit_per_s: 2_000_000,
            told_bit_per_s: Some(20_000_000),
            overruled: 3,
        };
        let path = PathStatus::new(name, remote, 1436);
        let uplink = PathStatus {
            rate: Some(rate),
            ..path
        };
        assert!(
            uplink
                .to_string()
                .ends_with(", rate 2.000 Mbit/s of 20.000 Mbit/s told, overruled 3 times"),
            "{uplink}"
        );
        let status = Status {
            uplinks: vec![uplink],
            leaving: vec!["mast".to_owned()],
            ..Status::default()
        };
        let text = text(&status);
        for line in [
            "baton_path_rate_bits_per_second{uplink=\"mast\"} 2000000\n",
            "baton_path_told_rate_bits_per_second{uplink=\"mast\"} 20000000\n",
            "baton_path_rate_overruled_total{uplink=\"mast\"} 3\n",
            "baton_path_leaving{uplink=\"mast\"} 1\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
