"""Stacks of layers with an activation between them, ``X ~ g(... g(H_m Z_m) ...) Z_1``: the engine of non-linear models.

Only the top codes are variables (and non-negative); hidden codes follow from them. A `Stack` holds the weights,
`pretrain` starts it layer by layer, `fit_stack` trains it, `code` gives the codes of samples it has not seen.
"""

from .activations import ACTIVATIONS, Activation
from .codes import code
from .gradients import ScaleFreePenalty, loss_and_gradients
from .optimise import StackFit, fit_stack
from .pretraining import pretrain
from .stack import Stack
from .stochastic import Stream, stream_step

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "ScaleFreePenalty",
    "Stack",
    "StackFit",
    "Stream",
    "code",
    "fit_stack",
    "loss_and_gradients",
    "pretrain",
    "stream_step",
]
