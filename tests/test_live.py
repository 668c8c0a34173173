"""Live runs in real namespaces: short, and skipped with the reason where the machine does not allow them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from baton import RunError
from baton.live import emulator, trials
from baton.reproduce import STUDIES
from baton.reproduce.study_run import figures

ROOT = Path(__file__).resolve().parent.parent
AIOQUIC = "aioquic"
QUINN = "quinn"
WEB = f"{shlex.quote(sys.executable)} -m http.server 8000"
SCENARIO = """\
name = "walk"
duration = "15 s"

[links.wifi]
between = ["server", "laptop"]
kind = "wired"
rate = "8 Mbit/s"
delay = "10 ms"
queue = "64 kB"

[links.cellular]
between = ["server", "laptop"]
kind = "wired"
rate = "4 Mbit/s"
delay = "30 ms"
queue = "64 kB"

[mobiles.laptop]
timetable = [
  { at = "0 s", attach = "wifi" },
  { at = "1500 ms", attach = "cellular", handover = "hard", outage = "1 s" },
]

[[flows]]
name = "download"
from = "server"
to = "laptop"
transport.congestion = "cubic"
"""
OUTAGE_S = 1.0
NO_HANDOVER = "--allow-no-handover"


pytestmark = pytest.mark.live


@pytest.fixture
def walk(tmp_path):
    """A scenario with a hard handover after 1.5 s, and files for a web server."""
    path = tmp_path / "walk.toml"
    path.write_text(SCENARIO)
    (tmp_path / "small").write_bytes(bytes(1000))
    (tmp_path / "large").write_bytes(bytes(3_000_000))
    return path


def start(tmp_path: Path, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "baton", "live", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(tmp_path: Path, *arguments: object) -> subprocess.CompletedProcess:
    process = start(tmp_path, *arguments)
    try:
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def summary_of(process: subprocess.CompletedProcess) -> dict:
    assert process.stdout, process.stderr
    return json.loads(process.stdout)


def begun(process: subprocess.Popen) -> str:
    """Waits until a run has begun, and returns its name."""
    for line in process.stderr:
        found = re.match(r"baton: (\S+) has begun", line)
        if found:
            return found[1]
    raise AssertionError(f"never began: {process.communicate()}")


def processes(word: str) -> list[int]:
    """Processes with this word among their arguments."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (place / "cmdline").read_bytes().split(b"\0"):
                found.append(int(place.name))
        except OSError:
            pass  # it ended meanwhile
    return found


def gone(word: str) -> bool:
    """Returns true if processes with this word are gone within some seconds."""
    deadline = time.monotonic() + 5
    while processes(word) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes(word)


def network() -> str:
    """Interfaces, addresses and routes of the host; counters and lifetimes left out."""
    commands = ("ip -o link", "ip -o addr", "ip route", "ip -6 route")
    texts = [subprocess.run(shlex.split(each), capture_output=True, text=True, check=True).stdout for each in commands]
    return re.sub(r"valid_lft \S+|preferred_lft \S+|expires \S+", "", "".join(texts))


def test_a_download_over_a_hard_handover_stalls_for_the_outage(tmp_path, walk):
    fetch = ["curl", "-s", "-o", "/dev/null", "http://server:8000/large"]
    process = run(tmp_path, walk, "--json", "--server", WEB, "--", *fetch)
    summary = summary_of(process)
    assert process.returncode == 0, process.stderr
    program = summary["program"]
    assert (program["argv"], program["status"], program["signal"]) == (fetch, 0, None)
    assert OUTAGE_S <= program["longest_stall_s"] < 4 * OUTAGE_S
    assert program["delivered_bytes"] >= 3_000_000
    # 8 Mbit/s at most, and nothing during the outage.
    assert program["wall_s"] > 3_000_000 * 8 / 8e6 + OUTAGE_S
    flow = next(flow for flow in summary["flows"] if flow["name"] == "tcp-8000-1")
    assert (flow["from"], flow["to"]) == ("server", "laptop")
    assert [h["kind"] for h in summary["handovers"]] == ["hard"]
    assert summary["live"]["dropped_outside_model"] == 0
    names = {path.name for path in (tmp_path / "results" / "walk-live-1").iterdir()}
    assert {"manifest.json", "summary.json", "series.parquet", "packets.parquet", "report.html"} <= names
    assert "server.log" in names


