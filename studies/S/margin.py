"""Study S's decisions (section 5): as in its equations 4 and 5, and others for the way back to the satellite."""

from __future__ import annotations

from baton.crosslayer import Decision, LinkEvent, MobileView
from baton.plan.coverage import Line

#: Power that a receiver needs, and the margin above it (equation 6), as in the model of WiFi's coverage.
SENSITIVITY_DBM, MARGIN_DB = -80.0, 3.0
#: Chosen: time between two measurements. In a hundredth of a second the train runs 0.9 m.
MEASURED_EVERY_S = 0.01


class TimeToDecide:
    """Moves to WiFi once its power has the margin, and to the satellite once that has been up again for the time of
    equation 7, or WiFi's margin ends."""

    #: T_HO_decision, which equation 5 has between the satellite's synchronisation and the binding update.
    decides_after_s = Line().decision_s

    def __init__(self) -> None:
        self._was_up = True
        self._back_s: float | None = None

    def on_event(self, event: LinkEvent, mobile: MobileView) -> Decision:
        """Returns the link to use, or the time of the next measurement."""
        up = mobile.links["satellite"].up
        if up and not self._was_up:
            self._back_s = mobile.now
        self._was_up = up
        decided = self._back_s is not None and mobile.now >= self._back_s + self.decides_after_s
        return _use("wifi" if _strong(mobile) and not (up and decided) else "satellite", mobile)


class SatelliteOnceUp(TimeToDecide):
    """Moves to the satellite as soon as it is up again."""

    decides_after_s = 0.0


class Margin:
    """Moves to WiFi as `TimeToDecide` does, and to the satellite once WiFi's margin ends, if the satellite is up."""

    def on_event(self, event: LinkEvent, mobile: MobileView) -> Decision:
        """Returns the link to use, or the time of the next measurement."""
        return _use("wifi" if _strong(mobile) else "satellite", mobile)


def _strong(mobile: MobileView) -> bool:
    wifi = mobile.links["wifi"]
    return wifi.up and wifi.received_dbm is not None and wifi.received_dbm >= SENSITIVITY_DBM + MARGIN_DB


def _use(wanted: str, mobile: MobileView) -> Decision:
    if wanted != mobile.in_use and mobile.links[wanted].up:
        return Decision.Use(wanted)
    return Decision.AskAgain(after=MEASURED_EVERY_S)
