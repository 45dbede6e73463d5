"""Agreement of members and the clusters of their co-association matrix, against matrices formed densely."""

import numpy as np
import pytest

from laminar.ensemble.agreement import (
    consensus_labels,
    indicators,
    kept_members,
    mean_agreement,
    memberships,
    pairwise_information,
    two_groups,
)
from laminar.metrics import clustering_accuracy
from reference import ensemble as reference

N, C = 60, 4
rng = np.random.default_rng(0)
TRUTH = np.repeat(np.arange(C), N // C)


def noisy(share, seed):
    """The true clusters with a share of the samples moved, under other names."""
    own = np.random.default_rng(seed)
    labels = np.where(own.random(N) < share, own.integers(C, size=N), TRUTH)
    return own.permutation(C)[labels]


MEMBERS = [noisy(0.2, seed) for seed in range(6)]


def labels_of(partitions, n_init=10):
    return consensus_labels(partitions, C, np.random.RandomState(0), n_init)


def test_indicators_give_the_co_association_matrix():
    B = indicators(MEMBERS, C)
    np.testing.assert_array_equal((B @ B.T).toarray(), reference.co_association(MEMBERS))


def test_information_of_pairs():
    np.testing.assert_allclose(
        pairwise_information(MEMBERS, C), reference.pairwise_information(MEMBERS), rtol=0, atol=1e-12
    )


def test_information_with_empty_and_single_clusters():
    members = [np.zeros(N, int), np.zeros(N, int), np.minimum(TRUTH, 1)]
    np.testing.assert_allclose(pairwise_information(members, C), reference.pairwise_information(members), atol=1e-12)


def test_memberships():
    H = memberships(MEMBERS, TRUTH, C)
    np.testing.assert_allclose(H, reference.memberships(MEMBERS, TRUTH), rtol=0, atol=1e-12)
    np.testing.assert_allclose(H.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_left_singular_vectors_span_the_leading_eigenvectors_of_the_co_association_matrix():
    B = indicators(MEMBERS, C).toarray()
    degree = B @ B.sum(axis=0)
    U = np.linalg.svd(B / np.sqrt(degree)[:, None])[0][:, :C]
    np.testing.assert_allclose(U @ U.T, reference.leading_projection(MEMBERS, C), rtol=0, atol=1e-10)


def test_consensus_is_better_than_its_members():
    found = clustering_accuracy(TRUTH, labels_of(MEMBERS))
    assert found > max(clustering_accuracy(TRUTH, member) for member in MEMBERS)


def test_names_of_clusters_do_not_matter():
    renamed = [rng.permutation(C)[member] for member in MEMBERS]
    assert clustering_accuracy(labels_of(MEMBERS), labels_of(renamed)) == 1


def test_order_of_samples_does_not_matter():
    order = rng.permutation(N)
    assert clustering_accuracy(labels_of(MEMBERS)[order], labels_of([member[order] for member in MEMBERS])) == 1


def test_every_member_twice_changes_nothing():
    twice = [*MEMBERS, *MEMBERS]
    assert clustering_accuracy(labels_of(MEMBERS), labels_of(twice)) == 1
    np.testing.assert_allclose(memberships(MEMBERS, TRUTH, C), memberships(twice, TRUTH, C), rtol=0, atol=1e-12)


def test_consensus_of_equal_members_is_that_member():
    assert clustering_accuracy(MEMBERS[0], labels_of([MEMBERS[0]] * 3)) == 1


@pytest.mark.parametrize("first", [0, 2])
def test_members_of_another_reading_are_the_smaller_group(first):
    other = np.tile(np.arange(C), N // C)
    members = [*MEMBERS[:first], other, np.roll(other, 1)[::-1], *MEMBERS[first:]]
    larger, smaller = two_groups(pairwise_information(members, C))
    assert smaller.tolist() == [first, first + 1]
    assert len(larger) == 6


def test_groups_of_one_size():
    information = np.array([[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0.9], [0, 0, 0.9, 1]])
    assert [group.tolist() for group in two_groups(information)] == [[2, 3], [0, 1]]
    assert [group.tolist() for group in two_groups(np.ones((1, 1)))] == [[0], []]


def test_half_of_each_exponent_is_kept():
    information = pairwise_information(MEMBERS, C)
    agreement, exponents = mean_agreement(information), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    kept = kept_members(information, exponents)
    assert sorted(kept) == sorted([*np.argsort(-agreement[:3])[:2], *(3 + np.argsort(-agreement[3:])[:2])])
    assert kept_members(information[:1, :1], [0.5]).tolist() == [0]


def test_agreement_of_one_member():
    assert mean_agreement(np.ones((1, 1))).tolist() == [0]
