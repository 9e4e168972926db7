"""Modules in wrappers that recompute or offload activations."""

import functools

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from pellucid.distributed.fsdp.wrap import transformer_auto_wrap_policy


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x, scale=None):
        self.calls += 1
        return self.layer(x).tanh() * (1 if scale is None else scale)


REENTRANT = functools.partial(
    checkpoint_wrapper, checkpoint_impl=CheckpointImpl.REENTRANT
)


@pytest.mark.parametrize(
    ("wrap", "calls"), [(checkpoint_wrapper, 2), (REENTRANT, 2), (offload_wrapper, 1)]
)
def test_gradients_are_those_of_the_module(wrap, calls):
    plain = Block()
    x = torch.ones(3, 4, requires_grad=True)
    scale = torch.full((4,), 2.0, requires_grad=True)
    leaves = (x, scale, *plain.parameters())
    plain(x, scale=scale).sum().backward()
    want = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    plain.calls = 0
    wrap(plain)(x, scale=scale).sum().backward()
    assert plain.calls == calls
    for leaf, gradient in zip(leaves, want, strict=True):
        assert leaf.grad.equal(gradient)


def test_names_and_state_are_those_of_the_module():
    plain = nn.Sequential(Block(), Block())
    wrapped = nn.Sequential(checkpoint_wrapper(Block()), offload_wrapper(Block()))
    assert list(wrapped.state_dict()) == list(plain.state_dict())
    wrapped.load_state_dict(plain.state_dict())
    assert wrapped[0].layer.weight.equal(plain[0].layer.weight)
    names = [name for name, _ in wrapped[0].named_parameters()]
    assert names == ["layer.weight", "layer.bias"]
    assert checkpoint_wrapper(plain)[1] is plain[1]
    with pytest.raises(AttributeError):
        wrapped[0].no_such_name  # noqa: B018


def test_modules_are_chosen_by_a_test_or_a_policy():
    policy = functools.partial(
        transformer_auto_wrap_policy, transformer_layer_cls={Block}
    )
    by_test = {"check_fn": lambda module: isinstance(module, Block)}
    for options in (by_test, {"auto_wrap_policy": policy}):
        model = nn.Sequential(Block(), nn.Linear(4, 4), Block())
        apply_activation_checkpointing(model, **options)
        kinds = [isinstance(part, CheckpointWrapper) for part in model]
        assert kinds == [True, False, True]
        model(torch.ones(2, 4)).sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_older_places_have_the_same_objects():
    from pellucid.distributed import _tensor, fsdp, tensor
    from pellucid.distributed._composable.fsdp import FSDPModule
    from pellucid.distributed._tensor.device_mesh import DeviceMesh
    from pellucid.distributed._tensor.placement_types import Shard
    from pellucid.distributed.fsdp.api import StateDictType

    assert _tensor.DTensor is tensor.DTensor
    assert _tensor.DeviceMesh is DeviceMesh
    assert Shard is tensor.Shard
    assert FSDPModule is fsdp.FSDPModule
    assert StateDictType is fsdp.StateDictType
