"""Rules by which a simulated figure agrees with the kernel's: fixed before the first run, the same for every case of a
kind.

A figure agrees if it lies within the spread of the kernel's own repetitions, since a difference inside that spread is
none, or if the medians are no farther apart than the rule allows.
"""

from __future__ import annotations

from dataclasses import dataclass

from baton.verdict import Tolerance


@dataclass(frozen=True)
class Quantity:
    """A quantity that is measured in each run."""

    key: str
    name: str
    unit: str


QUANTITIES = (
    Quantity("goodput_bps", "goodput", "bit/s"),
    Quantity("completion_s", "completion", "s"),
    Quantity("retransmitted", "retransmissions", ""),
    Quantity("spurious_retransmitted", "of these spurious", ""),
    Quantity("timeouts", "timeouts", ""),
    Quantity("longest_stall_s", "longest stall", "s"),
    Quantity("rto_before_s", "RTO before handover", "s"),
    Quantity("rto_after_s", "largest RTO after handover", "s"),
    Quantity("window_bytes", "window at handover", "B"),
    Quantity("stall_s", "first new byte after handover", "s"),
    Quantity("to_90_percent_s", "to 90 % of the new rate", "s"),
    Quantity("spurious_after", "spurious after handover", ""),
)

_RETRANSMISSIONS = Tolerance(relative=0.20, absolute=3)
#: By kind of case and quantity, without the number of the handover. What has no rule is shown and not judged.
RULES: dict[str, dict[str, Tolerance]] = {
    "steady": {"goodput_bps": Tolerance(relative=0.02), "retransmitted": _RETRANSMISSIONS},
    "loss": {"goodput_bps": Tolerance(relative=0.15), "retransmitted": _RETRANSMISSIONS},
    "soft": {
        "retransmitted": _RETRANSMISSIONS,
        "timeouts": Tolerance(),
        "to_90_percent_s": Tolerance(relative=0.25),
        "spurious_after": Tolerance(absolute=2),
    },
    "hard": {"retransmitted": _RETRANSMISSIONS, "stall_s": Tolerance(relative=0.15)},
}
