"""Reach of WiFi out of a tunnel, for a train that is served by a geostationary satellite elsewhere.

Study S, equations 1 to 7 (G. Giambene, S. Marchi, S. Kota, "TCP Performance Issues in Satellite and WiFi Hybrid
Networks for High-Speed Trains", 2012, section 5). Metres, seconds and degrees throughout. The train runs north or south
on the satellite's meridian, and the obstacle stands at the tunnel's mouth; its height counts from the train's antenna.

Where the text has slips, these are the corrected equations:

- Equation 1 has H - R under the root, where the law of cosines has H + R. As printed, a train right below the
  satellite would be in a shadow of 0.35 times the obstacle's height; corrected, in none.
- Equation 3 gives 0 and 1 for "before or after the tunnel", in the wrong order: its own example has 1 before.
- Equation 4 ends when the last packet arrives over the satellite. That is the end only while the satellite's path is
  the longer one: by the text's definition, the end is the later of that packet and the BU's acknowledgement. This
  module follows the definition in both directions; with the study's delays, equations 4 and 5 give the printed values.
- H is 35 786 km for a geostationary orbit; the text has 35 930 km.

Equation 5 takes the time to decide from the WiFi's margin too, although the train then moves to the satellite: on its
way out the train crosses the same distance between the margin and the end of the coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SPEED_OF_LIGHT = 299_792_458.0
"""Speed of light, in m/s."""
GEOSTATIONARY_M = 35_786e3
"""Height of a geostationary satellite above the equator."""
EARTH_RADIUS_M = 6378e3
"""Radius of the earth at the equator, as in study S."""
MARGIN_DB, PATH_LOSS_EXPONENT = 3.0, 4.0
"""Equation 6: margin above the receiver's sensitivity at which the handover is decided, and two-ray propagation."""


@dataclass(frozen=True)
class Line:
    """Parameters common to all tunnels of a line; defaults are study S's, for its figure 4."""

    speed_mps: float = 320 / 3.6
    coverage_m: float = 200.0
    """Reach of one access point along the track."""
    synchronisation_s: float = 0.05
    """Time until a receiver follows a signal that it has found."""
    repointing_s: float = 0.5
    """Time until the antenna points to the satellite again after a tunnel."""
    satellite_rtt_s: float = 0.58
    """Round-trip time to the sender over the satellite, and over WiFi."""
    wifi_rtt_s: float = 0.02
    altitude_m: float = GEOSTATIONARY_M

    @property
    def access_rtt_s(self) -> float:
        """Round trip between the train and its access point, of propagation alone: microseconds."""
        return 2 * self.coverage_m / SPEED_OF_LIGHT

    @property
    def decision_s(self) -> float:
        """Equations 6 and 7: time between the signal's end and the place that has 3 dB of margin."""
        share = 1 - 10 ** (-MARGIN_DB / (10 * PATH_LOSS_EXPONENT))
        return share * self.coverage_m / self.speed_mps

    @property
    def to_wifi_s(self) -> float:
        """Equation 4: the longest that a handover from the satellite to WiFi takes."""
        found = self.synchronisation_s + 2 * self.access_rtt_s + self.decision_s
        return found + _moved(self.satellite_rtt_s, self.wifi_rtt_s)

    @property
    def to_satellite_s(self) -> float:
        """Equation 5: the longest that a handover from WiFi to the satellite takes."""
        found = self.repointing_s + self.synchronisation_s + self.decision_s
        return found + _moved(self.wifi_rtt_s, self.satellite_rtt_s)

    def extension_m(self, handover_s: float, shadow_m: float) -> float:
        """Computes equations 2 and 3: the shadow to be bridged (none, where the text's chi is 0), and the way during
        the handover."""
        return shadow_m + handover_s * self.speed_mps

    def access_points(self, extension_m: float) -> int:
        """Returns the number of access points outside, from the one at the tunnel's mouth on, side by side without
        overlap."""
        return 1 + max(0, math.ceil((extension_m / self.coverage_m - 1) / 2))


def _moved(old_rtt_s: float, new_rtt_s: float) -> float:
    """Returns the time from the decision on: a binding update takes the new path to the sender; then its
    acknowledgement takes the new path and the last packet the old one."""
    return new_rtt_s / 2 + max(old_rtt_s, new_rtt_s) / 2


def elevation_deg(latitude_deg: float, altitude_m: float = GEOSTATIONARY_M) -> float:
    """Returns the satellite's elevation above the horizon, seen at a latitude on its own meridian; negative below
    it."""
    orbit = altitude_m + EARTH_RADIUS_M
    latitude = math.radians(latitude_deg)
    return math.degrees(math.atan2(orbit * math.cos(latitude) - EARTH_RADIUS_M, orbit * abs(math.sin(latitude))))


def shadow_m(obstacle_m: float, latitude_deg: float, altitude_m: float = GEOSTATIONARY_M) -> float:
    """Computes equation 1: the reach of an obstacle's shadow, away from the satellite."""
    orbit = altitude_m + EARTH_RADIUS_M
    cosine = math.cos(math.radians(latitude_deg))
    distance_squared = orbit**2 + EARTH_RADIUS_M**2 - 2 * EARTH_RADIUS_M * orbit * cosine
    sine_squared = (orbit * cosine - EARTH_RADIUS_M) ** 2 / distance_squared
    return obstacle_m * math.sqrt(max(1 / sine_squared - 1, 0.0))


@dataclass(frozen=True)
class Side:
    """Coverage needed outside one end of the tunnel."""

    shadow_m: float
    handover_s: float
    extension_m: float
    access_points: int


@dataclass(frozen=True)
class Extension:
    """Both ends of a tunnel at a latitude."""

    latitude_deg: float
    elevation_deg: float
    before: Side
    after: Side


def extension(line: Line, latitude_deg: float, obstacle_m: float, *, southbound: bool = True) -> Extension:
    """Computes the coverage before and after a tunnel.

    The shadow lies on the side away from the satellite, which is above the equator: before the tunnel for a train that
    runs towards the equator, after it for one that comes from there.
    """
    shadow = shadow_m(obstacle_m, latitude_deg, line.altitude_m)
    towards = southbound == (latitude_deg >= 0)
    before = _side(line, line.to_wifi_s, shadow if towards else 0.0)
    after = _side(line, line.to_satellite_s, 0.0 if towards else shadow)
    return Extension(latitude_deg, elevation_deg(latitude_deg, line.altitude_m), before, after)


def _side(line: Line, handover_s: float, shadow: float) -> Side:
    needed = line.extension_m(handover_s, shadow)
    return Side(shadow, handover_s, needed, line.access_points(needed))
