"""Maps of samples: two coordinates by t-SNE or UMAP of the features of a layer, kept beside the model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from laminar._utils import __version__
from laminar._utils.files import replacing
from laminar._utils.progress import track

METHODS = ("tsne", "umap", "pca")
MAX_WORK = 15_000  # samples times layers with t-SNE or UMAP: five layers of 3000 samples; further ones get PCA
POINTS = 65535
PERPLEXITY = 20.0


def maps(
    features: Sequence[np.ndarray],
    *,
    method: str = "tsne",
    seed: int = 0,
    cache: str | os.PathLike | None = None,
    verbose: int = 0,
) -> list[dict]:
    """Compute a map of the same samples for each layer.

    Parameters
    ----------
    features : sequence of ndarray of shape (n_samples, n_directions)
        Features of the samples in each layer.
    method : {"tsne", "umap", "pca"}, default="tsne"
        t-SNE of scikit-learn; UMAP of umap-learn, if it is installed; the first two principal scores.
    seed : int, default=0
        Seed of the method.
    cache : path or None, default=None
        File, .npz, from which maps are read if it has them, and to which they are written.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    list of dict
        ``xy``, an array of uint16 of 2 n_samples coordinates, x and y of each sample in turn, and ``how``, a sentence.
        The same for the same features and seed. Layers beyond `MAX_WORK` samples in all get principal scores.

    Examples
    --------
    >>> E = np.random.default_rng(0).normal(size=(30, 4))
    >>> (found,) = maps([E], method="pca")
    >>> found["xy"].shape, found["how"]
    ((60,), 'First two principal scores')
    """
    if method not in METHODS:
        raise ValueError(f"map={method!r} is none of {', '.join(METHODS)}.")
    known = _read(cache)
    found: list[dict] = []
    computed: Any = {}  # by key
    work = 0
    for E in track(list(features), "maps", unit="layers", verbose=verbose):
        work += len(E)
        is_cut = method != "pca" and work > MAX_WORK and len(found) > 0
        used = "pca" if is_cut or len(E) < 8 or E.shape[1] < 2 else method
        key = _key(E, used, seed)
        xy = known[key] if key in known else _scaled(_coordinates(E, used, seed))
        computed[key] = xy
        how = _sentence(used, len(E), seed)
        if is_cut:
            how += f": {method} of {len(features)} layers of {len(E)} samples would take minutes"
        found.append({"xy": xy.ravel(), "how": how})
    if cache is not None and set(computed) != set(known):
        with replacing(Path(cache)) as partial, open(partial, "wb") as file:
            np.savez_compressed(file, **computed)
    return found


def _read(cache: str | os.PathLike | None) -> dict[str, np.ndarray]:
    if cache is None or not Path(cache).exists():
        return {}
    try:
        with np.load(cache, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError):
        return {}  # of another program, or damaged: it is written again


def _key(E: np.ndarray, method: str, seed: int) -> str:
    found = blake2b(f"{__version__} {method} {seed} {E.shape}".encode(), digest_size=16)
    found.update(np.ascontiguousarray(E, dtype=np.float32).tobytes())
    return found.hexdigest()


def _coordinates(E: np.ndarray, method: str, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "umap":
            return _umap(E, seed)
        if method == "tsne":
            from sklearn.manifold import TSNE

            return TSNE(
                perplexity=_perplexity(len(E)), init=_start(E), learning_rate="auto", random_state=seed, n_jobs=1
            ).fit_transform(np.asarray(E, dtype=np.float32))
        return _plane(E)


def _umap(E: np.ndarray, seed: int) -> np.ndarray:
    try:
        import umap
    except ImportError as error:
        raise ImportError('map="umap" needs umap-learn: pip install umap-learn, or use map="tsne".') from error
    return umap.UMAP(random_state=seed, n_jobs=1, init=_start(E)).fit_transform(E)


def _perplexity(n: int) -> float:
    return float(min(PERPLEXITY, max(2.0, (n - 1) / 4)))


def _start(E: np.ndarray) -> np.ndarray:
    """Return principal scores of standard deviation 1e-4, as scikit-learn starts t-SNE."""
    plane = _plane(E)
    return (1e-4 * plane / (plane[:, 0].std() or 1)).astype(np.float32)


def _plane(E: np.ndarray) -> np.ndarray:
    k = min(2, *E.shape)
    scores = PCA(k, svd_solver="full").fit_transform(np.asarray(E, dtype=np.float64)) if k else np.zeros((len(E), 0))
    return np.hstack([scores, np.zeros((len(E), 2 - k))])


def _scaled(xy: np.ndarray) -> np.ndarray:
    low, high = xy.min(axis=0), xy.max(axis=0)
    return np.rint(POINTS * (xy - low) / np.where(high > low, high - low, 1)).astype(np.uint16)


def _sentence(method: str, n: int, seed: int) -> str:
    if method == "pca":
        return "First two principal scores"
    return f"t-SNE, perplexity {_perplexity(n):g}, seed {seed}" if method == "tsne" else f"UMAP, seed {seed}"
