"""Names to choose from, as `baton list` prints them, each with a line of description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from baton.shipped import scenarios

Entries = dict[str, str]


def links() -> Entries:
    """Lists the kinds of link."""
    return _choices("links", "kind")


def queues() -> Entries:
    """Lists the queue disciplines: which packets are dropped, and when."""
    return _choices("management")


def congestion() -> Entries:
    """Lists the congestion controls."""
    return _choices("congestion")


def remedies() -> Entries:
    """Lists the remedies: schemes against what a handover does to TCP."""
    return _choices("remedies")


def profiles() -> Entries:
    """Lists the TCP profiles."""
    return _choices("profile")


def shipped_scenarios() -> Entries:
    """Lists the scenarios that come with Baton."""
    from baton import Scenario

    return {name: Scenario.load(path).description for name, path in scenarios().items()}


def studies() -> Entries:
    """Lists the published studies that can be reproduced."""
    from baton.reproduce import TITLES

    return TITLES


CATALOGUES: dict[str, Callable[[], Entries]] = {
    "links": links,
    "queues": queues,
    "congestion": congestion,
    "remedies": remedies,
    "profiles": profiles,
    "scenarios": shipped_scenarios,
    "studies": studies,
}


def _choices(*path: str) -> Entries:
    """Returns the names that a key takes, from the schema of scenarios, which the engine's own types generate. The keys
    of the tables around it may precede the key."""
    import json

    from baton import json_schema

    *outer, key = path
    schema = json.loads(json_schema())
    for each in outer:
        schema = next(_schemas_of(each, schema))
    properties = _schemas_of(key, schema)
    for found in (choice for each in properties for choice in (each, *each.get("anyOf", []))):
        if "oneOf" in found:
            return {choice["const"]: choice.get("description", "") for choice in found["oneOf"]}
        if "enum" in found:
            return dict.fromkeys(found["enum"], "")
    raise LookupError(f"the schema has no choices for `{key}`")


def _schemas_of(key: str, schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict) and isinstance(properties.get(key), dict):
            yield properties[key]
        for inner in schema.values():
            yield from _schemas_of(key, inner)
