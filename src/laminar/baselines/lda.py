"""Linear discriminant analysis of the labelled samples, with one shrunk covariance of all classes."""

from __future__ import annotations

import numpy as np

from .._utils.labels import Attribute
from ..attributes.class_centres import ClassCentres, pooled_lda
from .labelled import LabelledBaseline


class PooledLDA(LabelledBaseline):
    """Linear discriminant analysis with a pooled covariance, from the samples whose label is known.

    With the means m_c of the labelled samples of class c and the covariance S inside the classes, one for all of them,
    unbiased and shrunk after [1]_, the class of a sample x is ``argmin_c (x - m_c)^T S^-1 (x - m_c)``. Its features are
    those c - 1 directions, in which S is the identity, that separate c classes. Principal scores of all samples, known
    label or not, take the place of the features of X.

    scikit-learn's `LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")` shrinks the covariance of each class
    by itself and is much worse with two or three labels a class.

    Parameters
    ----------
    n_scores : int, default=200
        Number of principal scores of the centred data, at most their rank.
    random_state : int, RandomState instance or None, default=None
        Seed of the decomposition of data with more than 1500 samples and features.

    Attributes
    ----------
    attributes_ : list
        Names of the attributes, the columns of y; positions where they have no names.
    classes_ : dict
        Classes of every attribute, by its name.
    labels_ : dict
        Class of every training sample, by the name of the attribute: the known class, or the predicted one.
    layers_ : list of Layer
        A layer for each attribute, whose ``representation`` has the discriminants of the training samples.
    components_ : ndarray of shape (n_directions, n_features)
        Least-squares components of the first layer.
    mean_ : ndarray of shape (n_features,)
        Mean of the training samples.
    n_features_in_ : int
        Number of features of X in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X in `fit` had column names that are all strings.

    See Also
    --------
    laminar.AttributeLayers : Uses samples without a label as well.

    References
    ----------
    .. [1] O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices, Journal of
       Multivariate Analysis 88, 2004. doi:10.1016/S0047-259X(03)00096-4.

    Examples
    --------
    >>> import numpy as np
    >>> from laminar.baselines import PooledLDA
    >>> X = np.array([[0.0, 9.0], [0.1, -9.0], [1.0, 9.0], [1.1, -8.0], [0.9, 3.0]])
    >>> PooledLDA().fit(X, ["a", "a", "b", "b", None]).labels_[0].tolist()
    ['a', 'a', 'b', 'b', 'b']
    """

    def __init__(self, n_scores=200, *, random_state=None):
        self.n_scores = n_scores
        self.random_state = random_state

    def _fit_scores(self, F: np.ndarray) -> None:
        self._centres: list[ClassCentres] = []

    def _fit_attribute(self, F: np.ndarray, attribute: Attribute) -> tuple[np.ndarray, np.ndarray]:
        known, n_classes = attribute.known, len(attribute.classes)
        if n_classes:
            found = pooled_lda(F[known], attribute.codes[known], n_classes)
        else:
            found = ClassCentres(np.zeros((F.shape[1], 1)), np.zeros((0, 1)))
        self._centres.append(found)
        return found.discriminants(F), found.probabilities(F) if n_classes else np.zeros((len(F), 0))

    def _code(self, X, i: int) -> np.ndarray:
        return self._centres[i].discriminants(self._principal.of(X)).astype(X.dtype)

    def _probabilities(self, X, i: int) -> np.ndarray:
        return self._centres[i].probabilities(self._principal.of(X))
