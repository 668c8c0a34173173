//! Two ends over a channel with independent bit errors. The oracles are binomial sums; what a flip hits comes from the
//! generator SplitMix64.

use super::*;

/// Bytes of IPv4 and UDP before a datagram, which nothing protects.
const HEADERS: usize = 28;
/// A datagram that fits an Ethernet frame with the strongest code.
const FULL: usize = 1274;

struct Channel {
    state: u64,
    bit_error_rate: f64,
}

impl Channel {
    fn new(bit_error_rate: f64) -> Channel {
        Channel {
            state: 1,
            bit_error_rate,
        }
    }

    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns the distance to the next wrong bit, which is geometric.
    fn gap(&mut self) -> usize {
        let uniform = ((self.random() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (uniform.ln() / (-self.bit_error_rate).ln_1p()) as usize
    }

    /// Carries a datagram; returns false if its IP or UDP header was hit.
    fn carry(&mut self, datagram: &mut [u8]) -> bool {
        let (headers, bits) = (HEADERS * 8, (HEADERS + datagram.len()) * 8);
        let mut at = self.gap();
        let arrives = at >= headers;
        while at < bits {
            if let Some(place) = at.checked_sub(headers) {
                datagram[place / 8] ^= 1 << (place % 8);
            }
            at += 1 + self.gap();
        }
        arrives
    }
}

/// Sends a datagram from one end to the other; returns true if it arrives as it was, which authentication decides on a
/// path, and the length of the IP packet.
fn send(channel: &mut Channel, ends: [&mut DatagramCode; 2], sealed: &[u8]) -> (bool, usize) {
    let [from, to] = ends;
    let mut wire = Vec::new();
    let start = from.begin(&mut wire);
    wire.extend_from_slice(sealed);
    from.end(start, false, &mut wire);
    let length = HEADERS + wire.len();
    if !channel.carry(&mut wire) {
        return (false, length);
    }
    let Some((received, arrival)) = to.decode(&mut wire) else {
        return (false, length);
    };
    let is_whole = received == sealed;
    match is_whole {
        true => to.opened(arrival),
        false => to.not_opened(arrival),
    }
    (is_whole, length)
}

/// Returns the probability that a full datagram is lost: its headers are hit, or one of its codewords has more wrong
/// bytes than half its parity.
fn loss(bit_error_rate: f64, words: usize) -> f64 {
    let parity = 4 * words;
    let codewords = FULL.div_ceil(255 - parity);
    let wrong = -(8.0 * (-bit_error_rate).ln_1p()).exp_m1();
    let is_right = |codeword: usize| {
        let length = (FULL - codeword).div_ceil(codewords) + parity;
        let mut term = (1.0 - wrong).powi(length as i32);
        let mut sum = term;
        for k in 1..=parity / 2 {
            term *= (length - k + 1) as f64 / k as f64 * wrong / (1.0 - wrong);
            sum += term;
        }
        sum
    };
    let decodes: f64 = (0..codewords).map(is_right).product();
    // The header's words of 24 bits fail at four errors.
    let headers = (HEADERS as f64 * 8.0 * (-bit_error_rate).ln_1p()).exp();
    1.0 - headers * decodes
}

/// Runs both ends over a channel; returns the share of sent bytes that is data and arrives.
fn goodput(bit_error_rate: f64) -> f64 {
    let mut channel = Channel::new(bit_error_rate);
    let (mut near, mut far) = (DatagramCode::default(), DatagramCode::default());
    let sealed: Vec<u8> = (0..FULL).map(|at| (at * at + 7 * at) as u8).collect();
    let (mut lost, mut expected, mut delivered, mut sent) = (0, 0.0, 0, 0);
    for number in 0..2_000 {
        let words = usize::from(near.words);
        let (arrives, length) = send(&mut channel, [&mut near, &mut far], &sealed);
        send(&mut channel, [&mut far, &mut near], &sealed[..60]);
        // The first hundred show the rate to both ends.
        if number >= 100 {
            expected += loss(bit_error_rate, words);
            lost += usize::from(!arrives);
            delivered += if arrives { FULL } else { 0 };
            sent += length;
        }
    }
    let tolerated = 5.0 * f64::sqrt(expected) + 1.0;
    let differs = lost as f64 - expected;
    assert!(
        differs.abs() < tolerated,
        "{bit_error_rate}: {lost} lost, {expected}"
    );
    delivered as f64 / sent as f64
}

/// Without the code a full frame has 1472 bytes of datagram in 1500, and each of its bits must arrive.
#[test]
fn its_goodput_is_that_of_the_closed_form_and_beats_the_path_without_it() {
    let mut rows = Vec::new();
    for bit_error_rate in [1e-6_f64, 1e-5, 1e-4, 3e-4, 1e-3] {
        let plain = 1472.0 / 1500.0 * (12_000.0 * (-bit_error_rate).ln_1p()).exp();
        rows.push((bit_error_rate, plain, goodput(bit_error_rate)));
    }
    println!("bit error rate, goodput without and with the code: {rows:.3?}");
    for (bit_error_rate, plain, coded) in rows {
        // At 1e-6 the room kept free for parity costs about as much as the code saves.
        let least = if bit_error_rate < 3e-6 { 0.97 } else { 1.01 };
        assert!(coded > least * plain, "{bit_error_rate}: {plain} {coded}");
        // Headers of 28 bytes are hit with 1 - (1 - p)^224, and the strongest code takes 204 bytes of 1506.
        let headers = (224.0 * (-bit_error_rate).ln_1p()).exp();
        assert!(coded > 0.8 * headers, "{bit_error_rate}: {coded}");
    }
}

/// A clean link costs the header alone, once the peer has said that it is clean.
#[test]
fn a_clean_link_has_no_parity_and_a_bad_one_gets_more() {
    let (mut near, mut far) = (DatagramCode::default(), DatagramCode::default());
    let sealed = vec![7; FULL];
    // 32 bytes for each of six codewords, until a report has come.
    assert_eq!(near.overhead(FULL), HEADER + 192);
    let mut clean = Channel::new(1e-12);
    send(&mut clean, [&mut far, &mut near], &sealed);
    assert_eq!(near.overhead(FULL), HEADER);
    let mut words = Vec::new();
    for bit_error_rate in [1e-5, 1e-4, 1e-3] {
        let mut channel = Channel::new(bit_error_rate);
        for _ in 0..600 {
            send(&mut channel, [&mut near, &mut far], &sealed);
            send(&mut clean, [&mut far, &mut near], &sealed[..60]);
        }
        words.push(near.words);
        let measured = far.error_rate().rate();
        let ratio = measured / bit_error_rate;
        assert!((0.5..2.0).contains(&ratio), "{bit_error_rate}: {measured}");
    }
    assert!(words.is_sorted() && words[0] < words[2], "{words:?}");
    assert!(far.counters().repaired > 0 && far.counters().corrected > far.counters().repaired);
}

/// The strongest code corrects 16 wrong bytes in each of six codewords, wherever they are.
#[test]
fn a_burst_of_ninety_six_bytes_is_corrected_and_one_more_is_not() {
    let code = DatagramCode::default();
    let sealed: Vec<u8> = (0..FULL).map(|at| at as u8).collect();
    for (burst, is_whole) in [(96, true), (97, false)] {
        let (mut near, mut far) = (code.clone(), code.clone());
        let mut wire = vec![1, 2, 3];
        let start = near.begin(&mut wire);
        wire.extend_from_slice(&sealed);
        near.end(start, true, &mut wire);
        let received = &mut wire[3..];
        received[700..700 + burst]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x5A);
        let decoded = far.decode(received);
        assert_eq!(decoded.is_some_and(|(data, _)| data == sealed), is_whole);
        assert_eq!(far.counters().damaged, u64::from(!is_whole));
    }
}

/// A report in a datagram that is not authentic changes nothing.
#[test]
fn what_a_stranger_reports_does_not_count() {
    let mut near = DatagramCode::default();
    let (mut liar, mut forged) = (DatagramCode::default(), Vec::new());
    let start = liar.begin(&mut forged);
    forged.extend_from_slice(&[0; 100]);
    liar.end(start, false, &mut forged);
    let (_, arrival) = near.decode(&mut forged).expect("it decodes");
    near.not_opened(arrival);
    assert_eq!((near.reported, near.counters().damaged), (None, 1));
}

/// Any bytes are taken or refused; a datagram that was not coded is refused but for chance, and a claim of more parity
/// than is ever sent always is.
#[test]
fn what_is_no_coded_datagram_is_refused() {
    let mut channel = Channel::new(0.5);
    let mut code = DatagramCode::default();
    for length in 0..600 {
        let mut bytes: Vec<u8> = (0..length).map(|_| channel.random() as u8).collect();
        let _ = code.decode(&mut bytes);
    }
    assert!(code.counters().damaged > 590, "{:?}", code.counters());
    let claims = |words: u32| {
        let words = [VERSION << 10 | words, 0].map(|word| golay::encode(word).to_be_bytes());
        let mut bytes = [&words[0][1..], &words[1][1..]].concat();
        bytes.extend_from_slice(&[0; 200]);
        DatagramCode::default().decode(&mut bytes).is_some()
    };
    assert!(claims(8) && !claims(9));
}

/// Every length up to that of a jumbo frame comes back, and the longest one fits.
#[test]
fn the_longest_datagram_fits_whatever_the_strength() {
    for room in [0, 6, 7, 38, 39, 260, 261, 294, 1232, 1452, 1472, 8972] {
        let longest = longest_datagram(room);
        let fits = |length: usize| HEADER + length + length.div_ceil(223) * 32 <= room;
        assert!(longest == 0 || fits(longest), "{room}: {longest}");
        assert!(!fits(longest + 1), "{room}: {longest}");
    }
}
