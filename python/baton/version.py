"""The version that is installed."""

from importlib.metadata import version

DISTRIBUTION = "baton-handover"
"""Name of this package for pip: on PyPI, `baton` is somebody else's."""


def installed() -> str:
    """Returns the installed version, such as `0.1.0`."""
    return version(DISTRIBUTION)
