from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils import get_tags

from laminar import NMF, ClassDrivenNMF
from reference import models as plain

N, P, C = 60, 12, 3
WAYS = [
    {"solver": "hals"},
    {"solver": "mu"},
    {"solver": "apg"},
    {"loss": "kl"},
    {"scale": "none"},
    {"loss": "kl", "scale": "none"},
    {"rule": "published"},
    {"loss": "kl", "rule": "published"},
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
both_losses = pytest.mark.parametrize("loss", ["frobenius", "kl"])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
WHO = rng.integers(0, C, N)  # the truth
Y = np.where(rng.random(N) < 0.4, WHO, -1)  # what is told
X = rng.gamma(0.7, size=(N, 5)) @ rng.gamma(0.7, size=(5, P)) + 2 * rng.gamma(1.0, size=(C, P))[WHO] + 0.01
K = 2 * C + 1  # two components a class, and one that is free
H0, Z0 = rng.uniform(0.1, 1, (N, K)), rng.uniform(0.1, 1, (K, P))
OWNERS = [0, 0, 1, 1, 2, 2, -1]
M = plain.class_mask(Y, OWNERS)


def fit(X=X, y=Y, k=K, **parameters):
    defaults = {"components_per_class": 2, "free_components": 1, "random_state": 0, "tol": 1e-9, "max_iter": 60}
    return ClassDrivenNMF(k, **(defaults | parameters)).fit(X, y)


def codes(model):
    return model.layers_[0].representation


def price(model, H, Z):
    """The penalty by its definition. The invariant one is asked of X in units of its largest entry."""
    if model.scale == "invariant" and model.rule == "fast":
        unit = 1 if model.loss == "kl" else X.max() / 2
        return model.alpha * unit * float((M * H * Z.sum(1)).sum())
    return model.alpha * (1 if model.loss == "kl" else 0.5) * float((M * H).sum())


# -------------------------------------------------------------------------------------------------- the published


def test_mask_of_the_papers_example():
    model = ClassDrivenNMF(components_per_class=2)
    data = np.ones((5, 4))
    problem = model._problem(data, ["a", "b", "c", None, None], None)
    penalty = problem.addends[1]("H", {"H": np.ones((5, 6)), "Z": np.ones((4, 6))})
    expected = [[0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 0, 0], [0] * 6, [0] * 6]
    assert penalty.mask(slice(0, 5)).tolist() == expected
    assert penalty.mask(slice(1, 3)).tolist() == expected[1:3]
    assert plain.class_mask([0, 1, 2, -1, -1], [0, 0, 1, 1, 2, 2]).tolist() == expected


@both_losses
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_published_rule_is_the_papers(loss, alpha):
    loop = plain.class_driven if loss == "frobenius" else plain.class_driven_kl
    for n_iter, (H, Z) in enumerate(loop(X, H0, Z0, M, alpha, 12), start=1):
        model = fit(loss=loss, alpha=alpha, rule="published", init=(H0, Z0), max_iter=n_iter, tol=0)
        size = np.linalg.norm(Z, axis=1) if loss == "frobenius" else Z.sum(1)
        assert_allclose(codes(model), H * size, rtol=1e-9)
        assert_allclose(model.components_, Z / size[:, None], rtol=1e-9)
    value = plain.objective(X, H, Z, loss) + price(model, H, Z)
    assert model.objective_history_[-1] == pytest.approx(value, rel=1e-9)


def test_the_printed_divergence_is_not_what_the_rule_lowers():
    """Its penalty stands inside the sum over features; near a minimum of that the rule rises."""
    *_, (H, Z) = plain.class_driven_kl(X, H0, Z0, M, P * 0.01, 300)
    path = [(H, Z), *plain.class_driven_kl(X, H, Z, M, 0.01, 10)]
    fits, prices = np.array([(plain.objective(X, H, Z, "kl"), 0.01 * (M * H).sum()) for H, Z in path]).T
    assert np.diff(fits + prices).max() <= 0
    assert np.diff(fits + P * prices).max() > 0


# ---------------------------------------------------------------------------------------------------- the objective


@every_way
@pytest.mark.parametrize("alpha", [0.05, 1.0, 100.0])
def test_objective_never_rises_and_is_what_it_says(way, alpha):
    model = fit(init=(H0, Z0), alpha=alpha, **way)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    H, Z = codes(model), model.components_
    if model.scale == "invariant" and model.rule == "fast":  # elsewhere it depends on the scale of the components
        assert history[-1] == pytest.approx(plain.objective(X, H, Z, model.loss) + price(model, H, Z), rel=1e-9)
    error = plain.objective(X, H, Z, model.loss)
    expected = error if model.loss == "kl" else np.sqrt(2 * error)
    assert model.reconstruction_err_ == pytest.approx(expected, rel=1e-9)


@every_way
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.filterwarnings("ignore:y. .*label:UserWarning")  # labels without effect
def test_without_a_price_or_labels_it_is_nmf(way, given):
    way = {name: value for name, value in way.items() if name != "scale"}
    init = (H0, Z0) if given else "auto"
    expected = NMF(K, random_state=0, max_iter=25, init=init, **way).fit(X)
    nothing = [{"alpha": 0}, {"y": None}, {"y": np.full(N, -1)}]
    nothing += [{"y": np.where(Y == 1, "only class", None), "free_components": K - 2}]
    for case in nothing:
        model = fit(init=init, max_iter=25, tol=1e-5, **(way | case))
        assert np.array_equal(model.components_, expected.components_)
        assert np.array_equal(codes(model), codes(expected))
        assert np.array_equal(model.objective_history_, expected.objective_history_)


@pytest.mark.parametrize("way", [way for way in WAYS if "rule" not in way], ids=lambda way: "-".join(way.values()))
def test_a_high_price_is_never_paid(way):
    share = [(M * H).sum() / H.sum() for H in (codes(fit(alpha=alpha, **way)) for alpha in (0, 1e6))]
    assert share[0] > 0.1
    assert share[1] < 1e-6
    if way.get("solver") in ("hals", "apg"):
        assert share[1] == 0


@both_losses
def test_a_higher_price_is_paid_less(loss):
    """As published it is not: components grow, codes shrink, and their shares stay."""
    bought = [codes(fit(loss=loss, alpha=alpha, init=(H0, Z0), max_iter=200)) for alpha in (0, 0.02, 0.2)]
    share = [(M * H).sum() / H.sum() for H in bought]
    assert share[0] > 1.2 * share[1] > 1.2**2 * share[2]


@pytest.mark.parametrize("way", [way for way in WAYS if "scale" not in way], ids=lambda way: "-".join(way.values()))
@pytest.mark.parametrize("c", [1e-20, 1e20])
def test_units_do_not_matter(way, c):
    if way.get("rule") == "published":
        way = way | {"alpha": 0.0}  # as published the penalty has units of its own
    one, other = (fit(s * X, init=(H0, s * Z0), max_iter=20, tol=0, **way) for s in (1, c))
    assert_allclose(other.components_, one.components_, atol=1e-9)
    assert_allclose(codes(other) / c, codes(one), atol=1e-9 * codes(one).max())


@both_losses
def test_a_change_of_scale_changes_nothing(loss):
    """(H S, Z / S) is the same start: as published, it would be another."""
    S = 10.0 ** np.linspace(-2, 2, K)
    one, other = (fit(loss=loss, init=start, max_iter=1, tol=0) for start in ((H0, Z0), (H0 * S, Z0 / S[:, None])))
    # The first sweep does not leap; each rule but coordinate descent's order of the columns is free of scale.
    assert_allclose(other.objective_history_, one.objective_history_, rtol=1e-9)


@both_losses
@pytest.mark.parametrize("given", [True, False])
def test_names_of_classes_do_not_matter(loss, given):
    names = np.array(["zoe", "ann", "mia"])  # sorted they stand in another order
    order = np.concatenate([np.repeat([1, 2, 0], 2) * 2 + np.tile([0, 1], 3), [K - 1]])
    renamed = [names[label] if label >= 0 else None for label in Y]
    starts = [(H0, Z0), (H0[:, order], Z0[order])] if given else ["auto", "auto"]
    solver = "mu"  # coordinate descent sees the order of the components
    one, other = (
        fit(y=y, loss=loss, solver=solver, init=init, max_iter=60, tol=0)
        for y, init in zip([Y, renamed], starts, strict=True)
    )
    assert_allclose(other.objective_history_, one.objective_history_, rtol=1e-8)
    assert one.classes_.tolist() == [0, 1, 2]
    assert other.classes_.tolist() == ["ann", "mia", "zoe"]
    assert [names[label] for label in one.predict(X)] == other.predict(X).tolist()
    if given:
        assert_allclose(other.components_, one.components_[order], atol=1e-7)


@pytest.mark.parametrize("y", [Y, [1] + [-1] * (N - 1), np.where(Y == 1, 1, -1)], ids=["all", "one", "one class"])
@pytest.mark.parametrize("free", [0, 1])
def test_named_start_is_assigned_at_least_penalty(y, free):
    model = ClassDrivenNMF(4, free_components=free, init="random", random_state=0)
    problem = model._problem(X, y, None)
    start = model._start(problem, X)

    def cost(order):
        H, Z = (start[name][:, list(order)] for name in ("H", "Z"))
        return problem.addends[1]("H", {"H": H, "Z": Z}).value(H)

    costs = [cost(order) for order in permutations(range(4))]
    assert min(costs) < 0.99 * max(costs)
    assert cost(range(4)) == pytest.approx(min(costs))


def test_given_start_keeps_its_order():
    model = ClassDrivenNMF(4, init=(H0[:, :4], Z0[:4]))
    start = model._start(model._problem(X, Y, None), X)
    assert_allclose(start["H"], H0[:, :4])


# ------------------------------------------------------------------------------------- rows and columns of counts


def test_sums_under_the_published_divergence():
    model = fit(loss="kl", alpha=1.0, rule="published", init=(H0, Z0), max_iter=7, tol=0)
    # Right after the update of the components the columns sum to those of X.
    assert_allclose((codes(model) @ model.components_).sum(0), X.sum(0), rtol=1e-10)


def test_sums_at_rest():
    model = fit(loss="kl", alpha=0.03, max_iter=800, tol=0)
    H = codes(model)
    assert (M * H).sum() > 0.01 * H.sum()  # a price low enough to be paid
    # Every sample is spent on its model and on the price; where there is none, on its model alone.
    assert_allclose(H.sum(1) + 0.03 * (M * H).sum(1), X.sum(1), rtol=1e-3)


# ---------------------------------------------------------------------------------------------- components, classes


def test_number_of_components():
    assert fit(k=None).component_classes_.tolist() == OWNERS
    assert fit(k=None, free_components=0).components_.shape == (6, P)
    assert fit(k=None, components_per_class=1, free_components=0).transform(X).shape == (N, 3)
    assert list(fit().get_feature_names_out()) == [f"classdrivennmf{a}" for a in range(K)]
    assert len(set(fit(k=None).cluster(X))) == 7


NUMBERS = {  # parameters, classes of the components
    "one component beyond": ({"k": 7}, [0, 0, 1, 1, 2, 2, 3]),
    "components beyond": ({"k": 11}, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]),
    "and free ones": ({"k": 9, "free_components": 2}, [0, 0, 1, 1, 2, 2, 3, -1, -1]),
    "number of classes": ({"classes": 5}, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
    "names": ({"classes": [7, 2, 1, 0]}, [0, 0, 1, 1, 2, 2, 3, 3]),
    "sequence": ({"components_per_class": [1, 2, 3]}, [0, 1, 1, 2, 2, 2]),
    "longer sequence": ({"components_per_class": [1, 2, 3, 2]}, [0, 1, 1, 2, 2, 2, 3, 3]),
    "sequence of names": ({"classes": [7, 2, 1, 0], "components_per_class": (1, 1, 1, 2)}, [0, 1, 2, 3, 3]),
    "by name": ({"components_per_class": {1: 3}}, [0, 1, 1, 1, 2]),
    "by name, more classes": ({"components_per_class": {1: 3}, "classes": 5}, [0, 1, 1, 1, 2, 3, 4]),
    "no labels": ({"y": None, "k": 3}, [0, 0, 1]),
    "no labels, classes": ({"y": None, "classes": 2}, [0, 0, 1, 1]),
    "no labels, free": ({"y": None, "k": 2, "free_components": 2}, [-1, -1]),
}


@pytest.mark.parametrize(("parameters", "owners"), NUMBERS.values(), ids=NUMBERS)
def test_classes_of_the_components(parameters, owners):
    model = fit(**({"k": None, "free_components": 0, "max_iter": 2} | parameters))
    assert model.component_classes_.tolist() == owners
    assert model.components_.shape == (len(owners), P)
    names = parameters.get("classes")
    expected = names if isinstance(names, list) else [] if "y" in parameters else [0, 1, 2]
    assert model.classes_.tolist() == expected


@pytest.mark.parametrize(
    ("parameters", "required"),
    [
        ({}, True),
        ({"components_per_class": {1: 2}}, True),
        ({"n_components": 3}, False),
        ({"classes": 3}, False),
        ({"classes": ["a", "b"]}, False),
        ({"components_per_class": [1, 2]}, False),
    ],
)
def test_labels_are_required_where_they_count_the_classes(parameters, required):
    model = ClassDrivenNMF(**parameters, max_iter=2)
    assert get_tags(model).target_tags.required == required
    if required:
        with pytest.raises(ValueError, match=r"requires y to be passed|classes that are not known"):
            model.fit(X)
    else:
        assert model.fit(X).components_.shape[1] == P


# ------------------------------------------------------------------------------------------ classes without a label

FEW = {  # labels of some of six classes
    "one label": np.where(np.arange(N) == 7, 0, -1),
    "two of six classes": np.where((Y >= 0) & (Y < 2), Y, -1),
}
few_labels = pytest.mark.parametrize("y", FEW.values(), ids=FEW)


@few_labels
@both_losses
@pytest.mark.parametrize("parameters", [{"k": 6}, {"k": None, "classes": 6}], ids=["n_components", "classes"])
def test_published_rule_with_classes_without_a_label(y, loss, parameters):
    """Eqs. 11, 12 and 22, 23 with M of eq. 5: c = 6 is the number of all classes."""
    start, mask = (H0[:, :6], Z0[:6]), plain.class_mask(y, range(6))
    loop = plain.class_driven if loss == "frobenius" else plain.class_driven_kl
    *_, (H, Z) = loop(X, *start, mask, 10.0, 20)
    how = {"components_per_class": 1, "free_components": 0, "rule": "published", "init": start, "tol": 0}
    model = fit(y=y, loss=loss, alpha=10.0, max_iter=20, **how, **parameters)
    size = np.linalg.norm(Z, axis=1) if loss == "frobenius" else Z.sum(1)
    assert_allclose(codes(model), H * size, rtol=1e-12)
    assert_allclose(model.components_, Z / size[:, None], rtol=1e-12)


@few_labels
@pytest.mark.parametrize("way", [way for way in WAYS if "rule" not in way], ids=lambda way: "-".join(way.values()))
def test_labelled_samples_use_components_of_their_class(y, way):
    model = fit(y=y, k=None, classes=6, components_per_class=1, free_components=0, alpha=1e6, **way)
    H = codes(model)
    assert (plain.class_mask(y, range(6)) * H).sum() < 1e-6 * H[y >= 0].sum()
    assert H[y < 0][:, 2:].sum() > 0.1 * H[y < 0].sum()  # samples without a label are free to use all
    assert (H[y >= 0].argmax(1) == y[y >= 0]).all()


def test_one_label_finds_its_class():
    data = 5 * np.eye(3).repeat(4, axis=1)[np.repeat([0, 1, 2], 20)] + rng.gamma(1.0, size=(60, 12))
    y = np.full(60, None)
    y[23] = "front"
    for parameters in ({"n_components": 3}, {"classes": 3}):
        model = ClassDrivenNMF(**parameters, random_state=0).fit(data, y)
        assert model.predict(data).tolist() == [""] * 20 + ["front"] * 20 + [""] * 20
    model = ClassDrivenNMF(classes=["left", "front", "right"], random_state=0).fit(data, y)
    found = model.predict(data)
    assert (found[20:40] == "front").all()
    assert {*found[:20]} | {*found[40:]} == {"left", "right"}
    assert model.component_classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("y", "unknown"),
    [
        (WHO, -1),
        (WHO.astype(np.uint8), -1),
        (WHO.astype(str), ""),
        (WHO == 1, None),
    ],
    ids=["int", "unsigned", "str", "bool"],
)
def test_class_without_a_name_is_unknown(y, unknown):
    model = fit(y=y, k=None, classes=5)
    new = np.vstack([X, model.components_[-5:-1]])  # of classes without a name; the last component is of none
    predicted = model.predict(new)
    assert (predicted[-4:] == np.array(unknown, dtype=object)).all()
    assert np.mean(predicted[:N] == y) > 1.2 * np.mean(WHO == 0)
    fit(new, y=predicted, k=None, classes=5, max_iter=2)  # they are labels again


