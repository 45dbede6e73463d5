"""Layered, non-negative representations of data.

The public names are those of ``__init__.pyi``, one line each; they are imported when first used.
"""

import lazy_loader

from ._utils import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