def test_the_kernel_and_the_simulator_agree_roughly(tmp_path, walk, baton):
    live = run(tmp_path, walk, "--set", "duration=8 s", "--out", "live")
    assert live.returncode == 0, live.stderr
    manifest = json.loads((tmp_path / "live" / "manifest.json").read_text())
    assert (manifest["complete"], manifest["simulated_s"]) == (True, 8.0)
    assert baton("run", walk, "--set", "duration=8 s", "--out", "simulated").returncode == 0
    told = json.loads(baton("compare", "simulated", "live", "--json").stdout)
    (flow,) = told["flows"]
    goodput = next(each for each in flow["quantities"] if each["quantity"] == "goodput_bps")
    assert abs(goodput["relative"]) < 0.4


@pytest.mark.parametrize("name", ["server", "server6"])
def test_names_and_environment(tmp_path, walk, name):
    server = f"{shlex.quote(sys.executable)} -m http.server --bind :: 8000"
    says = f"curl -s http://{name}:8000/small | wc -c; getent hosts laptop mobile; env | grep ^BATON_"
    process = run(tmp_path, walk, NO_HANDOVER, "--server", server, "--", "sh", "-c", says)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[0].strip() == "1000"
    for text in ("BATON_SERVER=10.0.0.1", "BATON_MOBILE=10.0.0.2", "BATON_SERVER6=fd62:6174:6f6e::1", "BATON_RUN="):
        assert text in process.stdout
    assert re.search(r"\blaptop\b", process.stdout)


def test_there_is_no_internet_inside(tmp_path, walk):
    process = run(tmp_path, walk, "--json", "--", "curl", "-s", "--max-time", "2", "http://192.0.2.1/")
    assert process.returncode == 4
    assert summary_of(process)["program"]["status"] != 0


@pytest.mark.parametrize(
    ("program", "status", "killed_by"), [(["sh", "-c", "exit 7"], 7, None), (["sh", "-c", "kill -SEGV $$"], None, 11)]
)
def test_a_program_that_fails(tmp_path, walk, program, status, killed_by):
    process = run(tmp_path, walk, "--json", "--", *program)
    assert process.returncode == 4
    told = summary_of(process)["program"]
    assert (told["status"], told["signal"]) == (status, killed_by)


def test_a_program_that_is_not_there(tmp_path, walk):
    process = run(tmp_path, walk, "--json", "--", "no-such-program")
    assert process.returncode in (2, 4)
    assert "no-such-program" in process.stderr


def test_a_kernel_repeats_what_was_never_lost_when_study_t_moves_to_gsm(tmp_path):
    settings = (
        "flows.download.transport.profile=linux-6",
        "mobiles.mobile.timetable.1.at=2 s",
        "duration=14 s",
        "live.lateness_bound=100 ms",  # its segments take 1.5 s
    )
    trial = trials.Trial("download", STUDIES / "T" / "download.toml", settings)
    ((kept,),) = trials.run([trial], trials.Plan(tmp_path, 1, figures), lambda ended, of: None)
    found = kept.figures
    if found is None:
        pytest.skip(f"this machine was too busy for a live run: {kept.doubts[-1]}")
    # TCP_RTO_MIN is 200 ms; a segment of 1500 B with its framing alone takes 1.55 s over GSM.
    assert 0.2 <= found["T2.a"] < 0.3
    assert found["T2.b"] >= 1
    assert found["T2.d"] == 0
    assert found["T2.h"] > 1.55
    # A window of 16 KiB are eleven segments.
    assert 0 < found["T2.c"] <= 11
    assert not (tmp_path / "download" / "run-1").exists()


