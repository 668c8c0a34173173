"""A scenario in code is answered in the very words of the file, whatever is wrong and wherever."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

import baton
from baton.sweep.study import toml_text

RICH = {
    "name": "rich",
    "duration": "9 s",
    "seed": 3,
    "links": {
        "lan": {
            "between": ["server", "laptop"],
            "kind": "wired",
            "rate": "2 Mbit/s",
            "delay": "5 ms",
            "queue": {"limit": "20 packets", "management": "red", "minimum_threshold": 5},
            "up": {"rate": "1 Mbit/s", "packet_error_rate": 0.01},
        },
        "modem": {"between": ["server", "laptop"], "kind": "gsm"},
    },
    "mobiles": {
        "laptop": {
            "timetable": [
                {"at": "0 s", "attach": "lan"},
                {"at": "2 s", "attach": "modem", "handover": "hard", "outage": "1 s"},
            ]
        }
    },
    "changes": [{"at": "3 s", "link": "lan", "delay": "7 ms"}, {"at": "4 s", "link": "lan", "state": "down"}],
    "flows": [
        {
            "name": "download",
            "from": "server",
            "to": "laptop",
            "traffic": {"bytes": "50 kB"},
            "transport": {"sender": {"sack": False}, "receiver": {"delayed_ack": "off"}},
        },
        {
            "name": "voice",
            "from": "laptop",
            "to": "server",
            "transport": "udp",
            "traffic": {"kind": "constant", "rate": "9 kbit/s"},
        },
    ],
    "record": {"interval": "50 ms", "packets": True},
    "live": {"address": "new", "sample_interval": "20 ms"},
    "expect": ["flows.download.longest_stall_s < 5"],
}
WRONG = ["nonsense", 7, -1.5, True, ["x"], {"x": 1}]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def answer(call: Any) -> str:
    """The scenario, or all that is said against it, without where it stands."""
    try:
        return str(call().resolved)
    except baton.ScenarioError as error:
        return re.sub(r"(?m)^scenario(\.toml:\d+:\d+)?: ", "", str(error))


def same(document: dict[str, Any]) -> str:
    """Returns the message about the document in code, which must be the message about it as a file."""
    file = "\n".join(f"{key} = {toml_text(value)}" for key, value in document.items())
    said = answer(lambda: baton.Scenario.build(**document))
    assert sorted(said.splitlines()) == sorted(answer(lambda: baton.Scenario.parse(file)).splitlines())
    return said


@pytest.mark.parametrize("place", list(places(RICH)), ids=lambda place: ".".join(map(str, place)))
def test_the_words_are_those_of_the_file(place):
    *above, last = place
    said = set()
    for wrong in WRONG:
        changed: Any = copy.deepcopy(RICH)
        inner = changed
        for key in above:
            inner = inner[key]
        inner[last] = wrong
        said.add(same(changed))
    assert len(said) > 3
    if isinstance(last, str):
        changed = copy.deepcopy(RICH)
        inner = changed
        for key in above:
            inner = inner[key]
        inner[f"{last}x"] = inner.pop(last)
        same(changed)


def test_the_document_itself_is_right():
    assert same(RICH).startswith('name = "rich"')


def test_a_misspelt_key_is_named_with_the_nearest_one():
    for place in places(RICH):
        *above, last = place
        if not isinstance(last, str) or len(last) < 4 or above in (["links"], ["mobiles"]):
            continue
        changed: Any = copy.deepcopy(RICH)
        inner = changed
        for key in above:
            inner = inner[key]
        inner[f"{last}q"] = inner.pop(last)
        said = answer(lambda document=changed: baton.Scenario.build(**document))
        assert f'unknown key "{last}q"; did you mean "{last}"?' in said, (place, said)
