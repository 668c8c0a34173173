"""TCP connections that read no clock and open no socket: drive one end by hand, against segments of your choice.

Also what a congestion control in Python is told of.
"""

from baton._baton import AckSample, Connection, Listener, LossSample

__all__ = ["AckSample", "Connection", "Listener", "LossSample"]
