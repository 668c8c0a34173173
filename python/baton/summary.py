"""The summary of a run, as `baton run --json` prints it."""

# Annotations are no texts here, which every run would compile to read them.
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

# A summary as the engine gives it. Its keys are those of `Summary`.
Json = dict[str, Any]


class Discarded(TypedDict):
    """Packets that hosts and routers discarded, by cause."""

    no_route: Annotated[int, "No route to the destination, as while a mobile is detached"]
    ingress_filter: Annotated[int, "Stopped by an ingress filter: the source did not belong behind the link"]
    too_big: Annotated[int, "Larger than the next link takes"]
    hop_limit: Annotated[int, "Hop limit exceeded"]
    damaged: Annotated[int, "Damaged beyond their checksums"]
    no_receiver: Annotated[int, "No listener at the port"]
    backlog: Annotated[int, "Refused by a full listen queue"]
    messages: Annotated[
        int,
        "Messages to mobility agents and between gateways that could not be read, were not expected, or proved "
        "nothing, and contexts of split connections that did not get to another gateway",
    ]
    tunnelled: Annotated[int, "Out of a tunnel for an absent node, or about to loop in one"]


class Ping(TypedDict):
    """Round-trip times of a ping flow."""

    sent: Annotated[int, "Requests sent"]
    answered: Annotated[int, "Replies received"]
    mean_rtt_s: Annotated[float | None, "Mean round-trip time; null without a reply"]


class Aerotp(TypedDict):
    """Counters of an AeroTP connection."""

    mode: Annotated[str, "`reliable`, `near-reliable`, `quasi-reliable` or `unreliable-connection`"]
    damaged_packets: Annotated[int, "Packets that came to the far end with a payload beyond repair"]
    corrected_bytes: Annotated[int, "Bytes that the code put right at the far end"]
    skipped_bytes: Annotated[int, "Bytes left out at the far end, since nothing is sent again"]
    macks: Annotated[int, "Packets with nothing but an acknowledgment that the far end sent"]
    probes: Annotated[int, "Probes that the source sent to a far end that did not answer"]
    measured_bit_error_rate: Annotated[float, "Last bit error rate that the far end measured"]


class Quic(TypedDict):
    """Counters of a QUIC connection."""

    congestion_events: Annotated[int, "Reductions of the source's congestion window"]
    migrations: Annotated[int, "Changes of an end's address"]
    path_mtu: Annotated[int, "Largest UDP payload from the source, in bytes, that it has discovered"]


class TpPlusPlus(TypedDict):
    """Counters of a TP++ connection."""

    mode: Annotated[str, "`reliable` or `quasi-reliable`"]
    damaged_tpdus: Annotated[int, "TPDUs that came to the far end with a wrong check"]
    restored_tpdus: Annotated[int, "TPDUs that the code restored at the far end"]
    skipped_bytes: Annotated[int, "Bytes left out at the far end, in quasi-reliable mode"]
    acknowledgments: Annotated[int, "Acknowledgments that the far end sent"]
    limits: Annotated[int, "Reports of the limit that the far end sent"]


class Delay(TypedDict):
    """One-way delays of packets, each from its own transmission: a retransmission counts anew."""

    packets: Annotated[int, "Packets that arrived; of several copies the first"]
    mean_s: Annotated[float, "Mean"]
    p5_s: Annotated[float, "5th percentile; all percentiles are within 1 %"]
    p50_s: Annotated[float, "Median"]
    p95_s: Annotated[float, "95th percentile"]
    p99_s: Annotated[float, "99th percentile"]
    p99_9_s: Annotated[float, "99.9th percentile"]
    largest_s: Annotated[float, "The largest"]


class LostBy(TypedDict):
    """Lost packets by the cause of their loss."""

    queue: Annotated[int, "A link's queue had no room, its discipline chose them, or a policer did"]
    channel: Annotated[int, "A link's channel lost them, or damaged them beyond a checksum"]
    link_down: Annotated[
        int,
        "A link was down or went down with them, its network had no route, or its queue was discarded: what a handover "
        "or an outage takes",
    ]
    buffer: Annotated[int, "An agent's buffer had no room, held them for too long, or held the same segment already"]
    host: Annotated[
        int,
        "A host or router gave them up: no route, too long, hop limit, ingress filter, nobody at the port, out of a "
        "tunnel for nobody",
    ]


