"""Expectations on a live run, whose conversations have no names before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from baton.errors import InputError
from baton.expect import Expectation, ExpectationError, Missing, Outcome
from baton.summary import Json, live_skeleton
from baton.toml import loads

if TYPE_CHECKING:
    from baton import Scenario


@dataclass
class Verdict:
    """Verdict of the expectations."""

    outcomes: list[Outcome]
    not_checked: list[str]
    """The scenario's own expectations on flows that were not run, because a program was."""


def check_names(expectations: Sequence[Expectation], scenario: Scenario, *, program: bool, server: bool) -> None:
    """Raises `InputError` for an expectation on something that the run will not measure."""
    observed = {name for expectation in expectations for name in expectation.observed_flows}
    names = live_skeleton(
        [*scenario.flow_names, *sorted(observed)], scenario.class_names, program=program, server=server
    )
    if program:
        # Its own numbers have names that only the program knows.
        asked = (each.path for each in expectations if each.path[:2] == ("program", "reported"))
        names["program"]["reported"] = {path[2]: None for path in asked if len(path) == 3}
    for expectation in expectations:
        if names.get(expectation.path[0], ...) is None and expectation.path[0] in ("program", "server"):
            how = "`-- PROGRAM`" if expectation.path[0] == "program" else "`--server`"
            raise InputError(f"expectation `{expectation.text}`: there is no {expectation.path[0]} without {how}")
        expectation.check(names)


def judge(scenario: Scenario, expectations: Sequence[Expectation], summary: Json, replaced: set[str]) -> Verdict:
    """Checks expectations on a summary. Flows between the hosts in `replaced` were not run, since a program was."""
    not_run = set(flows_between(scenario, replaced))
    verdict = Verdict([], [])
    for expectation in expectations:
        idle = [name for name in flows_of(expectation, scenario) if name in not_run]
        if idle and expectation.text in scenario.expectations:
            verdict.not_checked.append(expectation.text)
        elif idle:
            why = f"the scenario's flow {idle[0]} is not run beside a program"
            verdict.outcomes.append(Outcome(expectation, Missing(why), holds=False))
        else:
            verdict.outcomes.append(measured(expectation, summary))
    return verdict


def flows_between(scenario: Scenario, hosts: set[str]) -> Iterator[str]:
    """Returns the names of the scenario's flows that have both ends among these hosts."""
    flows = loads(scenario.resolved).get("flows", [])
    for name, flow in zip(scenario.flow_names, flows, strict=True):
        if {flow["from"], flow["to"]} <= hosts:
            yield name


def flows_of(expectation: Expectation, scenario: Scenario) -> list[str]:
    """Returns the flows that an expectation is about, including one that it names by its place."""
    top, *rest = expectation.path
    if top == "flows" and rest and rest[0].isdecimal() and int(rest[0]) < len(scenario.flow_names):
        return [scenario.flow_names[int(rest[0])]]
    return expectation.flows


def measured(expectation: Expectation, summary: Json) -> Outcome:
    """Returns the outcome. The names were checked before: a missing one is a conversation that did not take place."""
    try:
        return expectation.check(summary)
    except ExpectationError as error:
        why = str(error).removeprefix(f"expectation `{expectation.text}`: ")
        return Outcome(expectation, Missing(why), holds=False)
