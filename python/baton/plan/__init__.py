"""The studies' design equations for a user's own case (`baton plan`)."""

from .cli import app

__all__ = ["app"]
