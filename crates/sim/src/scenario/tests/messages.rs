//! Mistakes and their messages.

use super::*;

/// Replacements in [`EXAMPLE`].
const CASES: &[(&str, &str, &str)] = &[
    // Syntax.
    ("duration = \"160 s\"", "duration = 160 s", ""),
    ("seed = 7", "seed = 99999999999999999999", ""),
    ("[links.gsm]", "[links.gsm", ""),
    ("seed = 7", "seed = 7\nseed = 8", ""),
    // Keys.
    ("delay = \"1 ms\"", "dely = \"1 ms\"", ""),
    ("[links.gsm]", "[link.gsm]", ""),
    ("mean_bad = \"4 s\"", "mean_worse = \"4 s\"", ""),
    ("nothing", "", ""),
    ("duration = \"160 s\"", "", ""),
    ("at = \"30 s\"", "", ""),
    // Types, units, ranges.
    ("\"10 Mbit/s\"", "\"10 Mb\"", ""),
    ("\"10 Mbit/s\"", "\"10 mbit/s\"", ""),
    ("\"10 Mbit/s\"", "10", ""),
    ("\"10 Mbit/s\"", "\"0 bit/s\"", ""),
    ("\"10 Mbit/s\"", "\"-1 Mbit/s\"", ""),
    ("\"10 Mbit/s\"", "\"2000 Gbit/s\"", ""),
    ("\"10 Mbit/s\"", "\"1e400 bit/s\"", ""),
    ("\"10 Mbit/s\"", "\"nan bit/s\"", ""),
    ("\"0.25 ms\"", "\"quick\"", ""),
    ("\"0.25 ms\"", "[\"1 ms\"]", ""),
    ("\"160 s\"", "\"0 s\"", ""),
    ("\"160 s\"", "\"1e30 s\"", ""),
    ("\"160 s\"", "\"160\"", ""),
    ("\"100 packets\"", "\"0 packets\"", ""),
    ("\"100 packets\"", "\"100\"", ""),
    ("\"100 packets\"", "100", ""),
    ("packet_error_rate = 1e-3", "packet_error_rate = 1.5", ""),
    ("packet_error_rate = 1e-3", "packet_error_rate = nan", ""),
    ("packet_error_rate = 1e-3", "packet_error_rate = \"1e-3\"", ""),
    ("seed = 7", "seed = -7", ""),
    ("name = \"wavelan-to-gsm\"", "name = \"../etc\"", ""),
    ("medium_access = false", "medium_access = \"no\"", ""),
    ("packets = false", "packets = false\ninterval = \"0 ms\"", ""),
    ("packets = false", "packets = false\ninterval = \"1 ns\"", ""),
    // Words.
    ("kind = \"gsm\"", "kind = \"gms\"", ""),
    ("kind = \"gsm\"", "kind = \"ldacs1\"", ""),
    ("\"linux-2.0.36\"", "\"linux-2.0.35\"", ""),
    ("\"newreno\"", "\"new-reno\"", ""),
    ("\"on-off\"", "\"onoff\"", ""),
    ("state = \"down\"", "state = \"off\"", ""),
    ("delayed_ack = \"off\"", "delayed_ack = \"of\"", ""),
    ("burst_loss = \"none\"", "burst_loss = \"no\"", ""),
    // Names.
    ("from = \"server\"", "from = \"sever\"", ""),
    ("to = \"server\"", "to = \"laptop\"", ""),
    ("link = \"wavelan\"", "link = \"waveland\"", ""),
    ("attach = \"gsm\"", "attach = \"umts\"", ""),
    ("attach = \"gsm\"", "attach = \"ethernet\"", ""),
    ("[mobiles.laptop]", "[mobiles.labtop]", ""),
    ("name = \"voice\"", "name = \"download\"", ""),
    ("[\"home-agent\", \"laptop\"]\nkind = \"gsm\"", "[\"laptop\", \"laptop\"]\nkind = \"gsm\"", ""),
    ("[\"home-agent\", \"laptop\"]\nkind = \"gsm\"", "[\"laptop\"]\nkind = \"gsm\"", ""),
    ("[\"server\", \"home-agent\"]", "[\"server\", \"away-agent\"]", ""),
    // Timetables.
    ("at = \"0 s\"", "at = \"1 s\"", ""),
    ("at = \"1 min\"", "at = \"12 s\"", ""),
    ("handover = \"soft\", overlap = \"5 s\"", "handover = \"hard\", outage = \"50 s\"", ""),
    ("handover = \"soft\", overlap = \"5 s\"", "handover = \"hard\", overlap = \"5 s\"", ""),
    ("handover = \"soft\", overlap = \"5 s\"", "outage = \"5 s\"", ""),
    ("old_queue = \"keep\"", "old_queue = \"deliver\"", ""),
    ("attach = \"gsm\"", "attach = \"wavelan\"", ""),
    ("timetable = [", "failback = { prefer = [\"gsm\"] }\ntimetable = [", ""),
    // What does not go together.
    ("kind = \"gsm\"", "kind = \"gsm\"\nmedium_access = false", ""),
    ("kind = \"gsm\"", "kind = \"gsm\"\ndown = { csv = \"x.csv\" }", ""),
    ("kind = \"gsm\"", "kind = \"trace\"", ""),
    ("kind = \"gsm\"", "kind = \"trace\"\nmahimahi = \"missing.down\"", ""),
    ("kind = \"gsm\"", "kind = \"trace\"\nmahimahi = \"x.gz\"", ""),
    ("kind = \"gsm\"", "kind = \"trace\"\nbandwidth = \"x.bw\"\nrate = \"1 Mbit/s\"", ""),
    ("kind = \"gsm\"", "kind = \"gsm\"\nmtu = \"60 B\"", ""),
    ("management = \"codel\"", "management = \"codel\", weight = 0.1", ""),
    ("management = \"codel\"", "management = \"red\", minimum_threshold = 20", ""),
    ("bytes = \"110 kB\"", "page = \"110 kB\"", ""),
    ("traffic = \"on-off\"", "traffic = \"bulk\"", ""),
    ("on = \"1 s\"\n", "", ""),
    ("traffic = \"on-off\"", "congestion = \"reno\"\ntraffic = \"on-off\"", ""),
    ("packet_size = \"160 B\"", "packet_size = \"1500 B\"", ""),
    ("stop = \"100 s\"", "stop = \"1 s\"", ""),
    ("maximum_segment_size = \"1420 B\"", "maximum_segment_size = \"1 MB\"", ""),
    ("delayed_ack = \"off\"", "minimum_rto = \"90 s\", maximum_rto = \"60 s\"", ""),
    // What would never end.
    ("on = \"1 s\"\noff = \"1.35 s\"", "on = \"1 ns\"\noff = \"0 s\"", ""),
    ("rate = \"64 kbit/s\"\npacket_size = \"160 B\"", "rate = \"1000 Gbit/s\"\npacket_size = \"1 B\"", ""),
    ("mean_good = \"10 s\", mean_bad = \"4 s\"", "mean_good = \"1 ns\", mean_bad = \"1 ns\"", ""),
    // Expectations.
    ("seed = 7", "expect = [\"flows.download.longest_stall_s\"]", ""),
    ("seed = 7", "expect = [\"flows.donwload.longest_stall_s < 2\"]", ""),
    ("seed = 7", "expect = [\"x < 2 s\"]", ""),
];

#[test]
fn show() {
    for (from, to, _) in CASES {
        let text = EXAMPLE.replacen(from, to, 1);
        println!("--- {from:?} -> {to:?}");
        match parse(&text, "test.toml", Path::new(""), &[]) {
            Ok(_) => println!("FINE"),
            Err(error) => println!("{error}"),
        }
    }
    for argument in ["links.satelite.rate=1 Mbit/s", "flows.donwload.bytes=1 kB", "flows.download.byts=1 kB", "links.gsm.rate=fast", "seed.x=1", "changes.7.at=1 s", "mobiles.lap.x=1", "fows.download.bytes=1 kB", "", "x", "a..b=1"] {
        println!("--- {argument}");
        let result = argument.parse().and_then(|change| parse(EXAMPLE, "test.toml", Path::new(""), &[change]));
        match result {
            Ok(_) => println!("FINE"),
            Err(error) => println!("{error}"),
        }
    }
}
