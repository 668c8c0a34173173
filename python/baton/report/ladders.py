"""The content of message sequence charts: the signalling of each handover."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from baton.cells import CellNames

from .handovers import handovers_in_order
from .signals import Signal

SECOND = 1_000_000_000
# Charts of a page; of more handovers the first ones are drawn.
MOST_LADDERS = 20
# Time for which a chart goes on after a handover that has not completed; and after one that has, for correspondents.
WITHOUT_END_NS, AFTER_NS = 10 * SECOND, 2 * SECOND
# Before a handover a chart begins when the link was told to go down, if that was no longer ago.
WARNING_NS = 10 * SECOND
PERIODIC = ("Router Advertisement", "Agent Advertisement")
# Measurements of a radio, some times a second: of each kind the first is drawn, whatever it says.
MEASURED = ("POW_REP", "SIB", "ACB and STB", "Link_Parameters_Report")


class Message(NamedTuple):
    """An arrow from one line to another; `lost` says why it did not arrive. Lines are places in `Ladder.nodes`."""

    sender: int
    receiver: int
    sent_ns: int
    decided_ns: int
    name: str
    details: str
    tunnelled: bool
    lost: str = ""


class Event(NamedTuple):
    """A mark on one line: `link` or `agent` by its source; `under way` for a message without an end."""

    node: int
    at_ns: int
    name: str
    details: str
    kind: str


@dataclass
class Ladder:
    """The chart of one handover."""

    title: str
    at_ns: int
    nodes: list[str]
    messages: list[Message] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    repeated: int = 0
    """Periodic advertisements and reports that are left out, since they say what one before has said."""


def ladders(signals: Sequence[Signal], summary: dict[str, Any]) -> list[Ladder]:
    """Returns a chart for each handover with signals, in order of time."""
    found, names = [], CellNames.of(summary)
    listed = handovers_in_order(summary)
    mobiles = {str(handover.get("mobile")) for handover in listed}
    for number, handover in enumerate(listed, start=1):
        own = str(handover.get("mobile"))
        later = [other for other in listed[number:] if str(other.get("mobile")) == own]
        begin, end = _stretch(handover, later, signals)
        others = mobiles - {own}
        own_signals = (s for s in signals if not others.intersection((s.sender, s.receiver)))
        chosen = [s for s in own_signals if begin <= s.sent_ns <= end]
        if chosen:
            way = names.shown(f"{handover.get('from') or 'none'} → {handover.get('to') or 'none'}")
            title = f"{number}: {own}, {way}"
            found.append(_ladder(Ladder(title, _ns(handover["at_s"]), [own]), chosen, names))
        if len(found) == MOST_LADDERS:
            break
    return found


def _ns(seconds: Any) -> int:
    return round(float(seconds) * SECOND)


def _stretch(handover: dict[str, Any], later: list[dict[str, Any]], signals: Sequence[Signal]) -> tuple[int, int]:
    """Returns the stretch of time in which a handover's signals are shown."""
    at, own = _ns(handover["at_s"]), str(handover.get("mobile"))
    # A time of the summary may be rounded away from the nanosecond at which something happened.
    warned = [
        s.sent_ns
        for s in signals
        if s.name == "Link_Going_Down" and s.sender == own and at - WARNING_NS <= s.sent_ns <= at
    ]
    begin = warned[-1] if warned else at - 1000
    completed = handover.get("completed_s")
    end = at + WITHOUT_END_NS
    if completed is not None:
        end = _ns(completed) + AFTER_NS
    if later:
        end = min(end, _ns(later[0]["at_s"]) - 1000)
    return begin, end


def _ladder(ladder: Ladder, chosen: Sequence[Signal], names: CellNames) -> Ladder:
    """Puts signals into a chart, whose lines stand in the order of their nodes' first messages that arrive."""

    def line(node: str) -> int:
        if node not in ladder.nodes:
            ladder.nodes.append(node)
        return ladder.nodes.index(node)

    for signal in chosen:
        if signal.fate == "delivered" and signal.receiver is not None:
            line(signal.sender)
            line(signal.receiver)
    told: set[Signal] = set()
    for signal in chosen:
        if signal.name in PERIODIC + MEASURED:
            # Times do not tell one from another, nor what was measured.
            said = "" if signal.name in MEASURED else signal.details
            alike = signal._replace(sent_ns=0, decided_ns=None, details=said)
            if alike in told:
                ladder.repeated += 1
                continue
            told.add(alike)
        sender, label = line(signal.sender), (signal.name, signal.details)
        if signal.receiver is not None and signal.decided_ns is not None:
            times = (signal.sent_ns, signal.decided_ns)
            lost = "" if signal.fate in (None, "delivered") else str(signal.fate)
            receiver = line(signal.receiver)
            ladder.messages.append(Message(sender, receiver, *times, *label, signal.tunnelled, lost))
        else:
            kind = "under way" if signal.kind == "message" else signal.kind
            details = names.shown(", ".join(part for part in (signal.link, signal.details) if part))
            ladder.events.append(Event(sender, signal.sent_ns, signal.name, details, kind))
    return ladder
