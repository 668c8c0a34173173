"""studies/home-agent: its measurements follow Little's law, and its page has the quantities that it prints."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "studies" / "home-agent"
pytest.importorskip("matplotlib")


def test_what_is_held_is_the_rate_of_handovers_times_what_each_takes():
    spec = importlib.util.spec_from_file_location("load", FOLDER / "load.py")
    assert spec is not None
    assert spec.loader is not None
    load = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load)
    measured = dict(zip(load.QUANTITIES, load.measured(8.0, seed=1), strict=True))
    # Ten pairs of cells with a handover every 8 s each. The first and the last stream begin and end apart.
    expected = load.PAIRS / 8.0 * measured["held for a handover"]
    assert measured["held"] == pytest.approx(expected, rel=0.05)
    assert measured["held for a handover"] > 1
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    table = page.split("<!-- printed by load.py -->")[1].split("<!-- end of printed -->")[0].strip().splitlines()
    rates = " | ".join(f"{60 / apart_s:.3g}" for apart_s in load.APART_S)
    assert table[0] == f"| handovers into a cell, a minute | {rates} |"
    rows = [line.split(" (")[0].removeprefix("| ") for line in table[2:]]
    assert rows == list(load.QUANTITIES)
