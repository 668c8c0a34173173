"""A mobile's reverse tunnel of Mobile IPv4 across a soft handover, in a network whose times are known by hand."""

from __future__ import annotations

import pytest

from baton import Scenario

#: The home agent is 115 ms from the laptop over either link; the laptop sends a datagram every 10 ms.
NETWORK = """
name = "reverse-tunnel"
duration = "20 s"
home_agents.home-agent.prefix = "192.0.2.0/24"

[links.wavelan]
between = ["home-agent", "laptop"]
kind = "wired"
rate = "100 Mbit/s"
delay = "115 ms"

[links.gsm]
between = ["home-agent", "laptop"]
kind = "wired"
rate = "100 Mbit/s"
delay = "115 ms"

[links.ground]
between = ["correspondent", "home-agent"]
kind = "wired"
rate = "100 Mbit/s"
delay = "10 ms"

[mobiles.laptop]
timetable = [{ at = "0 s", attach = "wavelan" }, { at = "10 s", attach = "gsm" }]
mobility = { protocol = "mobile-ipv4", home_agent = "home-agent", delivery = "reverse-tunnel" }

[[flows]]
name = "voice"
from = "laptop"
to = "correspondent"
transport = "udp"
traffic = { kind = "constant", rate = "80 kbit/s", packet_size = "100 B" }
start = "2 s"
"""


@pytest.mark.parametrize(("simultaneous", "discarded"), [("false", range(22, 25)), ("true", range(1))])
def test_a_reverse_tunnel_from_the_former_address_needs_its_binding(simultaneous: str, discarded: range) -> None:
    """RFC 3024 section 4.3: the home agent takes packets from a registered care-of address only.

    It binds at 10.115 s, and its reply arrives at 10.23 s. All that the laptop sends meanwhile, from 10 s on, comes
    from the former address after the binding: 23 datagrams.
    """
    override = f"mobiles.laptop.mobility.simultaneous_bindings={simultaneous}"
    summary = Scenario.parse(NETWORK, overrides=[override]).run(seed=1).summary
    assert summary["discarded"]["tunnelled"] in discarded
