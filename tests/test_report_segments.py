"""The report's reading of the packet table, against tables written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from baton import report
from baton.errors import InputError
from baton.report import packet_panels, segments
from baton.report.columns import ColumnStore
from baton.report.journeys import FlowPackets, PacketIndex, address_of
from baton.report.tables import Packets, read_run
from report_folder import LAPTOP, MANIFEST, SERVER, handover_folder, large_folder, write_packets

ISN = 2**32 - 2000


def packets(tmp_path: Path, *rows: dict) -> Packets:
    """A table of hand-written rows, read back."""
    filled = []
    for row in rows:
        data = row.get("payload_bytes", 0) > 0 or ("SYN" in row.get("flags", "") and "acknowledgment" not in row)
        common = {"direction": "down" if data else "up", "flow": "download", "fate": "delivered", "protocol": "tcp"}
        ends = {"source": SERVER if data else LAPTOP, "destination": LAPTOP if data else SERVER}
        numbers = {"sequence": 0, "acknowledgment": 0, "payload_bytes": 0, "wire_bytes": 40, "window": 1000}
        rest = {"flags": "ACK", "sack": None, "retransmission": False, "link": "wired"}
        row = common | ends | numbers | rest | row
        filled.append(row | {name: row[name] % 2**32 for name in ("sequence", "acknowledgment")})
    write_packets(tmp_path, {name: [row[name] for row in filled] for name in filled[0]})
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    read = read_run(tmp_path).packets
    assert read is not None
    return read


def events(table: Packets) -> segments.TcpEvents:
    return segments.tcp_events(FlowPackets.of(PacketIndex.of(table), "download"))


def test_unwrap_goes_on_over_the_end_of_the_sequence_space() -> None:
    numbers = np.array([2**32 - 10, 2**32 - 1, 5, 2**32 - 1, 1_000_000], np.uint32)
    assert segments.unwrap(numbers, 2**32 - 10).tolist() == [0, 9, 15, 9, 1_000_010]


def test_unwrap_takes_an_origin_just_past_the_wrap() -> None:
    assert segments.unwrap(np.array([0, 1460], np.uint32), 2**32).tolist() == [0, 1460]


def test_segments_acks_and_sacks_of_a_transfer_over_two_links(tmp_path: Path) -> None:
    first = {"link": "wired"}
    second = {"link": "radio"}
    syn = {"packet": 1, "flags": "SYN", "sequence": ISN}
    one = {"packet": 2, "sequence": ISN + 1, "payload_bytes": 1500}
    two = {"packet": 3, "sequence": ISN + 1501, "payload_bytes": 1500}  # ends past the wrap
    three = {"packet": 4, "sequence": ISN + 3001, "payload_bytes": 1500}
    ack = {"packet": 5, "acknowledgment": ISN + 1501, "sack": [(ISN + 3001) % 2**32, (ISN + 4501) % 2**32]}
    again = {"packet": 6, "sequence": ISN + 1501, "payload_bytes": 1500, "retransmission": True}
    table = packets(
        tmp_path,
        syn | first | {"sent_ns": 0, "decided_ns": 10},
        syn | second | {"sent_ns": 10, "decided_ns": 20},
        one | first | {"sent_ns": 100, "decided_ns": 110},
        two | first | {"sent_ns": 101, "decided_ns": 111},
        three | first | {"sent_ns": 102, "decided_ns": 112},
        one | second | {"sent_ns": 110, "decided_ns": 120},
        two | second | {"sent_ns": 111, "decided_ns": 115, "fate": "burst loss"},
        three | second | {"sent_ns": 112, "decided_ns": 122},
        ack | second | {"sent_ns": 122, "decided_ns": 132},
        ack | first | {"sent_ns": 132, "decided_ns": 142},
        again | first | {"sent_ns": 150, "decided_ns": None, "fate": "under way"},
    )
    found = events(table)
    assert found.sent_ns.tolist() == [100, 101, 102, 150], "each segment once, when its sender offered it"
    assert found.offset.tolist() == [0, 1500, 3000, 1500]
    assert found.length.tolist() == [1500] * 4
    assert found.retransmission.tolist() == [False, False, False, True]
    assert (found.ack_ns.tolist(), found.acknowledged.tolist()) == ([142], [1500]), "when it reached the sender"
    sack = (found.sack_ns.tolist(), found.sack_left.tolist(), found.sack_right.tolist())
    assert sack == ([142], [3000], [4500])
    assert (found.drop_ns.tolist(), found.drop_offset.tolist()) == ([115], [1500])


def test_connections_of_one_flow_each_begin_at_zero(tmp_path: Path) -> None:
    def connection(number: int, start: int, at: int) -> list[dict]:
        ends = {"source": f"10.0.0.1:{number}", "destination": LAPTOP}
        back = {"source": LAPTOP, "destination": f"10.0.0.1:{number}"}
        return [
            ends | {"packet": at, "flags": "SYN", "sequence": start, "sent_ns": at, "decided_ns": at + 1},
            ends
            | {"packet": at + 1, "sequence": start + 1, "payload_bytes": 10, "sent_ns": at + 1, "decided_ns": at + 2},
            back | {"packet": at + 2, "acknowledgment": start + 11, "sent_ns": at + 2, "decided_ns": at + 3},
        ]

    found = events(packets(tmp_path, *connection(80, ISN, 0), *connection(81, 5000, 10)))
    assert found.offset.tolist() == [0, 0]
    assert found.acknowledged.tolist() == [10, 10]


def test_a_state_holds_until_the_end_of_the_run(tmp_path: Path) -> None:
    run = read_run(handover_folder(tmp_path / "run", seconds=3))
    window = next(panel for panel in report.describe(run).flows[0].panels if panel.title == "Congestion window")
    assert {trace.time_ns[-1] for trace in window.traces} == {3_000_000_000}


def test_an_ack_lost_on_the_way_back_never_reached_the_sender(tmp_path: Path) -> None:
    data = {"packet": 1, "sequence": ISN, "payload_bytes": 100}
    ack = {"packet": 2, "acknowledgment": ISN + 100}
    table = packets(
        tmp_path,
        data | {"sent_ns": 0, "decided_ns": 1},
        data | {"link": "radio", "sent_ns": 1, "decided_ns": 2},
        ack | {"link": "radio", "sent_ns": 3, "decided_ns": 4},
        ack | {"sent_ns": 4, "decided_ns": 4, "fate": "queue full"},
    )
    found = events(table)
    assert found.ack_ns.tolist() == []
    assert (found.ack_drop_ns.tolist(), found.ack_drop_offset.tolist()) == ([4], [100])


def test_an_ack_without_a_route_from_half_way_has_not_arrived(tmp_path: Path) -> None:
    data = {"packet": 1, "sequence": ISN, "payload_bytes": 100}
    table = packets(
        tmp_path,
        data | {"sent_ns": 0, "decided_ns": 1},
        data | {"link": "radio", "sent_ns": 1, "decided_ns": 2},
        {"packet": 2, "acknowledgment": ISN + 50, "link": "radio", "sent_ns": 3, "decided_ns": 4},
        {"packet": 3, "acknowledgment": ISN + 100, "link": "radio", "sent_ns": 5, "decided_ns": 6},
        {"packet": 3, "acknowledgment": ISN + 100, "sent_ns": 6, "decided_ns": 7},
    )
    assert events(table).acknowledged.tolist() == [100]


def test_addresses_of_endpoints() -> None:
    known = {"10.0.0.1:80": "10.0.0.1", "[fd00::1]:80": "fd00::1", "fd00::1": "fd00::1", "10.0.0.1": "10.0.0.1"}
    assert {endpoint: address_of(endpoint) for endpoint in known} == known


def test_columns_that_are_equal_are_kept_once() -> None:
    store = ColumnStore()
    first = store.times(np.array([5, 7, 2_000_000_007]))
    assert store.times(np.array([5, 7, 2_000_000_007]))["blob"] == first["blob"]
    assert len(store.texts) == 1


def test_goodput_adds_up_to_what_was_delivered(tmp_path: Path) -> None:
    folder = handover_folder(tmp_path / "run")
    run = read_run(folder)
    description = report.describe(run)
    panel = next(panel for panel in description.flows[0].panels if panel.title == "Goodput")
    told = run.summary["flows"][0]["delivered_bytes"]
    by_link = [trace for trace in panel.traces if trace.name.startswith("over ")]
    assert {trace.name for trace in by_link} == {"over wavelan", "over gsm"}
    total = sum(np.sum(t.value[:-1] * np.diff(t.time_ns)) / 1e9 / 8 for t in by_link) * 1e6
    assert panel.unit == "Mbit/s"
    assert total == pytest.approx(told, rel=0.01), "all but what still waits behind a hole"


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    folder = handover_folder(tmp_path / "run", complete=False)
    (folder / "packets.parquet").unlink()
    text = report.write(folder).read_text(encoding="utf-8")
    assert "No packets were recorded" in text
    assert "This run was interrupted" in text
    (folder / "series.parquet").unlink()
    (folder / "summary.json").write_text("{}")
    assert "No series were recorded" in report.write(folder).read_text(encoding="utf-8")


def test_text_from_a_scenario_cannot_become_markup(tmp_path: Path) -> None:
    folder = handover_folder(tmp_path / "run", seconds=2, resolved="</script><b>x")
    text = report.write(folder).read_text(encoding="utf-8")
    assert "</script><b>x" not in text
    assert "&lt;/script&gt;&lt;b&gt;x" in text


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="manifest"):
        report.write(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: is damaged: "):
        report.write(tmp_path)


def test_a_hundred_thousand_segments_take_little_room(tmp_path: Path) -> None:
    path = report.write(large_folder(tmp_path, segments=100_000))
    assert path.stat().st_size < 30e6 / 10 + 2e6  # a tenth of the bound for a million, and the drawing library


def way(packet: int, sent_ms: int, *links: str, end: str = "delivered") -> list[dict]:
    """A packet's rows on its links, each of 10 ms; `end` is what became of it on the last one."""
    rows = []
    for hop, link in enumerate(links):
        sent, is_last = (sent_ms + 10 * hop) * 10**6, hop + 1 == len(links)
        decided = None if is_last and end == "under way" else sent + 10**7
        here = {"packet": packet, "link": link, "sent_ns": sent, "decided_ns": decided}
        sequence = ISN + 1 + 1500 * packet
        rows.append(here | {"payload_bytes": 1500, "sequence": sequence, "fate": end if is_last else "delivered"})
    return rows


