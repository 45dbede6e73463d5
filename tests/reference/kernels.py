"""The numpy twin of every kernel of `_engine.linalg.kernels`. Nothing is done in place; sparse data come as arrays."""

import numpy as np
from scipy.optimize import nnls as scipy_nnls


def hals(H, B, G, max_sweeps, inner_tol, tile):
    """Coordinate descent on ``1/2 <H G, H> - <B, H>`` over H >= 0, each tile of rows until it hardly moves."""
    H = H.copy()
    for start in range(0, len(H), tile):
        h, b = H[start : start + tile], B[start : start + tile]
        for sweep in range(max_sweeps):
            moved = 0.0
            for a in range(G.shape[0]):
                if G[a, a] == 0:
                    continue
                new = np.maximum(0, h[:, a] - (h @ G[:, a] - b[:, a]) / G[a, a])
                moved += G[a, a] * ((new - h[:, a]) ** 2).sum()
                h[:, a] = new
            if sweep == 0:
                first = moved
            elif moved <= inner_tol**2 * first:
                break
    return H


def nnls(X, M):
    """``min_{h >= 0} ||x - M h||`` for each row x of X."""
    return np.array([scipy_nnls(M, x)[0] for x in X])


def sparse_times(X, R):
    return X @ R


def kl_times(X, F, M, floor):
    return (X / np.maximum(F @ M.T, floor)) @ M


def kl_value(X, F, M, floor):
    Y = np.maximum(F @ M.T, floor)
    return sum(x * np.log(x / y) for x, y in zip(X.ravel(), Y.ravel(), strict=True) if x > 0)


def tied_hals(F, gradient, K, G, sweeps):
    """Coordinate descent on ``1/2 <K D G, D> + <gradient, D>`` over F + D >= 0; returns F + D and ``G D^T``."""
    D = np.zeros_like(F)
    for _ in range(sweeps):
        for i in range(len(F)):
            for a in range(len(G)):
                if K[i, i] == 0:
                    F[i, a], D[i, a] = 0, 0
                elif G[a, a] > 0:
                    slope = (K[i] @ D @ G + gradient[i])[a]
                    D[i, a] = max(F[i, a] + D[i, a] - slope / (K[i, i] * G[a, a]), 0) - F[i, a]
    return F + D, G @ D.T


def summed_hals(Z, B, G, c, alpha, sweeps):
    """Coordinate descent over rows of Z >= 0 with a penalty on their sums; the sum by bisection."""
    Z = Z.copy()
    for _ in range(sweeps):
        for a in range(len(Z)):
            if G[a, a] == 0:
                continue
            free = Z[a] + (B[a] - G[a] @ Z + c[a]) / G[a, a]
            low, high = 0.0, np.maximum(free, 0).sum()
            for _ in range(200):
                q = (low + high) / 2
                low, high = (q, high) if np.maximum(free - alpha * q, 0).sum() > q else (low, q)
            Z[a] = np.maximum(free - alpha * q, 0)
    return Z
