"""Air traffic: tracks of many aircraft in one file, generated or read, and cells for them."""

from .cli import app

__all__ = ["app"]
