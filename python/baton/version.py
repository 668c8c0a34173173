"""The version that is installed."""

from importlib.metadata import version

DISTRIBUTION = "baton-handover"
"""What pip calls this package: on PyPI, `baton` is somebody else's."""


def installed() -> str:
    """As in `0.1.0`."""
    return version(DISTRIBUTION)
