"""Helpers without mathematics: validation, labels, views, threads, callbacks, progress, optional dependencies."""
