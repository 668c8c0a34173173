"""DTN gateways: the bundles of a run, as Wireshark reads them."""

import shutil
import subprocess
from pathlib import Path

import pytest

import baton

ROOT = Path(__file__).resolve().parent.parent
TUNNEL = ROOT / "studies" / "dtn" / "tunnel.toml"


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Returns the capture of the ground's satellite link, and the run's results."""
    folder = tmp_path_factory.mktemp("dtn") / "run"
    changes = [
        "duration=30 s",
        "flows.download.traffic.bytes=300 kB",
        "links.satellite.packet_error_rate=0.02",
        'dtn_gateways.train={ between = ["ground", "train"] }',
    ]
    results = baton.Scenario.load(TUNNEL, changes).run(folder, pcap=True)
    return folder / "capture-ground-satellite.pcapng", results


def tshark(file, *arguments):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-r", str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def test_wireshark_reads_every_bundle(captured):
    """CRC status 1 is "good"; each packet is a bundle of one gateway to the other, in an administrative record."""
    file, _ = captured
    packets = tshark(file)
    bundles = tshark(file, "-Y", "bpv7", "-T", "fields", "-e", "bpv7.primary.src_uri", "-e", "bpv7.primary.dst_uri")
    assert len(bundles) == len(packets) > 200
    assert len(set(bundles)) == 2
    assert tshark(file, "-Y", "_ws.malformed || bpv7.crc_status == 0") == []
    assert len(tshark(file, "-Y", "bpv7.crc_status == 1")) == len(packets)
    assert len(tshark(file, "-Y", "bpv7.primary.bundle_flags.payload_admin == 1")) == len(packets)


def test_a_run_counts_its_bundles(captured):
    _, results = captured
    agents = {agent["node"]: agent for agent in results.summary["agents"]}
    ground = agents["ground"]
    assert ground["agent"] == "DTN gateway"
    assert ground["held"] == ground["released"] > 200
    assert ground["copies"] > 0
    assert ground["overflowed"] == ground["expired"] == 0
    assert 0 < ground["most_bytes"] <= 300_000
    flow = results.summary["flows"][0]
    assert flow["delivered_bytes"] == 300_000
