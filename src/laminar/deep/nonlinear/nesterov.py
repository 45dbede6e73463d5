"""The training rule of Trigeorgis et al., section 3.1: Nesterov's accelerated gradient for each factor in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._engine.data.matrix import Matrix
from ..._engine.monitor import Monitor
from .gradients import Penalty, evaluate
from .stack import Stack


def nesterov(
    data: Matrix, stack: Stack, H: np.ndarray, penalties: Sequence[Penalty | None], monitor: Monitor
) -> tuple[Stack, np.ndarray]:
    """Minimise over H_m and Z_m, ..., Z_1, one accelerated step of each factor in every iteration, in unit scale.

        y = F + (a_{t-1} - 1) / a_t (F - F_old),   F <- y - grad(y) / L,   a_t = (1 + sqrt(1 + 4 a_{t-1}^2)) / 2

    H_m is projected on the non-negative codes. The paper gives no rule for L: here it is doubled until
    ``f(F) <= f(y) + <grad(y), F - y> + L/2 ||F - y||^2``. A step that increases the objective is taken again from F
    itself with a = 1, so that none does.
    """
    blocks = [H, *reversed(stack.weights)]  # H_m, Z_m, ..., Z_1
    states = [_Momentum(F) for F in blocks]

    def at(i: int, F: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient by block i, with F in its place."""
        now = [*blocks[:i], F, *blocks[i + 1 :]]
        value, by_codes, by_weights = evaluate(data, Stack(now[:0:-1], stack.activation), now[0], penalties)
        return value, [by_codes, *reversed(by_weights)][i]

    while monitor.running:
        for i, state in enumerate(states):
            value, blocks[i] = state.step(lambda F, i=i: at(i, F), blocks[i], bounded=i == 0)
        monitor.step(value, lambda: {"H": blocks[0], "weights": blocks[:0:-1]})
    return Stack(blocks[:0:-1], stack.activation), blocks[0]


class _Momentum:
    """The accelerated gradient of one factor: its last value, a and L."""

    def __init__(self, F: np.ndarray):
        self.old, self.a, self.lipschitz = F, 1.0, 0.0

    def step(self, objective, F: np.ndarray, *, bounded: bool) -> tuple[float, np.ndarray]:
        """Return the objective after one step, and the factor."""
        value, gradient = objective(F)
        a = (1 + np.sqrt(1 + 4 * self.a**2)) / 2
        y = F + F.dtype.type((self.a - 1) / a) * (F - self.old)
        if bounded:
            y = np.maximum(y, 0)
        at_y = objective(y) if self.a > 1 else (value, gradient)
        new_value, new = self._descend(objective, y, *at_y, bounded=bounded)
        if new_value > value:  # restart from F itself
            a = (1 + np.sqrt(5)) / 2
            new_value, new = self._descend(objective, F, value, gradient, bounded=bounded)
        if new_value > value:  # by rounding
            return value, F
        self.old, self.a = F, a
        return new_value, new

    def _descend(self, objective, y: np.ndarray, value: float, gradient: np.ndarray, *, bounded: bool):
        """Return the value and the point of one gradient step from y, with backtracking on L."""
        length = float(np.linalg.norm(gradient))
        self.lipschitz = 0.5 * self.lipschitz or 10 * length / max(float(np.linalg.norm(y)), 1e-30)
        rounding = 10 * float(np.finfo(y.dtype).eps) * abs(value)
        while True:
            new = y - gradient / y.dtype.type(max(self.lipschitz, 1e-30))
            if bounded:
                np.maximum(new, 0, out=new)
            move = new - y
            new_value = objective(new)[0]
            bound = value + float(np.vdot(gradient, move)) + self.lipschitz / 2 * float(np.vdot(move, move))
            if new_value <= bound + rounding or not move.any():
                return new_value, new
            self.lipschitz *= 2