def test_a_run_waits_until_there_is_room_for_it():
    machine, entered = trials._Machine(), []

    def enter(share):
        with machine.room_for(share):
            entered.append(share)

    half = trials.MOST_TOGETHER // 2
    waiting = threading.Thread(target=enter, args=(1,))
    with machine.room_for(half), machine.room_for(half):
        waiting.start()
        assert not entered
    waiting.join()
    assert entered == [1]


def test_an_interrupted_run_waits_no_longer():
    machine, refused = trials._Machine(), []

    def enter():
        try:
            with machine.room_for(1):
                pass
        except RunError as error:
            refused.append(str(error))

    waiting = threading.Thread(target=enter)
    with machine.room_for(trials.MOST_TOGETHER):
        waiting.start()
        machine.interrupt()
        waiting.join()
    assert refused == ["interrupted"]


def test_a_window_of_small_segments_is_as_large_as_asked_for(tmp_path, walk):
    transport = 'flows.0.transport={ receive_buffer = "4 KiB", maximum_segment_size = "1024 B" }'
    process = run(tmp_path, walk, "--set", "duration=1400 ms", "--set", transport, "--out", "live")
    assert process.returncode == 0, process.stderr
    table = pq.read_table(tmp_path / "live" / "packets.parquet", columns=["direction", "flags", "window"])
    windows = [row["window"] for row in table.to_pylist() if row["direction"] == "up" and row["flags"] == "ACK"]
    # Timestamps take 12 B of a segment; without window scaling the kernel advertises whole ones.
    assert statistics.mode(windows) == 4 * (1024 - 12)
    assert max(windows) <= 4096


def test_the_hosts_own_network_is_not_touched(tmp_path, walk):
    before = network()
    process = start(tmp_path, walk, "--", "sleep", "2")
    begun(process)
    time.sleep(0.5)
    assert network() == before
    process.communicate(timeout=60)
    assert network() == before


def test_ctrl_c_keeps_results_and_leaves_nothing_behind(tmp_path, walk):
    word = f"6{os.getpid()}"
    process = start(tmp_path, walk, "--", "sleep", word)
    begun(process)
    time.sleep(1)
    assert processes(word)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Interrupted" in stdout
    assert json.loads((tmp_path / "results" / "walk-live-1" / "manifest.json").read_text())["complete"] is False
    assert gone(word)


