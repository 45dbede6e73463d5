"""Layers for attributes: bands of the samples' neighbourhood graphs, weighted by a few labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.clusters import reader
from .._base.coding import Layer, nameable, no_text
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._utils import threads
from .._utils.labels import Attribute, attribute_names, read_labels
from .._utils.progress import stage, stages
from .._utils.typing import Data
from ..deep.composition import regress
from .bands import BANDS, Band, FilterBank
from .simplex_codes import SimplexCoder
from .weighting import RIDGES, band_weights

REST = "rest"  # name of the last layer

Maps = dict[int, np.ndarray]  # by position of a band, the matrix that its scores are multiplied by


class AttributeLayers(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Layers of non-negative codes, one for each attribute of the labels, from weighted bands of graph-filtered scores.

    For each attribute (identity, pose, light, ...), with a label for a few samples, a layer of codes H >= 0 (n_samples,
    k) with H Z ~ T (scikit-learn's NMF calls H and Z W and H), where T holds principal scores of the bands weighted for
    that attribute::

        T = leading principal scores of [sqrt(w_1) B_1 P, ..., sqrt(w_q) B_q P],   w_b ~ (acc_b - chance)^power     (1)

    The bands B_b are the principal scores F of the samples themselves, F smoothed over a graph of nearest neighbours
    (what samples share with their neighbours), or F less that (what they do not share). acc_b is the accuracy of ridge
    classifiers of the attribute on half of the labelled samples, trained on the other half. P removes a part of the
    differences between the classes of the other attributes. Unlabelled samples enter through the scores and the graphs.
    One more layer holds what is left when the directions of all attributes are removed. The model is Laminar's own.

    Parameters
    ----------
    n_components : int, default=100
        Number k of codes of a layer, at most one more than there are principal scores: k non-negative codes hold k - 1
        features.
    bands : sequence of Band or None, default=None
        The bands (:class:`laminar.attributes.bands.Band`); None means ``laminar.attributes.bands.BANDS``. The first, of
        kind "scores", is used alone for an attribute without usable labels: none known, one class, or one
        label in each class.
    n_scores : int, default=200
        Number of principal scores of the centred data, at most their rank.
    power : float, default=16.0
        Exponent of the weights in (1).
    ridges : sequence of float, default=(0.01, 0.1, 1.0)
        Penalties of the ridge classifiers whose mean accuracy is taken, for features with a mean square of one.
    invariance : float in [0, 1], default=0.5
        Part of the differences between the class means of the other attributes that P removes. With 1 these means
        become equal: for attributes that are independent of each other; 0 where one attribute is part of another.
    readout : {"isometric", "raw", "whitened"}, default="isometric"
        What `transform` and `training_codes` return: the codes times the square root of the Gram matrix of Z, of any
        sign, which keeps the distances of the weighted bands, for classifiers; the non-negative codes; or the whitened
        codes with rows of unit norm, for clusters.
    sweeps : int, default=1
        Sweeps of HALS over the codes. 0 gives the sparsest codes; more sweeps decrease the error of H Z.
    max_steps : int, default=50
        Maximum number of steps of the search for the directions A, see Notes.
    random_state : int, RandomState instance or None, default=None
        Seed of the decomposition of data with more than 1500 samples and features, and of the choice of the samples in
        the graphs where there are more than 10 000.
    verbose : int, default=0
        1 shows what is being done.

    Attributes
    ----------
    attributes_ : list
        Names of the attributes, the columns of y; positions where they have no names.
    layers_ : list of Layer
        A layer for each attribute, then one for the rest. ``weights`` is Z of shape (n_components, n_directions),
        ``components`` of shape (n_components, n_features) the least-squares components of the centred data, and
        ``representation`` H, the codes of the training samples.
    components_ : ndarray of shape (n_components, n_features)
        The components of the first layer.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples, which are near ``mean_ + H @ components``.
    band_weights_ : dict
        Weight w_b of every band, by its name, for every attribute; ready for ``pandas.DataFrame``.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    WSF : A penalty on the codes of samples that share a label.
    DeepWSF : The same on several layers.
    laminar.layer_attribute_table : Scores of each layer on each attribute.

    Notes
    -----
    **Algorithm.** With N the weights of a graph of nearest neighbours by the directions of the whitened leading scores,
    normalised by its degrees, the smooth band of strength lam is that of [1]_ up to scale::

        S = ((1 + lam) I - lam N)^-1 F,     detail band: F - S                                                      (2)

    and all bands are brought to the mean square of F. P = I - invariance V V^T, where the columns of V span the
    differences between the class means of the other attributes. With T of d columns and directions A (d + 1, d) that
    sum to zero and have orthonormal columns, the corners of a regular simplex, the codes are::

        A = argmax ||max(0, T A^T)||^2,     H = max(0, T A^T),     Z = (H^T H)^-1 H^T T                             (3)
        h_a <- max(0, h_a - (H g_a - b_a) / G_aa),   G = Z Z^T,   B = T Z^T,   sweeps times                         (4)

    A is found by steps that never decrease its objective, each a singular value decomposition; (4) is HALS [2]_. A new
    sample becomes a node of each graph that leaves the others unchanged, with row
    ``s = (f + lam sum_j S_j / sqrt(q d_j)) / (1 + lam)`` over its q nearest training samples j, of degrees d_j.

    Training samples have two sets of codes: those of the fit, where all samples are in the graphs
    (``layers_[i].representation``; `fit_transform` and `training_codes` return them in the form of ``readout``),
    and those that any sample has by its nearest training samples (`transform`). A classifier should be trained on the
    kind it is used on: the first for samples that were in the fit without a label, the second for new ones. Of more
    than 10 000 training samples 10 000 at random are in the graphs, and the others are added as new ones are. Features
    in different units should be standardised first.

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schoelkopf, Learning with local and global consistency,
       Advances in Neural Information Processing Systems 16, 2004.
    .. [2] A. Cichocki and A.-H. Phan, Fast local algorithms for large scale nonnegative matrix and tensor
       factorizations, IEICE Transactions on Fundamentals E92-A, 2009. doi:10.1587/transfun.E92.A.708.

    Examples
    --------
    >>> from laminar import AttributeLayers
    >>> from laminar.datasets import make_attributes, partial_labels
    >>> data = make_attributes(120, levels=(3, 4), scales=(1.0, 1.0), random_state=0)
    >>> model = AttributeLayers(10).fit(data.X, partial_labels(data.y, 0.3, random_state=0))
    >>> len(model.layers_), model.transform(data.X[:5], attribute=1).shape
    (3, (5, 10))
    >>> bool((model.layers_[0].representation >= 0).all())
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "bands": ["array-like", tuple, None],
        "n_scores": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="left")],
        "ridges": ["array-like"],
        "invariance": [Interval(Real, 0, 1, closed="both")],
        "readout": [StrOptions({"isometric", "raw", "whitened"})],
        "sweeps": [Interval(Integral, 0, None, closed="left")],
        "max_steps": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=100,
        *,
        bands=None,
        n_scores=200,
        power=16.0,
        ridges=RIDGES,
        invariance=0.5,
        readout="isometric",
        sweeps=1,
        max_steps=50,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.bands = bands
        self.n_scores = n_scores
        self.power = power
        self.ridges = ridges
        self.invariance = invariance
        self.readout = readout
        self.sweeps = sweeps
        self.max_steps = max_steps
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Data, y: ArrayLike | None = None) -> Self:
        """Fit a layer for each attribute.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, at least two samples.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        _check_ridges(self.ridges)
        bank = FilterBank(self._bands(), self.n_scores)
        X = self._validate(X, reset=True)
        attributes = () if y is None else read_labels(y, X.shape[0])
        self.attributes_ = _unique_names(attributes)
        with threads.own_threads(), stages(type(self).__name__, self.verbose):
            stage(f"fit of {X.shape[0]} x {X.shape[1]}")
            rng = check_random_state(self.random_state)
            bands = bank.fit(X, rng)
            stage(f"weights of {len(bands)} bands for {len(attributes)} attributes")
            chosen = [self._weights_and_projection(bands, attributes, j) for j in range(len(attributes))]
            maps = [{b: np.sqrt(w[b]) * P for b in np.flatnonzero(w).tolist()} for w, P in chosen]
            maps.append({0: _class_mean_projection(bands[0], attributes, 1.0)})
            bank.keep({b for band_maps in maps for b in band_maps})
            fits = []
            for i, band_maps in enumerate(maps):
                stage(f"layer {i + 1} of {len(maps)}")
                fits.append(self._fit_layer(bands, band_maps, bank, rng))
        self._bank = bank
        self.layers_, self._maps, self._coders = (list(column) for column in zip(*fits, strict=True))
        self.components_, self.mean_ = self.layers_[0].components, bank.mean.astype(X.dtype)
        names = [band.name for band in bank.bands]
        weights = zip(self.attributes_, chosen, strict=True)
        self.band_weights_ = {a: dict(zip(names, w.tolist(), strict=True)) for a, (w, _) in weights}
        self._n_features_out = len(self.components_)
        return self

    def _bands(self) -> tuple[Band, ...]:
        bands = BANDS if self.bands is None else tuple(self.bands)
        if not bands or not all(isinstance(band, Band) for band in bands) or bands[0].kind != "scores":
            raise ValueError(
                'bands must be a sequence of laminar.attributes.bands.Band, the first of kind "scores"; got '
                f"{self.bands!r}."
            )
        return bands

    def _weights_and_projection(
        self, bands: list[np.ndarray], attributes: Sequence[Attribute], j: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the weights of the bands for attribute j, and the projection away from the other attributes."""
        known, codes = attributes[j].known, attributes[j].codes
        P = _class_mean_projection(bands[0], (*attributes[:j], *attributes[j + 1 :]), self.invariance)
        own = replace(attributes[j], codes=codes[known])
        weights, _ = band_weights([band[known] @ P for band in bands], own, power=self.power, ridges=self.ridges)
        return weights, P

    @no_text()
    def _validate(self, X: Data, *, reset: bool) -> np.ndarray | sp.spmatrix | sp.sparray:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_min_samples=2 if reset else 1,
        )

    def _fit_layer(
        self, bands: list[np.ndarray], band_maps: Maps, bank: FilterBank, rng: np.random.RandomState
    ) -> tuple[Layer, Maps, SimplexCoder]:
        """Fit a layer to weighted bands; also return the maps from bands to its features, and the coder of these."""
        r = bands[0].shape[1]
        n_features = min(max(self.n_components - 1, 1), r)
        weighted = wrap(np.hstack([bands[b] @ A.astype(bands[b].dtype) for b, A in band_maps.items()]))
        U, s, V = truncated_svd(weighted, n_features, rng)
        maps = {b: (A @ V[i * r : (i + 1) * r]).astype(weighted.dtype) for i, (b, A) in enumerate(band_maps.items())}
        T = (U * (s * weighted.scale)).astype(weighted.dtype)
        coder = SimplexCoder(self.n_components, self.max_steps, self.sweeps).fit(T)
        H = coder.code(T)
        components = regress(H, bands[0]) @ bank.basis.T
        return Layer(coder.weights, components, H * H.dtype.type(bank.scale)), maps, coder

    # ---- using ---------------------------------------------------------------------------------------------------

    def transform(self, X: Data, attribute: Hashable = None, *, readout: str | None = None) -> np.ndarray:
        """Compute the codes of samples on one layer, by their nearest training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        attribute : str, int or None, default=None
            Which layer: a name from ``attributes_``, "rest", or a position in ``layers_``. None means the first.
        readout : {"isometric", "raw", "whitened"} or None, default=None
            Form of the codes, see the parameter of that name; None means its value.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened.
        """
        return nameable(self, self._transform(X, attribute, readout))

    def _transform(self, X: Data, attribute: Hashable = None, readout: str | None = None) -> np.ndarray:
        check_is_fitted(self)
        i = self._position(attribute)
        X = self._validate(X, reset=False)
        with threads.own_threads():
            bands = self._bank.extend(X, self._maps[i])
            H = self._coders[i].code(sum(bands[b] @ A.astype(X.dtype) for b, A in self._maps[i].items()))
        return self._read(i, H * X.dtype.type(self._bank.scale), readout)

    def fit_transform(self, X: Data, y: ArrayLike | None = None) -> np.ndarray:
        """Fit a layer for each attribute and return the codes of the fit, on the first layer.

        There all training samples, or 10 000 at random, are nodes of the graphs. `transform` codes every sample by its
        nearest training samples, since neighbours of new samples are unknown in the fit, and gives other codes of the
        same samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, at least two samples.
        y : array-like of shape (n_samples,) or (n_samples, n_attributes), default=None
            Labels of some or all samples, one column for each attribute; -1, NaN, None and ``pandas.NA`` stand for
            unknown.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            ``layers_[0].representation`` in the form of the parameter ``readout``: `training_codes` of the first layer.
        """
        return self.fit(X, y).training_codes()

    def training_codes(self, attribute: Hashable = None) -> np.ndarray:
        """Return the codes of the fit, ``layers_[i].representation`` of one layer i, in the form of ``readout``.

        There all training samples, or 10 000 at random, are nodes of the graphs; `transform` gives them the codes of
        new samples.

        Parameters
        ----------
        attribute : str, int or None, default=None
            Which layer: a name from ``attributes_``, "rest", or a position in ``layers_``. None means the first.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened, in the form of the parameter ``readout``.
        """
        check_is_fitted(self)
        i = self._position(attribute)
        return self._read(i, self.layers_[i].representation)

    def _read(self, i: int, H: np.ndarray, readout: str | None = None) -> np.ndarray:
        # Distances are those of the bands, not of the input.
        return reader(readout or self.readout, replace(self.layers_[i], components=self.layers_[i].weights))(H)

    def _position(self, attribute: Hashable) -> int:
        """Return the position of a layer in ``layers_``."""
        names, n = [*self.attributes_, REST], len(self.layers_)
        if attribute is None:
            return 0
        if attribute in names:
            return names.index(attribute)
        if isinstance(attribute, Integral) and -n <= attribute < n:
            return int(attribute) % n
        raise ValueError(
            f"attribute={attribute!r} is none of the {n} layers: give one of the names {names}, or a position."
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_ridges(ridges: ArrayLike) -> None:
    numbers = np.asarray(ridges)
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "fiu" or not (numbers > 0).all():
        raise ValueError(f"ridges must be a sequence of one or more numbers above 0; got {ridges!r}.")


def _unique_names(attributes: Sequence[Attribute]) -> list[Hashable]:
    names = attribute_names(attributes)
    if len(set(names)) < len(names):
        raise ValueError(f"the columns of y are named {names}: give every attribute a name of its own.")
    return names


def _class_mean_projection(F: np.ndarray, attributes: Sequence[Attribute], share: float) -> np.ndarray:
    """Return ``I - share V V^T``, V an orthonormal basis of the differences between class means of the attributes.

    Attributes with one class, or with at most one label a class, are left out.
    """
    differences = [np.zeros((1, F.shape[1]))]
    for attribute in attributes:
        sizes = attribute.class_sizes
        if len(sizes) > 1 and (sizes > 1).any():
            means = (attribute.one_hot().T @ F.astype(np.float64)) / sizes[:, None]
            differences.append(means - means.mean(0))
    _, s, V = np.linalg.svd(np.vstack(differences), full_matrices=False)
    V = V[s > 1e-10 * s[0]]
    return np.eye(F.shape[1]) - share * (V.T @ V)
