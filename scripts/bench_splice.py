"""Throughput of a pair of gateways over a clean link, beside a bare splice: TCP from a host to one at the other side.

`make bench-daemon` runs it, as root. The peer is the least that any TCP gateway does: on each side a process accepts
the connection, opens one to the next side, and moves the data by splice(2), without encryption and without copies.
Everything on one side has one core: the host, the gateway or the splice, and the kernel. The two take turns over the
same pair of devices, first at 1 Gbit/s, then without a limit. The gateways find the rate themselves. All of it is
measured with custody in memory, and again with custody on disk.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench_daemon import CORES, OUTSIDE, PORT, Bench, ip, other

ROUNDS = 5
# The gateways find the link's rate within the first seconds, which are not measured.
SECONDS, FIRST = 5.0, 2.0
GATEWAYS, SPLICE = "batond's gateways", "bare splice"
# The hosts, each with its network: the gateways carry what goes to the other one's.
HOSTS = {"home": "10.9.0.1", "vehicle": "10.7.0.1"}
CUSTODY = {"memory": "", "disk": '[custody]\nkind = "disk"\ndirectory = "{folder}"'}
SPLICE_PORT = 5301
LISTENING = "listening"
# The most bytes that a pipe takes without privileges.
PIPE = 1 << 20


def start(bench: Bench, custody: str) -> None:
    """Starts both gateways, with a kind of custody, and both splices."""
    keys = {side: bench.key("gateway", side) for side in CORES}
    for side, way in {"home": "listen", "vehicle": "endpoint"}.items():
        ip("-n", bench.names[side], "addr", "add", f"{HOSTS[side]}/32", "dev", "lo")
        config = bench.folder / f"gateway-{side}.toml"
        config.write_text(f"""control = "{bench.folder / side}.sock"
private_key = "{keys[side][0]}"
networks = ["{HOSTS[other(side)]}/32"]
peer = {{ public_key = "{keys[other(side)][1]}" }}
links = [{{ name = "wire", {way} = "{OUTSIDE["home"]}:4191" }}]
{CUSTODY[custody].format(folder=bench.folder / f"journal-{side}")}
""")
        bench.start(side, bench.batond, "gateway", config)
    nexts = {"home": (OUTSIDE["vehicle"], SPLICE_PORT), "vehicle": (HOSTS["vehicle"], PORT)}
    for side, (address, port) in nexts.items():
        bench.start(side, sys.executable, __file__, "splice", address, str(port))
    for log in bench.folder.glob("*.log"):
        while not any(word in log.read_text() for word in ("wire is up", LISTENING)):
            time.sleep(0.05)


def splice(there: tuple[str, int]) -> None:
    """Carries one connection after the other to an address, in one direction."""
    listener = socket.create_server(("", SPLICE_PORT))
    print(LISTENING, flush=True)
    while True:
        source, _ = listener.accept()
        sink = socket.create_connection(there)
        out, into = os.pipe()
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, PIPE)
        while moved := os.splice(source.fileno(), into, PIPE):
            while moved:
                moved -= os.splice(out, sink.fileno(), moved)
        os.close(out)
        os.close(into)
        source.close()
        sink.close()


def send(address: str, port: int) -> None:
    """Sends for a while."""
    with socket.socket() as connection:
        # BBR, some machines' default, paces by the rates that it has seen: it may stay slow after a pause.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.connect((address, port))
        data, begun = bytes(1 << 20), time.monotonic()
        while time.monotonic() - begun < FIRST + SECONDS:
            connection.sendall(data)


def receive() -> None:
    """Says that it listens, receives one connection, and prints its rate in Gbit/s."""
    with socket.create_server((HOSTS["vehicle"], PORT)) as listener:
        print(LISTENING, flush=True)
        connection, _ = listener.accept()
    place, received = bytearray(1 << 20), 0
    begun, is_measured = time.monotonic(), False
    while length := connection.recv_into(place):
        received += length
        now = time.monotonic()
        if not is_measured and now - begun > FIRST:
            received, begun, is_measured = 0, now, True
        if is_measured and now - begun > SECONDS * 0.9:
            break
    print(received * 8e-9 / (time.monotonic() - begun))
    while connection.recv_into(place):
        pass


def measure(bench: Bench, way: str) -> float:
    """Measures the rate of one connection in Gbit/s."""
    script = [sys.executable, __file__]
    taking = subprocess.Popen(bench.command("vehicle", *script, "receive"), stdout=subprocess.PIPE, text=True)
    assert taking.stdout is not None
    taking.stdout.readline()
    to = {GATEWAYS: (HOSTS["vehicle"], PORT), SPLICE: ("127.0.0.1", SPLICE_PORT)}[way]
    subprocess.run(bench.command("home", *script, "send", *map(str, to)), check=True)
    output, _ = taking.communicate(timeout=300)
    return float(output)


def limit(bench: Bench) -> None:
    """Limits the pair of devices to 1 Gbit/s each way, with 10 ms of queue."""
    for name in bench.names.values():
        bucket = ["tbf", "rate", "1gbit", "burst", "256k", "latency", "10ms"]
        subprocess.run(["tc", "-n", name, "qdisc", "replace", "dev", "out", "root", *bucket], check=True)


def unlimit(bench: Bench) -> None:
    """Lifts the limit."""
    for name in bench.names.values():
        subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", "out", "root"], check=True)


def main(batond: Path) -> None:
    """Prints the table."""
    # Namespaces and processes go then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    print(f"{'TCP, one connection':<54} {'Gbit/s':>7} {'lowest':>7} {'highest':>7} {'of a splice':>12}")
    for custody in CUSTODY:
        # The journal goes where temporary files go: a memory's file system would hide its cost.
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            bench = Bench(batond.resolve(), Path(folder), stack)
            start(bench, custody)
            for link, change in (("1 Gbit/s", limit), ("no limit", unlimit)):
                change(bench)
                compare(bench, f"{link}, custody {'in' if custody == 'memory' else 'on'} {custody}")


def compare(bench: Bench, case: str) -> None:
    """Prints the rates of both ways, in turns."""
    rates: dict[str, list[float]] = {SPLICE: [], GATEWAYS: []}
    for _ in range(ROUNDS):
        for way, all_of in rates.items():
            all_of.append(measure(bench, way))
    for way, all_of in rates.items():
        ratio = statistics.median(own / bare for own, bare in zip(all_of, rates[SPLICE], strict=True))
        figures = f"{statistics.median(all_of):>7.2f} {min(all_of):>7.2f} {max(all_of):>7.2f}"
        print(f"{f'{case}: {way}':<54} {figures} {f'{ratio:.2f} x':>12}", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["splice", address, port]:
            splice((address, int(port)))
        case ["send", address, port]:
            send(address, int(port))
        case ["receive"]:
            receive()
        case [batond]:
            main(Path(batond))
        case _:
            sys.exit(f"usage: {sys.argv[0]} BATOND")
