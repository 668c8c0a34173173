"""Live runs with agents: the kernel's TCP survives a handover, and its correspondent sees the home address only."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parent.parent
LARGE = 3_000_000
# Two access links, and the routers there and a server on one ground. The mobile leaves the first one after 2.5 s: a
# connection that is opened before the mobile has registered begins a second later.
LINKS = """\
name = "kept"
duration = "15 s"

[links.near]
between = ["near-router", "mobile"]
kind = "wired"
rate = "8 Mbit/s"
delay = "10 ms"
queue = "50 packets"

[links.far]
between = ["far-router", "mobile"]
kind = "wired"
rate = "4 Mbit/s"
delay = "30 ms"
queue = "50 packets"

[links.near-ground]
between = ["near-router", "ground"]
kind = "wired"
delay = "2 ms"

[links.far-ground]
between = ["far-router", "ground"]
kind = "wired"
delay = "2 ms"

[links.company]
between = ["home-agent", "ground"]
kind = "wired"
delay = "2 ms"

[links.web]
between = ["server", "ground"]
kind = "wired"
delay = "2 ms"
"""
HARD = 'handover = "hard", outage = "300 ms", announced = "500 ms"'
SOFT = 'handover = "soft", overlap = "1 s"'
CABIN = """
[links.cabin]
between = ["mobile", "seat"]
kind = "wired"
delay = "1 ms"
"""

pytestmark = pytest.mark.live


def mobile(entry: str, protocol: str) -> str:
    return f"""
[mobiles.mobile]
timetable = [{{ at = "0 s", attach = "near" }}, {{ at = "2500 ms", attach = "far", {entry} }}]
mobility = {{ home_agent = "home-agent", {protocol} }}
"""


def ipv6(agent: str, entry: str, protocol: str) -> str:
    unasked = 'duplicate_address_detection = "unique-prefix"'
    agent = f'[home_agents.home-agent]\nprefix = "2001:db8:1::/64"\n{unasked}\n{agent}\n'
    return agent + mobile(entry, f"{unasked}, {protocol}")


def ipv4(entry: str, protocol: str) -> str:
    return '[home_agents.home-agent]\nprefix = "192.0.2.0/24"\n' + mobile(
        entry, f'protocol = "mobile-ipv4", {protocol}'
    )


def flow(to: str, more: str = "") -> str:
    return f'\n[[flows]]\nname = "download"\nfrom = "server"\nto = "{to}"\ntransport.profile = "linux-6"\n{more}'


def live(tmp_path: Path, scenario: str | Path, *arguments: object) -> subprocess.CompletedProcess:
    """Runs a scenario live, by its text or its file, into the folder `out`."""
    file = scenario if isinstance(scenario, Path) else tmp_path / "kept.toml"
    if not isinstance(scenario, Path):
        file.write_text(scenario)
    command = [sys.executable, "-m", "baton", "live", file, "--json", "--out", "out", *arguments]
    return subprocess.run(
        list(map(str, command)),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def fetched(tmp_path: Path, scenario: str, bind: str) -> dict:
    """Lets curl fetch a file across the handover, and returns the summary. The server's kernel does not probe (RFC 8985
    section 7) while a gateway's window is closed."""
    (tmp_path / "large").write_bytes(bytes(LARGE))
    serve = f"{shlex.quote(sys.executable)} -m http.server --bind {bind} 8000"
    server = f"echo 0 > /proc/sys/net/ipv4/tcp_early_retrans; {serve}"
    fetch = ["curl", "--fail", "-s", "-o", "/dev/null", "http://server:8000/large"]
    process = live(tmp_path, scenario, "--server", server, "--", *fetch)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def peers(tmp_path: Path) -> set[str]:
    """Addresses of which the server's kernel knows."""
    lines = (tmp_path / "out" / "server.log").read_text().splitlines()
    return {line.split()[0] for line in lines if '"GET' in line}


def around(tmp_path: Path, link: str) -> set[int]:
    """Bytes that packets of the download have more on a link than at the server, those that passed both."""
    rows = pq.read_table(tmp_path / "out" / "packets.parquet").to_pylist()
    rows = [row for row in rows if row["flow"] == "tcp-8000-1"]
    plain = {row["packet"]: row["wire_bytes"] for row in rows if row["link"] == "web"}
    return {row["wire_bytes"] - plain[row["packet"]] for row in rows if row["link"] == link and row["packet"] in plain}


