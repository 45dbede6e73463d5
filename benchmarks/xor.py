"""The XOR example of Trigeorgis et al. (arXiv 6.1), from ten starts: ``python -m benchmarks.xor``.

Two people in two poses at the corners of a square. Layers have pose, then identity (`make_xor`, 100 samples); models of
one layer are told both, the identities, or nothing. A line is fitted to the codes of the training samples. Printed: in
how many starts it is right for 97 % of the training samples by the codes of the fit, and of as many new samples.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laminar import WSF, DeepWSF, SemiNMF
from laminar.datasets import make_xor


def deep(layers: tuple[int, ...], activation: str, alphas: float = 0.1) -> DeepWSF:
    return DeepWSF(layers, activation=activation, alphas=alphas, attribute_layers="in order", max_iter=400)


SIZES, ACTIVATIONS = ((8, 2), (8, 4), (16, 8)), ("stanh", "relu", "square")
TOLD_BOTH, TOLD_WHO, TOLD_NOTHING = "pose and identity", "identity", "nothing"
MODELS = {
    **{(f"DeepWSF {m}-{k} {g}", TOLD_BOTH): deep((m, k), g) for m, k in SIZES for g in ACTIVATIONS},
    **{(f"WSF {k}", told): WSF(k, alpha=0.1) for told in (TOLD_BOTH, TOLD_WHO) for k in (2, 4, 8)},
    **{(f"SemiNMF {k}", TOLD_NOTHING): SemiNMF(k) for k in (2, 4, 8)},
}


def shares(model, told: str, seed: int) -> tuple[float, float]:
    """Part of the training samples, and of new ones, on the right side of the line."""
    seen, new = make_xor(random_state=seed), make_xor(random_state=100 + seed)
    labels = np.c_[seen.pose, seen.identity] if told == TOLD_BOTH else seen.identity
    model.set_params(random_state=seed).fit(seen.X, labels)
    line = make_pipeline(StandardScaler(), LogisticRegression(C=1e3, max_iter=2000))
    H = model.layers_[-1].representation
    training = line.fit(H, seen.identity).score(H, seen.identity)
    line.fit(model.transform(seen.X), seen.identity)
    return training, line.score(model.transform(new.X), new.identity)


def main(starts: int = 10) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':22s} {'told':18s} training  new   of {starts}")
    for (name, told), model in MODELS.items():
        right = np.sum([np.array(shares(model, told, seed)) >= 0.97 for seed in range(starts)], axis=0)
        print(f"{name:22s} {told:18s} {right[0]:8d} {right[1]:4d}", flush=True)


if __name__ == "__main__":
    main()
