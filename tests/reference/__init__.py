"""Slow, plain twins of what the library does fast, written from the mathematics."""
