"""`NotebookFigure`: a figure that notebooks show by themselves. Import it after matplotlib is known to be there."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """Figure that IPython displays as PNG without ``%matplotlib inline``; with it, IPython's own formatter is used."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
