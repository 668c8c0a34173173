"""`baton compare` of two sweeps, and of a run with a capture."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

SEEDS = 8


@pytest.fixture
def two(baton, scenario):
    """Two sweeps over three rates, of which they share two; the second has a shorter queue and fewer seeds."""
    scenario.write_text(
        scenario.read_text().replace('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\npacket_error_rate = 0.01')
    )
    first = baton(
        "sweep", scenario, "--set", "links.lan.rate=1 Mbit/s,2 Mbit/s,3 Mbit/s", "--seeds", SEEDS, "--out", "a"
    )
    changed = ("--set", "links.lan.rate=4 Mbit/s,2 Mbit/s,1 Mbit/s", "--set", "links.lan.queue=6 packets")
    second = baton("sweep", scenario, *changed, "--seeds", SEEDS - 2, "--out", "b")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    return "a", "b"


def values(folder, rate, name):
    rows = [row for row in pq.read_table(folder / "runs.parquet").to_pylist() if row["set.links.lan.rate"] == rate]
    return np.array([row[name] for row in sorted(rows, key=lambda row: row["seed"])])


def test_points_are_matched_by_their_values_and_runs_by_their_seeds(baton, two, tmp_path):
    scipy_stats = pytest.importorskip("scipy.stats")
    process = baton("compare", *two, "--json")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert [point["set"]["links.lan.rate"] for point in found["points"]] == ["1 Mbit/s", "2 Mbit/s"]
    name = "flows.download.goodput_bps"
    for point in found["points"]:
        a, b = (values(tmp_path / folder, point["set"]["links.lan.rate"], name) for folder in two)
        told = point["quantities"][name]
        # Of seeds that only one of them has nothing counts, so that the means differ by the mean of the differences.
        assert (told["a"]["mean"], told["b"]["mean"]) == pytest.approx((a[: SEEDS - 2].mean(), b.mean()))
        assert told["b"]["mean"] - told["a"]["mean"] == pytest.approx(told["difference"]["mean"])
        expected = scipy_stats.ttest_rel(b, a[: SEEDS - 2]).confidence_interval(0.95)
        assert told["difference"]["values"] == SEEDS - 2
        assert [told["difference"]["low"], told["difference"]["high"]] == pytest.approx(list(expected))
    said = " ".join(found["remarks"])
    for words in ("only in a: links.lan.rate = 3 Mbit/s", "only in b: links.lan.rate = 4 Mbit/s", "b queue = "):
        assert words in said
    assert "4 runs have no counterpart with their seed" in said
    assert "6 packets" in (tmp_path / found["report"]).read_text(encoding="utf-8")


def test_a_sweep_with_itself_differs_in_nothing(baton, two):
    found = json.loads(baton("compare", "a", "a", "--json").stdout)
    assert len(found["points"]) == 3
    for point in found["points"]:
        for each in point["quantities"].values():
            assert each["difference"] is None or each["difference"]["mean"] == 0
    assert found["remarks"] == []
    assert "difference" in baton("compare", "a", "a").stdout


def test_what_is_not_two_sweeps_with_common_points_is_refused(baton, two, scenario, tmp_path):
    assert baton("run", scenario, "--out", "run").returncode == 0
    assert baton("sweep", scenario, "--seeds", 1, "--out", "alone").returncode == 0
    for other, message in (("run", "run: holds no sweep"), ("alone", "have no point in common")):
        process = baton("compare", "a", other)
        assert process.returncode == 2
        assert message in process.stderr
    (tmp_path / "b" / "runs.parquet").write_bytes(b"PAR1 broken")
    process = baton("compare", *two)
    assert process.returncode == 2
    assert "runs.parquet: cannot be read" in process.stderr


def test_a_run_agrees_with_its_own_capture(baton, tmp_path):
    """The engine counts what it does; the capture knows the packets only, taken at the sender."""
    run = baton("run", "wavelan-to-gsm", "--pcap", "--out", "run", "--json", "--set", "duration=320 s")
    assert run.returncode == 0, run.stderr
    (flow,) = json.loads(run.stdout)["flows"]
    process = baton("compare", "run", "run/capture-server-ethernet.pcapng", "--json")
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["b"]["kind"] == "capture"
    (pair,) = found["flows"]
    told = {each["quantity"]: (each["a"], each["b"]) for each in pair["quantities"]}
    assert told["delivered_bytes"] == (1_500_000, 1_500_000)
    assert told["retransmitted"] == (flow["retransmitted"],) * 2
    # The sender hears of the last byte half a round trip after the receiver has it: 0.35 s over GSM.
    a, b = told["completion_s"]
    assert a < b < a + 0.5
    a, b = told["longest_stall_s"]
    assert b == pytest.approx(a, abs=0.5)
    # The profile counts round trips in ticks of 10 ms, and takes no sample during a repair, also of segments that the
    # capture sees once: these are among the long ones.
    for percent, off in ((5, 0.011), (50, 0.011), (95, 0.1)):
        a, b = told[f"rtt_{percent}_percent_s"]
        assert b == pytest.approx(a, abs=off)
    page = (tmp_path / found["report"]).read_text(encoding="utf-8")
    assert "capture-server-ethernet.pcapng" in page


def test_a_capture_that_breaks_off_is_compared_and_that_is_said(baton, scenario, tmp_path):
    assert baton("run", scenario, "--pcap", "--out", "run").returncode == 0
    whole = (tmp_path / "run" / "capture-server-lan.pcapng").read_bytes()
    (tmp_path / "cut.pcapng").write_bytes(whole[:-7])  # blocks are of multiples of 4 bytes
    process = baton("compare", "run", "cut.pcapng")
    assert process.returncode == 0, process.stderr
    assert "cut.pcapng: cut.pcapng is damaged or breaks off in the middle of a packet" in process.stdout
    page = (tmp_path / "results" / "compare-run-cut.pcapng" / "report.html").read_text(encoding="utf-8")
    assert "cut.pcapng is damaged or breaks off" in page
    assert "breaks off" not in baton("compare", "run", "run/capture-server-lan.pcapng").stdout


def test_what_is_no_capture_of_a_transfer_is_refused(baton, scenario, tmp_path):
    assert baton("run", scenario, "--pcap", "--out", "run", "--set", "flows.download.start=9 s").returncode == 0
    (tmp_path / "note.txt").write_text("no capture")
    (tmp_path / "short.pcap").write_bytes(b"\xd4\xc3\xb2\xa1\0\0")
    cases = {
        "note.txt": "note.txt: is neither a results folder nor a capture; expected a folder with a manifest.json, as"
        " `baton run` writes it, or a pcap or pcapng file, unpacked",
        "short.pcap": "has no TCP data; expected a capture of a transfer; short.pcap is damaged or breaks off",
        "run/capture-server-lan.pcapng": "no TCP data",
    }
    for name, message in cases.items():
        process = baton("compare", "run", name)
        assert process.returncode == 2, process.stdout
        assert message in process.stderr
        assert "Traceback" not in process.stderr
    process = baton("compare", "note.txt", "run")
    assert "is not a results folder; expected" in process.stderr, "the first one cannot be a capture"
    process = baton("compare", "run/capture-server-lan.pcapng", "run")
    assert process.returncode == 2
    assert "expected a run first" in process.stderr
