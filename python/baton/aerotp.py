"""AeroTP connections that read no clock and open no socket: drive one end by hand, and flip the bits of its packets."""

from baton._baton import AerotpConnection as Connection
from baton._baton import AerotpPacket as Packet

__all__ = ["Connection", "Packet"]
