import copy
from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from laminar.graphs import KNN, Chain, LabelledKNN, Labels, Precomputed, Sum, as_graph

N = 40
rng = np.random.default_rng(0)
X = rng.gamma(1.0, size=(N, 4))
Y = np.array(["a", "b", "c", None], dtype=object)[rng.integers(4, size=N)]
GROUPS = np.repeat([7, 3, 9, 1], [15, 1, 20, 4])
H = rng.normal(size=(N, 3))
KNOWN = np.array([label is not None for label in Y])
SAME = (Y[:, None] == Y) & KNOWN[:, None] & KNOWN & ~np.eye(N, dtype=bool)
DISTANCE = np.linalg.norm(X[:, None] - X, axis=2)
PAIRS = np.triu_indices(N, 1)


def knn(k, distance=DISTANCE, weights=None, join=np.maximum):
    """Weights of a kNN graph, written with dense matrices."""
    A = np.zeros((N, N))
    for i in range(N):
        for j in [j for j in np.argsort(distance[i], kind="stable") if j != i][:k]:
            A[i, j] = 1 if weights is None else weights[i, j]
    return join(A, A.T)


def chain(groups):
    W = np.zeros((len(groups), len(groups)))
    for name in set(groups):
        place = [i for i, group in enumerate(groups) if group == name]
        for i, j in pairwise(place):
            W[i, j] = W[j, i] = 1
    return W


UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)
COSINE = UNIT @ UNIT.T
CLASS_SIZE = SAME.sum(axis=1, keepdims=True) + 1
GIVEN = np.where(rng.random((N, N)) < 0.1, rng.random((N, N)), 0)
GIVEN = np.maximum(GIVEN, GIVEN.T) * (1 - np.eye(N))


def heat(t):
    return np.exp(-(DISTANCE**2) / (2 * t**2))


CASES = {
    "knn": (KNN(5), knn(5)),
    "knn mutual": (KNN(4, symmetrize="mutual"), knn(4, join=np.minimum)),
    "knn heat": (KNN(5, weight="heat"), knn(5, weights=heat(DISTANCE[PAIRS].mean()))),
    "knn heat, width given": (KNN(5, weight="heat", bandwidth=0.7), knn(5, weights=heat(0.7))),
    "knn cosine": (KNN(5, weight="cosine"), knn(5, distance=-COSINE, weights=COSINE)),
    "labels": (Labels(), 1.0 * SAME),
    "labels by class": (Labels(normalize="class"), SAME / CLASS_SIZE),
    "labels rbf": (Labels("rbf"), SAME * heat(np.median(DISTANCE[PAIRS][SAME[PAIRS]]))),
    "labels rbf by class": (Labels("rbf", "class", bandwidth=2.0), SAME * heat(2.0) / CLASS_SIZE),
    "labels dot": (Labels("dot"), SAME * (X @ X.T)),
    "labels dot by class": (Labels("dot", "class"), SAME * (X @ X.T) / CLASS_SIZE),
    "chain": (Chain(), chain(GROUPS)),
    "labelled knn": (LabelledKNN(5), np.where(KNOWN[:, None] & KNOWN, SAME, knn(5))),
    "precomputed": (Precomputed(sp.csr_array(GIVEN + np.eye(N))), GIVEN),
    "sum": (KNN(3) + 0.5 * Chain() + 2 * Labels(), knn(3) + 0.5 * chain(GROUPS) + 2 * SAME),
}
every_graph = pytest.mark.parametrize(("graph", "W"), CASES.values(), ids=CASES)


def build(graph, X=X):
    return graph.build(X, Y, GROUPS)


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


@every_graph
def test_weights_are_those_of_the_definition(graph, W):
    operator = build(graph)
    assert sp.issparse(operator.tocsr())
    assert np.allclose(operator.tocsr().toarray(), W, atol=1e-12)
    assert np.allclose(operator.degree, W.sum(axis=1))


@every_graph
def test_products_are_those_of_the_matrix(graph, W):
    operator, L = build(graph), laplacian(W)
    assert np.allclose(operator.dot(H), W @ H)
    assert np.allclose(operator.laplacian(H), L @ H)
    assert np.allclose(operator.quad_columns(H), np.diag(H.T @ L @ H))
    assert operator.quad(H) == pytest.approx(np.trace(H.T @ L @ H))


