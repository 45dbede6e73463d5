"""Figures: images and components, layers, tables of scores, convergence.

Every function returns a ``matplotlib.figure.Figure`` made without pyplot, so no window opens and no global
state changes; ``figure.savefig("name.png")`` writes it.
"""

from .basic import convergence, demo_figure, images_grid, score_table_figure
from .layers import class_components, layer_attribute_figure, layer_components, layer_scatter, selection_figure

__all__ = [
    "class_components",
    "convergence",
    "demo_figure",
    "images_grid",
    "layer_attribute_figure",
    "layer_components",
    "layer_scatter",
    "score_table_figure",
    "selection_figure",
]
