"""Links end to end, from scenario text to rows of packets, against closed forms."""

import pyarrow as pa
import pytest

import baton

BASE = """
name = "links"
duration = "{duration}"

[links.l]
between = ["sender", "receiver"]
kind = "wired"
rate = "8 Mbit/s"
delay = "10 ms"
queue = "1000 packets"
{link}

[[flows]]
name = "stream"
from = "sender"
to = "receiver"
{flow}
"""
# 1000 B and 28 B of headers every 10 ms: a tenth of the link.
STREAM = 'transport = "udp"\ntraffic.kind = "constant"\ntraffic.rate = "800 kbit/s"\ntraffic.packet_size = "1000 B"\n'


def packets(link="", flow=STREAM, duration="100 s", overrides=()):
    """Rows of the packets that the sender has sent and whose fate is known."""
    text = BASE.format(link=link, flow=flow, duration=duration)
    rows = pa.table(baton.Scenario.parse(text, overrides=list(overrides)).run().packets).to_pylist()
    return [row for row in rows if row["direction"] == "down" and row["decided_ns"] is not None]


def share(rows, fate):
    return sum(row["fate"] == fate for row in rows) / len(rows)


def delays(rows):
    return [(row["decided_ns"] - row["sent_ns"]) / 1e6 for row in rows if row["fate"] == "delivered"]


def test_delay_is_serialisation_and_propagation():
    # 1028 B x 8 / 8 Mbit/s = 1.028 ms.
    assert set(delays(packets())) == {11.028}


def test_gilbert_elliott_loses_its_share_of_time():
    # 200 ms of every 1 s are bad. 1000 cycles: the standard error of the share is 0.8 x 0.2 x sqrt(2 / 1000) = 0.007.
    rows = packets('burst_loss = { mean_good = "800 ms", mean_bad = "200 ms", loss_bad = 0.5 }', duration="1000 s")
    assert share(rows, "burst loss") == pytest.approx(0.5 * 0.2, abs=4 * 0.5 * 0.007)


def test_packet_errors_are_drawn_for_each_packet():
    # Standard error: sqrt(0.1 x 0.9 / 10000) = 0.003.
    assert share(packets("packet_error_rate = 0.1"), "channel error") == pytest.approx(0.1, abs=0.012)


def test_bit_errors_grow_with_length():
    # 1 - (1 - 1e-5)^(1028 x 8) = 0.0789; standard error 0.0027.
    assert share(packets("bit_error_rate = 1e-5"), "channel error") == pytest.approx(0.0789, abs=0.011)


def test_damaged_packets_that_are_delivered_are_dropped_by_the_receiver():
    link = 'bit_error_rate = 1e-5\ndamaged = "delivered"'
    assert share(packets(link), "delivered") == 1
    text = BASE.format(link=link, flow=STREAM, duration="100 s")
    summary = baton.Scenario.parse(text).run().summary
    assert summary["discarded"]["damaged"] / 10_000 == pytest.approx(0.0789, abs=0.011)


def test_jitter_is_uniform_and_keeps_the_order():
    # Up to 8 ms, less than the 10 ms between packets: nobody waits for another. Mean 4 ms, standard error 0.023 ms.
    rows = packets('jitter = "8 ms"')
    seen = delays(rows)
    assert min(seen) >= 11.028
    assert max(seen) < 19.028
    assert sum(seen) / len(seen) == pytest.approx(15.028, abs=0.1)
    arrivals = [row["decided_ns"] for row in packets('jitter = "50 ms"')]
    assert arrivals == sorted(arrivals)


def test_every_parameter_can_change_at_a_time():
    changes = """
[[changes]]
at = "20 s"
link = "l"
rate = "4 Mbit/s"
[[changes]]
at = "40 s"
link = "l"
delay = "100 ms"
[[changes]]
at = "60 s"
link = "l"
packet_error_rate = 1
[[changes]]
at = "80 s"
link = "l"
state = "down"
"""
    rows = packets(flow=STREAM + changes)

    def between(first, last):
        return [row for row in rows if first * 1e9 <= row["sent_ns"] < last * 1e9]

    assert set(delays(between(0, 20))) == {11.028}
    assert set(delays(between(20.1, 39.9))) == {12.056}
    assert set(delays(between(40.1, 59.9))) == {102.056}
    assert share(between(60.1, 79.8), "channel error") == 1
    assert share(between(80.1, 99.9), "link down") == 1


@pytest.mark.parametrize(
    ("queue", "fate"),
    [
        ('"20 packets"', "queue full"),
        ('"20 kB"', "queue full"),
        ('{ limit = "100 packets", management = "red", weight = 0.02 }', "queue management"),
        ('{ limit = "1000 packets", management = "codel" }', "queue management"),
        ('{ limit = "20 kB", management = "priority" }', "queue full"),
    ],
)
def test_an_overloaded_queue_drops_the_excess_and_says_why(queue, fate):
    # 12 Mbit/s of payload, 12.336 of packets, into 8: 35.1 % must go, whoever chooses them. CoDel needs a while to
    # reach its drop rate, which grows with the root of the number of drops.
    overload = STREAM.replace("800 kbit/s", "12 Mbit/s")
    rows = packets(flow=overload, duration="30 s", overrides=[f"links.l.queue={queue}"])
    if "codel" in queue:
        assert share(rows, fate) > 0.05
        return
    assert share(rows, "queue full") + share(rows, "queue management") == pytest.approx(1 - 8 / 12.336, abs=0.01)
    assert share(rows, fate) > 0.3


def test_more_packets_than_memory_holds_end_the_run():
    flood = STREAM.replace("800 kbit/s", "1 Gbit/s").replace("1000 B", "10 B")
    overrides = [
        "links.l.rate=1 bit/s",
        "links.l.queue=1000000000 packets",
        "record.series=false",
        "record.packets=false",
    ]
    scenario = baton.Scenario.parse(BASE.format(link="", flow=flood, duration="100 s"), overrides=overrides)
    with pytest.raises(baton.RunError, match="packets are under way at 0[.0-9]* s, more than a run may hold"):
        scenario.run()
