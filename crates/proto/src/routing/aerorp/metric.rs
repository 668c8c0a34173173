//! AeroRP's metric: the time to intercept.

/// Worth of a node as the next holder of a datagram; the least is the best.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rank {
    /// Time to intercept in seconds; infinite for a node that does not come nearer.
    pub time_to_intercept_s: f64,
    /// Distance to the destination in metres, which decides between equal times.
    pub distance_m: f64,
}

/// Returns the rank of a node at `position_m` that flies with `velocity_m_s`.
///
/// The time to intercept is the time until the node has the destination in range if both fly on straight:
/// (distance − range) / (speed at which it approaches), 0 in range, and infinite if it does not approach (Jabbar and
/// Sterbenz 2009; Peters et al. 2011). The speed is the component of the relative velocity along the line between the
/// two, as it is now.
pub fn rank(
    (position_m, velocity_m_s): ([f64; 3], [f64; 3]),
    (destination_m, destination_m_s): ([f64; 3], [f64; 3]),
    range_m: f64,
) -> Rank {
    let way: [f64; 3] = core::array::from_fn(|axis| destination_m[axis] - position_m[axis]);
    let distance_m = length(way);
    let closing = |axis: usize| way[axis] * (velocity_m_s[axis] - destination_m_s[axis]);
    let approach_m_s = (0..3).map(closing).sum::<f64>() / distance_m;
    let time_to_intercept_s = if distance_m <= range_m {
        0.0
    } else if approach_m_s > 0.0 {
        (distance_m - range_m) / approach_m_s
    } else {
        f64::INFINITY
    };
    Rank {
        time_to_intercept_s,
        distance_m,
    }
}

/// Returns the distance between two positions.
pub fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    length(core::array::from_fn(|axis| a[axis] - b[axis]))
}

fn length(vector: [f64; 3]) -> f64 {
    vector.iter().map(|part| part * part).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: ([f64; 3], [f64; 3]) = ([0.0; 3], [0.0; 3]);

    #[test]
    fn the_time_to_intercept_by_hand() {
        // 127.8 km away, 100 km beyond the range; head on at 200 m/s: 500 s.
        let head_on = rank(
            ([127_800.0, 0.0, 0.0], [-200.0, 0.0, 0.0]),
            STATION,
            27_800.0,
        );
        assert_eq!(head_on.time_to_intercept_s, 500.0);
        assert_eq!(head_on.distance_m, 127_800.0);
        // At 60 degrees to the line only half of the speed counts.
        let angle = core::f64::consts::FRAC_PI_3;
        let aslant = [-200.0 * libm::cos(angle), 200.0 * libm::sin(angle), 0.0];
        let aslant = rank(([127_800.0, 0.0, 0.0], aslant), STATION, 27_800.0);
        assert!((aslant.time_to_intercept_s - 1000.0).abs() < 1e-9);
        // Both fly towards each other: 2400 m/s, 41.67 s.
        let apart = [127_800.0, 0.0, 0.0];
        let both = rank(
            (apart, [-1200.0, 0.0, 0.0]),
            ([0.0; 3], [1200.0, 0.0, 0.0]),
            27_800.0,
        );
        assert!((both.time_to_intercept_s - 100e3 / 2400.0).abs() < 1e-9);
    }

    #[test]
    fn a_node_that_does_not_come_nearer_is_last_and_one_in_range_first() {
        let far = [50e3, 0.0, 0.0];
        for velocity in [[0.0; 3], [200.0, 0.0, 0.0], [0.0, 200.0, 0.0]] {
            let away = rank((far, velocity), STATION, 27_800.0);
            assert_eq!(away.time_to_intercept_s, f64::INFINITY);
        }
        let in_range = rank(([27_800.0, 0.0, 0.0], [900.0, 0.0, 0.0]), STATION, 27_800.0);
        assert_eq!(in_range.time_to_intercept_s, 0.0);
        let coming = rank((far, [-1.0, 0.0, 0.0]), STATION, 27_800.0);
        assert!(in_range < coming && coming < rank((far, [0.0; 3]), STATION, 27_800.0));
        // Equal times: the nearer.
        assert!(
            rank(([40e3, 0.0, 0.0], [0.0; 3]), STATION, 27_800.0)
                < rank((far, [0.0; 3]), STATION, 27_800.0)
        );
        // At the destination itself.
        assert_eq!(rank(STATION, STATION, 1.0).time_to_intercept_s, 0.0);
    }
}
