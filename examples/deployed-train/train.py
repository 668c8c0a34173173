"""A mobile router and its home agent, the real daemons, across the handovers of scenarios/deployed-train.toml.

`train.py` alone runs all of it, as root: `baton live` makes the links and moves the train, and calls this file again at
both ends. At each end is one daemon, and in a namespace of its own behind it a host: the correspondent on the ground,
the passenger in the train. Between those two go 1,000 datagrams a second each way, and a download. Stalls and losses
are those of the receivers' own clocks.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent.parent
CORRESPONDENT, PASSENGER = "10.9.0.2", "10.7.0.2"
INTERVAL_S, LENGTH = 0.001, 200
STREAM_PORT, DOWNLOAD_PORT = 9000, 9001
# A stall that ends within this time of a handover is its own.
WINDOW_S = 3.0
HOME = 'home_prefix = "2001:db8:100::/64"'
NETWORKS = 'networks = ["10.7.0.0/24"]'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parts = {"all": everything, "ground": ground, "train": train}
    parts |= {"correspondent": correspondent, "passenger": passenger}
    parser.add_argument("part", nargs="?", default="all", choices=list(parts), help="this file calls the others itself")
    parser.add_argument("--folder", type=Path, help="what both ends share; made if it is not named")
    parser.add_argument("--batond", default=str(ROOT / "target/release/batond"), help="the daemon")
    parser.add_argument("--scenario", default=str(ROOT / "scenarios/deployed-train.toml"))
    parser.add_argument("--baton", default=shutil.which("baton") or str(ROOT / ".venv/bin/baton"))
    parser.add_argument("--out", type=Path, default=Path("results/deployed-train"), help="the results folder")
    parser.add_argument("--duration", type=float, default=22.0, help="of the streams, in seconds")
    given = parser.parse_args()
    return parts[given.part](given)


def everything(given: argparse.Namespace) -> int:
    """Makes the keys and runs the scenario with the two ends as its programs."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ground", "train"):
            key = run([given.batond, "key", f"{folder}/{name}.key"])
            Path(folder, f"{name}.public").write_text(key)
        words = [sys.executable, str(HERE), "--folder", folder, "--batond", given.batond]
        words += ["--duration", str(given.duration)]
        command = [
            given.baton,
            "live",
            given.scenario,
            "--force",
            "--out",
            f"{given.out}-live",
            "--set",
            "live.address=new",
            "--set",
            "live.nat=true",
        ]
        command += ["--server", " ".join([*words, "ground"]), "--", *words, "train"]
        status = subprocess.run(command, check=False).returncode
        if status == 0:
            # Here, as it takes the hosts seconds that a run does not have.
            import record

            version = run([given.batond, "--version"])
            print(record.write(given.out, Path(f"{given.out}-live"), Path(folder), version))
        return status


def ground(given: argparse.Namespace) -> int:
    """Runs the home agent, and behind it the correspondent."""
    config = given.folder / "ground.toml"
    config.write_text(
        f'private_key = "{given.folder}/ground.key"\naddress = "2001:db8:100::1"\n{HOME}\n'
        f'listen = ["0.0.0.0:4191"]\n[[routers]]\nhome_address = "2001:db8:100::7"\n{NETWORKS}\n'
        f'public_key = "{(given.folder / "train.public").read_text()}"\n'
    )
    with open(given.folder / "ground.log", "w") as log, host(given, "correspondent", "10.9.0.1") as behind:
        command = [given.batond, "home-agent", str(config)]
        daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        signal.signal(signal.SIGTERM, lambda *_: daemon.terminate())
        for line in daemon.stderr or []:
            # Each with its time, and at once: who reads them may not wait for the end.
            print(json.dumps([time.monotonic(), line.strip()]), file=log, flush=True)
        daemon.wait()
        behind.terminate()
    return 0


