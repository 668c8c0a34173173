"""Examples that readers paste do what they say, here over the loopback interface."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TRANSFER = EXAMPLES / "quic" / "transfer.py"


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


def test_the_notebook_runs(tmp_path):
    """From the first cell to the last, in a folder of its own; it is kept without outputs."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(EXAMPLES / "notebooks" / "handover.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [{kind: data for out in cell.outputs for kind, data in out.get("data", {}).items()} for cell in cells]
    assert "download" in shown[1]["text/html"]
    assert "image/png" in shown[2]
    assert "delivered" in shown[3]["text/html"]
    assert "bbr" in shown[4]["text/html"]
    assert "image/png" in shown[5]
