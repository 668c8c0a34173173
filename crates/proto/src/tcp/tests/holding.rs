//! ACKs that a gateway holds until the far end has the data.

use super::*;

/// Data in order needs no ACK meanwhile: it would be a duplicate, and three of them look like a loss (RFC 5681, section 3.2).
/// Nor does data beyond a gap: its SACK blocks would show all that waits as lost (RFC 6675, section 4).
#[test]
fn held_acks_are_neither_duplicates_nor_signs_of_a_loss() {
    for name in ["rfc", "linux-6"] {
        let mut solo = Solo::established(&profile(name));
        solo.connection.hold_acknowledgments();
        for number in 0..10 {
            let from = 1 + 1_000 * number;
            solo.at(200).receive(data(from, from + 1_000));
        }
        for from in [11_001, 12_001, 13_001, 14_001] {
            solo.receive(data(from, from + 1_000));
        }
        assert!(solo.sends().is_empty(), "{name}");
        assert!(solo.at(1_000).sends().is_empty(), "{name}");
        solo.connection.release_acknowledgments(4_000, false);
        assert_eq!(solo.sends(), ["ack 4001"], "{name}");
        // All before the gap: the sender may know of it.
        solo.connection.release_acknowledgments(10_000, false);
        assert_eq!(solo.sends(), ["ack 10001 sack 11001..15001"], "{name}");
        solo.receive(data(15_001, 16_001));
        assert_eq!(solo.sends(), ["ack 10001 sack 11001..16001"], "{name}");
        // An old segment comes again, since its sender knows nothing: it is answered.
        solo.receive(data(10_001, 11_001));
        assert!(solo.sends().is_empty(), "{name}");
        solo.receive(data(9_001, 10_001));
        assert_eq!(solo.sends(), ["ack 10001"], "{name}");
        solo.connection.release_acknowledgments(15_000, false);
        assert_eq!(solo.sends(), ["ack 15001"], "{name}");
    }
}
