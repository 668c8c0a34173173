"""Handovers on the command line: `--handover '5 s hard 2 s tunnel'` in place of a mobile's timetable.

A text has a time, `soft` or `hard`, the outage of a hard handover, and the link if it matters; times are written as in
a scenario. Without a link, the mobile goes to the next of its links in the order of the file, from the last to the
first. A mobile with a single link stays on it, which only a hard handover can do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from baton.errors import InputError, nearest
from baton.toml import loads

if TYPE_CHECKING:
    from baton import Scenario

# As scenarios write times, from nanoseconds to days.
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = rf"\d+(?:\.\d+)?\s*(?:{'|'.join(SECONDS)})"
_SPEC = re.compile(rf"\s*({_TIME})\s+(?:(soft)|(hard)\s+({_TIME}))(?:\s+([\w-]+))?\s*", re.ASCII)


@dataclass(frozen=True)
class HandoverSpec:
    """A handover as given on the command line; times are texts with units."""

    text: str
    at: str
    outage: str | None
    """Outage of a hard handover; a soft one has none."""
    link: str | None

    @staticmethod
    def parse(text: str) -> HandoverSpec:
        """Reads a handover. Raises `InputError`."""
        found = _SPEC.fullmatch(text)
        if found is None:
            raise InputError(
                f"--handover `{text}`: expected a time, `soft` or `hard`, for a hard one its outage, and a link if it"
                " matters, as in '5 s hard 2 s', '5 s soft' or '5 s soft tunnel'"
            )
        at, _, _, outage, link = found.groups()
        return HandoverSpec(text, at, outage, link)


def seconds(text: str) -> float:
    """Converts a time with its unit, such as `250 ms`, to seconds. Raises `InputError`."""
    if not re.fullmatch(_TIME, text.strip(), re.ASCII):
        raise InputError(f"`{text}` is not a time; expected a number with {', '.join(SECONDS)}, like '2 s'")
    number, unit = re.findall(r"[\d.]+|[a-z]+", text)
    return float(number) * SECONDS[unit]


def timetable_override(scenario: Scenario, texts: Sequence[str]) -> str:
    """Returns the override that gives the scenario's first mobile these handovers and no others. Raises
    `InputError`."""
    document = loads(scenario.resolved)
    mobile, links = _mobile(scenario, document)
    at_link = str(document["mobiles"][mobile]["timetable"][0]["attach"])
    entries = [{"at": "0 s", "attach": at_link}]
    for text in texts:
        spec = HandoverSpec.parse(text)
        at_link = _target(spec, mobile, links, at_link)
        kind = {"handover": "soft"} if spec.outage is None else {"handover": "hard", "outage": spec.outage}
        entries.append({"at": spec.at, "attach": at_link, **kind})
    return f"mobiles.{mobile}.timetable=[{', '.join(map(_inline, entries))}]"


def _mobile(scenario: Scenario, document: dict[str, Any]) -> tuple[str, list[str]]:
    """Returns the mobile whose timetable is replaced, and its links in the order of the file."""
    mobiles = document.get("mobiles") or {}
    if not mobiles:
        raise InputError(
            f"--handover: {scenario.name} has no mobile that could move; add one ([mobiles.NAME] with a timetable whose"
            ' first entry is { at = "0 s", attach = LINK }), or take a scenario that has one'
        )
    name = next(iter(mobiles))
    if "timetable" not in mobiles[name]:
        raise InputError(
            f"--handover: {name} moves by its links' state (mobiles.{name}), not by a timetable; let its links fail"
            " with [[changes]], or give it a timetable instead"
        )
    return name, [link for link, table in document["links"].items() if name in table["between"]]


def _target(spec: HandoverSpec, mobile: str, links: list[str], at_link: str) -> str:
    """Returns the link to which the mobile goes from `at_link`."""
    where = f"--handover `{spec.text}`"
    if spec.link is not None and spec.link not in links:
        raise InputError(f"{where}: {mobile} has no link `{spec.link}`; {nearest(spec.link, links)}")
    after = links.index(at_link) + 1 if at_link in links else 0
    target = spec.link or links[after % len(links)]
    if target == at_link and spec.outage is None:
        other = "another link" if len(links) > 1 else "`hard` and an outage, as it has no other link"
        raise InputError(f"{where}: {mobile} is at {target} already; expected {other}")
    return target


def _inline(entry: dict[str, str]) -> str:
    """Writes a table on one line of TOML, with strings as in JSON."""
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in entry.items()) + " }"
