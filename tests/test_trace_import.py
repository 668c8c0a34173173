"""Imports of traces, against captures of known rate, tshark, and real recordings."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import struct
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton import cli
from baton.trace_import import capture, opportunities
from baton.trace_import import trace as trace_module
from baton.trace_import.cli import Format, convert
from baton.trace_import.drive_log import Columns
from baton.trace_import.trace import TraceError

# Beside the project, or beside the folder that holds several working copies of it.
DATA = next((d for p in Path(__file__).resolve().parents[2:] if (d := p / "shared" / "data").is_dir()), Path("absent"))
real_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real recordings are not here (../shared/data)")
tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (apt install tshark)")

BIN = 100_000_000
MOBILE, SERVER = "10.0.0.2", "10.0.0.1"
SYN, FIN, ACK = 2, 1, 16


def run(*arguments: object) -> tuple[int, str]:
    """Exit status and everything printed."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        status = cli.execute(["trace", "import", *map(str, arguments)])
    return status, printed.getvalue()


def load(path: Path) -> dict[str, list[float]]:
    """Columns of a trace that was written."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def imported(path: Path, **kinds: object):
    """Returns the results of an import of one file."""
    return convert([path], kinds.get("format", Format.auto), BIN, "down", None, kinds.get("columns", Columns()))


# Drive logs


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("time,throughput,speed,lat,lon", "5.5,80,52.1,13.2", ("rate_bps", 5.5e6)),
        ("Timestamp,DL_Throughput_kbps,Speed,a,b", "5500,80,52.1,13.2", ("rate_bps", 5.5e6)),
        ("time_s,rate_bps,speed,lat,lon", "5500000,80,52.1,13.2", ("rate_bps", 5.5e6)),
        ("Time;Bandwidth (Mbit/s);v;lat;lon", "5.5;80;52.1;13.2", ("rate_bps", 5.5e6)),
        ("time,rtt_ms,speed,lat,lon", "80,80,52.1,13.2", ("delay_ms", 40.0)),
        ("time,latency,speed,lat,lon", "80,80,52.1,13.2", ("delay_ms", 80.0)),
        ("time,loss_%,speed,lat,lon", "2.5,80,52.1,13.2", ("loss", 0.025)),
    ],
)
def test_columns_and_their_units_are_recognised_by_name(tmp_path, header, row, expected):
    log = tmp_path / "drive.csv"
    separator = ";" if ";" in header else ","
    log.write_text(f"{header}\n100{separator}{row}\n101{separator}{row}\n")
    assert run(log, "--out", tmp_path / "x")[0] == 0
    name, value = expected
    assert load(tmp_path / "x.down.csv") == {"time_s": [0, 1], name: [value, value]}


def test_a_drive_log_becomes_a_trace_from_zero_in_which_values_hold(tmp_path):
    log = tmp_path / "drive.csv.gz"
    log.write_bytes(
        gzip.compress(
            b"date_time,mbps,delay_ms\n"
            b"2024-05-01T10:00:00Z,12.5,30\n"
            b"2024-05-01T10:00:01.250Z,12.5,30\n"
            b"2024-05-01T10:00:02Z,0,30\n"
            b"2024-05-01T10:00:04Z,0,30\n"
        )
    )
    status, output = run(log, "--out", tmp_path / "drive", "--direction", "up")
    assert status == 0, output
    text = (tmp_path / "drive.up.csv").read_text()
    assert text == "time_s,rate_bps,delay_ms\n0,12500000,30.000\n2,0,30.000\n4,0,30.000\n", "it ends at 6 s"
    provenance = json.loads((tmp_path / "drive.json").read_text())
    assert provenance["sources"][0]["file"] == "drive.csv.gz"
    assert any("mbps" in rule for rule in provenance["rules"])
    assert run(log, "--out", tmp_path / "drive", "--direction", "up")[0] == 2, "an existing file is kept"


def test_columns_can_be_named(tmp_path):
    log = tmp_path / "drive.csv"
    log.write_text("when,what,other throughput,throughput\n0,1,9,9\n1,2,9,9\n")
    assert run(log, "--out", tmp_path / "x", "--time-column", "when", "--rate-column", "what")[0] == 0
    assert load(tmp_path / "x.down.csv")["rate_bps"] == [1e6, 2e6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: empty"),
        ("\n\n", ":1: empty"),
        ("time,throughput\n", "0 rows"),
        ("time,throughput\n0,1\n", "1 rows"),
        ("time,speed\n0,1\n1,1\n", ":1: no rate, delay or loss among 'time', 'speed'"),
        ("when,throughput\n0,1\n1,1\n", ":1: no time column"),
        ("time,throughput,bandwidth\n0,1,1\n", ":1: 'throughput', 'bandwidth' could each be the rate"),
        ("time,throughput\n0,1\n1,nan\n", ":3: throughput is nan"),
        ("time,throughput\n0,1\n1,inf\n", ":3: throughput is inf"),
        ("time,throughput\n0,1\n1,-4\n", ":3: throughput is -4"),
        ("time,throughput\n0,1\n1,\n", ":3: throughput is an empty cell"),
        ("time,throughput\n0,1\n1,fast\n", ":3: throughput is 'fast'"),
        ("time,throughput\n0,1\n1,1\n1,2\n", ":4: time is 1; expected a later time"),
        ("time,throughput\n5,1\n4,1\n", ":3: time is 4; expected a later time"),
        ("time,throughput\n0,1\n1,1,1\n", ":3: 3 cells; expected 2"),
        ("time,throughput\n2024-13-01T00:00:00,1\n", ":2: time is '2024-13-01T00:00:00'"),
        ("time,loss\n0,0.1\n1,7\n", "loss exceeds 1"),
    ],
)
def test_a_wrong_drive_log_is_refused_with_its_line(tmp_path, text, message):
    log = tmp_path / "drive.csv"
    log.write_text(text)
    status, output = run(log, "--out", tmp_path / "x")
    assert status == 2
    assert f"drive.csv{message}" in output or message in output
    assert list(tmp_path.iterdir()) == [log], "nothing is written"


def test_what_is_no_trace_at_all_is_refused(tmp_path):
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"time,throughput\n" * 1000)[:30])
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    for name in ["cut.csv.gz", "picture.png", "absent.csv"]:
        status, output = run(tmp_path / name, "--out", tmp_path / "x")
        assert status == 2
        assert name in output


# Captures


def segment(sequence: int, acknowledgment: int, flags: int, length: int, down: bool) -> bytes:
    """An IPv4 packet with a TCP segment (RFC 791 section 3.1, RFC 9293 section 3.1), payload of zeros."""
    source, destination, ports = (SERVER, MOBILE, (80, 4000)) if down else (MOBILE, SERVER, (4000, 80))
    addresses = bytes(int(part) for part in f"{source}.{destination}".split("."))
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + length, 0, 0, 64, 6, 0) + addresses
    tcp = struct.pack("!HHIIBBHHH", *ports, sequence % 2**32, acknowledgment % 2**32, 0x50, flags, 65535, 0, 0)
    return ip + tcp + bytes(length)


def pcap_bytes(
    packets: list[tuple[int, bytes]], order: str = "<", nanoseconds: bool = True, snap: int = 65535
) -> bytes:
    """A pcap file of raw IP packets at nanosecond times, as draft-ietf-opsawg-pcap lays it out."""
    unit = 1 if nanoseconds else 1000
    out = struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, snap, 101)
    for time, packet in packets:
        part = packet[:snap]
        out += struct.pack(f"{order}IIII", time // 10**9, time % 10**9 // unit, len(part), len(packet)) + part
    return out


def download(initial: int = 1000, lost: set[int] = frozenset(), count: int = 1000) -> list[tuple[int, bytes]]:
    """Seen at the mobile: a handshake over 80 ms, then 1500 B every 12 ms (1 Mbit/s), each acknowledged after
    1 ms; the segments of `lost` are missing in their turn and come with a repeat 6 ms after the next one."""
    ms = 1_000_000
    origin = 1_700_000_000 * 10**9
    packets = [
        (0, segment(7, 0, SYN, 0, down=False)),
        (80 * ms, segment(initial - 1, 8, SYN | ACK, 0, down=True)),
        (81 * ms, segment(8, initial, ACK, 0, down=False)),
    ]
    for place in range(count):
        time = (100 + 12 * place) * ms
        number = initial + 1460 * place
        if place not in lost:
            packets.append((time, segment(number, 8, ACK, 1460, down=True)))
            packets.append((time + ms, segment(8, number + 1460, ACK, 0, down=False)))
            if place - 1 in lost:
                packets.append((time + 6 * ms, segment(number - 1460, 8, ACK, 1460, down=True)))
    return [(origin + time, packet) for time, packet in packets]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_a_capture_gives_the_rate_and_the_delay_it_was_made_with(tmp_path, order, nanoseconds):
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(download(), order, nanoseconds))
    found = imported(file)
    down, up = found.traces["down"], found.traces["up"]
    assert down.time_ns[:3] == [0, BIN, 2 * BIN]
    assert down.end_ns == 12_100_000_000, "12.089 s in whole bins"
    # 8 or 9 packets of 1500 B fall into a bin of 100 ms: 0.96 or 1.08 Mbit/s.
    assert set(down.rate_bps[1:-1]) == {960e3, 1080e3}
    assert down.mean(down.rate_bps) * down.end_ns / 1e9 == pytest.approx((1000 * 1500 + 40) * 8)
    # 80 ms beyond the mobile's peer and 1 ms of the mobile itself, half each way.
    assert set(down.delay_ms) == set(up.delay_ms) == {40.5}
    assert set(down.loss) == {0}
    assert (up.rate_bps, up.loss) == (None, None), "an uplink of acknowledgments says nothing of its rate"


def test_a_silence_is_rate_zero(tmp_path):
    packets = download()
    pause = 3 * 10**9
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(packets[:1000] + [(time + pause, packet) for time, packet in packets[1000:]]))
    down = imported(file).traces["down"]
    assert down.rate_bps.count(0) == pytest.approx(30, abs=1)


def test_a_delay_that_rests_on_one_sample_is_warned_of(tmp_path):
    """36 s of a download, of whose network only the handshake's 80 ms were ever measured."""
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(download(count=3000)))
    status, output = run(file, "--out", tmp_path / "long")
    assert status == 0
    (warning,) = [line for line in output.splitlines() if line.startswith("warning:")]
    assert "away from the mobile rests on one round-trip sample, of 80 ms at the least, in 1 of 4 blocks" in warning
    assert warning.removeprefix("warning: ") in json.loads((tmp_path / "long.json").read_text())["warnings"]
    # 12 s are two blocks, one of which has the sample: no more than half is repeated.
    file.write_bytes(pcap_bytes(download()))
    assert "warning" not in run(file, "--out", tmp_path / "short")[1]


