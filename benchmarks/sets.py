"""What is factorised: real faces when ``LAMINAR_DATA`` has them, and large synthetic matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from laminar.datasets import available, load, make_faces


def faces(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Unit-norm images and identities; rendered faces of about the same size where the real set is absent."""
    if name in available():
        bunch = load(name, dtype=np.float64)
        X, y, label = bunch.X, bunch.identity, name
    else:
        people, poses, lights = {"pie_pose27": (68, 6, 7), "orl": (40, 5, 2), "cmu_faces": (20, 8, 4)}[name]
        bunch = make_faces(people, poses, lights, size=32, random_state=0)
        X, y, label = bunch.X.astype(np.float64), bunch.identity, f"rendered ({name} absent)"
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, label


def tall(n: int, p: int, k: int, seed: int = 0) -> np.ndarray:
    """A dense non-negative matrix of rank k with a fifth of noise."""
    rng = np.random.default_rng(seed)
    H = rng.gamma(1.0, size=(n, k)) * (rng.random((n, k)) < 0.3)
    Z = rng.gamma(1.0, size=(k, p)) * (rng.random((k, p)) < 0.3)
    X = H @ Z
    return X + rng.random((n, p)) * 0.2 * X.mean()


def counts(n: int, p: int, density: float, seed: int = 0) -> sp.csr_matrix:
    """Word counts of documents on three of fifty topics each, with a long tail of rare words."""
    rng = np.random.default_rng(seed)
    tokens = int(1.05 * n * p * density)
    vocabulary = np.array([rng.permutation(p) for _ in range(50)])
    topics = rng.integers(0, 50, (n, 3))
    document = rng.integers(0, n, tokens)
    topic = topics[document, rng.choice(3, tokens, p=[0.6, 0.3, 0.1])]
    word = vocabulary[topic, (p * rng.random(tokens) ** 3).astype(int)]
    X = sp.coo_matrix((np.ones(tokens), (document, word)), shape=(n, p)).tocsr()
    X.sum_duplicates()
    return X