@pytest.mark.parametrize("whom", ["baton-emulator", "baton"])
def test_kill_leaves_nothing_behind(tmp_path, walk, whom):
    word = f"7{os.getpid()}"
    process = start(tmp_path, walk, "--", "sleep", word)
    begun(process)
    time.sleep(0.5)
    (pid,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    os.kill(pid if whom == "baton-emulator" else process.pid, signal.SIGKILL)
    _, stderr = process.communicate(timeout=30)
    if whom == "baton-emulator":
        assert process.returncode == 1
        assert "killed by SIGKILL" in stderr
    assert gone(word)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_run_is_moved_on_demand(tmp_path, walk, baton):
    # However long the commands take to start, the program waits for them.
    waits = "until [ -e moved ]; do sleep 0.1; done"
    long = ["--set", "duration=60 s", "--handover", "59 s soft", NO_HANDOVER]
    process = start(tmp_path, walk, *long, "--json", "--", "sh", "-c", waits)
    name = begun(process)
    assert baton("handover", name, "moon").returncode == 2
    asked = baton("handover", name, "cellular", "--hard", "200 ms")
    assert asked.returncode == 0, asked.stderr
    time.sleep(1)
    (tmp_path / "moved").touch()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    told = json.loads(stdout)
    (handover,) = told["handovers"]
    assert (handover["to"], handover["kind"]) == ("cellular", "hard")
    assert told["live"]["by_hand"] == [{"at_s": handover["at_s"], "what": "handover to cellular, hard, 0.2 s"}]
    assert handover["completed_s"] - handover["at_s"] == pytest.approx(0.2, abs=0.01)


def test_a_link_is_changed_by_hand(tmp_path, walk, baton):
    # From 8 to 1 Mbit/s: what comes through is the new rate once the queue of 64 kB is drained.
    (tmp_path / "endless").write_bytes(bytes(50_000_000))
    waits = "until [ -e changed ]; do sleep 0.1; done; sleep 3"
    long = ["--set", "duration=60 s", "--handover", "59 s soft", NO_HANDOVER]
    fetch = f"curl -s -o /dev/null http://server:8000/endless & {waits}; kill $!"
    process = start(tmp_path, walk, *long, "--json", "--server", WEB, "--", "sh", "-c", fetch)
    name = begun(process)
    time.sleep(0.5)
    for wrong, part in (("links.wifi.rat=1 Mbit/s", "rate"), ("links.moon.rate=1 Mbit/s", "moon"), ("seed=2", "links")):
        refused = baton("set", name, wrong)
        assert refused.returncode == 2
        assert part in refused.stderr
    asked = baton("set", name, "links.wifi.rate=1 Mbit/s")
    assert asked.returncode == 0, asked.stderr
    (tmp_path / "changed").touch()
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    (by_hand,) = json.loads(stdout)["live"]["by_hand"]
    assert by_hand["what"] == "links.wifi.rate=1 Mbit/s"
    results = tmp_path / "results" / "walk-live-1"
    table = pq.read_table(
        results / "packets.parquet", columns=["link", "direction", "fate", "decided_ns", "wire_bytes"]
    )
    rows = table.to_pylist()
    drained_ns = (by_hand["at_s"] + 64_000 * 8 / 1e6) * 1e9
    late = [
        row["wire_bytes"]
        for row in rows
        if (row["link"], row["direction"], row["fate"]) == ("wifi", "down", "delivered")
        and drained_ns < row["decided_ns"] < drained_ns + 1.5e9
    ]
    assert 0.7e6 < sum(late) * 8 / 1.5 < 1.1e6
    assert json.loads((results / "manifest.json").read_text())["commit"]


def test_two_runs_do_not_disturb_each_other(tmp_path, walk):
    fetch = ["--server", WEB, "--", "curl", "-s", "-o", "/dev/null", "http://server:8000/large"]
    both = [start(tmp_path, walk, "--json", "--out", name, *fetch) for name in ("one", "two")]
    for process in both:
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 0, stderr
        assert json.loads(stdout)["program"]["delivered_bytes"] >= 3_000_000


def example(library: str) -> list[str]:
    """Returns the command of a QUIC library's example; skips the test where it is not there."""
    if library == AIOQUIC:
        pytest.importorskip("aioquic")
        return [sys.executable, str(ROOT / "examples" / "quic" / "transfer.py")]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [place for kind in ("debug", "release") if (place := target / kind / "quinn-transfer").is_file()]
    if not built:
        pytest.skip("the example is not built: cargo build --package baton-example-quinn")
    return [str(max(built, key=lambda place: place.stat().st_mtime))]


@pytest.mark.parametrize("library", [AIOQUIC, QUINN])
@pytest.mark.parametrize(("address", "seen"), [("kept", 1), ("new", 2)])
def test_a_quic_client_migrates_when_its_address_changes(tmp_path, walk, library, address, seen):
    transfer = example(library)
    server = shlex.join([*transfer, "serve"])
    fetch = [*transfer, "fetch", "server", "3000000"]
    process = run(tmp_path, walk, "--json", "--set", f"live.address={address}", "--server", server, "--", *fetch)
    assert process.returncode == 0, process.stderr
    log = (tmp_path / "results" / "walk-live-1" / "server.log").read_text()
    assert len(re.findall("^client at ", log, re.MULTILINE)) == seen
    summary = summary_of(process)
    # The client's own clock, which runs from data to data.
    own = int(re.search(r"longest stall (\d+) ms", process.stderr)[1]) / 1000
    assert own >= OUTAGE_S
    assert summary["program"]["reported"]["longest_stall_s"] == pytest.approx(own, abs=0.001)
    assert summary["program"]["longest_stall_s"] == pytest.approx(own, rel=0.1)
    # The client does not know of its move, and so keeps its connection ID.
    flows = [flow for flow in summary["flows"] if flow["transport"] == "udp"]
    assert [(flow["name"], flow["moves"]) for flow in flows] == [("udp-4433-1", seen - 1)]
    assert (flows[0]["retransmitted"], flows[0]["timeouts"]) == (None, None)
    (at_handover,) = summary["handovers"][0]["flows"]
    assert at_handover["stall_s"] == pytest.approx(own, rel=0.1)


# As iperf3 -R ends: with data unread, so that its kernel resets the connection.
HANGS_UP = """
import socket, sys
connection = socket.create_connection(("server", 8000))
connection.sendall(b"GET /large HTTP/1.0\\r\\n\\r\\n")
connection.recv(100000, socket.MSG_WAITALL)
connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
connection.close()
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize(("status", "failure"), [(0, None), (1, "the connection was reset")])
def test_a_connection_that_a_program_resets_at_its_good_end_has_not_failed(tmp_path, walk, status, failure):
    program = [sys.executable, "-c", HANGS_UP, str(status)]
    process = run(tmp_path, walk, NO_HANDOVER, "--json", "--server", WEB, "--", *program)
    flow = next(flow for flow in summary_of(process)["flows"] if flow["name"] == "tcp-8000-1")
    assert flow["delivered_bytes"] >= 100_000
    assert flow["failure"] == failure


# Segments of one connection whose numbers a raw socket draws.
FORGES = """
import random, socket, struct
raw, draws = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP), random.Random(1)
for _ in range(200):
    header = struct.pack("!HHIIBBHHH", 4000, 8000, draws.getrandbits(32), draws.getrandbits(32), 80, 16, 8000, 0, 0)
    raw.sendto(header + bytes(1000), ("10.0.0.1", 0))
