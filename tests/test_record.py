"""The tables of a run, read by other implementations of Arrow and Parquet than the one that wrote them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import baton
from baton import RunError, Scenario, ScenarioError

SCENARIO = """
name = "two-links"
duration = "DURATION"

[links.core]
between = ["server", "router"]
kind = "wired"
rate = "10 Mbit/s"
delay = "5 ms"
queue = "20 packets"

[links.access]
between = ["router", "laptop"]
kind = "wired"
rate = "2 Mbit/s"
delay = "20 ms"
queue = "20 packets"

[[flows]]
name = "download"
from = "server"
to = "laptop"
"""


def scenario(duration: str = "10 s") -> Scenario:
    return Scenario.parse(SCENARIO.replace("DURATION", duration))


def test_memory_and_files_hold_the_same(tmp_path: Path) -> None:
    in_memory = scenario().run()
    in_folder = scenario().run(tmp_path / "run")
    for name in ("series", "packets"):
        memory = pa.table(getattr(in_memory, name))
        file = pq.read_table(tmp_path / "run" / f"{name}.parquet")
        assert memory.num_rows > 0
        assert memory.column_names == file.column_names
        for column in memory.column_names:
            assert memory[column].to_pylist() == file[column].to_pylist(), column
        assert pa.table(getattr(in_folder, name)).equals(file)
        assert len(getattr(in_folder, name)) == file.num_rows


def test_packets_are_conserved() -> None:
    packets = pa.table(scenario().run().packets)
    fates = set(packets["fate"].to_pylist())
    assert "delivered" in fates
    delivered = packets.filter(pc.equal(packets["fate"].cast("string"), "delivered"))
    assert pc.all(pc.less(delivered["sent_ns"], delivered["decided_ns"])).as_py()
    under_way = packets.filter(pc.equal(packets["fate"].cast("string"), "under way"))
    assert under_way["decided_ns"].null_count == under_way.num_rows
    # A packet from the server to the laptop arrives at the second link if the first delivered it.
    down = [row for row in packets.to_pylist() if row["direction"] == "down"]
    first = {row["packet"] for row in down if row["link"] == "core" and row["fate"] == "delivered"}
    second = {row["packet"] for row in down if row["link"] == "access"}
    assert first == second


def test_series_are_in_order_and_described(tmp_path: Path) -> None:
    scenario().run(tmp_path / "run")
    series = pq.read_table(tmp_path / "run" / "series.parquet")
    times = series["time_ns"].to_pylist()
    assert times == sorted(times)
    dictionary = json.loads(series.schema.metadata[b"baton.series"])
    assert dictionary["version"] == 1
    described = {entry["name"] for entry in dictionary["series"]}
    assert set(series["series"].to_pylist()) <= described
    assert [column["name"] for column in dictionary["columns"]] == series.column_names


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        scenario().run(tmp_path / name)
    for file in ("series.parquet", "packets.parquet"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "run"
    scenario("1 s").run(target)
    with pytest.raises(RunError, match="exists already.*--force"):
        scenario("1 s").run(target)
    scenario("1 s").run(target, force=True)
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("years of work")
    with pytest.raises(RunError, match=r"not a folder of results"):
        scenario("1 s").run(thesis, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "thesis"]


def test_errors_have_one_root() -> None:
    with pytest.raises(ScenarioError, match="scenario.toml") as error:
        Scenario.parse("durashun = 3")
    assert isinstance(error.value, baton.BatonError)


def test_an_exception_in_progress_ends_the_run(tmp_path: Path) -> None:
    def fail(simulated_s: float, news: str) -> None:
        raise LookupError(news)

    with pytest.raises(LookupError):
        scenario("100000 s").run(tmp_path / "run", progress=fail)
    assert list(tmp_path.iterdir()) == []


def interrupt_soon() -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_keeps_what_a_folder_has(tmp_path: Path) -> None:
    interrupt_soon()
    result = scenario("100000 s").run(tmp_path / "run")
    assert not result.complete
    assert not json.loads((tmp_path / "run" / "manifest.json").read_text())["complete"]
    assert pq.read_table(tmp_path / "run" / "packets.parquet").num_rows > 0


def test_ctrl_c_ends_a_run_in_memory() -> None:
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        scenario("100000 s").run()


def test_kill_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from baton import Scenario; "
        "Scenario.parse(sys.argv[1]).run(Path(sys.argv[2]), progress=lambda *_: print('on', flush=True))"
    )
    text = SCENARIO.replace("DURATION", "100000 s")
    child = subprocess.Popen(
        [sys.executable, "-c", code, text, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()
    assert [path.name for path in tmp_path.iterdir()] == [".partial-run"]
    # The next run to the same folder clears up.
    scenario("1 s").run(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        with pytest.raises(RunError, match="free some space"):
            scenario("200 s").run(tmp_path / "run")
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
