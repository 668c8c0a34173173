"""The dissector of docs/aerotp.lua in tshark, over the vectors of docs/aerotp.md and over captures of runs."""

import csv
import io
import shutil
import struct
import subprocess

import pytest

from aerotp_by_hand import SPECIFICATION, vectors

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

DISSECTOR = SPECIFICATION.with_suffix(".lua")
VECTORS = vectors()
AEROTP = 253
RAW_IP = 101
"""The capture's link type: packets begin with their IP header."""
WRONG = "_ws.malformed || _ws.lua.error || aerotp.malformed || aerotp.check.bad || aerotp.prelude.bad"


def ip(vector, body):
    """The packet with its IP header; the header's checksum is left to nobody."""
    if vector.source.version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, AEROTP, 0)
    else:
        head = struct.pack(">IHBB", 6 << 28, len(body), AEROTP, 64)
    return head + vector.source.packed + vector.destination.packed + body


def write(file, packets):
    """A capture of these packets, a second apart."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW_IP)
    for second, packet in enumerate(packets):
        out += struct.pack("<IIII", second, 0, len(packet), len(packet)) + packet
    file.write_bytes(out)


def tshark(file, *arguments):
    """Standard output of tshark with the dissector; it has nothing to complain of."""
    command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", str(file), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def rows(file, names):
    """Each packet's fields."""
    columns = [word for name in names for word in ("-e", name)]
    text = tshark(file, "-T", "fields", "-E", "separator=;", *columns)
    return [dict(zip(names, row, strict=True)) for row in csv.reader(io.StringIO(text), delimiter=";")]


def values(text):
    """A field's values; newer releases say True and False."""
    words = {"True": "1", "False": "0"}
    return [int(words.get(each, each), 0) for each in text.split(",") if each]


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    file = tmp_path_factory.mktemp("aerotp") / "vectors.pcap"
    write(file, [ip(vector, vector.bytes) for vector in VECTORS])
    return file


def test_nothing_is_wrong_and_all_is_checked(capture):
    assert tshark(capture, "-Y", WRONG) == ""
    assert len(tshark(capture, "-Y", "aerotp.hec.status == 1").splitlines()) == len(VECTORS)
    with_payload = [vector for vector in VECTORS if vector.has("payload")]
    assert len(tshark(capture, "-Y", "aerotp.crc.status == 1").splitlines()) == len(with_payload)


def test_every_field_is_read(capture):
    names = sorted({name for vector in VECTORS for name in vector.fields})
    for vector, read in zip(VECTORS, rows(capture, names), strict=True):
        for name in names:
            told = vector.fields.get(name, "")
            if name in ("aerotp.payload", "aerotp.redundancy"):
                assert read[name].replace(":", "") == told, (vector.name, name)
            else:
                assert values(read[name]) == values(told), (vector.name, name)


def test_damage_is_shown(tmp_path):
    """A bit each in prelude, header and payload of the packet with data."""
    vector = VECTORS[2]
    file = tmp_path / "damaged.pcap"

    def damaged(place):
        body = bytearray(vector.bytes)
        body[place] ^= 0x10
        return ip(vector, bytes(body))

    write(file, [damaged(1), damaged(3 + 7), damaged(len(vector.bytes) - 5)])
    shown = [
        tuple(read.values()) for read in rows(file, ["aerotp.prelude_errors", "aerotp.hec.status", "aerotp.crc.status"])
    ]
    assert shown == [("1", "1", "1"), ("0", "0", "1"), ("0", "1", "0")]
    wrong = [len(tshark(file, "-Y", name).splitlines()) for name in ("aerotp.prelude.bad", "aerotp.check.bad")]
    assert wrong == [1, 2]


def test_every_truncation_is_malformed_and_no_error_of_lua(tmp_path):
    file = tmp_path / "cut.pcap"
    cut = [ip(vector, vector.bytes[:length]) for vector in VECTORS for length in range(1, len(vector.bytes))]
    write(file, cut)
    assert len(tshark(file, "-Y", "aerotp.malformed").splitlines()) == len(cut)
    assert tshark(file, "-Y", "_ws.lua.error") == ""


BIT_ERROR_RATE = 5e-5


@pytest.fixture(scope="module")
def radio(tmp_path_factory):
    """Returns the packets of a run's gateways on their radio link: the two ends' captures and addresses."""
    import baton
    from baton.shipped import scenarios

    folder = tmp_path_factory.mktemp("gateways") / "run"
    changes = ["duration=4 s", f"links.radio.bit_error_rate={BIT_ERROR_RATE}"]
    baton.Scenario.load(scenarios()["aerotp-gateway"], changes).run(folder, pcap=True)
    return {name: folder / f"capture-{name}-gateway-radio.pcapng" for name in ("airborne", "ground")}


def test_what_gateways_send_is_whole(radio):
    for file in radio.values():
        sent = "frame.p2p_dir == 0"
        assert len(tshark(file, "-Y", sent).splitlines()) > 100
        assert tshark(file, "-Y", f"{sent} && ({WRONG})") == ""


def test_what_gateways_receive_has_the_errors_of_the_link(radio):
    """A payload of n bytes fails its check of 4 with 1 - (1 - BER)^(8 (n + 4)); more cannot be read of hit headers."""
    readable = "frame.p2p_dir == 1 && aerotp.hec.status == 1 && aerotp.crc.status"
    expected = variance = wrong = 0.0
    for file in radio.values():
        text = tshark(file, "-Y", readable, "-T", "fields", "-e", "aerotp.length", "-e", "aerotp.crc.status")
        for length, status in (line.split("\t") for line in text.splitlines()):
            share = 1 - (1 - BIT_ERROR_RATE) ** (8 * (int(length) + 4))
            expected, variance, wrong = expected + share, variance + share * (1 - share), wrong + (status == "0")
    assert expected > 100
    assert abs(wrong - expected) < 4 * variance**0.5