"""


def test_forged_tcp_delivers_nothing_and_costs_the_trust(tmp_path, walk):
    if os.geteuid() != 0:
        pytest.skip("needs root, for a raw socket")
    process = run(tmp_path, walk, NO_HANDOVER, "--json", "--", sys.executable, "-c", FORGES)
    summary = summary_of(process)
    assert process.returncode == 0, process.stderr
    # The data sent has 200 kB.
    assert summary["program"]["delivered_bytes"] <= 200_000
    assert any("forges packets" in doubt for doubt in summary["live"]["doubts"])


def test_a_datagram_of_a_host_behind_a_mobile_router_comes_to_the_server(tmp_path):
    send = "import socket, time; time.sleep(1); socket.socket(10, 2).sendto(b'x', ('server', 9999)); time.sleep(0.5)"
    options = ["--set", "duration=3 s", NO_HANDOVER, "--json"]
    process = run(tmp_path, "train-network", *options, "--", sys.executable, "-c", send)
    assert process.returncode == 0, process.stderr
    (flow,) = (flow for flow in summary_of(process)["flows"] if flow["name"] == "udp-9999-1")
    assert flow["delivered_bytes"] == 1


def test_a_sweep_runs_its_points_live_and_pairs_them(tmp_path, walk, baton):
    measure = "curl -s -o /dev/null -w 'total_s=%{time_total}\\n' http://server:8000/small >> \"$BATON_REPORT\""
    arguments = ["--live", "--set", "links.wifi.delay=10 ms,60 ms", "--seeds", 2, "--server", WEB, "--out", "out"]
    process = baton("sweep", walk, *arguments, "--", "sh", "-c", measure)
    assert process.returncode == 0, process.stderr
    rows = pq.read_table(tmp_path / "out" / "runs.parquet").to_pylist()
    assert [(row["point"], row["seed"], row["live.trusted"]) for row in rows] == [
        (point, seed, True) for point in (0, 1) for seed in (1, 2)
    ]
    assert {row["live.kernel"] for row in rows} == {os.uname().release}
    found = json.loads((tmp_path / "out" / "statistics.json").read_text())
    (compared,) = found["differences"]
    # A connection and a request take two round trips, each longer by twice 50 ms.
    difference = compared["quantities"]["program.reported.total_s"]
    assert difference["values"] == 2
    assert difference["mean"] == pytest.approx(2 * 2 * 0.05, abs=0.02)


def test_what_the_kernel_cannot_do_is_refused_before_anything_starts(tmp_path, walk, baton):
    refused = run(tmp_path, walk, "--set", "flows.download.transport.profile=linux-2.0.36")
    assert refused.returncode == 2
    assert "flows.download" in refused.stderr
    assert not (tmp_path / "results").exists()
    checked = baton("check", "--live", walk, "--set", "flows.download.transport.profile=linux-2.0.36")
    assert checked.returncode == 2
    assert "flows.download" in checked.stdout


def test_a_run_that_was_too_late_is_not_to_be_trusted(tmp_path, walk):
    short = ["--set", "duration=2 s", "--set", "live.lateness_bound=1 ns"]
    process = run(tmp_path, walk, "--json", *short)
    live = summary_of(process)["live"]
    assert not live["trusted"]
    assert "too slow or too busy" in live["doubts"][0]
    report = (tmp_path / "results" / "walk-live-1" / "report.html").read_text()
    assert "not to be trusted" in report


def test_another_mtu_is_the_interface_s(tmp_path, walk):
    change = 'changes=[{ at = "500 ms", link = "wifi", mtu = "1300 B" }]'
    look = "ip link show wifi; sleep 1; ip link show wifi"
    process = run(tmp_path, walk, NO_HANDOVER, "--set", change, "--", "sh", "-c", look)
    assert process.returncode == 0, process.stderr
    assert re.findall(r"wifi: .* mtu (\d+)", process.stdout) == ["1500", "1300"]


def test_both_interfaces_are_up_during_a_soft_handover(tmp_path, walk):
    soft = '{ at = "500 ms", attach = "cellular", handover = "soft", overlap = "1 s" }'
    timetable = f'mobiles.laptop.timetable=[{{ at = "0 s", attach = "wifi" }}, {soft}]'
    look = "for t in 1 2 3; do ip -4 -br addr | grep -c 172.16; sleep 0.8; done"
    options = ["--set", timetable, "--set", "live.address=new", NO_HANDOVER]
    process = run(tmp_path, walk, *options, "--", "sh", "-c", f"sleep 0.2; {look}")
    assert process.returncode == 0, process.stderr
    # At 0.2, 1.0 and 1.8 s; the overlap is from 0.5 to 1.5 s.
    assert process.stdout.splitlines()[:3] == ["1", "2", "1"]


def test_programs_run_and_results_are_written_as_whoever_called_sudo(walk, monkeypatch, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, as under sudo")
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_GID", "65534")
    with tempfile.TemporaryDirectory() as place:
        os.chown(place, 65534, 65534)
        # A run may not write through the user's link where the user may not.
        (Path(place) / "results").symlink_to(tmp_path)
        refused = run(Path(place), walk, "--", "true")
        assert refused.returncode == 1, refused.stdout
        assert {path.name for path in tmp_path.iterdir()} == {"walk.toml", "small", "large"}
        (Path(place) / "results").unlink()
        process = run(Path(place), walk, "--junit", "junit.xml", "--", "id", "-u")
        assert process.stdout.splitlines()[0] == "65534", process.stderr
        folder = Path(place) / "results" / "walk-live-1"
        assert {file.stat().st_uid for file in [folder, *folder.iterdir(), Path(place) / "junit.xml"]} == {65534}


def test_without_root_it_runs_in_a_user_namespace_or_says_what_is_missing(tmp_path):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to do without")
    program = shutil.copy(emulator.find(), tmp_path / "baton-emulator")
    tmp_path.chmod(0o755)
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    process = subprocess.run([*nobody, program, "machine"], capture_output=True, text=True, check=False, cwd="/")
    machine = json.loads(process.stdout)
    if machine["ok"]:
        assert machine["rights"] == "user namespace"
    else:
        assert re.search("sudo|--device|--privileged", machine["problems"][0])
