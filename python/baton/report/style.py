"""Style of each role. One table for the HTML report and for printed figures.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which remain apart for people with
any common kind of colour vision, with grey for what is context; the second of each pair is for dark backgrounds.
Roles that share a panel also differ in shape or dash, so that a greyscale print can be read.
"""

from typing import NamedTuple


class Look(NamedTuple):
    """Colour on light and on dark ground, width of the line or dot in pixels, dash pattern.

    `sign` marks the line here and there in print, where colour may be missing: matplotlib's name of a marker.
    """

    light: str
    dark: str
    width: float = 1.5
    dash: str = "solid"
    sign: str = ""


LOOKS: dict[str, Look] = {
    "segment": Look("#0072b2", "#6cb6e8", 2.6),
    "retransmission": Look("#d55e00", "#ff9a4d", 4.2),
    "acknowledgement": Look("#8a8f98", "#8b929c", 1.2),
    "selective acknowledgement": Look("#009e73", "#3cc79c", 1.8),
    "drop": Look("#16181c", "#f2f3f5", 8),
    "dropped acknowledgement": Look("#8a8f98", "#a5abb5", 6),
    "congestion window": Look("#0072b2", "#6cb6e8", 1.8),
    "slow-start threshold": Look("#d55e00", "#ff9a4d", 1.5, "dash"),
    "bytes in flight": Look("#a9adb5", "#727a86", 1.1),
    "round-trip time": Look("#7fb2d4", "#47789b", 3.0),
    "smoothed round-trip time": Look("#0072b2", "#6cb6e8", 1.8),
    "retransmission timeout": Look("#d55e00", "#ff9a4d", 1.5, "dash"),
    "delivered": Look("#0072b2", "#6cb6e8", 3.0),
    "total": Look("#6b727d", "#a5abb5", 1.3),
    "handover": Look("#8c5478", "#d79bc2", 1.2),
    "link 1": Look("#0072b2", "#6cb6e8", 1.7, sign="o"),
    "link 2": Look("#d55e00", "#ff9a4d", 1.7, sign="s"),
    "link 3": Look("#009e73", "#3cc79c", 1.7, sign="^"),
    "link 4": Look("#b0588f", "#d79bc2", 1.7, sign="D"),
    "link 5": Look("#8a6d00", "#e3bf3f", 1.7, sign="v"),
    "link 6": Look("#555b65", "#b9bec7", 1.7, sign="P"),
    # Two runs in one panel: dark and light remain apart in grey, and lines of the second are dashed.
    "first run": Look("#0072b2", "#6cb6e8", 1.8),
    "first run again": Look("#0072b2", "#6cb6e8", 4.2),
    "first run lost": Look("#003f66", "#c2e2f7", 8),
    "second run": Look("#e69f00", "#ffc14d", 1.8),
    "second run again": Look("#e69f00", "#ffc14d", 4.2),
    "second run lost": Look("#8f5d00", "#ffe5b0", 8),
}
LINK_LOOKS = 6


def link_role(number: int) -> str:
    """Returns the role of the link with this place among the run's links; the seventh looks like the first."""
    return f"link {number % LINK_LOOKS + 1}"
