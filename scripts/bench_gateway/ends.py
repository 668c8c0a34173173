"""An end of the emulated links: the machine there, and a host in a network behind it, in a namespace of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

TRANSFERS = Path(__file__).with_name("transfers.py")
#: The hosts behind the ends, and the routers that lead to them.
HOSTS = {"near": "10.7.0.2", "far": "10.9.0.2"}
ROUTERS = {"near": "10.7.0.1", "far": "10.9.0.1"}
#: Buffers of the kernel's TCP, four times what is in flight on the fastest link: none of its users is held back.
TCP_BUFFER_BYTES = 16 << 20


def run(*command: str | Path) -> str:
    """Runs a command to its end; returns its output."""
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


class End:
    """One end. `plan` is what the bench has told both; `peer` is the address of the other end."""

    def __init__(self, name: str, folder: Path, stack: ExitStack) -> None:
        self.name, self.folder = name, folder
        self.other = "far" if name == "near" else "near"
        self.plan: dict[str, Any] = json.loads((folder / "plan.json").read_text())
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        stack.callback(holder.wait)
        stack.callback(holder.kill)
        self.into_host = ("nsenter", "--net", "--target", str(holder.pid))
        time.sleep(0.2)
        run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        run("ip", "addr", "add", f"{ROUTERS[name]}/24", "dev", "lan0")
        run("ip", "link", "set", "lan0", "up")
        for command in (
            ("addr", "add", f"{HOSTS[name]}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
            ("route", "add", "default", "via", ROUTERS[name]),
        ):
            run(*self.into_host, "ip", *command)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        for into in ((), self.into_host):
            for key, least in (("rmem", "4096 131072"), ("wmem", "4096 16384")):
                setting = f"/proc/sys/net/ipv4/tcp_{key}"
                run(*into, "sh", "-c", f"echo {least} {TCP_BUFFER_BYTES} > {setting}")

    @contextmanager
    def running(self, *command: str | Path, in_host: bool = False) -> Iterator[None]:
        """Runs a command in the background for a time, at the end or at the host behind it."""
        with (self.folder / f"{Path(command[0]).name}-{self.name}.log").open("a") as log:
            process = subprocess.Popen([*(self.into_host if in_host else ()), *map(str, command)], stderr=log)
            try:
                yield
            finally:
                process.terminate()
                process.wait()

    def transfers(self, *arguments: object) -> tuple[str, ...]:
        """Returns the command of one of the programs of hosts."""
        return (sys.executable, str(TRANSFERS), *map(str, arguments))
