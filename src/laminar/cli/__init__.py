"""The command ``laminar``."""

from .app import main

__all__ = ["main"]
