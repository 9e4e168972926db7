"""Selective checkpoints: what is kept, what is recomputed, what is refused."""

import functools

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

MM = torch.ops.aten.mm.default
OF_BACKWARD = 2  # for each of the factors


class Counting(TorchDispatchMode):
    """Counts products, those of the backward pass among them."""

    products = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.products += func is MM
        return func(*args, **(kwargs or {}))


@pytest.fixture
def weight():
    torch.manual_seed(0)
    return torch.randn(4, 4, requires_grad=True)


def gradient(weight, policy):
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    x = torch.ones(3, 4, requires_grad=True)
    with Counting() as count:
        y = checkpoint(
            lambda x: torch.relu(x @ weight).sin(),
            x,
            use_reentrant=False,
            context_fn=contexts,
        )
        (grad,) = torch.autograd.grad(y.sum(), [x])
    expected = torch.ones(3, 4, requires_grad=True)
    plain = torch.relu(expected @ weight).sin().sum()
    assert torch.equal(grad, torch.autograd.grad(plain, [expected])[0])
    return count.products


def test_listed_ops_are_saved_and_others_recomputed(weight):
    assert gradient(weight, [MM]) == 1 + OF_BACKWARD
    assert gradient(weight, []) == 2 + OF_BACKWARD


def test_a_policy_decides_op_by_op(weight):
    asked = []

    def policy(context, op, *args, **kwargs):
        asked.append(op)
        assert not context.is_recompute
        save = op is MM
        names = CheckpointPolicy
        return names.MUST_SAVE if save else names.PREFER_RECOMPUTE

    assert gradient(weight, policy) == 1 + OF_BACKWARD
    assert MM in asked


@pytest.mark.parametrize("given", [[torch.ops.aten.mm], ["mm"]])
def test_a_list_holds_overloads(given):
    with pytest.raises(ValueError, match="holds overloads"):
        create_selective_checkpoint_contexts(given)


def test_a_policy_is_a_function_or_a_list():
    with pytest.raises(TypeError, match="policy function or a list"):
        create_selective_checkpoint_contexts(3)
