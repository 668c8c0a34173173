"""Turns drive logs, captures and other projects' traces into Baton's csv traces (`baton trace import`)."""

from .cli import app
from .trace import TraceError

__all__ = ["TraceError", "app"]
