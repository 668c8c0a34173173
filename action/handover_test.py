"""The test of the action: runs `baton live` by the environment's inputs, and tells GitHub what came of it.

Python's own library only. Inputs are those of action.yml, in capitals.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

STATUS = {
    0: "passed",
    1: "the run failed",
    2: "the input is wrong, or this machine cannot do it",
    3: "an expectation did not hold",
    4: "the program failed",
    130: "interrupted",
}


def main() -> int:
    """Runs it; returns the exit status of `baton live`."""
    results = Path(os.environ["RESULTS"])
    junit = results.with_name(f"{results.name}.xml")
    status = subprocess.run(command(results, junit), check=False).returncode
    report = results / "report.html"
    outputs = {"status": status, "report": report if report.exists() else "", "junit": junit if junit.exists() else ""}
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))
    append("GITHUB_STEP_SUMMARY", "\n".join(summary(status, results, junit)) + "\n")
    if status:
        print(f"::error title=Handover test::{STATUS.get(status, f'exit status {status}')}")
    return status


def command(results: Path, junit: Path) -> list[str]:
    """The command line. As another user than root it goes through sudo; programs run as that user all the same."""
    baton = str(Path(sys.executable).with_name("baton"))
    words = [*(["sudo"] if os.geteuid() else []), baton, "live", os.environ["SCENARIO"]]
    words += ["--out", str(results), "--junit", str(junit)]
    if server := os.environ["SERVER"]:
        words += ["--server", server]
    for option, name in (("--handover", "HANDOVER"), ("--expect", "EXPECT")):
        for line in filter(None, map(str.strip, os.environ[name].splitlines())):
            words += [option, line]
    return [
        *words,
        *shlex.split(os.environ["OPTIONS"]),
        "--",
        "bash",
        "-e",
        "-o",
        "pipefail",
        "-c",
        os.environ["PROGRAM"],
    ]


def append(variable: str, text: str) -> None:
    """Appends to a file of GitHub's."""
    with open(os.environ[variable], "a", encoding="utf-8") as file:
        file.write(text)


def summary(status: int, results: Path, junit: Path) -> Iterator[str]:
    """The page of the step, in Markdown: verdict, program, handovers, expectations."""
    yield f"### Handover test: {STATUS.get(status, f'exit status {status}')}"
    if (results / "summary.json").exists():
        yield from found(json.loads((results / "summary.json").read_text(encoding="utf-8")))
    if junit.exists():
        yield from ("", "| expectation | verdict | |", "|---|---|---|")
        cases = list(ElementTree.parse(junit).iter("testcase"))
        repeated = len({case.get("classname") for case in cases}) > 1
        for case in cases:
            run = f"{cell(case.get('classname', ''))}: " if repeated else ""
            problem = next(
                (case.find(kind) for kind in ("failure", "error", "skipped") if case.find(kind) is not None), None
            )
            verdict, why = ("holds", "") if problem is None else (problem.tag, problem.get("message", ""))
            yield f"| {run}`{cell(case.get('name', ''))}` | {verdict} | {cell(why)} |"


def found(run: dict) -> Iterator[str]:
    """Describes the run: its program, whether it is to be trusted, and each handover."""
    program, live = run.get("program"), run["live"]
    if program is not None:
        stall = program["longest_stall_s"]
        longest = "no stall" if stall is None else f"longest stall {stall * 1000:,.0f} ms"
        yield f"\nThe program {cell(program['ending'])} after {program['wall_s']:.1f} s; {longest}."
    yield (
        "\nThe run is to be trusted."
        if live["trusted"]
        else f"\n**Not to be trusted**: {cell('; '.join(live['doubts']))}"
    )
    yield from ("", "| handover | mobile | from | to | kind | completed |", "|---|---|---|---|---|---|")
    for each in run["handovers"]:
        completed = "**not completed**" if each["completed_s"] is None else f"{each['completed_s']:.1f} s"
        ends = [cell(str(each[key])) for key in ("mobile", "from", "to", "kind")]
        yield f"| {each['at_s']:.1f} s | {' | '.join(ends)} | {completed} |"
    if not run["handovers"]:
        yield "| none took place | | | | | |"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
