"""The page of the comparison: ranking, picture, second questions, method, commands, and the advice at its end."""

from __future__ import annotations

import html
from importlib import resources
from typing import TYPE_CHECKING

from baton.report import render
from baton.report.text_tables import number, with_unit

from . import heat_map, ranking_table
from .cross import CrossPoint
from .method import METHOD
from .paths import HANDOVERS
from .refusals import sentences
from .words import INTERRUPTED

if TYPE_CHECKING:
    from .cli import Comparison


def page(found: Comparison) -> str:
    """Returns the whole page as one HTML document."""
    parts = {
        "title": html.escape(found.study.title),
        "lead": html.escape(_lead(found)),
        "banner": "" if found.sweep.complete else f'<p class="banner" role="status">{INTERRUPTED}</p>',
        "facts": render.facts(_facts(found)),
        "links": _LINKS,
        "own_style": resources.files("baton.report").joinpath("assets/remedies.css").read_text(encoding="utf-8"),
        "ranking": ranking_table.section(found),
        "map": heat_map.section(found),
        "second": heat_map.second(found),
        "refused": _refused(found),
        "own": render.listed(
            "Our own remedies against the published ones", [each.sentence for each in found.distances]
        ),
        "details": render.details("Method of measurement and ranking", METHOD)
        + render.details("Commands and settings", _how(found))
        + _paths(found),
        "advice": _advice(found),
    }
    return render.filled("remedies.html", parts)


_LINKS = (
    '<p class="links">Beside this page: <a href="runs.parquet">every run</a>, <a href="statistics.json">every number'
    ' here</a>, <a href="sweep.json">what was run</a>.</p>'
)


def _lead(found: Comparison) -> str:
    names = dict.fromkeys(cell.situation.path for cell in found.cells.headline)
    paths = "; ".join(found.study.paths[name].description or name for name in names)
    return (
        f"Effect of each remedy at vertical handovers ({paths}) to one download with"
        f" {' and with '.join(found.study.headline)}, against installing nothing, on the same seeds. The advice stands"
        " at the end."
    )


def _facts(found: Comparison) -> list[tuple[str, str]]:
    runs = sum(len(found.sweep.rows(place)) for place in range(len(found.sweep.points)))
    return [
        ("Remedies", number(len(found.standings) - 1)),
        ("Handovers", number(len(found.cells.headline))),
        ("Runs", number(runs)),
        ("Failed", number(sum(len(point.failures) for point in found.sweep.points))),
        ("Took", with_unit(round(found.wall_s), "s")),
    ]


def _refused(found: Comparison) -> str:
    return render.listed(
        "Refused by the engine, with its reason",
        sentences(found.refused),
    )


def _how(found: Comparison) -> str:
    lines = [
        f"# {found.study.file}",
        found.command,
        "",
        "# One run of it, with its report",
        CrossPoint(found.study, found.cells.headline[0].situation, found.standings[0].remedy.name).command,
        "",
        "# Blocks: everything in one with everything else in it, and with all remedies",
    ]
    for block in found.study.blocks:
        kinds = ", ".join(HANDOVERS[each] for each in block.handovers)
        lines += [
            f"{block.name}: {', '.join(block.paths)}; {kinds}; {', '.join(block.stacks)};"
            f" packet error rate {', '.join(f'{rate:g}' for rate in block.loss)}; passengers {', '.join(block.loads)};"
            f" {', '.join(block.directions)};"
            f" seeds 1 to {block.seeds}"
        ]
    return "\n".join(lines)


def _paths(found: Comparison) -> str:
    shown = [
        render.details(f"Path {name}: the scenario that is varied", path.file.read_text(encoding="utf-8"))
        for name, path in found.study.paths.items()
    ]
    return "".join(shown)


def _advice(found: Comparison) -> str:
    sentences = "".join(f"<p>{html.escape(each.sentence)}</p>" for each in found.advice)
    return f'<section class="advice"><h2>Advice: which remedy to install</h2>{sentences}</section>'
