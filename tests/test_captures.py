"""Captures of our own runs, as tshark reads them."""

import csv
import io
import shutil
import subprocess
from collections import Counter

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

CHECKSUMS = [f"{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
# Ports of a run mean nothing: no protocol above UDP and TCP may be guessed from them.
NO_GUESS = ["--disable-heuristic", "thrift_tcp", "--disable-protocol", "thrift"]
WRONG = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"


def tshark(file, *arguments):
    """Standard output of tshark over a file."""
    options = [word for option in CHECKSUMS for word in ("-o", option)]
    command = ["tshark", "-r", str(file), *NO_GUESS, *options, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def fields(file, condition, *names):
    """Fields of the packets that meet a condition, one row a packet."""
    columns = [word for name in names for word in ("-e", name)]
    text = tshark(file, "-Y", condition, "-T", "fields", "-E", "separator=,", *columns)
    return list(csv.reader(io.StringIO(text)))


def rows_of(folder):
    """Rows of `packets.parquet`."""
    import pyarrow.parquet

    return pyarrow.parquet.read_table(folder / "packets.parquet").to_pylist()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of some shipped scenarios, with captures; links of every kind, soft and hard handovers, losses."""
    import baton
    from baton.shipped import scenarios

    changes = {
        "wavelan-to-gsm": [],
        "gsm-to-wavelan": [],
        "drone": ["duration=60 s", "flows.map.traffic.bytes=4 MB"],
        "train": [
            "duration=20 s",
            "mobiles.train.timetable=[{at='0 s',attach='satellite'},{at='8 s',attach='tunnel'}]",
        ],
        "lte-drive": ["duration=10 s"],
    }
    folders = {}
    for name, overrides in changes.items():
        folder = tmp_path_factory.mktemp("captures") / name
        baton.Scenario.load(scenarios()[name], overrides).run(folder, pcap=True)
        folders[name] = folder
    return folders


def test_nothing_is_malformed_and_every_checksum_is_right(runs):
    for name, folder in runs.items():
        files = sorted(folder.glob("capture-*.pcapng"))
        assert files
        for file in files:
            assert tshark(file, "-Y", WRONG) == "", f"{name}: {file.name}"


def test_every_packet_is_there_with_its_time_to_the_nanosecond(runs):
    folder = runs["wavelan-to-gsm"]
    rows = rows_of(folder)
    for link, direction, sender, receiver in [
        ("ethernet", "down", "server", "home-agent"),
        ("gsm", "up", "laptop", "home-agent"),
    ]:
        passed = [row for row in rows if (row["link"], row["direction"]) == (link, direction)]
        source = passed[0]["source"].split(":")[0]
        sent = sorted(row["sent_ns"] for row in passed)
        received = sorted(row["decided_ns"] for row in passed if row["fate"] == "delivered")
        for node, times in [(sender, sent), (receiver, received)]:
            captured = fields(folder / f"capture-{node}-{link}.pcapng", f"ip.src == {source}", "frame.time_epoch")
            assert [nanoseconds(time) for (time,) in captured] == times
    assert any(time % 1000 for time in received)


def nanoseconds(seconds):
    whole, fraction = seconds.split(".")
    assert len(fraction) == 9
    return int(whole) * 10**9 + int(fraction)


def test_a_sender_has_captured_all_that_it_sent_and_all_that_was_acknowledged(runs):
    # Behind a lossy link gaps are losses. At the source itself there is none.
    gap = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment"
    for name, interface in [
        ("wavelan-to-gsm", "server-ethernet"),
        ("gsm-to-wavelan", "server-ethernet"),
        ("drone", "station-ground"),
        ("train", "server-ground"),
        ("lte-drive", "server-backbone"),
    ]:
        assert tshark(runs[name] / f"capture-{interface}.pcapng", "-Y", gap) == "", name


def test_tshark_counts_the_retransmissions_that_we_count(runs):
    # Wireshark tells a retransmission from reordering by its time; at the source nothing is reordered, and any
    # data that was sent before is one.
    kinds = ("retransmission", "out_of_order", "fast_retransmission")
    again = "tcp.len > 0 && (" + " || ".join(f"tcp.analysis.{kind}" for kind in kinds) + ")"
    for name, interface, link in [
        ("wavelan-to-gsm", "server-ethernet", "ethernet"),
        ("drone", "station-ground", "ground"),
        ("train", "server-ground", "ground"),
    ]:
        rows = [row for row in rows_of(runs[name]) if (row["link"], row["direction"]) == (link, "down")]
        ours = Counter(row["sequence"] for row in rows if row["retransmission"] and row["payload_bytes"])
        assert sum(ours.values()) > 0
        theirs = fields(runs[name] / f"capture-{interface}.pcapng", again, "tcp.seq_raw")
        assert Counter(int(sequence) for (sequence,) in theirs) == ours, name


def test_tshark_counts_the_duplicate_acknowledgments_of_study_t(runs):
    # T2 of the reference: 18 duplicates of one acknowledgment and more, from 23 spurious retransmissions.
    rows = [row for row in rows_of(runs["wavelan-to-gsm"]) if (row["link"], row["direction"]) == ("ethernet", "up")]
    seen, ours = None, 0
    for row in rows:
        pure = row["payload_bytes"] == 0 and row["flags"] == "ACK"
        key = (row["acknowledgment"], row["window"])
        ours += pure and key == seen
        seen = key
    file = runs["wavelan-to-gsm"] / "capture-server-ethernet.pcapng"
    assert len(fields(file, "tcp.analysis.duplicate_ack", "frame.number")) == ours > 18


def test_snacks_ask_for_what_was_lost(tmp_path):
    """SCPS-TP's options: offered in both SYNs, and each hole in segment sizes. tshark 4.0 reads the option and
    then calls the segment malformed, whatever follows."""
    import baton

    link = {
        "between": ["a", "b"],
        "kind": "wired",
        "rate": "5 Mbit/s",
        "delay": "290 ms",
        "down": {"packet_error_rate": 0.02},
    }
    flow = {"name": "f", "from": "a", "to": "b", "traffic": {"bytes": "400 kB"}}
    flow |= {"transport": {"profile": "scps-tp", "congestion": "newreno"}}
    baton.Scenario.build(name="snack", duration="60 s", links={"l": link}, flows=[flow]).run(
        tmp_path / "run", pcap=True
    )
    file = tmp_path / "run" / "capture-a-l.pcapng"
    assert tshark(file, "-Y", f"!tcp.options.snack && ({WRONG})") == ""
    assert tshark(file, "-Y", "tcp.checksum.status == 0") == ""
    offered = fields(file, "tcp.flags.syn == 1", "tcp.options.scpsflags.snack1", "tcp.options.scpsflags.snack2")
    assert {tuple(flags) for flags in offered} <= {("1", "0"), ("True", "False")}
    assert len(offered) == 2
    snacks = fields(file, "tcp.options.snack", "tcp.ack", "tcp.options.snack.offset", "tcp.options.snack.size")
    sizes = Counter(int(size) for _, _, size in snacks)
    assert sizes
    assert max(sizes) <= 3, "2 % of all packets are lost, one by one"
    # The data that the first of them asks for is sent again next.
    lost = int(snacks[0][0])
    again = fields(file, f"tcp.seq == {lost} && tcp.len > 0", "frame.number")
    assert len(again) in (1, 2)


def test_cut_packets_keep_their_lengths_and_only_chosen_interfaces_are_captured(baton, scenario, tmp_path):
    run = ("run", scenario, "--set", "duration=1 s")
    assert baton(*run, "--pcap", "--out", "whole").returncode == 0
    chosen = ("--snap-length", 64, "--pcap-interface", "laptop-lan")
    assert baton(*run, *chosen, "--out", "cut").returncode == 0
    assert [file.name for file in (tmp_path / "cut").glob("*.pcapng")] == ["capture-laptop-lan.pcapng"]
    columns = ("frame.time_epoch", "frame.len", "ip.id", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags")
    whole, cut = (tmp_path / folder / "capture-laptop-lan.pcapng" for folder in ("whole", "cut"))
    assert fields(cut, "tcp", *columns) == fields(whole, "tcp", *columns)
    lengths = [(int(kept), int(had)) for kept, had in fields(cut, "ip", "frame.cap_len", "frame.len")]
    assert all(kept == min(had, 64) for kept, had in lengths)
    assert max(had for _, had in lengths) > 1000
    assert cut.stat().st_size < 0.2 * whole.stat().st_size
    # A repetition captures the same.
    process = baton("rerun", "cut")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "capture-laptop-lan.pcapng: the same" in process.stdout


def test_an_interface_that_is_not_there_is_wrong_input(baton, scenario, tmp_path):
    process = baton("run", scenario, "--pcap-interface", "laptop-lam", "--out", "out")
    assert process.returncode == 2
    assert 'unknown interface "laptop-lam"; did you mean "laptop-lan"?' in process.stderr
    assert not (tmp_path / "out").exists()
