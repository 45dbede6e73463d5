"""Fits for checkpoints, one of each kind of loop; as a program, one such fit in a process that may be killed.

python recorded_fits.py NAME CHECKPOINT
"""

import sys

import numpy as np

import laminar
from laminar import checkpoint

rng = np.random.default_rng(0)
POSITIVE = rng.gamma(0.5, size=(60, 5)) @ rng.gamma(0.5, size=(5, 18)) + 0.1 * rng.random((60, 18))
MIXED = POSITIVE - POSITIVE.mean(0)
LABELS = rng.integers(-1, 3, 60)
BOTH = np.column_stack([LABELS, rng.integers(-1, 2, 60)])
VIEWS = [POSITIVE, MIXED[:, :9]]

FITS = {
    "NMF": ("NMF", (4,), {}, POSITIVE, None),
    "KL": ("NMF", (4,), {"loss": "kl"}, POSITIVE, None),
    "multiplicative": ("NMF", (4,), {"solver": "mu"}, POSITIVE, None),
    "single precision": ("NMF", (4,), {}, POSITIVE.astype(np.float32), None),
    "SemiNMF": ("SemiNMF", (4,), {}, MIXED, None),
    "WSF": ("WSF", (4,), {}, MIXED, LABELS),
    "DeepSemiNMF": ("DeepSemiNMF", ((6, 3),), {}, MIXED, None),
    "coupled": ("DeepSemiNMF", ((6, 3),), {"objective": "coupled"}, MIXED, None),
    "published": ("DeepSemiNMF", ((6, 3),), {"rule": "published", "pretraining_max_iter": 20}, MIXED, None),
    "DeepWSF": ("DeepWSF", ((6, 3),), {"attribute_layers": "in order"}, MIXED, BOTH),
    "MultiLayerNMF": ("MultiLayerNMF", ((6, 3),), {}, POSITIVE, None),
    "ConceptFactorization": ("ConceptFactorization", (4,), {}, POSITIVE, None),
    "MultiViewSemiNMF": ("MultiViewSemiNMF", (4,), {}, VIEWS, None),
    "MultiViewDeepNMF": ("MultiViewDeepNMF", ((6, 3),), {}, VIEWS, None),
    "MultiNMF": ("MultiNMF", (4,), {"max_inner_iter": 10}, [POSITIVE, POSITIVE[:, :9]], None),
}
"""Class, arguments, parameters, X and y."""

REPEATED = {
    "network": ("DeepSemiNMF", ((6, 3),), {"activation": "relu"}, POSITIVE, None),
    "batches": ("DeepSemiNMF", ((6, 3),), {"batch_size": 20}, MIXED, None),
    "NeNMF": ("NMF", (4,), {"solver": "apg", "rule": "published"}, POSITIVE, None),
    "SmoothedSemiNMF": ("SmoothedSemiNMF", (4,), {}, POSITIVE, None),
    "published views": ("MultiViewDeepNMF", ((6, 3),), {"rule": "published", "gamma": 4}, VIEWS, None),
}
"""Those with a loop that is repeated from its start."""


def fitted(name, max_iter=30, **parameters):
    """Return an estimator after ``max_iter`` iterations."""
    kind, arguments, own, X, y = (FITS | REPEATED)[name]
    given = {"tol": 0, "max_iter": max_iter, "random_state": 0, **own, **parameters}
    return getattr(laminar, kind)(*arguments, **given).fit(X, y)


def numbers(model):
    """Return all that two fits are compared by."""
    codes = [model.consensus_] if hasattr(model, "consensus_") else [layer.representation for layer in model.layers_]
    return [model.components_, *codes, model.objective_history_, model.history_iterations_]


if __name__ == "__main__":
    name, path = sys.argv[1:]
    print("begins", flush=True)
    with checkpoint(path, seconds=0, resume=True):
        fitted(name, max_iter=300)
