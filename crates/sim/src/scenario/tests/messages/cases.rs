//! Mistakes in the example and on the command line, with their messages.

/// Replacements of the first by the second in the example, and the resulting messages.
pub(super) type Case = (&'static str, &'static str, &'static [&'static str]);

pub(super) const CASES: &[Case] = &[
    (
        r#"duration = "160 s""#,
        "duration = 160 s",
        &["test.toml:4:12: not valid TOML: string values must be quoted, expected literal string"],
    ),
    (
        "seed = 7",
        "seed = 99999999999999999999",
        &["test.toml:5:8: integer out of range; expected -2^63 to 2^63 - 1"],
    ),
    (
        "[links.gsm]",
        "[links.gsm",
        &["test.toml:23:11: not valid TOML: unclosed table, expected `]`"],
    ),
    (
        "seed = 7",
        "seed = 7\nseed = 8",
        &["test.toml:6:1: not valid TOML: duplicate key"],
    ),
    (
        r#"delay = "1 ms""#,
        r#"dely = "1 ms""#,
        &[
            r#"test.toml:19:1: links.wavelan.dely: unknown key "dely"; did you mean "delay"? (valid: kind, between, mtu, ingress_filter, shapers, policers, rate, delay, jitter, queue, flow_control, retransmission, packet_error_rate, bit_error_rate, burst_loss, coding, damaged, spares, framing, down, up, medium_access, preamble, coverage)"#,
        ],
    ),
    (
        "[links.gsm]",
        "[link.gsm]",
        &[
            r#"test.toml:23:2: link: unknown key "link"; did you mean "links"? (valid: format, name, description, duration, seed, links, mobiles, lines, home_agents, foreign_agents, micro_mobility, mobility_anchor_points, aerotp_gateways, dtn_gateways, changes, losses, flows, record, live, expect)"#,
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
            r#"test.toml:72:12: record.interval: "0 ms" is zero; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        "packets = false",
        "packets = false\nseries = [\"parity\", \"congestion windows\"]",
        &[
            "test.toml:72:21: record.series[1]: unknown series \"congestion windows\"; did you mean \"congestion window\"? \
             (valid: congestion window, slow-start threshold, round-trip time, smoothed round-trip time, \
             retransmission timeout, bytes in flight, delivered bytes, queue packets, queue bytes, attached link, \
             sending rate, assigned rate, requested rate, parity)",
        ],
    ),
    (
        "packets = false",
        "packets = false\nseries = 3",
        &["test.toml:72:10: record.series: 3 does not fit; expected true or false, or an array"],
    ),
    (
        "packets = false",
        "packets = false\nseries = []",
        &["test.toml:72:10: record.series: has length 0; expected at least 1"],
    ),
    (
        "packets = false",
        "packets = false\ninterval = \"1 ns\"",
        &[
            "test.toml:72:12: record.interval: would make 160000000000 bins in 160 s; \
             choose a longer record.interval (now 0.000000001 s), or a shorter duration",
        ],
    ),
    (
        r#"kind = "gsm""#,
        r#"kind = "gms""#,
        &[
            r#"test.toml:25:8: links.gsm.kind: unknown kind "gms"; did you mean "gsm"? (valid: wired, geo, wifi, gsm, tdma, wifi6, lte, 5g, starlink, trace, ad-hoc, ldacs1)"#,
        ],
    ),
    (
        r#"kind = "gsm""#,
        r#"kind = "aeromacs""#,
        &[
            r#"test.toml:25:8: links.gsm.kind: unknown kind "aeromacs" (valid: wired, geo, wifi, gsm, tdma, wifi6, lte, 5g, starlink, trace, ad-hoc, ldacs1)"#,
        ],
    ),
    (
        r#""linux-2.0.36""#,
        r#""linux-2.0.35""#,
        &[
            r#"test.toml:50:21: flows.download.transport.profile: unknown profile "linux-2.0.35"; did you mean "linux-2.0.36"? (valid: rfc, ns2, linux-2.0.36, linux-6, classic, scps-tp)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#""new-reno""#,
        &[
            r#"test.toml:51:24: flows.download.transport.congestion: unknown congestion "new-reno"; did you mean "newreno"? (valid: reno, newreno, cubic, bbr, westwood, scalable, bic, vegas, hybla)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#""python:mine.Reno""#,
        &[
            r#"test.toml:51:24: flows.download.transport.congestion: "python:mine.Reno" runs only in a scenario that Python runs (baton run, baton.Scenario); valid here: reno, newreno, cubic, bbr, westwood, scalable, bic, vegas, hybla"#,
        ],
    ),
    (
        r#""newreno""#,
        r#""python:mine""#,
        &[
            r#"test.toml:51:24: flows.download.transport.congestion: "python:mine" does not name a class in a module; expected "reno", "newreno", "cubic", "bbr", "westwood", "scalable", "bic", "vegas", "hybla", or "python:module.Class" for one in Python, or a table"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "cubic" }"#,
        &[
            r#"test.toml:51:33: flows.download.transport.congestion.kind: unknown kind "cubic" (valid: westwood, scalable, bic, vegas, hybla)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "bic", alpha = 2 }"#,
        &[
            r#"test.toml:51:40: flows.download.transport.congestion.alpha: "alpha" does not go with kind = "bic" (its own: smallest_increment, largest_increment, decrease)"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "bic", smallest_increment = 0, largest_increment = 5000 }"#,
        &[
            r#"test.toml:51:61: flows.download.transport.congestion.smallest_increment: 0 is out of range; expected a number from 0.001 to 1000"#,
            r#"test.toml:51:84: flows.download.transport.congestion.largest_increment: 5000 is out of range; expected a number from 0.001 to 1000"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "vegas", alpha = 6 }"#,
        &[
            r#"test.toml:51:11: flows.download.transport.congestion: alpha 6 is above beta 4; expected at most 4"#,
        ],
    ),
    (
        r#""newreno""#,
        r#"{ kind = "hybla", reference_rtt = 25 }"#,
        &[
            r#"test.toml:51:58: flows.download.transport.congestion.reference_rtt: 25 has no unit; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#""on-off""#,
        r#""onoff""#,
        &[
            r#"test.toml:62:16: flows.voice.traffic.kind: unknown kind "onoff"; did you mean "on-off"? (valid: bulk, constant, on-off, pages, ping)"#,
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
            r#"test.toml:54:25: flows.download.transport.delayed_ack: "of" is not a time; expected "off", or a number with ns, us, ms, s, min, h or d, like "20 ms""#,
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
        &[r#"test.toml:60:6: flows.voice.to: the flow goes from "laptop" to itself"#],
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
            r#"test.toml:58:8: flows.download.name: there is already a flow "download"; expected another name"#,
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
        &["test.toml:24:11: links.gsm.between: has length 1; expected 2"],
    ),
    (
        r#"["server", "home-agent"]"#,
        r#"["server", "away-agent"]"#,
        &[
            r#"test.toml:49:6: flows.download.to: no links lead from "server" to "laptop""#,
            r#"test.toml:60:6: flows.voice.to: no links lead from "laptop" to "server""#,
        ],
    ),
    (
        r#"at = "0 s""#,
        r#"at = "1 s""#,
        &[
            r#"test.toml:29:10: mobiles.laptop.timetable[0].at: the first entry gives the mobile's first link; expected "0 s""#,
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
            "test.toml:28:1: mobiles.laptop.failback: is set beside a timetable; expected only one of them",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"gsm\"\nmedium_access = false",
        &[
            r#"test.toml:26:1: links.gsm.medium_access: "medium_access" does not go with kind = "gsm"; it goes with "wifi""#,
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"gsm\"\ndown = { recording = { kind = \"csv\", file = \"x.csv\" } }",
        &[
            r#"test.toml:26:10: links.gsm.down.recording: does not go with this kind of link; expected kind = "trace""#,
        ],
    ),
    (
        r#"kind = "gsm""#,
        r#"kind = "trace""#,
        &[
            "test.toml:23:8: links.gsm.down: has no rate; expected a recording (in a csv, with the column rate_bps) or the key rate",
            "test.toml:23:8: links.gsm.up: has no rate; expected a recording (in a csv, with the column rate_bps) or the key rate",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"trace\"\nrecording = { kind = \"mahimahi\", file = \"missing.down\" }",
        &[
            "test.toml:26:41: links.gsm.recording.file: trace missing.down: cannot be read: No such file or directory (os error 2)",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"trace\"\nrate = \"1 Mbit/s\"\nstart = \"random\"",
        &[
            "test.toml:27:1: links.gsm.start: there is no recording to start; expected kind = \"trace\" with a recording",
        ],
    ),
    (
        r#"kind = "gsm""#,
        "kind = \"trace\"\nrecording = { kind = \"leoreplayer\", bandwidth = \"x.bw\" }\nrate = \"1 Mbit/s\"",
        &[
            "test.toml:26:1: links.gsm.recording: key \"delay\" is missing (kind = \"leoreplayer\" needs it); expected text",
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
            r#"test.toml:21:117: links.wavelan.down.queue.target: "target" does not go with management = "priority"; it goes with "codel", "fq-codel", "pie""#,
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
            "test.toml:21:130: links.wavelan.down.queue.update_interval: is shorter than 1 ms, which would need too many updates; expected 1 ms or more",
        ],
    ),
    (
        r#"traffic.bytes = "110 kB""#,
        r#"traffic.page = "110 kB""#,
        &[
            r#"test.toml:52:9: flows.download.traffic.page: "page" does not go with kind = "bulk" (its own: bytes)"#,
        ],
    ),
    (
        r#"transport = "udp""#,
        "transport = \"udp\"\ncode_point = 64",
        &[
            "test.toml:62:14: flows.voice.code_point: 64 is out of range; expected a whole number from 0 to 63",
        ],
    ),
    (
        r#"transport = "udp""#,
        "transport = \"aerotp\"\ncode_point = 46",
        &[
            r#"test.toml:62:14: flows.voice.code_point: a flow over "aerotp" has the code point of its class; expected transport = { kind = "aerotp", class = 0 } to 7"#,
        ],
    ),
    (
        r#"traffic.kind = "on-off""#,
        r#"traffic.kind = "bulk""#,
        &[
            r#"test.toml:63:9: flows.voice.traffic.rate: "rate" does not go with kind = "bulk" (its own: bytes)"#,
            r#"test.toml:64:9: flows.voice.traffic.packet_size: "packet_size" does not go with kind = "bulk" (its own: bytes)"#,
            r#"test.toml:65:9: flows.voice.traffic.on: "on" does not go with kind = "bulk" (its own: bytes)"#,
            r#"test.toml:66:9: flows.voice.traffic.off: "off" does not go with kind = "bulk" (its own: bytes)"#,
        ],
    ),
    (
        "traffic.on = \"1 s\"\n",
        "",
        &[
            r#"test.toml:62:1: flows.voice.traffic: key "on" is missing (kind = "on-off" needs it); expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        r#"queue = "100 packets""#,
        r#"queue = "codel""#,
        &[
            r#"test.toml:12:9: links.ethernet.queue: "codel" is not a queue size; expected a number of packets or bytes, like "100 packets" or "64 kB", or a table"#,
        ],
    ),
    (
        r#"transport = "udp""#,
        r#"transport = { kind = "quic", congestion = "bbr" }"#,
        &[
            r#"test.toml:61:43: flows.voice.transport.congestion: unknown congestion "bbr" (valid: cubic, new-reno)"#,
        ],
    ),
    (
        r#"transport = "udp""#,
        r#"transport = { kind = "udp", congestion = "reno" }"#,
        &[
            r#"test.toml:61:29: flows.voice.transport.congestion: "congestion" does not go with kind = "udp"; it goes with "tcp", "quic""#,
        ],
    ),
    (
        "traffic.kind = \"on-off\"\ntraffic.rate = \"64 kbit/s\"\ntraffic.packet_size = \"160 B\"\ntraffic.on = \"1 s\"\ntraffic.off = \"1.35 s\"",
        "traffic = \"constant\"",
        &[
            r#"test.toml:62:1: flows.voice.traffic: key "rate" is missing (kind = "constant" needs it); expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
        ],
    ),
    (
        "traffic.kind = \"on-off\"\ntraffic.rate = \"64 kbit/s\"\ntraffic.packet_size = \"160 B\"\ntraffic.on = \"1 s\"\ntraffic.off = \"1.35 s\"",
        "traffic = \"bulk\"",
        &[
            r#"test.toml:61:13: flows.voice.transport: bulk and pages need a connection; expected transport "tcp" or "quic", as "udp" carries only constant, on-off and ping"#,
        ],
    ),
    (
        r#"traffic.packet_size = "160 B""#,
        r#"traffic.packet_size = "1500 B""#,
        &[
            "test.toml:64:23: flows.voice.traffic.packet_size: 1500 B and 28 B of headers fit no MTU (largest 1500 B); expected at most 1472 B",
        ],
    ),
    (
        r#"stop = "100 s""#,
        r#"stop = "1 s""#,
        &[r#"test.toml:68:8: flows.voice.stop: is not after the start at "2 s""#],
    ),
    (
        r#"maximum_segment_size = "1420 B""#,
        r#"maximum_segment_size = "1 MB""#,
        &[
            "test.toml:55:45: flows.download.transport.sender.maximum_segment_size: 1000000 B is out of range; expected 64 B to 65495 B",
        ],
    ),
    (
        r#"delayed_ack = "off""#,
        "minimum_rto = \"90 s\"\ntransport.maximum_rto = \"60 s\"",
        &["test.toml:50:1: flows.download.transport: minimum_rto 90 s is above maximum_rto 60 s"],
    ),
    (
        "traffic.on = \"1 s\"\ntraffic.off = \"1.35 s\"",
        "traffic.on = \"1 ns\"\ntraffic.off = \"0 s\"",
        &[
            "test.toml:65:14: flows.voice.traffic.on: would pause 98000000000 times in 98 s; choose longer times",
        ],
    ),
    (
        "traffic.rate = \"64 kbit/s\"\ntraffic.packet_size = \"160 B\"",
        "traffic.rate = \"1000 Gbit/s\"\ntraffic.packet_size = \"1 B\"",
        &[
            "test.toml:63:16: flows.voice.traffic.rate: would make 98000000000 packets in 98 s; expected at most 10000000000",
        ],
    ),
    (
        r#"mean_good = "10 s", mean_bad = "4 s""#,
        r#"mean_good = "1 ns", mean_bad = "1 ns""#,
        &[
            "test.toml:21:10: links.wavelan.down.burst_loss: would change state 80000000000 times until 160 s; choose longer mean times",
        ],
    ),
    (
        "seed = 7",
        r#"expect = ["flows.download.longest_stall_s"]"#,
        &[
            r#"test.toml:5:11: expect[0]: "flows.download.longest_stall_s" is not an expectation; expected <path> <operator> <number>, like "flows.download.longest_stall_s < 30""#,
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
            r#"test.toml:5:11: expect[0]: "x < 2 s" is not an expectation; expected <path> <operator> <number>, like "flows.download.longest_stall_s < 30""#,
        ],
    ),
    (
        "[record]",
        "[live]\nhosts = [\"server\", \"labtop\", \"server\"]\n[record]",
        &[
            r#"test.toml:71:20: live.hosts[1]: unknown node "labtop"; did you mean "laptop"? (valid: server, home-agent, laptop)"#,
            r#"test.toml:71:30: live.hosts[2]: "server" is listed twice"#,
        ],
    ),
    (
        "[record]",
        "[live]\nhosts = []\n[record]",
        &["test.toml:71:9: live.hosts: has length 0; expected at least 1"],
    ),
    (
        "[record]",
        "[live]\naddress = \"old\"\nsample_interval = \"100 us\"\n[record]",
        &[r#"test.toml:71:11: live.address: unknown address "old" (valid: kept, new)"#],
    ),
    (
        "[record]",
        "[live]\nsample_interval = \"100 us\"\nlateness_bound = \"1\"\n[record]",
        &[
            r#"test.toml:72:18: live.lateness_bound: "1" has no unit; expected a number with ns, us, ms, s, min, h or d, like "20 ms""#,
        ],
    ),
    (
        "[record]",
        "[live]\nsample_interval = \"100 us\"\n[record]",
        &[
            r#"test.toml:71:19: live.sample_interval: 0.0001 s is too short; expected at least "1 ms""#,
        ],
    ),
];

/// Arguments of `--set`, and the resulting messages.
pub(super) const SETS: &[(&str, &str)] = &[
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
        r#"--set flows.download.byts=1 kB: flows.download.byts: unknown key "byts"; did you mean "traffic.bytes"? (valid: name, from, to, transport, remedies, code_point, priority, acknowledged, copies, class, traffic, start, start_jitter, stop)"#,
    ),
    (
        "links.gsm.rate=fast",
        r#"--set links.gsm.rate=fast: links.gsm.rate: "fast" is not a data rate; expected a number with bit/s, kbit/s, Mbit/s or Gbit/s, like "5 Mbit/s""#,
    ),
    (
        "seed.x=1",
        r#"--set seed.x=1: seed.x: "seed" is not a table, and cannot hold "x""#,
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
        r#"--set fows.download.bytes=1 kB: fows: unknown key "fows"; did you mean "flows"? (valid: format, name, description, duration, seed, links, mobiles, lines, home_agents, foreign_agents, micro_mobility, mobility_anchor_points, aerotp_gateways, dtn_gateways, changes, losses, flows, record, live, expect)"#,
    ),
    (
        "",
        "--set : expected key=value, like flows.download.transport.congestion=cubic",
    ),
    (
        "x",
        "--set x: expected key=value, like flows.download.transport.congestion=cubic",
    ),
    (
        "a..b=1",
        r#"--set a..b=1: a: unknown key "a" (valid: format, name, description, duration, seed, links, mobiles, lines, home_agents, foreign_agents, micro_mobility, mobility_anchor_points, aerotp_gateways, dtn_gateways, changes, losses, flows, record, live, expect)"#,
    ),
];
