//! Quantities recorded over time, and their names in tables.

/// A quantity that changes during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Congestion window of a flow's sender, in bytes.
    CongestionWindow,
    /// Slow-start threshold of a flow's sender, in bytes.
    SlowStartThreshold,
    /// A round-trip time sample, in seconds.
    RoundTripTime,
    /// Smoothed round-trip time, in seconds.
    SmoothedRoundTripTime,
    /// Retransmission timeout, in seconds, backoff included.
    RetransmissionTimeout,
    /// Bytes sent and not acknowledged.
    BytesInFlight,
    /// Payload bytes delivered in order to the application since the start.
    DeliveredBytes,
    /// Packets waiting in a link direction's queue.
    QueuePackets,
    /// Bytes waiting in a link direction's queue.
    QueueBytes,
    /// Access link in use by a mobile, as its number in the scenario; −1 for none.
    AttachedLink,
    /// Sending rate of an AeroTP sender, in bit/s of IP packets.
    SendingRate,
    /// Rate of the slots assigned to a terminal on demand in a superframe, in bit/s.
    AssignedRate,
    /// Rate of the slots requested by a terminal on demand in a superframe, in bit/s.
    RequestedRate,
    /// Parity of a link's codewords, in bytes, where the code follows the bit error rate.
    Parity,
}

impl Quantity {
    /// Every quantity, in the order of their numbers.
    pub const ALL: [Quantity; 14] = [
        Quantity::CongestionWindow,
        Quantity::SlowStartThreshold,
        Quantity::RoundTripTime,
        Quantity::SmoothedRoundTripTime,
        Quantity::RetransmissionTimeout,
        Quantity::BytesInFlight,
        Quantity::DeliveredBytes,
        Quantity::QueuePackets,
        Quantity::QueueBytes,
        Quantity::AttachedLink,
        Quantity::SendingRate,
        Quantity::AssignedRate,
        Quantity::RequestedRate,
        Quantity::Parity,
    ];

    /// Returns its name in the `series` column.
    pub const fn name(self) -> &'static str {
        match self {
            Quantity::CongestionWindow => "congestion window",
            Quantity::SlowStartThreshold => "slow-start threshold",
            Quantity::RoundTripTime => "round-trip time",
            Quantity::SmoothedRoundTripTime => "smoothed round-trip time",
            Quantity::RetransmissionTimeout => "retransmission timeout",
            Quantity::BytesInFlight => "bytes in flight",
            Quantity::DeliveredBytes => "delivered bytes",
            Quantity::QueuePackets => "queue packets",
            Quantity::QueueBytes => "queue bytes",
            Quantity::AttachedLink => "attached link",
            Quantity::SendingRate => "sending rate",
            Quantity::AssignedRate => "assigned rate",
            Quantity::RequestedRate => "requested rate",
            Quantity::Parity => "parity",
        }
    }

    /// Returns its unit: `B`, `s`, `packets`, `bit/s`, or empty for a plain number.
    pub const fn unit(self) -> &'static str {
        match self {
            Quantity::CongestionWindow
            | Quantity::SlowStartThreshold
            | Quantity::BytesInFlight
            | Quantity::DeliveredBytes
            | Quantity::QueueBytes
            | Quantity::Parity => "B",
            Quantity::RoundTripTime
            | Quantity::SmoothedRoundTripTime
            | Quantity::RetransmissionTimeout => "s",
            Quantity::QueuePackets => "packets",
            Quantity::AttachedLink => "",
            Quantity::SendingRate | Quantity::AssignedRate | Quantity::RequestedRate => "bit/s",
        }
    }

    /// Returns one sentence for the dictionary that is stored in the file.
    pub const fn description(self) -> &'static str {
        match self {
            Quantity::CongestionWindow => "Congestion window of the flow's sender",
            Quantity::SlowStartThreshold => "Slow-start threshold of the flow's sender",
            Quantity::RoundTripTime => "Round-trip time measured at this moment",
            Quantity::SmoothedRoundTripTime => "Smoothed round-trip time (RFC 6298)",
            Quantity::RetransmissionTimeout => "Retransmission timeout, backoff included",
            Quantity::BytesInFlight => "Bytes sent and not acknowledged",
            Quantity::DeliveredBytes => {
                "Payload bytes delivered in order to the application since the start"
            }
            Quantity::QueuePackets => "Packets waiting in the queue of the link's direction",
            Quantity::QueueBytes => "Bytes waiting in the queue of the link's direction",
            Quantity::AttachedLink => {
                "Access link in use by the mobile, as its number in the scenario; -1 is none"
            }
            Quantity::SendingRate => {
                "Rate at which the flow's AeroTP or TP++ sender sends, with IP headers"
            }
            Quantity::AssignedRate => {
                "Rate of the slots assigned to the terminal on demand in this superframe"
            }
            Quantity::RequestedRate => {
                "Rate of the slots that the terminal on demand asks for in this superframe"
            }
            Quantity::Parity => {
                "Parity of each codeword on a link whose code follows the bit error rate"
            }
        }
    }

    /// Returns true if each value is an event of its own. The others are states, which hold until their next row.
    pub const fn is_sample(self) -> bool {
        matches!(self, Quantity::RoundTripTime)
    }
}

/// Quantities that a run records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantities(u16);

impl Quantities {
    /// No quantity.
    pub const NONE: Quantities = Quantities(0);
    /// Every quantity.
    pub const ALL: Quantities = Quantities((1 << Quantity::ALL.len()) - 1);

    /// Returns true if a quantity is among them.
    #[inline]
    pub const fn contains(self, quantity: Quantity) -> bool {
        self.0 & (1 << quantity as u16) != 0
    }

    /// Returns true if there is none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Quantity> for Quantities {
    fn from_iter<I: IntoIterator<Item = Quantity>>(quantities: I) -> Quantities {
        let add = |set, quantity| set | 1 << quantity as u16;
        Quantities(quantities.into_iter().fold(0, add))
    }
}

#[cfg(test)]
mod tests {
    use super::{Quantities, Quantity};

    #[test]
    fn numbers_follow_the_list() {
        for (number, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, number);
        }
    }

    #[test]
    fn a_set_has_what_it_was_made_of() {
        let chosen = [Quantity::CongestionWindow, Quantity::Parity];
        let set: Quantities = chosen.into_iter().collect();
        for quantity in Quantity::ALL {
            assert_eq!(set.contains(quantity), chosen.contains(&quantity));
            assert!(Quantities::ALL.contains(quantity) && !Quantities::NONE.contains(quantity));
        }
        assert_eq!(
            Quantity::ALL.into_iter().collect::<Quantities>(),
            Quantities::ALL
        );
        assert!(Quantities::NONE.is_empty() && !set.is_empty());
    }
}