def test_class_without_a_name_is_unknown_among_floats():
    model = fit(y=WHO + 0.5, k=None, classes=4)
    assert np.isnan(model.predict(model.components_[-3:-1])).all()


def test_free_components_serve_everybody():
    H = codes(fit(alpha=1e6))
    assert (H[Y >= 0, -1] > 0).any()


@both_losses
def test_one_labelled_sample_of_each_class_is_enough(loss):
    rng = np.random.default_rng(1)
    who = np.repeat([0, 1, 2], 20)
    data = 5 * np.eye(3).repeat(4, axis=1)[who] + rng.gamma(1.0, size=(60, 12))
    names = np.array(["left", "front", "right"])
    y = np.full(60, None)
    y[[3, 23, 43]] = names
    model = ClassDrivenNMF(loss=loss, random_state=0).fit(data, y)
    assert model.predict(data).tolist() == names[who].tolist()
    assert model.predict(data[:1]).dtype == model.classes_.dtype
    # Components show their own class: they are largest where its mean is.
    best = model.components_.reshape(3, 3, 4).sum(2).argmax(1)
    assert np.array_equal(names[best], model.classes_[model.component_classes_])
    assert model.fit_predict(data, y).tolist() == names[who].tolist()
    assert set(model.cluster(data)) == {0, 1, 2}
    assert set(model.cluster(data, 2)) == {0, 1}


