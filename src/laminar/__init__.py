"""Layered, non-negative representations of data.

The public names are those of ``__init__.pyi``, one line each; they are imported when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0.dev0"
