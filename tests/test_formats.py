"""Formats say of which version they are, and a newer one is refused."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import baton as package
from baton import InputError, Scenario, ScenarioError, json_schema, plot_window
from conftest import SCENARIO

SIGNALLING = """
name = "signalling"
duration = "1 s"
links.cell = { between = ["agent", "aircraft"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
home_agents.agent.prefix = "2001:db8::/64"
mobiles.aircraft.timetable = [{ at = "0 s", attach = "cell" }]
mobiles.aircraft.mobility = { protocol = "mobile-ipv6", home_agent = "agent", home_link = "cell" }
"""
NEWER = "has format 2, which a newer Baton wrote; this version reads format 1"
NEWER_MANIFEST = "has format 3, which a newer Baton wrote; this version reads format 2"


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    Scenario.parse(SCENARIO).run(folder)
    return folder


def raised(file, **more):
    """The JSON file with other values."""
    file.write_text(json.dumps(json.loads(file.read_text()) | more))


def test_a_scenario_may_name_its_format():
    assert json.loads(json_schema())["$id"] == "urn:baton:scenario:2"
    assert Scenario.parse("format = 2\n" + SCENARIO).run().complete
    for value, message in (
        ("0", "format: 0"),
        ('"1"', 'format: "1" does not fit; expected a whole number'),
        ("3", "scenario.toml:1:10: format: 3 is the format of a newer Baton; this one reads format 2"),
    ):
        with pytest.raises(ScenarioError) as error:
            Scenario.parse(f"format = {value}\n" + SCENARIO.replace("rate", "speed" if value == "2" else "rate"))
        assert message in str(error.value)
        assert len(str(error.value).splitlines()) == 1, "of what a newer format holds nothing is said"


def test_what_is_written_says_its_version(run, scenario, baton):
    versions = {"manifest.json": 2, "summary.json": 1}
    assert {name: json.loads((run / name).read_text())["format"] for name in versions} == versions
    assert baton("run", scenario, "--out", "handed-on").returncode == 0
    assert json.loads((run.parent / "handed-on" / "manifest.json").read_text())["format"] == 2
    for name in ("series", "packets"):
        metadata = pq.read_schema(run / f"{name}.parquet").metadata
        assert json.loads(metadata[f"baton.{name}".encode()])["version"] == 1
        table = pa.table(getattr(Scenario.parse(SCENARIO).run(), name))
        assert table.schema.metadata[f"baton.{name}".encode()] == metadata[f"baton.{name}".encode()]
    signalled = Scenario.parse(SIGNALLING)
    signalled.run(run.parent / "signalled")
    metadata = pq.read_schema(run.parent / "signalled" / "signals.parquet").metadata
    assert json.loads(metadata[b"baton.signals"])["version"] == 1
    assert pa.table(signalled.run().signals).schema.metadata[b"baton.signals"] == metadata[b"baton.signals"]
    assert Scenario.parse(SCENARIO).run().signals is None
    assert not (run / "signals.parquet").exists()
    assert json.loads(baton("compare", "run", "run", "--json").stdout)["format"] == 1
    assert json.loads(baton("sweep", scenario, "--seeds", 1, "--out", "sweep", "--json").stdout)["format"] == 1
    assert json.loads(baton("compare", "sweep", "sweep", "--json").stdout)["format"] == 1
    assert "format" not in pq.read_schema(run.parent / "sweep" / "runs.parquet").names


def test_a_newer_run_is_refused(run, baton):
    raised(run / "manifest.json", format=3)
    for arguments in (("compare", "run", "run"), ("rerun", "run")):
        process = baton(*arguments)
        assert process.returncode == 2
        assert f"manifest.json: {NEWER_MANIFEST}" in process.stderr
    with pytest.raises(InputError, match=NEWER_MANIFEST):
        plot_window(run, "download")


def test_a_newer_table_is_refused(run):
    file = run / "packets.parquet"
    table = pq.read_table(file)
    newer = {b"baton.packets": json.dumps({"version": 2}).encode()}
    pq.write_table(table.replace_schema_metadata(newer), file)
    with pytest.raises(package.BatonError, match=f"packets.parquet: {NEWER}"):
        plot_window(run, "download")


def test_a_newer_sweep_is_refused(scenario, baton, tmp_path):
    assert baton("sweep", scenario, "--seeds", 1, "--out", "sweep").returncode == 0
    raised(tmp_path / "sweep" / "sweep.json", format=2)
    for arguments in (("sweep", scenario, "--seeds", 2, "--out", "sweep", "--resume"), ("compare", "sweep", "sweep")):
        process = baton(*arguments)
        assert process.returncode == 2
        assert f"sweep.json: {NEWER}" in process.stderr
