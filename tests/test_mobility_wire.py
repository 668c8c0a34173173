"""Messages of mobility over IPv6, as tshark and scapy read them; the example that writes them has the same values."""

import csv
import io
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOME_AGENT, HOME, CARE_OF, PEER = "2001:db8:1::1", "2001:db8:1::100", "2001:db8:2::100", "2001:db8:3::9"
ANCHOR = "2001:db8:9::1"
MOBILE, ROUTER, GROUP = "fe80::200:5eff:fe00:5301", "fe80::200:5eff:fe00:5302", "ff02::1:ff00:100"
MOBILE_CARD, ROUTER_CARD = "00:00:5e:00:53:01", "00:00:5e:00:53:02"

WRONG = (
    "_ws.malformed || _ws.short || _ws.expert.severity >= Note || ip.checksum.status == 0"
    " || icmpv6.checksum.status == 0 || udp.checksum.status == 0"
)

# Each packet's addresses on the wire, and what tshark shows of it, field by field in the order in which they stand.
# Numbers of messages and options: RFC 4861, RFC 3810, RFC 6275, RFC 3963, RFC 4285, RFC 5096, RFC 5555, RFC 5568.
PACKETS = [
    ((MOBILE, "ff02::2"), {"icmpv6.type": "133", "ipv6.hlim": "255", "icmpv6.opt.linkaddr": MOBILE_CARD}),
    (
        (ROUTER, "ff02::1"),
        {
            "icmpv6.type": "134",
            "icmpv6.nd.ra.cur_hop_limit": "64",
            "icmpv6.nd.ra.flag.m": "0",
            "icmpv6.nd.ra.flag.o": "1",
            "icmpv6.nd.ra.flag.h": "1",
            "icmpv6.nd.ra.router_lifetime": "1800",
            "icmpv6.nd.ra.reachable_time": "30000",
            "icmpv6.nd.ra.retrans_timer": "1000",
            "icmpv6.opt.type": "1,5,3,3,7,8,23",
            "icmpv6.opt.linkaddr": ROUTER_CARD,
            "icmpv6.opt.mtu": "1280",
            # With the R flag the option has the router's address.
            "icmpv6.opt.prefix": f"{HOME_AGENT},2001:db8:2::",
            "icmpv6.opt.prefix.length": "64,64",
            "icmpv6.opt.prefix.flag.l": "1,1",
            "icmpv6.opt.prefix.flag.a": "1,0",
            "icmpv6.opt.prefix.flag.r": "1,0",
            "icmpv6.opt.prefix.valid_lifetime": "2592000,2592000",
            "icmpv6.opt.prefix.preferred_lifetime": "604800,604800",
            "icmpv6.opt.advertisement_interval": "1500",
            "icmpv6.opt.home_agent_preference": "7",
            "icmpv6.opt.home_agent_lifetime": "900",
            # RFC 5380, section 5.
            "icmpv6.opt.map.distance": "2",
            "icmpv6.opt.map.preference": "9",
            "icmpv6.opt.map.flag.r": "1",
            "icmpv6.opt.map.valid_lifetime": "3600",
            "icmpv6.opt.map.global_address": ANCHOR,
        },
    ),
    (("::", GROUP), {"icmpv6.type": "135", "icmpv6.nd.ns.target_address": HOME, "icmpv6.opt.type": ""}),
    (
        (MOBILE, GROUP),
        {"icmpv6.type": "135", "icmpv6.nd.ns.target_address": HOME, "icmpv6.opt.linkaddr": MOBILE_CARD},
    ),
    (
        (ROUTER, MOBILE),
        {
            "icmpv6.type": "136",
            "icmpv6.nd.na.target_address": HOME,
            "icmpv6.nd.na.flag.r": "1",
            "icmpv6.nd.na.flag.s": "1",
            "icmpv6.nd.na.flag.o": "1",
            "icmpv6.opt.linkaddr": ROUTER_CARD,
        },
    ),
    (
        (ROUTER, "ff02::1"),
        {
            "icmpv6.type": "136",
            "icmpv6.nd.na.flag.r": "0",
            "icmpv6.nd.na.flag.s": "0",
            "icmpv6.nd.na.flag.o": "1",
        },
    ),
    # RFC 5568: which router is at this access point? At this one, with this prefix.
    (
        (MOBILE, "ff02::2"),
        {
            "icmpv6.type": "154",
            "ipv6.hlim": "255",
            "icmpv6.fmip6.subtype": "2",
            "icmpv6.fmip6.identifier": "515",
            "icmpv6.opt.type": "19",
            "icmpv6.opt.lla.option_code": "1",
            "icmpv6.opt.lla.bytes": "00005e005303" + "00" * 7,
        },
    ),
    (
        (ROUTER, MOBILE),
        {
            "icmpv6.type": "154",
            "icmpv6.code": "0",
            "icmpv6.fmip6.subtype": "3",
            "icmpv6.fmip6.identifier": "515",
            "icmpv6.opt.type": "19,17,17",
            "icmpv6.opt.ipa.option_code": "3,4",
            "icmpv6.opt.ipa.prefix_len": "128,64",
            "icmpv6.opt.ipa.ipv6_address": "2001:db8:5::1,2001:db8:5::",
        },
    ),
    *(
        (
            (source, "ff02::16"),
            {
                "ipv6.hlim": "1",
                "ipv6.opt.router_alert": "0",
                "icmpv6.type": "143",
                "icmpv6.mldr.mar.record_type": kind,
                "icmpv6.mldr.mar.multicast_address": GROUP,
            },
        )
        for source, kind in [("::", "4"), (MOBILE, "3")]
    ),
    ((PEER, HOME), {"mip6.mhtype": "0", "mip6.hlen": "0", "mip6.proto": "59"}),
    ((HOME, PEER), {"mip6.mhtype": "1", "mip6.hoti.cookie": "0x0102030405060708"}),
    ((CARE_OF, PEER), {"mip6.mhtype": "2", "mip6.coti.cookie": "0x0102030405060708"}),
    (
        (PEER, HOME),
        {
            "mip6.mhtype": "3",
            "mip6.hot.nindex": "513",
            "mip6.hot.cookie": "0x0102030405060708",
            "mip6.hot.token": "0x" + "a1" * 8,
        },
    ),
    (
        (PEER, CARE_OF),
        {"mip6.mhtype": "4", "mip6.cot.nindex": "514", "mip6.cot.cookie": "0x0102030405060708"},
    ),
    (
        (CARE_OF, HOME_AGENT),
        {
            "ipv6.opt.mipv6.home_address": HOME,
            "mip6.mhtype": "5",
            "mip6.bu.seqnr": "65535",
            **{f"mip6.bu.{flag}_flag": value for flag, value in zip("ahlkmp", "111100", strict=True)},
            "mip6.nemo.bu.r_flag": "1",
            "mip6.bu.lifetime": "105",
            "mip6.acoa.acoa": CARE_OF,
            "mip6.nemo.mnp.mnp": "2001:db8:1:100::,2001:db8:1:200::",
            "mip6.nemo.mnp.pfl": "56,56",
            "mip6.ipv4ha.preflen": "16",
            "mip6.ipv4ha.p_flag": "1",
            "mip6.ipv4ha.ha": "10.1.0.0",
            "mip6.auth.mobility_spi": "4097",
        },
    ),
    (
        (HOME_AGENT, CARE_OF),
        {
            "ipv6.routing.segleft": "1",
            "ipv6.routing.mipv6.home_address": HOME,
            "mip6.mhtype": "6",
            "mip6.ba.status": "0",
            "mip6.ba.k_flag": "1",
            "mip6.nemo.ba.r_flag": "1",
            "mip6.ba.seqnr": "65535",
            "mip6.ba.lifetime": "105",
            "mip6.bra.interval": "25",
            "mip6.ipv4aa.sts": "133",
            "mip6.ipv4ha.ha": "10.1.0.0",
        },
    ),
    (
        (CARE_OF, PEER),
        {
            "ipv6.opt.mipv6.home_address": HOME,
            "mip6.bu.h_flag": "0",
            "mip6.ni.hni": "513",
            "mip6.ni.cni": "514",
            "mip6.bad.auth": "c2" * 12,
        },
    ),
    (
        (HOME_AGENT, CARE_OF),
        {"mip6.ba.status": "135", "mip6.ba.k_flag": "1", "mip6.nemo.ba.r_flag": "0", "mip6.ba.lifetime": "0"},
    ),
    ((PEER, CARE_OF), {"mip6.mhtype": "7", "mip6.be.status": "1", "mip6.be.haddr": HOME}),
    # RFC 5568: identical to a binding update and its acknowledgement, but for the type.
    (
        (CARE_OF, "2001:db8:4::1"),
        {
            "ipv6.opt.mipv6.home_address": "2001:db8:4::100",
            "mip6.mhtype": "8",
            "mip6.fbu.seqnr": "7",
            **{f"mip6.fbu.{flag}_flag": value for flag, value in zip("ahlk", "1100", strict=True)},
            "mip6.fbu.lifetime": "8",
        },
    ),
    (
        ("2001:db8:4::1", CARE_OF),
        {"mip6.mhtype": "9", "mip6.fback.status": "128", "mip6.fback.seqnr": "7", "mip6.fback.lifetime": "0"},
    ),
    # To a router with copies of the mobile's packets, which one was received last: an experimental option (RFC 5096).
    (
        (CARE_OF, "2001:db8:4::1"),
        {
            "ipv6.opt.mipv6.home_address": HOME,
            "mip6.mhtype": "5",
            "mip6.bu.seqnr": "7",
            "mip6.bu.h_flag": "0",
            "mip6.bu.lifetime": "8",
        },
    ),
    # Ahead of a move: the mobile names its next address, and the two routers agree on it.
    (
        ("2001:db8:4::100", "2001:db8:4::1"),
        {
            "ipv6.opt.mipv6.home_address": "2001:db8:4::100",
            "mip6.mhtype": "8",
            "mip6.fbu.seqnr": "7",
            "mip6.acoa.acoa": "2001:db8:5::100",
        },
    ),
    (
        ("2001:db8:4::1", "2001:db8:5::1"),
        {
            "mip6.mhtype": "14",
            "mip6.hi.seqnr": "9",
            "mip6.hi.s_flag": "0",
            "mip6.hi.u_flag": "1",
            "mip6.hi.code": "0",
            "mip6.mhipv6ap.opt_code": "1,2",
            "mip6.mhipv6ap.len": "128,128",
            "mip6.mhipv6ap.ipv6_address": "2001:db8:4::100,2001:db8:5::100",
        },
    ),
    (
        ("2001:db8:5::1", "2001:db8:4::1"),
        {"mip6.mhtype": "15", "mip6.hack.seqnr": "9", "mip6.hack.code": "0"},
    ),
    # A local binding update (RFC 5380, section 4.1).
    (
        (CARE_OF, ANCHOR),
        {
            "ipv6.opt.mipv6.home_address": "2001:db8:9::100",
            "mip6.mhtype": "5",
            **{f"mip6.bu.{flag}_flag": value for flag, value in zip("ahlkmp", "100010", strict=True)},
            "mip6.nemo.bu.r_flag": "0",
            "mip6.bu.lifetime": "8",
        },
    ),
    ((HOME_AGENT, CARE_OF), {"ipv6.nxt": "41,17", "ipv6.dst": f"{CARE_OF},{HOME}", "udp.dstport": "5000"}),
    ((HOME_AGENT, CARE_OF), {"ipv6.nxt": "4", "ip.dst": "192.0.2.100", "udp.dstport": "5000"}),
    (
        ("192.0.2.1", "198.51.100.7"),
        {"ip.proto": "4,17", "ip.dst": "198.51.100.7,192.0.2.100", "udp.dstport": "5000"},
    ),
    (("192.0.2.1", "198.51.100.7"), {"ip.proto": "41", "ipv6.dst": HOME, "udp.dstport": "5000"}),
    ((CARE_OF, PEER), {"ipv6.opt.mipv6.home_address": HOME, "udp.dstport": "5000"}),
    ((PEER, CARE_OF), {"ipv6.routing.mipv6.home_address": HOME, "udp.dstport": "5000"}),
    (
        (CARE_OF, "2001:db8:4::200"),
        {
            "ipv6.routing.mipv6.home_address": HOME_AGENT,
            "ipv6.opt.mipv6.home_address": HOME,
            "udp.dstport": "5000",
        },
    ),
    (
        ("2001:db8:2::1", HOME_AGENT),
        {"icmpv6.type": "2", "icmpv6.mtu": "1400", "ipv6.nxt": "58,41,17", "udp.dstport": "5000"},
    ),
]


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """A capture that the example has written."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    file = tmp_path_factory.mktemp("mobility") / "messages.pcapng"
    # All of the workspace, as for its tests: of one package the dependencies would be built anew.
    command = ["cargo", "run", "--quiet", "--locked", "--example", "mobility_messages", "--", str(file)]
    subprocess.run(command, cwd=ROOT, check=True)
    return file


def tshark(file, *arguments):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    checks = [word for header in ("ip", "udp") for word in ("-o", f"{header}.check_checksum:TRUE")]
    command = ["tshark", "-r", str(file), *checks, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_tshark_finds_nothing_wrong(capture):
    assert len(tshark(capture).splitlines()) == len(PACKETS)
    assert tshark(capture, "-Y", WRONG) == ""
    # It has computed them all; the Mobility Header's it does not.
    summed = "icmpv6.checksum.status == 1 || udp.checksum.status == 1 || mipv6"
    assert len(tshark(capture, "-Y", summed).splitlines()) == len(PACKETS)


def test_tshark_reads_the_values(capture):
    names = sorted({name for _, expected in PACKETS for name in expected})
    columns = [word for name in names for word in ("-e", name)]
    rows = list(csv.reader(io.StringIO(tshark(capture, "-T", "fields", "-E", "separator=;", *columns)), delimiter=";"))
    for number, ((_, expected), row) in enumerate(zip(PACKETS, rows, strict=True), 1):
        read = dict(zip(names, row, strict=True))
        assert {name: read[name] for name in expected} == expected, f"packet {number}"


def packets(file):
    """The packets as scapy reads them from the bytes behind the capture's framing."""
    inet = pytest.importorskip("scapy.layers.inet")
    inet6 = pytest.importorskip("scapy.layers.inet6")
    from scapy.utils import RawPcapNgReader

    with RawPcapNgReader(str(file)) as reader:
        return [(inet.IP if data[0] >> 4 == 4 else inet6.IPv6)(data) for data, _ in reader]


