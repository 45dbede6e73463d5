"""Form of the data that suits `WhitenedSpectral`, and the one chosen without labels: ``python -m benchmarks.forms``.

One seed, NMI (arithmetic): the sets of `benchmarks.clustering`, and as a check iris and single views of other sets,
which the rule was not made on but for its threshold.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from laminar.baselines import WhitenedSpectral
from laminar.datasets import available
from laminar.ensemble.forms import FORMS, effective_features, suited_form

from .clustering import BUNDLED, PIXELS, SETS, one_view, scores
from .ensemble import views_of

FURTHER = ("3sources_mv", "webkb_mv", "prokaryotic_mv", "uci_digits_mv")


def sets():
    for name in SETS:
        if name in BUNDLED or name in available():
            yield name, *one_view(name)
    yield "iris", *load_iris(return_X_y=True)
    for name in FURTHER:
        if name in available():
            views, y = views_of(name)
            for i, view in enumerate(views):
                if (name, i) != ("uci_digits_mv", PIXELS):
                    yield f"{name}, view {i}", np.asarray(view), y


def main() -> None:
    print(f"| | features | effective | zeros | {' | '.join(FORMS)} | chosen |\n{'|---' * (len(FORMS) + 5)}|")
    for name, X, y in sets():
        row = []
        for form in FORMS:
            if form == "tfidf" and X.min() < 0:
                row.append("")
                continue
            model = WhitenedSpectral(len(np.unique(y)), form=form, random_state=0)
            row.append(f"{scores(y, model.fit_predict(X))[0]:.3f}".lstrip("0"))
        facts = f"{X.shape[1]} | {effective_features(X):.1f} | {np.mean(X == 0):.2f}"
        print(f"| {name} | {facts} | {' | '.join(row)} | {suited_form(X)} |", flush=True)


if __name__ == "__main__":
    main()
