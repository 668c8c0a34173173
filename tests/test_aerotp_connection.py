"""The AeroTP connection that Python drives by hand, beside packets made from the words of docs/aerotp.md alone."""

import ipaddress
import itertools
import random
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import baton
from aerotp_by_hand import Made, build, ranges, vectors
from baton import aerotp
from segments_by_hand import checksum

HERE, THERE = "192.0.2.1:1000", "192.0.2.2:2000"
INITIAL, TOKEN = 0xFFFFF000, 0x5EED03E8  # those of the vectors: here, and there
PEER_INITIAL, PEER_TOKEN = 0x1000, 0x5EED07D0
DELAY = 0.01
VECTORS = vectors()
MODES = ("reliable", "near-reliable", "quasi-reliable", "unreliable-connection", "unreliable-datagram")


def opened(now=0.0, **options):
    """A connection that has sent nothing yet."""
    numbers = {"initial_sequence": INITIAL, "token": TOKEN}
    return aerotp.Connection.connect(HERE, THERE, now=now, **{"rate": "5 Mbit/s", **numbers, **options})


def accepted(packet, now=DELAY, **options):
    """A connection that this packet opened."""
    numbers = {"initial_sequence": PEER_INITIAL, "token": PEER_TOKEN}
    return aerotp.Connection.accept(packet, now=now, rate="5 Mbit/s", **numbers, **options)


def sent(connection, now):
    """All that the connection sends now."""
    return list(iter(lambda: connection.poll_transmit(now), None))


def events(connection):
    """All that it has to tell."""
    return list(iter(connection.poll_event, None))


def paced(connection, now, until):
    """Returns the packets that it sends from now on, at the times at which it asks to be called, with these times."""
    found = [(now, packet) for packet in sent(connection, now)]
    while (at := connection.poll_timeout()) is not None and at <= until:
        connection.handle_timeout(at)
        found += [(at, packet) for packet in sent(connection, at)]
    return found


def exchange(one, other, now, until):
    """Lets both ends talk over a path that delays, from now on."""
    under_way = []
    while now <= until:
        for end, peer in ((one, other), (other, one)):
            end.handle_timeout(now)
            under_way += [(now + DELAY, peer, packet) for packet in sent(end, now)]
        due = [each for each in under_way if each[0] <= now]
        under_way = [each for each in under_way if each[0] > now]
        for _, end, packet in due:
            end.handle_packet(now, packet)
        if not due:
            times = [each[0] for each in under_way]
            times += [at for end in (one, other) if (at := end.poll_timeout()) is not None]
            if not times:
                break
            now = max(now + 1e-6, min(times))


def established(now=0.0, both=None, **options):
    """Two ends that know each other; the first has sent a byte."""
    one = opened(now, **(both or {}), **options)
    one.write(b"!")
    [packet] = sent(one, now)
    other = accepted(packet, now + DELAY, **(both or {}))
    [answer] = sent(other, now + DELAY)
    one.handle_packet(now + 2 * DELAY, answer)
    [mack] = sent(one, now + 2 * DELAY)
    other.handle_packet(now + 3 * DELAY, mack)
    assert (one.state, other.state) == ("ESTABLISHED", "ESTABLISHED")
    assert other.read() == b"!"
    events(one), events(other)
    return one, other


def ip(source, destination, body, protocol=253):
    """A packet behind an IP header of RFC 791 or RFC 8200."""
    ends = ipaddress.ip_address(str(source)), ipaddress.ip_address(str(destination))
    if ends[0].version == 6:
        return struct.pack("!IHBB", 6 << 28, len(body), protocol, 64) + ends[0].packed + ends[1].packed + body
    addresses = ends[0].packed + ends[1].packed
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0x4000, 64, protocol, 0) + addresses
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + body


def wrapped(vector):
    """A vector's bytes as an IP packet."""
    return ip(vector.source, vector.destination, build(vector))


def made(fields, payload=b"", source="192.0.2.1", destination="192.0.2.2"):
    """A packet by hand, from here to there."""
    ports = {"srcport": 1000, "dstport": 2000} if source == "192.0.2.1" else {"srcport": 2000, "dstport": 1000}
    return wrapped(Made(source, destination, ports | fields, payload))


