"""Study S's decisions (section 5): by received power, and for comparison as soon as the satellite is up."""

from __future__ import annotations

from baton.crosslayer import Decision, LinkEvent, MobileView

#: Power that a receiver needs, and the margin above it (equation 6), as in the model of WiFi's coverage.
SENSITIVITY_DBM, MARGIN_DB = -80.0, 3.0
#: Chosen: time between two measurements. In a hundredth of a second the train runs 0.9 m.
MEASURED_EVERY_S = 0.01


class Margin:
    """Moves to WiFi once its power has the margin, and to the satellite once it has not, if the satellite is up."""

    def on_event(self, event: LinkEvent, mobile: MobileView) -> Decision:
        """Returns the link to use, or the time of the next measurement."""
        return _use("wifi" if _strong(mobile) else "satellite", mobile)


class SatelliteOnceUp:
    """Moves to WiFi as `Margin` does, and to the satellite as soon as it is up again."""

    def __init__(self) -> None:
        self._was_hidden = False

    def on_event(self, event: LinkEvent, mobile: MobileView) -> Decision:
        """Returns the link to use, or the time of the next measurement."""
        up = mobile.links["satellite"].up
        self._was_hidden |= not up
        return _use("wifi" if _strong(mobile) and not (up and self._was_hidden) else "satellite", mobile)


def _strong(mobile: MobileView) -> bool:
    wifi = mobile.links["wifi"]
    return wifi.up and wifi.received_dbm is not None and wifi.received_dbm >= SENSITIVITY_DBM + MARGIN_DB


def _use(wanted: str, mobile: MobileView) -> Decision:
    if wanted != mobile.in_use and mobile.links[wanted].up:
        return Decision.Use(wanted)
    return Decision.AskAgain(after=MEASURED_EVERY_S)