def train(given: argparse.Namespace) -> int:
    """Runs the mobile router, and behind it the passenger; then says what the handovers have cost."""
    config = given.folder / "train.toml"
    uplinks = '["wifi", "cellular"]'
    config.write_text(
        f'private_key = "{given.folder}/train.key"\nhome_address = "2001:db8:100::7"\n{HOME}\n{NETWORKS}\n'
        f"uplinks = {{ prefer = {uplinks}, hold_time = '1 s' }}\n"
        f'[home_agent]\naddress = "2001:db8:100::1"\nendpoint = "{os.environ["BATON_SERVER"]}:4191"\n'
        f'public_key = "{(given.folder / "ground.public").read_text()}"\n'
    )
    told: list[tuple[float, str]] = []
    with host(given, "passenger", "10.7.0.1") as behind:
        daemon = subprocess.Popen([given.batond, "mobile-router", str(config)], stderr=subprocess.PIPE, text=True)
        listener = threading.Thread(target=listen, args=[daemon.stderr, told])
        listener.start()
        behind.wait()
        daemon.terminate()
        listener.join()
    news = [line for _, line in told if any(words in line for words in ("Registered", "is down", "is up"))]
    print("\n".join(news))
    (given.folder / "train.log").write_text("\n".join(map(json.dumps, told)))
    report(given.folder, told)
    return behind.returncode


def listen(daemon: IO[str], told: list[tuple[float, str]]) -> None:
    """Takes down what a daemon says, and when."""
    for line in daemon:
        told.append((time.monotonic(), line.strip()))