def test_scapy_reads_the_same_addresses_and_computes_the_same_checksums(capture):
    read = packets(capture)
    assert [(packet.src, packet.dst) for packet in read] == [addresses for addresses, _ in PACKETS]
    # It does not know the questions of fast handovers (RFC 5568).
    known = [packet for packet in read if bytes(packet.payload)[:1] != b"\x9a"]
    wrong = [number for number, packet in enumerate(known, 1) if write_checksums_anew(packet) != bytes(packet)]
    assert len(known) == len(read) - 2
    assert wrong == []


def write_checksums_anew(packet):
    """The packet's bytes as scapy writes them, with checksums of its own."""
    inet6 = pytest.importorskip("scapy.layers.inet6")
    again = packet.copy()
    summed = 0
    for layer in again.layers():
        if issubclass(layer, inet6.IPerror6):
            break  # What follows is quoted, and without an end.
        if layer is inet6.IPv6ExtHdrDestOpt:
            # scapy knows a home address only where it stands alone; padding it adds when it writes.
            again[layer].options = [option for option in again[layer].options if isinstance(option, inet6.HAO)]
        for field in {"cksum", "chksum"} & set(again[layer].fields):
            del again[layer].fields[field]
            summed += 1
    assert summed > 0, packet
    again.clear_cache()
    return bytes(again)


