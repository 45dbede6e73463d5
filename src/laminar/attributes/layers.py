"""Layers for attributes: discriminants of a few labels in bands of the samples' neighbourhood graphs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from .._base.clusters import Form, Readout, reader
from .._base.output import OUTPUT, readouts
from .._engine.linalg.small import isometry
from .._utils import threads
from .._utils.callbacks import CallbackSupportMixin, hooks, with_callbacks
from .._utils.labels import Attribute
from .._utils.progress import stage
from .._utils.typing import Data
from .attribute_coder import AttributeCoder
from .attribute_fit import AttributeFit, WeightedBands, bands_alone, fitted_layer
from .bands import BANDS, Band
from .filter_bank import FilterBank
from .layer_map import LayerMap

REST = "rest"  # name of the last layer


class AttributeLayers(CallbackSupportMixin, AttributeCoder):
    """Layers of non-negative codes, one for each attribute of the labels, from discriminants of weighted bands.

    `predict` gives the classes of an attribute, ``labels_`` those of the training samples. `transform` gives signed
    features by default, ``readout="isometric"``, for clusters and classifiers; ``readout="raw"``, of the estimator or
    of the call, gives the non-negative codes, as ``layers_[i].representation`` has them for the training samples.

    For each attribute (identity, pose, light, ...), with a label for a few samples, a layer of codes H >= 0 (n_samples,
    k) with H Z ~ T (scikit-learn's NMF calls H and Z W and H), where T has discriminants D of the classes and principal
    scores of bands weighted for that attribute::

        T = [D, share * leading scores of [sqrt(w_1) B_1, ..., sqrt(w_q) B_q]],   w_b ~ prior_b exp(hits_b)         (1)

    The bands B_b are the principal scores F of the samples, those of standardised features, F smoothed over a graph of
    nearest neighbours (what samples share with their neighbours), F less that (what they do not share), or
    eigenvectors of a graph. hits_b is the number of labels that classifiers predict when they are held out. D is
    learned from the labelled samples and, with soft targets, from all others. It separates the labelled classes, and
    the bands those without any label. One more layer holds what is left when the directions of all attributes are
    removed. The model is Laminar's own.

    Parameters
    ----------
    n_components : int, default=100
        Number k of codes of a layer, and no fewer than its classes: c codes for the discriminants of c classes, the
        others for the bands. k non-negative codes hold k - 1 features, so that there are at most one more for the bands
        than these have directions.
    bands : sequence of Band or None, default=None
        The bands (:class:`laminar.attributes.bands.Band`); None means ``laminar.attributes.bands.BANDS``. The first, of
        kind "scores", is used alone for an attribute without labels of two classes.
    n_scores : int, default=200
        Number of principal scores of the centred data, at most their rank, and of eigenvectors of a graph.
    share : float, default=0.3
        Length of the bands in (1) relative to that of the discriminants. With 0 a layer is its discriminants alone;
        with 1 classes without any label are separated better, and the others worse.
    max_iter : int, default=2
        Number of iterations, in each of which the targets of all samples and the discriminants are computed anew.
    readout : {"auto", "raw", "whitened", "isometric", "discriminants", "bands"} or float in [0, 1], default="auto"
        What `transform`, `fit_transform` and `training_codes` return: the non-negative codes; the whitened codes with
        rows of unit norm; the codes times the square root of the Gram matrix of Z, of any sign, which keeps the
        distances of T, for clusters and classifiers; or the part of these for the discriminants or the bands alone. A
        number is between isometric, 0, and whitened, 1. "auto" is "isometric".
    layer : int or str, default=0
        Whose codes these methods return: the name of an attribute, "rest", the position in ``layers_``, or "all", the
        codes of all layers side by side. 0 is the layer of the first attribute.
    sweeps : int, default=1
        Sweeps of HALS over the codes. 0 gives the sparsest codes; more sweeps decrease the error of H Z.
    max_steps : int, default=50
        Maximum number of steps of the search for the directions A, see Notes.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the decomposition of data with more than 1500 samples and features, of eigenvectors of a graph, and of
        the choice of the samples in the graphs where there are more than 10 000.
    verbose : int, default=0
        1 shows what is being done.

    Attributes
    ----------
    attributes_ : list
        Names of the attributes, the columns of y; positions where they have no names.
    classes_ : dict
        Classes of every attribute, by its name: an array of the known values, sorted, in the type of the labels.
    labels_ : dict
        Class of every training sample, by the name of the attribute, for attributes with known labels: the known
        class, or the most probable one.
    layers_ : list of Layer
        A layer for each attribute, then one for the rest. ``weights`` is Z of shape (n_components, n_directions),
        ``components`` of shape (n_components, n_features) the least-squares components of the centred data, first
        those of the discriminants, which draw the classes, and ``representation`` H, the codes of the training samples.
    components_ : ndarray of shape (n_components, n_features)
        The components of the first layer.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples, which are near ``mean_ + H @ components``.
    band_weights_ : dict
        Weight w_b of every band, by its name, for every attribute; ready for ``pandas.DataFrame``.
    objective_history_ : ndarray of shape (n_iter_,)
        Leave-one-out squared error of the soft targets in each iteration, a mean over samples, summed over attributes.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether all iterations were made; not where a callback or Ctrl-C stopped them.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    WSF : A penalty on the codes of samples that share a label.
    DeepWSF : The same on several layers.
    laminar.baselines.PooledLDA : Linear discriminants of the labelled samples alone.
    laminar.layer_attribute_table : Scores of each layer on each attribute.

    Notes
    -----
    **Algorithm.** With N the weights of a graph of nearest neighbours, normalised by its degrees, with eigenvalues mu_i
    and eigenvectors u_i, the bands of strength lam are those of [1]_ up to scale::

        smooth: S = ((1 + lam) I - lam N)^-1 F,     detail: F - S,     diffusion: (1 + lam (1 - mu_i))^-1/2 u_i     (2)

    and all bands are brought to mean squared length one. Ridge classifiers of the labels are trained on folds of the
    labelled samples, linear discriminants on all but some single labels, and hits_b is the largest number of held-out
    labels that the largest ridge score, the nearest mean ridge score or the discriminants predict. Memberships P of all
    samples are those of the classifier with more hits on the weighted bands: a softmax of the ridge scores, times a
    factor that suits the held-out ones, or the probabilities of the discriminants; they are 0 and 1 for labelled
    samples. With singular vectors U and values s of the weighted bands, C = P less its mean,
    d = s^2 / (s^2 + ridge) and h = diag(U d U^T) + 1/n, an iteration is::

        L = C - (C - U d U^T C) / (1 - h),     D = L W,     W W^T = (0.9 S + 0.1 tr(S) / c I)^-1                    (3)
        P_c ~ exp(-1/2 ||D - m_c||^2) for unlabelled samples                                                        (4)

    L are leave-one-out scores of ridge regression, so that labelled samples are like others; S is their
    covariance inside the classes and m_c their means. The classes of new samples are those of (4) for
    ``D = (bands - mean) V d s^-1 U^T C W``, linear in the bands. With T of d columns and directions A (d + 1, d) that
    sum to zero and have orthonormal columns, the corners of a regular simplex, the codes are, for discriminants and
    bands each::

        A = argmax ||max(0, T A^T)||^2,     H = max(0, T A^T),     Z = (H^T H)^-1 H^T T                             (5)
        h_a <- max(0, h_a - (H g_a - b_a) / G_aa),   G = Z Z^T,   B = T Z^T,   sweeps times                         (6)

    A is found by steps that never decrease its objective, each a singular value decomposition, for discriminants from
    the m_c on; (6) is HALS [2]_. A new sample becomes a node of each graph that leaves the others unchanged, with row
    ``s = (f + lam sum_j S_j / sqrt(q d_j)) / (1 + lam)`` over its q nearest training samples j, of degrees d_j.

    Training samples have two sets of codes: those of the fit, where all samples are in the graphs
    (``layers_[i].representation``; `fit_transform` and `training_codes` return them in the form of ``readout``),
    and those that any sample has by its nearest training samples (`transform`). A classifier should be trained on the
    kind it is used on: the first for samples that were in the fit without a label, the second for new ones. Of more
    than 10 000 training samples 10 000 at random are in the graphs, and the others are added as new ones are.

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
        "share": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "readout": readouts("discriminants", "bands"),
        "layer": OUTPUT["layer"],
        "sweeps": [Interval(Integral, 0, None, closed="left")],
        "max_steps": [Interval(Integral, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=100,
        *,
        bands=None,
        n_scores=200,
        share=0.3,
        max_iter=2,
        readout="auto",
        layer=0,
        sweeps=1,
        max_steps=50,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.bands = bands
        self.n_scores = n_scores
        self.share = share
        self.max_iter = max_iter
        self.readout = readout
        self.layer = layer
        self.sweeps = sweeps
        self.max_steps = max_steps
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    _more_layers = (REST,)

    # ---- fitting -------------------------------------------------------------------------------------------------

    @with_callbacks
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
        bank = FilterBank(self._bands(), self.n_scores)
        X = self._validate(X, reset=True)
        attributes = self._read_attributes(y, X.shape[0], stacklevel=3)
        self._check_layer(len(attributes) + 1)
        with threads.own_threads(), hooks(self, self.max_iter, X, y) as hook:
            rng = check_random_state(self.random_state)
            bands = bank.fit(X, rng)
            stage(f"weights of {len(bands)} bands for {len(attributes)} attributes")
            priors = [band.prior for band in bank.bands]
            fits = [AttributeFit(bands, priors, attribute, rng) for attribute in attributes]
            projection = {0: class_mean_projection(bands[0], attributes)}
            rest = WeightedBands(bands, projection, self.n_components, rng)
            history: list[float] = []
            for iteration in range(1, self.max_iter + 1):
                history.append(float(sum(fit.step() for fit in fits)))
                if hook(iteration, history[-1], lambda: copy(self)._keep(bank, bands[0], fits, rest, history)):
                    break
            self._keep(bank, bands[0], fits, rest, history)
            bank.keep({b for layer in self._maps for b in layer.maps})
        return self

    def _bands(self) -> tuple[Band, ...]:
        bands = BANDS if self.bands is None else tuple(self.bands)
        if not bands or not all(isinstance(band, Band) for band in bands) or bands[0].kind != "scores":
            raise ValueError(
                'bands must be a sequence of laminar.attributes.bands.Band, the first of kind "scores"; got '
                f"{self.bands!r}."
            )
        return bands

    def _keep(
        self,
        bank: FilterBank,
        F: np.ndarray,
        fits: Sequence[AttributeFit],
        rest: WeightedBands,
        history: Sequence[float],
    ) -> Self:
        """Set the fitted attributes as of an iteration."""
        made = [(fit.weighted, *fit.parts(self.n_components, self.share)) for fit in fits]
        made.append((rest, *bands_alone(rest.data, self.n_components)))
        layers = []
        for i, parts in enumerate(made):
            stage(f"codes of layer {i + 1} of {len(made)}")
            layers.append(fitted_layer(*parts, F, bank, self.max_steps, self.sweeps))
        self._bank = bank
        self.layers_: list = [layer for layer, _ in layers]
        self._maps: list[LayerMap] = [found for _, found in layers]
        self.components_, self.mean_ = self.layers_[0].components, bank.scores.mean.astype(F.dtype)
        names = [band.name for band in bank.bands]
        by_name = dict(zip(self.attributes_, fits, strict=True))
        self.band_weights_ = {a: dict(zip(names, fit.weights.tolist(), strict=True)) for a, fit in by_name.items()}
        known = {name: fit for name, fit in by_name.items() if len(self.classes_[name])}
        self.labels_ = {name: self.classes_[name][fit.labels] for name, fit in known.items()}
        self.objective_history_, self.n_iter_ = np.array(history), len(history)
        self.converged_ = self.n_iter_ == self.max_iter
        return self

    # ---- using ---------------------------------------------------------------------------------------------------

    def _features(self, X, i: int) -> np.ndarray:
        """Return the features T of samples on layer i."""
        found = self._maps[i]
        return found.features(self._bank.extend(X, found.maps))

    def _code(self, X, i: int) -> np.ndarray:
        return self._maps[i].code(self._features(X, i)) * X.dtype.type(self._bank.length)

    def _probabilities(self, X, i: int) -> np.ndarray:
        return self._maps[i].probabilities(self._features(X, i))

    def _reader(self, place: int, form: Form) -> Readout:
        layer, found = self.layers_[place], self._maps[place]
        if form not in ("discriminants", "bands"):
            # Distances are those of the bands, not of the input.
            return reader(form, replace(layer, components=layer.weights))
        first = found.n_discriminant_codes
        columns = slice(first) if form == "discriminants" else slice(first, None)
        if not len(layer.weights[columns]):
            which = "labels of two classes in fit" if form == "discriminants" else "codes for the bands: share=0"
            raise ValueError(f"readout={form!r} is of no use here: layer {place} has no {which}.")
        return Readout(isometry(layer.weights)[:, columns])

    def _kept_samples(self) -> list[str]:
        # transform needs the nearest training samples and their smooth scores.
        return super()._kept_samples() + ["principal scores of the nodes of its graphs (_bank)"] * bool(
            self._bank.has_graphs
        )


def class_mean_projection(F: np.ndarray, attributes: Sequence[Attribute]) -> np.ndarray:
    """Return the projection of F that removes the differences between class means of the attributes.

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
    return np.eye(F.shape[1]) - V.T @ V
