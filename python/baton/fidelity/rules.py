"""Rules by which a simulated figure agrees with the kernel's: fixed before the first run, the same for every case of a
kind.

A figure agrees if it lies within the spread of the kernel's own repetitions, since a difference inside that spread is
none, or if the medians are no farther apart than the rule allows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """The larger of both counts."""

    relative: float = 0.0
    """Share of the kernel's median."""
    absolute: float = 0.0

    def allows(self, kernel: float, simulated: float) -> bool:
        """Returns true if these medians agree."""
        return abs(simulated - kernel) <= max(self.relative * abs(kernel), self.absolute) + 1e-12

    def __str__(self) -> str:
        parts = [f"{100 * self.relative:g} %"] * bool(self.relative) + [f"{self.absolute:g}"] * bool(self.absolute)
        return " or ".join(parts) or "equal"


@dataclass(frozen=True)
class Quantity:
    """Quantity that is measured in each run."""

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

_RETRANSMISSIONS = Rule(relative=0.20, absolute=3)
#: By kind of case and quantity, without the number of the handover. What has no rule is shown and not judged.
RULES: dict[str, dict[str, Rule]] = {
    "steady": {"goodput_bps": Rule(relative=0.02), "retransmitted": _RETRANSMISSIONS},
    "loss": {"goodput_bps": Rule(relative=0.15), "retransmitted": _RETRANSMISSIONS},
    "soft": {
        "retransmitted": _RETRANSMISSIONS,
        "timeouts": Rule(),
        "to_90_percent_s": Rule(relative=0.25),
        "spurious_after": Rule(absolute=2),
    },
    "hard": {"retransmitted": _RETRANSMISSIONS, "stall_s": Rule(relative=0.15)},
}
