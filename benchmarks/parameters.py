"""Which estimator has which parameter? ``python -m benchmarks.parameters`` writes docs/parameters.md.

The table is made by introspection: a cell is the default of the parameter, empty where the estimator has none.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from sklearn.base import BaseEstimator

import laminar

PAGE = Path(__file__).parent.parent / "docs" / "parameters.md"
FAMILIES = {
    "One layer": ("laminar.nmf",),
    "Several layers, several views": ("laminar.deep", "laminar.multiview"),
    "Clusters by agreement": ("laminar.ensemble",),
    "Sequences and attributes": ("laminar.temporal", "laminar.attributes"),
    "Methods to compare with (`laminar.baselines`)": ("laminar.baselines",),
}
HEAD = """# Parameters of all estimators

Written by `python -m benchmarks.parameters`; a test compares it with the code. A cell is the default, empty where the
estimator has no such parameter. A parameter means the same wherever it appears:

* `alpha`: the strength of a penalty (lambda, gamma or beta in papers); `alphas`: of several, one for each attribute.
* `graph`, `graphs`: a penalty that makes the codes of linked samples similar.
* `rule`: "fast", or "published", the iterations of the paper.
* `init`: where the fit starts. `pretraining`: how the layers of a deep model are initialised.
* `scale`: whether a penalty is independent of the scales of the codes, or as printed.
* `readout`: the form of the codes that `transform` returns and that is clustered; "auto" is a form of each model for
  either. `layer`: the layer they are of, or "all".
* `solver`, `eta`: the update of non-negative factors. `tol`, `max_iter`: when to stop.

`rule`, `init`, `scale` and `readout` are independent of each other: a combination works or is refused with the reason.

```python
from laminar import SemiNMF

# The iterations of the paper from another start, and codes with the distances of the reconstructions.
model = SemiNMF(5, rule="published", init="svd", readout="isometric")
print(model.get_params())
```
"""


def estimators() -> list[type]:
    """Return all public estimators."""
    places = [laminar, laminar.baselines]
    found = {getattr(place, name) for place in places for name in place.__all__}
    classes = [kind for kind in found if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]
    return sorted(classes, key=lambda kind: kind.__name__)


def parameters(kind: type) -> dict[str, str]:
    """Return the defaults of the parameters of an estimator, as they are written."""
    signature = inspect.signature(kind).parameters.values()
    return {p.name: '"' + p.default + '"' if isinstance(p.default, str) else repr(p.default) for p in signature}


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, packages in FAMILIES.items():
        kinds = [kind for kind in estimators() if kind.__module__.startswith(packages)]
        tables = {kind: parameters(kind) for kind in kinds}
        names = list(dict.fromkeys(name for kind in kinds for name in tables[kind]))
        names.sort(key=lambda name: -sum(name in table for table in tables.values()))
        rows = ["| parameter | " + " | ".join(kind.__name__ for kind in kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
        for name in names:
            cells = (f"`{tables[kind][name]}`" if name in tables[kind] else "" for kind in kinds)
            rows.append(f"| `{name}` | " + " | ".join(cells) + " |")
        parts.append(f"\n## {title}\n\n" + "\n".join(rows) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}")
