"""Sentences about links, cells, hosts, agents and flows that lost very many packets, or delayed them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# As in the engine: at least so many packets, and at least this share of them.
LEAST, SHARE = 1_000, 0.1
# Sentences; the causes that lost most come first.
MOST = 3

_HOST = {
    "no_route": "had no route to their destination: where was the mobile",
    "ingress_filter": "did not pass an ingress filter: let the mobile send by a reverse tunnel",
    "too_big": "were larger than the next link takes: compare the links' mtu",
    "hop_limit": "went round in a loop: look at the routes",
    "damaged": "were damaged: look at the links' bit_error_rate",
    "backlog": "met a full listen queue: start the flows further apart",
    "tunnelled": "came out of a tunnel to an absent node: the mobile had left, or its registration was late or lost",
}

_LINK = {
    "queue full": "it was asked for more than it carries: compare the flows' rates with the link's",
    "queue management": "it was asked for more than it carries: compare the flows' rates with the link's",
    "policer": "they exceeded a policer's rate: compare it with the flows' rates",
    "link down": "it was down: look at the handovers and at [[changes]]",
    "no route": "no chain of nodes joined its ends, or its routing knew of none: look at relays, range and routing",
    "discarded": "they waited at a handover: look at old_queue",
    "scenario": "[[losses]] requests it",
}
_CHANNEL = "its channel lost them: look at its error rates, and at the distance on a radio network"


def overload_sentences(summary: dict[str, Any]) -> list[str]:
    """Returns a sentence for each place or class that lost or delayed a tenth of its packets, and a thousand, worst
    first."""
    found = sorted(_found(summary), key=lambda each: each[0], reverse=True)
    sentences = [sentence for _, sentence in found[:MOST]]
    if len(found) > MOST:
        sentences.append(f"The same holds for {len(found) - MOST} more, which summary.json lists.")
    return sentences


def _found(summary: dict[str, Any]) -> Iterator[tuple[int, str]]:
    for each in summary.get("overloads") or []:
        dropped, offered = each["dropped"], each["offered"]
        if each["way"] == "host":
            of, why = (
                f"{each['place']} discarded {_of(dropped, offered)} packets of the run",
                _HOST.get(each["cause"], ""),
            )
            yield dropped, f"{of}: they {why}."
        else:
            of = f"{each['place']} ({each['way']}) lost {_of(dropped, offered)} packets, {each['cause']}"
            yield dropped, f"{of}: {_LINK.get(each['cause'], _CHANNEL)}."
    for agent in summary.get("agents") or []:
        dropped, offered = agent["overflowed"] + agent["expired"], agent["held"] + agent["overflowed"]
        if dropped >= LEAST and dropped >= SHARE * offered:
            where = f"The buffer of {agent['agent']} {agent['node']}"
            yield dropped, f"{where} dropped {_of(dropped, offered)} packets: look at its size and age."
    yield from _of_flows(summary)
    yield from _of_waiting(summary)


def _of_waiting(summary: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Returns sentences on datagrams that wait in an unbounded queue: none is lost, and none arrives in time."""
    sums: dict[str, tuple[int, int]] = {}
    for flow in summary.get("flows") or []:
        if flow.get("transport") == "udp" and flow.get("packets"):
            of, way = flow.get("flow_class") or flow["name"], flow["packets"]["to_sink"]
            waiting, sent = sums.get(of, (0, 0))
            sums[of] = (waiting + way["under_way"], sent + way["sent"])
    for of, (waiting, sent) in sums.items():
        if waiting >= LEAST and waiting >= SHARE * sent:
            still = f"{_of(waiting, sent)} datagrams of {of} were still under way at the end"
            yield waiting, f"{still}: a link on their way is asked for more than it carries."


def _of_flows(summary: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Returns sentences on classes that lost much, though no single link did, and on flows without a class."""
    if summary.get("overloads"):
        return
    classes = [
        (f"Class {each['name']}", each["sent_packets"], each["lost_packets"]) for each in summary.get("classes") or []
    ]
    flows = [
        (f"Flow {flow['name']}", flow["segments_sent"], flow["lost_packets"])
        for flow in summary.get("flows") or []
        if not flow.get("flow_class") and flow.get("segments_sent") and flow.get("lost_packets")
    ]
    for name, sent, lost in [*classes, *flows]:
        if lost >= LEAST and lost >= SHARE * sent:
            yield lost, f"{name} lost {_of(lost, sent)} packets: the table of packets says where and why."


def _of(dropped: int, offered: int) -> str:
    return f"{dropped:,} of {offered:,} ({100 * dropped / max(offered, 1):.0f} %)"
