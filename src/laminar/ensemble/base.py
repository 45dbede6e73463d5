"""`EnsembleCoder`: the methods of a fitted cluster ensemble."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Form, refuse_without_codes
from .._base.output import LayerOutput
from .._base.views import ViewReader
from .._utils import threads
from .._utils.typing import ViewData
from .._utils.views import Views
from .grid import Member
from .spaces import NewScores, Spaces
from .voting import vote


@dataclass(frozen=True, eq=False)
class Reading:
    """Clusters that some members agree on.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each training sample.
    members : ndarray of int
        Positions of the members in ``members_``.
    """

    labels: np.ndarray
    members: np.ndarray


class EnsembleCoder(ClusterMixin, ViewReader, LayerOutput):
    """Base of `ClusterEnsemble`: what a fitted ensemble is used for."""

    members_: list[Member]
    labels_: np.ndarray
    kept_: np.ndarray
    alternatives_: list[Reading]
    components_: np.ndarray
    _member_weights: np.ndarray
    _memberships: np.ndarray
    _spaces: Spaces
    _cluster_form = "raw"

    def _vote(self, views: Views, chosen: np.ndarray, H: np.ndarray) -> np.ndarray:
        new = NewScores(self._spaces, views.arrays, views.observed)
        return vote(self._spaces, [self.members_[i] for i in chosen], self._member_weights[chosen], H, new)

    @property
    def common_(self) -> dict[str, dict]:
        """What the kept members have in common: for each of their properties the share of them with each value."""
        kept = [member for member, is_kept in zip(self.members_, self.kept_, strict=True) if is_kept]
        counts = {field.name: Counter(getattr(member, field.name) for member in kept) for field in fields(Member)}
        return {name: {value: n / len(kept) for value, n in sorted(c.items())} for name, c in counts.items()}

    def transform(
        self,
        X: ViewData,
        *,
        layer: int | str | None = None,
        observed: ArrayLike | None = None,
        readout: Form | None = None,
    ) -> np.ndarray:
        """Compute the memberships of samples, by a vote of their nearest training samples in every kept member.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes. New samples may lack views: a view may be absent from a dict, or be None in a
            list.
        layer : int, "all" or None, default=None
            Position in ``layers_``, which has one layer. None means the parameter ``layer``.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the memberships: H itself, which is also "auto"; whitened, with rows of unit norm; or times the
            square root of the Gram matrix of the components, so that distances are those of the reconstructions. A
            number is between isometric, 0, and whitened, 1. None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_clusters)
            Memberships, not negative; rows add to one, unless they are in another form.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output([self._transform(X, readout=form, observed=observed)], X, places)

    def _transform(self, X: ViewData, *, readout: Form = "raw", observed: ArrayLike | None = None) -> np.ndarray:
        """Return memberships in a form, as an array whatever the parameters."""
        with threads.own_threads():
            views = self._read_new(X, observed)
            H = self._vote(views, np.flatnonzero(self.kept_), self._memberships)
        return self._reader(0, readout)(H.astype(views.arrays[0].dtype))

    def fit_transform(
        self,
        X: ViewData,
        y: ArrayLike | None = None,
        *,
        layer: int | str | None = None,
        readout: Form | None = None,
        **parameters,
    ) -> np.ndarray:
        """Fit the ensemble and return the memberships of the training samples.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes.
        y : Ignored
            Not used, present for API consistency.
        layer : int, "all" or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the memberships as for `transform`; None means the parameter ``readout``.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        H : ndarray of shape (n_samples, n_clusters)
            Memberships by the members themselves, ``layers_[0].representation``; `transform` gives those of a vote.
        """
        self.fit(X, y, **parameters)
        return self._fit_output(X, self._places(layer), self._form(readout, self._code_form))

    def predict(self, X: ViewData, *, observed: ArrayLike | None = None) -> np.ndarray:
        """Return the cluster of samples, in the fit or new: the largest of the memberships of `transform`.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array
            Views in any form `fit` takes; new samples may lack views, as in `transform`.
        observed : array-like of bool of shape (n_samples, n_views), default=None
            Which sample has which view, in addition to None and NaN.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample; of training samples it may differ from ``labels_``.
        """
        return self._transform(X, observed=observed).argmax(axis=1)

    def cluster(self, X: ViewData | None = None) -> np.ndarray:
        """Return the clusters of the training samples, ``labels_``, or those that `predict` gives.

        Parameters
        ----------
        X : list or dict of {array-like, sparse matrix}, or one array, or None, default=None
            Samples, in the fit or new. None means the training samples.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        check_is_fitted(self)
        if X is not None:
            return self.predict(X)
        refuse_without_codes(self.layers_[0].representation, "the clusters of the training samples")
        return self.labels_

    def inverse_transform(self, H: ArrayLike) -> np.ndarray:
        """Return mixtures of the components, ``H @ components_``: for memberships, weighted means of clusters.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_clusters)
            Memberships.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features of all views)
            The views side by side, in their units.
        """
        check_is_fitted(self)
        codes = np.asarray(check_array(H, dtype=[np.float64, np.float32], input_name="H"))
        if codes.shape[1] != len(self.components_):
            raise ValueError(f"H must have shape (n_samples, {len(self.components_)}), got {codes.shape}.")
        return codes @ self.components_

    # ---- model files ---------------------------------------------------------------------------------------------

    _sample_attributes = ("labels_",)

    def _without_training_codes(self) -> Self:
        kept = super()._without_training_codes()
        kept.alternatives_ = [Reading(reading.labels[:0].copy(), reading.members) for reading in self.alternatives_]
        return kept

    def _kept_samples(self) -> list[str]:
        # transform needs the training samples that vote.
        return [*super()._kept_samples(), "scores and memberships of the samples in its graphs (_spaces, _memberships)"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
