"""Optional dependencies: imported where they are needed, asked for in one sentence where they are missing."""

from importlib import import_module
from types import ModuleType


def require(module: str, extra: str, by: str = "laminar") -> ModuleType:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module : str
        The module, such as "matplotlib.figure".
    extra : str
        The extra of Laminar that installs it.
    by : str, default="laminar"
        Who needs it, usually the caller's ``__name__``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        When its package is not installed; the sentence says how to install it.

    Examples
    --------
    >>> from laminar._utils.extras import require
    >>> require("json", "plots").dumps([1])
    '[1]'
    >>> require("no_such_package.part", "plots", by="laminar.plots")
    Traceback (most recent call last):
    ImportError: laminar.plots needs no_such_package: pip install "laminar[plots]"
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # A package that is there but lacks something itself is another fault, and must say so.
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ImportError(f'{by} needs {package}: pip install "laminar[{extra}]"') from None