class Packets(TypedDict):
    """A flow's packets in one direction: `sent` is the sum of `delivered`, `lost` and `under_way`."""

    sent: Annotated[
        int,
        "Packets sent, each once whatever tunnels and copies there are; those that gateways send in their hosts' place,"
        " and those that found no way out of their own host, too",
    ]
    delivered: Annotated[int, "Packets that reached their host, or a gateway that answers for it; of copies the first"]
    lost: Annotated[int, "Packets that did not arrive: the sum of `lost_by`"]
    under_way: Annotated[int, "Packets on links and in buffers at the end of the run"]
    lost_by: Annotated[LostBy, "Causes of their loss; of several copies that of the last one"]


class PacketsOfWays(TypedDict):
    """Fates of a flow's packets in each direction."""

    to_sink: Annotated[Packets, "Packets from `from` to `to`"]
    to_source: Annotated[Packets, "Packets back: acknowledgments, answers, requests"]


class LostByOfWays(TypedDict):
    """Lost packets in each direction."""

    to_sink: Annotated[LostBy, "Packets from `from` to `to`"]
    to_source: Annotated[LostBy, "Packets back"]


class PacketInterruption(TypedDict):
    """Mobility interruption time of each direction, by its packets."""

    to_sink: Annotated[float | None, "From `from` to `to`"]
    to_source: Annotated[float | None, "The way back"]


class PacketDelay(TypedDict):
    """One-way delays of each direction, of packets with and without payload."""

    to_sink: Annotated[Delay | None, "From `from` to `to`; null if nothing arrived"]
    to_source: Annotated[Delay | None, "The way back: acknowledgments, answers, requests; null if nothing arrived"]


class FlowSummary(TypedDict):
    """Results of a flow."""

    name: Annotated[str, "Name in the scenario; of a program's conversation transport, port and running number"]
    flow_class: Annotated[str, "Its `class` in the scenario, or what several are written as; only of a flow with one"]
    transport: Annotated[str, "`tcp`, `udp`, `aerotp`, `quic`, `tp++` or `icmp`"]
    delivered_bytes: Annotated[int, "Payload bytes delivered to the application at the far end"]
    completion_s: Annotated[float | None, "From the start to the last byte; null if unfinished or endless"]
    goodput_bps: Annotated[float, "Payload delivered, over the time from the start to the completion, or to the end"]
    segments_sent: Annotated[
        int,
        "With a connection: packets from the sender, acknowledgments included. UDP and ICMP: datagrams of both ends",
    ]
    retransmitted: Annotated[int | None, "Of these, retransmissions; null of a program's datagrams: nobody can tell"]
    spurious_retransmitted: Annotated[int, "Segments that came to the far end with nothing new in them"]
    timeouts: Annotated[
        int | None,
        "Expiries of the retransmission timer; null over QUIC, where a kernel tells none, or for datagrams",
    ]
    fast_retransmits: Annotated[int | None, "Losses detected by duplicate acknowledgments; null if a kernel sends"]
    duplicate_acks: Annotated[int, "Duplicate acknowledgments that the source received"]
    copies_received: Annotated[int, "Datagrams that came to the far end again, as copies do; they are delivered once"]
    longest_stall_s: Annotated[float, "Longest time without new data for the application while more was due"]
    lost_packets: Annotated[int, "Packets of both ways that links dropped, each copy for itself, as in packets.parquet"]
    packets: Annotated[PacketsOfWays, "Fates of its packets, each counted once"]
    delay: Annotated[
        Delay | None,
        "One-way delays of packets with payload from `from` to `to` that arrived undamaged; null if none did, and over"
        " ICMP",
    ]
    packet_delay: Annotated[PacketDelay, "One-way delays of all packets that came to its ends, of each way"]
    ping: Annotated[Ping, "Round-trip times; only for traffic `ping`"]
    aerotp: Annotated[Aerotp, "Counters of the connection; only over AeroTP, but not of datagrams"]
    quic: Annotated[Quic, "Counters of the connection; only over QUIC"]
    tp_plus_plus: Annotated[TpPlusPlus, "Counters of the connection; only over TP++"]
    failure: Annotated[str | None, "Reason why the connection ended early; null otherwise"]


HANDOVER_KINDS = ("announced-hard", "announced-soft", "entry", "hard", "lost", "soft")


