"""A transfer across a bad link: a pair of `batond`'s gateways, and the kernel's own TCP without them.

`make bench-gateway` runs it, as root. `baton live` is the link, in real time: 50 Mbit/s, 580 ms there and back, with
lost packets. Behind each of its ends is a host in a network namespace of its own, which downloads over the kernel's
TCP: end to end (CUBIC, BBR), or through the gateways, to which it speaks as ever. All variants of a loss rate run one
after the other over the same link.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BATOND = Path(os.environ.get("BATOND", ROOT / "target" / "release" / "batond"))
PORT = 5201
# The hosts behind the ends of the link, and the networks that lead to them.
HOSTS = {"near": "10.7.0.2", "far": "10.9.0.2"}
RATE_MBIT, ROUND_TRIP_MS, QUEUE_BYTES = 50, 580, 3_600_000
SCENARIO = """
name = "gateway-bench"
duration = "{duration} s"
[links.satellite]
between = ["far", "near"]
kind = "wired"
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = "{queue} B"
packet_error_rate = {loss}
[[flows]]
name = "download"
from = "far"
to = "near"
[live]
hosts = ["far", "near"]
"""


def run(*command: str | Path) -> str:
    """Runs a command to its end; returns its output."""
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


class Side:
    """One end of the link: its host behind it, and its gateway."""

    def __init__(self, name: str, folder: Path, stack: ExitStack) -> None:
        self.name, self.folder, self.stack = name, folder, stack
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        stack.callback(holder.wait)
        stack.callback(holder.kill)
        self.host = str(holder.pid)
        time.sleep(0.2)
        own = HOSTS[name]
        router = own.rsplit(".", 1)[0] + ".1"
        run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", self.host)
        run("ip", "addr", "add", f"{router}/24", "dev", "lan0")
        run("ip", "link", "set", "lan0", "up")
        for command in (
            ("addr", "add", f"{own}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
            ("route", "add", "default", "via", router),
        ):
            self.inside("ip", *command)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def inside(self, *command: str | Path) -> str:
        """Runs a command at the host."""
        return run("nsenter", "--net", "--target", self.host, *command)

    def start_gateway(self, peer: str, link: str) -> subprocess.Popen:
        """Starts this end's gateway."""
        keys = {side: run(BATOND, "key", self.folder / side).strip() for side in HOSTS}
        network = HOSTS[peer].rsplit(".", 1)[0] + ".0/24"
        config = self.folder / f"{self.name}.toml"
        config.write_text(f"""control = "{self.folder / self.name}.sock"
private_key = "{self.folder / self.name}"
networks = ["{network}"]
peer = {{ public_key = "{keys[peer]}" }}
links = [{{ name = "satellite", {link} }}]
""")
        log = (self.folder / f"{self.name}.log").open("w")
        return subprocess.Popen([str(BATOND), "gateway", str(config)], stderr=log)


def serve(listener: socket.socket, size: int) -> None:
    """Sends so many bytes to each caller, by the congestion control that it asks for in its first line."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, size), daemon=True).start()


def answer(connection: socket.socket, size: int) -> None:
    """Answers one caller."""
    with connection:
        control = connection.recv(64).strip()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        piece = bytes(1 << 16)
        for start in range(0, size, len(piece)):
            connection.sendall(piece[: size - start])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def fetch(address: str, control: str, size: int) -> float:
    """Downloads all bytes; returns the time that it took, in seconds."""
    begun = time.monotonic()
    with socket.create_connection((address, PORT), timeout=1000) as connection:
        connection.sendall(control.encode())
        received = 0
        while received < size:
            read = connection.recv(1 << 20)
            if not read:
                sys.exit(f"{control}: the download ended after {received} of {size} bytes")
            received += len(read)
    return time.monotonic() - begun


def far(folder: Path, size: int) -> None:
    """Is the end with the server, until the other one is done."""
    with ExitStack() as stack:
        side = Side("far", folder, stack)
        command = [sys.executable, __file__, "serve", str(size)]
        # The link knows no hosts behind its ends: without gateways its ends speak themselves.
        for prefix in ([], ["nsenter", "--net", "--target", side.host]):
            server = subprocess.Popen([*prefix, *command])
            stack.callback(server.kill)
        # The live run begins the other end once somebody listens.
        time.sleep(0.5)
        ready = socket.create_server(("0.0.0.0", 5000))
        while True:
            caller, _ = ready.accept()
            word = caller.recv(64).decode()
            if word == "gateway":
                gateway = side.start_gateway("near", f'listen = "0.0.0.0:4191", rate = "{RATE_MBIT} Mbit/s"')
                stack.callback(gateway.kill)
                time.sleep(0.5)
            caller.sendall(b"ready")
            caller.close()


def tell(address: str, word: str) -> None:
    """Tells the far end what comes next, and waits until it is ready."""
    with socket.create_connection((address, 5000)) as connection:
        connection.sendall(word.encode())
        connection.recv(64)


def near(folder: Path, size: int, results: Path) -> None:
    """Is the end with the client: downloads by each way."""
    peer = os.environ["BATON_SERVER"]
    taken: dict[str, float] = {}
    with ExitStack() as stack:
        side = Side("near", folder, stack)

        for control in ("cubic", "bbr"):
            taken[f"kernel, {control}"] = fetch(peer, control, size)
        tell(peer, "gateway")
        gateway = side.start_gateway("far", f'endpoint = "{peer}:4191", rate = "{RATE_MBIT} Mbit/s"')
        stack.callback(gateway.kill)
        time.sleep(5)
        command = [sys.executable, __file__, "fetch", HOSTS["far"], "cubic", str(size)]
        taken["batond's gateways"] = float(side.inside(*command))
        results.write_text(json.dumps(taken))


def measure(loss: float, size: int) -> dict[str, float]:
    """Runs all variants over a link with this loss."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenario, results = folder / "scenario.toml", folder / "results.json"
        numbers = {"rate": RATE_MBIT, "delay": ROUND_TRIP_MS / 2, "queue": QUEUE_BYTES, "loss": loss}
        scenario.write_text(SCENARIO.format(duration=3600, **numbers))
        this = f"{sys.executable} {__file__}"
        command = [sys.executable, "-m", "baton", "live", scenario, "--force", "--out", folder / "run"]
        command += ["--server", f"{this} far {folder} {size}", "--", sys.executable, __file__, "near"]
        live = subprocess.run([*map(str, command), str(folder), str(size), str(results)], check=False)
        if not results.exists():
            for log in folder.glob("*.log"):
                print(log.name, log.read_text(), file=sys.stderr)
            sys.exit(f"the run over a loss of {loss} failed: status {live.returncode}")
        return json.loads(results.read_text())


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--losses", default="0.001,0.01,0.05")
    options = parser.parse_args()
    size = int(options.megabytes * 1e6)
    least = size * 8 / (RATE_MBIT * 1e6)
    print(f"{options.megabytes:g} MB over {RATE_MBIT} Mbit/s, {ROUND_TRIP_MS} ms: at link rate {least:.1f} s")
    for loss in map(float, options.losses.split(",")):
        for way, taken in measure(loss, size).items():
            print(f"loss {loss:<6g} {way:<18} {taken:7.1f} s   {least / taken:.2f} of the link")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["far", folder, size]:
            far(Path(folder), int(size))
        case ["near", folder, size, results]:
            near(Path(folder), int(size), Path(results))
        case ["serve", size]:
            serve(socket.create_server(("0.0.0.0", PORT)), int(size))
        case ["fetch", address, control, size]:
            print(fetch(address, control, int(size)))
        case _:
            main()
