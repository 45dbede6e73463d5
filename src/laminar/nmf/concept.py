"""Concept factorisation."""

from __future__ import annotations

from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.factorizer import Factorizer
from .._base.samples import Samples
from .._engine import updates
from .._engine.constraints import NonNegative
from .._engine.data.matrix import Matrix
from .._engine.penalties import Penalty
from .._engine.problem import Problem
from .._engine.starts import STARTS
from .concept_terms import Mixtures, SplitMixtures, descend
from .embedding import Embedding, check_size


class ConceptFactorization(Factorizer):
    """Concept factorisation, ``X ~ H A^T X`` with H and A non-negative and X of any sign.

    Every component, or *concept*, is a non-negative mixture of the samples, ``Z = A^T X``, and every sample one of the
    concepts. All that is asked of X are inner products of samples, so that a kernel may take their place.

    Parameters
    ----------
    n_components : int, default=10
        Number of concepts.
    kernel : None, str, callable or "precomputed", default=None
        Inner product of two samples: None is the plain one, for any number of samples. A name known to
        :func:`sklearn.metrics.pairwise.pairwise_kernels` ("rbf", "poly", ...) or a function of two samples takes the
        inner products of all pairs, of 20000 samples at most. With "precomputed" X holds them: all pairs in `fit`,
        samples by training samples later.
    gamma, degree, coef0 : float, default=None, 3, 1
        Of the kernels "rbf", "poly" and their like.
    init : {"auto", "random", "kmeans"} or (H, A), default="auto"
        Where to start; "auto" is "kmeans". Arrays have shape (n_samples, n_components), as ``representation`` and
        ``concepts_`` of a fitted model have.
    max_iter : int, default=500
        Largest number of sweeps.
    tol : float, default=1e-5
        Stop when a sweep lowers the objective by less than this part of it and the KKT residual is below its root.
        0 runs all of ``max_iter``.
    eta : float in (0, 1] or None, default=None
        Exponent of the published rule; None means 1, or 1/2 where some inner products are negative.
    rule : {"fast", "published"}, default="fast"
        "published" runs the multiplicative iterations of Xu and Gong to the letter. Where X has negative entries, or
        with a kernel, they need all inner products at once.
    n_clusters : int or None, default=None
        For `predict`; None means ``n_components``.
    callback : callable or None, default=None
        Called with (iteration, objective, seconds); stops the fit by returning True.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts and of k-means.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    concepts_ : ndarray of shape (n_samples, n_components)
        A: how much of each training sample is in a concept. Every concept has length one, ``a^T K a = 1`` with the
        inner products K of the training samples.
    components_ : ndarray of shape (n_components, n_features)
        ``A^T X``. With a kernel, coordinates in an orthonormal basis of what the training samples span, of shape
        (n_components, rank).
    layers_ : list of Layer
        One layer, with the codes of the training samples in ``representation``.
    reconstruction_err_ : float
        ``||X - H A^T X||``.
    objective_history_ : ndarray
        ``1/2 ||X - H A^T X||^2``, sweep by sweep.
    n_iter_ : int
        Number of sweeps.
    converged_ : bool
        Whether the fit stopped by itself.

    See Also
    --------
    SemiNMF : Components of any kind.

    Notes
    -----
    With a kernel, `score` speaks of the part of the samples that lies in the span of the training samples, and there
    is no `inverse_transform`.

    References
    ----------
    W. Xu and Y. Gong, Document clustering by concept factorization, SIGIR 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar import ConceptFactorization
    >>> X = np.array([[1.0, -1.0, 0.0], [2.0, -2.0, 0.1], [0.0, 1.0, 1.0], [0.1, 3.0, 3.0]])
    >>> model = ConceptFactorization(n_components=2, random_state=0).fit(X)
    >>> bool(np.allclose(model.components_, model.concepts_.T @ X))
    True
    >>> model.predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """

    _parameter_constraints: dict = {
        **{name: c for name, c in Factorizer._parameter_constraints.items() if name != "solver"},
        "kernel": [StrOptions({"precomputed", *PAIRWISE_KERNEL_FUNCTIONS}), callable, None],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "init": [StrOptions({"auto", "random", "kmeans"}), tuple, list],
    }
    _constraints: dict = {"H": NonNegative(), "A": NonNegative()}
    solver = "auto"

    def __init__(
        self,
        n_components=10,
        *,
        kernel=None,
        gamma=None,
        degree=3,
        coef0=1,
        init="auto",
        max_iter=500,
        tol=1e-5,
        eta=None,
        rule="fast",
        n_clusters=None,
        callback=None,
        random_state=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.rule = rule
        self.n_clusters = n_clusters
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    # ---- the problem ---------------------------------------------------------------------------------------------

    def _validate(self, X, *, reset: bool):
        """X, or with a kernel the coordinates that take its place."""
        X = super()._validate(X, reset=reset)
        if self.kernel is None:
            return X
        if not reset:
            return self._embedding.transform(X)
        self._embedding = Embedding(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0})
        return self._embedding.fit(X)

    def _chain(self, data: Matrix) -> Mixtures:
        if self.rule == "fast" or data.nonnegative:
            return Mixtures(data)
        check_size(data.shape[0], 'rule="published" on X with negative entries')
        return SplitMixtures(data)

    def _updates(self, problem: Problem) -> dict[str, updates.Update]:
        if self.rule == "fast":
            return {"H": updates.hals, "A": descend}
        chain = problem.chain
        eta = self.eta or (0.5 if isinstance(chain, SplitMixtures) and chain.split[1].any() else 1.0)
        return dict.fromkeys(problem.order, partial(updates.multiplicative, eta=eta))

    def _ahead(self, factors: dict[str, np.ndarray], problem: Problem) -> dict[str, np.ndarray]:
        return factors  # concepts are mixtures of all samples: few do not do

    def _start(self, samples: Samples, penalty: Penalty | None) -> dict[str, np.ndarray]:
        """Codes, and weights that average the samples by them."""
        data, k = samples.data, self._width
        if isinstance(self.init, str):
            name = "kmeans" if self.init == "auto" else self.init
            H = STARTS[name](data, k, check_random_state(self.random_state))[0]
            A = H / H.sum(0)
        else:
            if len(self.init) != 2:
                raise ValueError(f"init must hold two arrays (H, A), got {len(self.init)}.")
            H, A = (self._check_factor(name, F, (data.shape[0], k)) for name, F in zip("HA", self.init, strict=True))
        as_factor = partial(np.array, dtype=data.dtype, order="C", copy=True)
        return {"H": as_factor(H), "A": as_factor(A)}

    def _pair(self, factors: dict[str, np.ndarray], data: Matrix) -> dict[str, np.ndarray]:
        A = factors["A"]
        Z = data.T.product(A)
        length = self._norms(Z)
        self.concepts_ = np.divide(A, length, out=np.zeros_like(A), where=length > 0) / data.dtype.type(data.scale)
        return {"H": factors["H"], "Z": Z}

    # ---- what a kernel cannot give -------------------------------------------------------------------------------

    def inverse_transform(self, H: ArrayLike, *, layer: int = -1) -> np.ndarray:
        """Map codes back to the input space; not possible with a kernel.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_components)
            Codes.
        layer : int, default=-1
            There is but one.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Their reconstruction.
        """
        check_is_fitted(self)
        if self.kernel is not None:
            raise ValueError(
                f"kernel={self.kernel!r} knows samples by their inner products alone: there is no way back to "
                "features. Use kernel=None, or look at the training samples that concepts_ names."
            )
        return super().inverse_transform(H, layer=layer)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
