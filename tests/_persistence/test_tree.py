"""Values through the tree of JSON and tensors: type and content come back; what has no place is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from _persistence.compare import same
from laminar._persistence.decode import Decoder
from laminar._persistence.encode import Encoder
from laminar._persistence.strict_json import dump, parse
from laminar.attributes.bands import Band
from laminar.graphs import KNN, Chain

rng = np.random.default_rng(0)
LONG = np.array(["x" * 5000, *["y"] * 3000])
VALUES = {
    "nothing": None,
    "truth": [True, False],
    "integers": [0, -1, 2**80],
    "floats": [0.1, -0.0, 1e-320, float("nan"), float("inf"), float("-inf")],
    "text": ["", "é", 'a "quote" \\ [{', "\u2028"],
    "tuple": ((), (1, (2,)), [3, ()]),
    "dict of names": {"b": 1, "a": {"c": (1,)}},
    "dict of others": {1: "one", "1": "text", None: 0, (1, "a"): 2, Band(): 3, 2.5: 4},
    "empty dict": {},
    "set": {1, 2, 3},
    "frozenset": frozenset({"a", "b"}),
    "scalars": [np.float32(0.1), np.int8(-3), np.bool_(True), np.float64("nan"), np.str_("name"), np.uint64(2**63)],
    "arrays": [rng.random((2, 3)), np.arange(3), np.array(1.5), np.empty((0, 2)), np.array([True])],
    "column order": np.asfortranarray(rng.random((3, 4)).astype(np.float32)),
    "other byte order": np.arange(3.0).astype(">f8").astype("=f8"),
    "every second": rng.random((6, 4))[::2, ::2],
    "array of text": np.array([["a", "bcd"], ["", "é"]]),
    "wide array of text": np.array(["a", "b"], dtype="<U50"),
    "much text": np.array([f"{i} name" for i in range(2000)]),
    "array of objects": np.array(["a", None, 1, 2.5, np.nan, True], dtype=object),
    "many objects": np.array(["a", None, 3] * 200, dtype=object),
    "csr": sp.random_array((5, 4), density=0.4, rng=np.random.default_rng(0), format="csr"),
    "csc matrix": sp.csc_matrix(np.eye(3, dtype=np.float32)),
    "graph": KNN(3) + 0.5 * Chain(),
}


def back(value):
    encoder = Encoder()
    text = dump(encoder.encode(value, "value"))
    decoder = Decoder(encoder.tensors)
    found = decoder.decode(parse(text))
    assert decoder.unused == set()
    return found


@pytest.mark.parametrize("case", VALUES)
def test_value_comes_back(case):
    value = VALUES[case]
    found = back(value)
    assert type(found) is type(value)
    if isinstance(value, list) and case != "arrays":
        assert [type(item) for item in found] == [type(item) for item in value]
        assert [repr(item) for item in found] == [repr(item) for item in value]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        assert repr(found.tolist()) == repr(value.tolist())
    elif isinstance(value, set | frozenset) or case == "dict of others":
        assert found == value
    else:
        assert same(found, value)


def test_memory_order_comes_back():
    assert back(VALUES["column order"]).flags.f_contiguous
    assert back(np.arange(6.0).reshape(2, 3)).flags.c_contiguous


def test_one_long_text_among_short_ones_is_an_array_of_objects():
    found = back(LONG)
    assert found.dtype == object
    assert found.tolist() == LONG.tolist()


def test_generators_go_on():
    for generator in (np.random.RandomState(3), np.random.default_rng(3), np.random.Generator(np.random.Philox(3))):
        generator.normal(size=3)
        again = back(generator)
        assert np.array_equal(again.normal(size=5), generator.normal(size=5))


def test_table_comes_back():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"pose": ["left", None, "up"], 3: [1, 2, 3], "known": [True, False, True], "size": [0.5, np.nan, 2.0]},
        index=pandas.Index(["a", "b", "c"], name="id"),
    )
    found = back(table)
    pandas.testing.assert_frame_equal(found, table)


def test_missing_values_of_pandas_are_none():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": pandas.Categorical(["x", None])})
    found = back(table)
    assert found["a"].tolist() == [1, None]
    assert found["b"].iloc[0] == "x"


REFUSED = {
    "complex": (np.zeros(2, complex), "value is an array of type complex128, which a model file cannot hold"),
    "complex number": (1j, "value is a builtins.complex, which a model file cannot hold"),
    "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), "array of type datetime64"),
    "masked": (np.ma.masked_array([1.0]), "value is a numpy.*MaskedArray, which"),
    "function": ([len], r"value\.0 is the function .*, and a model file holds no code"),
    "object": ({"a": object()}, r"value\.a is a builtins.object"),
    "objects in array": (np.array([object()], dtype=object), "value is an array with an entry of type object"),
    "bytes": (b"a", "value is a builtins.bytes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_place_is_refused(case):
    value, message = REFUSED[case]
    with pytest.raises(TypeError, match=message):
        Encoder().encode(value, "value")


def test_deep_value_is_refused():
    value = []
    for _ in range(100):
        value = [value]
    with pytest.raises(ValueError, match="nested 101 deep, more than 64"):
        dump(Encoder().encode(value, "value"))
