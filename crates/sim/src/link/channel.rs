//! Channel effects on packets: shadowing, burst loss, packet errors, bit errors, in this order. The first cause that
//! loses a packet is the reported one; none influences the draws of another.
//!
//! The state of the burst model is a function of (seed, link, direction, time), that of shadowing one of (seed, link,
//! time), and every other draw one of (seed, link, direction, packet number), so that compared runs meet the same channel.

use super::config::{ChannelConfig, Damaged, DirectionConfig, GilbertElliott, Shadowing};
use super::direction::stream_name;
use super::queue::Item;
use super::{DropReason, End, Outcome};
use crate::rng::{Keyed, Seed, Stream};
use baton_proto::fec::meter::ErrorMeter;
use baton_proto::time::{Duration, Instant};

/// One direction's channel, if it does anything to packets.
#[derive(Debug)]
pub(super) struct Channel {
    config: ChannelConfig,
    shadow: Option<Shadow>,
    burst: Option<BurstState>,
    burst_draws: Keyed,
    packet_draws: Keyed,
    bit_draws: Keyed,
    /// Meter of the decoder, if there is a code.
    meter: ErrorMeter,
}

impl Channel {
    /// Creates the channel of a direction of `link`; `None` if every packet passes undamaged. Draws depend on `seed`
    /// and on the names of link and direction. `before` is the previous channel, if any: an unchanged burst model keeps
    /// its state, and a changed one has the state of a model run from the start.
    pub fn new(
        config: &DirectionConfig,
        (link, from): (&str, End),
        seed: Seed,
        before: Option<Box<Channel>>,
    ) -> Option<Box<Channel>> {
        let name = stream_name(from, link, "channel");
        let delay = config.delay;
        let recorded_loss = (config.trace.as_ref()).is_some_and(|trace| trace.loss.is_some());
        let config = config.channel;
        let clean = config.burst.is_none()
            && config.shadowing.is_none()
            && config.packet_error_rate <= 0.0
            && config.bit_error_rate <= 0.0
            && config.coding.is_none();
        if clean && !recorded_loss {
            return None;
        }
        let meter = before
            .as_ref()
            .map_or_else(ErrorMeter::default, |before| before.meter);
        let burst = match before {
            Some(before) if before.config.burst == config.burst => before.burst,
            _ => config
                .burst
                .map(|model| BurstState::new(model, seed.stream(&format!("{name} burst state")))),
        };
        let shadow = config.shadowing.map(|model| {
            let reached_after = match from {
                End::A => delay,
                End::B => Duration::ZERO,
            };
            // Keyed by the link, not by the direction.
            Shadow::new(
                model,
                &format!("link {link} shadowing"),
                seed,
                reached_after,
            )
        });
        let draws = |what: &str| seed.keyed(&format!("{name} {what}"));
        Some(Box::new(Channel {
            config,
            shadow,
            burst,
            burst_draws: draws("burst loss"),
            packet_draws: draws("packet errors"),
            bit_draws: draws("bit errors"),
            meter,
        }))
    }

    /// Decides the fate of a packet whose last bit leaves the transmitter at `at`, which never decreases from call to
    /// call. `recorded_loss` is a loss probability that acts like the burst model's.
    pub fn verdict(
        &mut self,
        at: Instant,
        item: Item,
        attempt: u32,
        recorded_loss: f64,
    ) -> Outcome {
        let key = draw_key(item.number, attempt);
        if self.shadow.as_mut().is_some_and(|shadow| shadow.hides(at)) {
            return Outcome::Dropped(DropReason::Shadowing);
        }
        let passes = 1.0 - self.burst.as_mut().map_or(0.0, |burst| burst.loss_at(at));
        if is_hit(self.burst_draws, key, 1.0 - passes * (1.0 - recorded_loss)) {
            return Outcome::Dropped(DropReason::BurstLoss);
        }
        if is_hit(self.packet_draws, key, self.config.packet_error_rate) {
            return Outcome::Dropped(DropReason::ChannelError);
        }
        let (is_damaged, bit_errors) = self.receive(key, item.length);
        if is_damaged && self.config.damaged == Damaged::Dropped {
            return Outcome::Dropped(DropReason::ChannelError);
        }
        let bit_errors = bit_errors.into();
        Outcome::Delivered {
            bit_errors,
            exit: None,
        }
    }

