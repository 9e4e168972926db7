"""``lobpcg``: eigenpairs against the full decomposition's."""

import pytest

import pellucid as torch


def symmetric(*size, shift=0.0):
    a = torch.randn(*size, size[-1], dtype=torch.float64)
    return a @ a.mT + shift * torch.eye(size[-1], dtype=torch.float64)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_pairs_are_those_of_eigh(batch, largest):
    torch.manual_seed(0)
    a = symmetric(*batch, 24, shift=1.0)
    values, vectors = torch.lobpcg(a, k=3, niter=-1, largest=largest)
    expected = torch.linalg.eigvalsh(a)
    best = expected.flip(-1)[..., :3] if largest else expected[..., :3]
    torch.testing.assert_close(values, best)
    assert vectors.shape == (*batch, 24, 3)
    torch.testing.assert_close(
        a @ vectors, vectors * values.unsqueeze(-2), atol=1e-4, rtol=0
    )


def test_vectors_are_orthonormal_under_the_other_matrix():
    torch.manual_seed(1)
    a, b = symmetric(20), symmetric(20, shift=20.0)
    values, vectors = torch.lobpcg(a, k=2, B=b, niter=-1)
    torch.testing.assert_close(a @ vectors, b @ vectors * values, atol=1e-4, rtol=0)
    identity = torch.eye(2, dtype=torch.float64)
    torch.testing.assert_close(vectors.mT @ b @ vectors, identity)


def test_a_preconditioner_takes_fewer_rounds():
    torch.manual_seed(2)
    a = torch.diag(torch.arange(1.0, 300.0, dtype=torch.float64) ** 2)
    guess = torch.randn(299, 2, dtype=torch.float64)
    inverse = torch.diag(1 / a.diagonal())
    few = torch.lobpcg(a, X=guess, iK=inverse, niter=12, largest=False)[0]
    without = torch.lobpcg(a, X=guess, niter=12, largest=False)[0]
    expected = torch.tensor([1.0, 4.0], dtype=torch.float64)
    torch.testing.assert_close(few, expected, rtol=1e-6, atol=0)
    assert (without - expected).abs().max() > 1e-3


def test_gradients_are_those_of_eigh():
    torch.manual_seed(3)
    a = symmetric(9)
    one, other = (a.clone().requires_grad_() for _ in range(2))
    torch.lobpcg(one, k=2)[0].sum().backward()
    torch.linalg.eigvalsh(other)[-2:].sum().backward()
    torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"A": torch.zeros(4, 3), "k": 1}, AssertionError, "must be square"),
        ({"A": torch.eye(6), "k": 3}, ValueError, "3 x the number"),
        ({"A": torch.eye(6), "B": torch.eye(5)}, AssertionError, "same shape"),
        ({"A": torch.eye(6), "method": "fast"}, ValueError, "basic"),
        ({"A": torch.eye(6, dtype=torch.int64)}, RuntimeError, "floating-point"),
    ],
)
def test_mistakes_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        torch.lobpcg(**arguments)
