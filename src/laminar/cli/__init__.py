"""Command line interface ``laminar``."""

from .app import main

__all__ = ["main"]
