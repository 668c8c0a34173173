"""The pages on what `baton fidelity` found: the simulated TCP beside a kernel's, over the same links in real time."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from baton import version
from baton.errors import refuse_newer
from baton.fidelity import causes, page
from baton.fidelity.cases import SHIPPED, Case, read
from baton.fidelity.execute import simulate
from baton.fidelity.judge import Row, judge
from baton.summary import Json
from baton.verdict import Estimate
from validation.page import GENERATED

RESULT = "fidelity-result.json"
"""Kept result, in `docs`. A kernel's runs take hours: `make validation` makes only the simulated ones anew."""
FOLDER = "validation"
NAME = "linux-kernel-live"
HEAD = """# The Linux kernel over the same links

{generated}

`.venv/bin/baton fidelity --out DIR` and `.venv/bin/python scripts/validate.py --fidelity DIR`

The profile [linux-6](../models/profile-linux-6.md) in the simulator beside the kernel's own TCP in real time.
[Fidelity](../fidelity.md) describes the cases and the rules of agreement. The kernel's figures are kept from {date};
`make validation` runs the simulated half anew, here on {simulated}. The figures that no rule judges are in the
[whole result](../fidelity-result.json). No constant was fitted to any case, but the profile's gaps were found in the
packets of cases that differed, of both halves. Neither half is held out any more.

Since 2026-11-22, a live run in which the machine stood still for 5 ms is not compared. All runs here are older, except
those of six cases that had differed and were repeated under this rule: `steady-20M-20ms/cubic`,
`steady-64k-50ms/cubic`, `steady-9.6k-300ms/bbr`, `steady-100M-100ms-small/bbr`, `window-1M-50ms-8k/bbr` and
`window-5M-290ms-64k/bbr`. For this reason the first agrees since then.

"""


def pages(docs: Path) -> dict[str, str]:
    """Returns the pages, by their file's name: the runs and their differences, and all figures by kind of case."""
    found = json.loads((docs / RESULT).read_text(encoding="utf-8"))
    kinds = page.judged(found)
    links = ", ".join(f"[{kind}]({NAME}-{kind}.md)" for kind in kinds)
    made = {
        f"{NAME}.md": HEAD.format(
            generated=GENERATED, date=found["date"], simulated=found.get("simulated", found["date"])
        )
        + "\n".join([*page.head(found), "", f"All figures: {links}.", ""])
    }
    for kind, rows in kinds.items():
        title = f"# The Linux kernel over the same links: {kind}"
        whole = f"The runs, and causes of differences: [The Linux kernel over the same links]({NAME}.md)."
        made[f"{NAME}-{kind}.md"] = "\n".join([title, "", GENERATED, "", whole, "", *page.markdown_table(rows), ""])
    return made


def simulate_anew(docs: Path) -> None:
    """Runs the simulated half of the kept result again, and judges it by what the kernel did then. Raises `OSError`."""
    found: Json = json.loads((docs / RESULT).read_text(encoding="utf-8"))
    kernel: dict[tuple[str, str], dict[str, Estimate]] = defaultdict(dict)
    for row in found["rows"]:
        key = row["quantity"] if row["handover"] is None else f"{row['quantity']}.{row['handover']}"
        spread = Estimate(row["kernel"], row["kernel_low"], row["kernel_high"])
        kernel[row["case"], row["congestion"]][key] = spread
    known = causes.read(SHIPPED)
    cases = [case for case in read(SHIPPED, quick=False, only=[], half=None) if (case.name, case.congestion) in kernel]

    def judged(case: Case) -> list[Row]:
        simulated = simulate(case, found["repetitions"])
        return list(judge(case, simulated, kernel[case.name, case.congestion], known))

    with ThreadPoolExecutor() as pool:
        rows = [row.as_json() for found_rows in pool.map(judged, cases) for row in found_rows]
    anew = {"simulated": datetime.date.today().isoformat(), "version": version.installed(), "rows": rows}
    (docs / RESULT).write_text(page.as_text(found | anew), encoding="utf-8")


def keep(folder: Path, docs: Path) -> None:
    """Takes the result of a `baton fidelity` into `docs`, and writes its pages. Raises `OSError`."""
    found = json.loads((folder / "fidelity.json").read_text(encoding="utf-8"))
    refuse_newer(folder / "fidelity.json", found["schema"], page.SCHEMA)
    (docs / RESULT).write_text(page.as_text(found), encoding="utf-8")
    for old in (docs / FOLDER).glob(f"{NAME}*.md"):
        old.unlink()
    for name, text in pages(docs).items():
        (docs / FOLDER / name).write_text(text, encoding="utf-8")
