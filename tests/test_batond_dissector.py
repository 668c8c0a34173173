"""The dissector of docs/batond.lua in tshark: frames that another implementation of ChaCha20-Poly1305 has sealed."""

import shutil
import struct
import subprocess

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from aerotp_by_hand import SPECIFICATION, vectors
from test_aerotp_dissector import ip, write

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

AEROTP = SPECIFICATION.with_suffix(".lua")
PATHS = SPECIFICATION.with_name("batond.lua")
INDEX, KEY = 0xC0FFEE01, bytes(range(32))
ANOTHER_PORT = 50_000
PACKET, AEROTP_OF_GATEWAY, PROBE = 0, 1, 2
REPORT = struct.pack("<QI", 2**40 + 5, 77) + b"\1\2\3" + b"\4\0\0" + struct.pack("<HI", 9, 123_456)


def frame(content, counter=1, index=INDEX, key=KEY):
    """A transport frame: type, index, counter, and the sealed content."""
    nonce = bytes(4) + struct.pack("<Q", counter)
    return struct.pack("<IIQ", 4, index, counter) + ChaCha20Poly1305(key).encrypt(nonce, content, b"")


def message(kind, packet):
    """The content of a frame: its kind, a time of sending, and the rest."""
    return bytes([kind, 0x10, 0x20, 0x30]) + packet


def datagram(payload, port=ANOTHER_PORT):
    """A UDP datagram over IPv4, without checksums."""
    udp = struct.pack(">HHHH", 40_000, port, 8 + len(payload), 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0)
    return head + bytes([192, 0, 2, 1, 198, 51, 100, 1]) + udp + payload


@pytest.fixture
def show(tmp_path):
    """Returns the fields of datagrams, by a key log with one key."""

    def shown(datagrams, fields):
        file, log = tmp_path / "wire.pcap", tmp_path / "keys"
        write(file, datagrams)
        log.write_text(f"{INDEX:08x} {KEY.hex()}\n", encoding="ascii")
        scripts = [word for script in (AEROTP, PATHS) for word in ("-X", f"lua_script:{script}")]
        columns = [word for name in fields for word in ("-e", name)]
        command = ["tshark", *scripts, "-o", f"batond.key_log:{log}", "-r", str(file), "-T", "fields", *columns]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert "Lua" not in done.stderr, done.stderr
        return [row.split("\t") for row in done.stdout.splitlines()]

    return shown


def test_aerotp_of_a_gateway_is_read_inside_the_path(show):
    whole = [vector for vector in vectors() if vector.has("payload")]
    sealed = [frame(message(AEROTP_OF_GATEWAY, ip(vector, vector.bytes)), n) for n, vector in enumerate(whole)]
    fields = ["batond.tag.status", "batond.counter", "aerotp.hec.status", "aerotp.crc.status", "aerotp.payload"]
    rows = show([datagram(each) for each in sealed], fields)
    for number, (vector, row) in enumerate(zip(whole, rows, strict=True)):
        assert row[:4] == ["1", str(number), "1", "1"], vector.name
        assert row[4].replace(":", "") == vector.fields["aerotp.payload"], vector.name


@pytest.mark.parametrize("is_v6", [False, True])
def test_aerotp_behind_a_number_gets_its_header_back(show, is_v6):
    [vector, *_] = (each for each in vectors() if each.has("payload") and (each.source.version == 6) == is_v6)
    whole = ip(vector, vector.bytes)
    length = 40 if is_v6 else 20
    header = whole[:length]
    numbered = bytes([0x0F, 0xED]) + whole[length:]
    contents = [numbered, bytes([0x1F, 0xED]) + header, numbered]
    contents += [bytes([0x2F, 0xED]), bytes([0x3F, 0xED]), b"\0", b"\x1f\xed"]
    sealed = [frame(message(AEROTP_OF_GATEWAY, content), n) for n, content in enumerate(contents)]
    fields = ["_ws.lua.error", "batond.number.kind", "batond.number", "aerotp.hec.status", "aerotp.payload"]
    rows = show([datagram(each) for each in sealed], fields)
    assert rows[0] == ["", "0", "4077", "", ""]  # nobody has announced the number
    assert rows[1] == ["", "1", "4077", "", ""]
    assert rows[2] == ["", "0", "4077", "1", rows[2][4]]
    assert rows[2][4].replace(":", "") == vector.fields["aerotp.payload"]
    assert [row[:3] for row in rows[3:]] == [["", "2", "4077"], ["", "3", "4077"], ["", "", ""], ["", "1", "4077"]]


def test_contents_of_any_length_and_counter_are_opened(show):
    """Lengths about the blocks of Poly1305 and ChaCha20; counters beyond 32 bits."""
    texts = [bytes(place * 7 % 256 for place in range(length)) for length in (0, 1, 15, 16, 17, 63, 64, 65, 1_400)]
    sent = [(text, counter) for text in texts for counter in (0, 2**32 + 3, 2**63 + 1)]
    rows = show(
        [datagram(frame(message(PACKET, datagram(text, port=9)), counter)) for text, counter in sent],
        ["batond.tag.status", "batond.content", "udp.dstport", "data.data"],
    )
    assert rows == [["1", "0", f"{ANOTHER_PORT},9", text.hex()] for text, _ in sent]


def test_what_is_forged_is_shown_as_such_and_what_has_no_key_stays_sealed(show):
    sealed = frame(message(PROBE, REPORT))
    forged = [bytes(byte ^ (place == at) for place, byte in enumerate(sealed)) for at in (8, 16, len(sealed) - 1)]
    stranger = frame(message(PROBE, REPORT), index=INDEX + 1)
    fields = ["batond.tag.status", "batond.report.next"]
    rows = show([datagram(each, port=4191) for each in (sealed, *forged, stranger)], fields)
    assert rows == [["1", str(2**40 + 5)], ["0", ""], ["0", ""], ["0", ""], ["2", ""]]


def test_a_report_is_read_field_by_field(show):
    names = ["time", "report.received", "report.echo", "report.held", "report.sequence", "report.received_bytes"]
    [row] = show([datagram(frame(message(PROBE, REPORT)))], [f"batond.{name}" for name in names])
    assert row == [str(0x302010), "77", str(0x030201), "4", "9", "123456"]


def test_a_handshake_is_recognized_at_any_port_and_the_frames_of_wireguard_are_not(show):
    initiation = struct.pack("<II", 1, 0xA1B2C3D4) + bytes(149)
    wireguard = struct.pack("<II", 1, 0xA1B2C3D4) + bytes(140)
    rows = show([datagram(initiation), datagram(wireguard, port=51_820)], ["batond.kind", "batond.sender"])
    assert rows == [["1", "0xa1b2c3d4"], ["", ""]]


def test_frames_cut_short_and_noise_are_no_errors_of_lua(show):
    sealed = frame(message(PACKET, datagram(b"text", port=9)))
    cut = [datagram(sealed[:length], port=4191) for length in range(len(sealed))]
    rows = show(cut, ["_ws.lua.error", "batond.tag.status"])
    assert all(row[0] == "" and row[1] != "1" for row in rows)
    short = [datagram(frame(b"", 1), port=4191), datagram(frame(b"\0", 2), port=4191)]
    assert show(short, ["_ws.lua.error", "batond.tag.status"]) == [["", "1"]] * 2
