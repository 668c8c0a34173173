"""The example that runs the daemons between emulated links: what each handover costs."""

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
    row = r"^ +(\d) +[\d.]+ +(\d+) ms, +(\d+) lost +(\d+) ms, +\d+ lost +(\d+) ms$"
    rows = re.findall(row, done.stdout, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 3], done.stdout
    for number, to_train, lost, to_ground, download in (map(int, row) for row in rows):
        # Without a link for 500 ms; then a handshake, a binding and what waits. TCP waits for its timer, which doubles.
        most = 500 + 500 if number < 3 else 500
        assert max(to_train, to_ground) < most, done.stdout
        assert download < 2 * most + 500, done.stdout
        # The home agent holds what is sent meanwhile, and the download's queue loses some of it.
        assert lost < 400, done.stdout
    # Two hard handovers really were ones.
    assert min(int(rows[0][1]), int(rows[1][1])) > 450, done.stdout