class DuringHandovers(TypedDict):
    """Delays of the packets of a class that were under way during handovers of one kind."""

    name: Annotated[
        str,
        "Kind of the handovers: `entry` without an old link, `lost` if the old link had failed, otherwise `soft`,"
        " `hard`, `announced-soft` or `announced-hard`",
    ]
    delay: Annotated[Delay, "One-way delays of those packets"]


class ClassSummary(TypedDict):
    """Results of all flows with the same `class` together: of their packets with payload from `from` to `to`."""

    name: Annotated[str, "Name of the class"]
    flows: Annotated[int, "Number of flows in this class"]
    sent_packets: Annotated[int, "Packets that the sources sent, retransmissions included"]
    delivered_packets: Annotated[int, "Packets that arrived undamaged; of several copies the first"]
    lost_packets: Annotated[int, "Packets that neither arrived nor are on a link or in a buffer at the end of the run"]
    delay: Annotated[Delay | None, "One-way delays of those that arrived undamaged; null if none did"]
    during_handovers: Annotated[
        list[DuringHandovers],
        "Those of them that were under way between the beginning and the completion of a handover of their mobile",
    ]


class HandoverFlow(TypedDict):
    """Effect of a handover on a flow, until the next handover."""

    name: Annotated[str, "Name of the flow"]
    delivered_bytes: Annotated[
        int,
        "Payload delivered, from when this handover was announced or, if it was not, began, to the same of the next",
    ]
    stall_s: Annotated[float, "Longest time without new data, until the next handover"]
    interruption_s: Annotated[
        float,
        "The same up to the first new data over the new link: the handover's own interruption",
    ]
    packet_interruption_s: Annotated[
        PacketInterruption,
        "From the last packet that came over the old link to the first over the new, negative where that came before;"
        " null where one of them did not come",
    ]
    lost_packets: Annotated[int, "Packets of it lost with the old link or with its queue"]
    lost_by: Annotated[
        LostByOfWays,
        "All packets that it lost, from when this handover was announced or, if it was not, began, to the next",
    ]
    spurious_retransmissions: Annotated[int, "Segments that came to the far end with nothing new in them"]
    time_to_90_percent_s: Annotated[
        float | None, "From the handover until the flow got 90 % of the new link's rate; null if it never did"
    ]


# The syntax with a call, since `from` is a keyword.
Handover = TypedDict(
    "Handover",
    {
        "at_s": Annotated[float, "Time at which it began"],
        "announced_s": Annotated[
            float | None, "Time at which the old link announced that it would go down; null if it did not"
        ],
        "mobile": Annotated[str, "Name of the mobile"],
        "mobile_class": Annotated[str, "The mobile in the scenario; only of one of several, which a `count` makes"],
        "from": Annotated[str | None, "Old access link; null for none"],
        "to": Annotated[str | None, "New access link; null for none"],
        "kind": Annotated[str, "`soft` or `hard`"],
        "completed_s": Annotated[
            float | None, "Time at which the new link came into use; null if the run ended before"
        ],
        "active": Annotated[
            bool, "True if a flow of the mobile that had begun before it was complete sent anything after it began"
        ],
        "old_rate_bps": Annotated[int | None, "Rate at which the old link carries full packets to the mobile"],
        "new_rate_bps": Annotated[int | None, "The same of the new link"],
        "lost_packets": Annotated[int, "Packets lost with the old link or with its queue"],
        "flows": Annotated[list[HandoverFlow], "The mobile's flows, from this handover to the next"],
    },
)


class Agent(TypedDict):
    """Counters of an agent of a mobility protocol, for packets to moving mobiles, or of a DTN gateway, for bundles."""

    node: Annotated[str, "Its node"]
    agent: Annotated[str, "`home agent`, `mobility anchor point`, `access router`, `domain router` or `DTN gateway`"]
    held: Annotated[int, "Packets that it held; bundles taken into custody"]
    released: Annotated[int, "Packets that it sent on later; bundles in the other gateway's custody"]
    overflowed: Annotated[int, "Packets dropped because a buffer was full; bundles refused, which their sender keeps"]
    overflowed_bytes: Annotated[int, "Their bytes"]
    expired: Annotated[int, "Packets dropped because they had waited too long"]
    duplicates: Annotated[
        int, "TCP segments held already, copies that the mobile had from elsewhere, bundles received again"
    ]
    most_bytes: Annotated[int, "Most bytes held at once for one mobile; most bytes of data in custody"]
    copies: Annotated[int, "Copies sent to a second place, or to further routers; bundles sent again"]


