"""Distances on the earth as a sphere of its mean radius, as the simulator has it."""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt

EARTH_RADIUS_M = 6_371_008.8


def distance_m(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Returns the distance of two points over the ground, by the haversine formula."""
    north = radians(other_latitude - latitude) / 2
    east = radians(other_longitude - longitude) / 2
    square = sin(north) ** 2 + cos(radians(latitude)) * cos(radians(other_latitude)) * sin(east) ** 2
    return 2 * EARTH_RADIUS_M * asin(min(1.0, sqrt(square)))