def test_a_long_pause_that_becomes_an_outage_is_warned_of(tmp_path):
    packets = download()
    file = tmp_path / "c.pcap"
    for pause_s, warned in ((1.5, False), (3, True)):
        later = [(time + round(pause_s * 1e9), packet) for time, packet in packets[1000:]]
        file.write_bytes(pcap_bytes(packets[:1000] + later))
        warnings = [each for each in imported(file).warnings if "pause" in each]
        assert bool(warnings) is warned
    # Of the first 1000 packets the last with data came at 6.076 s; the next comes 12 ms and 3 s later.
    assert "down has 1 pause of 2 s and more without a packet, the longest of 3.0 s from 6.1 s on" in warnings[0]


def test_loss_is_the_share_of_repeats(tmp_path):
    lost = set(range(10, 990, 20))
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(download(lost=lost)))
    down = imported(file).traces["down"]
    assert down.mean(down.loss) == pytest.approx(len(lost) / 1000, rel=0.05)


def test_sequence_numbers_may_wrap_and_packets_may_be_cut(tmp_path):
    plain, wrapped = tmp_path / "a.pcap", tmp_path / "b.pcap"
    plain.write_bytes(pcap_bytes(download()))
    wrapped.write_bytes(pcap_bytes(download(initial=2**32 - 5000), snap=40))
    assert imported(plain).traces == imported(wrapped).traces