class CellLoad(TypedDict):
    """Load of a cell, in 96 equal stretches of the run up to its end."""

    stretch_s: Annotated[float, "Length of a stretch"]
    aircraft: Annotated[list[float], "Mean number of mobiles registered in each stretch"]
    forward_bps: Annotated[list[float], "IP packets delivered to mobiles in each stretch"]
    return_bps: Annotated[list[float], "IP packets delivered by mobiles in each stretch"]


class Cell(TypedDict):
    """A cell of a radio network."""

    cell: Annotated[str, "Name in the scenario"]
    latitude: Annotated[float, "In degrees, north positive"]
    longitude: Annotated[float, "In degrees, east positive"]
    radius_m: Annotated[float, "Largest distance at which aircraft may register, in metres"]
    load: Annotated[CellLoad, "Its load over the run"]


class Place(TypedDict):
    """Place of a mobile at a moment."""

    at_s: Annotated[float, "Time"]
    latitude: Annotated[float, "In degrees, north positive"]
    longitude: Annotated[float, "In degrees, east positive"]
    altitude_m: Annotated[float, "Height in metres"]
    cell: Annotated[str | None, "The cell in which it was registered from then on; null for none"]


class Aircraft(TypedDict):
    """A mobile's track; of a flight while it exists."""

    mobile: Annotated[str, "Name of the mobile"]
    track: Annotated[list[Place], "Its places, at equal intervals and whenever it entered or left a cell"]


class Radio(TypedDict):
    """A radio network, as its map shows it."""

    link: Annotated[str, "Name of the link in the scenario"]
    cells: Annotated[list[Cell], "Its cells"]
    aircraft: Annotated[list[Aircraft], "The mobiles on it; of more than 100 as many or fewer, evenly spread over them"]


class UnlistedHandovers(TypedDict):
    """Handovers of a class of mobiles after the first `record.handovers`, which are counted and not listed."""

    mobile_class: Annotated[str | None, "The name that several mobiles are written as; null for others"]
    handovers: Annotated[int, "Number of handovers"]
    completed: Annotated[int, "Those after which the new link was taken into use"]
    active: Annotated[int, "Those completed while a flow of the mobile was under way"]
    lost_packets: Annotated[int, "Packets lost with the old link or its queue"]
    mean_s: Annotated[float | None, "Mean time from beginning to completion; null if none was completed"]
    p50_s: Annotated[float | None, "Median of that time, within 1 %"]
    p95_s: Annotated[float | None, "95th percentile, within 1 %"]
    p99_s: Annotated[float | None, "99th percentile, within 1 %"]
    largest_s: Annotated[float | None, "Longest time"]


class Overload(TypedDict):
    """A link, a cell or a host that discarded a thousand packets and a tenth of those offered to it, for one reason."""

    place: Annotated[str, "Name of the link, `NETWORK.CELL` of a radio network, or name of the node"]
    way: Annotated[str, "`down` or `up` of a link, `host` of a node"]
    cause: Annotated[str, "Cause, as in the table of packets; for a host, a key of `discarded`"]
    dropped: Annotated[int, "Packets discarded for that reason"]
    offered: Annotated[int, "Packets that were offered there; for a host, all that hosts sent"]


class CutSummary(TypedDict):
    """Parts of a run on several threads."""

    parts: Annotated[int, "Number of parts"]
    window_s: Annotated[float, "Time that a part runs between two exchanges: half of the shortest delay of a cut link"]
    windows: Annotated[int, "Number of windows of that length"]
    most_speed_up: Annotated[
        float,
        "Events of all parts, divided by those of the longest chain of windows in which each has to wait for the one "
        "before: how many times faster than one thread any number of threads can be",
    ]


