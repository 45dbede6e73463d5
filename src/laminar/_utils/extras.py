"""Optional dependencies, imported on first use."""

from importlib import import_module
from types import ModuleType


def require(module: str, extra: str, by: str = "laminar") -> ModuleType:
    """Import a module of an optional dependency, or raise an ImportError with the command that installs it.

    Parameters
    ----------
    module : str
        The module, such as "matplotlib.figure".
    extra : str
        The extra of Laminar that installs it.
    by : str, default="laminar"
        User of the module in the error message, usually the caller's ``__name__``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        When its package is not installed.

    Examples
    --------
    >>> from laminar._utils.extras import require
    >>> require("json", "plots").dumps([1])
    '[1]'
    >>> require("no_such_package.part", "plots", by="laminar.plots")
    Traceback (most recent call last):
    ImportError: laminar.plots needs no_such_package: pip install "laminar-nmf[plots]"
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # An installed package that misses a dependency of its own is a different error.
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ImportError(f'{by} needs {package}: pip install "laminar-nmf[{extra}]"') from None
