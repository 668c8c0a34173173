"""Throughput of `batond`'s tunnel: a TCP connection from a home agent's host to one behind a mobile router.

`make bench-daemon` runs it, as root. Packets have 1,400 B. In turns, the same hosts use the kernel's
VXLAN (a plain tunnel over UDP) and userspace WireGuard, if there is a `wireguard-go` on the path or named by
WIREGUARD_GO. Everything on one side has one core: the sender or the receiver, the tunnel's process, and the kernel.

The two sides are network namespaces joined by a pair of devices, which never cut what the kernel sends at once. Behind
`cut` each packet crosses alone, as on a wire, and the far side's kernel joins what it can.
"""

from __future__ import annotations

import base64
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROUNDS = 5
SECONDS = 2.0
PORT = 5201
# With the headers of IPv4 and TCP and 12 B of timestamps, packets have 1,400 B; the option counts the timestamps.
SEGMENT = 1360
CORES = {"home": 0, "vehicle": 1}
OUTSIDE = {"home": "192.0.2.1", "vehicle": "192.0.2.2"}
# The addresses of sender and receiver in each tunnel.
BATOND, VXLAN, WIREGUARD = "batond", "kernel's VXLAN", "wireguard-go"
INSIDE = {
    BATOND: ("10.9.0.1", "10.7.0.1"),
    VXLAN: ("10.11.0.1", "10.11.0.2"),
    WIREGUARD: ("10.12.0.1", "10.12.0.2"),
}
# Requests by which a device is left no segmentation, and joins what it receives (linux/ethtool.h). A device of a pair
# joins nothing while the other one leaves packets uncut.
SIOCETHTOOL, ETHTOOL_STSO, ETHTOOL_SGRO = 0x8946, 0x1F, 0x2C


def ip(*arguments: str) -> None:
    """Runs iproute2."""
    subprocess.run(["ip", *arguments], check=True)


class Bench:
    """Two sides, and the tunnels between them."""

    def __init__(self, batond: Path, folder: Path, stack: ExitStack) -> None:
        self.batond, self.folder, self.stack = batond, folder, stack
        self.names = {side: f"baton-bench-{side}-{os.getpid()}" for side in CORES}
        for name in self.names.values():
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)
            ip("-n", name, "link", "set", "lo", "up")
        home, vehicle = self.names["home"], self.names["vehicle"]
        ip("link", "add", "out", "netns", home, "type", "veth", "peer", "name", "out", "netns", vehicle)
        for side, name in self.names.items():
            ip("-n", name, "addr", "add", f"{OUTSIDE[side]}/24", "dev", "out")
            ip("-n", name, "link", "set", "out", "up")

    def command(self, side: str, *arguments: str | Path) -> list[str]:
        """Returns a command at a side, on its core, before other work of the machine."""
        pinned = ["nice", "-n", "-15", "taskset", "-c", str(CORES[side]), *map(str, arguments)]
        return ["ip", "netns", "exec", self.names[side], *pinned]

    def start(self, side: str, *arguments: str | Path) -> None:
        """Starts a process of a tunnel, which is ended with the others."""
        log = (self.folder / f"{Path(arguments[0]).name}-{side}.log").open("w")
        process = subprocess.Popen(self.command(side, *arguments), stdout=log, stderr=log)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)

    def key(self, tunnel: str, side: str) -> tuple[Path, str]:
        """Makes a key of X25519; returns the private one's file and the public one in base64."""
        file = self.folder / f"{tunnel}-{side}.key"
        made = subprocess.run([self.batond, "key", file], check=True, capture_output=True, text=True)
        return file, made.stdout.strip()

    def start_batond(self) -> None:
        """Starts the home agent and the mobile router."""
        keys = {side: self.key(BATOND, side) for side in CORES}
        for side, address in zip(CORES, INSIDE[BATOND], strict=True):
            ip("-n", self.names[side], "addr", "add", f"{address}/24", "dev", "lo")
        agent = self.folder / "home-agent.toml"
        agent.write_text(f"""private_key = "{keys["home"][0]}"
listen = ["{OUTSIDE["home"]}:4191"]
address = "2001:db8:100::1"
home_prefix = "2001:db8:100::/64"
[[routers]]
public_key = "{keys["vehicle"][1]}"
home_address = "2001:db8:100::7"
networks = ["10.7.0.0/24"]
""")
        router = self.folder / "mobile-router.toml"
        endpoint = f'endpoint = "{OUTSIDE["home"]}:4191", public_key = "{keys["home"][1]}"'
        router.write_text(f"""private_key = "{keys["vehicle"][0]}"
home_address = "2001:db8:100::7"
home_prefix = "2001:db8:100::/64"
networks = ["10.7.0.0/24"]
home_agent = {{ address = "2001:db8:100::1", {endpoint} }}
uplinks = {{ prefer = ["out"] }}
""")
        self.start("home", self.batond, "home-agent", agent)
        self.start("vehicle", self.batond, "mobile-router", router)

    def start_vxlan(self) -> None:
        """Starts the kernel's tunnel."""
        for (side, name), address in zip(self.names.items(), INSIDE[VXLAN], strict=True):
            ends = ["local", OUTSIDE[side], "remote", OUTSIDE[other(side)]]
            ip("-n", name, "link", "add", "vxlan", "type", "vxlan", "id", "1", "dstport", "4789", *ends)
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "vxlan")
            ip("-n", name, "link", "set", "vxlan", "up")

    def start_wireguard(self, program: str) -> None:
        """Starts userspace WireGuard."""
        keys = {side: self.key(WIREGUARD, side) for side in CORES}
        for (side, name), address in zip(self.names.items(), INSIDE[WIREGUARD], strict=True):
            device = f"wg-{side}"
            self.start(side, program, "-f", device)
            private = base64.b64decode(keys[side][0].read_text()).hex()
            public = base64.b64decode(keys[other(side)][1]).hex()
            endpoint = f"endpoint={OUTSIDE[other(side)]}:51820\nallowed_ip=0.0.0.0/0\n"
            request = f"set=1\nprivate_key={private}\nlisten_port=51820\npublic_key={public}\n{endpoint}\n"
            answer = ask(Path(f"/var/run/wireguard/{device}.sock"), request)
            if "errno=0" not in answer:
                sys.exit(f"wireguard-go: {answer}")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")

    def cut(self) -> None:
        """Makes each packet cross alone, and the receiving kernel join what it can."""
        for side, name in self.names.items():
            ip("-n", name, "link", "set", "out", "gso_max_segs", "1")
            subprocess.run(self.command(side, sys.executable, __file__, "join", "out"), check=True)

    def rate(self, tunnel: str) -> float:
        """Measures the rate of one connection in Gbit/s."""
        sender, receiver = INSIDE[tunnel]
        script = [sys.executable, __file__]
        taking = subprocess.Popen(
            self.command("vehicle", *script, "receive", receiver), stdout=subprocess.PIPE, text=True
        )
        sending = subprocess.run(self.command("home", *script, "send", sender, receiver), check=False)
        if sending.returncode:
            taking.kill()
            for log in self.folder.glob("*.log"):
                print(f"{log.name}: {log.read_text()}")
            sys.exit(f"{tunnel}: no connection")
        output, _ = taking.communicate(timeout=10)
        return float(output)


