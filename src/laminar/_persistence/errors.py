"""`ModelFileError`: why a file is not read."""


class ModelFileError(ValueError):
    """A file that is no model file, is damaged, or holds what this version does not read.

    Examples
    --------
    >>> issubclass(ModelFileError, ValueError)
    True
    """
