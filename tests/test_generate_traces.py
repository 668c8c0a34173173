"""The example traces that ship are the bytes that their script generates."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "generate_traces.py"


@pytest.fixture(scope="module")
def traces() -> dict[str, str]:
    """The files' text by name."""
    spec = importlib.util.spec_from_file_location("generate_traces", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.traces()


def test_what_ships_is_what_the_script_generates(traces):
    folder = ROOT / "scenarios" / "traces"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: text.encode() for name, text in traces.items()
    }
    assert all(len(text) < 100_000 for text in traces.values())


def test_a_leo_interval_begins_with_an_outage_and_a_step_of_the_delay(traces):
    opportunities = [int(line) for line in traces["leo.bw"].split()]
    delays = [int(line) for line in traces["leo.delay"].split()]
    assert len(delays) * 10 == opportunities[-1] == 60_000
    for start in (15_000, 30_000, 45_000):
        assert not [time for time in opportunities if start < time <= start + 60]
        before, after = delays[start // 10 - 300 : start // 10], delays[start // 10 + 20 : start // 10 + 320]
        assert abs(sum(after) - sum(before)) / 300 > 1, "ms between the means of 3 s"


def test_nothing_passes_in_a_tunnel(traces):
    for name in ("rail.down.csv", "rail.up.csv"):
        rows = [line.split(",") for line in traces[name].splitlines()[1:]]
        in_tunnel = {row[1] for row in rows if 95 <= float(row[0]) <= 125}
        assert in_tunnel == {"0"}
        in_the_open = [float(row[1]) for row in rows if 5 <= float(row[0]) <= 30]
        assert min(in_the_open) > 0
