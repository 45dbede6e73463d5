"""Compiled elementwise operations on a factor, one pass each where numpy needs several; serial, like `kernels`.

The time of a multiplicative update is that of reading and writing its factors, so temporary arrays are avoided. Plain
numpy twins are in tests/reference/passes.py.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled


@compiled
def class_sums(codes, H):
    """Sum the rows of H of each class, ``sums[c] = sum_{i: codes_i = c} h_i``, in float64.

    Parameters
    ----------
    codes : (n,), the class of each row; -1 is unknown, and such rows are left out.
    H : (n, k).

    Returns
    -------
    (n_classes + 1, k); the last row is zero, so that ``sums[codes]`` is zero where the class is unknown.
    """
    last = -1
    for i in range(len(codes)):  # codes.max() takes longer to compile than the rest
        last = max(last, codes[i])
    sums = np.zeros((last + 2, H.shape[1]))
    for i in range(len(codes)):
        if codes[i] >= 0:
            for a in range(H.shape[1]):
                sums[codes[i], a] += H[i, a]
    return sums


@compiled
def class_rest(codes, sums, loops, H):
    """Multiply H by the weights of a class graph: ``max(0, sums[codes] - loops * H)``.

    For H >= 0 the exact difference, the sum over the *other* rows of a class, is non-negative; a negative one is
    rounding error.

    Parameters
    ----------
    codes : (n,), the class of each row, -1 where it is unknown.
    sums : (n_classes + 1, k), from `class_sums`, scaled by the weight of each class.
    loops : (n,), weight of each row in its own sum, the diagonal that the graph does not have.
    H : (n, k).

    Returns
    -------
    (n, k), in the precision of H.
    """
    rest = np.empty_like(H)
    for i in range(H.shape[0]):
        total, own = sums[codes[i]], loops[i]
        for a in range(H.shape[1]):
            rest[i, a] = max(total[a] - own * H[i, a], H.dtype.type(0))
    return rest


@compiled
def by_sign(both, B):
    """Add the parts of B to both sides of a multiplicative update: ``P + max(-B, 0)`` and ``M + max(B, 0)``.

    Parameters
    ----------
    both : (n, 2 k), P and M side by side, e.g. ``H [G^+ G^-]``.
    B : (n, k), of any sign.

    Returns
    -------
    plus, minus : (n, k) each, non-negative parts whose difference is the gradient ``P - M - B``.
    """
    zero, k = B.dtype.type(0), B.shape[1]
    plus, minus = np.empty_like(B), np.empty_like(B)
    for i in range(B.shape[0]):
        for a in range(k):
            plus[i, a] = both[i, a] - min(B[i, a], zero)
            minus[i, a] = both[i, k + a] + max(B[i, a], zero)
    return plus, minus


@compiled
def add_columns(out, F, columns):
    """Add ``F diag(columns)`` to out in place: out and F are (n, k), columns (k,)."""
    for i in range(F.shape[0]):
        for a in range(F.shape[1]):
            out[i, a] += F[i, a] * columns[a]


@compiled
def multiply(F, plus, minus, eta):
    """Apply the multiplicative update ``F <- F * (minus / max(plus, floor))^eta`` in place (docs/methods.md 1.2).

    Parameters
    ----------
    F : (n, k), start and result.
    plus : (n, k) or (1, k), positive part of the gradient. The floor is 1e-12 of its mean.
    minus : (n, k), negative part of the gradient.
    eta : exponent; 1 and 0.5 have loops of their own.
    """
    last, total = plus.shape[0] - 1, F.dtype.type(0)
    for i in range(last + 1):
        for a in range(F.shape[1]):
            total += plus[i, a]
    floor = F.dtype.type(max(1e-12 * total / max(plus.size, 1), np.finfo(F.dtype).tiny))
    for i in range(F.shape[0]):
        p, m, f = plus[min(i, last)], minus[i], F[i]
        if eta == 1:
            for a in range(F.shape[1]):
                f[a] *= m[a] / max(p[a], floor)
        elif eta == 0.5:
            for a in range(F.shape[1]):
                f[a] *= np.sqrt(m[a] / max(p[a], floor))
        else:
            for a in range(F.shape[1]):
                f[a] *= (m[a] / max(p[a], floor)) ** eta
