"""The ways of a download across the links: what runs at each end for it, and the client."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ends import HOSTS, ROUTERS, End, run

ROOT = Path(__file__).resolve().parents[2]
BATOND = Path(os.environ.get("BATOND", ROOT / "target" / "release" / "batond"))
QUINN = ROOT / "target" / "release" / "quinn-transfer"
KCP = ROOT / "target" / "peers" / "kcp"
NOQ = ROOT / "target" / "peers" / "release" / "quic-multipath"
PROGRAMS = (BATOND, QUINN, KCP, NOQ)
SERVER, MULTIPATH_SERVER, RELAY, KCP_RELAY, NOQ_SERVER = 5201, 5202, 6001, 6002, 6003
#: Bytes of KCP's packets, and data and redundant packets of its code: the defaults of kcptun.
KCP_MTU, KCP_CODE = 1350, (10, 3)

#: Longest time until a gateway and its paths are up.
START_WITHIN_S = 30.0

Transfer = dict[str, Any]


class Way:
    """The kernel's TCP between the ends, and what the other ways have in common with it."""

    #: The plan's key with the longest time of a download.
    longest = "others_within_s"

    def __init__(self, name: str, control: str = "cubic") -> None:
        self.name, self.control = name, control

    def start(self, end: End, stack: ExitStack) -> None:
        """Starts what this end needs besides the servers, until the stack is closed."""

    def fetch(self, end: End, peer: str) -> Transfer:
        """Downloads, at the near end."""
        return self.download(end, peer, SERVER)

    def download(self, end: End, address: str, port: int, *options: str, in_host: bool = False) -> Transfer:
        """Downloads over a socket, at the end or at the host behind it."""
        wanted = (self.control, end.plan["bytes"], end.plan[self.longest])
        command = end.transfers("fetch", address, port, *wanted, *options)
        return json.loads(run(*(end.into_host if in_host else ()), *command))


class Split(Way):
    """PEPsal's way: each end is a relay between three connections of the kernel, with buffers for the link."""

    def start(self, end: End, stack: ExitStack) -> None:
        if end.name == "far":
            words = ("0.0.0.0", RELAY, HOSTS["far"], SERVER, "--control", self.control)
        else:
            words = (ROUTERS["near"], RELAY, end.plan["peer"], RELAY)
        stack.enter_context(end.running(*end.transfers("relay", *words)))

    def fetch(self, end: End, peer: str) -> Transfer:
        return self.download(end, ROUTERS["near"], RELAY, in_host=True)


class Kcp(Way):
    """kcptun's way: each end is a relay between TCP and KCP, with or without its code. Its window is told the link."""

    def __init__(self, name: str, code: tuple[int, int]) -> None:
        super().__init__(name)
        self.code = code

    def start(self, end: End, stack: ExitStack) -> None:
        window = int(end.plan["in_flight_bytes"] / KCP_MTU)
        settings = ("-mtu", KCP_MTU, "-window", window, "-data", self.code[0], "-parity", self.code[1])
        if end.name == "far":
            words = ("far", f"0.0.0.0:{KCP_RELAY}", f"{HOSTS['far']}:{SERVER}")
        else:
            words = ("near", f"{ROUTERS['near']}:{RELAY}", f"{end.plan['peer']}:{KCP_RELAY}")
        stack.enter_context(end.running(KCP, *map(str, (*settings, *words))))

    def fetch(self, end: End, peer: str) -> Transfer:
        return self.download(end, ROUTERS["near"], RELAY, in_host=True)


class Quic(Way):
    """QUIC between the ends."""

    def start(self, end: End, stack: ExitStack) -> None:
        if end.name == "far":
            stack.enter_context(end.running(QUINN, "--bbr", "serve"))

    def fetch(self, end: End, peer: str) -> Transfer:
        within = f"{end.plan[self.longest]:.3f}"
        said = run(QUINN, "--bbr", "--within", within, "fetch", peer, str(end.plan["bytes"]))
        found = re.search(r"(\d+) bytes in ([\d.]+) s; longest stall (\d+) ms", said)
        if not found:
            raise RuntimeError(f"{QUINN}: expected a line with bytes and times, found {said!r}")
        return {"bytes": int(found[1]), "taken_s": float(found[2]), "longest_stall_s": int(found[3]) / 1000}


def near_addresses(end: End) -> dict[str, str]:
    """Returns the near end's address on each link."""
    shown = {link: json.loads(run("ip", "-json", "-4", "addr", "show", link)) for link in end.plan["links"]}
    return {link: interfaces[0]["addr_info"][0]["local"] for link, interfaces in shown.items()}


def route_by_source(end: End, stack: ExitStack) -> None:
    """Lets packets from each address of the near end take its link."""
    for table, (link, address) in enumerate(near_addresses(end).items(), start=10):
        run("ip", "route", "add", "default", "dev", link, "src", address, "table", str(table))
        run("ip", "rule", "add", "from", address, "lookup", str(table))
        stack.callback(run, "ip", "rule", "del", "from", address)
        stack.callback(run, "ip", "route", "flush", "table", str(table))


