//! Frame structure: the timing of all parts on the air.
//!
//! A superframe of 240 ms begins with 6.72 ms of random access (return link) and broadcast (forward link); four
//! multiframes of 58.32 ms follow (study D, section 2.1). All cells are synchronised.
//!
//! *Forward link.* A multiframe has 27 frames of 2.16 ms, 18 OFDM symbols each. The common control channel begins with
//! the 13th (the blocks of the specification are 1–6, 7–12, 13–21 and 22–27) and has up to eight. It maps the frames
//! from its end to the next common control channel, as [`Multiframe::forward_end`] counts them.
//!
//! *Return link.* A multiframe has 81 tile times of 0.72 ms, each with two tiles side by side: 162 places. The first
//! two are the synchronisation symbols before the dedicated control channel, so that 160 remain; the control channel
//! takes one tile per aircraft, always in pairs, at least one pair and at most 26. So 158 to 108 tiles carry data.
//! (This layout is derived: the published 160, 158 and 52 fit it and no other that we found.)
//!
//! Propagation (0.75 ms at 225 km) is not modelled.

use baton_proto::time::{Duration, Instant};

/// Duration of a superframe.
pub const SUPERFRAME: Duration = Duration::from_micros(240_000);
/// Duration of random access and broadcast at its beginning.
pub const ACCESS: Duration = Duration::from_micros(6_720);
/// Duration of a multiframe.
pub const MULTIFRAME: Duration = Duration::from_micros(58_320);
/// Multiframes in a superframe.
pub const MULTIFRAMES: u64 = 4;
/// Duration of one physical frame of the forward link.
pub const FORWARD_FRAME: Duration = Duration::from_micros(2_160);
/// Frames of the forward link in a multiframe.
pub const FORWARD_FRAMES: u32 = 27;
/// Frames before the common control channel.
pub const BEFORE_COMMON_CONTROL: u32 = 12;
/// Most frames of a common control channel.
pub const COMMON_CONTROL_MOST: u32 = 8;
/// Duration of a tile of the return link; two tiles lie side by side.
pub const TILE: Duration = Duration::from_micros(720);
/// Tiles in a multiframe without those of the synchronisation symbols.
pub const TILES: u32 = 160;
/// Most aircraft with a slot in one dedicated control channel.
pub const DEDICATED_MOST: u32 = 52;
/// Opportunities of random access in a superframe.
pub const ACCESS_OPPORTUNITIES: u64 = 2;

/// Returns the tiles left for data beside a dedicated control channel for so many aircraft.
pub const fn data_tiles(aircraft: u32) -> u32 {
    TILES - dedicated_tiles(aircraft)
}

/// Returns the tiles of the dedicated control channel.
pub const fn dedicated_tiles(aircraft: u32) -> u32 {
    let aircraft = if aircraft > DEDICATED_MOST {
        DEDICATED_MOST
    } else if aircraft == 0 {
        1
    } else {
        aircraft
    };
    2 * aircraft.div_ceil(2)
}

/// A multiframe by its number since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Multiframe(pub u64);

impl Multiframe {
    /// Returns the first multiframe whose common control channel begins after `now`.
    pub fn deciding_after(now: Instant) -> Multiframe {
        let mut multiframe = Multiframe::containing(now);
        while multiframe.common_control() <= now {
            multiframe = multiframe.next();
        }
        multiframe
    }

    /// Returns the first multiframe that begins after `now`.
    pub fn beginning_after(now: Instant) -> Multiframe {
        let multiframe = Multiframe::containing(now);
        // Random access precedes the first one of a superframe.
        if multiframe.start() > now {
            multiframe
        } else {
            multiframe.next()
        }
    }

    /// Returns the latest multiframe that has begun by `now`, or the first of a run.
    pub fn containing(now: Instant) -> Multiframe {
        let superframe = now.as_nanos() / SUPERFRAME.as_nanos();
        let within = now.saturating_since(superframe_start(superframe) + ACCESS);
        let part = (within.as_nanos() / MULTIFRAME.as_nanos()).min(MULTIFRAMES - 1);
        Multiframe(superframe * MULTIFRAMES + part)
    }

    /// Returns the next multiframe.
    pub const fn next(self) -> Multiframe {
        Multiframe(self.0 + 1)
    }

    /// Returns the superframe of the multiframe.
    pub const fn superframe(self) -> u64 {
        self.0 / MULTIFRAMES
    }

    /// Returns its beginning.
    pub fn start(self) -> Instant {
        let within = MULTIFRAME.saturating_mul(self.0 % MULTIFRAMES);
        superframe_start(self.superframe()) + ACCESS + within
    }

    /// Returns the beginning of its common control channel: the base station decides then.
    pub fn common_control(self) -> Instant {
        self.start() + FORWARD_FRAME.saturating_mul(u64::from(BEFORE_COMMON_CONTROL))
    }

