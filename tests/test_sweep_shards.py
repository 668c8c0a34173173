"""Shards of a sweep, and the sweep that they make together."""

from __future__ import annotations

import json

import pytest

from test_sweep_executors import AXES, contents, lossy  # noqa: F401


@pytest.fixture
def shards(baton, lossy):  # noqa: F811
    """The three shards of a sweep with a recording, in folders of their own."""
    (lossy.parent / "rate.csv").write_text("time_s,rate_bps\n0,100000\n2,50000\n")
    text = lossy.read_text()
    lossy.write_text(
        text.replace(
            'rate = "100 kbit/s"\ndelay = "100 ms"', 'recording = { kind = "csv", file = "rate.csv" }'
        ).replace(
            'between = ["server", "laptop"]\nkind = "wired"\nrecording',
            'between = ["server", "laptop"]\nkind = "trace"\nrecording',
        )
    )
    for number in (2, 3, 1):
        process = baton("sweep", lossy, *AXES, "--seeds", 5, "--shard", f"{number}/3", "--out", f"shard-{number}")
        assert process.returncode == 0, process.stderr
        assert process.stdout.splitlines() == [f"shard-{number}"]
    return lossy


def test_shards_merge_into_the_whole_sweep_in_any_order(baton, shards, tmp_path):
    assert baton("sweep", shards, *AXES, "--seeds", 5, "--jobs", 1, "--out", "one").returncode == 0
    counts = [(tmp_path / f"shard-{number}" / "runs.jsonl").read_bytes().count(b"\n") for number in (1, 2, 3)]
    assert sum(counts) == 20
    assert max(counts) - min(counts) <= 1, "as much work for each"
    for number, order in enumerate(("123", "312", "231")):
        process = baton("sweep", "merge", *(f"shard-{each}" for each in order), "--out", f"merged-{number}")
        assert process.returncode == 0, process.stderr
        assert process.stdout.splitlines()[-1] == f"merged-{number}/report.html"
        assert contents(tmp_path / f"merged-{number}") == contents(tmp_path / "one")
    more = baton("sweep", shards, *AXES, "--seeds", 6, "--out", "merged-0", "--resume")
    assert more.returncode == 0, "a merged sweep is one like any other"


def test_what_does_not_belong_together_is_not_merged(baton, shards, tmp_path):
    def refused(*folders):
        process = baton("sweep", "merge", *folders, "--out", "merged")
        assert process.returncode == 2
        assert not (tmp_path / "merged").exists()
        return process.stderr

    assert "merge: shard 2/3 is missing" in refused("shard-1", "shard-3")
    assert "shard-1: is shard 1/3, and so is shard-1" in refused("shard-1", "shard-2", "shard-1", "shard-3")
    assert "nowhere: holds no sweep" in refused("shard-1", "nowhere")
    assert baton("sweep", shards, *AXES, "--seeds", 5, "--out", "whole").returncode == 0
    assert "whole: is a whole sweep; expected the folder of a shard" in refused("shard-1", "whole")

    assert baton("sweep", shards, *AXES, "--seeds", 5, "--shard", "3/4", "--out", "quarter").returncode == 0
    assert "quarter: is a shard of another sweep than shard-1" in refused("shard-1", "shard-2", "quarter")
    assert baton("sweep", shards, *AXES[:2], "--seeds", 5, "--shard", "3/3", "--out", "fewer").returncode == 0
    assert "points: " in refused("shard-1", "shard-2", "fewer")

    file = tmp_path / "shard-3" / "sweep.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"version": "0.0.9"}))
    message = refused("shard-1", "shard-2", "shard-3")
    assert "shard-3: is a shard of another sweep than shard-1" in message
    assert "→ 0.0.9" in message
    file.write_text(json.dumps(told | {"shard": told["shard"] | {"runs": None}}))
    assert "shard-3: shard 3/3 is not complete; continue it" in refused("shard-1", "shard-2", "shard-3")
    file.write_text(json.dumps(told))

    log = tmp_path / "shard-3" / "runs.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:-1]))
    assert f"has {len(lines) - 1} runs in {len(lines) - 1} lines; expected {len(lines)}" in refused(
        "shard-1", "shard-2", "shard-3"
    )
    foreign = (tmp_path / "shard-1" / "runs.jsonl").read_text().splitlines(keepends=True)[0]
    log.write_text("".join([*lines[:-1], foreign]))
    assert "is no run of shard 3/3" in refused("shard-1", "shard-2", "shard-3")


def test_a_shard_is_resumed_only_as_itself(baton, shards):
    arguments = ("sweep", shards, *AXES, "--out", "shard-2", "--resume")
    assert baton(*arguments, "--seeds", 5, "--shard", "2/3").returncode == 0
    for changed in (("--seeds", 5, "--shard", "1/3"), ("--seeds", 6, "--shard", "2/3"), ("--seeds", 5)):
        process = baton(*arguments, *changed)
        assert process.returncode == 2
        assert "shard: 2/3 of the seeds 1 to 5 → " in process.stderr
