//! Replay against tables computed by hand, and against real recordings where they exist.

use super::*;

fn at_ms(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

#[test]
fn packets_share_opportunities_byte_by_byte() {
    let file = mahimahi::parse("x", "5\n5\n9\n20\n", AtEnd::Repeat).unwrap();
    let mut cursor = file.after(at_ms(0));
    let mut send = |now, bytes: u64| file.transmitted(&mut cursor, at_ms(now), bytes * 8);
    // Opportunities at 5, 5, 9, 20, 25, 25, 29, … ms; the rest of one serves the next packet at once.
    assert_eq!(send(0, 1000), Some(at_ms(5)));
    assert_eq!(send(5, 1000), Some(at_ms(5)));
    assert_eq!(send(5, 1000), Some(at_ms(5)));
    assert_eq!(send(5, 1500), Some(at_ms(9)));
    assert_eq!(send(9, 3001), Some(at_ms(25)));
    assert_eq!(send(25, 1499), Some(at_ms(25)));
    assert_eq!(send(25, 1), Some(at_ms(29)));
}

#[test]
fn opportunities_that_nobody_waits_for_are_lost() {
    let file = mahimahi::parse("x", "0\n5\n9\n20", AtEnd::Repeat).unwrap();
    // A packet that arrives at the very moment of an opportunity has missed it, as in mahimahi.
    let mut cursor = file.after(at_ms(5));
    assert_eq!(file.transmitted(&mut cursor, at_ms(5), 800), Some(at_ms(9)));
    cursor = file.after(at_ms(47));
    assert_eq!(file.transmitted(&mut cursor, at_ms(47), 8), Some(at_ms(49)));
    cursor = file.after(at_ms(60));
    assert_eq!(file.transmitted(&mut cursor, at_ms(60), 8), Some(at_ms(65)));
    // The end of one period is the start of the next: opportunities at 80 ms are the last and the first.
    cursor = file.after(at_ms(70));
    assert_eq!(
        file.transmitted(&mut cursor, at_ms(70), 24_000),
        Some(at_ms(80))
    );
    assert_eq!(
        file.transmitted(&mut cursor, at_ms(80), 12_000),
        Some(at_ms(85))
    );

    let held = mahimahi::parse("x", "5\n20", AtEnd::Hold).unwrap();
    let mut cursor = held.after(at_ms(10));
    assert_eq!(held.transmitted(&mut cursor, at_ms(10), 8), Some(at_ms(20)));
    cursor = held.after(at_ms(10_000));
    assert_eq!(held.transmitted(&mut cursor, at_ms(10_000), 8), None);
}

#[test]
fn rates_hold_until_the_next_sample_and_the_file_repeats() {
    let text = "time_s,rate_bps\n100,1000\n101,0\n102,2000\n";
    let trace = csv::parse("x", text, AtEnd::Repeat).unwrap();
    assert_eq!(
        trace.mean_rate(),
        Some(DataRate::from_bits_per_second(1000))
    );
    let Some(Capacity::Rates(rates)) = trace.capacity else {
        panic!("no rates");
    };
    // Per second from zero: 1000, 0, 2000, 1000, 0, 2000, …
    let sent = |from, bits| rates.transmitted(at_ms(from), bits);
    assert_eq!(sent(0, 500), Some(at_ms(500)));
    assert_eq!(sent(0, 1000), Some(at_ms(1000)));
    assert_eq!(sent(500, 600), Some(at_ms(2050)));
    assert_eq!(sent(1500, 2500), Some(at_ms(3500)));
    assert_eq!(sent(0, 3_000_000_000), Some(at_ms(3_000_000_000)));
    assert_eq!(sent(500, 3_001_000), Some(at_ms(3_002_250)));
    assert_eq!(sent(0, 3_000_001), Some(at_ms(3_000_001)));

    let held = csv::parse("x", text, AtEnd::Hold).unwrap();
    let Some(Capacity::Rates(rates)) = held.capacity else {
        panic!("no rates");
    };
    assert_eq!(rates.transmitted(at_ms(3500), 1000), Some(at_ms(4000)));
    let silent = csv::parse("x", "time_s,rate_bps\n0,0\n1,0\n", AtEnd::Repeat).unwrap();
    let Some(Capacity::Rates(rates)) = silent.capacity else {
        panic!("no rates");
    };
    assert_eq!(rates.transmitted(at_ms(0), 1), None);
}

#[test]
fn columns_come_in_any_order() {
    let text = "loss, delay_ms ,time_s\r\n0,20,3.5\r\n1,0.5,4.5\r\n";
    let trace = csv::parse("x", text, AtEnd::Repeat).unwrap();
    assert_eq!(trace.capacity, None);
    let delays = [0, 999, 1000, 1999, 2000].map(|ms| trace.delay_at(at_ms(ms)).unwrap());
    let [long, short] = [20_000, 500].map(Duration::from_micros);
    assert_eq!(delays, [long, long, short, short, long]);
    assert_eq!(trace.loss_at(at_ms(1000)), 1.0);
    let constant = csv::parse("x", "time_s,delay_ms\n9,7", AtEnd::Hold).unwrap();
    assert_eq!(
        constant.delay_at(at_ms(77_777)),
        Some(Duration::from_millis(7))
    );
}

#[test]
fn delays_come_every_ten_milliseconds() {
    let delays = leoreplayer::parse_delays("x", "12\n30.5\n", AtEnd::Repeat).unwrap();
    assert_eq!(delays.at(at_ms(9)), Duration::from_millis(12));
    assert_eq!(delays.at(at_ms(10)), Duration::from_micros(30_500));
    assert_eq!(delays.at(at_ms(20)), Duration::from_millis(12));
}

#[test]
fn mistakes_are_named_with_their_line() {
    let opportunities = |text| mahimahi::parse("f", text, AtEnd::Repeat).unwrap_err();
    let columns = |text| csv::parse("f", text, AtEnd::Repeat).unwrap_err();
    let delays = |text| leoreplayer::parse_delays("f", text, AtEnd::Repeat).unwrap_err();
    let mistakes = [
        (opportunities(""), "f:1: expected a last time above 0"),
        (opportunities("0\n0\n"), "f:2: expected a last time above 0"),
        (opportunities("1\n3\n2\n"), "f:3: expected a time"),
        (opportunities("1\n\n3"), "f:2: expected a time"),
        (opportunities("-1"), "found `-1`"),
        (opportunities("1.5"), "found `1.5`"),
        (opportunities("4294967296"), "below 2^32"),
        (delays(""), "f:1: expected a delay"),
        (
            delays("1\nNaN"),
            "f:2: expected a delay in milliseconds, 0 or more, found `NaN`",
        ),
        (delays("-3"), "found `-3`"),
        (columns(""), "f:1: expected a header"),
        (columns("time_s\n0"), "at least one of"),
        (columns("rate_bps\n0"), "a header with time_s"),
        (columns("time_s,speed\n0,1"), "found `speed`"),
        (columns("time_s,loss,loss\n0,1,1"), "each once"),
        (columns("time_s,loss"), "f:2: expected a line of values"),
        (columns("time_s,loss\n0"), "f:2: expected 2 fields"),
        (
            columns("time_s,loss\n0,1.1"),
            "between 0 and 1, found `1.1`",
        ),
        (
            columns("time_s,loss\n0,1\n0,0"),
            "f:3: expected a time in seconds, later",
        ),
        (
            columns("time_s,loss\n1,1\n0.5,0"),
            "f:3: expected a time in seconds, later",
        ),
        // Beyond the scale of nanoseconds, where a whole column was once dropped silently.
        (
            columns("time_s,rate_bps\n0,1\n1e11,1"),
            "f:3: expected a time in seconds, later than that of the line above and less than 584 years",
        ),
        (columns("time_s,rate_bps\n0,inf"), "f:2: expected a rate"),
        (columns("time_s,delay_ms\nx,1"), "found `x`"),
    ];
    for (error, expected) in mistakes {
        let text = error.to_string();
        assert!(text.contains(expected), "{text:?} lacks {expected:?}");
    }
    let missing = Trace::load_csv(Path::new("no-such-file.csv"), AtEnd::Repeat);
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .starts_with("no-such-file.csv: cannot be read")
    );
}