    /// Returns the end of the forward link's frame number `index`, counted from the beginning of this common control
    /// channel.
    pub fn forward_end(self, index: u32) -> Instant {
        let place = BEFORE_COMMON_CONTROL + index;
        let multiframe = Multiframe(self.0 + u64::from(place / FORWARD_FRAMES));
        let frames = u64::from(place % FORWARD_FRAMES) + 1;
        multiframe.start() + FORWARD_FRAME.saturating_mul(frames)
    }

    /// Returns the end of the forward link's data slot that this common control channel maps.
    pub fn forward_slot_end(self) -> Instant {
        self.next().common_control()
    }

    /// Returns the end of the return link's data slot, which is that of the multiframe.
    pub fn return_slot_end(self) -> Instant {
        self.start() + MULTIFRAME
    }

    /// Returns the end of data tile number `tile`, if so many aircraft share the dedicated control channel.
    pub fn tile_end(self, aircraft: u32, tile: u32) -> Instant {
        self.tile_time_end((dedicated_tiles(aircraft) + tile) / 2)
    }

    /// Returns the end of slot number `slot` of the dedicated control channel.
    pub fn dedicated_end(self, slot: u32) -> Instant {
        self.tile_time_end(slot / 2)
    }

    /// Returns its beginning.
    pub fn dedicated_start(self, slot: u32) -> Instant {
        self.start() + TILE.saturating_mul(u64::from(slot / 2) + 1)
    }

    /// Returns the end of a tile time, counted after that of the synchronisation symbols.
    fn tile_time_end(self, number: u32) -> Instant {
        self.start() + TILE.saturating_mul(u64::from(number) + 2)
    }
}

/// Returns the beginning of a superframe.
pub fn superframe_start(superframe: u64) -> Instant {
    Instant::ZERO + SUPERFRAME.saturating_mul(superframe)
}

/// Returns the first superframe that begins at `at` or later.
pub fn superframe_from(at: Instant) -> u64 {
    at.as_nanos().div_ceil(SUPERFRAME.as_nanos())
}

/// Returns the beginning of an opportunity of random access, counted since the start of the run.
pub fn access_opportunity(number: u64) -> Instant {
    let within = ACCESS.as_nanos() / ACCESS_OPPORTUNITIES * (number % ACCESS_OPPORTUNITIES);
    superframe_start(number / ACCESS_OPPORTUNITIES) + Duration::from_nanos(within)
}

/// Returns the number of the opportunity that begins at `at`.
pub fn opportunity_at(at: Instant) -> u64 {
    let superframe = at.as_nanos() / SUPERFRAME.as_nanos();
    let first = superframe * ACCESS_OPPORTUNITIES;
    first + u64::from(access_opportunity(first) < at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_multiframes_and_the_access_slot_are_a_superframe() {
        // 6.72 + 4 x 58.32 = 240 ms; 27 frames and 81 tile times of a multiframe.
        assert_eq!(Multiframe(4).start(), Instant::from_nanos(246_720_000));
        assert_eq!(Multiframe(3).start() + MULTIFRAME, superframe_start(1));
        assert_eq!(FORWARD_FRAME.saturating_mul(27), MULTIFRAME);
        assert_eq!(TILE.saturating_mul(81), MULTIFRAME);
        assert_eq!(
            Multiframe(0).tile_end(52, 107),
            superframe_start(0) + ACCESS + MULTIFRAME
        );
        assert_eq!(
            Multiframe(0).dedicated_end(1),
            Instant::from_nanos(6_720_000 + 1_440_000)
        );
    }

    #[test]
    fn the_mapped_stretch_goes_on_in_the_next_multiframe_and_skips_the_broadcast() {
        let last = Multiframe(3);
        // Frame 14 of the count is the last of its multiframe, frame 15 the first of the next superframe's.
        assert_eq!(last.forward_end(14), superframe_start(1));
        let expected = superframe_start(1) + ACCESS + FORWARD_FRAME;
        assert_eq!(last.forward_end(15), expected);
        assert_eq!(last.forward_end(26), last.next().common_control());
    }

    #[test]
    fn a_moment_lies_in_a_multiframe_and_the_next_decision_is_after_it() {
        for nanoseconds in (0..500_000_000).step_by(1_234_567) {
            let now = Instant::from_nanos(nanoseconds);
            let multiframe = Multiframe::deciding_after(now);
            assert!(multiframe.common_control() > now);
            let before = multiframe.0.checked_sub(1).map(Multiframe);
            assert!(before.is_none_or(|before| before.common_control() <= now));
        }
        assert_eq!(superframe_from(Instant::from_millis(240)), 1);
        assert_eq!(superframe_from(Instant::from_millis(241)), 2);
        assert_eq!(access_opportunity(3), Instant::from_nanos(243_360_000));
    }

    #[test]
    fn data_tiles_by_aircraft() {
        assert_eq!([1, 2, 3, 52, 90].map(data_tiles), [158, 158, 156, 108, 108]);
    }
}
