"""Reports on four kinds of data, small, each made once."""

from functools import cache

import numpy as np
import pandas
import pytest

from laminar import NMF, AttributeLayers, Dataset, MultiLayerNMF, SemiNMF
from laminar.datasets import make_faces
from laminar.io import TextReader
from laminar.report import Report, report
from laminar.report.subject import Subject, read_subject

WORDS = ("river stone water boat fish", "engine wheel road brake fuel", "violin choir melody drum tempo")


def faces_subject() -> tuple[AttributeLayers, dict]:
    """AttributeLayers of 96 faces, given half of the labels of identity and pose, and what the report is told."""
    faces = make_faces(6, 4, 4, size=16, random_state=0)
    truth = pandas.DataFrame({name: [faces.names[name][i] for i in faces[name]] for name in ("identity", "pose")})
    ids = np.array([f"face {i}.png" for i in range(len(faces.X))])
    given = truth.where(np.random.default_rng(0).random(truth.shape) < 0.5, None)
    model = AttributeLayers(20, random_state=0).fit(faces.X, given)
    data = Dataset(faces.X, ids, labels=truth.set_index(ids), image_shape=(16, 16))
    return model, {"X": data, "given": given, "noun": "face"}


def table_subject() -> tuple[MultiLayerNMF, dict]:
    """Two layers of a table of 90 rows and 7 columns in three classes."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 30)
    X = pandas.DataFrame(rng.gamma(2, 1, (3, 7))[kind] * rng.gamma(20, 0.05, (90, 7)), columns=list("abcdefg"))
    return MultiLayerNMF(layers=(4, 3), random_state=0).fit(X), {
        "X": X,
        "labels": {"kind": np.array(["red", "white", "rose"])[kind]},
        "noun": "wine",
    }


def text_subject(folder) -> tuple[NMF, dict]:
    """NMF of 60 texts on three topics."""
    rng = np.random.default_rng(0)
    topics = np.arange(60) % 3
    texts = [" ".join(rng.choice(WORDS[topic].split(), 12)) for topic in topics]
    path = folder / "texts.csv"
    pandas.DataFrame({"id": [f"text {i}" for i in range(60)], "text": texts, "topic": topics}).to_csv(path, index=False)
    data = TextReader(id_column="id", column="text", label_columns=("topic",)).read(path)
    return NMF(3, random_state=0).fit(data.X), {"X": data, "texts": texts}


def spectra_subject() -> tuple[SemiNMF, dict]:
    """SemiNMF of 60 spectra of 40 channels; no label is known."""
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 40)
    peaks = np.exp(-((x - np.array([[0.2], [0.5], [0.8]])) ** 2) / 0.01)
    X = pandas.DataFrame(rng.gamma(3, 1, (60, 3)) @ peaks, columns=[f"{400 + 5 * i}" for i in range(40)])
    return SemiNMF(3, random_state=0).fit(X), {"X": X, "noun": ("spectrum", "spectra")}


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    """Function from the name of a kind to the model and the arguments of `report`, made once."""
    makers = {
        "images": faces_subject,
        "table": table_subject,
        "texts": lambda: text_subject(tmp_path_factory.mktemp("texts")),
        "spectra": spectra_subject,
    }
    return cache(lambda kind: makers[kind]())


@pytest.fixture(scope="session")
def reports(cases):
    """Function from the name of a kind to its report, made once."""

    def make(kind: str) -> Report:
        model, options = cases(kind)
        return report(model, **options, map="pca")

    return cache(make)


@pytest.fixture(scope="session")
def subjects(cases):
    """Function from the name of a kind to what its report is about."""

    def make(kind: str) -> Subject:
        model, options = cases(kind)
        return read_subject(model, **options)

    return cache(make)
