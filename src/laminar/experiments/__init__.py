"""The tables, figures and claims of the papers, each as one function: `laminar reproduce`.

One module a paper, one function an item. An item states its cells, a method on data with a seed each; `Run` computes
those that are not known yet, on all cores, and keeps every one; the item makes tables, sentences and a figure of them.
Built on the public names of Laminar alone.
"""

from . import claims, trigeorgis, xiao, zafeiriou, zhao
from .item import ITEMS, Item
from .result import Result
from .run import Run, Skipped

__all__ = ["ITEMS", "Item", "Result", "Run", "Skipped", "claims", "trigeorgis", "xiao", "zafeiriou", "zhao"]
