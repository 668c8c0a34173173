//! Bulk transfers through a pair of gateways, against what their links can carry, and a control stream beside one.

use super::channel::Channel;
use super::numbers::Numbers;
use super::world::World;
use baton_path::OVERHEAD;
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

/// Length of a full packet on a link.
const PACKET: usize = 1500;
/// IPv4 and UDP headers of a datagram; and in it the number of an IPv4 header, an AeroTP header, and the check of its
/// payload.
const HEADERS: usize = 28 + OVERHEAD + 2 + 22 + 4;

/// Creates a link with a rate in Mbit/s and a delay in milliseconds.
fn link(rate: u64, delay: u64) -> Channel {
    let mut link = Channel::sound();
    (link.rate, link.delay) = (rate * 1_000_000, Duration::from_millis(delay));
    link
}

fn no_link() -> Channel {
    let mut link = Channel::sound();
    link.is_up = false;
    link
}

/// Creates a pair with these links, which is told their rates or finds them.
fn pair(links: [Channel; 2], is_told: bool) -> World {
    let rate = |link: &Channel| DataRate::from_bits_per_second(link.rate);
    let told = links.each_ref().map(|link| is_told.then(|| rate(link)));
    let mut world = World::new(Numbers(1), links, told);
    world.run_quietly(3);
    world
}

/// Returns the bytes that links of a rate in bit/s carry in a second, in full packets.
fn carried_each_second(rate: u64) -> f64 {
    rate as f64 / 8.0 * (PACKET - HEADERS) as f64 / PACKET as f64
}

/// The link's rate is told. Oracle: that rate, without the packets lost and the headers in each of 1500 B. The connection's
/// start and the last repairs count, and the path sends 0.99 of a rate that it is told.
#[test]
fn a_bulk_transfer_has_about_nine_tenths_of_what_a_lossy_satellite_link_carries() {
    const BYTES: u64 = 100_000_000;
    for lost in [0, 10, 50] {
        let mut satellite = link(50, 290);
        satellite.lost = lost;
        let mut world = pair([satellite, no_link()], true);
        let course = world.transfer((true, BYTES), &[]);
        let (taken, _) = course.last().unwrap();
        let carried = carried_each_second(50_000_000) * (1.0 - lost as f64 / 1000.0);
        let share = BYTES as f64 / carried / taken.as_secs_f64();
        println!("loss of {lost} in 1000: {taken}, {share:.3}");
        assert!(share > 0.89, "{lost}: {taken}");
    }
}

/// The row `two-links` of `scripts/bench_gateway`: a download over two links, of which the faster and longer one is away for
/// four seconds. Oracle: the sum of the rates, without the headers in each packet of 1500 B. The time counts while both are
/// there: from the first byte, but for the outage and the delay of what is sent after it.
#[test]
fn a_bulk_transfer_has_nine_tenths_of_what_two_links_carry() {
    const BYTES: u64 = 60_000_000;
    const DELAY: u64 = 290;
    let [away, back] = [10, 14].map(Duration::from_secs);
    for (is_told, is_upload) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut world = pair([link(20, DELAY), link(5, 15)], is_told);
        let changes = [(away, 0, false), (back, 0, true)];
        let course = world.transfer((is_upload, BYTES), &changes);
        let &(begin, _) = course.iter().find(|(_, bytes)| *bytes > 0).unwrap();
        let &(end, _) = course.last().unwrap();
        let come_by = |time| course.iter().rfind(|(at, _)| *at <= time).unwrap().1;
        let spans = [(begin, away), (back + Duration::from_millis(DELAY), end)];
        let bytes: u64 = spans.iter().map(|(a, b)| come_by(*b) - come_by(*a)).sum();
        let seconds = |(a, b): &(Duration, Duration)| b.as_secs_f64() - a.as_secs_f64();
        let lasted: f64 = spans.iter().map(seconds).sum();
        let share = bytes as f64 / carried_each_second(25_000_000) / lasted;
        let of_rates = bytes as f64 * 8.0 / 25e6 / lasted;
        println!(
            "told {is_told}, upload {is_upload}: {end}, {share:.3}, {of_rates:.3} of the rates"
        );
        assert!(share > 0.9, "told {is_told}, upload {is_upload}: {share}");
    }
}

/// The row `control` of `scripts/bench_gateway`: 1 Mbit/s with precedence above a transfer that fills the link. Oracle: a
/// datagram waits for the packet that has begun, and is sent itself.
#[test]
fn a_control_stream_waits_for_one_packet_of_a_bulk_transfer() {
    const RATE: u64 = 5;
    const DELAY: u64 = 50;
    let mut world = pair([link(RATE, DELAY), no_link()], true);
    let mut delays = world.control(Duration::from_secs(30));
    delays.sort();
    let percentile = delays[delays.len() * 99 / 100];
    // And a millisecond between each gateway and the machine behind it.
    let packets = Duration::from_micros(2 * PACKET as u64 * 8 / RATE);
    let most = Duration::from_millis(DELAY + 2) + packets;
    println!("{} datagrams: {percentile} of {most}", delays.len());
    assert!(delays.len() > 3700 && percentile <= most, "{percentile}");
}
