"""The kernels for arrays on a device, as operations on whole arrays; results are those of the compiled ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._utils import tall
from ..._utils.device.array import DeviceArray
from ..._utils.threads import TILE

COLUMNS = 8  # of a factor whose gradients are one product; each is then corrected for the change of those before it
ENTRIES = 1 << 25  # of a table of one row a sample and one column a class


def hals(
    H: DeviceArray,
    B: DeviceArray,
    G: np.ndarray,
    max_sweeps: int,
    inner_tol: float,
    row_curvature: DeviceArray | None = None,
    column_weights: np.ndarray | None = None,
) -> None:
    """Solve non-negative least squares with one Gram matrix by HALS, in place, as `kernels.hals` does.

    Rows are done in the same tiles, so that each has the same number of sweeps.
    """
    k = H.shape[1]
    xp, G = H.device.xp, np.array(G[:k, :k], H.dtype)
    rows = xp.matrix_transpose(H.data) + 0  # a copy with contiguous components
    linear, gram = xp.matrix_transpose(H.raw(B)), H.device.send(G)
    ridge = None
    if row_curvature is not None:
        ridge = H.device.send(np.asarray(column_weights, H.dtype))[:, None] * row_curvature.data[None, :]
    step = _inverse_curvature(H, G, ridge)
    tiles = _Tiles(H)
    for _ in range(max(1, int(max_sweeps))):
        change = xp.zeros_like(rows[0, :])
        for first in range(0, k, COLUMNS):
            change = change + _update_columns(xp, rows, linear, gram, ridge, step, tiles.moving, first)
        if not tiles.go_on(change, inner_tol):
            break
    H.data[...] = xp.matrix_transpose(rows)


def _update_columns(xp: Any, rows, linear, gram, ridge, step, moving, first: int) -> Any:
    """Update some columns in turn, and return ``sum_a G_aa dh_ia^2`` of every row i."""
    last = min(first + COLUMNS, gram.shape[0])
    gradient = xp.matmul(gram[first:last, :], rows) - linear[first:last, :]
    change = 0.0
    for i, a in enumerate(range(first, last)):
        slope = gradient[i, :] if ridge is None else gradient[i, :] + ridge[a, :] * rows[a, :]
        zero = xp.zeros_like(slope)
        move = xp.maximum(rows[a, :] - slope * step[a, :], zero) - rows[a, :]
        move = move if moving is None else move * moving
        rows[a, :] = rows[a, :] + move
        if a + 1 < last:
            gradient[i + 1 :, :] = gradient[i + 1 :, :] + gram[a + 1 : last, a][:, None] * move[None, :]
        change = gram[a, a] * move * move + change
    return change


def _inverse_curvature(H: DeviceArray, G: np.ndarray, ridge: Any) -> Any:
    """Return ``1 / (G_aa + ridge_ai)``, (k, 1) or (k, n); zero where that is below the smallest normal number."""
    xp, diagonal = H.device.xp, H.device.send(np.diag(G).copy())[:, None]
    curvature = diagonal if ridge is None else diagonal + ridge
    tiny = float(np.finfo(H.dtype).tiny)
    one, none = xp.ones_like(curvature), xp.zeros_like(curvature)
    return xp.where(curvature > tiny, one / xp.where(curvature > tiny, curvature, one), none)


class _Tiles:
    """Which rows still move: those of a tile are done together."""

    def __init__(self, H: DeviceArray):
        n = len(H)
        self.H, self.tile = H, min(TILE if H.dtype == np.float32 else TILE // 2, max(1, -(-n // 16)) * 16)
        self.first: Any = None
        self.moving: Any = None  # 1 or 0 for each row; None while all do

    def go_on(self, change: Any, inner_tol: float) -> bool:
        """Mark the rows of tiles that a sweep moved by more than a part of what the first one did."""
        xp, n = self.H.device.xp, len(self.H)
        missing = xp.zeros(-n % self.tile, dtype=change.dtype, device=self.H.device.name)
        filled = xp.concat([change, missing])
        sums = xp.sum(xp.reshape(filled, (-1, self.tile)), axis=1)
        if self.first is None:
            self.first = sums
            return True
        still = sums > inner_tol**2 * self.first
        spread = xp.broadcast_to(still[:, None], (still.shape[0], self.tile))
        self.moving = xp.astype(xp.reshape(spread, (-1,))[:n], change.dtype)
        return bool(xp.any(still))


def multiply(F: DeviceArray, plus: Any, minus: Any, eta: float) -> None:
    """Apply the multiplicative update ``F <- F * (minus / max(plus, floor))^eta`` in place."""
    mean = float(plus.sum()) / max(plus.size, 1)
    floor = F.dtype.type(max(1e-12 * mean, float(np.finfo(F.dtype).tiny)))
    ratio = minus / np.maximum(plus, floor)
    F *= ratio if eta == 1 else np.sqrt(ratio) if eta == 0.5 else ratio ** float(eta)


def by_sign(both: DeviceArray, B: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """Add the parts of B to both sides of a multiplicative update."""
    k = B.shape[1]
    return both[:, :k] - np.minimum(B, 0), both[:, k:] + np.maximum(B, 0)


def class_sums(codes: DeviceArray, H: DeviceArray) -> np.ndarray:
    """Sum the rows of H of each class; -1 is unknown. The last row is zero."""
    classes = np.arange(int(codes.max()) + 1)
    sums, step = np.zeros((len(classes) + 1, H.shape[1])), max(1, ENTRIES // (len(classes) + 1))
    for start in range(0, len(H), step):
        b = slice(start, min(start + step, len(H)))
        members = (codes[b][:, None] == classes).astype(np.float64)
        sums[:-1] += members.T @ H[b]
    return sums


def class_rest(codes: DeviceArray, sums: np.ndarray, loops: DeviceArray, H: DeviceArray) -> DeviceArray:
    """Multiply H by the weights of a class graph: ``max(0, sums[codes] - loops * H)``."""
    return np.maximum(tall.rows_of(sums, codes) - loops[:, None] * H, 0)