class host:
    """A host in a namespace of its own, by a cable to this one. It is gone with its process."""

    def __init__(self, given: argparse.Namespace, part: str, gateway: str) -> None:
        self.command = ["unshare", "--net", sys.executable, str(HERE), part, "--folder", str(given.folder)]
        self.command += ["--duration", str(given.duration)]
        self.gateway = gateway

    def __enter__(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(self.command)
        ours = os.stat("/proc/self/ns/net").st_ino
        while os.stat(f"/proc/{self.process.pid}/ns/net").st_ino == ours:
            time.sleep(0.01)
        run(["ip", "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", str(self.process.pid)])
        run(["ip", "address", "add", f"{self.gateway}/24", "dev", "lan0"])
        run(["ip", "link", "set", "lan0", "up"])
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def become(address: str) -> None:
    """Waits for the cable, and takes the address."""
    while not Path("/proc/sys/net/ipv4/conf/eth0").exists():
        time.sleep(0.01)
    gateway = address.rsplit(".", 1)[0] + ".1"
    for words in (f"address add {address}/24 dev eth0", "link set eth0 up", f"route add default via {gateway}"):
        run(["ip", *words.split()])


def correspondent(given: argparse.Namespace) -> int:
    """Receives the passenger's stream, sends one, and serves downloads."""
    become(CORRESPONDENT)
    threading.Thread(target=serve, daemon=True).start()
    stream(CORRESPONDENT, PASSENGER, given.folder / "to-ground.json", None)
    return 0


def passenger(given: argparse.Namespace) -> int:
    """Downloads while both streams go."""
    become(PASSENGER)
    download = threading.Thread(target=fetch, args=[given.folder / "download.json", given.duration])
    download.start()
    stream(PASSENGER, CORRESPONDENT, given.folder / "to-train.json", given.duration)
    download.join()
    return 0


def stream(own: str, other: str, file: Path, duration: float | None) -> None:
    """Sends a datagram each millisecond, and writes down what comes: number, sending time and arrival of each.

    Without a duration it ends when the other one has sent its last.
    """
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    endpoint.bind((own, STREAM_PORT))
    is_over = threading.Event()

    def send() -> None:
        begun, number = time.monotonic(), 0
        while not is_over.is_set():
            time.sleep(max(0.0, begun + number * INTERVAL_S - time.monotonic()))
            try:
                payload = struct.pack("!Qd", number, time.monotonic()).ljust(LENGTH, b".")
                endpoint.sendto(payload, (other, STREAM_PORT))
            except OSError:
                pass  # Lost, as any other.
            number += 1

    sender = threading.Thread(target=send)
    sender.start()
    arrivals: list[tuple[int, float, float]] = []
    endpoint.settimeout(0.5)
    end = time.monotonic() + duration if duration else None
    while end is None or time.monotonic() < end:
        try:
            payload = endpoint.recv(2000)
            arrivals.append((*struct.unpack("!Qd", payload[:16]), time.monotonic()))
        except TimeoutError:
            if end is None and arrivals and time.monotonic() - arrivals[-1][2] > 2:
                break
    is_over.set()
    sender.join()
    file.with_suffix(".part").write_text(json.dumps(arrivals))
    file.with_suffix(".part").rename(file)


def serve() -> None:
    """Sends without an end to whoever asks."""
    listener = socket.create_server((CORRESPONDENT, DOWNLOAD_PORT))
    while True:
        taken, _ = listener.accept()
        try:
            while True:
                taken.sendall(b"." * 65_536)
        except OSError:
            taken.close()


def fetch(file: Path, duration: float) -> None:
    """Downloads, and writes down when something came and how many bytes."""
    end = time.monotonic() + duration
    while True:
        try:
            server = socket.create_connection((CORRESPONDENT, DOWNLOAD_PORT), timeout=1)
            break
        except OSError:
            time.sleep(0.05)
    pieces: list[tuple[float, int]] = []
    server.settimeout(0.2)
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            length = len(server.recv(1 << 16))
            pieces.append((time.monotonic(), length))
    file.write_text(json.dumps(pieces))


def report(folder: Path, told: list[tuple[float, str]]) -> None:
    """Prints the stall and the losses of each handover, in each direction and of the download."""
    for _ in range(50):
        if (folder / "to-ground.json").exists():
            break
        time.sleep(0.1)
    streams = {way: json.loads((folder / f"{way}.json").read_text()) for way in ("to-train", "to-ground")}
    pieces = json.loads((folder / "download.json").read_text())
    moves = [(when, line.split("care-of address ")[1]) for when, line in told if "Registered" in line][1:]
    print(f"{'handover':>12} {'at s':>6} {'to the train':>22} {'to the ground':>22} {'download':>10}")
    for number, (when, _) in enumerate(moves, 1):
        window = (when - WINDOW_S / 2, when + WINDOW_S)
        costs = [cost(arrivals, window) for arrivals in streams.values()]
        cells = [f"{1000 * stall:5.0f} ms, {lost:5d} lost" for stall, lost in costs]
        download = 1000 * longest_gap([at for at, _ in pieces], window)
        print(f"{number:>12} {when - told[0][0]:6.1f} {cells[0]:>22} {cells[1]:>22} {download:7.0f} ms")
    for way, arrivals in streams.items():
        numbers = {number for number, _, _ in arrivals}
        missing = max(numbers) + 1 - min(numbers) - len(numbers)
        print(f"{way}: {len(numbers)} datagrams arrived, {missing} lost, {len(arrivals) - len(numbers)} twice")
    print(f"download: {sum(length for _, length in pieces) / 1e6:.1f} MB")


def cost(arrivals: list[list[float]], window: tuple[float, float]) -> tuple[float, int]:
    """Returns the longest time without an arrival that ended in a time, and how many sent in that time were lost."""
    first: dict[int, tuple[float, float]] = {}
    for number, sent, arrival in arrivals:
        first.setdefault(int(number), (sent, arrival))
    stall = longest_gap(sorted(arrival for _, arrival in first.values()), window)
    within = [number for number, (sent, _) in first.items() if window[0] <= sent < window[1]]
    lost = max(within) - min(within) + 1 - len(within) if within else 0
    return stall, lost


def longest_gap(times: list[float], window: tuple[float, float]) -> float:
    gaps = [after - before for before, after in itertools.pairwise(times) if window[0] <= after < window[1]]
    return max(gaps, default=0.0)


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