def test_scapy_reads_every_option_of_the_mobility_header(capture):
    inet6 = pytest.importorskip("scapy.layers.inet6")
    layers = [(packet, layer) for packet in packets(capture) for layer in packet.layers()]
    messages = [packet[layer] for packet, layer in layers if issubclass(layer, inet6._MobilityHeader)]
    request, home_init, care_init, home_test, care_test, update, answer, *others = messages
    correspondent, refusal, error, *fast, copies, ahead, initiate, agreed, local = others
    assert isinstance(request, inet6.MIP6MH_BRR)
    assert (home_init.cookie, care_init.cookie) == (bytes(range(1, 9)), bytes(range(1, 9)))
    assert (home_test.index, home_test.token) == (513, b"\xa1" * 8)
    assert (care_test.index, care_test.cookie) == (514, bytes(range(1, 9)))

    assert (update.seq, update.mhtime, str(update.flags)) == (65535, 105, "RKLHA")
    buffering, care_of, *prefixes, ipv4, proof = options(update)
    # The experimental option, which scapy does not know: type 18, and two bytes of ours.
    assert bytes(buffering) == b"\x12\x02\xba\x01"
    # Nor does it know those for IPv4 (RFC 5555).
    assert bytes(ipv4) == b"\x1d\x06\x42\x00\x0a\x01\x00\x00"
    assert (care_of.otype, care_of.acoa) == (3, CARE_OF)
    expected = [(56, "2001:db8:1:100::"), (56, "2001:db8:1:200::")]
    assert [(prefix.plen, prefix.prefix) for prefix in prefixes] == expected
    assert (proof.subtype, proof.mspi, proof.authdata) == (1, 4097, b"\xc1" * 12)

    assert (answer.status, answer.seq, answer.mhtime, str(answer.flags)) == (0, 65535, 105, "RK")
    buffering, advice, ipv4, proof = options(answer)
    assert bytes(buffering) == b"\x12\x02\xba\x01"
    assert bytes(ipv4) == b"\x1e\x06\x85\x00\x0a\x01\x00\x00"
    assert (advice.otype, advice.rinter, proof.mspi) == (2, 25, 4097)

    assert (correspondent.seq, str(correspondent.flags)) == (1, "A")
    indices, proof = options(correspondent)
    assert (indices.olen, indices.hni, indices.coni) == (4, 513, 514)
    assert (proof.olen, proof.authenticator.to_bytes(12, "big")) == (12, b"\xc2" * 12)

    assert (refusal.status, refusal.mhtime, options(refusal)) == (135, 0, [])
    assert (error.status, error.ha) == (1, HOME)
    # Of these it knows the types and no more.
    assert [message.mhtype for message in fast] == [8, 9]

    assert (copies.seq, copies.mhtime, str(copies.flags)) == (7, 8, "A")
    (last_received,) = options(copies)
    assert bytes(last_received) == b"\x12\x09\xbc" + b"\xd3" * 8
    assert [message.mhtype for message in (ahead, initiate, agreed)] == [8, 14, 15]
    assert (local.seq, local.mhtime, str(local.flags)) == (7, 8, "MA")


def options(message):
    """Mobility options but padding."""
    return [option for option in message.options if option.otype not in (0, 1)]