@every_graph
def test_a_vector_is_a_column(graph, W):
    operator = build(graph)
    assert np.allclose(operator.dot(H[:, 0]), operator.dot(H)[:, 0])
    assert np.allclose(operator.laplacian(H[:, 0]), operator.laplacian(H)[:, 0])
    assert operator.quad_columns(H[:, 0]) == pytest.approx(operator.quad_columns(H)[0])


@every_graph
def test_symmetric_without_self_loops_and_semi_definite(graph, W):
    W = build(graph).tocsr().toarray()
    assert np.allclose(W, W.T, rtol=1e-12)
    assert np.all(np.diag(W) == 0)
    assert np.all(W >= 0)
    assert W.any()
    assert np.linalg.eigvalsh(laplacian(W)).min() > -1e-9


@every_graph
def test_constants_cost_nothing(graph, W):
    operator = build(graph)
    assert np.allclose(operator.laplacian(np.ones((N, 2))), 0, atol=1e-12)
    assert 0 <= operator.quad(np.full((N, 2), 0.1)) < 1e-12


@every_graph
def test_quad_is_half_the_sum_over_ordered_pairs(graph, W):
    operator = build(graph)
    distances = ((H[:, None] - H) ** 2).sum(axis=2)
    assert 2 * operator.quad(H) == pytest.approx((operator.tocsr().toarray() * distances).sum())


@every_graph
@pytest.mark.parametrize("layout", ["C", "F"])
def test_float32_stays_float32(graph, W, layout):
    operator = build(graph)
    single = np.asarray(H, dtype=np.float32, order=layout)
    for product in (operator.dot, operator.laplacian, operator.quad_columns):
        assert product(single).dtype == np.float32
        assert product(H).dtype == np.float64
        assert np.allclose(product(single), product(H), rtol=1e-4, atol=1e-4)
    assert operator.dot(np.ones((N, 2), dtype=int)).dtype == np.float64


@every_graph
def test_float32_data_give_the_same_graph(graph, W):
    operator = build(graph, X.astype(np.float32))
    assert np.allclose(operator.tocsr().toarray(), W, rtol=1e-4, atol=1e-4)
    assert operator.dot(H.astype(np.float32)).dtype == np.float32
    assert operator.dot(H).dtype == np.float64


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("chain", "precomputed", "sum")])
def test_permuted_samples_give_the_permuted_graph(name):
    graph, W = CASES[name]
    order = np.random.default_rng(1).permutation(N)
    permuted = graph.build(X[order], Y[order])
    assert np.allclose(permuted.tocsr().toarray(), W[np.ix_(order, order)], atol=1e-12)
    assert np.allclose(permuted.dot(H[order]), build(graph).dot(H)[order])


@pytest.mark.parametrize("name", [n for n in CASES if n != "precomputed"])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_array])
def test_sparse_data_give_the_same_graph(name, form):
    graph, W = CASES[name]
    assert np.allclose(build(graph, form(X)).tocsr().toarray(), W, atol=1e-12)


@every_graph
def test_nothing_is_modified(graph, W):
    before, factor = X.copy(), H.copy()
    operator = build(graph)
    first = operator.laplacian(factor)
    operator.quad(factor)
    assert np.array_equal(operator.laplacian(factor), first)
    assert np.array_equal(X, before)
    assert np.array_equal(H, factor)


# --------------------------------------------------------------------------------------------------- kNN


@pytest.mark.parametrize("weight", ["binary", "heat"])
def test_every_sample_has_k_neighbours_at_least(weight):
    assert np.diff(KNN(5, weight=weight).build(X).tocsr().indptr).min() >= 5


def test_mutual_neighbours_are_k_at_most():
    assert np.diff(KNN(5, symmetrize="mutual").build(X).tocsr().indptr).max() <= 5