def other(side: str) -> str:
    """Returns the other side."""
    return "vehicle" if side == "home" else "home"


def ask(path: Path, request: str) -> str:
    """Sends a request to a process whose socket appears soon, and returns the answer."""
    for _ in range(100):
        if path.exists():
            break
        time.sleep(0.05)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(request.encode())
        return connection.recv(4096).decode()


def join(device: str) -> None:
    """Lets a device of this namespace cut what it sends and join packets that it receives."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command, value in ((ETHTOOL_STSO, 0), (ETHTOOL_SGRO, 1)):
            setting = ctypes.create_string_buffer(struct.pack("=II", command, value))
            request = struct.pack("=16sQ16x", device.encode(), ctypes.addressof(setting))
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def send(sender: str, receiver: str) -> None:
    """Sends for a while; the connection may need some time to come up."""
    ends = time.monotonic() + 10
    while True:
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        # BBR, some machines' default, paces by the rates that it has seen: it may stay slow after a pause.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.settimeout(2)
        try:
            connection.bind((sender, 0))
            connection.connect((receiver, PORT))
            break
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.05)
    connection.settimeout(None)
    data, begun = bytes(1 << 20), time.monotonic()
    while time.monotonic() - begun < SECONDS:
        connection.sendall(data)
    connection.close()


def receive(address: str) -> None:
    """Receives one connection, and prints its rate in Gbit/s after a slow start of a sixth."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        listener.bind((address, PORT))
        listener.listen()
        connection, _ = listener.accept()
    place, received = bytearray(1 << 20), 0
    begun, is_fast = time.monotonic(), False
    while length := connection.recv_into(place):
        received += length
        now = time.monotonic()
        if not is_fast and now - begun > SECONDS / 6:
            received, begun, is_fast = 0, now, True
    print(received * 8e-9 / (time.monotonic() - begun))


def main(batond: Path) -> None:
    """Prints the table."""
    # Namespaces and processes go then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(batond.resolve(), Path(folder), stack)
        bench.start_batond()
        bench.start_vxlan()
        tunnels = [BATOND, VXLAN]
        wireguard = os.environ.get("WIREGUARD_GO") or shutil.which("wireguard-go")
        if wireguard:
            bench.start_wireguard(wireguard)
            tunnels.append(WIREGUARD)
        else:
            print("no wireguard-go on the path or named by WIREGUARD_GO: WireGuard is left out")
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        print(f"{'TCP in packets of 1,400 B':<34} {'Gbit/s':>7} {'lowest':>7} {'highest':>7} {'batond is':>10}")
        for wire in ("uncut", "cut"):
            if wire == "cut":
                bench.cut()
            rates: dict[str, list[float]] = {tunnel: [] for tunnel in tunnels}
            for _ in range(ROUNDS):
                for tunnel in tunnels:
                    rates[tunnel].append(bench.rate(tunnel))
            for tunnel in tunnels:
                pairs = zip(rates[BATOND], rates[tunnel], strict=True)
                ratio = statistics.median(ours / theirs for ours, theirs in pairs)
                all_of = rates[tunnel]
                figures = f"{statistics.median(all_of):>7.2f} {min(all_of):>7.2f} {max(all_of):>7.2f}"
                print(f"{f'{wire}, {tunnel}':<34} {figures} {f'{ratio:.2f} x':>10}", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["send", sender, receiver]:
            send(sender, receiver)
        case ["receive", address]:
            receive(address)
        case ["join", device]:
            join(device)
        case [batond]:
            main(Path(batond))
        case _:
            sys.exit(f"usage: {sys.argv[0]} BATOND")
