"""Figures: images and components, layers, clusters, samples in two dimensions, scores, signals, convergence.

Every function returns a ``matplotlib.figure.Figure`` made without pyplot, so no window opens and no global
state changes; ``figure.savefig("name.png")`` writes it, and a notebook shows it, with or without
``%matplotlib inline``.
"""

from .basic import convergence, demo_figure, images_grid, score_table_figure
from .clusters import cluster_montage, codes_2d, eigenmaps
from .layers import class_components, layer_attribute_figure, layer_components, layer_scatter, selection_figure
from .scores import layer_bars, objective_and_score, score_curves, sensitivity, spread_by_depth
from .signals import phases

__all__ = [
    "class_components",
    "cluster_montage",
    "codes_2d",
    "convergence",
    "demo_figure",
    "eigenmaps",
    "images_grid",
    "layer_attribute_figure",
    "layer_bars",
    "layer_components",
    "layer_scatter",
    "objective_and_score",
    "phases",
    "score_curves",
    "score_table_figure",
    "selection_figure",
    "sensitivity",
    "spread_by_depth",
]