class Multipath(Way):
    """The kernel's multipath TCP between the ends, with an address for each link at the near one."""

    def start(self, end: End, stack: ExitStack) -> None:
        run("ip", "mptcp", "limits", "set", "subflow", "4", "add_addr_accepted", "4")
        if end.name == "far":
            stack.enter_context(end.running(*end.transfers("serve", MULTIPATH_SERVER, "--multipath")))
            return
        route_by_source(end, stack)
        for link, address in near_addresses(end).items():
            run("ip", "mptcp", "endpoint", "add", address, "dev", link, "subflow")
        stack.callback(run, "ip", "mptcp", "endpoint", "flush")

    def fetch(self, end: End, peer: str) -> Transfer:
        return self.download(end, peer, MULTIPATH_SERVER, "--multipath")


class QuicMultipath(Way):
    """Multipath QUIC between the ends, with a path from each address of the near one."""

    def start(self, end: End, stack: ExitStack) -> None:
        if end.name == "far":
            certificate = end.folder / "certificate"
            stack.enter_context(end.running(NOQ, "serve", certificate, str(NOQ_SERVER)))
            while not certificate.exists():
                time.sleep(0.1)
        else:
            route_by_source(end, stack)

    def fetch(self, end: End, peer: str) -> Transfer:
        wanted = (str(end.plan["bytes"]), str(end.plan[self.longest]))
        # The connection begins by the default route, which leads over the last link.
        *addresses, _ = near_addresses(end).values()
        transfer: Transfer = json.loads(
            run(NOQ, "fetch", end.folder / "certificate", f"{peer}:{NOQ_SERVER}", *wanted, *addresses)
        )
        return transfer


class Gateways(Way):
    """A pair of `batond`'s gateways, which are told their links' rates or find them."""

    longest = "within_s"

    def __init__(self, name: str, *, is_told: bool) -> None:
        super().__init__(name)
        self.is_told = is_told

    def start(self, end: End, stack: ExitStack) -> None:
        links = "\n".join(
            self.link(end, port, *link) for port, link in enumerate(end.plan["links"].items(), start=4191)
        )
        config = end.folder / f"{end.name}.toml"
        config.write_text(f"""control = "{end.folder / end.name}.sock"
private_key = "{end.folder / end.name}.key"
networks = ["{HOSTS[end.other].rsplit(".", 1)[0]}.0/24"]
peer = {{ public_key = "{end.plan["keys"][end.other]}" }}
{links}
[[rules]]
code_point = {end.plan["code_point"]}
mode = "unreliable-datagram"
class = 7
[[rules]]
mode = "near-reliable"
""")
        # The priority of its systemd unit.
        stack.enter_context(end.running("chrt", "--rr", "1", BATOND, "gateway", config))
        # The far end first hears of its paths when the near one calls.
        self.wait(end, len(end.plan["links"]) if end.name == "near" else 0)

    def wait(self, end: End, paths: int) -> None:
        """Waits until the gateway answers, and has so many paths that are up."""
        ask = [str(BATOND), "status", "--json", "--control", f"{end.folder / end.name}.sock"]
        until = time.monotonic() + START_WITHIN_S
        while time.monotonic() < until:
            said = subprocess.run(ask, check=False, capture_output=True, text=True)
            if said.returncode == 0 and sum(path["up"] for path in json.loads(said.stdout)["uplinks"]) >= paths:
                return
            time.sleep(0.1)
        raise TimeoutError(f"the {end.name} gateway has no {paths} paths after {START_WITHIN_S} s")

    def link(self, end: End, port: int, name: str, rate_bps: int) -> str:
        """Returns the table of a link."""
        rate = f"rate = {json.dumps(f'{rate_bps} bit/s')}\n" if self.is_told else ""
        if end.name == "far":
            return f'[[links]]\nname = "{name}"\nlisten = "0.0.0.0:{port}"\n{rate}'
        return f'[[links]]\nname = "{name}"\ndevice = "{name}"\nendpoint = "{end.plan["peer"]}:{port}"\n{rate}'

    def fetch(self, end: End, peer: str) -> Transfer:
        return self.download(end, HOSTS["far"], SERVER, in_host=True)


GATEWAYS = "batond's gateways"
_ALL = (
    Way("kernel, CUBIC"),
    Way("kernel, BBR", "bbr"),
    Split("split, CUBIC"),
    Split("split, BBR", "bbr"),
    Kcp("KCP", (0, 0)),
    Kcp("KCP, code", KCP_CODE),
    Quic("QUIC, BBR"),
    Multipath("MPTCP, CUBIC"),
    Multipath("MPTCP, BBR", "bbr"),
    QuicMultipath("QUIC multipath, BBR"),
    Gateways(GATEWAYS, is_told=True),
    Gateways(f"{GATEWAYS}, rates found", is_told=False),
)
WAYS = {way.name: way for way in _ALL}