@pytest.mark.parametrize("n_features", [2, 30])  # a tree searches the first, matrix products the second
def test_equally_near_neighbours_are_taken_in_order(n_features):
    W = KNN(3, symmetrize="mutual").build(np.full((60, n_features), 0.1)).tocsr().toarray()
    assert np.array_equal(W[:4, :4], 1 - np.eye(4))
    assert W.sum() == 12


@pytest.mark.parametrize("n_features", [2, 30])
def test_many_equal_samples_among_others_are_taken_in_order(n_features):
    points = np.random.default_rng(2).random((300, n_features))
    equal = np.sort(np.random.default_rng(3).permutation(300)[:150])
    points[equal] = 0.3
    W = KNN(3, symmetrize="mutual").build(points).tocsr().toarray()
    assert np.array_equal(W[np.ix_(equal[:4], equal[:4])], 1 - np.eye(4))
    assert not W[equal[4:]].any()


@pytest.mark.parametrize("n_features", [2, 30])
def test_ties_at_a_distance_are_taken_in_order(n_features):
    points = np.zeros((41, n_features))
    points[1::2, 0], points[2::2, 1] = 1, -1  # forty points at distance one of the first
    W = KNN(4, symmetrize="mutual").build(points).tocsr().toarray()
    directed = KNN(4).build(points).tocsr().toarray()
    assert np.array_equal(np.flatnonzero(directed[0]), [1, 2, 3, 4])
    assert not W[0].any()


def test_far_from_the_origin_distances_stay_exact():
    offset = 1e6 * np.ones((1, 4))
    assert np.array_equal(KNN(5).build(X + offset).tocsr().toarray(), knn(5))


def test_default_width_uses_a_fixed_subsample():
    from laminar.graphs.neighbours import mean_distance

    assert mean_distance(X) == pytest.approx(DISTANCE[PAIRS].mean())
    part = mean_distance(X, max_samples=20)
    assert part == mean_distance(X, max_samples=20)
    assert part == pytest.approx(DISTANCE[PAIRS].mean(), rel=0.5)
    assert part != mean_distance(X)


def test_equal_samples_have_heat_one():
    W = KNN(2, weight="heat").build(np.ones((5, 3))).tocsr()
    assert np.all(W.data == 1)


def test_cosine_leaves_zero_and_opposite_samples_alone():
    points = np.array([[1.0, 0], [2, 0], [0, 0], [-1, 0], [0, 0]])
    W = KNN(4, weight="cosine").build(points).tocsr().toarray()
    assert W[0, 1] == pytest.approx(1)
    assert W.sum() == pytest.approx(2)


# ------------------------------------------------------------------------------------------------ labels


def test_unknown_labels_are_never_linked():
    y = np.array([0, -1, -1, 0, -1])
    operator = Labels().build(np.zeros((5, 1)), y)
    assert operator.tocsr().nnz == 2
    assert np.array_equal(operator.degree, [1, 0, 0, 1, 0])
    assert not operator.dot(np.ones((5, 2)))[y == -1].any()


@pytest.mark.parametrize("weight", ["binary", "rbf", "dot"])
def test_no_known_label_is_an_empty_graph(weight):
    operator = Labels(weight).build(X, np.full(N, -1))
    assert not operator.dot(H).any()
    assert operator.quad(H) == 0
    assert operator.tocsr().nnz == 0


POSITIVE = np.abs(H)
LOOPS = {
    "binary": (Labels(self_loops=True), 1.0 * SAME, 1.0),
    "by class": (Labels(normalize="class", self_loops=True), SAME / CLASS_SIZE, 1 / CLASS_SIZE[:, 0]),
    "rbf": (Labels("rbf", bandwidth=2.0, self_loops=True), SAME * heat(2.0), 1.0),
    "dot": (Labels("dot", self_loops=True), SAME * (X @ X.T), (X**2).sum(1)),
    "dot by class": (
        Labels("dot", "class", self_loops=True),
        SAME * (X @ X.T) / CLASS_SIZE,
        (X**2).sum(1) / CLASS_SIZE[:, 0],
    ),
}