def test_goodput_behind_a_mobile_router_is_told_by_the_router_s_link(tmp_path: Path) -> None:
    rows = [
        *way(1, 0, "wired", "cellular", "seat"),
        *way(2, 100, "wired", "station", "seat"),
        *way(3, 200, "wired", "station", "seat"),
        *way(4, 300, "wired", "station", end="link down"),
    ]
    flow = FlowPackets.of(PacketIndex.of(packets(tmp_path, *rows)), "download")
    by_link = packet_panels.new_data_by_link(flow, {"cellular", "station"})
    assert {link: (time.tolist(), size.sum()) for link, (time, size) in by_link.items()} == {
        "cellular": ([30 * 10**6], 1500),
        "station": ([130 * 10**6, 230 * 10**6], 3000),
    }
    assert set(packet_panels.new_data_by_link(flow, set())) == {"seat"}


def test_the_delays_say_what_became_of_every_packet(tmp_path: Path) -> None:
    back = {"packet": 9, "link": "seat", "sent_ns": 0, "decided_ns": 10**7, "acknowledgment": ISN}
    rows = [
        back,
        *way(1, 0, "wired", "seat"),
        *way(2, 100, "wired", "seat"),
        *way(3, 200, "wired", end="queue full"),
        *way(4, 300, "wired", end="under way"),
        *way(5, 400, "wired"),  # nobody has sent it on
    ]
    flow = FlowPackets.of(PacketIndex.of(packets(tmp_path, *rows)), "download")
    note = packet_panels.delay(flow).note
    counts = "5 packets sent, 2 delivered, 1 lost on links, 1 under way, 1 discarded by hosts or in buffers."
    assert note.startswith(counts), note
