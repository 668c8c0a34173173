"""Damaged JSON in results: refused with the file and the key, whatever is in it."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton import cli, stored
from conftest import SCENARIO

# Values that may stand where something else was: every kind of JSON, and what is at the edge of each.
VALUES = [
    None,
    True,
    -1,
    0,
    99,
    2**60 + 1,
    2**63,
    2**64,
    10**400,
    1e300,
    float("nan"),
    "",
    "x",
    "\ud800",
    "a\nb",
    [],
    [1],
    {},
    {"a": []},
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with a run and a sweep."""
    folder = tmp_path_factory.mktemp("results")
    short = SCENARIO.replace('duration = "4 s"', 'duration = "1 s"').replace('at = "2 s"', 'at = "0.5 s"')
    (folder / "short.toml").write_text(short)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.execute(["run", "short.toml", "--out", "run", "--expect", "seed == 1"]) == 0
        assert cli.execute(["sweep", "short.toml", "--seeds", "2", "--out", "sweep"]) == 0
    return folder


def places(value, above=()):
    """Ways to all values in a JSON value."""
    yield above
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*above, key))


def damaged(value, way, other):
    """The value with another one at a place; without it if that is `...`."""
    if not way:
        return other
    value = json.loads(json.dumps(value))
    at = value
    for key in way[:-1]:
        at = at[key]
    if other is ...:
        del at[way[-1]]
    else:
        at[way[-1]] = other
    return value


COMMANDS = {
    "run/manifest.json": (["rerun", "run"], ["compare", "run", "run"]),
    "run/summary.json": (["compare", "run", "run"],),
    "sweep/sweep.json": (
        ["sweep", "short.toml", "--seeds", "3", "--out", "sweep", "--resume"],
        ["compare", "sweep", "sweep"],
        ["rerun", "sweep"],
    ),
    "sweep/runs.jsonl": (
        ["sweep", "short.toml", "--seeds", "3", "--out", "sweep", "--resume"],
        ["rerun", "sweep"],
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_makes_a_traceback(results, name, capsys, data):
    file = results / name
    text = file.read_text()
    lines = name.endswith("l")
    value = json.loads(text.splitlines()[0] if lines else text)
    way = data.draw(st.sampled_from(list(places(value))))
    other = data.draw(st.sampled_from([*VALUES, ...] if way else VALUES))
    command = data.draw(st.sampled_from(COMMANDS[name]))
    kept = {each: (results / "sweep" / each).read_bytes() for each in ("sweep.json", "runs.jsonl", "runs.parquet")}
    file.write_text(json.dumps(damaged(value, way, other)) + "\n")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(results)
            status = cli.execute(command)
        told = capsys.readouterr().err
        assert "internal error" not in told, (way, other)
        assert "Traceback" not in told
        assert status in (0, 1, 2), told
        if status == 2:
            assert told.startswith("baton: "), told
    finally:
        file.write_text(text)
        for each, content in kept.items():
            (results / "sweep" / each).write_bytes(content)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("run/manifest.json", "seed", "x", 'manifest.json: seed: is "x"; expected a whole number'),
        ("run/manifest.json", "seed", -1, "manifest.json: seed: is -1; expected a whole number from 0"),
        ("run/manifest.json", "traces", [], "manifest.json: traces: is []; expected an object"),
        ("run/manifest.json", "origin", None, "manifest.json: origin: is null; expected text"),
        ("sweep/runs.jsonl", "point", 99, "runs.jsonl:1: point: is 99; the sweep has 1, counted from 0"),
        ("sweep/runs.jsonl", "point", -1, "runs.jsonl:1: point: is -1"),
        ("sweep/runs.jsonl", "seed", "x", 'runs.jsonl:1: seed: is "x"'),
        ("sweep/runs.jsonl", "summary", 7, "runs.jsonl:1: summary: is 7; expected an object, or null"),
        ("sweep/sweep.json", "points", None, "sweep.json: points: is null; expected an array"),
    ],
)
def test_the_file_and_the_key_are_named(results, tmp_path, monkeypatch, capsys, name, key, value, message):
    shutil.copytree(results, tmp_path / "r")
    monkeypatch.chdir(tmp_path / "r")
    with open(name) as file:
        first, *rest = file.read().splitlines(keepends=True) if name.endswith("l") else [file.read()]
    with open(name, "w") as file:
        file.write(json.dumps(json.loads(first) | {key: value}) + "\n" + "".join(rest))
    assert cli.execute(COMMANDS[name][0]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/dev/zero", "/dev", "/nowhere"])
def test_what_is_no_file_is_not_read(path, capsys):
    assert cli.execute(["rerun", path]) == 2
    assert capsys.readouterr().err.startswith(f"baton: {path}")


def test_a_pipe_is_not_waited_for(tmp_path, capsys):
    import os

    os.mkfifo(tmp_path / "pipe")
    assert cli.execute(["rerun", str(tmp_path / "pipe")]) == 2
    assert "is not a regular file" in capsys.readouterr().err


def test_an_aircraft_may_be_in_no_cell(tmp_path, monkeypatch):
    """A key that may be null is there when it is null; the shipped flight has its page."""
    monkeypatch.chdir(tmp_path)
    assert cli.execute(["run", "flight", "--out", "run"]) == 0
    places = stored.read_summary(tmp_path / "run" / "summary.json")["radios"][0]["aircraft"][0]["track"]
    assert None in [place["cell"] for place in places]
    assert (tmp_path / "run" / "report.html").exists()