@pytest.mark.parametrize(("graph", "W", "loops"), LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_self_loops_are_on_the_diagonal_and_not_in_the_laplacian(graph, W, loops, dtype):
    """Trigeorgis et al., eq. 16 to 18, have W_ii; a sample of unknown class has none."""
    W = W + np.diag(loops * KNOWN)
    operator, H, tol = build(graph), POSITIVE, 1e-4 if dtype == np.float32 else 1e-10
    F = H.astype(dtype)
    assert np.allclose(operator.tocsr().toarray(), W)
    assert np.allclose(operator.degree, W.sum(1))
    assert np.allclose(operator.dot(F), W @ H, atol=tol)
    assert np.allclose(operator.laplacian(F), laplacian(W) @ H, atol=tol)
    assert np.allclose(operator.quad_columns(F), np.diag(H.T @ laplacian(W) @ H), rtol=1e-4)
    plus, minus, remainder = (np.vstack([part(slice(0, 9)), part(slice(9, N))]) for part in operator.rows(F))
    assert np.allclose(plus, W.sum(1)[:, None] * H, atol=tol)
    assert np.allclose(minus, W @ H, atol=tol)
    assert np.allclose(remainder, operator.row_curvature[:, None] * H - laplacian(W) @ H, atol=tol)
    assert operator.dot(F).dtype == plus.dtype == minus.dtype == remainder.dtype == dtype


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("normalize", [None, "class"])
def test_negative_inner_products_are_no_links(normalize, form):
    mixed = X - X.mean(0)
    W = SAME * np.maximum(mixed @ mixed.T, 0) / (CLASS_SIZE if normalize else 1)
    operator = build(Labels("dot", normalize), form(mixed))
    assert np.allclose(operator.tocsr().toarray(), W)
    assert np.allclose(operator.laplacian(H), laplacian(W) @ H)
    assert (W == 0).sum() > (~SAME).sum()  # some were negative
    assert np.linalg.eigvalsh(laplacian(operator.tocsr().toarray())).min() > -1e-9


def test_label_penalty_is_the_scatter_around_class_means():
    scatter = {c: ((H[c == Y] - H[c == Y].mean(axis=0)) ** 2).sum() for c in "abc"}
    assert build(Labels()).quad(H) == pytest.approx(sum(np.sum(c == Y) * scatter[c] for c in "abc"))
    assert build(Labels(normalize="class")).quad(H) == pytest.approx(sum(scatter.values()))


def test_label_null_space():
    constant = np.where(KNOWN, np.array([len(str(c)) + (c == "b") for c in Y]), rng.normal(size=N))
    assert np.allclose(build(Labels()).laplacian(constant), 0, atol=1e-12)


def test_large_class_in_float32_keeps_constants_free():
    n = 100_000
    operator = Labels().build(np.zeros((n, 1)), np.zeros(n))
    constant = np.full((n, 1), 0.1, dtype=np.float32)
    assert np.abs(operator.laplacian(constant)).max() < 1e-6 * n


def test_product_of_a_non_negative_factor_is_non_negative():
    sparse_factor = np.where(rng.random((N, 3)) < 0.1, rng.random((N, 3)), 0)
    for graph in (Labels(), Labels(normalize="class"), Chain(), KNN(3), Labels("rbf")):
        assert build(graph).dot(sparse_factor).min() >= 0


def test_several_attributes_add_up():
    second = np.arange(N) % 3
    both = np.column_stack([Y, second])
    expected = SAME + 1.0 * ((second[:, None] == second) & ~np.eye(N, dtype=bool))
    assert np.allclose(Labels().build(X, both).tocsr().toarray(), expected)
    weighted = (2 * Labels(attribute=0) + 3 * Labels(attribute=1)).build(X, both)
    assert np.allclose(weighted.tocsr().toarray(), 3 * expected - SAME)


def test_attribute_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"pose": Y, "person": np.arange(N)})
    assert np.array_equal(Labels(attribute="pose").build(X, frame).tocsr().toarray(), SAME)
    assert np.allclose(LabelledKNN(5, attribute="pose").build(X, frame).tocsr().toarray(), CASES["labelled knn"][1])


