"""`Result`: what an item found, as Markdown, CSV and a figure; means, spreads and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, ttest_rel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class Result:
    """What an item found.

    Attributes
    ----------
    title : str
        What was run, on which data, stand-ins named as such.
    cells : DataFrame
        Every cell, a row each: the CSV.
    tables : list of (str, DataFrame)
        Caption and table of text.
    sentences : list of str
        What held up and what did not.
    verdict : str
        The sentence for the table of all items.
    figure : callable or None
        Draws the figure, in the layout of the paper.
    """

    title: str
    cells: pd.DataFrame
    tables: list[tuple[str, pd.DataFrame]]
    verdict: str
    sentences: list[str] = field(default_factory=list)
    figure: Callable[[], Figure] | None = None


def markdown_table(table: pd.DataFrame) -> str:
    r"""Return a table of text as Markdown, with the levels of its index as first columns.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"a|b": ["1"]}, index=pd.Index(["x"], name="row"))))
    | row | a\|b |
    |---|---|
    | x | 1 |
    """
    names = [str(name or "") for name in table.index.names]
    rows = [names + [str(column) for column in table.columns], ["---"] * (len(names) + table.shape[1])]
    for place, row in zip(table.index, table.to_numpy(), strict=True):
        rows.append([str(part) for part in (place if isinstance(place, tuple) else (place,))] + [str(x) for x in row])
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines[1] = "|" + "---|" * len(rows[1])
    return "\n".join(lines)


def table_of_rows(rows: Mapping[Any, Mapping[Any, Any]], names: Sequence[str]) -> pd.DataFrame:
    """Return a table from its rows; what a row does not have is empty.

    Examples
    --------
    >>> table_of_rows({("NMF", "published"): {"error": "2.0"}, ("SVD", "bound"): {"error": "1.0"}}, ["model", "rule"])
                    error
    model rule
    NMF   published   2.0
    SVD   bound       1.0
    """
    # Not DataFrame.from_dict, which puts rows without the first column last.
    return pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(rows, names=names)).fillna("")


def mean_and_spread(values: Sequence[float], digits: int = 2) -> str:
    """Return the mean, and the standard deviation where there are several.

    Examples
    --------
    >>> mean_and_spread([1.0, 3.0]), mean_and_spread([0.5]), mean_and_spread([])
    ('2.00 ± 1.41', '0.50', '-')
    """
    found = np.asarray(values, dtype=float)
    if not len(found) or np.isnan(found).all():
        return "-"
    if len(found) == 1:
        return f"{found[0]:.{digits}f}"
    return f"{found.mean():.{digits}f} ± {found.std(ddof=1):.{digits}f}"


def paired(cells: pd.DataFrame, score: str, of: str, first: str, second: str, over: Sequence[str]) -> str:
    """Compare two methods on the same draws: mean difference, paired t-test and sign test.

    Parameters
    ----------
    cells : DataFrame
        A row a cell.
    score : str
        Column that is compared.
    of : str
        Column with the names of the methods.
    first, second : str
        The methods.
    over : sequence of str
        Columns that pair the cells, as seed and number of components.

    Returns
    -------
    str
        A sentence.

    Examples
    --------
    >>> cells = pd.DataFrame({"method": list("aabb"), "seed": [0, 1, 0, 1], "error": [1.0, 2.0, 1.5, 2.75]})
    >>> paired(cells, "error", "method", "b", "a", ["seed"])
    'b - a: +0.625 (error, 2 pairs), t-test p = 0.13, sign test p = 0.5'
    """
    table = cells.pivot_table(index=list(over), columns=of, values=score)[[first, second]].dropna()
    difference = (table[first] - table[second]).to_numpy()
    ends = f"{first} - {second}: {difference.mean():+.3g} ({score}, {len(difference)} pairs)"
    moved = difference[difference != 0]
    if len(moved) < 2:
        return ends
    sign = binomtest(int((moved > 0).sum()), len(moved)).pvalue
    is_constant = np.ptp(difference) <= 1e-9 * np.abs(difference).max()
    t = "" if is_constant else f", t-test p = {ttest_rel(table[first], table[second]).pvalue:.2g}"
    return f"{ends}{t}, sign test p = {sign:.2g}"
