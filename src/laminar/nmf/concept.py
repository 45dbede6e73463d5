"""Concept factorisation."""

from __future__ import annotations

from functools import partial
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base.factorizer import Factorization, Factorizer
from .._base.parameters import refuse_unused
from .._base.rules import Published, Rule
from .._engine.constraints import NonNegative
from .._engine.data.wrap import wrap
from .._engine.linalg.small import safe_divide
from .._engine.monitor import Solution
from .._engine.problem import Factors
from .._engine.starts import STARTS
from .._engine.updates import Update, hals, multiplicative
from .concept_problem import ConceptProblem, SplitConceptProblem, tiled_descent
from .embedding import Embedding


class ConceptFactorization(Factorizer):
    """Concept factorisation (CF), X ~ H A^T X with H and A non-negative and X of any sign.

    Minimises over H >= 0 (n_samples, k), the codes, and A >= 0 (n_samples, k), the concepts::

        1/2 ||X - H Z||^2,   Z = A^T X                                                                              (1)

    The components Z (k, n_features) are non-negative mixtures of the samples (scikit-learn's NMF calls H and Z W and
    H). (1) depends on X through the inner products ``K = X X^T`` alone, so that a kernel can take their place.

    Parameters
    ----------
    n_components : int, default=10
        Number of concepts k.
    kernel : None, str, callable or "precomputed", default=None
        The inner product of two samples. None is that of X, for any number of samples. A name known to
        :func:`sklearn.metrics.pairwise.pairwise_kernels` ("rbf", "poly", ...) or a function of two samples needs the
        inner products of all pairs, of at most 20000 samples. With "precomputed" X holds them: of all pairs in `fit`,
        of samples by training samples elsewhere.
    gamma : float or None, default=None
        Coefficient of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; None means scikit-learn's default.
        Other kernels refuse it.
    degree : float, default=3
        Degree of the kernel "poly". Other kernels refuse another one than the default.
    coef0 : float, default=1
        Constant of the kernels "poly" and "sigmoid". Other kernels refuse another one than the default.
    init : {"auto", "random", "kmeans"} or (H, A), default="auto"
        Initial factors: the name of an initialiser of H, with A = H divided by its column sums; or two arrays of shape
        (n_samples, n_components), as ``layers_[0].representation`` and ``concepts_`` of a fitted model. "auto" is
        "kmeans".
    max_iter : int, default=500
        Maximum number of iterations. One iteration updates every factor once.
    tol : float, default=1e-4
        The fit has converged when two consecutive iterations each decrease the objective by at most ``tol`` times its
        value and the KKT residual is at most ``sqrt(tol)``. With 0 all ``max_iter`` iterations are made.
    eta : float in (0, 1] or None, default=None
        Exponent of the multiplicative update of ``rule="published"``; None means 1, or 1/2 where an inner product is
        negative.
    rule : {"fast", "published"}, default="fast"
        "published" makes the multiplicative updates of [1]_, without extrapolation. Where X has negative entries, or
        with a kernel, they need all inner products at once, of at most 20000 samples.
    n_clusters : int or None, default=None
        Number of clusters of `predict` and `fit_predict`; None means ``n_components``.
    readout : {"auto", "raw", "whitened", "isometric"} or float in [0, 1], default="auto"
        Form of the codes that `transform` and `fit_transform` return and that is clustered, see `transform` and
        `cluster`. "auto" returns raw codes and clusters those of 0.75.
    layer : int or "all", default=-1
        Position in ``layers_``, which has one layer.
    callback : callable or None, default=None
        Called after every iteration with a `laminar.callbacks.FitState`; the fit stops when it returns True.
    random_state : int, RandomState instance or None, default=None
        Seed of the random initialisers and of k-means.
    verbose : int, default=0
        1 shows what is being done and a progress line.

    Attributes
    ----------
    concepts_ : ndarray of shape (n_samples, n_components)
        A, with columns such that the concepts have unit norm, a^T K a = 1 with the inner products K of the training
        samples.
    components_ : ndarray of shape (n_components, n_features)
        Z = A^T X, with rows of unit norm. With a kernel, their coordinates in an orthonormal basis of the span of the
        training samples, of shape (n_components, rank).
    layers_ : list of Layer
        One layer. Its ``weights`` and ``components`` are ``components_``; its ``representation`` is H, the codes of the
        training samples.
    clusters_ : Clusters
        Clusters of the codes in the form of ``readout``, found when `predict`, `fit_predict` or `cluster` first needs
        them.
    reconstruction_err_ : float
        ``||X - H A^T X||``, the Frobenius norm of the residual.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective (1) after each accepted iteration.
    history_iterations_ : ndarray of shape (n_accepted,)
        The iteration of each entry of ``objective_history_``.
    n_iter_ : int
        Number of iterations made.
    converged_ : bool
        Whether the fit met ``tol`` within ``max_iter`` iterations.
    kkt_residual_ : float or None
        KKT residual at the beginning of the last sweep: 0 at a stationary point, without scale; None if not computed.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    SemiNMF : Components of any sign, not made of samples.
    NMF : Non-negative data and components.

    Notes
    -----
    **Algorithm.** With B = X Z^T, G = Z Z^T and G' = H^T H, one iteration is HALS for H, then coordinate descent over
    the entries of A, twice over each block of samples::

        h_a  <- max(0, h_a - (H g_a - b_a) / G_aa),   a = 1..k                                                      (2)
        a_ia <- max(0, a_ia - (K A G' - K H)_ia / (K_ii G'_aa))                                                     (3)

    ``K V = X (X^T V)`` is never formed as a matrix of all pairs. Both steps are followed by an extrapolation
    ``F + beta (F - F_old)`` with an adaptive beta, after [2]_; an iteration that increases the objective is rejected
    and beta is decreased. ``rule="published"`` for K without negative entries, and otherwise with K split into
    ``K^+ - K^-``, both non-negative (docs/methods.md 4.12)::

        H <- H * (K A) / (H A^T K A),     A <- A * (K H) / (K A H^T H)                                              (4)
        H <- H * ((K^+ A + H A^T K^- A) / (K^- A + H A^T K^+ A))^(1/2)                                              (5)
        A <- A * ((K^+ H + K^- A H^T H) / (K^- H + K^+ A H^T H))^(1/2)                                              (6)

    None of these increases (1). With ``rule="fast"`` the codes of the last iteration are replaced by the minimiser of
    (1) over H >= 0 for the final Z.

    With a kernel `score` refers to the projection of the samples on the span of the training samples, and there is no
    `inverse_transform`.

    References
    ----------
    .. [1] W. Xu and Y. Gong, Document clustering by concept factorization, ACM SIGIR Conference, 2004.
       doi:10.1145/1008992.1009029.
    .. [2] A. Ang and N. Gillis, Accelerating nonnegative matrix factorization algorithms using extrapolation, Neural
       Computation 31, 2019. arXiv:1805.06604.

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
        **{name: c for name, c in Factorizer._parameter_constraints.items() if name not in ("solver", "warm_start")},
        "kernel": [StrOptions({"precomputed", *PAIRWISE_KERNEL_FUNCTIONS}), callable, None],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "init": [StrOptions({"auto", "random", "kmeans"}), tuple, list],
    }
    _constraints = {"H": NonNegative(), "A": NonNegative()}
    _fast = Rule(init="kmeans", order=("H", "A"))
    _published = Published(init="kmeans", order=("H", "A"))
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
        tol=1e-4,
        eta=None,
        rule="fast",
        n_clusters=None,
        readout="auto",
        layer=-1,
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
        self.readout = readout
        self.layer = layer
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    # ---- the problem ---------------------------------------------------------------------------------------------

    _embedding: Embedding  # of a fitted model with a kernel
    _sample_attributes = ("concepts_",)

    def _kept_samples(self) -> list[str]:
        # Of a kernel, transform compares new samples with some of those of the fit.
        return super()._kept_samples() + ["samples that span the others (_embedding)"] * ("_embedding" in vars(self))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        used = KERNEL_PARAMS.get(self.kernel, ()) if isinstance(self.kernel, str) else ()
        unused = [name for name in ("gamma", "degree", "coef0") if name not in used]
        refuse_unused(self, unused, f"kernel={self.kernel!r} has no such parameter")

    def _validate(self, X, *, reset: bool):
        """Return X, or with a kernel the coordinates that take its place."""
        X = super()._validate(X, reset=reset)
        if self.kernel is None:
            return X
        if not reset:
            return self._embedding.transform(X)
        self._embedding = Embedding(self.kernel, {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0})
        return self._embedding.fit(X)

    def _problem(self, X, y, groups) -> Factorization:
        data = wrap(X)
        problem = ConceptProblem(**vars(self._factorization(data, [])))
        if self.rule == "fast" or data.nonnegative:
            return problem
        Embedding.check_size(data.shape[0], 'rule="published" on X with negative entries')
        return SplitConceptProblem(**vars(problem))

    def _start(self, problem: Factorization, X) -> Factors:
        """Return codes, and weights that average the samples by them."""
        data, k = problem.data, problem.n_components
        if isinstance(self.init, str):
            name = self._rule.init if self.init == "auto" else self.init
            H = STARTS[name](data, k, check_random_state(self.random_state))[0]
            A = H / H.sum(0)
        else:
            if len(self.init) != 2:
                raise ValueError(f"init must hold two arrays (H, A), got {len(self.init)}.")
            pairs = zip("HA", self.init, strict=True)
            H, A = (self._check_factor(name, F, (data.shape[0], k), NonNegative()) for name, F in pairs)
        return {name: np.array(F, dtype=data.dtype, order="C") for name, F in (("H", H), ("A", A))}

    def _updates(self, problem: Factorization) -> dict[str, Update]:
        if self.rule == "fast" or not isinstance(problem, ConceptProblem):
            return {"H": hals, "A": tiled_descent}
        eta = self.eta or problem.published_eta
        return dict.fromkeys(problem.constraints, partial(multiplicative, eta=eta))

    def _attributes(self, solution: Solution, problem: Factorization, X) -> None:
        A, data = solution.factors["A"], problem.data
        Z = data.T.product(A)
        self.concepts_ = safe_divide(A, self._norms(Z)) / data.dtype.type(data.scale)
        solution.factors["Z"] = Z
        super()._attributes(solution, problem, X)

    # ---- what a kernel cannot give -------------------------------------------------------------------------------

    def inverse_transform(self, H: ArrayLike, *, layer: int | str | None = None) -> np.ndarray:
        """Reconstruct samples from raw codes; an error is raised with a kernel.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_components)
            Codes, those of ``readout="raw"``.
        layer : int, str or None, default=None
            Position in ``layers_``, which has one entry; None means the parameter ``layer``.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            H times the components.
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