/// Returns the real recordings beside the project, or `None` with a message.
fn recording(name: &str) -> Option<std::path::PathBuf> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = crate_folder
        .ancestors()
        .map(|folder| folder.join("shared/data").join(name))
        .find(|path| path.is_file());
    if path.is_none() {
        eprintln!("skipped: ../shared/data/{name} is not there");
    }
    path
}

/// Returns the bytes per second of a sender that always has 1500 B waiting, over `periods` of the file.
fn saturate(opportunities: &Opportunities, period_ms: u64, periods: u64) -> f64 {
    let mut cursor = Cursor::default();
    let end = at_ms(period_ms * periods);
    let mut packets = 0_u64;
    while opportunities
        .transmitted(&mut cursor, Instant::ZERO, 12_000)
        .unwrap()
        < end
    {
        packets += 1;
    }
    packets as f64 * 1500.0 / end.as_secs_f64()
}

#[test]
fn a_drive_through_a_city_gives_its_capacity() {
    for (name, lines, period) in [
        ("lte-driving.down", 45_604, 120_002),
        ("lte-driving.up", 19_101, 0),
    ] {
        let Some(path) = recording(name) else { return };
        let trace = Trace::load_mahimahi(&path, AtEnd::Repeat).unwrap();
        let Some(Capacity::Opportunities(opportunities)) = trace.capacity else {
            panic!("no opportunities");
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let last: u64 = text.lines().last().unwrap().parse().unwrap();
        assert!(period == 0 || last == period);
        let expected = f64::from(lines) * 1500.0 / (last as f64 / 1e3);
        let found = saturate(&opportunities, last, 7);
        assert!(
            (found / expected - 1.0).abs() < 1e-4,
            "{name}: {found} of {expected}"
        );
    }
}

/// "5\n5\n9\n20\n" as Python's gzip module writes it.
const COMPRESSED: [u8; 29] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0xe5, 0x32, 0xe5, 0xb2, 0xe4,
    0x32, 0x32, 0xe0, 0x02, 0x00, 0xe8, 0xf0, 0x5f, 0x93, 0x09, 0x00, 0x00, 0x00,
];

