//! TDMA links with fixed slots, against closed forms.

use super::*;

/// Bytes of UDP's and IPv4's headers.
const HEADERS: u32 = 28;
/// Packets of a slot of 10 ms, 9 of which are used, at 1 Mbit/s.
const SLOT_BYTES: u32 = 1125;

/// Returns a link whose ends own slots 1 and 2 of a frame of five, of 10 ms each, with these keys of links and of the
/// frame.
fn link(keys: &str, frame: &str) -> String {
    format!(
        "[links.air]\nbetween = [\"aircraft\", \"ground\"]\nkind = \"tdma\"\nrate = \"1 Mbit/s\"\n{keys}\n\
         frame = {{ slots = 5, slot = \"10 ms\", guard = \"1 ms\", down_slots = [1], up_slots = [2]{frame} }}\n"
    )
}

/// Returns a flow of datagrams, of `length` bytes with headers, in an interval of `interval_ms`.
fn datagrams(length: u32, interval_ms: f64, stop: u32) -> String {
    let payload = length - HEADERS;
    let rate = f64::from(payload) * 8.0 / (interval_ms / 1e3);
    format!(
        "[[flows]]\nname = \"udp\"\nfrom = \"aircraft\"\nto = \"ground\"\ntransport = \"udp\"\nstop = \"{stop} s\"\n\
         traffic = {{ kind = \"constant\", rate = \"{rate} bit/s\", packet_size = \"{payload} B\" }}\n"
    )
}

/// Returns the goodput of a flow of datagrams of this length that never stops, headers included, in bit/s.
fn saturated(length: u32, keys: &str, frame: &str) -> f64 {
    let flow = datagrams(length, 2.0, 100);
    let results = run(&scenario(100, &[&link(keys, frame), &flow]));
    let rows = packets(&results);
    let count = rows.iter().filter(|row| row.is_delivered()).count();
    f64::from(length) * 8.0 * count as f64 / 100.0
}

/// The interval is the frame's times the golden ratio, so that arrivals are spread evenly over the frame.
#[test]
fn a_packet_waits_half_a_frame_on_average_and_never_more_than_one() {
    let flow = datagrams(500, 50.0 * 1.618_033_988_749_895, 80);
    let results = run(&scenario(81, &[&link("", ""), &flow]));
    let rows = packets(&results);
    // 4 ms on the air and 10 ms of delay.
    let mut waits: Vec<f64> = rows
        .iter()
        .map(|row| row.decided_s() - row.sent as f64 / 1e9 - 0.014)
        .collect();
    waits.sort_by(f64::total_cmp);
    assert!(waits.len() > 980, "{}", waits.len());
    // Uniform over the frame: each order statistic is its share of 50 ms.
    for (place, wait) in waits.iter().enumerate() {
        near(
            *wait,
            0.05 * (place as f64 + 0.5) / waits.len() as f64,
            2e-4,
        );
    }
}

#[test]
fn throughput_is_the_packets_of_a_slot_in_each_frame() {
    // One slot in each frame of 50 ms carries the packets that fit whole.
    for (length, in_slot) in [(SLOT_BYTES, 1), (600, 1), (562, 2), (200, 5)] {
        let expected = f64::from(length * in_slot) * 8.0 / 0.05;
        near(saturated(length, "", ""), expected, expected * 2e-3);
    }
    // Cut packets fill every slot, whatever their length.
    let full = f64::from(SLOT_BYTES) * 8.0 / 0.05;
    for length in [1500, 600] {
        near(
            saturated(length, "", ", fragmentation = true"),
            full,
            full * 2e-3,
        );
    }
}

/// AeroTP takes the length of its packets from the link, so they fill the slots; shorter ones waste the rest.
#[test]
fn aerotp_fills_the_slots() {
    let flow = "[[flows]]\nname = \"telemetry\"\nfrom = \"aircraft\"\nto = \"ground\"\ntransport.kind = \"aerotp\"\n\
                transport.coding = \"none\"\ntraffic.bytes = \"1 MB\"\n";
    for (keys, length) in [("", SLOT_BYTES), ("mtu = \"800 B\"", 800)] {
        let results = run(&scenario(200, &[&link(keys, ""), flow]));
        let rows = packets(&results);
        let data = rows.iter().filter(|row| !row.down || row.payload > 0);
        let fullest = data.max_by_key(|row| row.payload).unwrap();
        assert_eq!(fullest.wire_bytes, length);
        let flow = super::flow(&results.summary, "telemetry");
        assert_eq!((flow.delivered_bytes, flow.lost_packets), (1_000_000, 0));
        // One packet a frame: the closed form's number of frames, a frame until the first slot, and the delay.
        let frames = (1e6 / f64::from(fullest.payload)).ceil();
        near(flow.completion_s.unwrap(), frames * 0.05, 0.11);
    }
}