def test_a_capture_that_breaks_off_gives_what_it_holds(tmp_path):
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(download())[:-7])
    found = imported(file)
    assert found.traces["down"].rate_bps is not None
    assert any("breaks off" in note for note in found.notes)
    status, output = run(file, "--out", tmp_path / "x")
    assert (status, "note: c.pcap is damaged or breaks off" in output) == (0, True)


def test_a_capture_with_a_length_that_cannot_be_is_refused(tmp_path):
    file = tmp_path / "c.pcap"
    gibibyte = struct.pack("<IIII", 1_700_000_100, 0, 1 << 30, 1 << 30)
    for data in (pcap_bytes(download()) + gibibyte, PCAPNG + struct.pack("<II", 6, 0)):
        file.write_bytes(data)
        status, output = run(file, "--out", tmp_path / "x")
        assert (status, "the file is damaged" in output.replace("\n", " ")) == (2, True)
        assert list(tmp_path.iterdir()) == [file], "nothing is written"


def test_a_capture_at_the_sender_says_so(tmp_path):
    """80 ms from data to its acknowledgment, at once from the handshake's answer to its acknowledgment."""
    ms = 1_000_000
    packets = [(0, segment(7, 0, SYN, 0, down=False)), (ms // 10, segment(999, 8, SYN | ACK, 0, down=True))]
    packets.append((80 * ms, segment(8, 1000, ACK, 0, down=False)))
    for place in range(100):
        number = 1000 + 1460 * place
        packets.append(((100 + 100 * place) * ms, segment(number, 8, ACK, 1460, down=True)))
        packets.append(((180 + 100 * place) * ms, segment(8, number + 1460, ACK, 0, down=False)))
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(packets))
    assert any("nearer to the sender of down" in note for note in imported(file).notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pcap_bytes([]), "no IP packets"),
        (pcap_bytes(download()[:1]), "all samples have the same time"),
        (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 147), "link type 147"),
        (pcap_bytes([(0, segment(0, 0, ACK, 9, True)), (9 * 10**17, segment(9, 0, ACK, 9, True))]), "wrong time stamp"),
    ],
)
def test_a_capture_without_a_transfer_is_refused(tmp_path, data, message):
    file = tmp_path / "c.pcap"
    file.write_bytes(data)
    status, output = run(file, "--out", tmp_path / "x")
    assert status == 2
    assert message in output.replace("\n", " ")


