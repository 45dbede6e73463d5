"""Compiled passes over a factor, each in place of several of numpy's; serial, like `kernels`.

A sweep of a multiplicative rule does little more than read and write its factors: every array in between counts.
"""

from __future__ import annotations

import numpy as np

from .kernels import compiled


@compiled
def class_sums(codes, H):
    """Sum the rows of H that share a code, in double precision; row -1 of the result, of unknown codes, stays zero."""
    sums = np.zeros((codes.max() + 2 if len(codes) else 1, H.shape[1]))
    for i in range(len(codes)):
        if codes[i] >= 0:
            for a in range(H.shape[1]):
                sums[codes[i], a] += H[i, a]
    return sums


@compiled
def class_rest(codes, sums, loops, H):
    """Sum over the others of a class, by the sum of all: ``sums[codes] - loops * H``; below zero is rounding."""
    rest = np.empty_like(H)
    for i in range(H.shape[0]):
        total, own = sums[codes[i]], loops[i]
        for a in range(H.shape[1]):
            rest[i, a] = max(total[a] - own * H[i, a], H.dtype.type(0))
    return rest


@compiled
def by_sign(both, B):
    """``(P + max(-B, 0), M + max(B, 0))`` of ``both = [P M]``: the two sides of a multiplicative rule."""
    zero, k = B.dtype.type(0), B.shape[1]
    plus, minus = np.empty_like(B), np.empty_like(B)
    for i in range(B.shape[0]):
        for a in range(k):
            plus[i, a] = both[i, a] - min(B[i, a], zero)
            minus[i, a] = both[i, k + a] + max(B[i, a], zero)
    return plus, minus


@compiled
def add_columns(out, F, columns):
    """``out += F * columns`` in place, without an array in between."""
    for i in range(F.shape[0]):
        for a in range(F.shape[1]):
            out[i, a] += F[i, a] * columns[a]


@compiled
def multiply(F, plus, minus, eta):
    """``F *= (minus / plus)^eta`` in place, with a floor under plus far below its mean; one row of plus serves all."""
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
