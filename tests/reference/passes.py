"""Plain numpy twins of `laminar._engine.linalg.elementwise`."""

import numpy as np


def class_sums(codes, H):
    sums = np.zeros((max(codes, default=-1) + 2, H.shape[1]))
    np.add.at(sums, codes[codes >= 0], H[codes >= 0])
    return sums


def class_rest(codes, sums, loops, H):
    return np.maximum(sums[codes] - loops[:, None] * H, 0)


def by_sign(both, B):
    k = B.shape[1]
    return both[:, :k] + np.maximum(-B, 0), both[:, k:] + np.maximum(B, 0)


def multiply(F, plus, minus, eta):
    floor = max(1e-12 * plus.mean(), np.finfo(F.dtype).tiny)
    return F * (minus / np.maximum(plus, floor)) ** eta
