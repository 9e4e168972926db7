"""Functions that change how a module runs, and none of its names."""

import copy

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed._composable import (
    _get_registry,
    checkpoint,
    contract,
    replicate,
    replicate_with_fsdp,
)
from pellucid.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from pellucid.distributed.tensor import Replicate
from tests.distributed.ranks import run_ranks


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1), nn.Linear(1, 1))


def rank_replicates(rank, size):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    expected, model = network(), network()
    expected(x).pow(2).mean().backward()
    names = list(model.state_dict())
    assert replicate(model, ignored_modules=[model[3]]) is model
    assert list(model.state_dict()) == names and type(model) is nn.Sequential
    for _ in range(2):
        model.zero_grad()
        model(x.chunk(size)[rank]).pow(2).mean().backward()
    for part, whole in zip(model[:3].parameters(), expected.parameters(), strict=False):
        torch.testing.assert_close(part.grad, whole.grad)
    own = torch.stack([p.grad.view(()) for p in model[3].parameters()])
    every = [torch.empty(2) for _ in range(size)]
    dist.all_gather(every, own)
    assert not torch.equal(every[0], every[1])
    with pytest.raises(AssertionError, match="only be applied to a module once"):
        replicate(model)


def rank_replicates_as_fsdp(rank, size):
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    expected, model = network(), network()
    for part in (model[0], model):
        assert replicate_with_fsdp.replicate(part) is part
    assert type(model).__name__ == "ReplicateSequential"
    assert isinstance(model[0], replicate_with_fsdp.ReplicateModule)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (expected, model)]
    for inputs, module, optimizer in zip(
        (x, x.chunk(size)[rank]), (expected, model), optimizers, strict=True
    ):
        for _ in range(2):
            optimizer.zero_grad()
            module(inputs).pow(2).mean().backward()
            optimizer.step()
    for own, whole in zip(model.parameters(), expected.parameters(), strict=True):
        assert own.placements == own.grad.placements == (Replicate(),)
        torch.testing.assert_close(own.to_local(), whole)
    optimizers[1].zero_grad()
    model.set_requires_gradient_sync(False)
    model(x.chunk(size)[rank]).sum().backward()
    assert all(p.grad is None for p in model.parameters())
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    half = replicate_with_fsdp.replicate(network(), mp_policy=policy)
    assert half(x).dtype == torch.bfloat16
    with pytest.raises(AssertionError, match="only be applied to a module once"):
        replicate_with_fsdp.replicate(half)
    sharded = fully_shard(network())
    assert isinstance(sharded, FSDPModule)
    with pytest.raises(RuntimeError, match="fully_shard shards this module"):
        replicate_with_fsdp.replicate(sharded)


def test_gradients_are_averaged_without_a_wrapper(tmp_path):
    run_ranks([rank_replicates, rank_replicates_as_fsdp], 2, tmp_path)


def test_activations_are_computed_again():
    model, calls = network(), []
    expected = [p.clone() for p in torch.autograd.grad(
        model(torch.ones(2, 4)).sum(), model.parameters())]  # fmt: skip
    model[1].register_forward_hook(lambda *_: calls.append(1))
    assert checkpoint(model) is model
    result = model(torch.ones(2, 4)).sum()
    assert len(calls) == 1
    result.backward()
    assert len(calls) == 2 and list(_get_registry(model)) == ["checkpoint"]
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.equal(parameter.grad, gradient)
    with pytest.raises(NotImplementedError, match="use_reentrant"):
        checkpoint(network(), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: early"):
        checkpoint(network(), early=True)


def test_copies_of_a_checkpoint_compute_with_their_own_weights():
    model = checkpoint(network())
    copied, x = copy.deepcopy(model), torch.ones(2, 4)
    with torch.no_grad():
        for parameter in copied.parameters():
            parameter.zero_()
    assert not copied(x).any() and model(x).all()
    copied(x).sum().backward()
    assert copied[3].bias.grad.item() == 2 and model[3].bias.grad is None
    with pytest.raises(RuntimeError):
        model(torch.ones(2, 5))
    model(x).sum().backward()
    assert model[3].bias.grad.item() == 2


@contract()
def marks(module, renames=False):
    marks.state(module).value = 3
    if renames:
        module.register_buffer("more", torch.ones(1))
    return module


def test_a_contract_keeps_names():
    module = nn.Linear(1, 1)
    assert marks.state(module) is None and _get_registry(module) is None
    assert marks(module) is module and marks.state(module).value == 3
    with pytest.raises(RuntimeError, match="marks changed the names"):
        marks(nn.Linear(1, 1), renames=True)