@tshark
def test_tshark_reads_the_same_from_the_capture_and_writes_pcapng_that_we_read(tmp_path):
    """Three ways to one result: our reader, pcapng as Wireshark writes it, and Wireshark's own dissection."""
    file = tmp_path / "c.pcap"
    file.write_bytes(pcap_bytes(download(lost=set(range(10, 990, 20)))))
    subprocess.run(["tshark", "-r", file, "-F", "pcapng", "-w", tmp_path / "c.pcapng"], check=True, capture_output=True)
    fields = ["frame.time_epoch", "ip.src", "ip.dst", "ip.len"]
    fields += ["tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.ack", "tcp.len", "tcp.flags"]
    command = ["tshark", "-r", file, "-T", "fields", "-E", "header=y", "-E", "separator=,"]
    for name in fields:
        command += ["-e", name]
    table = subprocess.run(command, check=True, capture_output=True).stdout
    (tmp_path / "c.csv").write_bytes(table)
    results = [imported(tmp_path / name).traces for name in ("c.pcap", "c.pcapng", "c.csv")]
    assert results[0] == results[1]
    assert results[0] == results[2]


def test_a_table_of_packets_with_a_wrong_cell_is_refused_with_its_line(tmp_path):
    header = "frame.time_epoch,ip.src,ip.dst,tcp.srcport,tcp.dstport,tcp.seq,tcp.ack,tcp.len,tcp.flags\n"
    good = "1.5,10.0.0.1,10.0.0.2,1,2,0,0,100,0x0010\n"
    for bad in ["nan,10.0.0.1,10.0.0.2,1,2,0,0,100,0x0010\n", "2,10.0.0.1,10.0.0.2,1,2,zero,0,100,0x10\n"]:
        file = tmp_path / "t.csv"
        file.write_text(header + good + bad)
        status, output = run(file, "--out", tmp_path / "x")
        assert status == 2
        assert "t.csv:3:" in output.replace("\n", "")


