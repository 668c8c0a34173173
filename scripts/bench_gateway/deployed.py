"""The deployed part of a row: the emulator between two ends, and at each end the program of this file."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from ends import HOSTS, End, run
from rows import Row
from ways import BATOND, SERVER, WAYS, Transfer

from baton.live import control

STREAM_PORT = 5203
# Between the start of a way and its download, in seconds: what the one before has left in the links drains.
SETTLING_S = 2.0


def measure(row: Row, folder: Path) -> tuple[dict[str, Transfer], list[str]]:
    """Runs all ways of a row over the emulated links, one after the other; returns also why not to trust them."""
    keys = {end: run(BATOND, "key", folder / f"{end}.key").strip() for end in HOSTS}
    (folder / "plan.json").write_text(json.dumps(row.plan() | {"keys": keys, "run": row.name}))
    (folder / "scenario.toml").write_text(row.emulated())
    command = [sys.executable, "-m", "baton", "live", folder / "scenario.toml", "--force", "--allow-no-handover"]
    this = [sys.executable, __file__, str(folder)]
    command += ["--out", folder / "emulated", "--server", " ".join([*this, "far"]), "--", *this, "near"]
    changes = threading.Thread(target=carry_out, args=(listen(folder / "changes"), row.name), daemon=True)
    changes.start()
    live = subprocess.run(list(map(str, command)), check=False, stdout=subprocess.DEVNULL)
    if not (folder / "results.json").exists():
        for log in [*folder.glob("*.log"), *folder.glob("emulated/*.log")]:
            print(log.name, log.read_text(), file=sys.stderr)
        sys.exit(f"{row.name}: the run failed with status {live.returncode}")
    results: dict[str, Transfer] = json.loads((folder / "results.json").read_text())
    doubts: list[str] = json.loads((folder / "emulated" / "summary.json").read_text())["live"]["doubts"]
    return results, doubts


def listen(path: Path) -> socket.socket:
    """Listens at a path, which both ends reach: they have networks of their own, and the same files."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def ask(path: Path, text: str) -> socket.socket:
    """Sends a request, waits until it is carried out, and returns the connection."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    connection.sendall(text.encode())
    connection.recv(1)
    return connection


def carry_out(listener: socket.socket, run_name: str) -> None:
    """Changes the emulator's links on request. Its socket is in the namespace where it was started."""
    while True:
        caller, _ = listener.accept()
        with caller:
            control.change(run_name, caller.recv(200).decode())
            caller.sendall(b".")


def far(folder: Path) -> None:
    """Is the end with the servers, until the emulator ends it."""
    with ExitStack() as stack:
        end = End("far", folder, stack)
        ready = listen(folder / "far")
        for in_host in (False, True):
            stack.enter_context(end.running(*end.transfers("serve", SERVER), in_host=in_host))
        while True:
            caller, _ = ready.accept()
            with caller, ExitStack() as of_way:
                WAYS[caller.recv(200).decode()].start(end, of_way)
                caller.sendall(b".")
                # More than the end of the conversation is the wish for the control stream.
                if caller.recv(1):
                    words = ("stream_bps", "datagram_bytes", "code_point", "stream_s")
                    stream = end.transfers("send", HOSTS["near"], STREAM_PORT, *(end.plan[word] for word in words))
                    of_way.enter_context(end.running(*stream, in_host=True))
                    caller.recv(1)


def near(folder: Path) -> None:
    """Is the end with the clients: downloads by each way."""
    peer = os.environ["BATON_SERVER"]
    results: dict[str, Transfer] = {}
    with ExitStack() as stack:
        plan = folder / "plan.json"
        plan.write_text(json.dumps(json.loads(plan.read_text()) | {"peer": peer}))
        end = End("near", folder, stack)
        for name in end.plan["ways"]:
            with ExitStack() as of_way:
                far_end = of_way.enter_context(ask(folder / "far", name))
                WAYS[name].start(end, of_way)
                time.sleep(SETTLING_S)
                results[name] = fetch(end, name, far_end)
            print(f"{end.plan['run']}: {name}: {results[name]['taken_s']:.1f} s", file=sys.stderr, flush=True)
    (folder / "results.json").write_text(json.dumps(results))


def fetch(end: End, name: str, far_end: socket.socket) -> Transfer:
    """Downloads by one way, changes the links meanwhile, and takes the stream if there is one."""
    made: list[float] = []
    changes = threading.Thread(target=change, args=(end, time.monotonic(), made))
    changes.start()
    stream = None
    if end.plan["stream_s"]:
        command = end.transfers("receive", STREAM_PORT, 5)
        stream = subprocess.Popen([*end.into_host, *command], stdout=subprocess.PIPE, text=True)
        threading.Timer(end.plan["stream_start_s"], far_end.sendall, [b"s"]).start()
    transfer = WAYS[name].fetch(end, end.plan["peer"])
    changes.join()
    transfer["changes"] = made
    if stream:
        said, _ = stream.communicate()
        transfer["delays"] = list(json.loads(said).values())
    return transfer


def change(end: End, begun: float, made: list[float]) -> None:
    """Changes the links at their times, and keeps the times by the machine's clock."""
    for at, text in end.plan["changes"]:
        time.sleep(max(0.0, begun + at - time.monotonic()))
        ask(end.folder / "changes", text).close()
        made.append(time.monotonic())


if __name__ == "__main__":
    {"far": far, "near": near}[sys.argv[2]](Path(sys.argv[1]))
