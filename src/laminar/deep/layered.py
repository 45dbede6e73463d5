"""`Layered`: base of the models of several layers, and stacks with an activation between the layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Clusters
from .._base.coding import Coder, Layer
from .._engine.data.matrix import Matrix, dense
from .._engine.data.wrap import wrap
from .._engine.monitor import Callback
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin
from .._utils.typing import Data
from .nonlinear import Stack, StackFit, code, fit_stack, loss_and_gradients
from .nonlinear import pretrain as pretrain_stack


class Layered(CallbackSupportMixin, Coder):
    """A stack of layers, fitted through an activation or (see `deep.Deep`) without one."""

    _stack: Stack | None = None  # of a fitted model with an activation

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of the layers, from the input up."""
        sizes = np.atleast_1d(self.layers)
        if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(f"layers must be one or more whole numbers above 0, as (100, 20); got {self.layers!r}.")
        return tuple(int(k) for k in sizes)

    def _check_solver(self, follow: bool, what: str) -> None:
        """Refuse a solver for another model: one whose hidden codes follow from the top ones, or not."""
        if self.solver in (("hals", "mu") if follow else ("lbfgs", "adam")):
            fitting = '"lbfgs", "apg" or "adam"' if follow else '"hals", "mu" or "apg"'
            raise ValueError(f'solver="{self.solver}" is not for {what}: use {fitting}.')
        if follow and self.batch_size is not None and self.solver not in ("auto", "adam"):
            raise ValueError(f'batch_size={self.batch_size} needs solver="adam", got "{self.solver}".')

    def _given_weights(self, init, data: Matrix) -> list[np.ndarray]:
        """Return the weights of a fitted model, if they fit."""
        if not isinstance(init, BaseEstimator) or not hasattr(init, "fit"):
            raise ValueError(f"init must be a fitted model with layers, got {type(init).__name__}.")
        check_is_fitted(init, "layers_")
        shapes = [layer.weights.shape for layer in init.layers_]
        expected = list(zip(self._sizes, (data.shape[1], *self._sizes[:-1]), strict=True))
        if shapes != expected:
            raise ValueError(
                f"init: the layers of {type(init).__name__} have weights of shapes {shapes}; layers={self.layers!r} "
                f"on {data.shape[1]} features needs {expected}. Give it the same layers and features."
            )
        return [np.array(layer.weights, dtype=data.dtype) for layer in init.layers_]

    def _check_room(self, data: Matrix) -> None:
        """Refuse X whose codes may leave the range of its type: a stack works in the units of X."""
        if data.scale > 0.1 * float(np.finfo(data.dtype).max):
            raise ValueError(
                f"The largest magnitude in X is {data.scale:.3g}: its codes are out of range. Divide X by a constant."
            )

    def _train_stack(self, X, data: Matrix, init, activation: str, penalties, callback: Callback) -> StackFit:
        """Return weights with an activation between them, and the codes of the top."""
        self._check_room(data)
        if init is None:
            stack, H = self._pretrained_stack(X, activation)
        else:
            stack = Stack(self._given_weights(init, data), activation)
            H = self._given_codes(X, init, stack, penalties)
        if self.max_iter == 0:
            return StackFit({"H": H}, [loss_and_gradients(X, stack, H, penalties)[0]], 0, True, stack)
        auto = "lbfgs" if self.batch_size is None else "adam"
        return fit_stack(
            X,
            stack,
            H,
            solver=auto if self.solver == "auto" else self.solver,
            batch_size=self.batch_size,
            penalties=penalties,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            callback=callback,
        )

    def _given_codes(self, X, init, stack: Stack, penalties) -> np.ndarray:
        """Return codes of X on the weights of a fitted model.

        If it was fitted to these samples its own codes, which depend on the labels too, may have a lower objective: the
        lower one is returned. With ``max_iter=0`` they are the result, and must be codes of X.
        """
        fresh, own = code(X, stack), np.maximum(init.layers_[-1].representation, 0)
        if own.shape != fresh.shape or not self.max_iter:
            return fresh
        starts = [fresh, own.astype(fresh.dtype)]
        return min(starts, key=lambda H: loss_and_gradients(X, stack, H, penalties)[0])

    def _pretrained_stack(self, X, activation: str) -> tuple[Stack, np.ndarray]:
        name = "random" if self.init == "auto" else self.init
        return pretrain_stack(X, self._sizes, activation, init=name, random_state=self.random_state)

    def _keep_fit(self, X, fit: StackFit) -> None:
        self._keep_stack(X, fit.stack, fit.H)
        self.objective_history_ = np.array(fit.history)
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged

    def _keep_stack(self, X, stack: Stack, H: np.ndarray) -> None:
        """Set the fitted attributes of a stack with an activation; hidden codes follow from those of the top."""
        codes = stack.forward(H)
        bases = [stack.components(F, layer) for layer, F in enumerate(codes)]
        self._stack = stack
        self._keep_layers(codes, stack.weights, bases)
        self.reconstruction_err_ = float(np.sqrt(self._squared_error(X, stack, H)))

    def _squared_error(self, X, stack: Stack, H: np.ndarray) -> float:
        """Return the squared error of the stack with an activation, in blocks of rows."""
        blocks, reconstruct = threads.blocks(len(H), 256), stack.reconstruct
        parts = threads.each(lambda b: ((dense(X[b]) - reconstruct(H[b])).astype(float) ** 2).sum(), blocks)
        return float(sum(parts))

    def _keep_layers(self, codes: Sequence[np.ndarray], weights, bases) -> None:
        self.layers_ = [Layer(*parts) for parts in zip(weights, bases, codes, strict=True)]
        self.components_ = bases[-1]
        self.clusters_ = Clusters(codes[-1], self.random_state)
        self._n_features_out = len(self.components_)

    # ---- using a stack with an activation ------------------------------------------------------------------------

    def _code(self, X, layer: int, method: str) -> np.ndarray:
        if self._stack is None:
            return super()._code(X, layer, method)
        self._check_room(wrap(X))
        # Of the many codes that could be found, those next to a training sample's are as good as that sample's.
        return code(X, self._stack, layer, method, anchors=self._layer(layer).representation)

    def inverse_transform(self, H: ArrayLike, *, layer: int = -1) -> np.ndarray:
        """Reconstruct samples from codes, through the activations if there are any.

        Parameters
        ----------
        H : array-like of shape (n_samples, layers[layer])
            Codes.
        layer : int, default=-1
            Position in ``layers_`` of the layer they belong to.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The reconstruction.
        """
        if self._stack is None:
            return super().inverse_transform(H, layer=layer)
        return self._stack.reconstruct(dense(self._check_codes(H, layer)), layer)

    def score(self, X: Data, y: ArrayLike | None = None) -> float:
        """Return the explained part of X, 1 for a perfect fit.

        ``1 - ||X - Y||^2 / ||X||^2`` with the reconstruction Y from the codes of `transform` on the top layer; with
        ``loss="kl"`` ``-D(X || Y) / sum(X)``, which is 0 for a perfect fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Higher is better.
        """
        if self._stack is None:
            return super().score(X, y)
        X = self._validate(X, reset=False)
        total = float(X.multiply(X).sum() if hasattr(X, "toarray") else np.einsum("ij,ij->", X, X, dtype=np.float64))
        return 1 - self._squared_error(X, self._stack, self._code(X, -1, "nonnegative")) / total if total else 1.0