# mahimahi and LeoReplayer


def test_opportunities_become_rates_of_the_same_sum(tmp_path):
    """One chance a millisecond is 12 Mbit/s; then a second of nothing; then one in 10 ms."""
    times = [*range(1, 1000), *range(2000, 3001, 10)]
    file = tmp_path / "trace.down"
    file.write_text("".join(f"{time}\n" for time in times))
    down = imported(file).traces["down"]
    assert down.rate_bps[1:9] == [12e6] * 8
    assert down.rate_bps[10:20] == [0] * 10
    assert down.rate_bps[21:29] == [1.2e6] * 8
    assert down.end_ns == 3 * 10**9
    assert down.mean(down.rate_bps) * 3 == pytest.approx(len(times) * 12000)


def test_a_leo_pair_becomes_rate_and_delay(tmp_path):
    (tmp_path / "bw_x").write_text("".join(f"{time}\n" for time in range(1, 401)))
    (tmp_path / "delay_x").write_text("20\n" * 15 + "40\n" * 15)
    status, output = run(tmp_path / "bw_x", tmp_path / "delay_x", "--out", tmp_path / "leo")
    assert status == 0, output
    text = (tmp_path / "leo.down.csv").read_text().split("\n")
    assert [line.split(",")[2] for line in text[1:-1]] == ["20.000", "30.000", "40.000", "40.000"]


@pytest.mark.parametrize(
    ("text", "line"), [("5\n4\n", 2), ("5\nx\n", 2), ("1\n-2\n", 2), ("1\n2.5\n", 2), ("1\n" + "9" * 30, 2)]
)
def test_a_wrong_opportunity_is_refused_with_its_line(tmp_path, text, line):
    file = tmp_path / "trace.down"
    file.write_text(text)
    status, output = run(file, "--out", tmp_path / "x")
    assert status == 2
    assert f"trace.down:{line}:" in output.replace("\n", "")


# Nothing makes it crash

contents = st.one_of(
    st.binary(max_size=300),
    st.text(alphabet='0123456789.,;\n-e"nati\ttime,rate', max_size=200).map(
        lambda text: ("time,rate\n" + text).encode()
    ),
    st.lists(st.integers(-5, 10**13)).map(lambda times: "\n".join(map(str, times)).encode()),
)
SMALL_PCAP = pcap_bytes(download(count=4))
PCAPNG = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + struct.pack(
    "<IIHHII", 1, 20, 101, 0, 0, 20
)
PCAPNG += struct.pack("<IIIIIII", 6, 32, 0, 0, 5, 0, 0) + struct.pack("<I", 32)


@given(contents, st.sampled_from(list(Format)))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_imported_or_refused(tmp_path, content, kind):
    file = tmp_path / "input"
    file.write_bytes(content)
    inputs = [file, file] if kind is Format.leo else [file]
    check_imported_or_refused(inputs, kind)


@given(st.sampled_from([SMALL_PCAP, PCAPNG]), st.lists(st.tuples(st.integers(4, 600), st.integers(0, 255)), max_size=6))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damaged_capture_is_imported_or_refused(tmp_path, data, damage):
    damaged = bytearray(data)
    for place, value in damage:
        damaged[place % len(damaged)] = value
    file = tmp_path / "input"
    file.write_bytes(damaged)
    check_imported_or_refused([file], Format.auto)


