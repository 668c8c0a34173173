"""A path: a scenario file with a mobile, its handovers, and one flow to it, both of which the cross changes.

Each handover is written in its hardest form, with `outage` and `announced`; a kind of handover leaves out what it does
not have. So every kind happens at the same moments, and all announcements come equally early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from baton import Scenario
from baton.errors import InputError
from baton.toml import loads

HANDOVERS = {
    "hard": "hard, without a warning",
    "announced": "hard, and the link says so ahead",
    "soft": "soft",
    "none": "none: it stays on a link",
}
"""Kinds of handover, in words."""
STAYS = "none on "
"""Prefix to the link on which a mobile stays."""

Table = dict[str, Any]


@dataclass(frozen=True)
class AccessPath:
    """A path as its file describes it."""

    name: str
    file: Path
    mobile: str
    timetable: list[Table]
    """The first entry, then the handovers."""
    about: Table
    """The mobile, with its timetable."""
    all_links: Table
    """All links as the file has them, by name."""
    flow: Table
    duration_s: float
    description: str

    @property
    def links(self) -> list[str]:
        """Access links, in the order in which they are used."""
        return list(dict.fromkeys(str(entry["attach"]) for entry in self.timetable))

    @property
    def repeating(self) -> list[str]:
        """Access links that retransmit what their channel has lost."""
        about = {name: self.all_links[name] for name in self.links}
        return [
            name
            for name, link in about.items()
            if any("retransmission" in each for each in (link, link.get("down", {}), link.get("up", {})))
        ]

    @property
    def ways(self) -> list[str]:
        """Each handover in words: from where to where."""
        names = [str(entry["attach"]) for entry in self.timetable]
        return [f"{old} → {new}" for old, new in pairwise(names)]

    def kinds(self, handover: str) -> list[str]:
        """Returns a kind of handover as values of the axis: "none" is one for each link."""
        return [STAYS + link for link in self.links] if handover == "none" else [handover]

    def timetable_of(self, kind: str, also: Table) -> list[Table]:
        """Returns the timetable with handovers of a kind, as `kinds` names it, each with `also` set."""
        first, *handovers = self.timetable
        if kind.startswith(STAYS):
            return [first | {"attach": kind.removeprefix(STAYS)}]
        return [first, *(_softened(entry, kind) | also for entry in handovers)]


def _softened(entry: Table, kind: str) -> Table:
    left_out = {"hard": {"announced"}, "announced": set(), "soft": {"announced", "outage", "old_queue"}}[kind]
    kept = {key: value for key, value in entry.items() if key not in left_out}
    return kept | {"handover": "soft" if kind == "soft" else "hard"}


def read_path(file: Path) -> AccessPath:
    """Reads a path's file. Raises `InputError` with the reason if the cross cannot be applied to it."""
    scenario = Scenario.load(file)  # says what is wrong with it as a scenario
    document: Table = loads(file.read_text(encoding="utf-8"))
    mobiles, flows = document.get("mobiles", {}), document.get("flows", [])
    if len(mobiles) != 1:
        raise _unfit(file, "mobiles", f"has {len(mobiles)}", "one, whose handovers are varied")
    if len(flows) != 1:
        raise _unfit(file, "flows", f"has {len(flows)}", "one, to which remedies are given and which is multiplied")
    [(mobile, about)], [flow] = mobiles.items(), flows
    where = f"mobiles.{mobile}"
    timetable = about.get("timetable")
    if not isinstance(timetable, list) or len(timetable) < 2:
        raise _unfit(file, f"{where}.timetable", "has no handover", "a first link, and one handover or more")
    for place, entry in enumerate(timetable[1:], start=1):
        for problem, expected in _problems(entry):
            raise _unfit(file, f"{where}.timetable[{place}]", problem, expected)
    if flow["to"] != mobile:
        raise _unfit(
            file, "flows[0].to", f"is {flow['to']!r}", f"the mobile, {mobile!r}: the cross turns it round for uploads"
        )
    given = {*flow, *(f"transport.{key}" for key in flow.get("transport", {}))}
    for key in ("traffic", "remedies", "transport.kind", "transport.congestion", "transport.profile"):
        if key in given:
            raise _unfit(file, f"flows[0].{key}", "is given", "none: the cross sets it")
    return AccessPath(
        name=scenario.name,
        file=file,
        mobile=str(mobile),
        timetable=timetable,
        about=about,
        all_links=document["links"],
        flow=dict(flow),
        duration_s=scenario.duration_s,
        description=scenario.description,
    )


def _problems(entry: Table) -> Iterator[tuple[str, str]]:
    if entry.get("handover") != "hard" or "outage" not in entry or "announced" not in entry:
        yield (
            "does not say all of a handover",
            'handover = "hard", with outage and announced; the comparison leaves out what a kind does not have',
        )
    if entry.get("attach") == "none":
        yield "leaves the mobile without a link", "a link to go to"


def _unfit(file: Path, key: str, found: str, expected: str) -> InputError:
    return InputError(f"{file}: {key}: {found}; a path for the comparison has {expected}")