def lost_by_moving(summary: dict) -> int:
    """Packets of the download that did not come to the mobile because it moved.

    Not because a queue was full, or because they were too long for the tunnel, as the first ones are.
    """
    (download,) = (flow for flow in summary["flows"] if flow["name"] == "tcp-8000-1")
    assert download["delivered_bytes"] >= LARGE
    lost_by = download["packets"]["to_sink"]["lost_by"]
    assert lost_by["channel"] == 0
    return lost_by["link_down"] + lost_by["host"] - summary["discarded"]["too_big"]


def completed(summary: dict) -> list[bool]:
    """For each handover whether it was completed while the mobile had something under way."""
    return [record["completed_s"] is not None and record["active"] for record in summary["handovers"]]


@pytest.mark.parametrize(
    ("to", "protocol", "home"),
    [
        ("mobile", 'protocol = "mobile-ipv6"', "2001:db8:1::40:0"),
        ("seat", 'protocol = "nemo", network_prefix = "2001:db8:1:100::/64"', "2001:db8:1:100::"),
    ],
)
def test_a_download_goes_on_through_mobile_ipv6_and_its_home_agent_holds_what_comes_meanwhile(
    tmp_path, to, protocol, home
):
    agent = ipv6('buffering = { size = "1 MB" }', HARD, f"{protocol}, asks_for_buffering = true")
    links = LINKS + (CABIN if to == "seat" else "")
    summary = fetched(tmp_path, links + agent + flow(to), "::")
    assert completed(summary) == [True]
    (peer,) = peers(tmp_path)
    assert peer.startswith(home)
    # Always away: a tunnel on both links.
    assert around(tmp_path, "near") == around(tmp_path, "far") == {40}
    (held,) = (each for each in summary["agents"] if each["agent"] == "home agent")
    assert held["held"] > 10
    assert (held["released"], held["overflowed"], held["expired"]) == (held["held"], 0, 0)
    assert lost_by_moving(summary) == 0
    # The outage and a registration; not a timeout more.
    assert 0.3 <= summary["program"]["longest_stall_s"] < 1.5


@pytest.mark.parametrize("agents", ["", "foreign_agents = { near-router = {}, far-router = {} }\n"])
@pytest.mark.parametrize("entry", [SOFT, 'handover = "hard", outage = "200 ms"'])
def test_a_download_goes_on_through_mobile_ipv4(tmp_path, agents, entry):
    summary = fetched(tmp_path, agents + LINKS + ipv4(entry, 'delivery = "reverse-tunnel"') + flow("mobile"), "0.0.0.0")
    assert completed(summary) == [True]
    assert peers(tmp_path) == {"192.0.2.2"}
    # The tunnel ends at the foreign agent, or at the mobile.
    assert around(tmp_path, "far") == ({0} if agents else {20})
    assert around(tmp_path, "far-ground") == {20}
    assert (lost_by_moving(summary) == 0) == (entry == SOFT)


def test_an_aircraft_changes_its_cell_of_l_dacs1_and_loses_nothing_that_its_home_agent_holds(tmp_path):
    study = ROOT / "studies" / "D" / "proposal-2.toml"
    # Near the border of the cells, which it crosses after some seconds; a short map.
    legs = ", ".join(f"{{ latitude = {north}, longitude = 5.0, altitude = '10 km' }}" for north in (51.55, 52.0))
    changes = [
        f"mobiles.aircraft.track.legs=[{legs}]",
        "mobiles.aircraft.track.begin_jitter=0 s",
        "flows.weather.start=6 s",
        "flows.weather.start_jitter=0 s",
        "flows.weather.traffic.bytes=40 kB",
        "duration=26 s",
    ]
    sets = [word for change in changes for word in ("--set", change)]
    process = live(tmp_path, study, "--ignore-unsupported", *sets)
    assert process.returncode == 0, process.stderr
    summary = json.loads(process.stdout)
    assert completed(summary) == [True]
    (weather,) = summary["flows"]
    assert weather["delivered_bytes"] == 40_000
    assert summary["agents"][0]["held"] > 0
    assert weather["packets"]["to_sink"]["lost"] == 0


