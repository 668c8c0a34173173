"""The example that runs the daemons between emulated links: each handover is survived, and the stall is what it should be."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BATOND = ROOT / "target" / "release" / "batond"


@pytest.mark.live
def test_the_daemons_keep_a_train_connected(tmp_path):
    if os.geteuid() != 0 or "SUDO_USER" in os.environ:
        pytest.skip("the daemons make devices: needs root itself")
    for tool in ("ip", "unshare"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not there")
    if not BATOND.exists():
        pytest.skip("`make batond` makes the daemon")
    baton = Path(sys.executable).with_name("baton")
    command = [sys.executable, str(ROOT / "examples" / "deployed-train" / "train.py"), "--baton", str(baton)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^ +(\d) +[\d.]+ +(\d+) ms, +(\d+) lost +(\d+) ms, +\d+ lost +(\d+) ms$", done.stdout, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 3], done.stdout
    for number, to_train, lost, to_ground, download in (map(int, row) for row in rows):
        # Without a link for 500 ms; then a handshake, a binding and what waits. TCP waits for its timer, which doubles.
        most = 500 + 500 if number < 3 else 500
        assert to_train < most and to_ground < most, done.stdout
        assert download < 2 * most + 500, done.stdout
        # Of the 500 to 700 that are sent in a hard handover the home agent holds all; some are lost in the download's queue.
        assert lost < 400, done.stdout
    # Two hard handovers really were ones.
    assert int(rows[0][1]) > 450 and int(rows[1][1]) > 450, done.stdout