    /// Returns true if a packet is damaged behind the decoder, if there is one, and its wrong bits.
    fn receive(&mut self, key: u64, length: u32) -> (bool, Vec<u32>) {
        let code = self.config.coding.map(|coding| coding.code);
        let bytes = code.map_or(length, |code| code.coded(length));
        let bits = u64::from(bytes) * 8;
        let wrong = bit_errors(self.bit_draws, key, self.config.bit_error_rate, bits);
        let Some(code) = code else {
            return (!wrong.is_empty(), wrong);
        };
        let decoded = code.decode(length, &wrong);
        self.meter.note(bits as f64, decoded.counted.into());
        (decoded.failed, decoded.wrong)
    }

    /// Returns the bit error rate that the decoder measures, if there is one.
    pub fn bit_error_rate(&self) -> Option<f64> {
        self.config.coding.map(|_| self.meter.rate())
    }
}

/// Times in which the mobile at end B has no line of sight.
#[derive(Debug)]
struct Shadow {
    /// The same shadows for each antenna, with the time by which it meets them later than the last one.
    antennas: Box<[(BurstState, Duration)]>,
    /// Delay from the transmitter to the mobile.
    reached_after: Duration,
}

impl Shadow {
    /// Creates the shadows, drawn by this name.
    fn new(model: Shadowing, name: &str, seed: Seed, reached_after: Duration) -> Shadow {
        let antenna = |ahead: u32| {
            let state = BurstState::new(model.states(), seed.stream(name));
            (state, model.antennas_apart.saturating_mul(u64::from(ahead)))
        };
        Shadow {
            antennas: (0..model.antennas).map(antenna).collect(),
            reached_after,
        }
    }

    /// Returns true if a packet whose last bit leaves the transmitter at `left` is in a shadow at the mobile.
    fn hides(&mut self, left: Instant) -> bool {
        let at = left + self.reached_after;
        let mut antennas = self.antennas.iter_mut();
        antennas.all(|(state, ahead)| state.loss_at(at + *ahead) > 0.0)
    }
}

impl Shadowing {
    /// Returns an equivalent burst model, which loses everything in its bad state.
    fn states(self) -> GilbertElliott {
        GilbertElliott {
            mean_good: self.mean_clear,
            mean_bad: self.mean_shadow,
            loss_good: 0.0,
            loss_bad: 1.0,
        }
    }
}

/// Returns the key of the draws for one attempt at one packet.
pub(super) fn draw_key(number: u64, attempt: u32) -> u64 {
    (number << 8) | u64::from(attempt & 0xFF)
}

fn is_hit(draws: Keyed, key: u64, probability: f64) -> bool {
    probability > 0.0 && draws.uniform(key) < probability
}

/// Returns the positions of flipped bits among `bits`, each flipped independently with `rate`: the gaps between them
/// are geometrically distributed.
pub(super) fn bit_errors(draws: Keyed, key: u64, rate: f64, bits: u64) -> Vec<u32> {
    let mut positions = Vec::new();
    if rate <= 0.0 || rate.is_nan() {
        return positions;
    }
    let per_bit = libm::log1p(-rate.min(1.0));
    let mut stream = draws.stream(key);
    let mut position = 0;
    loop {
        let gap = libm::log1p(-stream.uniform()) / per_bit;
        position = u64::saturating_add(position, gap as u64);
        if position >= bits {
            return positions;
        }
        positions.push(position as u32);
        position += 1;
    }
}

/// State of the Gilbert–Elliott model, advanced in time.
#[derive(Debug)]
struct BurstState {
    model: GilbertElliott,
    stream: Stream,
    bad: bool,
    /// End of the present stay; `None` means never.
    until: Option<Instant>,
}

