"""`MultipleCoder`: the methods of fitted multiple clusterings."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Form, refuse_without_codes, side_by_side
from .._base.coding import Layer
from .._base.output import LayerOutput
from .._base.spectral import spectral_labels
from .._utils import threads
from .._utils.typing import Data
from .._utils.validation import read_data
from .subspaces import Stages, Subspace, one_hot


class MultipleCoder(ClusterMixin, LayerOutput):
    """Base of `MultipleClusterings`: what fitted clusterings are used for."""

    layers_: list[Layer]
    labels_: np.ndarray
    _stages: Stages
    _subspaces: list[Subspace]
    _voters: list[np.ndarray]  # of each layer, the clusters of the samples in its graph, which vote
    _numbers: list[int]
    _seed: int
    _main = 0
    _cluster_form = "raw"
    _clusters_layers = True

    def _validate(self, X, *, reset: bool):
        return read_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])

    def _memberships(self, place: int, scores: Sequence[np.ndarray]) -> np.ndarray:
        """Return the memberships in a layer of samples with scores at both stages."""
        return self._vote(place, scores, one_hot(self._voters[place], self._numbers[place]))

    def _vote(self, place: int, scores: Sequence[np.ndarray], H: np.ndarray) -> np.ndarray:
        subspace = self._subspaces[place]
        return subspace.vote(self._stages.scores[subspace.stage], scores[subspace.stage], H)

    def _labels_at(self, place: int) -> np.ndarray:
        return self.layers_[place].representation.argmax(axis=1)

    @property
    def common_(self) -> list[dict[str, Any]]:
        """Where each layer was found: with the main clusters in or out, whitening, directions, number of clusters."""
        return [
            {
                "main_clusters": "out" if subspace.stage else "in",
                "exponent": subspace.exponent,
                "directions": subspace.directions,
                "n_clusters": number,
            }
            for subspace, number in zip(self._subspaces, self._numbers, strict=True)
        ]

    def transform(self, X: Data, *, layer: int | str | None = None, readout: Form | None = None) -> np.ndarray:
        """Compute the memberships of samples, by a vote of their nearest training samples in the subspace of a layer.

        The main clusters of a sample, which other layers are without, are those of its vote as well.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        layer : int, "all" or None, default=None
            Position in ``layers_``; "all" is all layers side by side. None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the memberships: H itself, which is also "auto"; whitened, with rows of unit norm; or times the
            square root of the Gram matrix of the components, so that distances are those of the reconstructions. None
            means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_clusters)
            Memberships, not negative; rows of a layer add to one, unless they are in another form.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form), X, places)

    def _transform(self, X: Data, layer: int | str = 0, readout: Form = "raw") -> np.ndarray:
        """Return memberships as an array whatever the parameters."""
        return side_by_side(self._parts(X, self._places(layer), readout))

    def _parts(self, X: Data, places: list[int], form: Form) -> list[np.ndarray]:
        reads = [self._reader(place, form) for place in places]
        X = self._validate(X, reset=False)
        with threads.own_threads():
            scores = self._stages.of(X)
            found = [self._memberships(place, scores) for place in places]
        return [read(H.astype(X.dtype)) for read, H in zip(reads, found, strict=True)]

    def fit_transform(
        self, X: Data, y: ArrayLike | None = None, *, layer: int | str | None = None, readout: Form | None = None
    ) -> np.ndarray:
        """Fit the clusterings and return the memberships of the training samples, as `transform` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : Ignored
            Not used, present for API consistency.
        layer : int, "all" or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the memberships as for `transform`; None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_clusters)
            Memberships.
        """
        self.fit(X, y)
        return self._fit_output(X, self._places(layer), self._form(readout, self._code_form))

    def cluster(
        self, X: Data | None = None, n_clusters: int | None = None, *, layer: int | None = None, n_init: int = 10
    ) -> np.ndarray:
        """Return the clusters of samples in a layer, as many as the fit found there or any other number.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
            Samples, in the fit or new. None means the training samples.
        n_clusters : int or None, default=None
            Number of clusters: None means that of the layer, with the largest membership of each sample; another one
            gives spectral clusters of the graph of the layer, on which new samples are voted.
        layer : int or None, default=None
            Position in ``layers_``; None means the parameter ``layer``.
        n_init : int, default=10
            Starts of k-means, for another number of clusters.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        check_is_fitted(self)
        allowed = {
            "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
            "n_init": [Interval(Integral, 1, None, closed="left")],
        }
        validate_parameter_constraints(allowed, {"n_clusters": n_clusters, "n_init": n_init}, "cluster")
        place = self._one_place(layer)
        if X is None:
            refuse_without_codes(self.layers_[place].representation, "the clusters of the training samples")
        if n_clusters is None or n_clusters == self._numbers[place]:
            return self._labels_at(place) if X is None else self._transform(X, place).argmax(axis=1)
        return self._other_clusters(X, int(n_clusters), place, n_init)

    def _one_place(self, layer: int | None) -> int:
        """Return the position of the layer that clusters are of; that of the first where all are meant."""
        if isinstance(layer, str):
            raise ValueError(f"layer={layer!r} is no layer that clusters belong to: give the position of one.")
        return self._places(layer)[0]

    def _other_clusters(self, X: Data | None, n_clusters: int, place: int, n_init: int) -> np.ndarray:
        subspace = self._subspaces[place]
        scores = self._stages.scores[subspace.stage]
        n_samples = len(scores.training)
        if n_clusters > n_samples:
            raise ValueError(f"n_clusters={n_clusters} is more than the {n_samples} samples in the graphs of the fit.")
        if X is None and len(self.layers_[place].representation) != n_samples:
            raise ValueError(
                f"the graphs are of {n_samples} of the training samples (max_samples), and n_clusters={n_clusters} is "
                "not the number of the fit: give the samples as X."
            )
        with threads.own_threads():
            at = [own.training for own in self._stages.scores]
            if X is not None:
                at = self._stages.of(self._validate(X, reset=False))
            labels = np.zeros(n_samples, dtype=int)
            if n_clusters > 1:
                labels = spectral_labels(subspace.graph(scores), n_clusters, self._seed, n_init=n_init)
            return self._vote(place, at, one_hot(labels, n_clusters)).argmax(axis=1)

    def predict(self, X: Data) -> np.ndarray:
        """Return the cluster of samples, in the fit or new, in the layer that the parameter ``layer`` names.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        return self.cluster(X)

    def inverse_transform(self, H: ArrayLike, *, layer: int | None = None) -> np.ndarray:
        """Return mixtures of the components of a layer: for memberships, weighted means of its clusters.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_clusters)
            Memberships.
        layer : int or None, default=None
            Position in ``layers_``; None means the parameter ``layer``.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            In the units of the data.
        """
        check_is_fitted(self)
        components = self.layers_[self._one_place(layer)].components
        codes = np.asarray(check_array(H, dtype=[np.float64, np.float32], input_name="H"))
        if codes.shape[1] != len(components):
            raise ValueError(f"H must have shape (n_samples, {len(components)}), got {codes.shape}.")
        return codes @ components

    # ---- model files ---------------------------------------------------------------------------------------------

    _sample_attributes = ("labels_",)

    def _kept_samples(self) -> list[str]:
        # transform needs the training samples that vote.
        return [*super()._kept_samples(), "scores and clusters of the samples in its graphs (_stages, _voters)"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
