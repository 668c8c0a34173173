"""The summary of a run, as `baton run --json` prints it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

# A summary as the engine gives it. Its keys are those of `Summary`.
Json = dict[str, Any]


class Discarded(TypedDict):
    """Packets that hosts and routers gave up, by cause."""

    no_route: int
    too_big: int
    hop_limit: int
    damaged: int
    no_receiver: int
    backlog: int


class Ping(TypedDict):
    """Round-trip times of a ping flow."""

    sent: int
    answered: int
    mean_rtt_s: float | None


class FlowSummary(TypedDict):
    """What became of a flow."""

    name: str
    transport: str
    delivered_bytes: int
    completion_s: float | None
    goodput_bps: float
    segments_sent: int
    retransmitted: int
    spurious_retransmitted: int
    timeouts: int
    fast_retransmits: int
    duplicate_acks: int
    longest_stall_s: float
    lost_packets: int
    ping: Ping
    """Only for traffic `ping`."""
    failure: str | None


class HandoverFlow(TypedDict):
    """What a handover did to a flow, until the next handover."""

    name: str
    stall_s: float
    lost_packets: int
    spurious_retransmissions: int
    time_to_90_percent_s: float | None


# The syntax with a call, since `from` is a keyword.
Handover = TypedDict(
    "Handover",
    {
        "at_s": float,
        "mobile": str,
        "from": "str | None",
        "to": "str | None",
        "kind": str,
        "completed_s": "float | None",
        "lost_packets": int,
        "flows": list[HandoverFlow],
    },
)


class Summary(TypedDict):
    """What became of a run."""

    format: int
    scenario: str
    seed: int
    simulated_s: float
    wall_s: float | None
    events: int
    packets: int
    flows: list[FlowSummary]
    handovers: list[Handover]
    discarded: Discarded


class Program(TypedDict):
    """What became of the program of a live run."""

    argv: list[str]
    status: int | None
    signal: int | None
    wall_s: float
    stopped_at_end: bool
    delivered_bytes: int
    longest_stall_s: float


class Server(TypedDict):
    """What became of the server's program of a live run."""

    command: str
    status: int | None
    signal: int | None


class Lateness(TypedDict):
    """How late events were handled that the clock called for."""

    events: int
    median_us: float
    p99_us: float
    largest_us: float
    bound_us: float


class Live(TypedDict):
    """What is to be known of a live run before its numbers are believed."""

    trusted: bool
    doubts: list[str]
    lateness: Lateness
    lost_rows: int
    dropped_outside_model: int
    not_forwarded: int
    drops: dict[str, int]
    kernel: str
    sysctls: dict[str, dict[str, str]]
    ignored: list[str]
    address: str
    nat: bool
    priority: bool


# What a conversation of real hosts, measured from its packets, has beside the keys of a flow.
ObservedFlow = TypedDict(
    "ObservedFlow",
    {
        "from": "str | None",
        "to": "str | None",
        "five_tuple": str,
        "reordered": int,
        "reverse_bytes": int,
        "probes": int,
        "forgotten_ranges": int,
    },
)


class LiveSummary(Summary):
    """What became of a live run. `program` and `server` are null where none was given."""

    program: Program
    server: Server
    live: Live


def main_flows(summary: Json, most: int) -> tuple[Json, int]:
    """A summary with only the flows that delivered most, in their order, and how many flows it lacks."""
    flows = summary.get("flows") or []
    if len(flows) <= most:
        return summary, 0
    largest = sorted(flows, key=lambda flow: flow.get("delivered_bytes") or 0, reverse=True)[:most]
    names = {flow["name"] for flow in largest}

    def kept(listed: list[Json]) -> list[Json]:
        return [flow for flow in listed if flow["name"] in names]

    handovers = [{**each, "flows": kept(each.get("flows") or [])} for each in summary.get("handovers") or []]
    return {**summary, "flows": kept(flows), "handovers": handovers}, len(flows) - most


def skeleton(flow_names: Iterable[str]) -> Json:
    """A summary without values of a run with these flows, to find out before the run which names it will have."""
    return _skeleton(Summary, flow_names)


def live_skeleton(flow_names: Iterable[str], *, program: bool, server: bool) -> Json:
    """The same of a live run, with a program or not, and with one in the server or not."""
    given = {"program": program, "server": server}
    summary = _skeleton(LiveSummary, flow_names)
    summary["flows"] = [flow | _empty(ObservedFlow, []) for flow in summary["flows"]]
    return summary | {name: None for name, is_there in given.items() if not is_there}


def _skeleton(kind: Any, flow_names: Iterable[str]) -> Json:
    summary = _empty(kind, list(flow_names))
    assert isinstance(summary, dict)
    return summary


def _empty(hint: Any, flow_names: list[str]) -> Any:
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        if "name" in get_type_hints(item):
            return [{**_empty(item, flow_names), "name": name} for name in flow_names]
        return [_empty(item, flow_names)]
    if is_typeddict(hint):
        return {key: _empty(of_key, flow_names) for key, of_key in get_type_hints(hint).items()}
    return None