impl BurstState {
    /// Creates the model; its state at the start of the run is drawn with the stationary probabilities.
    fn new(model: GilbertElliott, mut stream: Stream) -> BurstState {
        let (good, bad) = (
            model.mean_good.as_nanos() as f64,
            model.mean_bad.as_nanos() as f64,
        );
        let bad = stream.uniform() * (good + bad) < bad;
        let mut state = BurstState {
            model,
            stream,
            bad,
            until: None,
        };
        // Without stays in one state the other lasts forever.
        if !model.mean_good.is_zero() && !model.mean_bad.is_zero() {
            state.stay_from(Instant::ZERO);
        }
        state
    }

    fn stay_from(&mut self, start: Instant) {
        let mean = if self.bad {
            self.model.mean_bad
        } else {
            self.model.mean_good
        };
        let stay = self.stream.exponential(mean.as_nanos() as f64);
        // At least a nanosecond, so that the walk terminates.
        self.until = Some(start + Duration::from_nanos((stay as u64).max(1)));
    }

    fn loss_at(&mut self, at: Instant) -> f64 {
        while let Some(end) = self.until.filter(|&end| end <= at) {
            self.bad = !self.bad;
            self.stay_from(end);
            if self.until == Some(end) {
                self.until = None;
            }
        }
        if self.bad {
            self.model.loss_bad
        } else {
            self.model.loss_good
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: GilbertElliott = GilbertElliott {
        mean_good: Duration::from_secs(10),
        mean_bad: Duration::from_secs(4),
        loss_good: 0.0,
        loss_bad: 1.0,
    };

    fn state(seed: u64) -> BurstState {
        BurstState::new(MODEL, Seed(seed).stream("test"))
    }

    #[test]
    fn gaps_between_bit_errors_have_the_mean_of_the_geometric_distribution() {
        let rate = 1e-3;
        let draws = Seed(5).keyed("test");
        let bits = 12_000;
        let packets = 5_000;
        let counts: Vec<f64> = (0..packets)
            .map(|key| bit_errors(draws, key, rate, bits))
            .inspect(|positions| assert!(positions.windows(2).all(|pair| pair[0] < pair[1])))
            .map(|positions| positions.len() as f64)
            .collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        // Binomial: mean 12, variance 11.99; the standard error of the mean is 0.049.
        assert!((mean - 12.0).abs() < 0.2, "{mean}");
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!((variance - 11.988).abs() < 1.0, "{variance}");
    }

    #[test]
    fn packets_pass_unharmed_with_the_probability_of_independent_bits() {
        let draws = Seed(6).keyed("test");
        let clean = (0..20_000)
            .filter(|&key| bit_errors(draws, key, 1e-4, 12_000).is_empty())
            .count();
        // (1 − 1e-4)^12000 = 0.30118; standard error 0.0032.
        assert!((clean as f64 / 20_000.0 - 0.30118).abs() < 0.013, "{clean}");
        assert_eq!(bit_errors(draws, 1, 1.0, 3), [0, 1, 2]);
        assert!(bit_errors(draws, 1, 0.0, 12_000).is_empty());
    }

    #[test]
    fn bursts_have_the_model_s_share_of_time_and_mean_length() {
        let mut burst = state(1);
        let seconds = 400_000;
        let mut bad = 0_u32;
        let mut bursts = 0_u32;
        let mut before = 0.0;
        // Sampled every 10 ms, as packets would.
        for tick in 0..seconds * 100 {
            let loss = burst.loss_at(Instant::from_millis(tick * 10));
            bad += u32::from(loss > 0.5);
            bursts += u32::from(loss > before);
            before = loss;
        }
        let share = f64::from(bad) / (seconds as f64 * 100.0);
        let length = f64::from(bad) / 100.0 / f64::from(bursts);
        // 28 600 cycles: standard errors are about 0.0017 and 0.024 s.
        assert!((share - 4.0 / 14.0).abs() < 0.007, "{share}");
        assert!((length - 4.0).abs() < 0.1, "{length}");
    }

    #[test]
    fn shadows_have_their_means_and_are_the_same_for_both_directions() {
        let mut config = super::super::kinds::geo::link("sky").down.clone();
        config.channel.shadowing = Some(Shadowing {
            mean_clear: Duration::from_secs(4),
            mean_shadow: Duration::from_millis(200),
            antennas: 1,
            antennas_apart: Duration::ZERO,
        });
        let channel = |from| Channel::new(&config, ("sky", from), Seed(3), None).unwrap();
        let (mut down, mut up) = (channel(End::A), channel(End::B));
        let item = Item {
            packet: super::super::tests::packet_ids(1)[0],
            length: 1500,
            number: 0,
            offered_at: Instant::ZERO,
        };
        let lost = |channel: &mut Channel, at| {
            let outcome = channel.verdict(at, item, 0, 0.0);
            assert!(matches!(
                outcome,
                Outcome::UNDAMAGED | Outcome::Dropped(DropReason::Shadowing)
            ));
            outcome != Outcome::UNDAMAGED
        };
        let (mut hidden, mut shadows, mut before) = (0_u32, 0_u32, false);
        let ticks = 4_000_000_u64;
        // Every 5 ms at the mobile; what comes down left the ground 290 ms before.
        for tick in 58..ticks + 58 {
            let at = Instant::from_millis(tick * 5);
            let now = lost(&mut up, at);
            let came = at.saturating_since(Instant::ZERO + config.delay);
            assert_eq!(lost(&mut down, Instant::ZERO + came), now);
            hidden += u32::from(now);
            shadows += u32::from(now && !before);
            before = now;
        }
        // 20 000 s are some 4762 cycles of 4.2 s. A mean of so many exponential stays is off by more than four times
        // 1/√4762, 5.8 %, with a probability of 6e-5. A shadow is seen with the probability that a tick falls in it, of
        // which the mean is (1 − exp(−5/200)) · 200/5 = 0.9876.
        let count = f64::from(shadows) / 0.9876;
        let mean = f64::from(hidden) * 0.005 / count;
        assert!((mean - 0.2).abs() < 0.2 * 0.058, "{mean}");
        assert!((count - 4762.0).abs() < 4762.0 * 0.058, "{count}");
    }

    #[test]
    fn two_antennas_are_in_a_shadow_as_often_as_the_closed_form_says() {
        // A stationary alternation of exponential stays is in the bad state at two moments `t` apart with probability
        // p (p + (1 − p) exp(−t (1/clear + 1/shadow))), p being its share.
        let (clear, shadow) = (2.0_f64, 0.5_f64);
        let share = shadow / (clear + shadow);
        for apart in [0.0_f64, 0.1, 0.5, 10.0] {
            let model = Shadowing {
                mean_clear: Duration::from_secs_f64(clear),
                mean_shadow: Duration::from_secs_f64(shadow),
                antennas: 2,
                antennas_apart: Duration::from_secs_f64(apart),
            };
            let mut shadows = Shadow::new(model, "test", Seed(8), Duration::ZERO);
            let ticks = 4_000_000_u64;
            let hidden = (0..ticks).filter(|tick| shadows.hides(Instant::from_millis(tick * 10)));
            let found = hidden.count() as f64 / ticks as f64;
            let together = (-apart * (1.0 / clear + 1.0 / shadow)).exp();
            let expected = share * (share + (1.0 - share) * together);
            // 16 000 cycles: the share of a state is off by about 1.4 % of itself.
            assert!(
                (found / expected - 1.0).abs() < 0.06,
                "{apart}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn the_state_is_a_function_of_time_and_not_of_the_packets() {
        let mut often = state(9);
        let mut seldom = state(9);
        for second in 0..1000 {
            let at = Instant::from_secs(second);
            for tick in 0..10 {
                often.loss_at(at + Duration::from_millis(tick * 90));
            }
            if second % 37 == 0 {
                let mut fresh = state(9);
                assert_eq!(
                    seldom.loss_at(at + Duration::from_millis(900)),
                    fresh.loss_at(at + Duration::from_millis(900))
                );
            }
        }
        let end = Instant::from_secs(1001);
        assert_eq!(often.loss_at(end), seldom.loss_at(end));
        assert_eq!(often.until, seldom.until);
    }
}
