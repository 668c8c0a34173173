"""Baton: a laboratory and a toolkit for transport protocols across handovers."""
