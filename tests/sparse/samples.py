"""The same tensors sparse and dense."""

import numpy as np

import pellucid as torch

SIZE = (4, 5)


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def parts(seed=0, count=9, size=SIZE, dense=()):
    """Indices with duplicates, values, and the sum of them as an array."""
    draw = np.random.default_rng(seed)
    indices = np.stack([draw.integers(0, n, count) for n in size])
    values = numbers(seed + 1, count, *dense)
    whole = np.zeros((*size, *dense), "float32")
    np.add.at(whole, tuple(indices), values)
    return indices, values, whole


def sparse(seed=0, count=9, size=SIZE, dense=()):
    """(a COO tensor with duplicates, the array of its elements)."""
    indices, values, whole = parts(seed, count, size, dense)
    result = torch.sparse_coo_tensor(
        torch.tensor(indices), torch.tensor(values), (*size, *dense)
    )
    return result, whole


def assert_same(actual, wanted, tolerance=1e-5):
    actual = actual.detach()
    actual = actual if actual.layout is torch.strided else actual.to_dense()
    assert tuple(actual.shape) == np.shape(wanted)
    np.testing.assert_allclose(actual.numpy(), wanted, rtol=tolerance, atol=tolerance)
