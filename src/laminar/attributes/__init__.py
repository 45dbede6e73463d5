"""Layers of several attributes, from few labels."""
