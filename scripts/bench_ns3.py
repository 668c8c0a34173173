"""One TCP flow over a long path, in Baton and in ns-3 by turns: data packets a processor second of each.

`make bench` runs it. ns-3 comes from its wheel, in this interpreter or in the one that NS3_PYTHON names:
`pip install ns3==3.44.post0`. "lean" has neither the queue disciplines that ns-3's address helper adds nor timestamps,
which Baton does not have here either; "as set up" is what the helpers make.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from baton import Scenario
from bench import line

SECONDS = 300
SEGMENT = 1460
TURNS = 3
# Of Baton in each turn, which take a tenth of a second each.
RUNS = 10
TARGET = ">= 100"
SCENARIO = f"""
name = "long-path"
duration = "{SECONDS} s"
[links.a]
between = ["server", "r1"]
kind = "wired"
rate = "500 Mbit/s"
delay = "0.5 ms"
queue = "1000 packets"
[links.b]
between = ["r1", "r2"]
kind = "wired"
rate = "5 Mbit/s"
delay = "288 ms"
queue = "250 packets"
[links.c]
between = ["r2", "client"]
kind = "wired"
rate = "500 Mbit/s"
delay = "0.5 ms"
queue = "1000 packets"
[record]
series = false
packets = false
[[flows]]
name = "download"
from = "server"
to = "client"
transport.congestion = "newreno"
transport.maximum_segment_size = "{SEGMENT} B"
transport.receive_buffer = "16 MiB"
transport.send_buffer = "16 MiB"
transport.timestamps = false
"""
# Run by the interpreter that has ns-3, with the seconds, the segment's length, and "lean" or nothing.
OF_NS3 = """
import sys, time
from ns import ns

seconds, segment, lean = int(sys.argv[1]), int(sys.argv[2]), "lean" in sys.argv
ns.Config.SetDefault("ns3::TcpL4Protocol::SocketType", ns.TypeIdValue(ns.TypeId.LookupByName("ns3::TcpNewReno")))
ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(segment))
for buffer in ("SndBufSize", "RcvBufSize"):
    ns.Config.SetDefault("ns3::TcpSocket::" + buffer, ns.UintegerValue(16 << 20))
if lean:
    ns.Config.SetDefault("ns3::TcpSocketBase::Timestamp", ns.BooleanValue(False))
nodes = ns.NodeContainer()
nodes.Create(4)
ns.InternetStackHelper().Install(nodes)
addresses = ns.Ipv4AddressHelper()
hops = (("500Mbps", "500us", "1000p"), ("5Mbps", "288ms", "250p"), ("500Mbps", "500us", "1000p"))
for number, (rate, delay, queue) in enumerate(hops):
    wire = ns.PointToPointHelper()
    wire.SetDeviceAttribute("DataRate", ns.StringValue(rate))
    wire.SetChannelAttribute("Delay", ns.StringValue(delay))
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.QueueSizeValue(ns.QueueSize(queue)))
    devices = wire.Install(nodes.Get(number), nodes.Get(number + 1))
    addresses.SetBase(ns.Ipv4Address(f"10.1.{number}.0"), ns.Ipv4Mask("255.255.255.0"))
    ends = addresses.Assign(devices)
    if lean:
        ns.TrafficControlHelper().Uninstall(devices)
ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
tcp = "ns3::TcpSocketFactory"
sinks = ns.PacketSinkHelper(tcp, ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 9).ConvertTo()).Install(nodes.Get(3))
source = ns.BulkSendHelper(tcp, ns.InetSocketAddress(ends.GetAddress(1), 9).ConvertTo())
source.SetAttribute("MaxBytes", ns.UintegerValue(0))
source.Install(nodes.Get(0))
ns.Simulator.Stop(ns.Seconds(seconds))
before = time.process_time()
ns.Simulator.Run()
used = time.process_time() - before
print(sinks.Get(0).__deref__().GetTotalRx() / segment / used)
"""


def of_baton() -> float:
    """Returns the data packets a processor second of Baton."""
    scenario = Scenario.parse(SCENARIO)
    before = time.process_time()
    delivered = sum(scenario.run().summary["flows"][0]["delivered_bytes"] for _ in range(RUNS))
    used = time.process_time() - before
    return delivered / SEGMENT / used


def of_ns3(python: str, *lean: str) -> float:
    """Returns the data packets a processor second of ns-3's own run, without its start."""
    command = [python, "-c", OF_NS3, str(SECONDS), str(SEGMENT), *lean]
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Prints both and their ratio."""
    python = os.environ.get("NS3_PYTHON", sys.executable)
    case = "data packets a processor second over ns-3's"
    if subprocess.run([python, "-c", "import ns"], stderr=subprocess.DEVNULL, check=False).returncode:
        line(case, "-", TARGET, "ns-3 is not installed; pip install ns3==3.44.post0, or name a Python in NS3_PYTHON")
        return
    turns = [(of_baton(), of_ns3(python, "lean"), of_ns3(python)) for _ in range(TURNS)]
    for place, name in ((1, "lean"), (2, "as set up")):
        ratios = [turn[0] / turn[place] for turn in turns]
        of_each = f"{max(turn[0] for turn in turns):,.0f} and {max(turn[place] for turn in turns):,.0f}"
        line(f"{case}, {name}", f"{statistics.median(ratios):.0f}", TARGET, of_each)


if __name__ == "__main__":
    main()
