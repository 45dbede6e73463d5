"""Helpers without mathematics: validation, labels, views, threads, callbacks, progress, optional dependencies."""

__version__ = "0.1.0.dev0"