def flipped(packet, *bits):
    """The packet with these bits behind the IPv4 header the other way."""
    damaged = bytearray(packet)
    for bit in bits:
        damaged[20 + bit // 8] ^= 0x80 >> bit % 8
    return bytes(damaged)


def vector(number):
    return VECTORS[number - 1]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_the_documents_packets_are_read_to_their_fields(vector):
    packet = aerotp.Packet.decode(wrapped(vector))
    number = vector.number
    ends = [
        f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
        for address, port in ((vector.source, number("srcport")), (vector.destination, number("dstport")))
    ]
    assert [packet.source, packet.destination] == ends
    assert (packet.mode, packet.class_) == (MODES[number("mode")], number("class"))
    assert (packet.strength, packet.covers_header) == (number("strength"), bool(number("covers_header")))
    assert (packet.sequence, packet.timestamp) == (number("seq"), number("timestamp"))
    flags = [packet.is_final, packet.ends_record, packet.wants_mack]
    assert flags == [bool(number(f"flags.{name}")) for name in ("afin", "record", "pull")]
    assert packet.tcp_flags == number("tcp_flags")
    assert (packet.payload, packet.length) == (vector.data("payload"), number("length"))
    assert (packet.condition, packet.corrected_bytes, packet.adds_path) == ("clean", 0, False)
    asyn = {"initial": number("asyn.initial"), "token": number("asyn.token")}
    assert packet.opening == (asyn if vector.has("asyn.initial") else None)
    assert packet.token == (number("token") if vector.has("token") else None)
    block = {name: number(f"block.{name}") for name in ("number", "index", "sources", "repairs")}
    assert packet.block == (block if vector.has("block.number") else None)
    scale = number("offer.scale")
    offer = {
        "maximum_segment_size": number("offer.mss"),
        "window_scale": None if scale == 255 else scale,
        "sack_permitted": bool(number("offer.sack")),
        "timestamps": bool(number("offer.timestamps")),
    }
    assert packet.tcp_offer == (offer if vector.has("offer.mss") else None)


@pytest.mark.parametrize(
    "vector", [each for each in VECTORS if each.has("mack.cumulative")], ids=lambda each: each.name
)
def test_the_documents_macks_are_read_to_their_fields(vector):
    mack = aerotp.Packet.decode(wrapped(vector)).mack
    for name in ("cumulative", "echo", "unconfirmed", "window", "held_for", "arrival_rate"):
        assert mack[name] == vector.number(f"mack.{name}")
    assert mack["is_complete"] == bool(vector.number("mack.complete"))
    code = vector.number("mack.error_rate")
    assert mack["error_rate"] == pytest.approx(0 if code == 0 else 2 ** (-(255 - code) / 8))
    assert mack["received"] == ranges(vector, "received")
    missing = [(start, length) for start, length, _ in mack["missing"]]
    assert missing == ranges(vector, "missing")
    assert [damaged for _, _, damaged in mack["missing"]] == [
        bool(each) for each in vector.numbers("mack.missing.damaged")
    ]


def test_what_a_connection_sends_is_the_documents_packets():
    """Vectors 1, 2, 8, 14, 15 and 18, byte for byte."""
    one = opened(1)
    one.write(b"123456789")
    [first] = sent(one, 1)
    assert first[20:] == vector(1).bytes
    other = accepted(first, 1.99993, coding="none")  # held for 70 microseconds, in which all is read
    assert other.read() == b"123456789"
    assert [answer[20:] for answer in sent(other, 2)] == [vector(2).bytes]

    one.write(b"more data")
    sent(one, 2)
    mack = {
        "flags.mack": 1,
        "seq": 0x1000,
        "mack.cumulative": INITIAL + 18,
        "mack.echo": 2_000_000,
        "mack.window": 10_000,
    }
    one.handle_packet(2.1, made(mack, source="192.0.2.2", destination="192.0.2.1"))
    one.abort()
    assert [reset[20:] for reset in sent(one, 7)] == [vector(14).bytes]

    coded = opened(mode="quasi-reliable", coding={"words": 8})
    coded.write(bytes(0x3000))
    paced(coded, 0, 4)
    coded.write(bytes(range(256)))
    assert [packet[20:] for packet in sent(coded, 5)] == [vector(8).bytes]

    stray = aerotp.Packet.decode(made({"seq": INITIAL}, b"data"))
    assert stray.reset_reply(8)[20:] == vector(15).bytes
    datagram = aerotp.Packet.datagram
    ends = "[2001:db8::1]:5000", "[2001:db8::2]:53"
    packet = datagram(*ends, b"123456789", now=4294.967295, class_=7)
    assert packet[40:] == vector(18).bytes


def test_data_comes_with_the_first_packet_and_both_ends_close():
    one = opened()
    assert (one.state, one.write(b"hello")) == ("ASYN_SENT", 5)
    [packet] = sent(one, 0)
    other = accepted(packet)
    assert (other.state, other.local, other.remote) == ("ESTABLISHED", THERE, HERE)
    assert events(other) == ["established", "readable"]
    assert other.read() == b"hello"
    [answer] = sent(other, DELAY)
    asynack = aerotp.Packet.decode(answer)
    assert asynack.opening == {"initial": PEER_INITIAL, "token": PEER_TOKEN}
    assert asynack.mack["cumulative"] == (INITIAL + 5) % 2**32
    one.handle_packet(2 * DELAY, answer)
    assert (one.state, one.bytes_acknowledged, one.bytes_confirmed) == ("ESTABLISHED", 5, 5)
    assert events(one) == ["established", "confirmed"]
    assert one.smoothed_rtt == pytest.approx(2 * DELAY)

    other.write(b"world")
    one.close()
    exchange(one, other, 2 * DELAY, 1)
    assert (one.read(2), one.read()) == (b"wo", b"rld")
    assert (one.state, other.state) == ("AFIN_SENT", "AFIN_RECEIVED")
    assert "delivered" in events(one)
    assert "finished" in events(other)
    other.close()
    exchange(one, other, 1, 20)
    # Section 10: the listen timer of 10 s, when both are done.
    assert (one.state, other.state, one.poll_timeout()) == ("CLOSED", "CLOSED", None)
    assert events(one)[-2:] == ["finished", "closed"]


def test_any_packet_opens_when_the_first_is_lost():
    one = opened()
    one.write(b"hello")
    sent(one, 0)
    at = one.poll_timeout()
    assert at == 0.5  # section 10: before anything was measured
    one.handle_timeout(at)
    [probe] = sent(one, at)
    assert aerotp.Packet.decode(probe).wants_mack
    assert accepted(probe, at + DELAY).read() == b"hello"
    assert one.statistics["probes"] == one.statistics["retransmitted"] == 1


@pytest.mark.parametrize("mode", ["reliable", "near-reliable"])
def test_a_lost_packet_is_told_of_and_sent_once_more(mode):
    one, other = established(mode=mode, coding="none")
    data = random.Random(8).randbytes(20_000)
    one.write(data)
    flight = paced(one, 1, 1.04)  # before it asks why nobody answers
    assert len(flight) > 10
    lost = aerotp.Packet.decode(flight.pop(3)[1])
    macks = []
    for at, packet in flight:
        other.handle_packet(at + DELAY, packet)
        macks += sent(other, at + DELAY)
    gaps = [mack for mack in (aerotp.Packet.decode(each).mack for each in macks) if mack["received"]]
    assert {mack["cumulative"] for mack in gaps} == {lost.sequence}
    assert all(mack["received"][0][0] == lost.length for mack in gaps)
    # Section 6.2: in near-reliable mode the SNACK has all gaps.
    snack = [(0, lost.length, False)] if mode == "near-reliable" else []
    assert all(mack["missing"] == snack for mack in gaps)
    for mack in macks:
        one.handle_packet(1.06, mack)
    [again] = sent(one, 1.06)
    assert aerotp.Packet.decode(again).sequence == lost.sequence
    assert one.statistics["retransmitted"] == 1
    other.handle_packet(1.07, again)
    assert other.read() == data


def test_the_code_puts_flipped_bits_right_and_nothing_is_sent_again():
    one, other = established(both={"coding": {"words": 16}})
    one.write(b"telemetry" * 100)
    [packet] = sent(one, 1)
    read = aerotp.Packet.decode(packet)
    assert (read.strength, read.length) == (16, 900)
    # Of section 3.4: four codewords with 16 bytes of redundancy each, so that any eight bytes can be wrong.
    payload = (len(packet) - 20 - 900 - 4 - 64) * 8
    hit = flipped(packet, *(payload + 100 * place for place in range(8)))
    assert aerotp.Packet.decode(hit).condition == "corrected"
    other.handle_packet(1.01, hit)
    assert other.read() == b"telemetry" * 100
    assert (other.statistics["corrected"], other.statistics["damaged"]) == (8, 0)
    assert other.error_rate_here > 0
    exchange(one, other, 1.01, 2)
    assert (one.bytes_acknowledged, one.statistics["retransmitted"], one.statistics["probes"]) == (901, 0, 0)


def test_damage_beyond_the_code_is_asked_for_at_once():
    one, other = established(both={"coding": "none"})
    one.write(b"telemetry")
    [packet] = sent(one, 1)
    hit = flipped(packet, 22 * 8 + 3)  # a bit of the payload, behind 22 bytes of header
    damaged = aerotp.Packet.decode(hit)
    assert (damaged.condition, damaged.payload, damaged.length) == ("damaged", b"", 9)
    other.handle_packet(1.01, hit)
    assert other.statistics["damaged"] == 1
    [answer] = sent(other, 1.01)
    assert aerotp.Packet.decode(answer).mack["missing"] == [(0, 9, True)]  # ELN
    one.handle_packet(1.02, answer)
    again, *copies = sent(one, 1.02)
    # Section 6.3: twice more, since there is nothing else to send.
    assert [aerotp.Packet.decode(copy).payload for copy in copies] == [b"telemetry"] * 2
    other.handle_packet(1.03, again)
    assert other.read() == b"telemetry"
    with pytest.raises(baton.PacketError, match="AeroTP: wrong checksum"):
        other.handle_packet(1.04, flipped(again, 10 * 8))  # the header has no code


def test_a_header_inside_the_code_survives():
    one = opened(coding={"words": 8, "header": True})
    one.write(b"telemetry")
    [packet] = sent(one, 0)
    # Prelude: any three bits; header: any 16 bytes of a codeword.
    hit = flipped(packet, 0, 5, 23, *(8 * byte for byte in range(3, 19)))
    other = accepted(hit)
    assert other.read() == b"telemetry"
    assert other.statistics["corrected"] == 16


def test_quasi_reliable_needs_no_way_back():
    one = opened(mode="quasi-reliable", coding={"words": 32})
    data = random.Random(9).randbytes(30_000)
    one.write(data)
    one.close()
    flight = paced(one, 0, 5)
    finals = [at for at, packet in flight if aerotp.Packet.decode(packet).is_final]
    assert [later - before for before, later in itertools.pairwise(finals)] == pytest.approx([0.2, 0.2])
    assert one.state == "AFIN_SENT"
    lost = aerotp.Packet.decode(flight.pop(5)[1])
    other = accepted(flight[0][1], flight[0][0] + DELAY)
    assert other.mode == "quasi-reliable"
    rng = random.Random(10)
    for at, packet in flight[1:]:
        bits = rng.sample(range(1000, 8000), 10) if len(packet) > 1200 else []
        other.handle_packet(at + DELAY, flipped(packet, *bits))
        assert sent(other, at + DELAY) == []  # nothing ever goes back
    other.handle_timeout(flight[-1][0] + 1)
    place = (lost.sequence - INITIAL) % 2**32
    assert other.read() == data[:place] + data[place + lost.length :]
    told = events(other)
    assert "skipped" in told
    assert "finished" in told
    assert other.statistics["skipped"] == lost.length
    assert other.statistics["corrected"] >= 10 * (len(flight) - 4)
    assert one.statistics["retransmitted"] == 0


def test_unreliable_connections_order_and_leave_out():
    one = opened(mode="unreliable-connection")
    flight = []
    for number in range(5):
        assert one.write_record(b"record %d" % number)
        flight += sent(one, number / 100)
    other = accepted(flight[0], reordering_wait="50 ms")
    for packet in (flight[2], flight[1], flight[4]):  # the fourth is lost
        other.handle_packet(0.1, packet)
    assert [other.read_piece() for _ in range(4)] == [(b"record %d" % n, True) for n in range(3)] + [None]
    assert other.poll_timeout() == pytest.approx(0.15)
    other.handle_timeout(0.15)
    assert other.read_piece() == (b"record 4", True)
    assert other.statistics["skipped"] == len(b"record 3")


def test_a_block_by_hand_restores_what_was_lost():
    """Vectors 11 to 13: the first packet of the block is lost."""
    asyn = {"mode": 3, "flags.asyn": 1, "seq": 0x4000, "timestamp": 5_000_000}
    other = accepted(made(asyn | {"asyn.initial": 0x4000, "asyn.token": TOKEN}))
    other.handle_packet(1, wrapped(vector(12)))
    assert other.readable == 0
    other.handle_packet(1, wrapped(vector(13)))
    assert [other.read_piece(), other.read_piece()] == [(b"first record", True), (b"123456789", True)]
    assert (other.state, other.statistics["skipped"]) == ("AFIN_RECEIVED", 0)


def test_packets_by_hand_are_taken_and_answered():
    """A peer that is nothing but bytes: vectors 1, 3 and 14, and an AFIN."""
    other = accepted(wrapped(vector(1)), 1)
    other.handle_packet(1.1, wrapped(vector(3)))
    assert other.read() == b"123456789" * 2
    end = {"flags.afin": 1, "flags.pull": 1, "seq": (INITIAL + 18) % 2**32, "timestamp": 1_200_000}
    other.handle_packet(1.2, made(end))
    assert other.state == "AFIN_RECEIVED"
    mack = aerotp.Packet.decode(sent(other, 1.2)[-1]).mack
    assert (mack["cumulative"], mack["is_complete"], mack["echo"]) == (0x12 - 0x1000 & 0xFFFFFFFF, True, 1_200_000)
    other.handle_packet(1.3, wrapped(vector(14)))
    assert other.state == "CLOSED"
    assert events(other)[-2:] == ["reset", "closed"]


def test_resets_count_with_proof_alone():
    one, other = established()
    reset = {"tcp_flags": 4, "seq": 1}
    other.handle_packet(1, made(reset))
    other.handle_packet(1, made(reset | {"flags.token": 1, "token": TOKEN + 1}))
    assert (other.state, other.statistics["refused"]) == ("ESTABLISHED", 2)
    one.abort()
    assert (one.state, events(one)) == ("CLOSED", ["closed"])
    [packet] = sent(one, 1)
    assert aerotp.Packet.decode(packet).token == TOKEN
    other.handle_packet(1.01, packet)
    assert (other.state, events(other)) == ("CLOSED", ["reset", "closed"])

    refused = opened()
    refused.write(b"anyone?")
    [first] = sent(refused, 0)
    refused.handle_packet(0.1, aerotp.Packet.decode(first).reset_reply(0.05))
    assert (refused.state, events(refused)) == ("CLOSED", ["reset", "closed"])
    assert aerotp.Packet.decode(made({"mode": 2}, b"data")).reset_reply(0) is None
    assert aerotp.Packet.decode(wrapped(vector(14))).reset_reply(0) is None


def test_nothing_is_sent_while_the_link_is_down():
    one, other = established(both={"coding": "none"})
    one.write(bytes(100_000))
    flight = sent(one, 1)
    one.link_down()
    one.handle_timeout(3)
    assert sent(one, 3) == []
    assert one.poll_timeout() == pytest.approx(301)  # the close timer: 300 s after the flight that nobody answers
    one.link_up("1 Mbit/s")
    assert (one.rate, one.poll_timeout()) == (1_000_000, 3)
    [probe] = sent(one, 3)
    assert aerotp.Packet.decode(probe).wants_mack
    assert aerotp.Packet.decode(probe).sequence == aerotp.Packet.decode(flight[0]).sequence
    assert one.poll_timeout() == pytest.approx(3 + len(probe) * 8 / 1e6, abs=2.1e-3)  # late by no more than 2 ms
    one.link_up()
    assert one.rate == 1_000_000
    exchange(one, other, 3.1, 10)
    assert len(other.read()) == one.bytes_acknowledged - 1 == 100_000


def test_an_outage_of_one_way_modes_asks_for_no_deadline():
    one = opened(mode="quasi-reliable")
    one.close()
    sent(one, 0)
    one.link_down()
    assert one.poll_timeout() is None
    one.link_up()
    assert [at for at, _ in paced(one, 1, 5)] == pytest.approx([1, 1.2])


def test_a_connection_goes_on_from_another_address():
    one, other = established()
    one.move_to(1, "192.0.2.77")
    assert one.local == "192.0.2.77:1000"
    one.write(b"from elsewhere")
    [packet] = sent(one, 1)
    moved = aerotp.Packet.decode(packet)
    assert (moved.source, moved.token, moved.opening) == ("192.0.2.77:1000", TOKEN, None)
    stranger = made({"seq": moved.sequence}, b"forged", source="192.0.2.1", destination="192.0.2.2")
    forged = ip("192.0.2.66", "192.0.2.2", build(Made("192.0.2.66", "192.0.2.2", {"srcport": 1000, "dstport": 2000})))
    other.handle_packet(1.01, forged)
    assert (other.statistics["refused"], other.remote) == (1, HERE)
    other.handle_packet(1.02, packet)
    assert (other.read(), other.remote) == (b"from elsewhere", "192.0.2.77:1000")
    answers = sent(other, 1.03)
    assert {aerotp.Packet.decode(each).destination for each in answers} == {"192.0.2.77:1000"}
    for answer in answers:
        one.handle_packet(1.04, answer)
    one.write(b"known there")
    assert [aerotp.Packet.decode(each).token for each in sent(one, 1.05)] == [None]
    with pytest.raises(baton.PacketError, match="to 192.0.2.1:1000; expected port 2000 of anyone to 192.0.2.77:1000"):
        one.handle_packet(1.1, made({}, b"late", source="192.0.2.2", destination="192.0.2.1"))
    assert stranger != forged


def icmp(kind, code, word, quoted, destination="192.0.2.1"):
    """An ICMP error by hand (RFC 792) that quotes the beginning of a packet."""
    body = struct.pack("!BBHI", kind, code, 0, word) + quoted[:34]
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip("192.0.2.9", destination, body, protocol=1)


def test_routers_lower_rate_and_size():
    one = opened(coding="none")
    one.write(bytes(10_000))
    [packet] = sent(one, 0)
    one.handle_icmp(0.01, icmp(253, 1, 2000, packet))  # section 7: kbit/s
    assert one.rate == 2_000_000
    one.handle_icmp(0.02, icmp(3, 4, 576, packet))
    [smaller] = sent(one, 0.02)
    assert len(smaller) == 576
    one.handle_icmp(0.03, icmp(3, 1, 0, packet))  # unreachable: maybe not for long
    assert one.state == "ASYN_SENT"
    with pytest.raises(baton.PacketError, match="not an ICMP error"):
        one.handle_icmp(0.03, packet)
    other = ip("192.0.2.1", "192.0.2.99", packet[20:])
    with pytest.raises(baton.PacketError, match=r"from 192.0.2.1 to 192.0.2.99; expected protocol 253 from 192.0.2.1"):
        one.handle_icmp(0.03, icmp(253, 1, 1, other))
    assert one.rate < 2_000_001


def test_a_write_takes_what_there_is_room_for():
    for mode in ("reliable", "quasi-reliable"):
        one = opened(mode=mode, send_buffer="64 KiB", coding="none")
        assert one.writable == 65_536
        assert one.write(bytes(100_000)) == 65_536
        assert (one.writable, one.write(b"x"), one.write(b""), one.write_record(b"record")) == (0, 0, 0, False)
        assert one.bytes_held == 65_536
        [packet] = sent(one, 0)
        if mode == "reliable":
            [answer] = sent(accepted(packet), DELAY)
            one.handle_packet(2 * DELAY, answer)
        assert "writable" in events(one)
        assert one.writable == aerotp.Packet.decode(packet).length


def test_what_is_closed_takes_no_data():
    closed, _ = established()
    aborted, _ = established()
    closed.close()
    aborted.abort()
    for connection, state in ((closed, "ESTABLISHED"), (aborted, "CLOSED")):
        assert connection.writable == 0
        for write in (connection.write, connection.write_record):
            with pytest.raises(ValueError, match=rf"this end is closed \(state {state}\)"):
                write(b"more")
        assert connection.read() == b""
        assert connection.read_piece() is None


def test_records_are_read_as_they_were_written():
    one, other = established()
    for record in (b"one", b"two", b"three"):
        assert one.write_record(record)
    exchange(one, other, 1, 1.5)
    assert other.read_piece() == (b"one", True)
    assert other.read(2) == b"two"  # a record is not divided
    assert other.read(0) == b""
    assert other.read() == b"three"
    most = one.largest_record
    assert one.write_record(bytes(most))
    for record in (b"", bytes(most + 1)):
        with pytest.raises(ValueError, match=f"the record is {len(record)} B; expected 1 B to {most} B"):
            one.write_record(record)


def test_datagrams_need_no_connection():
    datagram = aerotp.Packet.datagram
    packet = datagram(HERE, THERE, b"alone", now=1, coding={"words": 4}, class_=3)
    read = aerotp.Packet.decode(flipped(packet, 22 * 8, 23 * 8))
    assert (read.mode, read.class_, read.payload, read.corrected_bytes) == ("unreliable-datagram", 3, b"alone", 2)
    assert (read.ends_record, read.opening, read.condition) == (True, None, "corrected")
    assert aerotp.Packet.decode(datagram(HERE, THERE, b"", now=1)).payload == b""
    most = 1500 - 20 - 22 - 4
    assert len(datagram(HERE, THERE, bytes(most), now=0)) == 1500
    for data, options in ((bytes(most + 1), {}), (bytes(most), {"coding": {"words": 1}}), (bytes(2**20), {})):
        with pytest.raises(ValueError, match="with headers and code do not fit a packet of mtu = 1500 B"):
            datagram(HERE, THERE, data, now=0, **options)
    with pytest.raises(ValueError, match="has no connections; expected another mode, or `Packet.datagram`"):
        opened(mode="unreliable-datagram")
    with pytest.raises(ValueError, match="leave `mode` out"):
        datagram(HERE, THERE, b"", now=0, mode="reliable")
    with pytest.raises(baton.PacketError, match="unreliable-datagram.* has none; read it with `Packet`"):
        accepted(packet)


def test_ipv6_has_its_own_header():
    one = aerotp.Connection.connect("[fd00::1]:1", "[fd00::2]:2", now=0, rate="1 Mbit/s")
    one.write(b"six")
    packet = one.poll_transmit(0)
    assert struct.unpack("!BxxxHBB", packet[:8]) == (0x60, len(packet) - 40, 253, 64)
    other = accepted(packet)
    assert (other.local, other.remote, other.read()) == ("[fd00::2]:2", "[fd00::1]:1", b"six")
    with pytest.raises(ValueError, match='expected an IPv6 address like "fd00::1"'):
        one.move_to(1, "10.0.0.1")
    one.move_to(1, "fd00::77")
    assert one.local == "[fd00::77]:1"


def test_what_a_receiver_drops_is_said_and_changes_nothing():
    one, other = established()
    good = made({"seq": INITIAL + 1, "timestamp": 1}, b"data")
    other_port = Made("192.0.2.1", "192.0.2.2", {"srcport": 1000, "dstport": 2001}, b"data")
    cases = [
        (b"", "0 bytes where 1 are needed"),
        (good[:30], "IPv4"),
        (ip("192.0.2.1", "192.0.2.2", good[20:30]), "AeroTP"),
        (ip("192.0.2.1", "192.0.2.2", good[20:], protocol=6), "TCP"),
        (ip("192.0.2.1", "192.0.2.2", good[20:], protocol=250), "does not hold an AeroTP packet"),
        (ip("192.0.2.1", "192.0.2.3", good[20:]), "AeroTP: wrong checksum"),
        (made({"mode": 7}), "mode"),
        (wrapped(other_port), "to 192.0.2.2:2001; expected port 1000 of anyone to 192.0.2.2:2000"),
    ]
    for packet, message in cases:
        with pytest.raises(baton.PacketError, match=message):
            other.handle_packet(1, packet)
    assert (other.readable, other.statistics["refused"]) == (0, 0)
    other.handle_packet(1, good)
    assert other.read() == b"data"
    for packet, message in (
        (good, "it has no ASYN; `Packet.reset_reply` answers it"),
        (wrapped(vector(14)), "it is a reset"),
        (b"?", "IP"),
    ):
        with pytest.raises(baton.PacketError, match=message):
            accepted(packet)
    with pytest.raises(baton.PacketError, match='its mode is "reliable"; expected "quasi-reliable"'):
        accepted(wrapped(vector(1)), mode="quasi-reliable")
    assert one.state == "ESTABLISHED"


def test_wrong_arguments_are_told_in_the_words_of_scenarios():
    cases = [
        ({"mod": "reliable"}, 'aerotp: mod: unknown key "mod"; did you mean "mode"?'),
        ({"mode": "relible"}, 'aerotp: mode: unknown mode "relible"; did you mean "reliable"?'),
        ({"class_": 8}, "aerotp: class: 8 is out of range; expected a whole number from 0 to 7"),
        (
            {"coding": {"words": 257}},
            "aerotp: coding.words: 257 is out of range; expected a whole number from 0 to 256",
        ),
        ({"mode": "quasi-reliable", "mack_delay": "1 ms"}, "aerotp: mack_delay: "),
        (
            {"mode": "quasi-reliable", "coding": "adaptive"},
            'aerotp: coding: "adaptive" needs feedback from the receiver',
        ),
        ({"send_buffer": "1 B"}, "aerotp: send_buffer: 1 B is out of range; expected 65536 B to 1073741824 B"),
        ({"rate": "5"}, 'aerotp: rate: "5" has no unit'),
        ({"rate": "0 bit/s"}, 'aerotp: rate: "0 bit/s" is below 1 bit/s'),
    ]
    for options, message in cases:
        with pytest.raises(baton.ScenarioError) as raised:
            opened(**options)
        assert str(raised.value).startswith(message)
    connect = aerotp.Connection.connect
    for call in (
        lambda: connect("10.0.0.1", THERE, now=0, rate="1 Mbit/s"),
        lambda: connect("10.0.0.1:1", "[fd00::2]:80", now=0, rate="1 Mbit/s"),
        lambda: opened(now=float("nan")),
        lambda: opened(mtu=67),
        lambda: opened().link_up("fast"),
        lambda: opened().move_to(0, "10.0.0.1:80"),
        lambda: opened().handle_timeout(-1),
    ):
        with pytest.raises(ValueError, match="expected|version"):
            call()
    later = opened(1)
    with pytest.raises(ValueError, match="now is 0.5 s; expected 1 s or later"):
        later.poll_transmit(0.5)
    for call in (lambda: opened(token=2**32), lambda: opened(mtu=-1)):
        with pytest.raises(OverflowError):
            call()


SEALED = [wrapped(each) for each in VECTORS]


@given(
    st.sampled_from(SEALED), st.lists(st.integers(0, 8 * 40), max_size=40), st.integers(0, 400), st.binary(max_size=60)
)
def test_no_bytes_are_more_than_refused(packet, bits, cut, garbage):
    for body in (flipped(packet + bytes(40), *bits)[: len(packet)], packet[:cut], packet[:20] + garbage, garbage):
        with suppress(baton.PacketError):
            aerotp.Packet.decode(body).reset_reply(0)
        with suppress(baton.PacketError):
            accepted(body)


NUMBERS = st.integers(0, 2**32 - 1)
CALLS = "garbage packet mack reset icmp timeout write record read piece down up move close abort".split()
STEPS = st.lists(
    st.tuples(
        st.sampled_from(CALLS),
        st.floats(-1, 1e5) | st.sampled_from([float("nan"), float("inf"), 0.0, 0.001]),  # later by so much
        st.binary(max_size=60),
        NUMBERS,
    ),
    max_size=25,
)


def forged(what, data, number):
    """A packet from the peer with right checks, and fields of anyone's choice."""
    places = {"seq": (PEER_INITIAL + number % 90_000 - 10_000) % 2**32, "timestamp": number, "mode": number % 4 // 3}
    if what == "reset":
        return {**places, "tcp_flags": number & 0xFD}
    if what == "packet":
        return {**places, "flags.afin": number >> 5 & 1, "flags.record": number >> 6 & 1, "flags.pull": number >> 7 & 1}
    cumulative = (INITIAL + number % 4096) % 2**32
    asyn = {"flags.asyn": 1, "asyn.initial": PEER_INITIAL, "asyn.token": PEER_TOKEN}
    names = ("unconfirmed", "window", "held_for", "arrival_rate")
    sizes = {f"mack.{name}": int.from_bytes(data[4 * at : 4 * at + 4], "big") >> 2 for at, name in enumerate(names)}
    ranged = {"mack.received.start": 1 + number % 977, "mack.received.length": 1 + number % 31}
    fixed = {"flags.mack": 1, "mack.cumulative": cumulative, "mack.echo": number, "mack.complete": number >> 9 & 1}
    return {**places, **asyn, **fixed, **sizes, **ranged}


def step(connection, what, now, data, number):
    """One call of what a script asks for."""
    packet = lambda: made(forged(what, data, number), data, source="192.0.2.2", destination="192.0.2.1")  # noqa: E731
    {
        "garbage": lambda: connection.handle_packet(now, data),
        "packet": lambda: connection.handle_packet(now, packet()),
        "mack": lambda: connection.handle_packet(now, packet()),
        "reset": lambda: connection.handle_packet(now, packet()),
        "icmp": lambda: connection.handle_icmp(now, icmp(*[(253, 1), (3, 4)][number % 2], number, SEALED[0])),
        "timeout": lambda: connection.handle_timeout(now),
        "write": lambda: connection.write(data * (number % 5_000)),
        "record": lambda: connection.write_record(data * (number % 30)),
        "read": lambda: connection.read(number),
        "piece": connection.read_piece,
        "down": connection.link_down,
        "up": lambda: connection.link_up(f"{number % 10**6} kbit/s"),
        "move": lambda: connection.move_to(now, f"192.0.2.{number % 300}"),
        "close": connection.close,
        "abort": connection.abort,
    }[what]()


@given(STEPS, st.sampled_from(MODES[:4]), st.sampled_from([68, 100, 576, 1500, 65_535]))
def test_whatever_is_called_raises_what_is_documented_or_nothing(script, mode, mtu):
    connection, now = opened(mode=mode, mtu=mtu), 0.0
    for what, later, data, number in script:
        with suppress(baton.PacketError, ValueError):
            step(connection, what, now + later, data, number)
        now = max(now + later, now) if later < 1e6 else now
        connection.handle_timeout(now)
        for _ in range(200):
            if connection.poll_transmit(now) is None:
                break
        else:
            pytest.fail("it sends more than its rate holds")
        events(connection)
        deadline = connection.poll_timeout()
        assert deadline is None or round(deadline * 1e9) >= round(now * 1e9)
        if connection.state == "CLOSED":
            assert (deadline, connection.writable) == (None, 0)
