"""The page of `baton live --repeat`: the results over all repetitions, and a row with a link for each."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from baton.expect import Outcome
from baton.report.render import asset, look_variables

from .repeat import Repetition, Repetitions, in_words

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title} - Baton</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1>
<p class="lead">{lead}</p></header>
<main><section><h2>All together</h2><div class="wide"><table>
<thead><tr><th>Expectation<th class="n">Measured<th>Verdict</thead>
{expectations}
</table></div></section>
<section><h2>Quantities</h2><div class="wide"><table>
<thead><tr><th>Quantity<th class="n">Mean<th class="n">95&nbsp;% interval<th class="n">5&nbsp;%<th class="n">50&nbsp;%\
<th class="n">95&nbsp;%<th class="n">Repetitions</thead>
{quantities}
</table></div></section>
<section><h2>Repetitions</h2><div class="wide"><table>
<thead><tr><th>Repetition<th class="n">Seed<th class="n">Longest stall<th class="n">Program ran<th>Verdict</thead>
{repetitions}
</table></div></section></main>
</body>
</html>
"""


def page(found: Repetitions) -> str:
    """Returns the page, one file that loads nothing."""
    passed = sum(each.passed for each in found.every)
    return _PAGE.format(
        title=escape(f"{found.name}, {len(found.every)} repetitions"),
        style=asset("report.css").replace("/* looks */", look_variables()),
        lead=f"{passed} of {len(found.every)} repetitions passed.",
        expectations="\n".join(map(_expectation, found.outcomes)),
        quantities="\n".join(_quantities(found)),
        repetitions="\n".join(map(_repetition, found.every)),
    )


def _expectation(outcome: Outcome) -> str:
    verdict = "holds" if outcome.holds else "FAILED"
    return f'<tr><td>{escape(outcome.expectation.text)}<td class="n">{escape(outcome.measured_text)}<td>{verdict}'


def _quantities(found: Repetitions) -> Iterator[str]:
    for path, each in found.statistics.items():
        if each.mean is not None:
            interval = "" if each.low is None else f"{each.low:.4g} to {each.high:.4g}"
            numbers = [f"{each.mean:.4g}", interval]
            numbers += [f"{each.quantiles[percent]:.4g}" for percent in ("5", "50", "95")]
            cells = "".join(f'<td class="n">{number}' for number in [*numbers, str(each.values)])
            yield f"<tr><td>{escape(path)}{cells}"


def _repetition(each: Repetition) -> str:
    program = each.result.summary.get("program") or {}
    times = (program.get(key) for key in ("longest_stall_s", "wall_s"))
    cells = "".join(f'<td class="n">{"" if time is None else f"{time:.3f} s"}' for time in times)
    link = f'<a href="{each.number}/report.html">{each.number}</a>'
    return f'<tr><td>{link}<td class="n">{each.seed}{cells}<td>{escape(in_words(each))}'
