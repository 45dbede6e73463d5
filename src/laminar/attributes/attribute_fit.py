"""Fit of the layer of one attribute: weights of the bands, rounds of soft targets, features and codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.coding import Layer
from .._engine.data.svd import truncated_svd
from .._engine.data.wrap import wrap
from .._utils.labels import Attribute
from ..deep.composition import regress
from .class_centres import ClassCentres
from .discriminants import Decomposition, Discriminants, discriminants, initial_targets, with_labels
from .filter_bank import FilterBank
from .layer_map import LayerMap, Part, band_part, discriminant_part, layer_coders
from .weighting import band_weights


class WeightedBands:
    """Principal scores of bands side by side, each times a matrix.

    Parameters
    ----------
    bands : sequence of ndarray of shape (n_samples, n_band_features)
        Bands of the training samples.
    matrices : dict of ndarray of shape (n_band_features, n_columns)
        By position of a band.
    n_directions : int
        Number of leading directions.
    random_state : RandomState
        Generator of the decomposition of many samples.
    """

    def __init__(
        self,
        bands: Sequence[np.ndarray],
        matrices: dict[int, np.ndarray],
        n_directions: int,
        random_state: np.random.RandomState,
    ):
        S = np.hstack([bands[b] @ A.astype(bands[b].dtype) for b, A in matrices.items()])
        self.mean = S.mean(axis=0, dtype=np.float64)
        data = wrap(S - self.mean.astype(S.dtype))
        # By their Gram matrix: their spectrum is flat, and subspace iteration takes five times as long.
        U, s, V = truncated_svd(data, n_directions, random_state, max_gram=4000)
        # Below 3e-5 of the largest, a choice, they are rounding; one is kept of bands that are zero.
        r = max(1, int(np.count_nonzero(s > 3e-5 * s[0])))
        s = np.where(s[:r] > 0, s[:r], 1e-12) * data.scale
        self.data, self.basis = Decomposition(U[:, :r], s), V[:, :r]
        self.matrices, self.dtype = matrices, S.dtype

    def map(self, parts: Sequence[Part]) -> tuple[dict[int, np.ndarray], np.ndarray]:
        """Return the matrices from bands to the features of some parts, and what is added."""
        coef = self.basis @ np.hstack([part.coef for part in parts])
        offset = np.concatenate([part.offset for part in parts]) - self.mean @ coef
        edges = np.cumsum([A.shape[1] for A in self.matrices.values()])[:-1]
        rows = zip(self.matrices.items(), np.split(coef, edges), strict=True)
        return {b: (A @ part).astype(self.dtype) for (b, A), part in rows}, offset.astype(self.dtype)


class AttributeFit:
    """State of the fit of one attribute, between the rounds.

    Parameters
    ----------
    bands : sequence of ndarray of shape (n_samples, n_band_features)
        Bands of the training samples.
    priors : sequence of float
        Weight of each band before labels are seen.
    attribute : Attribute
        Labels.
    random_state : RandomState
        Generator of the decomposition of many samples.
    n_directions : int, default=300
        Directions of the weighted bands that are used.
    """

    def __init__(
        self,
        bands: Sequence[np.ndarray],
        priors: Sequence[float],
        attribute: Attribute,
        random_state: np.random.RandomState,
        *,
        n_directions: int = 300,
    ):
        self.attribute, self.weights = attribute, band_weights(bands, attribute, priors)
        used = np.flatnonzero(self.weights).tolist()
        matrices = {b: np.sqrt(self.weights[b]) * np.eye(bands[b].shape[1]) for b in used}
        self.weighted = WeightedBands(bands, matrices, n_directions, random_state)
        alike = np.ones((len(attribute.codes), 1))
        self.targets = initial_targets(self.weighted.data, attribute) if self.has_classes else alike
        self.found: Discriminants | None = None

    @property
    def has_classes(self) -> bool:
        """Whether labels of two classes are known."""
        return len(self.attribute.classes) > 1

    def step(self) -> float:
        """Make one round, and return the leave-one-out error."""
        if not self.has_classes:
            return 0.0
        self.found = discriminants(self.weighted.data, self.targets)
        self.targets = with_labels(self.found.memberships, self.attribute)
        return self.found.error

    @property
    def labels(self) -> np.ndarray:
        """Position of the class of each training sample: the known one, or the most probable."""
        return self.targets.argmax(1)

    def parts(self, n_components: int, share: float) -> tuple[list[Part], list[int], ClassCentres]:
        """Return discriminants and bands as parts of the layer, the codes of each, and the classes."""
        n_classes = len(self.attribute.classes)
        if self.found is None:
            return bands_alone(self.weighted.data, n_components, n_classes)
        first, classes = discriminant_part(self.found)
        parts, n_codes = [first], [n_classes]
        n_more = n_components - n_classes
        if share and n_more > 0:
            parts.append(band_part(self.weighted.data, max(n_more - 1, 1), share))
            n_codes.append(n_more)
        return parts, n_codes, classes


def bands_alone(
    data: Decomposition, n_components: int, n_classes: int = 0
) -> tuple[list[Part], list[int], ClassCentres]:
    """Return the bands as the only part of a layer, of an attribute with one class or none."""
    alike = ClassCentres(np.zeros((0, 1)), np.zeros((n_classes, 1)))
    return [band_part(data, max(n_components - 1, 1), 1.0)], [n_components], alike


def fitted_layer(
    weighted: WeightedBands,
    parts: Sequence[Part],
    n_codes: Sequence[int],
    classes: ClassCentres,
    F: np.ndarray,
    bank: FilterBank,
    max_steps: int,
    sweeps: int,
) -> tuple[Layer, LayerMap]:
    """Code the features of a layer; F is the first band of the training samples.

    The components of the discriminants are those of least squares without the others, so that they draw the classes;
    those of the bands are least squares of what is left.
    """
    parts = [part._replace(T=part.T.astype(F.dtype)) for part in parts]
    found = LayerMap(*weighted.map(parts), layer_coders(parts, n_codes, max_steps, sweeps), classes)
    H = found.code(np.hstack([part.T for part in parts]))
    components, left = [], F
    for block in np.split(H, np.cumsum(found.sizes)[:-1], axis=1):
        Z = regress(block, left)
        left = left - block @ Z
        components.append(Z)
    # The first band has mean squared length one; in the units of X it is that of the samples.
    X_components = np.vstack(components) @ bank.scores.basis.T
    return Layer(found.weights, X_components, H * H.dtype.type(bank.length)), found