def check_imported_or_refused(inputs: list[Path], kind: Format) -> None:
    """Checks that imported data has the format's shape."""
    try:
        with patch.object(trace_module, "LARGEST_TRACE", 10_000):  # the limit itself, but sooner
            found = convert(inputs, kind, 10**10, "down", None, Columns())
    except TraceError as error:
        assert str(error).startswith(str(inputs[0]))  # noqa: PT017 (a refusal is one of two good ends)
        return
    for trace in found.traces.values():
        rows = trace.to_csv().splitlines()[1:]
        times = [float(row.split(",")[0]) for row in rows]
        assert times[0] == 0
        assert times == sorted(set(times))
        assert all(float(cell) >= 0 for row in rows for cell in row.split(","))


# Real recordings


@real_data
@pytest.mark.parametrize(
    ("name", "lines", "last_ms"), [("lte-driving.down", 45604, 120002), ("lte-driving.up", 19101, 120002)]
)
def test_a_recorded_lte_drive_keeps_its_capacity(name, lines, last_ms):
    times = opportunities.opportunities(DATA / name)
    assert len(times) == lines
    assert times[-1] == last_ms
    trace = imported(DATA / name).traces["down"]
    assert trace.mean(trace.rate_bps) * trace.end_ns / 1e9 == pytest.approx(lines * 12000)


@real_data
def test_a_recorded_starlink_downlink_keeps_capacity_and_delay(tmp_path):
    assert run(DATA / "starlink.bw.gz", DATA / "starlink.delay", "--out", tmp_path / "s")[0] == 0
    trace = load(tmp_path / "s.down.csv")
    assert trace["time_s"][-1] == pytest.approx(120, abs=0.2)
    assert min(trace["delay_ms"]) >= 7
    assert max(trace["delay_ms"]) <= 68


@real_data
def test_a_train_ride_whose_delay_is_a_handshake_s_and_whose_carrier_was_idle_says_so():
    warnings = imported(DATA / "high-speed-rail.carrier-M3.csv.gz").warnings
    warnings += imported(DATA / "high-speed-rail.carrier-U4.csv.gz").warnings
    assert any("rests on one round-trip sample, of 449 ms" in each for each in warnings)
    assert any("the longest of 38." in each for each in warnings)


@real_data
@pytest.mark.parametrize("carrier", ["M3", "U4"])
def test_round_trips_of_a_train_ride_are_tsharks(carrier):
    """tshark wrote its own `tcp.analysis.ack_rtt` into the file; ours come from the same packets."""
    path = DATA / f"high-speed-rail.carrier-{carrier}.csv.gz"
    packets = list(capture.tshark_packets(path))
    with gzip.open(path, "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["tcp.analysis.ack_rtt"]]
    start = min(packet.time_ns for packet in packets)
    theirs = {
        (capture.exact_time(path, 0, row["frame.time_epoch"]) - start): row["tcp.analysis.ack_rtt"] for row in rows
    }
    mobile, down, up = capture.chosen_mobile(packets), capture.Direction(), capture.Direction()
    capture.observe(packets, mobile, down, up)
    ours = dict(down.round_trips + up.round_trips)
    common = [(ours[time], round(float(theirs[time]) * 1e9)) for time in ours.keys() & theirs.keys()]
    assert len(common) > 0.95 * len(ours)
    agreeing = sum(abs(a - b) <= 1000 for a, b in common)
    assert agreeing > 0.95 * len(common)
    got = imported(path).traces["down"]
    expected = sum(p.ip_bytes for p in packets if p.destination == mobile) * 8
    assert got.mean(got.rate_bps) * got.end_ns / 1e9 == pytest.approx(expected)


@pytest.mark.parametrize("row", ["1e300,2", "1e17,2", "1,1e300"])
def test_numbers_beyond_all_reason_are_refused_with_their_line(tmp_path, row):
    file = tmp_path / "log.csv"
    file.write_text(f"time,rate_mbps\n0,1\n{row}\n")
    status, printed = run(file, "--out", tmp_path / "trace")
    assert status == 2
    assert printed.startswith(f"baton: {file}:3: ")
    assert "expected a" in printed
