"""Files that earlier versions wrote, one for each public estimator: this version reads them.

To keep files of a new version, of the estimators that have none: ``python -m _persistence.test_kept_files`` in
tests/. Files that are there are never written again.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

import laminar
from laminar._persistence.model_file import read_header, read_model

FILES = Path(__file__).parent / "files"
RESULTS = FILES / "results.npz"
KEPT = sorted(path.stem for path in FILES.glob("*.laminar"))


def samples():
    """Twelve training samples and four new ones, the same on every machine: no random numbers."""
    i, j = np.indices((16, 6))
    X = 1.5 + np.sin(1.0 + 0.7 * i + 1.9 * j) + 0.5 * np.cos(0.3 * i * j)
    return X[:12], X[12:]


@pytest.mark.parametrize("name", KEPT)
def test_kept_file_is_read(name):
    file = read_model(FILES / f"{name}.laminar")
    assert file.format_version == 1
    assert type(file.model).__name__ == name
    assert file.model.n_features_in_ == 6
    with np.load(RESULTS) as expected:
        np.testing.assert_allclose(file.model.transform(samples()[1]), expected[name], rtol=1e-6, atol=1e-6)
        if f"{name} predict" in expected:
            np.testing.assert_array_equal(file.model.predict(samples()[1]), expected[f"{name} predict"])
    assert read_header(FILES / f"{name}.laminar").checksum_ok


def test_every_estimator_has_a_file():
    from _persistence.examples import estimators

    assert set(KEPT) == set(estimators(laminar))


def write_missing():
    """Write a file of each estimator that has none, and what `transform` gives."""
    from sklearn.base import clone

    from _persistence.examples import estimators, plain

    X, new = samples()
    y = np.array(["a", "b", None] * 4, dtype=object)
    results = dict(np.load(RESULTS)) if RESULTS.exists() else {}
    for name, kind in estimators(laminar).items():
        if name not in KEPT:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = clone(plain(name, kind)).fit(X, y)
            results[name] = model.transform(new)
            if hasattr(model, "predict"):
                results[f"{name} predict"] = model.predict(new).astype(str if hasattr(model, "classes_") else int)
            model.save(FILES / f"{name}.laminar")
    np.savez_compressed(RESULTS, **results)


if __name__ == "__main__":
    write_missing()
