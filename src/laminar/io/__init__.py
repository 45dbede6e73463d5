"""Reading of data and of labels from files, and writing of results.

The public names are those of ``__init__.pyi``; all but `read` are imported when first used.
"""

import lazy_loader

# Not lazy: the import of a module sets it as an attribute of the package, and `read` has the name of its module.
from .read import read as read

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