def gateway(remedy: str) -> Sequence[object]:
    return ["--set", f"flows.download.remedies={remedy}"]


def last_hop(down: str) -> str:
    """A mobile that stays at a gateway, by an access link with these settings, and a flow to it."""
    links = LINKS[: LINKS.index("[links.far-ground]")]
    links = links.replace('rate = "8 Mbit/s"', f'rate = "8 Mbit/s"\n{down}', 1)
    links = links.replace('"far-router"', '"near-router"').replace('"ground"', '"server"').replace("15 s", "9 s")
    stays = '[mobiles.mobile]\ntimetable = [{ at = "0 s", attach = "near" }]\n'
    return links + stays + flow("mobile", 'traffic.bytes = "3 MB"\n')


@pytest.mark.parametrize("remedy", ["snoop", "split-connection"])
def test_a_gateway_hides_the_losses_of_the_last_hop_from_the_kernels_tcp(tmp_path, remedy):
    text = last_hop("down = { packet_error_rate = 0.02 }")
    found = {}
    for name in ("none", remedy):
        out = tmp_path / name
        out.mkdir()
        process = live(out, text, *gateway(name))
        assert process.returncode == 0, process.stderr
        (download,) = json.loads(process.stdout)["flows"]
        assert download["delivered_bytes"] == LARGE
        assert download["packets"]["to_sink"]["lost"] >= 10
        found[name] = download
    assert found[remedy]["completion_s"] < found["none"]["completion_s"]
    if remedy == "split-connection":
        # The server's kernel may probe (RFC 8985 section 7) while the gateway's window is closed.
        assert found[remedy]["retransmitted"] <= 2 < 10 <= found["none"]["retransmitted"]


def test_a_gateway_splits_the_connections_of_programs(tmp_path):
    """Either half loses only where it is: the server's kernel sends nothing twice, whatever the last hop loses."""
    text = last_hop("down = { packet_error_rate = 0.02 }")
    found = {}
    for remedy in ("none", "split-connection", "snoop"):
        out = tmp_path / remedy
        out.mkdir()
        found[remedy] = fetched(out, text + f'remedies = "{remedy}"\n', "0.0.0.0")
        (download,) = found[remedy]["flows"]
        assert download["name"] == "tcp-8000-1"
        assert download["packets"]["to_sink"]["lost"] >= 10
    again = {remedy: summary["flows"][0]["retransmitted"] for remedy, summary in found.items()}
    assert again["split-connection"] == 0 < again["none"]
    assert again["snoop"] < again["none"]


def test_a_remedy_that_no_program_can_have_is_refused_with_the_nearest(tmp_path):
    inside = last_hop("") + 'remedies = "freeze-tcp"\n'
    process = live(tmp_path, inside, "--", "true")
    assert process.returncode == 2
    assert '"freeze-tcp" works inside the TCP of an end' in process.stderr
    assert "ready-gateway" in process.stderr
    behind = last_hop("") + 'remedies = "snoop"\n'
    process = live(tmp_path, behind, "--set", "live.nat=true", "--", "true")
    assert process.returncode == 2
    assert '"snoop" knows the mobile by its one address, which live.nat takes from it' in process.stderr


def test_aerotp_gateways_carry_the_kernels_tcp_over_a_channel_on_which_it_stands(tmp_path):
    short = ["--set", "flows.download.traffic.bytes=1 MB", "--set", "duration=8 s"]
    process = live(tmp_path, ROOT / "scenarios" / "aerotp-gateway.toml", *short)
    assert process.returncode == 0, process.stderr
    summary = json.loads(process.stdout)
    (download,) = summary["flows"]
    assert (download["delivered_bytes"], download["retransmitted"]) == (1_000_000, 0)
    assert not any("forges" in doubt for doubt in summary["live"]["doubts"])


def test_a_remedy_inside_the_kernels_tcp_is_refused_with_the_nearest(tmp_path):
    text = LINKS + ipv6("", SOFT, 'protocol = "mobile-ipv6"') + flow("mobile", 'remedies = "ready-mobile"\n')
    process = live(tmp_path, text)
    assert process.returncode == 2
    assert "flows.download.remedies" in process.stderr
    assert "ready-gateway" in process.stderr