class Summary(TypedDict):
    """Summary of a run."""

    format: Annotated[int, "Version of this summary's format"]
    scenario: Annotated[str, "Name of the scenario"]
    seed: Annotated[int, "Seed of the run"]
    simulated_s: Annotated[float, "Simulated time"]
    wall_s: Annotated[float | None, "Wall time of the run; null if it was not measured"]
    events: Annotated[int, "Events handled"]
    packets: Annotated[int, "Packets sent by all hosts"]
    flows: Annotated[list[FlowSummary], "Flows, in the order of the scenario"]
    unlisted_flows: Annotated[int, "Flows beyond `record.flows`, which are not listed; only if there are any"]
    classes: Annotated[list[ClassSummary], "Classes of flows, by name; programs' conversations are in none"]
    handovers: Annotated[list[Handover], "Handovers, in order of time for each mobile"]
    unlisted_handovers: Annotated[
        list[UnlistedHandovers], "Handovers after the first `record.handovers`, by class; only if there are any"
    ]
    discarded: Annotated[Discarded, "Packets that hosts and routers discarded"]
    overloads: Annotated[list[Overload], "Places where packets were discarded by the thousand, the most first"]
    agents: Annotated[list[Agent], "Agents that held packets for mobiles or sent them twice"]
    radios: Annotated[list[Radio], "Radio networks, and their mobiles' places; not among the columns of a sweep"]
    cut: Annotated[CutSummary, "Parts of a run with `--threads`; only if it was cut"]


class Program(TypedDict):
    """Outcome of the program of a live run."""

    argv: Annotated[list[str], "The program and its arguments"]
    status: Annotated[int | None, "Its exit status; null if a signal ended it"]
    signal: Annotated[int | None, "The signal that ended it; null otherwise"]
    wall_s: Annotated[float, "Time that it ran"]
    stopped_at_end: Annotated[bool, "True if it still ran at the end of the scenario, and was stopped"]
    delivered_bytes: Annotated[int, "Payload bytes delivered by all conversations of real hosts"]
    longest_stall_s: Annotated[float, "Longest time without new data over all of them together"]
    reported: Annotated[dict[str, float], "Its own numbers, which it wrote to the file that `BATON_REPORT` names"]


class Server(TypedDict):
    """Outcome of the server's program of a live run."""

    command: Annotated[str, "As given"]
    status: Annotated[int | None, "Its exit status; null if a signal ended it"]
    signal: Annotated[int | None, "The signal that ended it; null otherwise"]


class Lateness(TypedDict):
    """Lateness of scheduled events."""

    events: Annotated[int, "Number of events"]
    median_us: Annotated[float, "Median"]
    p99_us: Annotated[float, "99th percentile"]
    largest_us: Annotated[float, "The largest"]
    bound_us: Annotated[float, "Bound of the 99th percentile, from the scenario"]


class ByHand(TypedDict):
    """A command to a live run that was carried out."""

    at_s: Annotated[float, "Time"]
    what: Annotated[str, "Command: a key of a link with its new value, or a handover"]


class LiveDecisions(TypedDict):
    """Answers of a mobile's class in Python in a live run."""

    mobile: Annotated[str, "The mobile"]
    decision: Annotated[str, "Its class, as `module.Class`"]
    questions: Annotated[int, "Times that the class was asked while the run was under way"]
    late: Annotated[int, "Answers that came more than `deadline_ms` after the event, or not before the run's end"]
    longest_ms: Annotated[float, "Longest time from an event to the answer"]
    deadline_ms: Annotated[float, "Time above which an answer is late"]


class Live(TypedDict):
    """Facts that tell how far a live run's numbers can be trusted."""

    trusted: Annotated[bool, "True if nothing casts doubt on the run"]
    doubts: Annotated[list[str], "Reasons why not, in words"]
    lateness: Annotated[Lateness, "Lateness of events"]
    lost_rows: Annotated[int, "Rows of the record that could not be written in time"]
    dropped_outside_model: Annotated[int, "Packets that were dropped, though not by the model"]
    not_forwarded: Annotated[int, "Multicast and link-local packets, which stay where they are"]
    drops: Annotated[dict[str, int], "Packets that links dropped, by the cause as in the table of packets"]
    kernel: Annotated[str, "The kernel's version"]
    sysctls: Annotated[dict[str, dict[str, str]], "Settings of TCP of each real host, read back from its kernel"]
    sysctls_set: Annotated[dict[str, dict[str, str]], "Settings that the scenario requests"]
    ignored: Annotated[list[str], "Ignored parts of the scenario, which the kernel cannot do"]
    address: Annotated[str, "`kept` or `new`"]
    nat: Annotated[bool, "True if addresses and ports were translated on each access link"]
    priority: Annotated[bool, "True if the run had real-time priority"]
    by_hand: Annotated[list[ByHand], "Changes by `baton set` and `baton handover`; results of older versions have none"]
    decisions: Annotated[
        list[LiveDecisions], "Answers of Python classes that decide; results of older versions have none"
    ]


