"""The command ``laminar``."""

from .main import main

__all__ = ["main"]
