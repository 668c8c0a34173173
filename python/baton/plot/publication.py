"""Settings of matplotlib for print."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any, cast

from matplotlib import rcParams

MM_PER_INCH = 25.4


def apply(width_mm: float, font_size: float) -> AbstractContextManager[object]:
    """Applies them; leaving the context restores the previous settings."""
    width = width_mm / MM_PER_INCH
    settings: dict[str, Any] = {
        "figure.figsize": (width, 0.62 * width),
        "figure.dpi": 150,
        "savefig.dpi": 300,
        # The whole figure: cut to what is drawn, it would have another width.
        "savefig.bbox": None,
        "font.size": font_size,
        "axes.titlesize": font_size,
        "axes.labelsize": font_size,
        "legend.fontsize": 0.9 * font_size,
        "xtick.labelsize": 0.9 * font_size,
        "ytick.labelsize": 0.9 * font_size,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        # Text as text, in PDF as the TrueType fonts that journals ask for.
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
    }
    parameters = cast("dict[str, Any]", rcParams)
    restore = ExitStack()
    restore.callback(parameters.update, {name: parameters[name] for name in settings})
    parameters.update(settings)
    return restore
