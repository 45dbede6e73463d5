"""The ledger of claims: verdicts by rule, traces, and an item in small."""

import numpy as np
import pytest

from laminar import NMF
from laminar.experiments import ITEMS, Run
from laminar.experiments.claims import ledger, measures, xiao, zhao
from laminar.experiments.data import images, views

SMALL = {"small": True, "seed": 0}


@pytest.fixture(scope="module", autouse=True)
def without_data():
    """Stand-ins for all data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINAR_DATA", "")
        images.cache_clear()
        views.cache_clear()
        yield
    images.cache_clear()
    views.cache_clear()


def trace(*objective):
    """A trace with these values, an iteration a second."""
    found = measures.Trace()
    found.objective, found.seconds = list(objective), [float(i + 1) for i in range(len(objective))]
    return found


# Verdicts
@pytest.mark.parametrize(
    ("value", "at_most", "verdict"),
    [
        (2.0, False, "holds"),
        (1.5, False, "holds in part"),
        (0.9, False, "does not hold"),
        (0.9, True, "holds"),
        (1.5, True, "holds in part"),
        (2.1, True, "does not hold"),
    ],
)
def test_verdict_follows_rule(value, at_most, verdict):
    limits = (1.0, 2.0) if at_most else (2.0, 1.0)
    claim = measures.Claim("paper", "text", xiao.cdnmf_step, "times", *limits, at_most=at_most)
    assert claim.verdict(value) == verdict
    assert claim.measured(value).endswith(f"({'holds up to' if at_most else 'holds from'} {limits[0]:g})")


def test_claims_differ():
    assert len({(claim.paper, claim.text) for claim in ledger.CLAIMS}) == len(ledger.CLAIMS)
    assert len({claim.work for claim in ledger.CLAIMS}) == len(ledger.CLAIMS)
    assert len({claim.paper for claim in ledger.CLAIMS}) == 4


# Traces
def test_iterations_to_what_both_reach():
    slow, quick = trace(9.0, 5.0, 2.01, 2.0), trace(3.0, 1.0)
    assert measures.reached(slow, quick) == (3, 2)
    assert measures.reached(quick, slow) == (2, 3)


def test_trace_is_history():
    X = np.random.default_rng(0).random((20, 8))
    model = NMF(3, rule="published", init="random", max_iter=7, tol=0, random_state=0)
    found = measures.traced(model, X)
    np.testing.assert_allclose(found.objective, model.fit(X).objective_history_)
    assert (np.diff(found.seconds) >= 0).all()


def test_order_of_known_times(monkeypatch):
    monkeypatch.setattr(measures, "seconds_an_iteration", lambda fits, repeats: [2.0 * n**1.5 for n, _ in fits])
    assert measures.order(lambda size: size, lambda size: (), False)["value"] == pytest.approx(1.5)


# Claims whose number is certain
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_one_label_a_class():
    assert xiao.cnmf_of_one_label(**SMALL)["value"] < 1e-10
    assert xiao.cdnmf_of_one_label(**SMALL)["value"] > 1e-6


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_weights_follow_formula():
    for gamma in (0.5, 100.0):
        weights, errors = zhao._weights(True, 0, gamma)
        expected = errors ** (1 / (1 - gamma))  # eq. 15; the graph adds little
        np.testing.assert_allclose(weights, expected / expected.sum(), atol=0.1)
    assert zhao.weights_of_large_gamma(**SMALL)["value"] < 0.02


# Item
def test_item_in_small():
    result = ITEMS["claims"].make(Run(quick=True))
    ((_, table),) = result.tables
    assert list(table.columns) == ["claim", "measured", "verdict"]
    assert len(table) == len(ledger.CLAIMS)
    assert set(table["verdict"]) <= {"holds", "holds in part", "does not hold"}
    assert "in place of" in result.title
