"""`Layered`: base of the models of several layers, and stacks with an activation between the layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._base.coding import Coder, Layer
from .._engine.data.matrix import Matrix, dense
from .._engine.data.wrap import wrap
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin
from .._utils.typing import Data
from .._utils.workers.reading import is_dask
from .nonlinear import Stack, StackFit, code, loss_and_gradients


class Layered(CallbackSupportMixin, Coder):
    """A stack of layers, fitted through an activation or (see `deep.Deep`) without one."""

    _stack: Stack | None = None  # of a fitted model with an activation

    _sizes: tuple[int, ...]  # of the layers, from the input up; of the last fit
    _ridges: Sequence[float] = ()  # of their codes; none in models without

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

    def _keep_fit(self, X, fit: StackFit) -> None:
        self._keep_stack(X, fit.stack, fit.H)
        self.objective_history_, self.history_iterations_ = np.array(fit.history), np.array(fit.iterations)
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged
        self.kkt_residual_: float | None = None

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
        ridges = self._ridges or [0.0] * len(codes)
        self.layers_ = [Layer.of(*parts) for parts in zip(weights, bases, codes, ridges, strict=True)]
        self.components_ = bases[-1]
        self.clusters_ = self._clusters()

    @property
    def _codes_with_training_samples(self) -> bool:
        return self._stack is not None  # they are anchors of the codes of new samples

    # ---- using a stack with an activation ------------------------------------------------------------------------

    def _code(self, X, layer: int, method: str) -> np.ndarray:
        if self._stack is None:
            return super()._code(X, layer, method)
        self._check_room(wrap(X))
        # Of the many codes that could be found, those next to a training sample's are as good as that sample's.
        return code(X, self._stack, layer, method, anchors=self.layers_[layer].representation)

    def inverse_transform(
        self, H: ArrayLike, *, layer: int | str | None = None, to: int | str | None = None
    ) -> np.ndarray:
        """Reconstruct samples, or the codes of a lower layer, from raw codes.

        Parameters
        ----------
        H : array-like of shape (n_samples, layers[layer])
            Codes, those of ``readout="raw"``.
        layer : int, str or None, default=None
            Position in ``layers_``, or name, of the layer they belong to; None means the parameter ``layer``.
        to : int, str or None, default=None
            Layer whose implied codes are returned, ``H Z_layer ... Z_{to+1}`` (eq. 8 of Trigeorgis et al.), through the
            activations if there are any; None means the input.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features) or (n_samples, layers[to])
            The reconstruction.
        """
        check_is_fitted(self)
        start = self._position(layer)
        codes: Any = H if is_dask(H) else dense(self._check_codes(H, self.layers_[start]))
        end = -1 if to is None else self._layer_at(to)
        if end > start:
            raise ValueError(f"to={to!r} is above layer={layer!r}: implied codes are those of a lower layer.")
        if self._stack is not None and to is None:
            return self._stack.reconstruct(codes, start)
        if self._stack is not None:
            return self._stack.below(start).forward(codes)[end]
        return codes @ self.layers_[start].components if to is None else codes @ self.mapping(start, end)

    def mapping(self, layer: int | str, to: int | str) -> np.ndarray:
        """Return the weights from one layer to a lower one, ``Z_layer ... Z_{to+1}`` (Trigeorgis et al., section 3).

        Row a is what code a of the upper layer contributes to the codes of the lower one: with identities on layer 3
        and poses on layer 1, Z_3 Z_2 gives the poses of an identity. With an activation this is the product of the
        weights without it.

        Parameters
        ----------
        layer : int or str
            Position in ``layers_``, or name, of the upper layer.
        to : int or str
            The same of the lower one; a layer is mapped to itself by the identity.

        Returns
        -------
        Z : ndarray of shape (layers[layer], layers[to])
            The product.
        """
        check_is_fitted(self)
        start, end = self._layer_at(layer), self._layer_at(to)
        if end > start:
            raise ValueError(f"to={to!r} is above layer={layer!r}: a mapping goes from a layer to a lower one.")
        product = np.eye(len(self.layers_[start].weights), dtype=self.components_.dtype)
        for i in range(start, end, -1):
            product = product @ self.layers_[i].weights
        return product

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
