"""Differences of two runs, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from baton.report.tables import Run
from baton.toml import loads

from .runs import flows, handovers, names_of


def remarks(a: Run, b: Run, matched: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yields sentences on two runs whose flows were `matched` by name or by order."""
    yield from _whole(a, b)
    yield from _flows(a, b, matched)
    if b.summary.get("capture"):
        one, other = names_of(a, b)
        yield f"{other} is a capture: its first packet is put at the time of the first one of {one}"
        return
    if len(handovers(a)) != len(handovers(b)):
        (one, other), counts = names_of(a, b), (len(handovers(a)), len(handovers(b)))
        yield f"{one} has {counts[0]} handovers, {other} has {counts[1]}: the first ones of both are compared"
    if a.summary.get("seed") != b.summary.get("seed"):
        yield f"seed: {a.summary.get('seed')} / {b.summary.get('seed')}"
    yield from _settings(a, b)


def _whole(a: Run, b: Run) -> Iterator[str]:
    """Yields reasons to doubt that the runs are complete and can be trusted."""
    for run, side in zip((a, b), names_of(a, b), strict=True):
        live = run.summary.get("live")
        if live and not live["trusted"]:
            yield f"{side} is not to be trusted: {'; '.join(live['doubts'])}"
        if run.manifest.get("complete") is False:
            yield f"{side} is not complete: it ends at {run.duration_s:g} s"
        for note in run.summary.get("notes", []):  # of a capture
            yield f"{side}: {note}"
    for table in ("series", "packets"):
        without = [side for run, side in zip((a, b), names_of(a, b), strict=True) if getattr(run, table) is None]
        if without:
            yield f"no {table} recorded in {' and '.join(without)}: quantities from them are not compared"


def _flows(a: Run, b: Run, matched: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yields the way in which flows were matched, and the flows that were not."""
    if any(one != other for one, other in matched):
        yield "the runs have no flow name in common: flows are compared in their order"
    for run, side, place in zip((a, b), names_of(a, b), (0, 1), strict=True):
        alone = [flow["name"] for flow in flows(run) if flow["name"] not in [pair[place] for pair in matched]]
        if alone:
            yield f"flows only in {side}: {', '.join(alone)}"
        if run.left_out:
            yield f"{run.left_out:,} flows of {side} delivered less than the others, and are not compared"


def _settings(a: Run, b: Run) -> Iterator[str]:
    """Yields keys of the scenarios that differ, links among them."""
    of_a, of_b = (dict(_flattened(loads(str(run.manifest.get("resolved") or "")))) for run in (a, b))
    for key in dict.fromkeys([*of_a, *of_b]):
        one, other = of_a.get(key, "not set"), of_b.get(key, "not set")
        if one != other:
            yield f"{key}: {one} / {other}"


def _flattened(value: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields dotted keys and values; elements of an array by their name, or their place."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = {str(item.get("name", place)): item for place, item in enumerate(value)}
    if not isinstance(value, dict):
        yield above, value
        return
    for key, inner in value.items():
        yield from _flattened(inner, f"{above}.{key}" if above else key)
