"""An emulator that only tells: what `baton live` and its relatives hear in tests without namespaces.

Runs as a program, told by `plan.json` beside it: the events that it sends, the results that it leaves, how it ends.
What it was called with it notes in `called.json`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

LATENESS = {"events": 1000, "median_us": 12.0, "p99_us": 80.5, "largest_us": 900.0, "bound_us": 1000.0}
LIVE = {
    "trusted": True,
    "doubts": [],
    "lateness": LATENESS,
    "lost_rows": 0,
    "dropped_outside_model": 0,
    "not_forwarded": 3,
    "drops": {"queue full": 12},
    "kernel": "6.18.44",
    "sysctls": {"server": {"tcp_sack": "1", "tcp_rmem": "4096\t131072\t33554432"}},
    "sysctls_set": {"server": {}},
    "ignored": [],
    "address": "kept",
    "nat": False,
    "priority": True,
    "by_hand": [],
}
FLOW = {
    "name": "tcp-8000-1",
    "transport": "tcp",
    "delivered_bytes": 2_000_000,
    "completion_s": 3.25,
    "goodput_bps": 4_000_000.0,
    "segments_sent": 1500,
    "retransmitted": 12,
    "spurious_retransmitted": 1,
    "timeouts": 2,
    "fast_retransmits": 0,
    "duplicate_acks": 5,
    "longest_stall_s": 1.25,
    "lost_packets": 10,
    "failure": None,
    "from": "server",
    "to": "laptop",
    "five_tuple": "tcp 10.0.0.1:8000 10.0.0.2:40000",
    "reordered": 0,
    "reverse_bytes": 120,
    "probes": 0,
    "forgotten_ranges": 0,
    "data_from_bytes": None,
    "moves": 0,
    "may_continue": None,
}
HANDOVER = {
    "at_s": 2.0,
    "mobile": "laptop",
    "from": "lan",
    "to": "modem",
    "kind": "soft",
    "completed_s": 2.0,
    "active": True,
    "lost_packets": 0,
    "flows": [
        {
            "name": "tcp-8000-1",
            "stall_s": 0.5,
            "interruption_s": 0.5,
            "lost_packets": 0,
            "spurious_retransmissions": 1,
            "time_to_90_percent_s": None,
        }
    ],
}
CAUSES = ["no_route", "too_big", "hop_limit", "damaged", "no_receiver", "backlog", "messages", "tunnelled"]
DISCARDED = dict.fromkeys(CAUSES, 0)
SUMMARY = {
    "format": 1,
    "scenario": "short",
    "seed": 1,
    "simulated_s": 4.0,
    "wall_s": 4.001,
    "events": 5000,
    "packets": 4000,
    "flows": [FLOW],
    "classes": [],
    "handovers": [HANDOVER],
    "discarded": DISCARDED,
    "overloads": [],
    "agents": [],
    "radios": [],
    "program": None,
    "server": None,
    "live": LIVE,
}
PROGRAM = {
    "argv": ["curl", "-s", "http://server:8000/a b"],
    "status": 0,
    "signal": None,
    "wall_s": 3.5,
    "stopped_at_end": False,
    "delivered_bytes": 2_000_000,
    "longest_stall_s": 1.25,
}
READY = {
    "event": "ready",
    "run": "short-1",
    "hosts": {
        "server": {"ipv4": "10.0.0.1", "ipv6": "fd62:6174:6f6e::1"},
        "laptop": {"ipv4": "10.0.0.2", "ipv6": "fd62:6174:6f6e::2"},
    },
}

# A command line whose emulator is the script in the environment's FAKE_EMULATOR.
BATON = """
import os, pathlib
from baton.live import emulator
emulator.places = lambda: [pathlib.Path(os.environ["FAKE_EMULATOR"])]
from baton.cli import main
main()
"""


class Fake:
    """A fake emulator in a folder, and the command line that finds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "fake" / "baton-emulator"
        self.script.parent.mkdir()
        self.script.write_text(f"#!{sys.executable}\n{Path(__file__).read_text()}")
        self.script.chmod(0o755)
        self.plan()

    def plan(self, **plan: object) -> None:
        """Plans the emulator's behaviour; by default an undisturbed run. `by_seed` lists what is otherwise at each
        try."""
        common = {"before": [READY, {"event": "started"}], "summary": SUMMARY, "complete": True, "status": 0}
        (self.script.parent / "plan.json").write_text(json.dumps(common | {"by_seed": {}} | plan))
        (self.script.parent / "calls.jsonl").unlink(missing_ok=True)

    @property
    def called(self) -> list[str]:
        """The arguments of the last call."""
        return json.loads((self.script.parent / "called.json").read_text())

    @property
    def runs(self) -> list[list[str]]:
        """The arguments of every run since the plan was made."""
        log = self.script.parent / "calls.jsonl"
        calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [call for call in calls if call[0] == "world"]

    def start(self, *arguments: object) -> subprocess.Popen:
        """Starts the command line in the folder, in a process that can be interrupted."""
        environment = {**os.environ, "FAKE_EMULATOR": str(self.script)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", BATON, *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)


def main() -> None:
    """The emulator."""
    here = Path(__file__).parent
    plan = json.loads((here / "plan.json").read_text())
    (here / "called.json").write_text(json.dumps(sys.argv[1:]))
    with (here / "calls.jsonl").open("a") as log:
        print(json.dumps(sys.argv[1:]), file=log)
    if sys.argv[1] != "world":
        print(json.dumps(plan["answer"]))
        sys.exit(plan["status"])
    interrupts = []
    signal.signal(signal.SIGINT, lambda *_: interrupts.append(1))
    own = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    seed = own[own.index("--seed") + 1]
    if tries := plan["by_seed"].get(seed):
        calls = (json.loads(line) for line in (here / "calls.jsonl").read_text().splitlines())
        same = [call for call in calls if "--seed" in call and call[call.index("--seed") + 1] == seed]
        plan |= tries[min(len(same), len(tries)) - 1]
    events = os.fdopen(int(own[own.index("--events") + 1]), "w", buffering=1)

    def tell(event: dict) -> None:
        print(event if isinstance(event, str) else json.dumps(event), file=events)

    for event in plan["before"]:
        tell(event)
    if "--" in sys.argv:
        where = sys.stderr if own[own.index("--program-output") + 1] == "stderr" else sys.stdout
        print("the program speaks", file=where, flush=True)
        Path(os.environ["BATON_REPORT"]).write_text(plan.get("reported", ""))
    while plan.get("until_interrupted") and not interrupts:
        signal.pause()
    if "killed_by" in plan:
        os.kill(os.getpid(), plan["killed_by"])
    if plan["summary"] is not None:
        folder = Path(own[own.index("--out") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        for table in Path(plan.get("tables") or "no tables").glob("*.parquet"):
            shutil.copy(table, folder)
        (folder / "summary.json").write_text(json.dumps(plan["summary"]))
        (folder / "manifest.json").write_text(
            json.dumps(
                {"format": 1, "complete": plan["complete"], "mode": "live", "resolved": "", "traces": {}, "results": {}}
            )
        )
        done = {"event": "done", "summary": plan["summary"], "folder": str(folder), "complete": plan["complete"]}
        tell(done)
    sys.exit(plan["status"])


if __name__ == "__main__":
    main()
