//! Capacity of a link at best: the mean time per packet when the link is never idle.

use super::End;
use super::config::{Access, DcfConfig, DirectionConfig, LinkConfig, Medium};
use super::dcf::{ACKNOWLEDGMENT_BITS, DIFS, HEADER_BYTES, MINIMUM_WINDOW, SIFS, SLOT};
use baton_proto::rate::DataRate;
use baton_proto::time::Duration;

impl LinkConfig {
    /// Returns the mean time from one packet of `length` bytes to the next in a direction that is never idle and loses
    /// nothing. For a recorded link it follows from the recording's mean rate; on a WiFi link it assumes no other
    /// sender (Jun, Peddabachagari and Sichitiu 2003, section 3). `None` if nothing passes.
    pub fn service_time(&self, from: End, length: u32) -> Option<Duration> {
        let direction = match from {
            End::A => &self.down,
            End::B => &self.up,
        };
        match &self.medium {
            // In a mobile ad hoc network, of its first hop.
            Medium::FullDuplex | Medium::AdHoc(_) => {
                let recorded = direction.trace.as_ref().and_then(|trace| trace.mean_rate());
                let rate = recorded.unwrap_or(direction.rate);
                let time = rate.transmission_time(direction.line_bits(length))?;
                match &direction.access {
                    Access::Slots(slots) => Some(slots.service_time(time)),
                    Access::Always | Access::OnDemand => Some(time),
                }
            }
            Medium::Dcf(dcf) => exchange_time(*dcf, direction, length),
        }
    }
}

/// Returns the sum of DIFS, the mean first backoff, the frame, SIFS and the acknowledgment.
fn exchange_time(dcf: DcfConfig, direction: &DirectionConfig, length: u32) -> Option<Duration> {
    let bits = direction.framing.bits(length.saturating_add(HEADER_BYTES));
    let frame = dcf.preamble + direction.rate.transmission_time(bits)?;
    let rate: DataRate = dcf.control_rate;
    let acknowledgment = dcf.preamble + rate.transmission_time(ACKNOWLEDGMENT_BITS)?;
    let backoff = Duration::from_nanos(SLOT.as_nanos() * u64::from(MINIMUM_WINDOW) / 2);
    Some(DIFS + backoff + frame + SIFS + acknowledgment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::kinds::{gsm, wifi};

    #[test]
    fn gsm_takes_a_tenth_of_a_second_for_92_bytes() {
        // (92 + 8) B x 10 bit / 9600 bit/s.
        let time = gsm::link("gsm").service_time(End::A, 92).unwrap();
        assert_eq!(time, Duration::from_nanos(104_166_667));
    }

    #[test]
    fn wifi_is_bounded_by_its_medium_access() {
        // 50 + 310 + (192 + 1536 x 8 / 11) + 10 + (192 + 56) microseconds.
        let time = wifi::link("wifi").service_time(End::A, 1500).unwrap();
        assert!((time.as_secs_f64() * 1e6 - 1927.09).abs() < 0.01, "{time}");
    }
}
