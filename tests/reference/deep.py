"""Algorithms 1 and 2 of Trigeorgis et al. from their equations, with samples as rows: X ~ H_m Z_m ... Z_1.

Slow and plain on purpose: every product is formed anew, every weight is one pseudo-inverse on each side.
"""

from functools import reduce

import numpy as np


def pos(A):
    """Positive part."""
    return (np.abs(A) + A) / 2


def neg(A):
    """Negative part, which is not below zero either."""
    return (np.abs(A) - A) / 2


def pinv(A):
    """Pseudo-inverse that counts singular values up to ``max(shape) eps`` of the largest as zero, as MATLAB's."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    keep = s > max(A.shape) * np.finfo(float).eps * s[0]
    return (Vt[keep].T / s[keep]) @ U[:, keep].T


def product(factors, size):
    """All of them multiplied, from left to right; of none, the identity."""
    return reduce(np.matmul, factors, np.eye(size))


def below_and_above(Z, i, p):
    """Psi = Z_i ... Z_1 and T = Z_m ... Z_{i+1}, where i counts the layers from the input up."""
    return product(Z[:i][::-1], p if i == 0 else len(Z[i - 1])), product(Z[i:][::-1], len(Z[-1]))


def move(X, H, Psi, W, alpha):
    """One multiplicative step of codes on a basis; W links samples, alpha weighs their distances."""
    B, G = X @ Psi.T, Psi @ Psi.T
    up = pos(B) + H @ neg(G) + alpha * W @ H
    down = neg(B) + H @ pos(G) + alpha * W.sum(1)[:, None] * H
    return H * np.sqrt(up / np.maximum(down, 1e-10))  # the authors add a small number to the denominator


def pretrain(X, starts, links, alphas, n_iter):
    """Semi-NMF (with labels: WSF) of each layer's codes in turn, from given codes."""
    H, Z, below = [], [], X
    for start, W, alpha in zip(starts, links, alphas, strict=True):
        codes = start
        for _ in range(n_iter):
            codes = move(below, codes, pinv(codes) @ below, W, alpha)
        H.append(codes)
        Z.append(pinv(codes) @ below)
        below = codes
    return H, Z


def fine_tune(X, H, Z, links, alphas, n_iter, hidden=True):
    """Algorithm 2; Algorithm 1 where all alphas are 0. Yields (H, Z) after each sweep.

    ``hidden=False`` leaves the codes of the hidden layers where they are.
    """
    H, Z, m, p = list(H), list(Z), len(Z), X.shape[1]
    for _ in range(n_iter):
        for i in range(m):
            below = below_and_above(Z, i, p)[0]
            above = below_and_above(Z, i + 1, p)[1]
            Z[i] = pinv(H[-1] @ above) @ X @ pinv(below)
            if hidden or i == m - 1:
                H[i] = move(X, H[i], below_and_above(Z, i + 1, p)[0], links[i], alphas[i])
        yield list(H), list(Z)


def top_objective(X, H, Z, links, alphas):
    """What Algorithm 2 lowers: half the squared error, and half the penalty of the top codes."""
    basis = product(Z[::-1], len(Z[-1]))
    laplacian = np.diag(links[-1].sum(1)) - links[-1]
    return ((X - H[-1] @ basis) ** 2).sum() / 2 + alphas[-1] / 2 * np.trace(H[-1].T @ laplacian @ H[-1])


def layers_objective(X, H, Z, links, alphas, fitted, invariant=True):
    """The sum over fitted layers of half the squared error and half the penalty, one entry after the other.

    With ``invariant`` the penalty of code a is multiplied by the squared length of row a of Z_i ... Z_1.
    """
    value = 0.0
    for i in fitted:
        basis = product(Z[: i + 1][::-1], len(Z[i]))
        value += ((X - H[i] @ basis) ** 2).sum() / 2
        for a, h in enumerate(H[i].T):
            length = (basis[a] ** 2).sum() if invariant else 1.0
            rough = (links[i] * (h[:, None] - h) ** 2).sum() / 2
            value += alphas[i] / 2 * length * rough
    return value


def reconstruction_stop(errors, kappa):
    """Number of iterations made by the rule of section 6.2: until E_{t-1} - E_t <= kappa max(1, E_{t-1})."""
    for t in range(1, len(errors)):
        if errors[t - 1] - errors[t] <= kappa * max(1, errors[t - 1]):
            return t + 1
    return len(errors)


def same_class(y):
    """Links of weight 1 between samples of one known class, none of a sample with itself."""
    return np.array([[float(a == b >= 0 and i != j) for j, b in enumerate(y)] for i, a in enumerate(y)])
