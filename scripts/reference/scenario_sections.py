"""The pages on scenario files: a page a table, with an example that holds every key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """One table of the format."""

    path: str
    """The table's place in the schema; `*` is any name. `links.*.down` stands for both directions."""
    text: str
    example: str
    without: str = ""
    """Place of a table whose keys, merged into this one, have a page of their own."""
    default: str = ""
    """The default of keys whose comments name none."""


SECTIONS = [
    Section(
        "",
        "Nodes need no table: they are the ends of links.",
        '''
format = 1
name = "to-the-car"
description = "A call goes on while the caller walks to the car"
duration = "30 s"
seed = 7
expect = ["flows.call.lost_packets < 20"]

[links.home]
between = ["server", "phone"]
kind = "wifi"

[links.car]
between = ["server", "phone"]
kind = "wired"
rate = "8 Mbit/s"
delay = "40 ms"

[links.radio]
between = ["aircraft-gateway", "ground-gateway"]
kind = "wired"
rate = "5 Mbit/s"
delay = "10 ms"

[aerotp_gateways.air]
link = "radio"

[mobiles.phone]
timetable = [{ at = "0 s", attach = "home" }, { at = "12 s", attach = "car", handover = "hard", outage = "300 ms" }]

[[changes]]
at = "20 s"
link = "car"
rate = "2 Mbit/s"

[[flows]]
name = "call"
from = "server"
to = "phone"
transport = "udp"
traffic = "constant"
rate = "64 kbit/s"
packet_size = "160 B"

[lines.valley]
tunnels = [{ from = "9 km", to = "19.6 km" }]

[home_agents.server]
prefix = "2001:db8:1::/64"

[foreign_agents.server]

[[losses]]
message = "Binding Update"

[record]
packets = false

[live]
address = "new"
''',
    ),
    Section(
        "links.*",
        """A link between two nodes. [Keys of a direction](links-down.md) stand here too and hold for both directions, or in
`down` and `up` for one. The `kind` gives all of them their defaults: [wired](../../models/wired.md), [geo](../../models/geo.md),
[wifi](../../models/wifi.md), [gsm](../../models/gsm.md), [wifi6, lte, 5g, starlink](../../models/presets.md), [trace](../../models/trace.md). With `kind = "ldacs1"` it is a radio network,
which joins its cells' nodes with every mobile whose timetable or failback names it: [L-DACS1](../../models/ldacs1.md). Each
of these joints is a link of its own in the results, called like `aeronautical.home.aircraft`.""",
        '''
[links.hall]
between = ["access-point", "laptop"]
kind = "wifi"
mtu = "1400 B"
medium_access = true
preamble = "short"
rate = "11 Mbit/s"                     # a key of a direction, for both
down = { queue = "50 packets" }        # for one
up = { queue = "20 packets" }
shapers = [{ flows = ["web"], rate = "2 Mbit/s", burst = "15 kB", queue = "50 packets" }]
policers = [{ flows = ["voice"], rate = "100 kbit/s", burst = "4 kB" }]

[lines.valley]

[links.satellite]
between = ["gateway", "train"]
kind = "geo"
line_of_sight = { announced = "2 s" }
shadowing = { mean_clear = "20 s", mean_shadow = "100 ms" }

[links.station]
between = ["gateway", "train"]
kind = "wifi"
coverage = { from = "30 km" }

[links.recorded]
between = ["gateway", "access-point"]
kind = "trace"
start = "random"
csv = "traces/rail.down.csv"

[mobiles.train]
failback = { prefer = ["station", "satellite"] }
track = { along = "valley", speed = "160 km/h" }

[links.aeronautical]
kind = "ldacs1"
cells.home = { node = "ground", position = { latitude = 50.9, longitude = 5.7 } }
user_rate = "31.5 kbit/s"
handover_type = 2
packet_bit = true
base_station_buffering = true
modulation = "adaptive"
errors = "by-signal"
joint_coding = true
common_control_frames = 3
queue = "64 kB"

[[flows]]
name = "web"
from = "access-point"
to = "laptop"

[[flows]]
name = "voice"
from = "access-point"
to = "laptop"
''',
        without="links.*.down",
    ),
    Section(
        "links.*.down",
        "In a link, in its `down` and `up`, and in a change. Traces: [the page on them](../../models/trace.md).",
        '''
[links.radio]
between = ["base", "van"]
kind = "wired"
rate = "2 Mbit/s"
delay = "30 ms"
jitter = "5 ms"
queue = "64 kB"
flow_control = "2 packets"
retransmission = { attempts = 8, pause = "20 ms" }
packet_error_rate = 0.001
bit_error_rate = 1e-7
damaged = "dropped"
spares = "nothing"
burst_loss = { mean_good = "20 s", mean_bad = "300 ms" }
framing = { bytes_per_packet = 8 }

[links.satellite]
between = ["base", "van"]
kind = "trace"
down = { bandwidth = "traces/leo.bw", delay = "traces/leo.delay", at_end = "hold" }
up = { mahimahi = "traces/lte-drive.up" }

[links.rail]
between = ["base", "van"]
kind = "trace"
csv = "traces/rail.down.csv"
''',
    ),
    Section(
        "links.*.down.queue",
        "As a table; a queue size alone is a drop-tail queue. [Queues](../../models/queues.md).",
        '''
[links.dsl]
between = ["provider", "home"]
kind = "wired"

[links.dsl.down.queue]
limit = "200 packets"
management = "red"
minimum_threshold = 20
maximum_threshold = 60
maximum_probability = 0.1
weight = 0.002

[links.dsl.up.queue]
management = "codel"
target = "10 ms"
interval = "150 ms"

[links.uplink]
between = ["home", "office"]
kind = "wired"
queue = { limit = "64 kB", management = "priority" }
''',
    ),
    Section(
        "links.*.down.retransmission",
        "A link sends again what its channel has lost. [Links that send again](../../models/retransmission.md).",
        '''
[links.radio]
between = ["base", "van"]
kind = "wired"
packet_error_rate = 0.1
retransmission = { attempts = 8, pause = "20 ms" }
''',
    ),
    Section(
        "links.*.shapers",
        "Token buckets at the entrance of a link; what is too much waits. [Shapers and policers](../../models/shapers.md).",
        '''
[links.satellite]
between = ["gateway", "train"]
kind = "geo"
shapers = [
  { flows = ["mail", "web"], per_flow = true, rate = "1 Mbit/s", burst = "3000 B", queue = "60 packets", direction = "down" },
]

[[flows]]
name = "mail"
from = "gateway"
to = "train"

[[flows]]
name = "web"
from = "gateway"
to = "train"
''',
    ),
    Section(
        "links.*.policers",
        "Token buckets at the entrance of a link; what is too much is dropped. [Shapers and policers](../../models/shapers.md).",
        '''
[links.satellite]
between = ["gateway", "train"]
kind = "geo"
policers = [{ flows = ["voice"], per_flow = false, rate = "100 kbit/s", burst = "1500 B", direction = "up" }]

[[flows]]
name = "voice"
from = "train"
to = "gateway"
transport = "udp"
traffic = "constant"
rate = "64 kbit/s"
packet_size = "160 B"
''',
    ),
    Section(
        "links.*.down.burst_loss",
        "A channel that is now good, now bad, each for exponentially distributed times. [Channels](../../models/channel.md).",
        '''
[links.radio]
between = ["base", "van"]
kind = "wired"
burst_loss = { mean_good = "20 s", mean_bad = "300 ms", loss_good = 0.001, loss_bad = 0.8 }
''',
    ),
    Section(
        "links.*.down.framing",
        "Time on the line is (packet bytes + `bytes_per_packet`) × `bits_per_byte` / rate.",
        '''
[links.modem]
between = ["provider", "home"]
kind = "wired"
rate = "56 kbit/s"
framing = { bytes_per_packet = 8, bits_per_byte = 10 }
''',
    ),
    Section(
        "links.*.line_of_sight",
        "A satellite that a mobile on a [line](lines.md) sees outside tunnels: [geo](../../models/geo.md).",
        '''
[lines.valley]
tunnels = [{ from = "9 km", to = "19.6 km" }]

[links.satellite]
between = ["gateway", "train"]
kind = "geo"
line_of_sight = { repointing = "500 ms", synchronisation = "50 ms", announced = "2 s" }

[mobiles.train]
timetable = [{ at = "0 s", attach = "satellite" }]
track = { along = "valley", speed = "320 km/h" }
''',
    ),
    Section(
        "links.*.shadowing",
        "Moments in which something stands between a satellite and the second node: [geo](../../models/geo.md).",
        '''
[links.satellite]
between = ["gateway", "train"]
kind = "geo"
shadowing = { mean_clear = "20 s", mean_shadow = "100 ms" }
''',
    ),
    Section(
        "links.*.coverage",
        "Access points that a mobile on a [line](lines.md) passes: [wifi](../../models/wifi.md).",
        '''
[lines.valley]

[links.tunnel]
between = ["gateway", "train"]
kind = "wifi"

[links.tunnel.coverage]
from = "9 km"
to = "19.6 km"
spacing = "400 m"
transmit_power = "20 dBm"
threshold = "-75 dBm"
margin_db = 6
frequency = "5.2 GHz"
access_point_height = "4 m"
mobile_height = "3.5 m"
synchronisation = "100 ms"

[mobiles.train]
timetable = [{ at = "0 s", attach = "tunnel" }]
track = { along = "valley", speed = "320 km/h" }
''',
    ),
    Section(
        "lines.*",
        "A line along which mobiles run. Places on it are measured from its beginning.",
        '''
[lines.valley]
tunnels = [{ from = "9 km", to = "19.6 km" }]
''',
    ),
    Section(
        "lines.*.tunnels",
        "A tunnel hides satellites; so does what it runs through, a way ahead of it or behind it.",
        '''
[lines.valley]
tunnels = [
  { from = "9 km", to = "19.6 km", shadow_before = "127 m" },
  { from = "31 km", to = "33 km", shadow_before = "60 m", shadow_behind = "5 m" },
]
''',
    ),
    Section(
        "links.*.cells.*",
        "A cell of a radio network. Its node is an access router, to which another link leads.",
        '''
[links.aeronautical]
kind = "ldacs1"

[links.aeronautical.cells.home]
node = "ground"
position = { latitude = 50.9, longitude = 5.7 }
radius = "200 km"
scan_below = "-93 dBm"
force_below = "-95 dBm"
user_rate = "158 kbit/s"
forward_frequency = "993.5 MHz"
return_frequency = "1056.5 MHz"
''',
    ),
    Section(
        "links.*.cells.*.position",
        "A point on or above the earth.",
        '''
[links.aeronautical]
kind = "ldacs1"
cells.home = { node = "ground", position = { latitude = 50.9, longitude = 5.7, altitude = "30 m" } }
''',
    ),
    Section(
        "mobiles.*",
        "A node that uses one of its links at a time, by a timetable, by failback or by a decision: exactly one of them.",
        '''
[mobiles.laptop]
timetable = [{ at = "0 s", attach = "office" }, { at = "60 s", attach = "cellular" }]

[mobiles.ship]
count = 3                                            # ship-1, ship-2 and ship-3
failback = { prefer = ["harbour", "satellite"] }     # or: decision = { class = "python:mine.Cheapest", links = ["harbour", "satellite"] }

[home_agents.airline]
prefix = "2001:db8:1::/64"

[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "home-cell" }, { at = "60 s", attach = "foreign-cell" }]
mobility = { protocol = "mobile-ipv6", home_agent = "airline" }

[mobiles.freighter]
timetable = [{ at = "0 s", attach = "aeronautical" }]
track = { file = "traces/flight.csv" }
''',
    ),
    Section(
        "mobiles.*.track",
        "Track of a mobile: on a radio network `position`, `legs`, `timetable` or `file`, on a [line](lines.md) `along`; exactly "
        "one of them.",
        '''
[lines.valley]

[links.satellite]
between = ["gateway", "train"]
kind = "geo"
line_of_sight = {}

[mobiles.train]
timetable = [{ at = "0 s", attach = "satellite" }]
track = { along = "valley", from = "40 km", to = "0 km", speed = "320 km/h", begin = "10 s" }

[mobiles.airliner]
count = 12
timetable = [{ at = "0 s", attach = "aeronautical" }]

[mobiles.airliner.track]
legs = [{ latitude = 50.9, longitude = 5.7, altitude = "10 km" }, { latitude = 52.3, longitude = 9.7, altitude = "10 km" }]
speed = "800 km/h"
begin = "10 s"
begin_jitter = "700 ms"
spacing = "60 s"

[mobiles.balloon]
timetable = [{ at = "0 s", attach = "aeronautical" }]
track = { position = { latitude = 51.2, longitude = 6.8, altitude = "20 km" } }

[mobiles.helicopter]
timetable = [{ at = "0 s", attach = "aeronautical" }]
track = { timetable = [{ at = "0 s", latitude = 50.9, longitude = 5.7 }, { at = "60 s", latitude = 51.0, longitude = 5.8 }] }

[mobiles.freighter]
timetable = [{ at = "0 s", attach = "aeronautical" }]
track = { file = "traces/flight.csv" }
''',
    ),
    Section(
        "mobiles.*.track.timetable",
        "Places, each from a time on, ascending.",
        '''
[mobiles.helicopter.track]
timetable = [{ at = "0 s", latitude = 50.9, longitude = 5.7, altitude = "300 m" }, { at = "60 s", latitude = 51.0, longitude = 5.8 }]
''',
    ),
    Section(
        "mobiles.*.mobility",
        "The protocol that keeps a mobile reachable, with all its messages: [Mobile IPv6](../../models/mobile-ipv6.md) or "
        "[Mobile IPv4](../../models/mobile-ipv4.md).",
        '''
[home_agents.airline]
prefix = "2001:db8:1::/64"
buffering = { size = "32 kB" }

[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "home-cell" }, { at = "60 s", attach = "foreign-cell" }]

[mobiles.aircraft.mobility]
protocol = "nemo"
home_agent = "airline"
home_link = "home-cell"
network_prefix = "2001:db8:1:100::/64"
duplicate_address_detection = "icao-address"
advertisements = "frequent"
route_optimization = false
asks_for_buffering = true
access_router_buffering = { size = "32 kB" }
lifetime = "10 min"
clamp_segment_size = true

[mobiles.helicopter]
timetable = [{ at = "0 s", attach = "north-cell" }, { at = "60 s", attach = "south-cell" }]

[mobiles.helicopter.mobility]
protocol = "mobile-ipv6"
home_agent = "airline"
multicast_buffering = { size = "16 kB" }
aaa = { server = "radius", processing = "20 ms" }
mih = { point_of_service = "radius" }

[home_agents.university]
prefix = "192.0.2.0/24"

[mobiles.laptop]
timetable = [{ at = "0 s", attach = "office" }, { at = "60 s", attach = "cellular" }]

[mobiles.laptop.mobility]
protocol = "mobile-ipv4"
home_agent = "university"
care_of_address = "dhcp"
conflict_check = "background"
delivery = "reverse-tunnel"
policy = [{ to = "server", delivery = "care-of-address" }]
simultaneous_bindings = true
smooth_handoff = false
''',
    ),
    Section(
        "mobiles.*.mobility.aaa",
        "AAA server that decides whether a mobile may use a visited network: [Mobile IPv6](../../models/mobile-ipv6.md).",
        '''
[home_agents.airline]
prefix = "2001:db8:1::/64"

[mobiles.helicopter]
timetable = [{ at = "0 s", attach = "north-cell" }, { at = "60 s", attach = "south-cell" }]
mobility = { protocol = "mobile-ipv6", home_agent = "airline", aaa = { server = "radius", processing = "20 ms" } }
''',
    ),
    Section(
        "mobiles.*.mobility.mih",
        "Media-independent handover services, by the commands of IEEE 802.21: [Mobile IPv6](../../models/mobile-ipv6.md).",
        '''
[home_agents.airline]
prefix = "2001:db8:1::/64"

[mobiles.helicopter]
timetable = [{ at = "0 s", attach = "north-cell" }, { at = "60 s", attach = "south-cell", announced = "1 s" }]
mobility = { protocol = "mobile-ipv6", home_agent = "airline", mih = { point_of_service = "airline" } }
''',
    ),
    Section(
        "mobiles.*.mobility.policy",
        "Lines of the mobile policy table of [Mobile IPv4](../../models/mobile-ipv4.md). The first flow of a host has port 5001, each "
        "further one the next.",
        '''
[home_agents.university]
prefix = "192.0.2.0/24"

[mobiles.laptop]
timetable = [{ at = "0 s", attach = "office" }, { at = "60 s", attach = "cellular" }]

[mobiles.laptop.mobility]
protocol = "mobile-ipv4"
home_agent = "university"
policy = [{ to = "server", port = 5001, delivery = "care-of-address" }]
''',
    ),
    Section(
        "home_agents.*",
        "A node that keeps the bindings of mobiles and sends them their packets, while they move by one strategy at most.",
        '''
[home_agents.airline]
prefix = "2001:db8:1::/64"
duplicate_address_detection = "unique-prefix"
buffering = { size = "32 kB", age = "10 s" }
longest_lifetime = "1 h"
clamp_segment_size = true

[home_agents.university]
prefix = "2001:db8:2::/64"
bicasting = "2 s"
''',
    ),
    Section(
        "foreign_agents.*",
        "A router of Mobile IPv4 that takes visiting mobiles in on all its access links, alone or below a gateway. On those links "
        "mobiles use its address, unless they say otherwise.",
        '''
[foreign_agents]
campus = {}
library = { gateway = "campus" }
canteen = { gateway = "campus" }
''',
    ),
    Section(
        "home_agents.*.buffering",
        "A bounded buffer for the packets of one mobile that has asked for it.",
        '''
[home_agents.airline]
prefix = "2001:db8:1::/64"
buffering = { size = "32 kB", age = "10 s", overflow = "drop-oldest", pace = "60 kbit/s", drop_duplicates = false }
''',
    ),
    Section(
        "mobiles.*.timetable",
        "Entries, each a handover: from a time on, a mobile uses a link. [Handovers](../../models/handover.md).",
        '''
[mobiles.laptop]
timetable = [
  { at = "0 s", attach = "office" },
  { at = "20 s", jitter = "2 s", attach = "cellular", handover = "soft", overlap = "1 s", outgoing_after = "200 ms" },
  { at = "60 s", attach = "office", handover = "hard", outage = "800 ms", old_queue = "discard" },
]

[home_agents.airline]
prefix = "2001:db8:1::/64"

[mobiles.aircraft]
timetable = [{ at = "0 s", attach = "cell" }, { at = "60 s", attach = "other-cell", handover = "hard", announced = "1 s" }]
mobility = { protocol = "mobile-ipv6", home_agent = "airline" }
''',
    ),
    Section(
        "mobiles.*.failback",
        "The most preferred link that is up, with rules for leaving and returning. `changes` say when links go down.",
        '''
[mobiles.ship]
failback = { prefer = ["harbour", "satellite"], hold_time = "10 s", hysteresis = "1 min", longest_switch_time = "50 ms" }

[[changes]]
at = "300 s"
link = "harbour"
state = "down"
''',
    ),
    Section(
        "mobiles.*.decision",
        "A class of yours chooses: [Write a remedy or a handover decision](../../how-to/write-a-remedy-or-a-decision.md).",
        '''
[mobiles.ship]
failback = { prefer = ["harbour", "satellite"] }
# with a file mine.py beside the scenario instead:
# decision = { class = "python:mine.Cheapest", links = ["harbour", "satellite"] }
''',
    ),
    Section(
        "changes",
        "From a time on, a link has other parameters, or another state. [Keys of a direction](links-down.md) stand here too.",
        '''
[[changes]]
at = "30 s"
link = "cellular"
rate = "500 kbit/s"                    # a key of a direction
mtu = "1300 B"
down = { packet_error_rate = 0.01 }
up = { packet_error_rate = 0.05 }

[[changes]]
at = "40 s"
link = "cellular"
state = "down"
''',
        without="changes.down",
    ),
    Section(
        "losses",
        """Signalling messages that are lost where their sender hands them to its link, whatever the link does: what happens if one does
not arrive? They stand in the [table of signals](../results.md#signals) with the fate `scenario`. Not for live runs.""",
        '''
[[losses]]
message = "Binding Update"
buffering = false                      # a regular one, not one that asks for buffering
after = "10 s"
count = 1
''',
    ),
    Section(
        "aerotp_gateways.*",
        """AeroTP on a link between hosts that speak TCP and UDP: both its ends are
[gateways](../../models/aerotp.md#gateways).""",
        '''
[links.lan]
between = ["client", "airborne"]
kind = "wired"
rate = "1 Gbit/s"
delay = "1 ms"

[links.radio]
between = ["airborne", "ground"]
kind = "wired"
rate = "5 Mbit/s"
delay = "10 ms"

[links.network]
between = ["ground", "server"]
kind = "wired"
rate = "1 Gbit/s"
delay = "1 ms"

[aerotp_gateways.air]
link = "radio"
rules = [{ port = 5001, mode = "near-reliable" }, { mode = "reliable" }]

[[flows]]
name = "download"
from = "server"
to = "client"
''',
    ),
    Section(
        "aerotp_gateways.*.rules",
        "Which connections cross in which mode: the first rule that fits counts. Besides these it has the keys of [a flow's `aerotp`](flows-aerotp.md).",
        '''
[links.lan]
between = ["client", "airborne"]
kind = "wired"
rate = "1 Gbit/s"
delay = "1 ms"

[links.radio]
between = ["airborne", "ground"]
kind = "wired"
rate = "5 Mbit/s"
delay = "10 ms"

[links.network]
between = ["ground", "server"]
kind = "wired"
rate = "1 Gbit/s"
delay = "1 ms"

[aerotp_gateways.air]
link = "radio"
rules = [
  { port = 5001, mode = "near-reliable", coding = "adaptive", packets_per_mack = 4, mack_delay = "10 ms", class = 1, close_timeout = "300 s" },
  { code_point = 46, mode = "quasi-reliable", coding = { words = 32 }, blocks = { data = 8, repair = 2 }, reordering_wait = "50 ms" },
  { destination = "10.0.0.0/8", profile = "rfc", rate = "4 Mbit/s", send_buffer = "1 MB", receive_buffer = "1 MB" },
]

[[flows]]
name = "download"
from = "server"
to = "client"
''',
    ),
    Section(
        "flows",
        "Data that one application sends to another. [Traffic](../../models/traffic.md) says what each kind does. "
        "Remedies each have [a page](../../models/README.md).",
        '''
[[flows]]
name = "download"
from = "server"
to = "laptop"
transport = "tcp"
profile = "rfc"
congestion = "cubic"
remedies = "none"                   # or ["freeze-tcp", "snoop"], where one end is a mobile
tcp = { receive_buffer = "64 kB" }
traffic = "bulk"
bytes = "20 MB"
copies = 2
class = "voice"
priority = 1
acknowledged = true
start = "1 s"
start_jitter = "500 ms"
stop = "90 s"

[[flows]]
name = "voice"
from = "laptop"
to = "server"
transport = "udp"
code_point = 46                     # expedited forwarding
traffic = "on-off"
rate = "64 kbit/s"
packet_size = "160 B"
on = "1 s"
off = "1.35 s"
random = true

[[flows]]
name = "browsing"
from = "server"
to = "laptop"
traffic = "pages"
request = "400 B"
page = "300 kB"
think_time = "3 s"
count = 10

[[flows]]
name = "ping"
from = "laptop"
to = "server"
traffic = "ping"
interval = "1 s"
size = "56 B"

[[flows]]
name = "telemetry"
from = "laptop"
to = "server"
transport = "aerotp"
bytes = "1 MB"
aerotp = { mode = "reliable" }

[[flows]]
name = "page"
from = "server"
to = "laptop"
transport = "quic"
bytes = "1 MB"
quic = { congestion = "cubic" }
''',
    ),
    Section(
        "flows.quic",
        "The settings of [QUIC](../../models/quic.md), at both ends.",
        '''
[[flows]]
name = "download"
from = "server"
to = "laptop"
transport = "quic"
bytes = "20 MB"

[flows.quic]
congestion = "new-reno"
address = "kept"
''',
    ),
    Section(
        "flows.aerotp",
        "The settings of [AeroTP](../../models/aerotp.md), at both ends.",
        '''
[[flows]]
name = "telemetry"
from = "aircraft"
to = "ground"
transport = "aerotp"

[flows.aerotp]
mode = "near-reliable"
coding = "adaptive"
packets_per_mack = 4
mack_delay = "10 ms"
class = 3                            # 0 to 7
rate = "4.5 Mbit/s"
send_buffer = "1 MB"
receive_buffer = "1 MB"
close_timeout = "300 s"

[[flows]]
name = "video"
from = "aircraft"
to = "ground"
transport = "aerotp"
traffic = "constant"
rate = "1 Mbit/s"
packet_size = "1000 B"
aerotp = { mode = "quasi-reliable", coding = { words = 32 }, blocks = { data = 8, repair = 4 }, reordering_wait = "50 ms" }

[[flows]]
name = "recording"
from = "aircraft"
to = "operations"
transport = "aerotp"
aerotp = { mode = "reliable", paths = ["satellite", "mast"] }
''',
    ),
    Section(
        "flows.aerotp.blocks",
        "A [code across packets](../../models/fec.md), which restores packets that were lost whole.",
        '''
[[flows]]
name = "video"
from = "aircraft"
to = "ground"
transport = "aerotp"
aerotp = { mode = "quasi-reliable", coding = "none", blocks = { data = 8, repair = 4 } }
''',
    ),
    Section(
        "flows.aerotp.coding",
        "Always the same redundancy in each packet.",
        '''
[[flows]]
name = "video"
from = "aircraft"
to = "ground"
transport = "aerotp"
aerotp = { mode = "quasi-reliable", coding = { words = 32, header = true } }
''',
    ),
    Section(
        "flows.congestion",
        """A congestion control with parameters; without them its name will do. Which are whose is told with each, and what they do on
its page: [westwood](../../models/congestion-westwood.md), [scalable](../../models/congestion-scalable.md),
[bic](../../models/congestion-bic.md), [vegas](../../models/congestion-vegas.md), [hybla](../../models/congestion-hybla.md).""",
        '''
[[flows]]
name = "download"
from = "server"
to = "laptop"
congestion = { kind = "bic", smallest_increment = 0.25, largest_increment = 32 }

[[flows]]
name = "second"
from = "server"
to = "laptop"
congestion = { kind = "vegas", alpha = 1, beta = 3, gamma = 1 }

[[flows]]
name = "third"
from = "server"
to = "laptop"
congestion = { kind = "westwood", minimum_rtt_window = "10 s" }

[[flows]]
name = "fourth"
from = "server"
to = "laptop"
congestion = { kind = "scalable", increase = 0.01, decrease = 0.125 }

[[flows]]
name = "fifth"
from = "server"
to = "laptop"
congestion = { kind = "hybla", reference_rtt = "25 ms" }
''',
    ),
    Section(
        "flows.tcp",
        """Options that differ from the profile. At top level they hold for both ends; under `sender` (the end at `from`) or `receiver`
for one. `gateway`, with split-connection remedies only: the half towards the mobile. Each profile's options: [TCP](../../models/tcp.md).""",
        '''
[[flows]]
name = "download"
from = "server"
to = "laptop"

[flows.tcp]
congestion = "cubic"
recovery = "linux"
maximum_segment_size = "1400 B"
initial_window = 10
initial_slow_start_threshold = "off"
send_buffer = "4 MB"
send_autotuning = true
receive_autotuning = true
window_scaling = true
timestamps = true
sack = true
snack = false
rate_limit = "off"
nagle = false
limited_transmit = true
duplicate_ack_threshold = 3
initial_rto = "1 s"
minimum_rto = "200 ms"
maximum_rto = "120 s"
tick = "4 ms"
rto_arithmetic = "rfc6298"
timer_from_transmission = false
repair_before_new_data = false
threshold_from_window = false
syn_retries = 6
syn_ack_retries = 5
data_retries = 15
time_wait = "60 s"
syn_linear_timeouts = 4
quick_acks = true
sack_compression = "1 ms"
duplicate_sack = true
rack = true
tail_loss_probe = true
proportional_rate_reduction = true
forward_rto = true
undo = true
window_arithmetic = "linux"
hystart = true
long_term_rate = true
minimum_rtt_window = "300 s"
push_bursts = true
timer_wheel = true
transaction_opening = false
sender = { idle_restart = true }
receiver = { receive_buffer = "64 kB", delayed_ack = "off" }
# gateway = { congestion = "hybla" }, beside remedies = ["split-connection"]
''',
        default="the profile's",
    ),
    Section(
        "record",
        "Parts of the run that are recorded. The summary always is. [Results](../results.md) describes the tables.",
        '''
[record]
series = true
packets = false
interval = "200 ms"
''',
    ),
    Section(
        "live",
        "Settings of [a live run](../../live.md) alone; a simulated one ignores it.",
        '''
[live]
hosts = ["server", "train"]
address = "new"
nat = false
sample_interval = "20 ms"
lateness_bound = "2 ms"
''',
    ),
]  # fmt: skip
