"""The page of a reproduced study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from baton import report
from baton.report.render import asset, look_variables

from .checks import Check, Reproduced, summary
from .figures import section
from .live import REPETITIONS, Found, Row

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title} - Baton</title>
<style>{style}
.checks {{ max-height: none; }}
.agrees, .holds {{ color: #00785a; }} .differs, .fails {{ color: #b3470e; font-weight: 600; }}
.beyond, .by-construction {{ color: var(--muted); }}
@media screen and (prefers-color-scheme: dark) {{
  .agrees, .holds {{ color: #5fc9a5; }} .differs, .fails {{ color: #ff9d5c; }} }}
tbody th, tbody td {{ vertical-align: top; }} td.rule {{ color: var(--muted); font-size: 0.82rem; min-width: 9rem; }}
td p {{ margin: 0; color: var(--muted); font-size: 0.82rem; }}
</style>
</head>
<body>
<header><h1>{title}</h1>
<p class="lead">{lead} Whole runs: {runs}.</p></header>
<main><div class="wide checks" tabindex="0" role="region" aria-label="Checks"><table>
<thead><tr>{headings}
</thead>
<tbody>
{rows}
</tbody></table></div>
{figures}</main>
</body>
</html>
"""
_HEADINGS = (
    '<th>Check<th>Quantity<th class="n">Published<th class="n">Measured<th class="n">95&nbsp;% interval'
    '<th class="n">Seeds<th>Rule<th>Verdict'
)


def write_page(file: Path, title: str, found: Reproduced, runs: Sequence[str]) -> Path:
    """Writes the page; `runs` are folders beside it that hold a report each."""
    checks = found.checks
    lead = f"{len(checks)} checks: {summary(checks)}."
    return report.write_page(file, _page(title, lead, runs, (_HEADINGS, map(_row, checks)), section(found.figures)))


def write_live_page(file: Path, title: str, found: Found) -> Path:
    """Writes the page of a live reproduction."""
    lead = " ".join([live_lead(found), *map(escape, remarks(found))])
    stacks = found.rows[0].simulated if found.rows else ()
    simulated = "".join(f'<th class="n">Simulated<br>{escape(stack)}' for stack in stacks)
    headings = (
        f'<th>Check<th>Quantity<th class="n">Published{simulated}<th class="n">Kernel<th class="n">Least to greatest'
    )
    return report.write_page(file, _page(title, lead, found.whole, (headings, map(_live_row, found.rows))))


def live_lead(found: Found) -> str:
    """Describes the figures of a live reproduction."""
    return (
        f"Kernel {', '.join(found.kernels)}, {REPETITIONS} runs of each scenario; as many simulated, with the same"
        " seeds. Medians; the kernel's with the least and the greatest of its runs."
    )


def spread(row: Row) -> str:
    """Writes least and greatest of the kernel's runs, if they differ in the digits shown."""
    if row.low is None:
        return ""
    low, high = f"{row.low:.4g}", f"{row.high:.4g}"
    return "" if low == high else f"{low} to {high}"


def remarks(found: Found) -> Iterator[str]:
    """Yields the checks without a figure, and the reasons."""
    yield from (f"{row.expected.id} not measured: {row.why_not}." for row in found.rows if row.why_not)
    yield from (f"{group} not run live: {reason}." for group, reason in found.not_run.items())
    yield from (f"Not compared: {line}." for line in found.not_compared)


def _page(title: str, lead: str, runs: Sequence[str], table: tuple[str, Iterable[str]], figures: str = "") -> bytes:
    headings, rows = table
    page = _PAGE.format(
        title=escape(title),
        style=asset("report.css").replace("/* looks */", look_variables()),
        lead=lead,
        runs=", ".join(f'<a href="{escape(run)}/report.html">{escape(run)}</a>' for run in runs) or "none",
        headings=headings,
        rows="\n".join(rows),
        figures=figures,
    )
    return page.encode()


def _live_row(row: Row) -> str:
    values = (row.expected.published, *row.simulated.values(), row.kernel)
    numbers = "".join(f'<td class="n">{_with_unit(value, row.expected.unit)}' for value in values)
    note = f"<p>{escape(row.why_not)}</p>" if row.why_not else ""
    return (
        f'<tr id="{escape(row.expected.id)}"><th>{escape(row.expected.id)}'
        f'<td>{escape(row.expected.quantity)}{note}{numbers}<td class="n">{spread(row)}'
    )


def _row(check: Check) -> str:
    between = "" if check.low is None or check.low == check.high else f"{check.low:.4g} to {check.high:.4g}"
    note = "".join(f"<p>{escape(remark)}</p>" for remark in check.remarks())
    return (
        f'<tr id="{escape(check.id)}"><th>{escape(check.id)}'
        f"<td>{escape(check.quantity)}{note}"
        f'<td class="n">{_with_unit(check.published, check.unit)}'
        f'<td class="n">{_with_unit(check.measured, check.unit)}'
        f'<td class="n">{between}'
        f'<td class="n">{counted(check)}'
        f'<td class="rule">{escape(check.rule)}'
        f'<td class="{check.verdict.replace(" ", "-")}" title="section {escape(check.source)}">{check.verdict}'
    )


def counted(check: Check) -> str:
    """Writes in how many seeds a comparison holds, if that is counted."""
    return "" if check.held is None else f"{check.held} of {check.runs}"


def _with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.4g}&nbsp;{escape(unit)}".removesuffix("&nbsp;")
