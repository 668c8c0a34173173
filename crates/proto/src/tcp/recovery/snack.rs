//! Repairs requested by SCPS-TP's SNACK, see [`scps`](super::super::scps).

use super::{Common, Flow, Phase, RecoveryState};
use crate::time::{Duration, Instant};
use crate::wire::tcp::Snack;

impl RecoveryState {
    /// Returns true if repairs follow a SNACK, and ignore the window: the missing data has left the network, and as
    /// much may enter.
    pub(super) fn repairs_by_snack(&self, common: &Common) -> bool {
        common.negotiated.snack_unit.is_some() && self.phase == Phase::Fast
    }

    /// Takes in a SNACK, counted from the acknowledgment number `position`.
    pub(in crate::tcp) fn take_snack(
        &mut self,
        flow: &mut Flow,
        common: &mut Common,
        now: Instant,
        position: u64,
        snack: Snack,
    ) {
        let agreed = common.negotiated.snack_unit.is_some();
        if !agreed || position != flow.space.unacknowledged() {
            return;
        }
        let repaired = match self.phase {
            Phase::Open => self.is_past_guard(flow, common),
            Phase::Fast => true,
            Phase::AfterTimeout => false, // All of it is being retransmitted already.
        };
        if !repaired {
            return;
        }
        let unit = u64::from(common.negotiated.peer_segment_size);
        let start = position + u64::from(snack.offset) * unit;
        let hole = (start, start + u64::from(snack.size) * unit);
        let deviations = flow.rtt.variation().saturating_mul(4);
        let patience = flow.rtt.smoothed().unwrap_or(Duration::ZERO) + deviations;
        let any = flow.space.sent.mark_hole_lost(hole, now, patience);
        if any && self.phase == Phase::Open {
            self.enter_fast_recovery(flow, common, now, 1);
        }
    }
}
