import numpy as np
import pytest
import scipy.sparse as sp

from laminar._utils.views import read_views

rng = np.random.default_rng(0)
A, B, C = (rng.normal(size=(6, p)) for p in (3, 2, 1))
STACKED = np.hstack([A, B, C])


def with_rows(X, rows, value=np.nan):
    X = X.copy()
    X[rows] = value
    return X


@pytest.mark.parametrize(
    ("views", "sizes", "names"),
    [
        ([A, B, C], None, [0, 1, 2]),
        ((A, B, C), None, [0, 1, 2]),
        ({"a": A, "b": B, 3: C}, None, ["a", "b", 3]),
        ([A.tolist(), B.tolist(), C], None, [0, 1, 2]),
        ([np.asfortranarray(A), B, C], None, [0, 1, 2]),
        (STACKED, [3, 2, 1], [0, 1, 2]),
        (STACKED.tolist(), (3, 2, 1), [0, 1, 2]),
        (list(STACKED), np.array([3, 2, 1]), [0, 1, 2]),
    ],
)
def test_every_form_gives_the_same_arrays(views, sizes, names):
    arrays, found, observed = read_views(views, sizes)
    assert found == names
    assert all(np.array_equal(x, y) for x, y in zip(arrays, (A, B, C), strict=True))
    assert observed.shape == (6, 3)
    assert observed.all()


@pytest.mark.parametrize("one", [A, A.tolist(), [A], {0: A}, [A.tolist()]])
def test_one_array_is_one_view(one):
    arrays, names, observed = read_views(one)
    assert names == [0]
    assert np.array_equal(arrays[0], A)
    assert observed.shape == (6, 1)


def test_data_frames():
    pd = pytest.importorskip("pandas")
    arrays, _, _ = read_views([pd.DataFrame(A), pd.DataFrame(B)])
    assert np.array_equal(arrays[1], B)
    arrays, _, _ = read_views(pd.DataFrame(STACKED), [3, 3])
    assert np.array_equal(arrays[0], A)


def test_floats_are_kept_and_not_copied():
    single = A.astype(np.float32)
    arrays, _, _ = read_views([single, B, np.arange(6)[:, None]])
    assert [array.dtype for array in arrays] == [np.float32, np.float64, np.float64]
    assert np.shares_memory(arrays[0], single)
    assert np.shares_memory(read_views(STACKED, [3, 3]).arrays[1], STACKED)


# ------------------------------------------------------------------------------------------------ missing views

MISSING = np.ones((6, 2), dtype=bool)
MISSING[[1, 4], 0] = MISSING[2, 1] = False
LISTS = [[None if i in (1, 4) else list(row) for i, row in enumerate(A)], [*B[:2].tolist(), None, *B[3:].tolist()]]


@pytest.mark.parametrize(
    ("views", "keywords"),
    [
        ([with_rows(A, [1, 4]), with_rows(B, 2)], {}),
        ({"a": with_rows(A, [1, 4]), "b": with_rows(B, 2)}, {}),
        (LISTS, {}),
        ([A, B], {"observed": MISSING}),
        ([with_rows(A, [1, 4]), B], {"observed": MISSING | [True, False]}),
        ([with_rows(A, (1, 0)), B], {"observed": MISSING}),  # what is not observed may be anything
        (np.hstack([with_rows(A, [1, 4]), with_rows(B, 2)]), {"view_sizes": [3, 2]}),
        ([with_rows(A.astype(object), [1, 4], None), with_rows(B, 2)], {}),
    ],
)
def test_samples_that_lack_a_view(views, keywords):
    arrays, _, observed = read_views(views, allow_missing=True, **keywords)
    assert np.array_equal(observed, MISSING)
    assert np.array_equal(arrays[0], with_rows(A, [1, 4], 0))
    assert np.array_equal(arrays[1], with_rows(B, 2, 0))
    with pytest.raises(ValueError, match=r"2 of 6 samples lack view .* \(NaN or None\).*drop these samples, fill"):
        read_views(views, **keywords)


