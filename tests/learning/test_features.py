import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from evenscore.learning.features import FeatureScaling


def features(seed=0, n=80):
    """Continuous, long-tailed, rare count, two-valued, mostly zero, constant, all zero."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            3.0 + 2.0 * rng.normal(size=n),
            np.exp(3.0 * rng.normal(size=n)),
            rng.poisson(0.3, n),
            rng.choice([-2.0, 7.0], n),
            np.where(rng.random(n) < 0.1, rng.normal(size=n), 0.0),
            np.full(n, 4.0),
            np.zeros(n),
        ]
    )


def shares(seed, n):
    share = np.random.default_rng(seed).gamma(1.0, size=n)
    return share / share.sum()


def deviation(Z, share):
    mean = share @ Z
    return np.sqrt(share @ (Z - mean) ** 2)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_dense_and_sparse_agree(kind, compress):
    X, share = features(), shares(0, 80)
    one = FeatureScaling.fit(X, share, compress=compress)
    two = FeatureScaling.fit(kind(X), share, compress=compress)
    for name in ("centre", "spread", "scale", "mean"):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), atol=1e-12)
    found = two.transform(kind(X))
    assert sparse.issparse(found)
    assert found.nnz <= np.count_nonzero(X)
    np.testing.assert_allclose(found.toarray(), one.transform(X), atol=1e-12)


@pytest.mark.parametrize("compress", [False, True])
def test_what_comes_out_has_deviation_one_and_the_mean_told(compress):
    X, share = features(), shares(1, 80)
    scaling = FeatureScaling.fit(X, share, compress=compress)
    Z = scaling.transform(X)
    np.testing.assert_allclose(deviation(Z, share), [1, 1, 1, 1, 1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(share @ Z, scaling.mean, atol=1e-12)


@pytest.mark.parametrize("compress", [False, True])
def test_zero_is_mapped_to_zero(compress):
    scaling = FeatureScaling.fit(features(), shares(0, 80), compress=compress)
    np.testing.assert_allclose(scaling.transform(np.zeros((1, 7))), 0.0, atol=1e-14)


@given(st.floats(-1e3, 1e3), st.floats(0.01, 1e3), st.integers(1, 19))
def test_compression_leaves_two_values_affine(low, width, n_high):
    x = np.where(np.arange(20) < n_high, low + width, low)[:, None]
    share = np.full(20, 0.05)
    plain, squeezed = (
        FeatureScaling.fit(x, share, compress=c).transform(x)[:, 0] for c in (False, True)
    )
    # Same differences: the same feature up to a constant, whatever the values are.
    np.testing.assert_allclose(squeezed - squeezed[0], plain - plain[0], atol=1e-7)


def test_compression_by_its_formula():
    X, share = features(), shares(0, 80)
    Z = FeatureScaling.fit(X, share, compress=True).transform(X)
    for column in range(5):
        x = X[:, column]
        mean = share @ x
        sd = np.sqrt(share @ (x - mean) ** 2)
        z = np.arcsinh((x - mean) / sd) - np.arcsinh(-mean / sd)
        np.testing.assert_allclose(Z[:, column], z / deviation(z, share), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e9])
def test_constant_features_stay_constant_and_have_scale_one(value, compress):
    X = np.full((7, 1), value)
    for given_ in (X, sparse.csr_array(X)):
        scaling = FeatureScaling.fit(given_, np.full(7, 1 / 7), compress=compress)
        assert scaling.spread[0] == scaling.scale[0] == 1.0
        found = scaling.transform(given_)
        found = found.toarray() if sparse.issparse(found) else found
        assert np.ptp(found) == 0.0
        assert np.isfinite(found).all()


@pytest.mark.parametrize("compress", [False, True])
def test_a_feature_far_from_zero_is_not_taken_for_constant(compress):
    """Seconds since 1970, within an hour: a deviation of a millionth of the mean."""
    x = 1.7e9 + 1000.0 * np.random.default_rng(0).normal(size=(300, 1))
    share = np.full(300, 1 / 300)
    Z = FeatureScaling.fit(x, share, compress=compress).transform(x)
    np.testing.assert_allclose(deviation(Z, share), 1.0, rtol=1e-6)


@pytest.mark.parametrize("compress", [False, True])
def test_weights_are_repetitions(compress):
    X, times = features(), np.random.default_rng(0).integers(1, 4, 80)
    one = FeatureScaling.fit(X, times / times.sum(), compress=compress)
    rows = np.repeat(X, times, axis=0)
    two = FeatureScaling.fit(rows, np.full(len(rows), 1 / len(rows)), compress=compress)
    np.testing.assert_allclose(one.transform(X), two.transform(X), rtol=1e-10, atol=1e-12)
