"""Do penalties on labels help a classifier of the codes? ``python -m benchmarks.label_penalties``.

Protocol, the same for every method and every attribute of a set, over 5 paired splits (seeds 0, 1, ...; ``--splits``):

1. Half of the samples, drawn at random, are test samples; the others are training samples.
2. In each attribute 10 % of the training samples of every class, two at least, are labelled (`partial_labels`). No
   method ever sees another label.
3. *Inductive* methods are fitted on the training samples, labelled or not, and code the test samples afterwards.
   *Transductive* ones are fitted on training and test samples together, the latter without labels.
4. A linear SVM (liblinear, one class against the rest, squared hinge, C = 1) is trained on the features of the samples
   labelled in the attribute, and scored on all test samples. ``--ovo`` takes one class against another instead
   (libsvm, hinge): with two labels a class the two differ a lot on the same features.

Pixels are in [0, 1]. Nothing is tuned here; the bands of `AttributeLayers` were chosen on these sets, which flatters
it: `benchmarks.attributes` has more sets and rivals.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from laminar import NMF, WSF, AttributeLayers, ConstrainedNMF, DeepWSF, DiscriminantNMF, SemiNMF
from laminar._engine.data.svd import truncated_svd
from laminar._engine.data.wrap import wrap
from laminar.datasets import available, load, partial_labels

SETS = {
    "pie_5pose_10id": ("identity", "pose", "illumination"),
    "cmu_faces": ("identity", "pose", "eyes"),
}
K = 100

# (X_train, Y_train with -1 where unknown, X_test, column of Y) -> features of both, with the rows of X
Features = Callable[[np.ndarray, np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def remembered(fit: Callable) -> Callable:
    """`fit`, not repeated for the next attribute of the same split."""
    last: list = [None, None]

    def again(X, Y, new):
        if last[0] is not X:
            last[:] = X, fit(X, Y, new)
        return last[1]

    return again


def inductive(make: Callable[[], object], code=lambda model, X, attribute: model.transform(X)) -> Features:
    """Features by ``code(model, X, attribute)`` of a model fitted on the training samples."""
    fitted = remembered(lambda X, Y, new: make().fit(X, Y))
    return lambda X, Y, new, a: tuple(code(fitted(X, Y, new), part, a) for part in (X, new))


def alone(make: Callable[[], object]) -> Features:
    """Isometric features of a model that is given the labels of one attribute, and fitted again for the next."""

    def features(X, Y, new, a):
        model = make().fit(X, Y[:, a])
        return isometric(model, X, a), isometric(model, new, a)

    return features


def transductive(
    make: Callable[[], object], code=lambda model, attribute: model.layers_[-1].representation
) -> Features:
    """Features by ``code(model, attribute)`` of a model fitted on all samples."""
    fitted = remembered(lambda X, Y, new: make().fit(np.vstack([X, new]), unlabelled(Y, len(new))))

    def features(X, Y, new, a):
        codes = code(fitted(X, Y, new), a)
        return codes[: len(X)], codes[len(X) :]

    return features


def unlabelled(Y: np.ndarray, n_more: int) -> np.ndarray:
    return np.vstack([Y, np.full((n_more, Y.shape[1]), -1)])


def whitened(X, Y, new, a):
    mean = X.mean(0)
    _, s, V = truncated_svd(wrap(X - mean), K, np.random.RandomState(0))
    W = V / s * np.sqrt(len(X)) / wrap(X - mean).scale
    return (X - mean) @ W, (new - mean) @ W


def isometric(model, X, attribute):
    return model.transform(X, readout="isometric")


def layer(model, X, attribute):
    return model.transform(X, layer=attribute)


def own_layer(model, X, attribute):
    return model.transform(X, layer=model.attribute_layers_[attribute], readout="isometric")


def deep(**parameters) -> Features:
    where = {"attribute_layers": "in order", "max_iter": 100}
    return inductive(lambda: DeepWSF((2 * K, 150, K), **where, **parameters), own_layer)


def training_layer(model, attribute):
    return model.training_codes(attribute)


METHODS: dict[str, Features] = {
    "raw pixels": lambda X, Y, new, a: (X, new),
    "whitened SVD": whitened,
    "NMF": inductive(lambda: NMF(K)),
    "SemiNMF, raw": inductive(lambda: SemiNMF(K)),
    "SemiNMF, isometric": inductive(lambda: SemiNMF(K), isometric),
    "ConstrainedNMF, isometric": alone(lambda: ConstrainedNMF(K)),
    "DiscriminantNMF, isometric": alone(lambda: DiscriminantNMF(K)),
    "WSF, isometric": alone(lambda: WSF(K)),
    "WSF-MA, isometric": inductive(lambda: WSF(K), isometric),
    "DeepWSF": deep(),
    "DeepWSF, coupled": deep(objective="coupled"),
    "DeepWSF, as published": deep(rule="published", pretraining_max_iter=100),
    "AttributeLayers, inductive": inductive(lambda: AttributeLayers(K), layer),
    "the same, raw codes": inductive(lambda: AttributeLayers(K, readout="raw"), layer),
    "AttributeLayers, transductive": transductive(lambda: AttributeLayers(K), training_layer),
    "the same, raw codes ": transductive(lambda: AttributeLayers(K, readout="raw"), training_layer),
}


def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels; of the PIE images those of the full cross of identity, pose and light."""
    bunch = load(name, dtype=np.float64)
    chosen = bunch.get("crossed_mask", np.ones(len(bunch.X))).astype(bool)
    return bunch.X[chosen], np.column_stack([bunch[a] for a in SETS[name]])[chosen]


def splits(X: np.ndarray, Y: np.ndarray, n_splits: int):
    """Training samples, their partial labels, test samples and their labels."""
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(X))
        test, train = np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :])
        yield X[train], partial_labels(Y[train], 0.1, per_class_min=2, random_state=seed), X[test], Y[test]


def accuracy(method: Features, part, a: int, classifier: Callable) -> float:
    X, Y, new, truth = part
    train, test = method(X, Y, new, a)
    known = Y[:, a] >= 0
    return 100 * classifier().fit(train[known], Y[known, a]).score(test, truth[:, a])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], help="all by default")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", default="", help="only those with this in their name")
    parser.add_argument("--ovo", action="store_true", help="one class against another")
    options = parser.parse_args()
    classifier = (lambda: SVC(kernel="linear")) if options.ovo else (lambda: LinearSVC(random_state=0))
    for name in (name for name in options.sets or SETS if name in available()):
        X, Y = samples(name)
        parts = list(splits(X, Y, options.splits))
        print(f"\n{name}: % of {len(parts[0][2])} test samples, mean and s.d. of {len(parts)} splits, 10 % labelled")
        print(f"{'':32s}" + "".join(f"{a:>16s}" for a in SETS[name]), flush=True)
        for title, method in METHODS.items():
            if options.methods in title:
                found = [[accuracy(method, part, a, classifier) for a in range(Y.shape[1])] for part in parts]
                cells = (f"{m:8.1f} +- {s:4.1f}" for m, s in zip(np.mean(found, 0), np.std(found, 0), strict=True))
                print(f"{title:32s}" + "".join(cells), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
