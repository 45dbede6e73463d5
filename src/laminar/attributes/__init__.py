"""Layers for several attributes, learned from few labels."""
