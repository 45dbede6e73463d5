"""Layered, non-negative representations of data."""

__version__ = "0.1.0.dev0"
