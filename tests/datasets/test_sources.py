"""`stack_sources`: sources that label different attributes, as one data set with partial labels."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from laminar import WSF
from laminar._utils.labels import read_labels
from laminar.datasets import make_attributes, stack_sources


def sources():
    data = make_attributes(60, levels=(3, 4), scales=(1.0, 1.0), n_features=12, random_state=0)
    return data, [(data.X[:35], {"pose": data.y[:35, 0]}), (data.X[35:], {"identity": data.y[35:, 1]})]


def test_labels_are_those_of_their_source_and_unknown_elsewhere():
    data, given = sources()
    X, y, source = stack_sources(given)
    assert_array_equal(X, data.X)
    assert_array_equal(source, np.repeat([0, 1], [35, 25]))
    pose, identity = read_labels(y, 60)
    assert (pose.name, identity.name) == ("pose", "identity")
    assert_array_equal(pose.codes, np.r_[data.y[:35, 0], np.full(25, -1)])
    assert_array_equal(identity.codes, np.r_[np.full(35, -1), data.y[35:, 1]])


def test_wsf_equals_labels_made_by_hand():
    data, given = sources()
    by_hand = data.y.copy()
    by_hand[35:, 0] = by_hand[:35, 1] = -1
    X, y, _ = stack_sources(given)
    stacked, expected = (WSF(5, alpha=0.3, random_state=0).fit(*given) for given in ((X, y), (data.X, by_hand)))
    assert_array_equal(stacked.components_, expected.components_)
    plain = WSF(5, alpha=0.0, random_state=0).fit(data.X, by_hand)
    assert not np.allclose(plain.components_, expected.components_)


def test_attributes_may_be_shared_and_partly_unknown():
    first = (np.zeros((3, 2)), {"pose": ["left", None, "right"], "light": [1, 2, -1]})
    second = (np.ones((2, 2)), {"light": [2.0, np.nan]})
    X, y, source = stack_sources({"a": first, "b": second, "c": (np.ones((1, 2)), {})})
    assert y["pose"].tolist() == ["left", None, "right", None, None, None]
    assert y["light"].tolist() == [1, 2, None, 2, None, None]
    assert source.tolist() == ["a"] * 3 + ["b"] * 2 + ["c"]
    assert len(X) == 6


def test_float32_sparse_and_frames():
    labels = {"a": [0, 1]}
    X, _, _ = stack_sources([(np.ones((2, 3), np.float32), labels)] * 2)
    assert X.dtype == np.float32
    X, _, _ = stack_sources([(sp.eye_array(2, 3), labels), (np.ones((2, 3)), labels)])
    assert sp.issparse(X)
    assert_array_equal(X.toarray(), np.vstack([np.eye(2, 3), np.ones((2, 3))]))
    frame = pd.DataFrame(np.ones((2, 2)), columns=["u", "v"], index=[7, 8])
    X, y, _ = stack_sources([(frame, labels), (frame, labels)])
    assert list(X.columns) == ["u", "v"]
    assert list(X.index) == list(y.index) == [0, 1, 2, 3]


FRAME = pd.DataFrame(np.ones((2, 2)), columns=["u", "v"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "sources is empty"),
        ([np.ones((2, 2))], "source 0 must be a pair of samples and labels"),
        ([(np.ones((2, 2)), [0, 1])], "source 0 must be a pair of samples and labels"),
        ({"a": (np.ones((2, 2)), {}), "b": (np.ones((2, 3)), {})}, r"'b' has not the features of source 'a' \(3 and 2"),
        ([(FRAME, {}), (FRAME[["v", "u"]], {})], "source 1 has not the features of source 0"),
        ([(np.ones((2, 2)), {"pose": [0, 1, 2]})], "y has 3 rows but X has 2 samples"),
    ],
)
def test_what_cannot_be_stacked_is_said(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        stack_sources(given)
