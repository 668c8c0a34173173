"""Keeps the hashes of the results of every shipped scenario and study, and reports those that a code change alters.

    .venv/bin/python scripts/same_bytes.py keep FILE
    .venv/bin/python scripts/same_bytes.py compare FILE

A refactoring passes when `compare` prints nothing but its last line. Run `keep` on the commit before. Tables, captures'
contents and summaries are compared, except the time that a run took and the number of the engine's events.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from baton import Scenario, ScenarioError

ROOT = Path(__file__).resolve().parents[1]
SEEDS = (1, 2)
#: Every remedy at every handover of three paths, once.
REMEDIES = ["sweep", "studies/remedies", "--seeds", "1", "--set", "load=1"]


def main(arguments: list[str]) -> int:
    """Keeps or compares; returns the exit status."""
    if len(arguments) != 2 or arguments[0] not in ("keep", "compare"):
        print(__doc__, file=sys.stderr)
        return 2
    file = Path(arguments[1])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = {name: hashes for part in pool.map(of_scenario, scenarios()) for name, hashes in part.items()}
    found["studies/remedies"] = of_remedies()
    if arguments[0] == "keep":
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{len(found)} runs kept")
        return 0
    kept: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    differing = [name for name in sorted(kept.keys() | found.keys()) if kept.get(name) != found.get(name)]
    for name in differing:
        print(f"{name}: {', '.join(changed(kept.get(name), found.get(name)))}")
    print(f"{len(found) - len(differing)} of {len(found)} runs leave the same bytes")
    return 1 if differing else 0


def scenarios() -> Iterator[Path]:
    """Yields every scenario file that comes with the project."""
    for folder in ("scenarios", "studies", "python/baton/fidelity/scenarios"):
        yield from sorted((ROOT / folder).rglob("*.toml"))


def of_scenario(path: Path) -> dict[str, dict[str, str]]:
    """Returns the hashes of a scenario's runs, by name and seed; none if the file is not a scenario."""
    try:
        scenario = Scenario.load(path)
    except ScenarioError:
        return {}
    name = str(path.relative_to(ROOT))
    return {f"{name}, seed {seed}": of_run(scenario, seed) for seed in SEEDS}


def of_run(scenario: Scenario, seed: int) -> dict[str, str]:
    """Returns the hash of each file of a run."""
    with tempfile.TemporaryDirectory() as folder:
        scenario.run(seed=seed, out=Path(folder) / "run")
        return {file.name: digest(file) for file in sorted((Path(folder) / "run").iterdir()) if is_data(file)}


def is_data(file: Path) -> bool:
    """Returns true if a file holds results of a run, rather than when, by whom or how it was made."""
    return file.suffix == ".parquet" or file.name == "summary.json"


def digest(file: Path) -> str:
    """Returns the SHA-256 hash of a file; of a summary without the run's cost."""
    content = file.read_bytes()
    if file.name == "summary.json":
        content = json.dumps(json.loads(content) | {"wall_s": None, "events": None}).encode()
    return hashlib.sha256(content).hexdigest()


def of_remedies() -> dict[str, str]:
    """Returns the hash of the table of a sweep over all remedies."""
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "remedies"
        command = [sys.executable, "-m", "baton", *REMEDIES, "--out", str(out)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        table = pandas.read_parquet(out / "runs.parquet").drop(columns=["wall_s", "events"], errors="ignore")
        return {"runs.parquet": hashlib.sha256(table.to_csv().encode()).hexdigest()}


def changed(kept: dict[str, str] | None, found: dict[str, str] | None) -> list[str]:
    """Returns the names of the files that have changed."""
    if kept is None or found is None:
        return ["is new" if kept is None else "is gone"]
    return [name for name in sorted(kept.keys() | found.keys()) if kept.get(name) != found.get(name)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
