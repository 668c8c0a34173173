"""`scripts/bench_gateway`: its scenarios, and its figures of transfers that are known in advance. The bench itself
needs root, its peers and a quiet machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from baton.toml import loads

BENCH = Path(__file__).parent.parent / "scripts" / "bench_gateway"
sys.path.insert(0, str(BENCH))

import figures  # noqa: E402
import page  # noqa: E402
from rows import ROWS, Row  # noqa: E402

sys.path.remove(str(BENCH))


def check(file: Path, *options: str) -> None:
    subprocess.run([sys.executable, "-m", "baton", "check", *options, str(file)], check=True, capture_output=True)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
@pytest.mark.parametrize("scale", [1, 0.1])
def test_rows_are_scenarios_and_the_emulator_has_their_links(row: Row, scale: float, tmp_path: Path) -> None:
    row = row.shortened(scale)
    check(row.file)
    emulated = tmp_path / "scenario.toml"
    emulated.write_text(row.emulated())
    check(emulated, "--live")
    links = loads(emulated.read_text())["links"]
    for name, link in row.links.items():
        assert links[name] == link | {"between": ["provider", "near"]}


def test_loss_reaches_the_link() -> None:
    assert ROWS["loss-5-percent"].links["satellite"]["packet_error_rate"] == 0.05


def constant(rate_bps: float, begin: float, end: float, start: int = 0) -> list[tuple[float, int]]:
    """Arrivals at a constant rate, one each millisecond."""
    count = round((end - begin) * 1000)
    return [(begin + n / 1000, start + round(n * rate_bps / 8000)) for n in range(count + 1)]


def test_share_while_both_are_there_leaves_out_the_outage() -> None:
    row = ROWS["two-links"]
    # 25 Mbit/s until the outage at 10 s, then 5 Mbit/s until the satellite's first byte at 14.29 s, then half of both.
    before = constant(25e6, 1, 10)
    during = constant(5e6, 10, 14.29, before[-1][1])
    after = constant(12.5e6, 14.29, 32.29, during[-1][1])
    found = figures.both_there(row, before + during[1:] + after[1:], row.outages)
    assert found["share_of_both"] == pytest.approx((9 * 1 + 18 * 0.5) / 27, rel=1e-3)


def test_a_transfer_that_ends_within_the_outage_has_a_share_before_it() -> None:
    row = ROWS["two-links"]
    found = figures.both_there(row, constant(25e6, 1, 12), row.outages)
    assert found["share_of_both"] == pytest.approx(1, rel=1e-3)


def test_table_names_an_unfinished_way_by_its_share() -> None:
    row = ROWS["loss-1-percent"]
    whole = {"bytes": 100_000_000, "taken_s": 20.0, "longest_stall_s": 0.58, "changes": []}
    stopped = whole | {"bytes": 10_000_000, "taken_s": 25.0}
    ways = {"batond's gateways": figures.measured(row, whole), "kernel, CUBIC": figures.measured(row, stopped)}
    simulated = {"taken_s": 18.5, "share": 0.86, "longest_stall_s": 0.7}
    about = {"rate_bps": row.rate_bps, "bytes": row.bytes, "round_trip_s": 0.58, "scale": 1, "doubts": []}
    table = page.table({row.name: about | {"ways": ways, "simulated": simulated}})
    # 100 MB are 16 s of the link: 0.8 in 20 s; 10 MB in 25 s are 0.064 of it.
    assert "| batond's gateways | 20.0 s | 0.80 |" in table
    assert "| kernel, CUBIC | 10.0 MB in 25.0 s | 0.06 | 0.08 of its time |" in table


def test_shortened_rows_are_not_published(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"above\n{page.BEGIN}old\n{page.END}below\n")
    with pytest.raises(SystemExit, match="control"):
        page.write(file, {"control": json.loads('{"scale": 0.1, "doubts": []}')})
    page.write(file, {})
    assert file.read_text() == f"above\n{page.BEGIN}\n\n{page.END}below\n"