def test_labelled_knn_between_its_two_limits():
    full = np.arange(N) % 4
    assert np.array_equal(LabelledKNN(5).build(X, np.full(N, -1)).tocsr().toarray(), knn(5))
    assert np.array_equal(LabelledKNN(5).build(X).tocsr().toarray(), knn(5))
    labels = Labels().build(X, full).tocsr().toarray()
    assert np.array_equal(LabelledKNN(5).build(X, full).tocsr().toarray(), labels)
    assert np.array_equal(LabelledKNN(5, label_weight=9).build(X, full).tocsr().toarray(), 9 * labels)


# ------------------------------------------------------------------------------------------------- chain


def test_chain_has_one_neighbour_at_its_ends():
    assert np.array_equal(Chain().build(np.zeros((4, 1))).degree, [1, 2, 2, 1])
    groups = ["u", "u", "v", "w", "w", "w"]
    assert np.array_equal(Chain().build(np.zeros((6, 1)), groups=groups).degree, [1, 1, 0, 1, 2, 1])


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_chain_eigenvalues_are_known(n):
    operator = Chain().build(np.zeros((n, 1)))
    eigenvalues = np.linalg.eigvalsh(laplacian(operator.tocsr().toarray()))
    assert np.allclose(eigenvalues, 4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2, atol=1e-12)


def test_chain_laplacian_is_a_product_of_differences():
    P = np.eye(N, N - 1, k=-1) - np.eye(N, N - 1)
    assert np.allclose(Chain().build(X).laplacian(H), P @ P.T @ H)


def test_interleaved_sequences_follow_the_order_of_appearance():
    groups = np.arange(N) % 3
    operator = Chain().build(X, groups=groups)
    W = chain(groups)
    assert np.array_equal(operator.tocsr().toarray(), W)
    assert np.allclose(operator.dot(H), W @ H)
    assert np.allclose(operator.laplacian(H), laplacian(W) @ H)
    assert operator.quad(H) == pytest.approx(np.trace(H.T @ laplacian(W) @ H))


def test_constants_per_sequence_are_free_and_time_reverses():
    operator = Chain().build(X, groups=GROUPS)
    assert np.array_equal(operator.laplacian(1.0 * GROUPS), np.zeros(N))
    backwards = Chain().build(X, groups=GROUPS[::-1])
    assert np.allclose(backwards.laplacian(H[::-1]), operator.laplacian(H)[::-1])


# ------------------------------------------------------------------------------------- sums and resolving


@pytest.mark.parametrize(("one", "two"), list(combinations([KNN(3), Labels("rbf"), Chain(), 0.5 * Labels()], 2)))
def test_sums_and_multiples_are_linear(one, two):
    total, a, b = build(0.3 * (one + 2 * two)), build(one), build(two)
    assert np.allclose(total.dot(H), 0.3 * a.dot(H) + 0.6 * b.dot(H))
    assert np.allclose(total.laplacian(H), 0.3 * a.laplacian(H) + 0.6 * b.laplacian(H))
    assert np.allclose(total.quad_columns(H), 0.3 * a.quad_columns(H) + 0.6 * b.quad_columns(H))
    assert np.allclose(total.degree, 0.3 * a.degree + 0.6 * b.degree)


def test_arithmetic_of_specifications():
    assert np.float32(2) * KNN(3) == KNN(3) * 2 == Sum(((2.0, KNN(3)),))
    assert sum([KNN(3), Chain()]) == KNN(3) + Chain()
    assert 2 * (KNN(3) + 3 * Chain()) == Sum(((2.0, KNN(3)), (6.0, Chain())))
    assert not build(0 * KNN(3)).dot(H).any()
    assert copy.deepcopy(KNN(3) + Chain()) == KNN(3) + Chain()


@pytest.mark.parametrize(("name", "graph"), [("knn", KNN()), ("labels", Labels()), ("chain", Chain())])
def test_names_resolve(name, graph):
    assert as_graph(name) == graph


def test_other_forms_resolve():
    graph = KNN(3) + Chain()
    assert as_graph(graph) is graph
    assert as_graph(None) is None
    for W in (GIVEN, sp.csr_matrix(GIVEN), sp.coo_array(GIVEN)):
        assert np.array_equal(as_graph(W).build(X).tocsr().toarray(), GIVEN)


