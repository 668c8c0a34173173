"""Study S's decision by received signal strength, with a margin of 3 dB (section 5, equation 6)."""

from baton.crosslayer import Decision


class AtMargin:
    """Decision for WiFi once its power reaches the margin, and for the satellite once it falls below."""

    def on_event(self, event, mobile):
        """Returns the link to use."""
        wifi, satellite = mobile.links["wifi"], mobile.links["satellite"]
        # Link_Parameters_Report: the power has reached the margin.
        if wifi.up and (event.name == "Link_Parameters_Report" or not satellite.up):
            return Decision.Use("wifi")
        if satellite.up and self.leaves(event, wifi):
            return Decision.Use("satellite")
        return None

    def leaves(self, event, wifi):
        """Returns true if WiFi is to be left for the satellite."""
        return wifi.going_down or not wifi.up


class SatelliteAtOnce(AtMargin):
    """The same, but back to the satellite as soon as that is up."""

    def leaves(self, event, wifi):
        """Returns true if WiFi is to be left for the satellite."""
        return event.link == "satellite" or not wifi.up