# Keys of a conversation of real hosts, measured from its packets, beside those of a flow.
ObservedFlow = TypedDict(
    "ObservedFlow",
    {
        "from": Annotated[str | None, "Node that sends the bulk of the data"],
        "to": Annotated[str | None, "Node to which it goes; null if nothing has come to it"],
        "five_tuple": Annotated[str, "Protocol, and both ends with their ports, first the one that spoke first"],
        "reordered": Annotated[int, "Packets of both directions that came after a younger one of their direction"],
        "reverse_bytes": Annotated[int, "Payload bytes delivered against the main direction"],
        "probes": Annotated[int, "Keep-alives and probes of closed windows that both ends sent"],
        "forgotten_ranges": Annotated[
            int, "Ranges of streams too many to be remembered; with any, counts of new segments are not exact"
        ],
        "data_from_bytes": Annotated[
            int | None, "Payload from which a datagram of the main direction counted as new data; null over TCP"
        ],
        "moves": Annotated[int, "Times that a connection ID showed a QUIC client at another address or port"],
        "may_continue": Annotated[
            str | None,
            "Flow whose QUIC connection this may be after a move, under an ID that nobody could see; else null",
        ],
    },
)


class LiveSummary(Summary):
    """Additional keys of a live run's summary."""

    program: Annotated[Program, "The program in the mobile; null if none was given"]
    server: Annotated[Server, "The server's program; null if none was given"]
    live: Annotated[Live, "Trust in the run, and the machine that it ran on"]


def main_flows(summary: Json, most: int) -> tuple[Json, int]:
    """Returns a summary with only the flows that delivered most, in their order, and the number of flows left out."""
    flows = summary.get("flows") or []
    if len(flows) <= most:
        return summary, 0
    largest = sorted(flows, key=lambda flow: flow.get("delivered_bytes") or 0, reverse=True)[:most]
    names = {flow["name"] for flow in largest}

    def kept(listed: list[Json]) -> list[Json]:
        return [flow for flow in listed if flow["name"] in names]

    handovers = [{**each, "flows": kept(each.get("flows") or [])} for each in summary.get("handovers") or []]
    return {**summary, "flows": kept(flows), "handovers": handovers}, len(flows) - most


def skeleton(flow_names: Iterable[str], class_names: Iterable[str] = ()) -> Json:
    """Returns a summary without values of a run with these flows, to find out before the run which names it will
    have."""
    return _skeleton(Summary, flow_names, class_names)


def live_skeleton(flow_names: Iterable[str], class_names: Iterable[str] = (), *, program: bool, server: bool) -> Json:
    """Returns the same for a live run, with a program or not, and with one in the server or not."""
    given = {"program": program, "server": server}
    summary = _skeleton(LiveSummary, flow_names, class_names)
    summary["flows"] = [flow | _empty(ObservedFlow, []) for flow in summary["flows"]]
    return summary | {name: None for name, is_there in given.items() if not is_there}


def _skeleton(kind: Any, flow_names: Iterable[str], class_names: Iterable[str]) -> Json:
    summary = _empty(kind, list(flow_names))
    assert isinstance(summary, dict)
    during = [{**_empty(DuringHandovers, []), "name": kind} for kind in HANDOVER_KINDS]
    of_class = {**_empty(ClassSummary, []), "during_handovers": during}
    summary["classes"] = [{**of_class, "name": name} for name in class_names]
    return summary


def object_in(hint: Any) -> Any:
    """Returns the type of an object that may be null; any other type as it is."""
    objects = [each for each in get_args(hint) if is_typeddict(each)]
    return objects[0] if objects and get_origin(hint) in (Union, UnionType) else hint


def _empty(hint: Any, flow_names: list[str]) -> Any:
    hint = object_in(hint)
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        if "name" in get_type_hints(item):
            # A run may have a hundred thousand flows: they share the parts of one.
            empty = _empty(item, [])
            return [{**empty, "name": name} for name in flow_names]
        return [_empty(item, flow_names)]
    if is_typeddict(hint):
        return {key: _empty(of_key, flow_names) for key, of_key in get_type_hints(hint).items()}
    return None
