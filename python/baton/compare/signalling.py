"""Signalling at the handovers of two runs: the delays of messages and of agents' events after a handover begins.

Handovers are matched in their order. Of several messages with one name the first counts, since a repetition answers a
loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from baton.report.signals import Signal
from baton.report.tables import Run
from baton.summary import Json

from .runs import handovers

# Messages that routers send at any time, for whatever reason.
AT_ANY_TIME = {"Multicast Listener Report", "Router Advertisement", "Router Solicitation"}


@dataclass(frozen=True)
class Step:
    """A step of a handover: its name, and its time in seconds after the handover began, in both runs."""

    name: str
    a: float | None
    b: float | None

    @property
    def difference(self) -> float | None:
        """Delay of the second behind the first."""
        return None if self.a is None or self.b is None else self.b - self.a

    def to_json(self) -> Json:
        """Returns the object that `--json` prints."""
        return {"step": self.name, "unit": "s", "a": self.a, "b": self.b, "difference": self.difference}


@dataclass(frozen=True)
class HandoverPair:
    """A handover of both runs: its number, from one, and its steps in the order of the first run."""

    number: int
    steps: list[Step]

    def to_json(self) -> Json:
        """Returns the object that `--json` prints."""
        return {"handover": self.number, "steps": [step.to_json() for step in self.steps]}


def at_handovers(a: Run, b: Run) -> list[HandoverPair]:
    """Returns the handovers of which either run has signals."""
    pairs = []
    for number, (one, other) in enumerate(zip(_by_handover(a), _by_handover(b), strict=False), start=1):
        names = list(dict.fromkeys([*one, *other]))
        steps = [Step(name, one.get(name), other.get(name)) for name in names]
        if steps:
            pairs.append(HandoverPair(number, steps))
    return pairs


def _by_handover(run: Run) -> Iterator[dict[str, float]]:
    """Yields for each handover its steps by name, with their delays after it began."""
    begins = [round(float(handover["at_s"]) * 1e9) for handover in handovers(run)]
    mobiles = [str(handover.get("mobile")) for handover in handovers(run)]
    ends = [*begins[1:], None][: len(begins)]
    for begin, end, mobile in zip(begins, ends, mobiles, strict=True):
        found: dict[str, float] = {}
        for signal in run.signals:
            is_within = begin <= signal.sent_ns and (end is None or signal.sent_ns < end)
            if is_within and (name := _name(signal, mobile)) is not None:
                found.setdefault(name, (signal.sent_ns - begin) / 1e9)
        yield found


def _name(signal: Signal, mobile: str) -> str | None:
    """Returns the name of a step; none for a signal that is not part of a handover, or that both ends of a link
    report."""
    if signal.name in AT_ANY_TIME or (signal.kind == "link" and signal.sender != mobile):
        return None
    if signal.kind == "message":
        return f"{signal.name} leaves {signal.sender}"
    place = f" ({signal.link})" if signal.link else ""
    return f"{signal.name} at {signal.sender}{place}"
