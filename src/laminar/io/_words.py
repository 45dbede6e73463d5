"""Words of texts: counts, choice by frequency, tf-idf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from laminar.io._folders import counted, first_few


@dataclass(frozen=True, eq=False)
class Counts:
    """Number of occurrences of words (columns) in texts (rows)."""

    matrix: sp.csr_array
    words: list[str]

    def document_frequency(self) -> np.ndarray:
        """Return the number of texts that hold each word."""
        return np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])

    def idf(self) -> np.ndarray:
        """Return log((1 + n) / (1 + df)) + 1."""
        from sklearn.feature_extraction.text import TfidfTransformer

        return TfidfTransformer().fit(self.matrix).idf_

    def tf_idf(self, idf: np.ndarray) -> sp.csr_array:
        """Return counts times idf, rows of length 1; zero rows stay zero."""
        from sklearn.feature_extraction.text import TfidfTransformer

        transformer = TfidfTransformer()
        transformer.idf_ = np.asarray(idf)  # of these texts, or of those that the words were chosen in
        return sp.csr_array(transformer.transform(self.matrix).astype(np.float32))


def count_words(
    texts: Iterable[str], vocabulary: Sequence[str] | None, stop_words: str | Sequence[str] | None
) -> Counts:
    """Count the words of texts, read once: those of the vocabulary, or all but the stop words; perhaps none."""
    from sklearn.feature_extraction.text import CountVectorizer

    if stop_words is not None and not isinstance(stop_words, str):
        stop_words = [word.lower() for word in stop_words]
    if vocabulary is not None:
        vectorizer = CountVectorizer(vocabulary=list(vocabulary), dtype=np.float64)
        return Counts(_sorted(vectorizer.transform(texts)), list(vocabulary))
    vectorizer = CountVectorizer(stop_words=stop_words, dtype=np.float64)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return Counts(sp.csr_array((0, 0)), [])
    return Counts(_sorted(counts), vectorizer.get_feature_names_out().tolist())


def choose_words(
    path: Path, counts: Counts, min_df: int, max_df: float, max_features: int | None
) -> tuple[Counts, list[str]]:
    """Return the words in ``min_df`` texts or more and the part ``max_df`` of them or less, and notes on the others."""
    frequency, n, words = counts.document_frequency(), counts.matrix.shape[0], counts.words
    is_common = frequency > max_df * n
    keep = np.flatnonzero((frequency >= min_df) & ~is_common)
    if not words:
        raise ValueError(f"{path}: the texts have no words.")
    if not len(keep):
        raise ValueError(
            f"{path}: of {counted(len(words), 'word')} in {counted(n, 'text')} none is in at least min_df={min_df} "
            f"texts and in at most {max_df:.0%} of them (max_df={max_df}). Lower min_df= or raise max_df=."
        )
    notes = [f"{len(keep)} of {counted(len(words), 'word')} kept, each in {min_df} texts or more (min_df)."]
    if is_common.any():
        common = sorted(np.flatnonzero(is_common), key=lambda j: -frequency[j])
        named = first_few(words[j] for j in common)
        number = counted(len(common), "word")
        notes.append(f"{number} in more than {max_df:.0%} of the texts left out (max_df): {named}.")
    if max_features is not None and len(keep) > max_features:
        totals = np.asarray(counts.matrix.sum(axis=0)).ravel()[keep]
        keep = np.sort(keep[np.argsort(-totals, kind="stable")[:max_features]])
        notes.append(f"Only the {max_features} most frequent words are used (max_features).")
    return Counts(_sorted(counts.matrix[:, keep]), [words[j] for j in keep]), notes


def _sorted(counts: sp.spmatrix) -> sp.csr_array:
    """Return counts with the entries of each row in order: sums are then the same, whichever way they were counted."""
    found = sp.csr_array(counts)
    found.sort_indices()
    return found