def test_what_is_missing_is_blanked_in_a_copy():
    views = [with_rows(A, 1), B]
    read_views(views, allow_missing=True)
    assert np.isnan(views[0][1]).all()


def test_sparse_views():
    sparse = sp.csr_array(A)
    arrays, _, observed = read_views([sparse, B], observed=MISSING, allow_missing=True, accept_sparse=True)
    assert sp.issparse(arrays[0])
    assert np.array_equal(arrays[0].toarray(), with_rows(A, [1, 4], 0))
    assert np.array_equal(observed, MISSING)
    (left, right), _, _ = read_views(sp.csr_array(STACKED), [3, 3], accept_sparse=True)
    assert np.array_equal(right.toarray(), STACKED[:, 3:])
    assert np.array_equal(left.toarray(), A)
    with pytest.raises(TypeError, match=r"view 0: Sparse data was passed"):
        read_views([sparse, B])
    with pytest.raises(ValueError, match=r"view 0: a sparse view contains NaN; mark missing samples with observed="):
        read_views([sp.csr_array(with_rows(A, 1)), B], accept_sparse=True)


# -------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("views", "keywords", "message"),
    [
        ([], {}, "there are no views; give a list or a dict of arrays"),
        ({}, {}, "there are no views"),
        (None, {}, "views must be a list or a dict .* got NoneType"),
        ("abc", {}, "views must be .* got str"),
        (iter([A, B]), {}, "views must be .* got list_iterator"),
        ([A, B[:4]], {}, r"the same samples as rows, but their numbers of rows are \{0: 6, 1: 4\}"),
        ({"a": A, "b": B[:4]}, {}, r"\{'a': 6, 'b': 4\}"),
        ([A, B[:, 0]], {}, "view 1 is one-dimensional, of shape"),
        ([A, None], {}, "view 1 is None"),
        ([A, B[:, :0]], {}, r"view 1: Found array with 0 feature\(s\)"),
        ([A, B + 1j], {}, "view 1: Complex data not supported"),
        ([A, with_rows(B, 1, np.inf)], {}, "view 1: Input contains infinity"),
        ([A, [["x", "y"]] * 6], {}, "view 1: could not convert string"),
        (STACKED[None], {}, "array with dim 3"),
        (STACKED[0], {}, "X is one-dimensional, of shape .* Reshape your data"),
        (list(A), {}, "X is a list of 6 one-dimensional arrays"),
        (STACKED, {"view_sizes": [3, 2]}, r"add up to the 6 of the stacked array; got \[3, 2\], which add up to 5"),
        (STACKED, {"view_sizes": [6, 0]}, "numbers of columns above 0"),
        (STACKED, {"view_sizes": []}, "numbers of columns above 0"),
        ([A, B], {"view_sizes": [3, 2]}, r"view_sizes=\[3, 2\] is for one stacked array, but 2 views were given"),
        (
            {"a": with_rows(A, (2, 1)), "b": B},
            {},
            "view 'a' contains NaN or masked entries in a part of 1 rows, .* row 2",
        ),
        ([with_rows(A, (2, 1)), B], {"allow_missing": True}, "in a part of 1 rows.*has all of a view or nothing"),
        (
            [with_rows(A, [1, 3]), with_rows(B, 3)],
            {"allow_missing": True},
            "1 samples have no view at all.*row 3: drop",
        ),
        ([A, with_rows(B, slice(None))], {"allow_missing": True}, "no sample has view 1: leave this view out"),
        ([A, B], {"observed": MISSING.T, "allow_missing": True}, r"observed must be boolean.*shape \(6, 2\).*\(2, 6\)"),
        ([A, B], {"observed": MISSING * 1.0, "allow_missing": True}, "observed must be boolean.*got float64"),
    ],
)
def test_bad_views(views, keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_views(views, **keywords)
