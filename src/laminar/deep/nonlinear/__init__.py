"""Layers with an activation between them, ``X ~ g(... g(H_m Z_m) ...) Z_1``: the engine of non-linear models.

Only the top codes are variables (and non-negative); hidden codes are functions of them. A `Stack` holds the weights,
`pretrain` initialises it layer by layer, `fit_stack` trains it, `code` computes the codes of new samples.
"""

from .activations import ACTIVATIONS, Activation, Rectified, as_activation
from .coding import code
from .gradients import Penalties, ScaleFreePenalty, TracePenalty, loss_and_gradients
from .pretraining import pretrain
from .stack import Stack
from .stochastic import Stream, stream_step
from .training import StackFit, fit_stack

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Penalties",
    "Rectified",
    "ScaleFreePenalty",
    "Stack",
    "StackFit",
    "Stream",
    "TracePenalty",
    "as_activation",
    "code",
    "fit_stack",
    "loss_and_gradients",
    "pretrain",
    "stream_step",
]
