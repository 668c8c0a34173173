"""How a notebook shows scenarios and results."""

from __future__ import annotations

import html

from baton._baton import Result, Scenario


def scenario_html(scenario: Scenario) -> str:
    """Name and description, and the scenario as TOML to unfold."""
    warnings = "".join(f"<p>Warning: {html.escape(warning)}</p>" for warning in scenario.warnings)
    facts = f"{scenario.duration_s:g} s, links {', '.join(scenario.link_names)}"
    if scenario.flow_names:
        facts += f", flows {', '.join(scenario.flow_names)}"
    return (
        f"<p><b>{html.escape(scenario.name)}</b> {html.escape(scenario.description)}<br>{html.escape(facts)}</p>"
        f"{warnings}<details><summary>Scenario</summary><pre>{html.escape(scenario.resolved)}</pre></details>"
    )


def result_html(result: Result) -> str:
    """The tables of flows and handovers."""
    from baton.report.text_tables import flow_table, handover_table

    summary = result.summary
    end = "" if result.complete else ", interrupted"
    facts = f"seed {summary['seed']}, {summary['simulated_s']:g} s{end}"
    if result.folder is not None:
        facts += f", in {result.folder}"
    return (
        f"<p><b>{html.escape(summary['scenario'])}</b> {html.escape(facts)}</p>"
        f"{flow_table(summary)}{handover_table(summary, linked=False)}"
    )
