"""Layers for attributes: bands of the samples' neighbourhood graphs, weighted by a few labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._base.clusters import Readout, reader, refuse_without_codes, side_by_side
from .._base.coding import Layer
from .._base.output import OUTPUT, LayerOutput
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._utils import threads
from .._utils.labels import Attribute, attribute_names, read_labels, warn_uninformative
from .._utils.progress import stage, stages
from .._utils.typing import Data
from .._utils.validation import read_data
from ..deep.composition import regress
from .bands import BANDS, Band, FilterBank
from .class_means import ClassMeans
from .simplex_codes import SimplexCoder
from .weighting import RIDGES, band_weights

REST = "rest"  # name of the last layer

Maps = dict[int, np.ndarray]  # by position of a band, the matrix that its scores are multiplied by


class AttributeLayers(LayerOutput):
    """Layers of non-negative codes, one for each attribute of the labels, from weighted bands of graph-filtered scores.

    `transform` gives signed features by default, ``readout="isometric"``, for classifiers; ``readout="raw"``, of the
    estimator or of the call, gives the non-negative codes, as ``layers_[i].representation`` has them for the training
    samples. `predict` gives the classes of an attribute.

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
    readout : {"auto", "raw", "whitened", "isometric"}, default="auto"
        What `transform`, `fit_transform` and `training_codes` return: the non-negative codes; the whitened codes with
        rows of unit norm, for clusters; or the codes times the square root of the Gram matrix of Z, of any sign, which
        keeps the distances of the weighted bands, for classifiers. "auto" is "isometric".
    layer : int or str, default=0
        Whose codes these methods return: the name of an attribute, "rest", the position in ``layers_``, or "all", the
        codes of all layers side by side. 0 is the layer of the first attribute.
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
    classes_ : dict
        Classes of every attribute, by its name: an array of the known values, sorted, in the type of the labels.
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

    `predict` classifies by linear discriminant analysis of the features of an attribute's layer, in the isometric
    read-out. With the means m_c and shares p_c of the labelled training samples of class c, by the codes of the fit,
    and their common covariance S, unbiased and shrunk after [3]_, the class of a sample with features e, by
    `transform`, is::

        argmax_c  log p_c - 1/2 (e - m_c)^T S^-1 (e - m_c)                                                          (5)

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schoelkopf, Learning with local and global consistency,
       Advances in Neural Information Processing Systems 16, 2004.
    .. [2] A. Cichocki and A.-H. Phan, Fast local algorithms for large scale nonnegative matrix and tensor
       factorizations, IEICE Transactions on Fundamentals E92-A, 2009. doi:10.1587/transfun.E92.A.708.
    .. [3] O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices, Journal of
       Multivariate Analysis 88, 2004. doi:10.1016/S0047-259X(03)00096-4.

    Examples
    --------
    >>> from laminar import AttributeLayers
    >>> from laminar.datasets import make_attributes, partial_labels
    >>> data = make_attributes(120, levels=(3, 4), scales=(1.0, 1.0), random_state=0)
    >>> model = AttributeLayers(10).fit(data.X, partial_labels(data.y, 0.3, random_state=0))
    >>> len(model.layers_), model.transform(data.X[:5], layer=1).shape
    (3, (5, 10))
    >>> bool((model.transform(data.X, layer=1, readout="raw") >= 0).all())
    True
    >>> bool((model.predict(data.X, attribute=1) == data.y[:, 1]).mean() > 0.9)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "bands": ["array-like", tuple, None],
        "n_scores": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="left")],
        "ridges": ["array-like"],
        "invariance": [Interval(Real, 0, 1, closed="both")],
        **OUTPUT,
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
        readout="auto",
        layer=0,
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
        self.layer = layer
        self.sweeps = sweeps
        self.max_steps = max_steps
        self.random_state = random_state
        self.verbose = verbose

    _main, _code_form = 0, "isometric"

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
        warn_uninformative(attributes, stacklevel=2, singletons=True, one_class=False)
        self.attributes_ = _unique_names(attributes)
        self._check_layer(len(attributes) + 1)
        self.classes_ = {name: a.classes for name, a in zip(self.attributes_, attributes, strict=True)}
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
        known = [(i, a) for i, a in enumerate(attributes) if len(a.classes)]
        self._class_means = {i: ClassMeans.of(self._unit_features(i), a) for i, a in known}
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

    def _validate(self, X: Data, *, reset: bool) -> np.ndarray | sp.spmatrix | sp.sparray:
        return read_data(
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

    def transform(self, X: Data, layer: Hashable = None, *, readout: str | None = None) -> np.ndarray:
        """Compute the codes of samples on one layer, or on all, by their nearest training samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        layer : int, str or None, default=None
            Which layer: a name from ``attributes_``, "rest", a position in ``layers_``, or "all", all of them side by
            side. None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"} or None, default=None
            Form of the codes, see the parameter of that name; None means its value.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened.
        """
        places, form = self._places(layer), self._form(readout, self._code_form)
        return self._output(self._parts(X, places, form), X, places)

    def _transform(self, X: Data, layer: Hashable = 0, readout: str = "raw") -> np.ndarray:
        """Return codes as an array whatever the parameters."""
        return side_by_side(self._parts(X, self._places(layer), readout))

    def _parts(self, X: Data, places: list[int], form: str) -> list[np.ndarray]:
        """Return the codes of samples on each layer."""
        reads, X = [self._reader(i, form) for i in places], self._validate(X, reset=False)
        with threads.own_threads():
            return [read(self._code(X, i)) for read, i in zip(reads, places, strict=True)]

    def _code(self, X, i: int) -> np.ndarray:
        bands = self._bank.extend(X, self._maps[i])
        H = self._coders[i].code(sum(bands[b] @ A.astype(X.dtype) for b, A in self._maps[i].items()))
        return H * X.dtype.type(self._bank.scale)

    def fit_transform(
        self,
        X: Data,
        y: ArrayLike | None = None,
        *,
        layer: Hashable = None,
        readout: str | None = None,
    ) -> np.ndarray:
        """Fit a layer for each attribute and return the codes of the fit.

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
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.
        readout : {"auto", "raw", "whitened", "isometric"} or None, default=None
            Form of the codes as for `transform`; None means the parameter ``readout``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            ``layers_[i].representation`` of the layer i, in this form: `training_codes`.
        """
        self.fit(X, y)
        return self._fit_output(X, self._places(layer), self._form(readout, self._code_form))

    def training_codes(self, layer: Hashable = None) -> np.ndarray:
        """Return the codes of the fit, ``layers_[i].representation`` of one layer i, in the form of ``readout``.

        There all training samples, or 10 000 at random, are nodes of the graphs; `transform` gives them the codes of
        new samples.

        Parameters
        ----------
        layer : int, str or None, default=None
            Layer as for `transform`; None means the parameter ``layer``.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
            Codes, in the units of X unless whitened, in the form of the parameter ``readout``.
        """
        places, form = self._places(layer), self._form(None, self._code_form)
        refuse_without_codes(self.layers_[places[0]].representation, "training_codes")
        return side_by_side([self._reader(i, form)(self.layers_[i].representation) for i in places])

    def _kept_samples(self) -> list[str]:
        # transform needs the nearest training samples and their smooth scores.
        return super()._kept_samples() + ["principal scores of the nodes of its graphs (_bank)"] * bool(
            self._bank.has_graphs
        )

    def predict(self, X: Data, attribute: Hashable = None) -> np.ndarray:
        """Predict the class of an attribute, by the layer of that attribute.

        Samples are coded by `transform`, those of the fit too, whether or not their label is known.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        attribute : str, int or None, default=None
            Which attribute: a name from ``attributes_``, or a position in it. None means the first.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            An entry of ``classes_[attribute]`` for each sample, in the type of the labels.
        """
        i = self._class_position(attribute)
        return self.classes_[self.attributes_[i]][self._class_means[i].predict(self._unit_features(i, X))]

    def predict_proba(self, X: Data, attribute: Hashable = None) -> np.ndarray:
        """Estimate the probability of each class of an attribute, by the layer of that attribute.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, in the fit or new.
        attribute : str, int or None, default=None
            Which attribute: a name from ``attributes_``, or a position in it. None means the first.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_[attribute]``, from the normal distributions behind (5).
        """
        i = self._class_position(attribute)
        return self._class_means[i].probabilities(self._unit_features(i, X))

    def _class_position(self, attribute: Hashable) -> int:
        """Return the position of an attribute; raise an error where it has no classes."""
        check_is_fitted(self)
        i = self._layer_at(0 if attribute is None else attribute)
        if i not in self._class_means:
            have = [name for name in self.attributes_ if len(self.classes_[name])]
            name = REST if i == len(self.attributes_) else self.attributes_[i]
            raise ValueError(
                f"layer {name!r} has no classes, since y had no labels of it in fit; those that have some are {have}."
            )
        return i

    def _unit_features(self, i: int, X: Data | None = None) -> np.ndarray:
        """Return the isometric features of layer i in unit scale; without X, of the training samples by their codes."""
        H = self.layers_[i].representation if X is None else self._code(self._validate(X, reset=False), i)
        return self._reader(i, "isometric")(H / H.dtype.type(self._bank.scale))

    def _reader(self, place: int, form: str) -> Readout:
        # Distances are those of the bands, not of the input.
        return reader(form, replace(self.layers_[place], components=self.layers_[place].weights))

    @property
    def _layer_names(self) -> Mapping[Hashable, int]:
        named = {name: i for i, name in enumerate(self.attributes_) if not isinstance(name, Integral)}
        return {REST: len(self.attributes_)} | named

    def _place_name(self, place: int) -> str:
        name = [*self.attributes_, REST][place]
        return name if isinstance(name, str) else super()._place_name(place)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.classifier_tags = ClassifierTags()  # of an attribute, by predict_proba; the estimator itself is none
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