# ------------------------------------------------------------------------------------------------ errors


LOPSIDED = np.triu(GIVEN)
BAD_DATA = [
    (KNN(N), {}, rf"n_neighbors={N} must be .* below the number of samples, {N}; lower n_neighbors"),
    (KNN(0), {}, "n_neighbors=0 must be at least 1"),
    (Labels(), {}, "needs y; pass y to fit"),
    (Labels(), {"y": [0, 1]}, f"y has 2 rows but X has {N} samples"),
    (Labels(attribute=1), {"y": Y}, r"attribute=1 must name one column of y; its columns are \[0\]"),
    (LabelledKNN(), {"y": np.zeros((N, 2))}, "y has 2 attributes, .* pass one column of y, or graph="),
    (
        Chain(),
        {"groups": [0, 1]},
        rf"groups must name the sequence of each of the {N} samples; got shape \(2,\)",
    ),
    (Chain(), {"groups": np.where(GROUPS == 3, -1, GROUPS)}, "groups is unknown .* for 1 samples; give each"),
    (Precomputed(GIVEN[:9, :9]), {}, rf"must have shape \({N}, {N}\); got \(9, 9\)"),
    (Precomputed(GIVEN[:9]), {}, rf"must have shape \({N}, {N}\); got \(9, {N}\)"),
    (Precomputed(LOPSIDED), {}, r"must be symmetric; W.maximum\(W.T\)"),
    (Precomputed(laplacian(GIVEN)), {}, "finite weights >= 0. If this is a Laplacian"),
    (Precomputed(np.full((N, N), np.nan)), {}, "finite weights >= 0"),
]


@pytest.mark.parametrize(("graph", "changes", "message"), BAD_DATA)
def test_data_that_do_not_fit_the_graph(graph, changes, message):
    with pytest.raises(ValueError, match=message):
        graph.build(**({"X": X} | changes))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KNN(weight="gauss"), "weight must be one of 'binary', 'heat', 'cosine'; got 'gauss'"),
        (lambda: KNN(symmetrize="max"), "symmetrize must be one of 'union', 'mutual'; got 'max'"),
        (lambda: KNN(bandwidth=0), "bandwidth must be a finite number above 0; got 0"),
        (lambda: Labels(weight="heat"), "weight must be one of 'binary', 'rbf', 'dot'"),
        (lambda: Labels(normalize=True), "normalize must be one of None, 'class'; got True"),
        (lambda: Labels(bandwidth=-1), "bandwidth must be a finite number above 0; got -1"),
        (lambda: Labels(bandwidth=1.0), "bandwidth=1.0 has no effect with weight='binary': it is that of weight='rbf'"),
        (lambda: KNN(bandwidth=1.0), "bandwidth=1.0 has no effect with weight='binary': it is that of weight='heat'"),
        (lambda: LabelledKNN(label_weight=0), "label_weight must be a finite number above 0"),
        (lambda: LabelledKNN(weight="gauss"), "weight must be one of"),
        (lambda: -1 * KNN(), "a finite number >= 0 only; got -1"),
        (lambda: as_graph("nearest"), "graph must be 'knn', 'labels', 'chain'.*got 'nearest'"),
        (lambda: as_graph(5), "graph must be"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make", [lambda: KNN() + 1, lambda: KNN() * "2", lambda: KNN() + "chain", lambda: np.ones(2) * KNN()]
)
def test_arithmetic_with_other_things(make):
    with pytest.raises(TypeError):
        make()


def test_a_precomputed_graph_is_not_touched():
    # Out of order, and two entries in one place.
    weights, columns, starts = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 1.0]), np.array([2, 1, 1, 0, 0, 0]), [0, 3, 5, 6]
    W = sp.csr_array((weights, columns, starts), shape=(3, 3))
    before = W.data.copy(), W.indices.copy()
    np.testing.assert_array_equal(Precomputed(W).build(np.zeros((3, 1))).degree, [6, 5, 1])
    np.testing.assert_array_equal(W.data, before[0])
    np.testing.assert_array_equal(W.indices, before[1])