#[test]
fn a_compressed_recording_is_read() {
    let file = std::env::temp_dir().join(format!("baton-{}.bw.gz", std::process::id()));
    std::fs::write(&file, COMPRESSED).unwrap();
    let loaded = Trace::load_mahimahi(&file, AtEnd::Repeat).unwrap();
    let plain = mahimahi::parse("x", "5\n5\n9\n20\n", AtEnd::Repeat).unwrap();
    assert_eq!(loaded.capacity, Some(Capacity::Opportunities(plain)));

    let mut damaged = COMPRESSED;
    damaged[12] ^= 0x55;
    for wrong in [&COMPRESSED[..20], &damaged, &COMPRESSED[..2]] {
        std::fs::write(&file, wrong).unwrap();
        let refused = Trace::load_mahimahi(&file, AtEnd::Repeat).unwrap_err();
        let message = refused.to_string();
        assert!(message.contains("cannot be decompressed"), "{message}");
    }
    std::fs::remove_file(&file).unwrap();
}

/// A file of some bytes can hold more than the memory.
#[test]
fn what_a_compressed_file_holds_is_bounded() {
    assert_eq!(decompressed(&COMPRESSED, 9).unwrap(), b"5\n5\n9\n20\n");
    assert!(
        decompressed(&COMPRESSED, 8)
            .unwrap_err()
            .contains("holds more than")
    );
}

#[test]
fn a_starlink_pair_loads() {
    let (Some(bandwidth), Some(delay)) = (recording("starlink.bw.gz"), recording("starlink.delay"))
    else {
        return;
    };
    let pair = Trace::load_leoreplayer(&bandwidth, &delay, AtEnd::Repeat).unwrap();
    let Some(Capacity::Opportunities(opportunities)) = pair.capacity else {
        panic!("no opportunities");
    };
    let expected = 487_652.0 * 1500.0 / 120.052;
    let found = saturate(&opportunities, 120_052, 3);
    assert!(
        (found / expected - 1.0).abs() < 1e-4,
        "{found} of {expected}"
    );
    let first = pair.delay.unwrap().at(Instant::ZERO);
    assert_eq!(first, Duration::from_millis(12));
}
