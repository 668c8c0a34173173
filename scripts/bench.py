"""Speed of the command line and of the report, each figure beside its target. `make bench` runs it.

Times are wall times, the least of several. Processor time follows, since it depends less on the machine's other work.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ONE_SECOND = """name = "one-second"
duration = "1 s"
links.path = { between = ["server", "laptop"], kind = "wired", rate = "4 Mbit/s", delay = "60 ms", queue = "64 kB" }
flows = [{ name = "download", from = "server", to = "laptop" }]
"""
MIDDLE = ONE_SECOND.replace('"1 s"', '"40 s"').replace("4 Mbit", "20 Mbit")
LONGER = ONE_SECOND.replace('"1 s"', '"200 s"').replace("4 Mbit", "20 Mbit")
HALF_A_SECOND = ONE_SECOND.replace('"1 s"', '"600 s"').replace("4 Mbit", "20 Mbit")
CHROMIUM = Path("/usr/bin/chromium")


def line(case: str, figure: str, target: str, behind: str = "") -> None:
    """Prints a figure beside its target."""
    print(f"{case:<54} {figure:>12} {target:>16}  {behind}".rstrip(), flush=True)


def least(what: Callable[[], object], times: int) -> tuple[float, float]:
    """Returns the wall seconds of the fastest of some calls, and processor seconds of the one that took least."""
    walls, processors = [], []
    for _ in range(times):
        before, begun = used(), time.perf_counter()
        what()
        walls.append(time.perf_counter() - begun)
        processors.append(used() - before)
    return min(walls), min(processors)


def used() -> float:
    """Returns the processor seconds so far, of this process and of those that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def baton(*arguments: str | Path) -> None:
    """Runs the command line."""
    subprocess.run([sys.executable, "-m", "baton", *arguments], check=True, stdout=subprocess.DEVNULL)


def one_second_run(folder: Path) -> None:
    """Times `baton run` of a scenario that is over at once."""
    scenario = folder / "one.toml"
    scenario.write_text(ONE_SECOND)
    wall, processor = least(lambda: baton("run", scenario, "--force", "--out", folder / "one"), 9)
    line("baton run of one second", f"{wall:.2f} s", "<= 0.2", f"{processor:.2f} s of processor")


def sweeps(folder: Path) -> None:
    """Times `baton sweep` with one and with two threads, of short, middle (some 40 ms) and longer runs."""
    cases = (
        ("200 short", ONE_SECOND, 200, ""),
        ("400 middle", MIDDLE, 400, ">= 1.9"),
        ("160 longer", LONGER, 160, ">= 1.9"),
    )
    for name, text, seeds, target in cases:
        scenario = folder / "sweep.toml"
        scenario.write_text(text)
        best: dict[str, tuple[float, float]] = {}
        for _ in range(3):  # in turns, so that both meet the same disturbances
            for jobs in ("1", "2"):
                out = ("--force", "--out", folder / "swept")
                found = least(lambda: baton("sweep", scenario, "--seeds", str(seeds), "--jobs", jobs, *out), 1)  # noqa: B023
                best[jobs] = tuple(map(min, found, best.get(jobs, found)))
        one, two = best["1"], best["2"]
        behind = f"{one[0]:.2f} s and {two[0]:.2f} s; processor {one[1]:.2f} s and {two[1]:.2f} s"
        line(f"baton sweep of {name} runs on 2 cores / on 1", f"{one[0] / two[0]:.2f}", target, behind)


def cluster(folder: Path) -> None:
    """Times a sweep by two worker processes of Dask and by one thread, in turns, of runs of half a second or more."""
    from distributed import Client, LocalCluster

    from baton import sweep

    scenario = folder / "cluster.toml"
    scenario.write_text(HALF_A_SECOND)
    axes = {"links.path.delay": ["60 ms", "90 ms"]}
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    best: dict[str, float] = {}
    with LocalCluster(**options) as workers, Client(workers) as client:
        for _ in range(3):
            for name, where in (("one", {"jobs": 1}), ("dask", {"executor": client})):
                wall, _ = least(partial(sweep.run, scenario, axes, seeds=12, **where), 1)
                best[name] = min(wall, best.get(name, wall))
    behind = f"{best['dask']:.2f} s, on 1 {best['one']:.2f} s: {best['one'] / 24:.2f} s a run"
    line("24 runs by Dask on 2 cores: efficiency", f"{best['one'] / 2 / best['dask']:.2f}", ">= 0.9", behind)


def million(folder: Path) -> None:
    """Times the report of a million segments, half a million acknowledgments and the losses."""
    from baton import report
    from report_folder import large_folder

    run = large_folder(folder / "large")
    page = run / "report.html"
    wall, processor = least(lambda: report.write(run), 3)
    line("report of a million segments, written in", f"{wall:.1f} s", "<= 5", f"{processor:.1f} s of processor")
    line("  its size", f"{page.stat().st_size / 1e6:.1f} MB", "<= 30")
    if not CHROMIUM.exists():
        line("  opened in", "-", "<= 3", f"{CHROMIUM} is not installed")
        return
    line("  opened in", f"{opened(page):.1f} s", "<= 3", "until all diagrams are drawn")


def study(folder: Path) -> None:
    """Times all of study D, its page and the runs that it shows."""
    command = [sys.executable, "-m", "baton", "reproduce", "D", "--json"]
    wall, processor = least(partial(subprocess.run, command, cwd=folder, check=True, stdout=subprocess.DEVNULL), 2)
    line("baton reproduce D", f"{wall:.1f} s", "<= 20", f"{processor:.1f} s of processor")


def longest_run(folder: Path) -> None:
    """Times the engine's run of study S's longest scenario: two mobiles over a satellite for 800 s."""
    from baton import Scenario

    changes = ["duration=800 s", "record.series=false", "record.packets=false"]
    scenario = Scenario.load(Path(__file__).parents[1] / "studies/S/pair.toml", overrides=changes)
    wall, processor = least(lambda: scenario.run(), 5)
    line("study S's longest run", f"{wall:.2f} s", "<= 0.5", f"{processor:.2f} s of processor")


def opened(page: Path) -> float:
    """Returns the seconds until a report can be used."""
    from playwright.sync_api import sync_playwright

    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        for _ in range(3):
            tab = browser.new_page(viewport={"width": 1200, "height": 900})
            begun = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_function("Number(document.body.dataset.drawn) >= 1", timeout=60_000)
            times.append(time.perf_counter() - begun)
            tab.close()
        browser.close()
    return min(times)


def main(chosen: Sequence[str]) -> None:
    """Runs all benchmarks, or those whose names are given."""
    with tempfile.TemporaryDirectory() as folder:
        for case in (one_second_run, sweeps, cluster, million, study, longest_run):
            if not chosen or case.__name__ in chosen:
                case(Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
