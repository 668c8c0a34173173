"""Distances and great circles on the earth as a sphere of its mean radius, as the simulator has it."""

from __future__ import annotations

from math import asin, atan2, cos, degrees, hypot, radians, sin, sqrt

EARTH_RADIUS_M = 6_371_008.8


def distance_m(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Returns the distance of two points over the ground, by the haversine formula."""
    north = radians(other_latitude - latitude) / 2
    east = radians(other_longitude - longitude) / 2
    square = sin(north) ** 2 + cos(radians(latitude)) * cos(radians(other_latitude)) * sin(east) ** 2
    return 2 * EARTH_RADIUS_M * asin(min(1.0, sqrt(square)))


def between(
    latitude: float, longitude: float, other_latitude: float, other_longitude: float, share: float
) -> tuple[float, float]:
    """Returns the latitude and longitude at a share of the great circle from one point to another."""
    angle = distance_m(latitude, longitude, other_latitude, other_longitude) / EARTH_RADIUS_M
    if angle == 0.0:
        return latitude, longitude
    x = y = z = 0.0
    for north, east, part in ((latitude, longitude, 1 - share), (other_latitude, other_longitude, share)):
        weight = sin(part * angle) / sin(angle)
        x += weight * cos(radians(north)) * cos(radians(east))
        y += weight * cos(radians(north)) * sin(radians(east))
        z += weight * sin(radians(north))
    return degrees(atan2(z, hypot(x, y))), degrees(atan2(y, x))
