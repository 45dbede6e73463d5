"""Non-linear stacks against the usual way to train them, Adam with automatic differentiation in torch, on the CPU.

``python -m benchmarks.nonlinear``: PIE faces, layers 400-100, both from the same pre-trained start. The opponent makes
1000 full-batch epochs; Laminar has to reach its final loss. They take turns: after each half of the opponent's
epochs Laminar runs once from the start.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from laminar.deep.nonlinear import Stack, fit_stack, loss_and_gradients, pretrain

from . import sets
from .harness import Race, Row, median_ratio, seconds, show, spread

ACTIVATIONS = ("square", "relu", "stanh")
TURNS = 2


class Adam:
    """Adam at torch's default rate, which was the best of 1e-3 .. 3e-2 here, on codes that are clipped at zero."""

    def __init__(self, X: np.ndarray, stack: Stack, H: np.ndarray):
        import torch

        self.torch, self.activation = torch, stack.activation
        self.g = {"square": torch.square, "relu": torch.relu, "stanh": lambda A: 1.7159 * torch.tanh(2 / 3 * A)}
        self.X, self.H, *self.Z = (torch.tensor(F) for F in (X, H, *stack.weights))
        for F in (self.H, *self.Z):
            F.requires_grad_()
        self.adam = torch.optim.Adam([self.H, *self.Z])

    def run(self, epochs: int) -> None:
        for _ in range(epochs):
            self.adam.zero_grad()
            below = self.H
            for Z in self.Z[:0:-1]:
                below = self.g[self.activation](below @ Z)
            loss = (self.X - below @ self.Z[0]).square().sum() / 2
            loss.backward()
            self.adam.step()
            with self.torch.no_grad():
                self.H.clamp_(min=0)

    def result(self) -> tuple[Stack, np.ndarray]:
        return Stack([Z.detach().numpy() for Z in self.Z], self.activation), self.H.detach().numpy()


def trace(fit: Callable) -> list[tuple[float, float]]:
    """Seconds and objective after every iteration of a fit."""
    seen, began = [], time.perf_counter()
    fit(callback=lambda i, value, snapshot: seen.append((time.perf_counter() - began, value)) and None)
    return seen


def race(X: np.ndarray, stack: Stack, H: np.ndarray, epochs: int, max_iter: int) -> tuple[float, list[Race], float]:
    """Seconds of the opponent, our runs between its turns, and the loss it reached."""
    opponent, theirs, runs = Adam(X, stack, H), 0.0, []
    for _ in range(TURNS):
        theirs += seconds(lambda: opponent.run(epochs // TURNS))[0]
        runs.append(seconds(lambda: trace(lambda **k: fit_stack(X, stack, H, max_iter=max_iter, tol=0, **k)))[1])
    goal = loss_and_gradients(X, *opponent.result())[0]
    races = [Race(next((t for t, value in run if value <= goal), np.inf), run[-1][0]) for run in runs]
    return theirs, races, goal


def rows_nonlinear(layers=(400, 100), epochs: int = 1000, max_iter: int = 40, step: int = 1) -> Iterator[Row]:
    """One line an activation; every ``step``-th sample."""
    X, _, label = sets.faces("pie_pose27")
    X = np.ascontiguousarray(X[::step], dtype=np.float32)
    size = "-".join(map(str, layers))
    for activation in ACTIVATIONS:
        stack, H = pretrain(X, layers, activation, random_state=0)
        theirs, races, goal = race(X, stack, H, epochs, max_iter)
        pairs = [(theirs, ours) for ours in races]
        start = loss_and_gradients(X, stack, H)[0]
        note = f"{spread(pairs)}; loss {start:.3g} -> {goal:.3g}"
        yield Row(f"{activation} {size}, {label}", f"torch Adam, {epochs} epochs", median_ratio(pairs), 5, note)


if __name__ == "__main__":
    rows = []
    for row in rows_nonlinear():  # each is shown as soon as it is known
        rows.append(row)
        print(f"{row.work} | {row.against} | {row.ratio:.3g} {row.verdict} | {row.note}", file=sys.stderr, flush=True)
    show(rows)
