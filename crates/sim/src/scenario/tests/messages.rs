//! Mistakes and their messages: position, key, what was found, what was expected, the nearest valid name.

use super::*;

/// Replaces the first by the second in [`EXAMPLE`], and what that is answered with.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    (
        r#"duration = "160 s""#,
        "duration = 160 s",
        &["test.toml:4:12: no valid TOML: string values must be quoted, expected literal string"],
    ),
    (
        "seed = 7",
        "seed = 99999999999999999999",
        &["test.toml:5:8: no value that can be held; whole numbers reach from -2^63 to 2^63 - 1"],
    ),
    (
        "[links.gsm]",
        "[links.gsm",
        &["test.toml:23:11: no valid TOML: unclosed table, expected `]`"],
    ),
    (
        "seed = 7",
        "seed = 7\nseed = 8",
        &["test.toml:6:1: no valid TOML: duplicate key"],
    ),
    (
        r#"delay = "1 ms""#,
        r#"dely = "1 ms""#,
        &[
            r#"test.toml:19:1: links.wavelan.dely: unknown key "dely"; did you mean "delay"? (valid: between, kind, mtu, medium_access, preamble, coverage, shapers, policers, rate, delay, jitter, queue, flow_control, retransmission, packet_error_rate, bit_error_rate, burst_loss, damaged, spares, framing, down, up)"#,
        ],
    ),
    (
        "[links.gsm]",
        "[link.gsm]",
        &[
            r#"test.toml:23:2: link: unknown key "link"; did you mean "links"? (valid: format, name, description, duration, seed, links, mobiles, lines, home_agents, foreign_agents, aerotp_gateways, changes, losses, flows, record, live, expect)"#,
        ],
    ),
    (
        r#"mean_bad = "4 s""#,
        r#"mean_worse = "4 s""#,
        &[
            r#"test.toml:21:10: links.wavelan.down.burst_loss: key "mean_bad" is missing; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
            r#"test.toml:21:45: links.wavelan.down.burst_loss.mean_worse: unknown key "mean_worse" (valid: mean_good, mean_bad, loss_good, loss_bad)"#,
        ],
    ),
    (
        r#"duration = "160 s""#,
        "",
        &[
            r#"test.toml:1:1: key "duration" is missing; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#"at = "30 s""#,
        "",
        &[
            r#"test.toml:39:1: changes[1]: key "at" is missing; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""10 Mb""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "10 Mb" is not a data rate; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""10 mbit/s""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "10 mbit/s" is not a data rate (did you mean "10 Mbit/s"?); expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        "10",
        &[
            r#"test.toml:10:8: links.ethernet.rate: 10 has no unit; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""0 bit/s""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "0 bit/s" is below 1 bit/s; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""-1 Mbit/s""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "-1 Mbit/s" is negative; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""2000 Gbit/s""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "2000 Gbit/s" is above 1000 Gbit/s; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""1e400 bit/s""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "1e400 bit/s" is far too large; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""10 Mbit/s""#,
        r#""nan bit/s""#,
        &[
            r#"test.toml:10:8: links.ethernet.rate: "nan bit/s" is not a data rate; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        r#""0.25 ms""#,
        r#""quick""#,
        &[
            r#"test.toml:11:9: links.ethernet.delay: "quick" is not a time; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""0.25 ms""#,
        r#"["1 ms"]"#,
        &[
            r#"test.toml:11:9: links.ethernet.delay: an array does not fit; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""160 s""#,
        r#""0 s""#,
        &[
            r#"test.toml:4:12: duration: "0 s" is zero; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""160 s""#,
        r#""1e30 s""#,
        &[
            r#"test.toml:4:12: duration: "1e30 s" is longer than ten years (3650 d); expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""160 s""#,
        r#""160""#,
        &[
            r#"test.toml:4:12: duration: "160" has no unit; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""100 packets""#,
        r#""0 packets""#,
        &[
            r#"test.toml:12:9: links.ethernet.queue: "0 packets" holds no packet; expected a number of packets or bytes, like "100 packets" or "64 kB", or a table"#,
        ],
    ),
    (
        r#""100 packets""#,
        r#""100""#,
        &[
            r#"test.toml:12:9: links.ethernet.queue: "100" has no unit; expected a number of packets or bytes, like "100 packets" or "64 kB", or a table"#,
        ],
    ),
    (
        r#""100 packets""#,
        "100",
        &[
            r#"test.toml:12:9: links.ethernet.queue: 100 has no unit; expected a number of packets or bytes, like "100 packets" or "64 kB", or a table"#,
        ],
    ),
    (
        "packet_error_rate = 1e-3",
        "packet_error_rate = 1.5",
        &[
            "test.toml:20:47: links.wavelan.up.packet_error_rate: 1.5 is out of range; expected a number from 0 to 1",
        ],
    ),
    (
        "packet_error_rate = 1e-3",
        "packet_error_rate = nan",
        &[
            "test.toml:20:47: links.wavelan.up.packet_error_rate: nan is not a finite number; expected a number from 0 to 1",
        ],
    ),
    (
        "packet_error_rate = 1e-3",
        r#"packet_error_rate = "1e-3""#,
        &[
            r#"test.toml:20:47: links.wavelan.up.packet_error_rate: "1e-3" does not fit; expected a number from 0 to 1"#,
        ],
    ),
    (
        "seed = 7",
        "seed = -7",
        &["test.toml:5:8: seed: -7 is out of range; expected a whole number of at least 0"],
    ),
    (
        r#"name = "wavelan-to-gsm""#,
        r#"name = "../etc""#,
        &[
            r#"test.toml:2:8: name: "../etc" is not a name; expected 1 to 64 letters, digits, "-" and "_", the first a letter or digit"#,
        ],
    ),
    (
        "medium_access = false",
        r#"medium_access = "no""#,
        &[
            r#"test.toml:18:17: links.wavelan.medium_access: "no" does not fit; expected true or false"#,
        ],
    ),
    (
        "packets = false",
        "packets = false\ninterval = \"0 ms\"",
        &[
            r#"test.toml:70:12: record.interval: "0 ms" is zero; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        "packets = false",
        "packets = false\ninterval = \"1 ns\"",
        &[
            "test.toml:70:12: record.interval: would make 160000000000 bins in 160 s; \
             choose a longer record.interval (now 0.000000001 s), or a shorter duration",
        ],
    ),
    (
        r#"kind = "gsm""#,
        r#"kind = "gms""#,
        &[
            r#"test.toml:25:8: links.gsm.kind: unknown kind "gms"; did you mean "gsm"? (valid: wired, geo, wifi, gsm, wifi6, lte, 5g, starlink, trace, ldacs1)"#,
        ],
    ),
    (
        r#"kind = "gsm""#,
        r#"kind = "aeromacs""#,
        &[
            r#"test.toml:25:8: links.gsm.kind: unknown kind "aeromacs" (valid: wired, geo, wifi, gsm, wifi6, lte, 5g, starlink, trace, ldacs1)"#,
        ],
    ),
    (
        r#""linux-2.0.36""#,
        r#""linux-2.0.35""#,
        &[
            r#"test.toml:50:11: flows.download.profile: unknown profile "linux-2.0.35"; did you mean "linux-2.0.36"? (valid: rfc, ns2, linux-2.0.36, linux-6, classic, scps-tp)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#""new-reno""#,
        &[
            r#"test.toml:51:14: flows.download.congestion: unknown congestion "new-reno"; did you mean "newreno"? (valid: reno, newreno, cubic, bbr, westwood, scalable, bic, vegas, hybla)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#""python:mine.Reno""#,
        &[
            r#"test.toml:51:14: flows.download.congestion: "python:mine.Reno" runs only in a scenario that Python runs (baton run, baton.Scenario); here there are reno, newreno, cubic, bbr, westwood, scalable, bic, vegas, hybla"#,
        ],
    ),
    (
        r#""newreno""#,
        r#""python:mine""#,
        &[
            r#"test.toml:51:14: flows.download.congestion: "python:mine" names no class in a module; expected "reno", "newreno", "cubic", "bbr", "westwood", "scalable", "bic", "vegas", "hybla", or "python:module.Class" for one in Python, or a table"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "cubic" }"#,
        &[
            r#"test.toml:51:23: flows.download.congestion.kind: unknown kind "cubic" (valid: westwood, scalable, bic, vegas, hybla)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "bic", alpha = 2 }"#,
        &[
            r#"test.toml:51:30: flows.download.congestion.alpha: "alpha" does not go with kind = "bic" (its own: smallest_increment, largest_increment)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "bic", smallest_increment = 0, largest_increment = 5000 }"#,
        &[
            r#"test.toml:51:51: flows.download.congestion.smallest_increment: 0 is out of range; expected a number from 0.001 to 1000"#,
            r#"test.toml:51:74: flows.download.congestion.largest_increment: 5000 is out of range; expected a number from 0.001 to 1000"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "vegas", alpha = 6 }"#,
        &[
            r#"test.toml:51:1: flows.download.congestion: alpha 6 is above beta 4; expected it to be at most that"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "hybla", reference_rtt = 25 }"#,
        &[
            r#"test.toml:51:48: flows.download.congestion.reference_rtt: 25 has no unit; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""on-off""#,
        r#""onoff""#,
        &[
            r#"test.toml:60:11: flows.voice.traffic: unknown traffic "onoff"; did you mean "on-off"? (valid: bulk, constant, on-off, pages, ping)"#,
        ],
    ),
    (
        r#"state = "down""#,
        r#"state = "off""#,
        &[r#"test.toml:44:9: changes[1].state: unknown state "off" (valid: up, down)"#],
    ),
    (
        r#"delayed_ack = "off""#,
        r#"delayed_ack = "of""#,
        &[
            r#"test.toml:53:49: flows.download.tcp.delayed_ack: "of" is not a time; expected "off", or a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#"burst_loss = "none""#,
        r#"burst_loss = "no""#,
        &[
            r#"test.toml:43:23: changes[1].down.burst_loss: "no" does not fit; expected "none", or a table"#,
        ],
    ),
    (
        r#"from = "server""#,
        r#"from = "sever""#,
        &[
            r#"test.toml:48:8: flows.download.from: unknown node "sever"; did you mean "server"? (valid: server, home-agent, laptop)"#,
        ],
    ),
    (
        r#"to = "server""#,
        r#"to = "laptop""#,
        &[r#"test.toml:58:6: flows.voice.to: the flow goes from "laptop" to itself"#],
    ),
    (
        r#"link = "wavelan""#,
        r#"link = "waveland""#,
        &[
            r#"test.toml:36:8: changes[0].link: unknown link "waveland"; did you mean "wavelan"? (valid: ethernet, wavelan, gsm)"#,
        ],
    ),
    (
        r#"attach = "gsm""#,
        r#"attach = "umts""#,
        &[
            r#"test.toml:30:27: mobiles.laptop.timetable[1].attach: unknown link "umts" (valid: ethernet, wavelan, gsm)"#,
        ],
    ),
    (
        r#"attach = "gsm""#,
        r#"attach = "ethernet""#,
        &[
            r#"test.toml:30:27: mobiles.laptop.timetable[1].attach: link "ethernet" does not end at "laptop" (valid: wavelan, gsm)"#,
        ],
    ),
    (
        "[mobiles.laptop]",
        "[mobiles.labtop]",
        &[
            r#"test.toml:27:10: mobiles.labtop: unknown node "labtop"; did you mean "laptop"? (valid: server, home-agent, laptop)"#,
        ],
    ),
    (
        r#"name = "voice""#,
        r#"name = "download""#,
        &[
            r#"test.toml:56:8: flows.download.name: there is a flow "download" already; expected another name"#,
        ],
    ),
    (
        "[\"home-agent\", \"laptop\"]\nkind = \"gsm\"",
        "[\"laptop\", \"laptop\"]\nkind = \"gsm\"",
        &[r#"test.toml:24:11: links.gsm.between: joins "laptop" to itself; expected two nodes"#],
    ),
    (
        "[\"home-agent\", \"laptop\"]\nkind = \"gsm\"",
        "[\"laptop\"]\nkind = \"gsm\"",
        &["test.toml:24:11: links.gsm.between: holds 1; expected 2 elements"],
    ),
    (
        r#"["server", "home-agent"]"#,
        r#"["server", "away-agent"]"#,
        &[
            r#"test.toml:49:6: flows.download.to: no links lead from "server" to "laptop""#,
            r#"test.toml:58:6: flows.voice.to: no links lead from "laptop" to "server""#,
        ],
    ),
    (
        r#"at = "0 s""#,
        r#"at = "1 s""#,
        &[
            r#"test.toml:29:10: mobiles.laptop.timetable[0].at: the first entry says where the mobile starts; expected "0 s""#,
        ],
    ),
    (
        r#"at = "1 min""#,
        r#"at = "12 s""#,
        &[
            r#"test.toml:31:10: mobiles.laptop.timetable[2].at: is not after the entry before it, at "12 s""#,
        ],
    ),
    (
        r#"handover = "soft", overlap = "5 s""#,
        r#"handover = "hard", outage = "50 s""#,
        &[
            r#"test.toml:31:10: mobiles.laptop.timetable[2].at: may begin at "60 s", but the handover before it lasts until "62 s"; expected a later time, or a shorter outage or jitter"#,
        ],
    ),
    (
        r#"handover = "soft", overlap = "5 s""#,
        r#"handover = "hard", overlap = "5 s""#,
        &[
            r#"test.toml:30:53: mobiles.laptop.timetable[1].overlap: "overlap" does not go with a hard handover (its own: jitter, handover, outage, old_queue, announced)"#,
        ],
    ),
    (
        r#"handover = "soft", overlap = "5 s""#,
        r#"outage = "5 s""#,
        &[
            r#"test.toml:30:34: mobiles.laptop.timetable[1].outage: "outage" does not go with a soft handover (its own: jitter, handover, overlap, outgoing_after, old_queue, announced)"#,
        ],
    ),
    (
        r#"old_queue = "keep""#,
        r#"old_queue = "deliver""#,
        &[
            r#"test.toml:31:86: mobiles.laptop.timetable[2].old_queue: does not go with a hard handover; expected "discard", "reroute" or "keep""#,
        ],
    ),
    (
        r#"attach = "gsm""#,
        r#"attach = "wavelan""#,
        &[r#"test.toml:30:27: mobiles.laptop.timetable[1].attach: already attached to "wavelan""#],
    ),
    (
        "timetable = [",
        "failback = { prefer = [\"gsm\"] }\ntimetable = [",
        &[
            "test.toml:28:1: mobiles.laptop.failback: stands beside a timetable; expected one of them",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"gsm\"\nmedium_access = false",
        &[
            r#"test.toml:26:1: links.gsm.medium_access: "medium_access" does not go with this kind of link; only kind = "wifi" has it"#,
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"gsm\"\ndown = { csv = \"x.csv\" }",
        &[
            r#"test.toml:26:10: links.gsm.down.csv: "csv" does not go with this kind of link; expected kind = "trace""#,
        ],
    ),
    (
        r#"kind = "gsm""#,
        r#"kind = "trace""#,
        &[
            "test.toml:23:8: links.gsm.down: has neither a recorded rate nor a rate; expected mahimahi, bandwidth, a csv with rate_bps, or rate",
            "test.toml:23:8: links.gsm.up: has neither a recorded rate nor a rate; expected mahimahi, bandwidth, a csv with rate_bps, or rate",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"trace\"\nmahimahi = \"missing.down\"",
        &[
            "test.toml:26:12: links.gsm.mahimahi: trace missing.down: cannot be read: No such file or directory (os error 2)",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"trace\"\nrate = \"1 Mbit/s\"\nstart = \"random\"",
        &[
            "test.toml:27:1: links.gsm.start: there is no recording that could begin there; expected kind = \"trace\" with mahimahi, bandwidth or csv",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"trace\"\nbandwidth = \"x.bw\"\nrate = \"1 Mbit/s\"",
        &[
            "test.toml:26:13: links.gsm.bandwidth: trace x.bw: cannot be read: No such file or directory (os error 2)",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"gsm\"\nmtu = \"60 B\"",
        &["test.toml:26:7: links.gsm.mtu: 60 B is not an MTU; expected 68 B to 65535 B"],
    ),
    (
        r#"management = "codel""#,
        r#"management = "codel", weight = 0.1"#,
        &[
            r#"test.toml:21:114: links.wavelan.down.queue.weight: "weight" does not go with management = "codel" (its own: target, interval)"#,
        ],
    ),
    (
        r#"management = "codel""#,
        r#"management = "priority", target = "1 ms""#,
        &[
            r#"test.toml:21:117: links.wavelan.down.queue.target: "target" does not go with management = "priority""#,
        ],
    ),
    (
        r#"management = "codel""#,
        r#"management = "red", minimum_threshold = 20"#,
        &[
            "test.toml:21:65: links.wavelan.down.queue.maximum_threshold: maximum_threshold 15 is not above minimum_threshold 20",
        ],
    ),
    (
        r#"management = "codel""#,
        r#"management = "pie", update_interval = "999 us""#,
        &[
            "test.toml:21:130: links.wavelan.down.queue.update_interval: is shorter than 1 ms, which takes too many updates; expected 1 ms or more",
        ],
    ),
    (
        r#"bytes = "110 kB""#,
        r#"page = "110 kB""#,
        &[
            r#"test.toml:52:1: flows.download.page: "page" does not go with traffic = "bulk" (its own: bytes)"#,
        ],
    ),
    (
        r#"transport = "udp""#,
        "transport = \"udp\"\ncode_point = 64",
        &[
            "test.toml:60:14: flows.voice.code_point: 64 is out of range; expected a whole number from 0 to 63",
        ],
    ),
    (
        r#"transport = "udp""#,
        "transport = \"aerotp\"\ncode_point = 46",
        &[
            r#"test.toml:60:14: flows.voice.code_point: a flow over "aerotp" has the code point of its class; expected aerotp = { class = 0 } to 7"#,
        ],
    ),
    (
        r#"traffic = "on-off""#,
        r#"traffic = "bulk""#,
        &[
            r#"test.toml:59:13: flows.voice.transport: bulk and pages need a connection, as "tcp" and "quic" have; over "udp" go constant, on-off and ping"#,
            r#"test.toml:61:1: flows.voice.rate: "rate" does not go with traffic = "bulk" (its own: bytes)"#,
            r#"test.toml:62:1: flows.voice.packet_size: "packet_size" does not go with traffic = "bulk" (its own: bytes)"#,
            r#"test.toml:63:1: flows.voice.on: "on" does not go with traffic = "bulk" (its own: bytes)"#,
            r#"test.toml:64:1: flows.voice.off: "off" does not go with traffic = "bulk" (its own: bytes)"#,
        ],
    ),
    (
        "on = \"1 s\"\n",
        "",
        &[r#"test.toml:55:1: flows.voice: key "on" is missing; traffic = "on-off" needs it"#],
    ),
    (
        r#"traffic = "on-off""#,
        "congestion = \"reno\"\ntraffic = \"on-off\"",
        &[
            r#"test.toml:60:1: flows.voice.congestion: "congestion" does not go with transport = "udp""#,
        ],
    ),
    (
        r#"packet_size = "160 B""#,
        r#"packet_size = "1500 B""#,
        &[
            "test.toml:62:15: flows.voice.packet_size: 1500 B and 28 B of headers fit no MTU (largest 1500 B); expected at most 1472 B",
        ],
    ),
    (
        r#"stop = "100 s""#,
        r#"stop = "1 s""#,
        &[r#"test.toml:66:8: flows.voice.stop: is not after the start at "2 s""#],
    ),
    (
        r#"maximum_segment_size = "1420 B""#,
        r#"maximum_segment_size = "1 MB""#,
        &[
            "test.toml:53:90: flows.download.tcp.sender.maximum_segment_size: 1000000 B is out of range; expected 64 B to 65495 B",
        ],
    ),
    (
        r#"delayed_ack = "off""#,
        r#"minimum_rto = "90 s", maximum_rto = "60 s""#,
        &["test.toml:53:1: flows.download.tcp: minimum_rto 90 s is above maximum_rto 60 s"],
    ),
    (
        "on = \"1 s\"\noff = \"1.35 s\"",
        "on = \"1 ns\"\noff = \"0 s\"",
        &[
            "test.toml:63:6: flows.voice.on: would pause 98000000000 times in 98 s; choose longer times",
        ],
    ),
    (
        "rate = \"64 kbit/s\"\npacket_size = \"160 B\"",
        "rate = \"1000 Gbit/s\"\npacket_size = \"1 B\"",
        &[
            "test.toml:61:8: flows.voice.rate: would make 98000000000 packets in 98 s; expected at most 10000000000",
        ],
    ),
    (
        r#"mean_good = "10 s", mean_bad = "4 s""#,
        r#"mean_good = "1 ns", mean_bad = "1 ns""#,
        &[
            "test.toml:21:10: links.wavelan.down.burst_loss: would change its state 80000000000 times until 160 s; choose longer stays",
        ],
    ),
    (
        "seed = 7",
        r#"expect = ["flows.download.longest_stall_s"]"#,
        &[
            r#"test.toml:5:11: expect[0]: "flows.download.longest_stall_s" is no expectation; expected <path> <operator> <number>, like "flows.download.longest_stall_s < 30""#,
        ],
    ),
    (
        "seed = 7",
        r#"expect = ["flows.donwload.longest_stall_s < 2"]"#,
        &[
            r#"test.toml:5:11: expect[0]: unknown flow "donwload"; did you mean "download"? (valid: download, voice)"#,
        ],
    ),
    (
        "seed = 7",
        r#"expect = ["x < 2 s"]"#,
        &[
            r#"test.toml:5:11: expect[0]: "x < 2 s" is no expectation; expected <path> <operator> <number>, like "flows.download.longest_stall_s < 30""#,
        ],
    ),
    (
        "[record]",
        "[live]\nhosts = [\"server\", \"labtop\", \"server\"]\n[record]",
        &[
            r#"test.toml:69:20: live.hosts[1]: unknown node "labtop"; did you mean "laptop"? (valid: server, home-agent, laptop)"#,
            r#"test.toml:69:30: live.hosts[2]: "server" stands here twice"#,
        ],
    ),
    (
        "[record]",
        "[live]\nhosts = []\n[record]",
        &["test.toml:69:9: live.hosts: holds 0; expected at least 1 elements"],
    ),
    (
        "[record]",
        "[live]\naddress = \"old\"\nsample_interval = \"100 us\"\n[record]",
        &[r#"test.toml:69:11: live.address: unknown address "old" (valid: kept, new)"#],
    ),
    (
        "[record]",
        "[live]\nsample_interval = \"100 us\"\nlateness_bound = \"1\"\n[record]",
        &[
            r#"test.toml:70:18: live.lateness_bound: "1" has no unit; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        "[record]",
        "[live]\nsample_interval = \"100 us\"\n[record]",
        &[
            r#"test.toml:69:19: live.sample_interval: 0.0001 s is too short; expected at least "1 ms""#,
        ],
    ),
];

/// Arguments of `--set`, and what they are answered with.
const SETS: &[(&str, &str)] = &[
    (
        "links.satelite.rate=1 Mbit/s",
        r#"--set links.satelite.rate=1 Mbit/s: links.satelite.rate: unknown link "satelite" (valid: ethernet, wavelan, gsm)"#,
    ),
    (
        "flows.donwload.bytes=1 kB",
        r#"--set flows.donwload.bytes=1 kB: flows.donwload.bytes: unknown flow "donwload"; did you mean "download"? (valid: download, voice)"#,
    ),
    (
        "flows.download.byts=1 kB",
        r#"--set flows.download.byts=1 kB: flows.download.byts: unknown key "byts"; did you mean "bytes"? (valid: name, from, to, transport, profile, congestion, tcp, aerotp, quic, remedies, code_point, priority, acknowledged, copies, class, traffic, start, start_jitter, stop, bytes, rate, packet_size, on, off, random, request, page, think_time, count, interval, size)"#,
    ),
    (
        "links.gsm.rate=fast",
        r#"--set links.gsm.rate=fast: links.gsm.rate: "fast" is not a data rate; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
    ),
    (
        "seed.x=1",
        r#"--set seed.x=1: seed.x: "seed" is no table that could hold "x""#,
    ),
    (
        "changes.7.at=1 s",
        r#"--set changes.7.at=1 s: changes.7.at: unknown change "7" (valid: 0, 1)"#,
    ),
    (
        "mobiles.lap.x=1",
        r#"--set mobiles.lap.x=1: mobiles.lap.x: unknown mobile "lap" (valid: laptop)"#,
    ),
    (
        "fows.download.bytes=1 kB",
        r#"--set fows.download.bytes=1 kB: fows: unknown key "fows"; did you mean "flows"? (valid: format, name, description, duration, seed, links, mobiles, lines, home_agents, foreign_agents, aerotp_gateways, changes, losses, flows, record, live, expect)"#,
    ),
    (
        "",
        "--set : expected key=value, like flows.download.congestion=cubic",
    ),
    (
        "x",
        "--set x: expected key=value, like flows.download.congestion=cubic",
    ),
    (
        "a..b=1",
        r#"--set a..b=1: a: unknown key "a" (valid: format, name, description, duration, seed, links, mobiles, lines, home_agents, foreign_agents, aerotp_gateways, changes, losses, flows, record, live, expect)"#,
    ),
];

#[test]
fn every_mistake_is_named_and_placed() {
    for (from, to, expected) in CASES {
        assert!(EXAMPLE.contains(from), "{from} is not in the example");
        let text = EXAMPLE.replacen(from, to, 1);
        let Err(error) = parse(&text, "test.toml", Path::new(""), &[]) else {
            panic!("{to} is accepted");
        };
        assert_eq!(error.to_string(), expected.join("\n"), "{from} -> {to}");
    }
}

#[test]
fn a_key_can_be_taken_out() {
    let set = |arguments: &[&str]| {
        let changes: Vec<Override> = arguments.iter().map(|text| text.parse().unwrap()).collect();
        parse(EXAMPLE, "test.toml", Path::new(""), &changes)
    };
    // Hard to soft: a soft handover has no outage.
    let soft = "mobiles.laptop.timetable.2.handover=soft";
    let refused = set(&[soft]).expect_err("outage").to_string();
    assert!(
        refused.contains(r#""outage" does not go with"#),
        "{refused}"
    );
    let taken_out = "mobiles.laptop.timetable.2.outage=@unset";
    let kept = "mobiles.laptop.timetable.2.old_queue=@unset";
    let loaded = set(&[soft, taken_out, kept]).expect("a soft handover");
    assert!(!loaded.resolved.contains("outage"), "{}", loaded.resolved);
    let AttachmentPolicy::Timetable(entries) = &loaded.scenario.mobiles[0].attachment else {
        panic!("no timetable");
    };
    assert!(matches!(entries[2].handover, Handover::Soft { .. }));
    // In quotes it is the same, and what is set later is there again.
    let again = "mobiles.laptop.timetable.2.outage=3 s";
    let quoted = r#"mobiles.laptop.timetable.2.outage="@unset""#;
    assert!(set(&[quoted, again]).is_ok());
    let message = |argument| set(&[argument]).expect_err("refused").to_string();
    assert_eq!(
        message("mobiles.laptop.timetable.2.outag=@unset"),
        "--set mobiles.laptop.timetable.2.outag=@unset: mobiles.laptop.timetable.2.outag: \"outag\" is not set, so that \
         @unset takes nothing out; did you mean \"outage\"? (set: at, attach, handover, outage, old_queue)"
    );
    assert_eq!(
        message("flows.voice=@unset"),
        "--set flows.voice=@unset: flows.voice: is an element of a list, which @unset does not take out; set flows as a whole"
    );
    assert!(message("links.gsm.kind=@unset").contains("key \"kind\" is missing"));
}

#[test]
fn a_long_value_is_cut_in_a_message() {
    let argument = format!("duration={}", "9".repeat(70_000));
    let change: Override = argument.parse().unwrap();
    let error = parse(EXAMPLE, "test.toml", Path::new(""), &[change]).expect_err("no time");
    assert!(error.to_string().len() < 500, "{}", error.to_string().len());
}

#[test]
fn mistakes_on_the_command_line_name_it() {
    for (argument, expected) in SETS {
        let change = argument.parse();
        let result =
            change.and_then(|change| parse(EXAMPLE, "test.toml", Path::new(""), &[change]));
        match result {
            Ok(_) => panic!("--set {argument} is accepted"),
            Err(error) => assert_eq!(error.to_string(), *expected),
        }
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = EXAMPLE
        .replace("kind = \"gsm\"", "kind = \"gms\"")
        .replace("duration", "durration")
        .replace("\"10 Mbit/s\"", "\"10 Mb\"");
    let error = parse(&text, "test.toml", Path::new(""), &[]).expect_err("three mistakes");
    let keys: Vec<&str> = error
        .diagnostics
        .iter()
        .map(|one| one.key.as_str())
        .collect();
    assert_eq!(
        keys,
        ["", "durration", "links.ethernet.rate", "links.gsm.kind"]
    );
}

#[test]
fn jitter_counts_in_a_timetable() {
    let text = EXAMPLE.replace("at = \"1 min\"", "at = \"1 min\", jitter = \"50 s\"");
    let error = parse(&text, "test.toml", Path::new(""), &[]).expect_err("10 s is before 12 s");
    assert_eq!(
        error.to_string(),
        "test.toml:31:10: mobiles.laptop.timetable[2].at: may begin at \"10 s\", but the handover before it lasts \
         until \"12 s\"; expected a later time, or a shorter outage or jitter"
    );
}

#[test]
fn a_run_that_would_never_end() {
    let overrides = [
        set("duration=3650 d"),
        set("links.gsm.rate=1000 Gbit/s"),
        set("links.ethernet.rate=1000 Gbit/s"),
    ];
    let error = parse(EXAMPLE, "test.toml", Path::new(""), &overrides).expect_err("never ends");
    let keys: Vec<&str> = error
        .diagnostics
        .iter()
        .map(|one| one.key.as_str())
        .collect();
    // The interval of the series is the default: the duration is what makes too many of them.
    assert_eq!(keys, ["duration", "flows.download"]);
}

#[test]
fn thousands_of_mistakes_are_told_in_a_few_lines_and_at_once() {
    let syntax = parse(
        "]\n".repeat(1_000_000).as_str(),
        "test.toml",
        Path::new(""),
        &[],
    );
    assert_eq!(syntax.expect_err("no TOML").diagnostics.len(), 20);
    let text = format!("{EXAMPLE}{}", "[[flows]]\nnme = 1\n".repeat(1000));
    let keys = parse(&text, "test.toml", Path::new(""), &[]).expect_err("no flows");
    let lines: Vec<String> = keys.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 51);
    assert_eq!(lines[50], "and 3950 more");
}

/// Units against their definitions.
#[test]
fn units() {
    let times = [
        ("7 ns", 7),
        ("7 us", 7_000),
        ("7 µs", 7_000),
        ("0.25 ms", 250_000),
        ("1.5s", 1_500_000_000),
        ("1e-3 s", 1_000_000),
        ("2 min", 120_000_000_000),
        ("1 h", 3_600_000_000_000),
        ("3650 d", 315_360_000_000_000_000),
        ("0 s", 0),
    ];
    for (text, nanoseconds) in times {
        assert_eq!(
            units::time(text).map(Duration::as_nanos),
            Ok(nanoseconds),
            "{text}"
        );
    }
    let rates = [
        ("1 bit/s", 1),
        ("9.6 kbit/s", 9_600),
        ("5.5 Mbit/s", 5_500_000),
        ("10 Gbit/s", 10_000_000_000),
    ];
    for (text, bits) in rates {
        let rate = units::Rate::try_from(text.to_owned()).map(|rate| rate.0.bits_per_second());
        assert_eq!(rate, Ok(bits), "{text}");
    }
    let sizes = [
        ("1 B", 1),
        ("110 kB", 110_000),
        ("1.5 MB", 1_500_000),
        ("2 GB", 2_000_000_000),
        ("64 KiB", 65_536),
        ("1 MiB", 1_048_576),
    ];
    for (text, bytes) in sizes {
        let size = units::Size::try_from(text.to_owned()).map(|size| size.0);
        assert_eq!(size, Ok(bytes), "{text}");
    }
    let queues = [
        ("1 packet", QueueLimit::Packets(1)),
        ("100 packets", QueueLimit::Packets(100)),
        ("64 kB", QueueLimit::Bytes(64_000)),
    ];
    for (text, limit) in queues {
        let queue = units::QueueSize::try_from(text.to_owned()).map(|queue| queue.0);
        assert_eq!(queue, Ok(limit), "{text}");
    }
}

/// A laptop with a mobility protocol, with these keys of its home agent and of its protocol.
fn mobile(agent: &str, keys: &str) -> String {
    format!(
        "name = \"test\"\nduration = \"9 s\"\n\
         links.lan = {{ between = [\"agent\", \"laptop\"], kind = \"wired\" }}\n\
         links.modem = {{ between = [\"router\", \"laptop\"], kind = \"gsm\" }}\n\
         links.wire = {{ between = [\"router\", \"agent\"], kind = \"wired\" }}\n\
         home_agents.agent = {{ {agent} }}\n\
         [mobiles.laptop]\n\
         timetable = [{{ at = \"0 s\", attach = \"lan\" }}, {{ at = \"4 s\", attach = \"modem\" }}]\n\
         mobility = {{ {keys} }}\n"
    )
}

#[test]
fn mistakes_in_mobile_ipv6_are_told() {
    let (prefix, protocol) = (
        r#"prefix = "2001:db8:1::/64""#,
        r#"protocol = "mobile-ipv6", home_agent = "agent""#,
    );
    let right = mobile(prefix, protocol);
    assert!(parse(&right, "test.toml", Path::new("."), &[]).is_ok());
    let cases = [
        (
            mobile("", protocol),
            "home_agents.agent: key \"prefix\" is missing; expected an IPv6 prefix of at most 64 bits, like \"2001:db8:1::/64\"",
        ),
        (
            mobile(r#"prefix = "2001:db8:1::1/64""#, protocol),
            "has bits behind its length",
        ),
        (
            mobile(
                &format!("{prefix}, bicasting = \"1 s\", buffering = {{}}"),
                protocol,
            ),
            "home_agents.agent.bicasting: stands beside buffering; expected one of them",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, multicast_buffering = {{}}, access_router_buffering = {{}}"),
            ),
            "mobility.multicast_buffering: stands beside access_router_buffering; expected one of them",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, multicast_buffering = {{}}, route_optimization = true"),
            ),
            "mobility.multicast_buffering: needs the home agent, which `route_optimization = true` goes around",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, multicast_buffering = {{ overflow = \"drop-newest\" }}"),
            ),
            "mobility.multicast_buffering.overflow",
        ),
        (
            right.replace("home_agent = \"agent\"", "home_agent = \"agnet\""),
            "mobiles.laptop.mobility.home_agent: unknown home agent \"agnet\"; did you mean \"agent\"? (valid: agent)",
        ),
        (
            mobile(prefix, &format!("{protocol}, home_link = \"modem\"")),
            "link \"modem\" does not join \"laptop\" with its home agent \"agent\"; expected one that does",
        ),
        (
            right.replace(
                "attach = \"modem\"",
                "attach = \"modem\", outgoing_after = \"1 s\"",
            ),
            "outgoing_after: does not go with mobility, whose registration says when; expected one of them",
        ),
        (
            mobile(prefix, r#"protocol = "nemo", home_agent = "agent""#),
            "key \"network_prefix\" is missing; expected the prefix of the network behind a mobile router",
        ),
        (
            right.replace(
                "[mobiles.laptop]",
                "home_agents.router = { prefix = \"2001:db8:1::/64\" }\n[mobiles.laptop]",
            ),
            "home_agents.router.prefix: overlaps with the prefix of \"agent\"; expected another, since addresses are made of it",
        ),
        (
            mobile(r#"prefix = "fd62:6174:6f6e::/64""#, protocol),
            "home_agents.agent.prefix: holds addresses of nodes, fd62:6174:6f6e::1 to fd62:6174:6f6e::3; expected another, since no two have one address",
        ),
        (
            mobile(r#"prefix = "fd62:6174:6f6e:8002::/64""#, protocol),
            "home_agents.agent.prefix: holds addresses of access links, fd62:6174:6f6e:8000:: to fd62:6174:6f6e:8002:ffff:ffff:ffff:ffff; expected another",
        ),
        (
            mobile(
                prefix,
                r#"protocol = "nemo", home_agent = "agent", network_prefix = "fd62:6174:6f6e:8000::/63""#,
            ),
            "mobiles.laptop.mobility.network_prefix: holds addresses of access links, fd62:6174:6f6e:8000:: to",
        ),
        (
            mobile(
                prefix,
                r#"protocol = "nemo", home_agent = "agent", network_prefix = "2001:db8::/47""#,
            ),
            "mobiles.laptop.mobility.network_prefix: is the prefix of another network; expected one of its own",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, mih = {{ point_of_service = \"ruter\" }}"),
            ),
            "mobiles.laptop.mobility.mih.point_of_service: unknown node \"ruter\"; did you mean \"router\"?",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, mih = {{ point_of_service = \"laptop\" }}"),
            ),
            "mobiles.laptop.mobility.mih.point_of_service: \"laptop\" is a mobile; expected a node that does not move",
        ),
        (
            mobile(prefix, "mih = { point_of_service = \"router\" }"),
            "mobiles.laptop.mobility: key \"protocol\" is missing",
        ),
        (
            right.replace(MODEM, &format!("{MODEM}, announced = \"5 s\"")),
            "timetable[1].announced: is longer than the link is in use for; expected at most \"4 s\"",
        ),
        (
            right.replace("attach = \"lan\"", "attach = \"lan\", announced = \"1 s\""),
            "\"announced\" does not go with the first entry, which leaves no link",
        ),
        (
            mobile(
                prefix,
                r#"protocol = "nemo", home_agent = "agent", network_prefix = "2001:db8:2::/64""#,
            )
            .replace("home_agents.agent", SPARE),
            "mobiles.laptop: the network behind \"laptop\" leads to \"router\", which is outside; expected every link of \"laptop\" that leads there in its timetable or `prefer`",
        ),
    ];
    assert_messages(&cases);
}

fn assert_messages(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let error = parse(text, "test.toml", Path::new("."), &[]).err();
        let message = error.expect("a mistake").to_string();
        assert!(
            message.contains(expected),
            "{message}\nexpected: {expected}"
        );
    }
}

#[test]
fn mistakes_in_mobile_ipv4_are_told() {
    let (prefix, protocol) = (
        r#"prefix = "192.0.2.0/24""#,
        r#"protocol = "mobile-ipv4", home_agent = "agent""#,
    );
    let with = |keys: &str| mobile(prefix, &format!("{protocol}, {keys}"));
    let beside = |agents: &str| {
        mobile(prefix, protocol).replace("[mobiles.laptop]", &format!("{agents}\n[mobiles.laptop]"))
    };
    let right = beside("foreign_agents = { router = { gateway = \"agent\" }, agent = {} }");
    let all = r#"home_link = "lan", care_of_address = "foreign-agent", delivery = "reverse-tunnel", lifetime = "10 min",
        simultaneous_bindings = true, smooth_handoff = true,
        policy = [{ to = "router", port = 80, delivery = "care-of-address" }]"#;
    let right = right.replace(protocol, &format!("{protocol}, {}", all.replace('\n', " ")));
    let loaded = parse(&right, "test.toml", Path::new("."), &[]);
    assert!(
        loaded.is_ok(),
        "{}",
        loaded
            .err()
            .map_or(String::new(), |error| error.to_string())
    );
    let cases = [
        (
            mobile(r#"prefix = "192.0.2.0/31""#, protocol),
            "home_agents.agent.prefix: \"192.0.2.0/31\" \"31\" is no length of a prefix from 1 to 30; expected an IPv6 prefix of at most 64 bits, like \"2001:db8:1::/64\", or an IPv4 prefix of at most 30 bits, like \"192.0.2.0/24\"",
        ),
        (
            mobile(r#"prefix = "127.0.0.0/24""#, protocol),
            "home_agents.agent.prefix: \"127.0.0.0/24\" holds no addresses that a host can be reached by; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "224.0.0.0/24""#, protocol),
            "home_agents.agent.prefix: \"224.0.0.0/24\" holds no addresses that a host can be reached by; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "ff02::/64""#, protocol),
            "home_agents.agent.prefix: \"ff02::/64\" holds no addresses that a host can be reached by; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "fe80::/64""#, protocol),
            "home_agents.agent.prefix: \"fe80::/64\" holds no addresses that a host can be reached by; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "10.0.0.0/16""#, protocol),
            "home_agents.agent.prefix: holds addresses of nodes, 10.0.0.1 to 10.0.0.3; expected another, since no two have one address",
        ),
        (
            mobile(r#"prefix = "172.16.2.128/25""#, protocol),
            "holds addresses of access links, 172.16.0.0 to 172.16.2.255; expected another",
        ),
        (
            mobile(r#"prefix = "192.0.2.0/30""#, protocol).replace(
                "[mobiles.laptop]",
                "mobiles.agent = { timetable = [{ at = \"0 s\", attach = \"lan\" }] }\n[mobiles.laptop]",
            ),
            "mobiles.laptop.mobility.home_agent: has no address left in 192.0.2.0/30; expected a shorter prefix there",
        ),
        (
            beside("home_agents.router = { prefix = \"192.0.0.0/16\" }"),
            "home_agents.router.prefix: overlaps with the prefix of \"agent\"; expected another, since addresses are made of it",
        ),
        (
            mobile(&format!("{prefix}, bicasting = \"1 s\""), protocol),
            "home_agents.agent.bicasting: \"bicasting\" does not go with an IPv4 prefix (its own: prefix, longest_lifetime)",
        ),
        (
            mobile(prefix, r#"protocol = "mobile-ipv6", home_agent = "agent""#),
            "mobiles.laptop.mobility.home_agent: \"agent\" has an IPv4 prefix; expected a home agent with an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "2001:db8:1::/64""#, protocol),
            "mobiles.laptop.mobility.home_agent: \"agent\" has an IPv6 prefix; expected a home agent with an IPv4 prefix",
        ),
        (
            with("route_optimization = true"),
            "\"route_optimization\" does not go with protocol \"mobile-ipv4\" (its own: care_of_address, conflict_check, delivery, policy, simultaneous_bindings, smooth_handoff)",
        ),
        (
            mobile(
                r#"prefix = "2001:db8:1::/64""#,
                r#"protocol = "nemo", home_agent = "agent", delivery = "triangle""#,
            ),
            "\"delivery\" does not go with protocol \"nemo\"",
        ),
        (
            with("conflict_check = \"background\""),
            "mobiles.laptop.mobility.conflict_check: is made of addresses that are asked for; expected `care_of_address = \"dhcp\"` beside it",
        ),
        (
            with("smooth_handoff = true"),
            "mobiles.laptop.mobility.smooth_handoff: is what a foreign agent does for a mobile that leaves it",
        ),
        (
            with("lifetime = \"20 h\""),
            "mobiles.laptop.mobility.lifetime: is no lifetime of a registration; expected \"1 s\" to \"65534 s\"",
        ),
        (
            with("policy = [{ delivery = \"triangle\" }]"),
            "mobiles.laptop.mobility.policy[0]: names no packets; expected \"to\", \"port\" or both",
        ),
        (
            with("policy = [{ to = \"rooter\", delivery = \"triangle\" }]"),
            "mobiles.laptop.mobility.policy[0].to: unknown node \"rooter\"; did you mean \"router\"?",
        ),
        (
            with("policy = [{ port = 70000, delivery = \"triangle\" }]"),
            "mobiles.laptop.mobility.policy[0].port: 70000 is out of range; expected a whole number from 0 to 65535",
        ),
        (
            beside("foreign_agents.rooter = {}"),
            "foreign_agents.rooter: unknown node \"rooter\"; did you mean \"router\"?",
        ),
        (
            beside("foreign_agents.router = { gateway = \"agent\" }"),
            "foreign_agents.router.gateway: unknown foreign agent \"agent\" (valid: router)",
        ),
        (
            beside("foreign_agents = { router = { gateway = \"agent\" }, agent = { gateway = \"router\" } }"),
            "foreign_agents.router.gateway: \"agent\" stands below a gateway itself; expected a foreign agent without one",
        ),
    ];
    assert_messages(&cases);
}

/// Each speaks one version of IP.
#[test]
fn a_flow_between_the_versions_is_a_mistake() {
    let text = mobile(
        r#"prefix = "192.0.2.0/24""#,
        r#"protocol = "mobile-ipv4", home_agent = "agent""#,
    );
    let other = "home_agents.router = { prefix = \"2001:db8:1::/64\" }\n\
         links.cell = { between = [\"router\", \"aircraft\"], kind = \"wired\" }\n\
         [mobiles.aircraft]\n\
         timetable = [{ at = \"0 s\", attach = \"cell\" }]\n\
         mobility = { protocol = \"mobile-ipv6\", home_agent = \"router\" }\n\
         [[flows]]\nname = \"talk\"\nfrom = \"aircraft\"\nto = \"laptop\"\n\
         [mobiles.laptop]";
    let expected = "flows.talk: joins a mobile with Mobile IPv4 to one with Mobile IPv6; expected ends that speak one version of IP";
    assert_messages(&[(text.replace("[mobiles.laptop]", other), expected)]);
}

const MODEM: &str = "attach = \"modem\"";
/// A link more between the laptop and its router, in front of the home agent's key.
const SPARE: &str =
    "links.spare = { between = [\"router\", \"laptop\"], kind = \"wired\" }\nhome_agents.agent";

#[test]
fn a_link_that_a_mobile_never_uses_is_a_warning() {
    let keys = r#"protocol = "mobile-ipv6", home_agent = "agent""#;
    let text = mobile(r#"prefix = "2001:db8:1::/64""#, keys).replace("home_agents.agent", SPARE);
    let loaded = parse(&text, "test.toml", Path::new("."), &[]).expect("valid");
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    let expected =
        "mobiles.laptop: link \"spare\" is never used: \"laptop\" attaches to it nowhere";
    assert!(warnings[0].contains(expected), "{}", warnings[0]);
}
