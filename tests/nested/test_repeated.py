"""Repeated calls, which run without asking Python, give what the first call gave."""

import pytest

import pellucid as torch
from pellucid.nested._ops.answer import RULES

F = torch.nn.functional
MATRIX, ROW = torch.arange(12.0).view(3, 4) / 10, torch.arange(4.0)


def _jagged(lengths, **arguments):
    examples = [torch.randn(n, 4) for n in lengths]
    return torch.nested.nested_tensor(examples, layout=torch.jagged, **arguments)


# On a nested tensor, and whether repeated calls run on the values at once.
CALLS = {
    "relu": (torch.relu, True),
    "number": (lambda x: x * 2, True),
    "row operand": (lambda x: x * ROW, True),
    "linear": (lambda x: F.linear(x, MATRIX), True),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), True),
    "softmax of rows": (lambda x: x.softmax(-1), True),
    "comparison": (lambda x: x > 0, True),
    "dtype": (lambda x: x.double(), True),
    "per example": (lambda x: x * torch.ones(len(x.unbind()), 1, 4), False),
    "along the ragged dim": (lambda x: x.softmax(1), False),
}


@pytest.fixture
def asked(monkeypatch):
    """The ops whose rules ran in Python."""
    actual = []

    def choose(op):
        run = original(op)

        def counted(*args, **kwargs):
            actual.append(op)
            return run(*args, **kwargs)

        return counted

    original = RULES._choose
    monkeypatch.setattr(RULES, "_choose", choose)
    monkeypatch.setattr(RULES, "_chosen", {})
    return actual


@pytest.mark.parametrize("name", CALLS)
def test_a_repeated_call_of_another_structure_gives_its_own_result(name, asked):
    call, repeats = CALLS[name]
    with torch.no_grad():
        for lengths in ((2, 3), (2, 3), (4, 1), (0, 5)):
            x = _jagged(lengths)
            asked.clear()
            actual = call(x)
            assert actual.offsets() is not None and actual.shape[1] == x.shape[1]
            expected = [call(_alone(each))[0] for each in x.unbind()]
            for one, other in zip(actual.unbind(), expected, strict=True):
                torch.testing.assert_close(one, other)
        asked.clear()
        call(_jagged((3, 2)))
        assert (not asked) == repeats


def _alone(example):
    return torch.nested.nested_tensor([example], layout=torch.jagged)


def test_only_operands_of_one_structure_repeat():
    x, other = _jagged((2, 3)), _jagged((2, 3))
    same = torch.nested.nested_tensor_from_jagged(other.values(), x.offsets())
    for _ in range(3):
        torch.testing.assert_close((x + same).values(), x.values() + other.values())
        with pytest.raises(RuntimeError, match="different sizes"):
            x + other


def test_gradients_are_recorded_after_calls_without_them():
    x = _jagged((2, 3))
    for _ in range(2):
        x.exp()
    leaf = x.detach().requires_grad_()
    leaf.exp().sum().backward()
    torch.testing.assert_close(leaf.grad.values(), x.values().exp())
    weight = MATRIX.clone().requires_grad_()
    with torch.no_grad():
        for _ in range(2):
            F.linear(x, weight)
    F.linear(x, weight).sum().backward()
    torch.testing.assert_close(weight.grad, x.values().sum(0).expand(3, 4))


def test_holes_stay_holes():
    offsets, lengths = torch.tensor([0, 3, 6]), torch.tensor([2, 1])
    x = torch.nested.nested_tensor_from_jagged(torch.randn(6, 4), offsets, lengths)
    for _ in range(3):
        actual = x.neg()
        assert actual.numel() == 12 and actual.lengths() is x.lengths()
        torch.testing.assert_close(actual[1], -x[1])


def test_sparse_tensors_of_one_pattern_repeat():
    dense = torch.tensor([[0.0, -2.0, 3.0], [1.0, 0.0, -4.0]])
    for layout in ("to_sparse", "to_sparse_csr"):
        for scale in (1, 2, 3):
            s = getattr(dense * scale, layout)()
            assert s.relu().layout is s.layout
            torch.testing.assert_close(s.relu().to_dense(), (dense * scale).relu())
            doubled = s * 2
            torch.testing.assert_close(
                (s * doubled).to_dense(), 2 * (dense * scale) ** 2
            )
    indices, values = torch.tensor([[0, 1]]), torch.ones(2)
    small, large = (torch.sparse_coo_tensor(indices, values, (n,)) for n in (2, 3))
    for _ in range(2):
        assert (small.coalesce() * small.coalesce()).shape == (2,)
    small, large = (t._coalesced_(True) for t in (small, large))
    for _ in range(2):
        assert (small * small).shape == (2,) and (large * large).shape == (3,)
        with pytest.raises(RuntimeError, match="sizes"):
            small * large