@both_losses
def test_the_class_is_that_of_the_largest_sum_of_codes(loss):
    """Sample by sample: codes are added up by the class of their component, those of no class are left out."""
    model = fit(loss=loss, k=None, free_components=2)
    found, of_fit = model.predict(X), model.fit_predict(X, Y)
    for H, predicted in ((model.transform(X), found), (codes(model), of_fit)):
        for h, label in zip(H, predicted, strict=True):
            sums = dict.fromkeys(model.classes_.tolist(), 0.0)
            for code, owner in zip(h, model.component_classes_, strict=True):
                if owner >= 0:
                    sums[model.classes_[owner].item()] += code
            assert sums[label.item()] == max(sums.values())
    assert np.array_equal(of_fit[Y >= 0], Y[Y >= 0])  # the labels are in the codes of the fit


def test_the_accuracy_of_predict_chooses_in_a_grid_search():
    grid = {"components_per_class": [1, 2]}
    search = GridSearchCV(ClassDrivenNMF(max_iter=50, tol=0), grid, scoring="accuracy", cv=2).fit(X, WHO)
    parts = StratifiedKFold(2).split(X, WHO)
    scores = []
    for train, test in parts:
        model = ClassDrivenNMF(max_iter=50, tol=0, components_per_class=2).fit(X[train], WHO[train])
        scores.append(np.mean(model.predict(X[test]) == WHO[test]))
    assert search.cv_results_["mean_test_score"][1] == np.mean(scores)


