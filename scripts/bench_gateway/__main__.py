"""A pair of `batond`'s gateways beside what users choose otherwise, over the same emulated links, and simulated.

`make bench-gateway` runs it, as root: some twelve minutes, on a quiet machine. `baton live` is the links, in real time.
Each row of the table is a scenario; its ways run one after the other over the same links. A row's figures stay in
`results/bench-gateway`, so that rows can be measured one at a time (`--row`), and the table has all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import deployed
import figures
import page
from ends import run
from rows import ROOT, ROWS, Row
from ways import BATOND, GATEWAYS, PROGRAMS


def measure(row: Row, out: Path) -> dict[str, Any]:
    """Simulates a row, measures its ways, and returns all figures."""
    folder = out / row.name
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"simulated": figures.simulate(row, folder)}
    with tempfile.TemporaryDirectory() as shared:
        transfers, doubts = deployed.measure(row, Path(shared))
    (folder / "transfers.json").write_text(json.dumps(transfers))
    found |= {"doubts": doubts, "scale": row.scale, "rate_bps": row.rate_bps}
    found |= {"bytes": row.bytes, "round_trip_s": 2 * row.delay_s}
    if "control" in row.flows:
        found["limit_s"] = figures.limit_s(row)
    found["ways"] = {name: figures.measured(row, transfer) for name, transfer in transfers.items()}
    if GATEWAYS in transfers:
        figures.write_deployed(row, transfers, run(BATOND, "--version").strip(), folder)
        sides = (folder / figures.SIMULATED, folder / figures.DEPLOYED)
        subprocess.run([sys.executable, "-m", "baton", "compare", *map(str, sides)], check=True)
    (folder / "figures.json").write_text(json.dumps(found, indent=1))
    return found


def main() -> None:
    """Measures rows, and prints the table of all that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--row", action="append", choices=list(ROWS), help="measures this row, repeatable; by default all"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="shortens transfers to this share, for a first look")
    parser.add_argument("--out", type=Path, default=Path("results/bench-gateway"))
    parser.add_argument("--page", action="store_true", help="measures nothing, and writes the figures into the docs")
    given = parser.parse_args()
    if not given.page:
        if missing := [str(program) for program in PROGRAMS if not program.exists()]:
            sys.exit(f"missing programs, which `make bench-gateway` builds: {', '.join(missing)}")
        for name in given.row or ROWS:
            measure(ROWS[name].shortened(given.scale), given.out)
    stored = {name: given.out / name / "figures.json" for name in ROWS}
    found = {name: json.loads(file.read_text()) for name, file in stored.items() if file.exists()}
    table = page.table(found)
    if given.page:
        page.write(ROOT / "docs" / "gateways-beside-others.md", found)
    print(table)


main()
