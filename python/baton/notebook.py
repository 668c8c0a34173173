"""View of scenarios, results and tables in a notebook."""

from __future__ import annotations

import html

import pyarrow as pa

from baton._baton import Result, Scenario, Table

FIRST_ROWS = 5
MOST_NAMED = 100
"""Most links, or flows, that are named: a fleet has a link of each mobile to each cell."""


def scenario_html(scenario: Scenario) -> str:
    """Returns name and description, and the scenario as TOML to unfold."""
    warnings = "".join(f"<p>Warning: {html.escape(warning)}</p>" for warning in scenario.warnings)
    links, flows = scenario.link_count, scenario.flow_names
    facts = f"{scenario.duration_s:g} s, "
    facts += f"links {', '.join(scenario.link_names)}" if links <= MOST_NAMED else f"{links:,} links"
    if flows:
        facts += f", flows {', '.join(flows)}" if len(flows) <= MOST_NAMED else f", {len(flows):,} flows"
    return (
        f"<p><b>{html.escape(scenario.name)}</b> {html.escape(scenario.description)}<br>{html.escape(facts)}</p>"
        f"{warnings}<details><summary>Scenario</summary><pre>{html.escape(scenario.resolved)}</pre></details>"
    )


def result_html(result: Result) -> str:
    """Returns the tables of flows and handovers."""
    from baton.report.text_tables import flow_and_handover_tables

    summary = result.summary
    end = "" if result.complete else ", interrupted"
    facts = f"seed {summary['seed']}, {summary['simulated_s']:g} s{end}"
    if result.folder is not None:
        facts += f", in {result.folder}"
    return (
        f"<p><b>{html.escape(summary['scenario'])}</b> {html.escape(facts)}</p>"
        f"{flow_and_handover_tables(summary, summary, linked=False)}"
    )


def table_html(table: Table) -> str:
    """Returns size and columns, and the first rows."""
    shown = pa.table(table).slice(0, FIRST_ROWS)
    heads = "".join(
        f"<th>{html.escape(field.name)}<br><small>{html.escape(_type_name(field.type))}</small></th>"
        for field in shown.schema
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_cell(value))}</td>' for value in row.values())}</tr>"
        for row in shown.to_pylist()
    )
    return (
        f"<p><b>Table</b> of {len(table):,} rows; the first {len(shown)}:</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _type_name(kind: pa.DataType) -> str:
    """Returns the type of the values, however they are encoded."""
    return str(getattr(kind, "value_type", kind)) if str(kind).startswith("dictionary") else str(kind)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
