"""A scenario in real time, with the kernel's own protocols and any program: `baton live`, and `run` in Python."""

from .call import run, why_not
from .execution import LiveResult

__all__ = ["LiveResult", "run", "why_not"]