@pytest.mark.parametrize("y", [WHO, WHO + 0.5, WHO.astype(str), WHO == 1], ids=["int", "float", "str", "bool"])
def test_classes_come_back_in_their_type(y):
    model = fit(y=y, k=None)
    predicted = model.predict(X)
    assert predicted.dtype == np.asarray(y).dtype
    assert np.mean(predicted == np.asarray(y)) > 1.5 * np.mean(WHO == 0)


def test_new_samples_are_coded_one_by_one():
    model, new = fit(), np.random.default_rng(2).gamma(1.0, size=(9, P))
    assert_allclose(np.vstack([model.transform(x[None]) for x in new]), model.transform(new), atol=1e-9)
    assert [model.predict(x[None])[0] for x in new] == model.predict(new).tolist()
    assert np.array_equal(model.predict(sp.csr_array(new)), model.predict(new))


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 5}, "y has 3 classes, more than n_components=5 allows.*they need 7. Raise n_components, or leave it No"),
        ({"k": 6}, "3 classes, more than n_components=6 allows.*free_components=1 they need 7"),
        ({"classes": 4}, "4 classes with components_per_class=2 and free_components=1 need 9 components, not n_compo"),
        ({"classes": 2}, "y has 3 classes, more than classes=2: it counts all of them"),
        ({"classes": [0, 1]}, r"labels of classes that classes does not name: \[2\]; add them"),
        ({"classes": ["0", "1", "2"]}, r"labels of classes that classes does not name: \[0, 1, 2\]"),
        ({"classes": [0, 1, 2, 2]}, "classes names a class twice"),
        ({"classes": [0, 1, 2, -1]}, "list of names none of which stands for unknown"),
        ({"classes": [[0, 1, 2]]}, "classes must be a number, or a list of names"),
        ({"classes": 0}, "'classes' parameter of ClassDrivenNMF must be .*Got 0"),
        ({"components_per_class": [1, 2]}, "has 2 numbers, and there are 3 classes: give one for each"),
        ({"components_per_class": [1, 2, 3], "classes": 4}, "has 3 numbers, and there are 4 classes"),
        ({"components_per_class": [1, 2, 0]}, "must hold integers of at least 1"),
        ({"components_per_class": [1, 2, 0.5]}, "must hold integers of at least 1"),
        ({"components_per_class": {1: 0}}, "must hold integers of at least 1"),
        ({"components_per_class": {"1": 2}}, r"names classes that are not known: \['1'\]; the classes are \[0, 1, 2\]"),
        ({"components_per_class": [1, 2, 2]}, "need 6 components, not n_components=7. Leave n_components None"),
        ({"free_components": -1}, "'free_components' parameter of ClassDrivenNMF must be .*Got -1"),
        ({"k": None, "y": None}, "requires y to be passed, but the target y is None.*or give classes or n_components"),
        ({"k": None, "y": [-1] * N}, "requires a known label, and y has none.*Label one sample at least"),
        ({"alpha": -1}, "'alpha' parameter of ClassDrivenNMF must be a float in the range.*Got -1"),
        ({"alpha": np.nan}, "'alpha' parameter of ClassDrivenNMF must be"),
        ({"alpha": [1.0, 2.0, 3.0]}, "'alpha' parameter of ClassDrivenNMF must be a float"),
        ({"components_per_class": 0}, "'components_per_class' parameter of .*Got 0"),
        ({"k": 0}, "'n_components' parameter of ClassDrivenNMF must be an int in the range.* or None. Got 0"),
        ({"scale": "renorm"}, "'scale' parameter of .*Got 'renorm'"),
        ({"X": X - 5}, "Negative values in data passed to ClassDrivenNMF"),
        ({"loss": "kl", "solver": "hals"}, 'solver="hals" needs a squared error'),
        ({"init": (H0[:, :3], Z0[:3])}, r"init: H must have shape \(60, 7\), got \(60, 3\)"),
    ],
)
def test_bad_input_is_refused(parameters, message):
    with pytest.raises(ValueError, match="(?s)" + message):
        fit(**parameters)


def test_a_class_never_seen_is_named_after_a_known_one():
    seen = WHO != 2
    for free in (3, 0):
        model = fit(X[seen], Y[seen], free_components=free)
        assert set(model.classes_) == {0, 1}
        assert (set(model.predict(X[~seen])) <= {0, 1}) == (free > 0)  # or not known, where there are others
        assert np.isfinite(model.transform(X[~seen])).all()


def test_without_labels_there_are_clusters():
    """Names of classes alone do not say which component has which."""
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ClassDrivenNMF().predict(X)
    for parameters in ({"k": K}, {"k": None, "classes": ["a", "b", "c"]}):
        model = fit(y=None, **parameters)
        assert np.array_equal(model.predict(X), model.cluster(X))
        assert np.array_equal(clone(model).fit_predict(X), model.cluster())
