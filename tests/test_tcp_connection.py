"""The TCP connection that Python drives by hand, against segments scripted from the RFCs with `struct`."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import baton
from baton import tcp
from segments_by_hand import ACK, FIN, PSH, RST, SYN, Segment, checksum, read

HERE, THERE = ("10.0.0.1", 4000), ("10.0.0.2", 80)
MSS_1000 = b"\x02\x04\x03\xe8"
ISS, IRS = 100, 5000  # our initial sequence number and the script's


def client(**options):
    return tcp.Connection.connect("10.0.0.1:4000", "10.0.0.2:80", now=0, initial_sequence=ISS, **options)


def sent(connection, now):
    """All that the connection sends now."""
    segments = []
    while (packet := connection.poll_transmit(now)) is not None:
        segments.append(read(packet))
    return segments


def from_peer(sequence, acknowledgment, **more):
    return Segment(THERE, HERE, sequence, acknowledgment, **more).packet()


def established(window=65535, **options):
    """A connection after a handshake with a peer whose segments hold at most 1000 B; a round trip took 0.1 s."""
    connection = client(**options)
    sent(connection, 0)
    connection.handle_segment(0.1, from_peer(IRS, ISS + 1, flags=SYN | ACK, window=window, options=MSS_1000))
    assert connection.poll_event() == "connected"
    assert [segment.flags for segment in sent(connection, 0.1)] == [ACK]
    return connection


def test_a_handshake_has_the_headers_of_the_standard():
    connection = client()
    assert connection.state == "SYN-SENT"
    [syn] = sent(connection, 0)
    assert (syn.source, syn.destination, syn.sequence, syn.flags, syn.data) == (HERE, THERE, ISS, SYN, b"")
    assert struct.unpack("!H", syn.kinds[2]) == (1460,)  # what an Ethernet frame leaves (RFC 6691)
    assert 3 in syn.kinds  # window scaling (RFC 7323)
    assert syn.kinds[4] == b""  # SACK permitted (RFC 2018)
    assert connection.poll_timeout() == 1.0  # RFC 6298 (2.1)

    connection.handle_segment(0.3, from_peer(IRS, ISS + 1, flags=SYN | ACK, options=MSS_1000))
    assert connection.state == "ESTABLISHED"
    assert connection.poll_event() == "connected"
    [ack] = sent(connection, 0.3)
    assert (ack.sequence, ack.acknowledgment, ack.flags) == (ISS + 1, IRS + 1, ACK)
    assert connection.poll_timeout() is None
    # RFC 6298 (2.2): SRTT = R, RTTVAR = R / 2, RTO = SRTT + 4 RTTVAR, at least 1 s.
    assert (connection.smoothed_rtt, connection.retransmission_timeout) == (0.3, 1.0)
    # RFC 6928: min(10 MSS, max(2 MSS, 14600)).
    assert (connection.segment_size, connection.congestion_window) == (1000, 10_000)
    assert connection.slow_start_threshold is None


def test_data_goes_both_ways_and_the_connection_closes():
    connection = established()
    assert connection.write(b"hello") == 5
    [data] = sent(connection, 0.2)
    assert (data.sequence, data.data, data.flags & ~PSH) == (ISS + 1, b"hello", ACK)
    assert connection.bytes_in_flight == 5

    connection.handle_segment(0.3, from_peer(IRS + 1, ISS + 6, data=b"world"))
    assert connection.poll_event() == "readable"
    assert (connection.readable, connection.read(2), connection.read()) == (5, b"wo", b"rld")
    assert (connection.bytes_in_flight, connection.bytes_acknowledged) == (0, 5)

    connection.close()
    [fin] = sent(connection, 0.4)
    assert (fin.sequence, fin.acknowledgment, fin.flags) == (ISS + 6, IRS + 6, FIN | ACK)
    assert connection.state == "FIN-WAIT-1"
    connection.handle_segment(0.5, from_peer(IRS + 6, ISS + 7, flags=FIN | ACK))
    assert connection.state == "TIME-WAIT"
    assert [connection.poll_event(), connection.poll_event()] == ["peer-closed", "closed"]
    connection.handle_timeout(connection.poll_timeout())
    assert connection.state == "CLOSED"


def test_three_duplicate_acknowledgments_retransmit_and_halve():
    connection = established(sack=False, limited_transmit=False)
    assert connection.write(bytes(8000)) == 8000
    flight = sent(connection, 0.1)
    assert [segment.sequence - ISS - 1 for segment in flight] == [1000 * n for n in range(8)]
    connection.handle_segment(0.2, from_peer(IRS + 1, ISS + 1001))  # the second segment is lost
    assert sent(connection, 0.2) == []
    for now in (0.21, 0.22):
        connection.handle_segment(now, from_peer(IRS + 1, ISS + 1001))
        assert sent(connection, now) == []
    connection.handle_segment(0.23, from_peer(IRS + 1, ISS + 1001))
    [again] = sent(connection, 0.23)
    assert (again.sequence, len(again.data)) == (ISS + 1001, 1000)
    # RFC 5681 (4) and section 3.2 step 3: half of the 7000 B in flight, and three segments that have left.
    assert connection.slow_start_threshold == 3500
    assert connection.congestion_window == 3500 + 3000
    counters = connection.statistics
    assert [counters[name] for name in ("fast_retransmits", "retransmitted", "timeouts")] == [1, 1, 0]
    connection.handle_segment(0.33, from_peer(IRS + 1, ISS + 8001))
    assert connection.congestion_window <= 3500  # RFC 6582 section 3.2 step 3
    assert connection.bytes_in_flight == 0


def test_the_scoreboard_is_told_as_by_tcp_info():
    connection = established(profile="linux-6", timestamps=False)
    assert connection.phase == "open"
    connection.write(bytes(5000))
    sent(connection, 0.1)
    # The first after a handshake is an update of the window and no duplicate (`tcp_may_update_window`).
    connection.handle_segment(0.15, from_peer(IRS + 1, ISS + 1))
    assert (connection.phase, connection.segments_sacked) == ("open", 0)
    # A peer that permits no SACK: three duplicates stand for three segments that have arrived (`tcp_add_reno_sack`).
    connection.handle_segment(0.2, from_peer(IRS + 1, ISS + 1))
    assert (connection.phase, connection.segments_sacked) == ("disorder", 1)
    for now in (0.21, 0.22):
        connection.handle_segment(now, from_peer(IRS + 1, ISS + 1))
    [again] = [segment for segment in sent(connection, 0.22) if segment.sequence == ISS + 1]
    assert len(again.data) == 1000
    counts = (connection.segments_sacked, connection.segments_lost, connection.segments_retransmitted)
    assert (connection.phase, *counts) == ("recovery", 3, 1, 1)


def test_a_timeout_doubles_and_leaves_one_segment():
    connection = established()
    connection.write(bytes(3000))
    assert len(sent(connection, 0.1)) == 3
    for timeout in (1.0, 2.0, 4.0):  # RFC 6298 (5.5)
        assert connection.retransmission_timeout == timeout
        now = connection.poll_timeout()
        connection.handle_timeout(now)
        assert [segment.sequence for segment in sent(connection, now)] == [ISS + 1]
    assert connection.congestion_window == 1000  # RFC 5681 section 3.1: the loss window
    assert connection.statistics["timeouts"] == 3


def test_a_closed_window_is_probed_until_it_opens():
    connection = established(window=0)
    connection.write(b"x" * 1500)
    assert sent(connection, 0.1) == []
    assert connection.peer_window == 0
    now = connection.poll_timeout()
    connection.handle_timeout(now)
    [probe] = sent(connection, now)
    assert (probe.sequence, probe.data) == (ISS + 1, b"x")  # RFC 9293 section 3.8.6.1
    assert connection.statistics["window_probes"] == 1
    connection.handle_segment(now + 0.1, from_peer(IRS + 1, ISS + 1, window=0))
    second = connection.poll_timeout()
    assert second > now
    connection.handle_segment(now + 0.2, from_peer(IRS + 1, ISS + 2, window=4000))
    rest = sent(connection, now + 0.2)
    assert sum(len(segment.data) for segment in rest) >= 1000
    assert connection.poll_event() is None


def test_a_listener_makes_connections_and_resets_strangers():
    listener = tcp.Connection.listen("10.0.0.2:80", initial_sequence=IRS, backlog=1)
    peer = client()
    syn = peer.poll_transmit(0)
    server = listener.handle_segment(0.05, syn)
    assert (server.state, server.local, server.remote) == ("SYN-RECEIVED", "10.0.0.2:80", "10.0.0.1:4000")
    other = Segment(("10.0.0.3", 4000), THERE, 7, flags=SYN).packet()
    assert listener.handle_segment(0.05, other) is None
    assert (listener.half_open, listener.refused) == (1, 1)
    peer.handle_segment(0.1, server.poll_transmit(0.05))
    server.handle_segment(0.15, peer.poll_transmit(0.1))
    listener.half_open_ended()
    assert (server.state, peer.state, listener.half_open) == ("ESTABLISHED", "ESTABLISHED", 0)

    assert listener.poll_transmit() is None
    assert listener.handle_segment(1, Segment(HERE, THERE, 1, 77).packet()) is None
    reset = read(listener.poll_transmit())
    assert (reset.source, reset.destination, reset.sequence, reset.flags) == (THERE, HERE, 77, RST)


def test_a_router_lowers_the_path_mtu():
    connection = established()
    connection.write(bytes(1000))
    [data] = [connection.poll_transmit(0.1)]
    quoted = data[:28]
    body = struct.pack("!BBHHH", 3, 4, 0, 0, 576) + quoted  # RFC 1191
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    router = bytes([10, 0, 0, 9])
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0, router, bytes([10, 0, 0, 1]))
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    connection.handle_icmp(0.2, header + body)
    assert connection.segment_size == 576 - 40
    assert [len(segment.data) for segment in sent(connection, 0.2)] == [536, 464]
    with pytest.raises(baton.PacketError, match="not hold a TCP segment"):
        connection.handle_segment(0.3, header + body)
    with pytest.raises(baton.PacketError, match="not an ICMP error"):
        connection.handle_icmp(0.3, data)


def test_ipv6_has_its_own_header():
    connection = tcp.Connection.connect("[fd00::1]:4000", "[fd00::2]:80", now=0)
    packet = connection.poll_transmit(0)
    assert struct.unpack("!BxxxHBB", packet[:8]) == (0x60, len(packet) - 40, 6, 64)
    assert connection.remote == "[fd00::2]:80"
    assert struct.unpack("!H", packet[62:64]) == (1440,)  # RFC 6691 section 2


def test_what_a_receiver_drops_is_said_and_changes_nothing():
    connection = established()
    good = from_peer(IRS + 1, ISS + 1, data=b"data")
    damaged = good[:-1] + b"!"
    cases = [
        (b"", "0 bytes where 1 are needed"),
        (b"\x45" + bytes(10), "11 bytes where 20 are needed"),
        (good[:30], "IPv4"),
        (damaged, "TCP: wrong checksum"),
        (
            Segment(("10.0.0.9", 80), HERE, 1, 1).packet(),
            "goes from 10.0.0.9:80 to 10.0.0.1:4000; expected 10.0.0.2:80",
        ),
    ]
    for packet, message in cases:
        with pytest.raises(baton.PacketError, match=message):
            connection.handle_segment(0.2, packet)
    assert (connection.readable, connection.state) == (0, "ESTABLISHED")
    connection.handle_segment(0.2, good)
    assert connection.read() == b"data"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["garbage", "segment", "icmp", "timeout", "write", "read", "close", "abort"]),
        st.floats(-1, 1e5) | st.sampled_from([float("nan"), float("inf"), 0.0]),  # later by so much
        st.binary(max_size=80),
        st.integers(0, 2**32 - 1),
    ),
    max_size=30,
)


def step(connection, what, now, data, number):
    """One call of what a script asks for, and all polls after it."""
    flags, window = number & 0xFF, number >> 16
    segment = Segment(THERE, HERE, IRS + number % 70_000, ISS + number % 30_000, flags, window, data[:40], data[40:])
    {
        "garbage": lambda: connection.handle_segment(now, data),
        "segment": lambda: connection.handle_segment(now, segment.packet()),
        "icmp": lambda: connection.handle_icmp(now, data),
        "timeout": lambda: connection.handle_timeout(now),
        "write": lambda: connection.write(data * (number % 10_000)),
        "read": lambda: connection.read(number),
        "close": connection.close,
        "abort": connection.abort,
    }[what]()


@given(STEPS)
def test_whatever_is_called_raises_what_is_documented_or_nothing(script):
    connection, now = established(), 0.1
    for what, later, data, number in script:
        with suppress(baton.PacketError, ValueError):
            step(connection, what, now + later, data, number)
        now = max(now + later, now) if later < 1e6 else now
        connection.handle_timeout(now)
        while connection.poll_transmit(now) is not None:
            pass
        while connection.poll_event() is not None:
            pass
        deadline = connection.poll_timeout()
        assert deadline is None or deadline >= now
        if connection.state == "CLOSED":
            assert (deadline, connection.writable) == (None, 0)


def test_time_does_not_go_back_and_nothing_happens_then():
    connection = established()
    connection.write(bytes(500))
    [data] = sent(connection, 0.3)
    for call in (
        lambda: connection.handle_timeout(0.2),
        lambda: connection.poll_transmit(0.2),
        lambda: connection.handle_segment(0.2, from_peer(IRS + 1, ISS + 501)),
    ):
        with pytest.raises(ValueError, match=r"now is 0.2 s; expected 0.3 s or later, the time of the previous call"):
            call()
    assert connection.bytes_in_flight == len(data.data) == 500
    connection.handle_segment(0.3, from_peer(IRS + 1, ISS + 501))
    assert connection.bytes_in_flight == 0
    listener = tcp.Connection.listen("10.0.0.2:80")
    syn = client().poll_transmit(0)
    assert listener.handle_segment(1, syn) is not None
    with pytest.raises(ValueError, match="expected 1 s or later"):
        listener.handle_segment(0.9, syn)
    assert listener.half_open == 1


def test_what_is_closed_takes_no_data():
    closed, aborted, reset = established(), established(), established()
    closed.close()
    aborted.abort()
    reset.handle_segment(0.2, from_peer(IRS + 1, ISS + 1, flags=RST | ACK))
    for connection, state in ((closed, "ESTABLISHED"), (aborted, "CLOSED"), (reset, "CLOSED")):
        assert connection.writable == 0
        with pytest.raises(ValueError, match=rf"this end is closed \(state {state}\)"):
            connection.write(b"more")
        assert connection.read() == b""
        connection.close()
        connection.abort()
        assert connection.state == "CLOSED"
    half = established()
    half.handle_segment(0.2, from_peer(IRS + 1, ISS + 1, flags=FIN | ACK))
    assert (half.state, half.write(b"still")) == ("CLOSE-WAIT", 5)


def test_a_write_takes_what_there_is_room_for():
    connection = established(send_buffer="16 kB")
    room = connection.writable
    assert room == 16_000
    assert connection.write(bytes(100_000_000)) == room
    assert (connection.writable, connection.write(b"x")) == (0, 0)
    sent(connection, 0.2)
    connection.handle_segment(0.3, from_peer(IRS + 1, ISS + 5001))
    assert (connection.poll_event(), connection.writable) == (None, 5000)
    sent(connection, 0.3)
    connection.handle_segment(0.4, from_peer(IRS + 1, ISS + 6001))
    assert (connection.poll_event(), connection.writable) == ("writable", 6000)


def test_what_the_ends_have_agreed_on():
    fresh = client()
    assert fresh.negotiated is None
    assert (fresh.smoothed_rtt, fresh.rtt_variation) == (None, None)
    # The script's SYN has an MSS of 1000 and nothing else.
    connection = established(receive_buffer="20 kB")
    assert connection.negotiated == {
        "sack": False,
        "timestamps": False,
        "window_scaling": False,
        "peer_segment_size": 1000,
    }
    assert connection.rtt_variation == 0.05  # half of the first sample of 0.1 s (RFC 6298 section 2.2)
    assert connection.receive_window == 20_000
    connection.handle_segment(0.2, from_peer(IRS + 1, ISS + 1, data=bytes(700)))
    assert connection.receive_window == 19_300
    listener = tcp.Connection.listen("10.0.0.2:80", sack=False, timestamps=True)
    peer = client(timestamps=True)
    server = listener.handle_segment(0, peer.poll_transmit(0))
    agreed = {"sack": False, "timestamps": True, "window_scaling": True, "peer_segment_size": 1460}
    assert server.negotiated == agreed
    peer.handle_segment(0, server.poll_transmit(0))
    assert peer.negotiated == agreed


def test_options_have_the_scenarios_names_and_messages():
    assert client(maximum_segment_size="536 B", delayed_ack="off", profile="linux-2.0.36").segment_size == 536
    cases = [
        ({"sak": True}, 'tcp: sak: unknown key "sak"; did you mean "sack"?'),
        ({"congestion": "cubik"}, 'tcp: congestion: unknown congestion "cubik"; did you mean "cubic"?'),
        ({"profile": "linux"}, 'tcp: profile: unknown profile "linux"'),
        ({"maximum_segment_size": 1400}, "tcp: maximum_segment_size: 1400 has no unit; expected a number with B, kB"),
        ({"maximum_segment_size": "10 B"}, "tcp: maximum_segment_size: 10 B is out of range; expected 64 B to 65495 B"),
        ({"minimum_rto": "5 s", "maximum_rto": "1 s"}, "tcp: minimum_rto 5 s is above maximum_rto 1 s"),
        ({"sack": None}, "tcp: sack: is None; leave the key out for its default"),
        ({"sack": object()}, "tcp: sack: is of type object; expected text, a number, True or False"),
        ({"initial_window": 2**70}, "tcp: initial_window: integer out of range"),
    ]
    for options, message in cases:
        with pytest.raises(baton.ScenarioError) as raised:
            client(**options)
        assert str(raised.value).startswith(message)


def test_what_else_is_wrong_is_a_value_error():
    connect = tcp.Connection.connect
    for call in (
        lambda: connect("10.0.0.1", "10.0.0.2:80", now=0),
        lambda: connect("10.0.0.1:1", "[fd00::2]:80", now=0),
        lambda: connect("10.0.0.1:1", "10.0.0.2:80", now=-1),
        lambda: connect("10.0.0.1:1", "10.0.0.2:80", now=float("nan")),
        lambda: connect("10.0.0.1:1", "10.0.0.2:80", now=1e300),
        lambda: connect("10.0.0.1:1", "10.0.0.2:80", now=0, mtu=67),
        lambda: client().handle_timeout(float("inf")),
    ):
        with pytest.raises(ValueError, match="expected|version"):
            call()


@given(st.integers(0, 2**22 * 10**9))
def test_a_float_tells_every_nanosecond(nanoseconds):
    """A connection that starts then asks to be called exactly one second (RFC 6298 (2.1)) later."""
    now = nanoseconds / 1e9
    connection = tcp.Connection.connect("10.0.0.1:1", "10.0.0.2:80", now=now)
    connection.poll_transmit(now)
    deadline = connection.poll_timeout()
    assert round(deadline * 1e9) == nanoseconds + 10**9
    if deadline <= 2**22:
        connection.handle_timeout(deadline)
        assert connection.statistics["timeouts"] == 1
