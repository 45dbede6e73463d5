"""Slow feature analysis."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from .._base.clusters import Form, Readout, reader
from .._base.coding import Layer
from .._base.output import OUTPUT, LayerOutput
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._engine.linalg.small import column_signs
from .._utils.typing import Data
from .._utils.validation import read_data
from ..graphs import Chain
from ..graphs.slow_directions import Steps, choose_n_pcs, numerical_rank, slowest_directions, steps_of


class SlowFeatureAnalysis(LayerOutput):
    """Slow feature analysis (SFA): linear features of a sequence that change least from frame to frame.

    Feature a is (x - mean) v_a. The filters v_a minimise one after the other, among features of unit variance that are
    uncorrelated with those before::

        delta_a = v_a^T A v_a,   A = mean_t (x_{t+1} - x_t)^T (x_{t+1} - x_t),   V^T C V = I                        (1)

    with C the covariance of the frames x_t, the rows of X (n_samples, n_features), in order of time; t runs over the
    steps inside sequences. This is eq. 4 to 6 of [2]_. With as many principal components as frames, as images have,
    every signal is a feature of the training frames and slowness means little there: by default the filters are
    restricted to the span of the leading ones. ``n_pcs=None`` takes all, as published.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of features; None means as many as principal components. With more than the rank of the centred frames,
        all there are are returned, with a warning.
    n_pcs : int, float, "auto" or None, default="auto"
        Number of leading principal components, or the part of the variance they hold; None means all, as published.
        "auto" takes the fewest whose features are about as slow as any on frames held out: whole sequences, or blocks
        of time where there is one sequence. The first ``n_components`` features are compared, the first alone if that
        is None.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the features that `transform` and `fit_transform` return: as they are, which is also "auto"; with rows
        of unit norm (they are white already); or times the square root of the Gram matrix of ``patterns_``, so that
        distances are those of the reconstructions. A number is between isometric, 0, and unit rows, 1.
    layer : int or "all", default=-1
        Position of the layer, of which there is one; present for searches over several estimators.
    random_state : int, RandomState instance or None, default=None
        Seed of the randomised decomposition of data with more than 1500 frames and more than 1500 features.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        V^T, the filters: the features of frames are ``(X - mean_) @ components_.T``.
    patterns_ : ndarray of shape (n_components, n_features)
        The least-squares coefficients of the frames on the features, ``X ~ features @ patterns_ + mean_``. These, not
        the filters, show where in a frame a feature is; the largest entry of each is positive.
    mean_ : ndarray of shape (n_features,)
        Mean of the frames.
    deltas_ : ndarray of shape (n_components,)
        delta_a, the mean squared change of each feature from a frame to the next, ascending.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Part of the variance of X that each feature accounts for.
    n_pcs_ : int
        Number of principal components used.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    SlowFeatureNMF : Non-negative features and components.
    laminar.temporal.slowness : How slow the features of any model are.
    laminar.temporal.detect_phases : Phases of a slow feature.

    Notes
    -----
    **Algorithm.** (1) is the generalised eigenvalue problem of [1]_ and eq. 5 of [2]_::

        A v_a = delta_a C v_a,   smallest delta_a first                                                             (2)

    With the singular value decomposition ``U diag(s) V^T`` of the centred frames, truncated at ``n_pcs_``, the whitened
    frames are ``sqrt(n) U``; the eigenvectors of the mean outer product of their steps with the smallest eigenvalues
    are the features in these coordinates, and the eigenvalues are ``deltas_``.

    For ``n_pcs="auto"``, held-out slowness is the mean squared change over all steps into, inside and out of the frames
    held out, divided by their mean square about the training mean, both summed over ten folds. The steps across the
    border matter: every filter of a smooth video is smooth inside a block, and a filter fitted to accidents jumps where
    the block begins. The fewest components within 10 % of the least are taken.

    What distinguishes whole sequences, such as the person they show, does not change inside one and is the slowest
    feature of all; subtract the mean of each sequence to remove it.

    References
    ----------
    .. [1] L. Wiskott and T. Sejnowski, Slow feature analysis: unsupervised learning of invariances, Neural Computation
       14, 2002. doi:10.1162/089976602317318938.
    .. [2] L. Zafeiriou, S. Nikitidis, S. Zafeiriou and M. Pantic, Slow features nonnegative matrix factorization for
       temporal data decomposition, IEEE International Conference on Image Processing (ICIP), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.datasets import make_temporal
    >>> from laminar.temporal.sfa import SlowFeatureAnalysis
    >>> film = make_temporal(random_state=0)
    >>> model = SlowFeatureAnalysis(n_components=1).fit(film.X)
    >>> slow = model.transform(film.X)[:, 0]
    >>> bool(abs(np.corrcoef(slow, film.activations[:, 0])[0, 1]) > 0.99), model.n_pcs_
    (True, 5)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_pcs": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        **OUTPUT,
        "random_state": ["random_state"],
    }

    def __init__(self, n_components=None, *, n_pcs="auto", readout="auto", layer=-1, random_state=None):
        self.n_components = n_components
        self.n_pcs = n_pcs
        self.readout = readout
        self.layer = layer
        self.random_state = random_state

    def fit(self, X: Data, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the slow features of one or several sequences.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Frames in order of time.
        y : Ignored
            Not used, present for API consistency.
        groups : array-like of shape (n_samples,), default=None
            Sequence of each frame; steps between sequences do not count. None means one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._check_layer(self._n_layers)
        X = read_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        chain = Chain().build(X, groups=groups).tocsr()
        links = steps_of(chain)
        if not len(links[0]):
            raise ValueError(
                f"no sequence has two frames: groups gives each of the {len(X)} samples a sequence of its own. "
                "Give frames of the same sequence the same group."
            )
        mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        frames = wrap(_centred(X, mean))
        U, s, V = truncated_svd(frames, self._max_n_pcs(X.shape), check_random_state(self.random_state))
        rank = numerical_rank(s)
        k = self._n_features(rank)
        r = self._n_pcs(U[:, :rank] * s[:rank], frames.sqnorm, links, chain, k or 1)
        root = np.sqrt(len(X))
        deltas, rotation = slowest_directions(U[:, :r] * root, links, k or r)
        patterns = (V[:, :r] * (s[:r] * (frames.scale / root)) @ rotation).T
        signs = column_signs(patterns.T)[:, None]
        filters = (V[:, :r] * (root / s[:r] / frames.scale) @ rotation).T

        self.mean_, self.deltas_, self.n_pcs_ = mean, deltas, r
        self.components_, self.patterns_ = ((signs * A).astype(X.dtype) for A in (filters, patterns))
        shares = (rotation.T * s[:r]) ** 2
        self.explained_variance_ratio_ = shares.sum(1) / frames.sqnorm
        return self

    def _max_n_pcs(self, shape: tuple[int, int], *, max_auto: int = 256) -> int:
        """Return the number of principal components to compute; ``n_pcs="auto"`` considers at most ``max_auto``."""
        if self.n_pcs == "auto":
            return min(*shape, max(max_auto, self.n_components or 1))
        return min(*shape, int(self.n_pcs)) if isinstance(self.n_pcs, Integral) else min(shape)

    def _n_features(self, rank: int) -> int | None:
        """Return ``n_components``, at most the rank of the frames, with a warning where that is less."""
        if self.n_components is None or self.n_components <= rank:
            return self.n_components and int(self.n_components)
        if isinstance(self.n_pcs, Integral) and self.n_pcs < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} features cannot be found among n_pcs={self.n_pcs} principal "
                f"components; ask for at most {self.n_pcs}, or raise n_pcs."
            )
        warnings.warn(
            f"n_components={self.n_components} is more than the rank of the centred frames: {rank} features are "
            f"returned, all there are. Ask for at most {rank} to be without this warning.",
            UserWarning,
            stacklevel=3,
        )
        return rank

    def _n_pcs(self, S: np.ndarray, total: float, links: Steps, chain: sp.csr_array, k: int) -> int:
        """Resolve the parameter ``n_pcs``, given the scores S of all components computed."""
        if self.n_pcs == "auto":
            return choose_n_pcs(S, links, chain, k)
        if self.n_pcs is None or isinstance(self.n_pcs, Integral):
            return S.shape[1]
        shares = np.cumsum((S**2).sum(0)) / total
        return int(np.clip(np.searchsorted(shares, self.n_pcs) + 1, k, S.shape[1]))

    def fit_transform(
        self,
        X: Data,
        y: ArrayLike | None = None,
        *,
        layer: int | str | None = None,
        readout: Form | None = None,
        **parameters,
    ) -> np.ndarray:
        """Fit the slow features and return those of the training frames.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Frames in order of time.
        y : Ignored
            Not used, present for API consistency.
        layer : int, "all" or None, default=None
            Position of the layer, of which there is one; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the features, see the parameter of that name; None means its value.
        **parameters : dict
            Further arguments of `fit`.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            The slowest first.
        """
        return self.fit(X, y, **parameters).transform(X, layer=layer, readout=readout)

    def transform(self, X: Data, *, layer: int | str | None = None, readout: Form | None = None) -> np.ndarray:
        """Compute the slow features of frames.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Frames, in the fit or new.
        layer : int, "all" or None, default=None
            Position of the layer, of which there is one; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"}, float in [0, 1] or None, default=None
            Form of the features, see the parameter of that name; None means its value.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            The slowest first.
        """
        places = self._places(layer)
        read = self._reader(places[0], self._form(readout, self._code_form))
        frames = read_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return self._output([read((frames - self.mean_) @ self.components_.T)], X, places)

    @property
    def _n_layers(self) -> int:
        return 1

    def _n_codes(self, place: int) -> int:
        return len(self.components_)

    def _reader(self, place: int, form: Form) -> Readout:
        white = np.eye(len(self.components_))  # up to a factor
        return reader(form, Layer(self.patterns_, self.patterns_, white[:0], whitening=white))

    def inverse_transform(self, X: Data) -> np.ndarray:
        """Reconstruct frames from features, by least squares over the training frames.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features.

        Returns
        -------
        frames : ndarray of shape (n_samples, n_features)
            ``X @ patterns_ + mean_``.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.patterns_):
            raise ValueError(f"features must have shape (n_samples, {len(self.patterns_)}), got {X.shape}.")
        return X @ self.patterns_ + self.mean_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _centred(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Subtract the mean; raise a ValueError if the difference is rounding error."""
    centred = X - mean
    limits = np.finfo(X.dtype)
    if np.abs(centred).max() <= max(8 * limits.eps * np.abs(mean).max(), 1e8 * limits.tiny):
        raise ValueError(
            f"X does not change over its {len(X)} frames (but for rounding): a still has no slow features. "
            "If the numbers are tiny on purpose, multiply X by a constant."
        )
    return centred
