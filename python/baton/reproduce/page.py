"""The page of a reproduced study."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from .checks import Check

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title} - Baton</title>
<style>{style}
.agrees {{ color: #00785a; }} .differs {{ color: #b3470e; font-weight: 600; }} .beyond {{ color: var(--muted); }}
@media screen and (prefers-color-scheme: dark) {{ .agrees {{ color: #5fc9a5; }} .differs {{ color: #ff9d5c; }} }}
td p {{ margin: 0; color: var(--muted); font-size: 0.82rem; }}
</style>
</head>
<body>
<header><h1>{title}</h1>
<p class="lead">{counts} Whole runs: {runs}.</p></header>
<main><div><table>
<thead><tr><th>Check<th>Quantity<th class="n">Published<th class="n">Measured<th class="n">95&nbsp;% interval<th>Verdict
</thead>
<tbody>
{rows}
</tbody></table></div></main>
</body>
</html>
"""


def write_page(file: Path, title: str, checks: Sequence[Check], runs: Sequence[str]) -> Path:
    """Writes the page; `runs` are folders beside it that hold a report each."""
    style = resources.files("baton.report").joinpath("assets/report.css").read_text(encoding="utf-8")
    counts = ", ".join(
        f"{sum(check.verdict == verdict for check in checks)} {words}"
        for verdict, words in (("agrees", "agree"), ("differs", "differ"), ("beyond", "go beyond"))
    )
    page = _PAGE.format(
        title=escape(title),
        style=style.replace("/* looks */", ""),
        counts=f"Of {len(checks)} checks {counts} what was published.",
        runs=", ".join(f'<a href="{escape(run)}/report.html">{escape(run)}</a>' for run in runs),
        rows="\n".join(map(_row, checks)),
    )
    staged = file.with_name(f".partial-{file.name}")
    staged.write_text(page, encoding="utf-8")
    return staged.replace(file)


def _row(check: Check) -> str:
    between = "" if check.low is None or check.low == check.high else f"{check.low:.4g} to {check.high:.4g}"
    note = f"<p>{escape(check.note)}</p>" if check.note else ""
    return (
        f'<tr id="{escape(check.id)}"><th>{escape(check.id)}'
        f"<td>{escape(check.quantity)}{note}"
        f'<td class="n">{_with_unit(check.published, check.unit)}'
        f'<td class="n">{_with_unit(check.measured, check.unit)}'
        f'<td class="n">{between}'
        f'<td class="{check.verdict}" title="{escape(check.rule)}; section {escape(check.source)}">{check.verdict}'
    )


def _with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.4g}&nbsp;{escape(unit)}".removesuffix("&nbsp;")
