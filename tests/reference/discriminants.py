"""Discriminants of attribute layers as plain loops: every sample is left out by a fit without it, folds one by one."""

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import Ridge


def leave_one_out(X, T, ridge):
    """Scores of each row by ridge regression, with intercept, on all other rows; minus the mean of all targets.

    ``ridge`` is in units of the mean squared length of the centred rows of X.
    """
    penalty = ridge * np.square(X - X.mean(0)).sum() / len(X)
    rows = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        rows.append(Ridge(alpha=penalty).fit(X[others], T[others]).predict(X[i : i + 1])[0])
    return np.array(rows) - T.mean(0)


def whitened(L, P, shrinkage):
    """Rows of L, and class means, in a basis in which the shrunk covariance inside the classes is the identity."""
    n, c = P.shape
    means = np.array([np.average(L, axis=0, weights=P[:, a]) for a in range(c)])
    C = np.zeros((c, c))
    for i in range(n):
        for a in range(c):
            difference = L[i] - means[a]
            C += P[i, a] * np.outer(difference, difference)
    C /= n - c
    values, vectors = np.linalg.eigh((1 - shrinkage) * C + shrinkage * np.trace(C) / c * np.eye(c))
    root = vectors / np.sqrt(values)
    return L @ root, means @ root


def memberships(Z, centres):
    """Normal densities with identity covariance, normalised."""
    P = np.exp([[-0.5 * np.sum((z - m) ** 2) for m in centres] for z in Z])
    return P / P.sum(1, keepdims=True)


def pooled_lda_scores(E, codes, new):
    """-1/2 (e - m_c)^T S^-1 (e - m_c) of every sample and class, with one shrunk covariance."""
    classes, n = np.unique(codes), len(codes)
    means = {c: E[codes == c].mean(0) for c in classes}
    inside = np.array([e - means[c] for e, c in zip(E, codes, strict=True) if np.sum(codes == c) > 1])
    S = LedoitWolf(assume_centered=True).fit(inside).covariance_ * len(inside) / (n - len(classes))
    inverse = np.linalg.inv(S + 1e-6 * np.trace(S) / len(S) * np.eye(len(S)))
    return np.array([[-0.5 * (e - means[c]) @ inverse @ (e - means[c]) for c in classes] for e in new])


def held_out(A, codes, folds, ridges):
    """Mean held-out scores of every ridge, and hits by the largest one, with scikit-learn's ridge regression."""
    T = np.eye(codes.max() + 1)[codes]
    scores, hits, n_trials = (
        np.zeros((len(ridges), *T.shape)),
        np.zeros((len(ridges), len(codes))),
        np.zeros(len(codes)),
    )
    for out in folds:
        train = A[~out] - A[~out].mean(0)
        penalties = np.array(ridges) * np.square(train).sum() / len(train)
        n_trials += out
        for i, penalty in enumerate(penalties):
            found = Ridge(alpha=penalty).fit(A[~out], T[~out]).predict(A[out])
            scores[i, out] += found
            hits[i, out] += found.argmax(1) == codes[out]
    tried = n_trials > 0
    return scores[:, tried] / n_trials[tried, None], (hits[:, tried] / n_trials[tried]).sum(1), tried
