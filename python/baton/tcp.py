"""TCP connections that read no clock and open no socket: drive one end by hand, against segments of your choice.

Also the events that a congestion control in Python receives.
"""

from baton._baton import AckSample, Connection, Listener, LossSample

__all__ = ["AckSample", "Connection", "Listener", "LossSample"]
