"""`baton reproduce --sensitivity`: which of a study's verdicts hang on its chosen parameters."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from baton.text_table import Table

from . import STUDIES, TITLES, select, study_c_readings, study_d_readings, study_module
from .checks import HANGING, Check, summary
from .sensitivity import SEEDS, Combination, Variation, combine, hanging, load_parameters, vary

#: Measurement of a study's two-sided numbers by each reading of its text, for sets of its parameters.
READINGS = {"C": study_c_readings.readings, "D": study_d_readings.readings}
#: Name of the table of combinations of parameters.
COMBINATIONS = "combinations.csv"
#: Version of what `--json` prints.
FORMAT = 1


def run(ids: Sequence[str], *, as_json: bool) -> int:
    """Varies the chosen parameters of studies, prints and writes what hangs on them; returns the exit status."""
    found = {}
    with Console(stderr=True).status("starting") as status:
        for study, expected in select(ids).items():
            wanted = {each.id for each in expected}
            checks, variations = vary(STUDIES / study, study_module(study).reproduce, lambda text: status.update(text))
            found[study] = _of(wanted, checks), [_wanted(wanted, each) for each in variations]
        combined = {
            study: combine(STUDIES / study, READINGS[study], lambda text: status.update(text))
            for study in found
            if study in READINGS
        }
    files = [write(study, hanging(*each)) for study, each in found.items()]
    files += [write_combined(study, each) for study, each in combined.items()]
    if as_json:
        rows = [
            {"study": study, "parameter": each.parameter.name, "value": each.value, "checks": _verdicts(each.checks)}
            for study, (_, variations) in found.items()
            for each in variations
        ]
        chosen = {study: _verdicts(checks) for study, (checks, _) in found.items()}
        print(json.dumps({"format": FORMAT, "chosen": chosen, "varied": rows, "files": [str(file) for file in files]}))
        return 0
    for study, (checks, variations) in found.items():
        print(table(study, checks, variations))
    for file in files:
        print(file)
    return 0


def table(study: str, chosen: Sequence[Check], variations: Sequence[Variation]) -> Table:
    """Returns a table of the variations with the checks that they change."""
    title = f"Study {study}: {TITLES[study]}"
    table = Table("Parameter", "Value", "Checks", "Other verdicts", text_columns=4, title=title)
    table.add_row("as chosen", "", summary(chosen), "")
    previous = ""
    for each in variations:
        changed = ", ".join(f"{check.id} {check.verdict}" for check in each.changed(chosen))
        name = each.parameter.name
        first = f"{name} ({each.parameter.value})" if name != previous else ""
        table.add_row(first, str(each.value), summary(each.checks), changed or "none")
        previous = name
    table.caption = f"{SEEDS} seeds of each run"
    return table


def write(study: str, hangs: Mapping[str, Mapping[str, str]]) -> Path:
    """Writes what hangs on parameters as the file that a study's folder keeps, and returns its path."""
    folder = Path("results") / f"reproduce-{study}"
    folder.mkdir(parents=True, exist_ok=True)
    names = ", ".join(parameter.name for parameter in load_parameters(STUDIES / study))
    lines = [
        f"# Checks of study {study} whose verdict changes with a chosen parameter: {names}.",
        f"# Written by `baton reproduce {study} --sensitivity`, {SEEDS} seeds of each run.",
        *(line for check, values in hangs.items() for line in _table(check, values)),
    ]
    file = folder / HANGING
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_combined(study: str, combinations: Sequence[Combination]) -> Path:
    """Writes the combinations of a study's parameters as CSV, those with most agreeing checks first; returns the
    file's path."""
    file = Path("results") / f"reproduce-{study}" / COMBINATIONS
    ordered = sorted(combinations, key=lambda each: -len(each.agreeing))
    with file.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow([*ordered[0].values, "reading", "agreeing", "checks"])
        for each in ordered:
            rows.writerow([*each.values.values(), each.reading, len(each.agreeing), " ".join(each.agreeing)])
    return file


def _table(check: str, verdicts: Mapping[str, str]) -> list[str]:
    """Returns the lines of a check's table."""
    rows = (f"{json.dumps(value)} = {json.dumps(verdict)}" for value, verdict in verdicts.items())
    return ["", f"[{json.dumps(check)}]", *rows]


def _of(wanted: set[str], checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if check.id in wanted]


def _wanted(wanted: set[str], variation: Variation) -> Variation:
    return Variation(variation.parameter, variation.value, _of(wanted, variation.checks))


def _verdicts(checks: Sequence[Check]) -> dict[str, str]:
    return {check.id: check.verdict for check in checks}
