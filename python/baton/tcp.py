"""TCP connections that read no clock and open no socket: drive one end by hand, against segments of your choice."""

from baton._baton import Connection, Listener

__all__ = ["Connection", "Listener"]
