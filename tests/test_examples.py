"""Examples that readers paste do what they say, here over the loopback interface."""

import subprocess
import sys
from pathlib import Path

import pytest

TRANSFER = Path(__file__).resolve().parent.parent / "examples" / "quic" / "transfer.py"


def test_a_quic_transfer(tmp_path):
    pytest.importorskip("aioquic")
    port = "14433"
    command = [sys.executable, str(TRANSFER), "--port", port]
    server = subprocess.Popen([*command, "serve"], stdout=subprocess.PIPE, text=True)
    try:
        # Asked again until the server listens: QUIC itself sends its first packet again.
        fetch = subprocess.run(
            [*command, "fetch", "127.0.0.1", "200000"], capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        server.terminate()
    assert fetch.returncode == 0, fetch.stderr
    assert fetch.stdout.startswith("200000 bytes in ")
    assert "client at ::ffff:127.0.0.1 port " in server.communicate()[0]
    assert fetch.stderr == ""
