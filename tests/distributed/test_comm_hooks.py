"""Hooks that replace DistributedDataParallel's all_reduce."""

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType,
    register_ddp_comm_hook,
)
from pellucid.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook import (
    hook_with_zero_step,
    hook_with_zero_step_interleaved,
)
from pellucid.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from pellucid.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    allreduce_hook,
    bf16_compress_wrapper,
    fp16_compress_wrapper,
)
from pellucid.distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks import (
    _hook_then_optimizer,
    _OptimizerHookState,
)
from pellucid.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from pellucid.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    batched_powerSGD_hook,
    powerSGD_hook,
)
from pellucid.distributed.optim import (
    ZeroRedundancyOptimizer,
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
    as_functional_optim,
)
from pellucid.distributed.optim.functional_adagrad import _FunctionalAdagrad
from pellucid.distributed.optim.functional_adam import _FunctionalAdam
from pellucid.distributed.optim.functional_adamax import _FunctionalAdamax
from pellucid.distributed.optim.functional_sgd import _FunctionalSGD
from pellucid.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import run_ranks

ROWS = 24


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(ROWS, ROWS), nn.Tanh(), nn.Linear(ROWS, ROWS))


def gradients(model, rank, step=0):
    """Gradients of one sample, so that those of matrices have rank 1."""
    generator = torch.Generator().manual_seed(10 * step + rank)
    model.zero_grad()
    model(torch.randn(1, ROWS, generator=generator)).pow(2).sum().backward()
    return [p.grad.clone() for p in model.parameters()]


def mean(rank, size, step=0):
    each = [gradients(network(), r, step) for r in range(size)]
    return [sum(actual) / size for actual in zip(*each, strict=True)]


def hooked(state, hook):
    model = DistributedDataParallel(network())
    model.register_comm_hook(state, hook)
    return model


def close(actual, expected, tolerance=1e-5):
    for a, b in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


def compresses(rank, size):
    """With as many columns as samples, compression is exact."""
    for batches, epsilon in ((False, 0), (True, 1e-8)):
        state = PowerSGDState(
            *(None, size, 2),
            orthogonalization_epsilon=epsilon,
            batch_tensors_with_same_shape=batches,
        )
        model = hooked(state, powerSGD_hook)
        for step in range(4):
            close(gradients(model, rank, step), mean(rank, size, step), 1e-4)
        rate, before, after = state.compression_stats()
        whole = 2 * (ROWS + 1) * ROWS
        assert state.iter == 4 and before == 2 * whole
        assert after == 2 * 2 * (2 * ROWS * size + ROWS) and rate == before / after


def feeds_errors_back(rank, size):
    """A step adds the error of the last one: sums over steps have no lasting error."""
    for hook in (powerSGD_hook, batched_powerSGD_hook):
        state = PowerSGDState(None, 1, 2)
        model = hooked(state, hook)
        steps = [gradients(model, rank) for _ in range(12)]
        sums = [sum(actual) for actual in zip(*steps, strict=True)]
        expected = [12 * gradient for gradient in mean(rank, size)]
        pairs = list(zip(sums, expected, strict=True))
        assert sum((a - b).norm() for a, b in pairs) > 0.01
        total = torch.stack([x.sum() for x in state.error_dict.values()]).sum()
        dist.all_reduce(total, dist.ReduceOp.AVG)  # the remaining error
        left = sum((b - a).sum() for a, b in pairs)
        torch.testing.assert_close(total, left, atol=1e-3, rtol=1e-3)
        every = [None] * size
        dist.all_gather_object(every, [x.tolist() for x in steps[-1]])
        assert every[0] == every[1]


def averages_locally(rank, size):
    alone, _ = dist.new_subgroups(1)
    for averages in (True, False):
        state = PostLocalSGDState(None, alone, 2, averages)
        model = hooked(state, post_localSGD_hook)
        for step in range(4):
            actual = gradients(model, rank, step)
            own = gradients(network(), rank, step)
            close(actual, mean(rank, size, step) if step < 2 else own)


def trained(rank, hook=None, **options):
    """The parameters after three steps; ``hook(model)`` registers what updates them,
    and what it returns, if anything, is the optimizer.
    """
    model = DistributedDataParallel(network(), bucket_cap_mb=0.001, **options)
    optimizer = hook(model) if hook else torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(3):
        gradients(model, rank, step)
        if optimizer is not None:
            optimizer.step()
    return list(model.parameters())


def updates_during_backward(rank, size):
    expected = trained(rank)
    assert not torch.equal(expected[0], network()[0].weight)
    for make in (hook_with_zero_step, hook_with_zero_step_interleaved):

        def with_zero(model, make=make):
            zero = ZeroRedundancyOptimizer(
                *(model.parameters(), torch.optim.Adam),
                overlap_with_ddp=True,
                lr=0.01,
            )
            model.register_comm_hook(None, make(allreduce_hook, model, zero))
            return zero

        close(trained(rank, with_zero), expected)
        close(trained(rank, with_zero, gradient_as_bucket_view=True), expected)
    with pytest.raises(ValueError, match="overlap_with_ddp=True"):
        plain = ZeroRedundancyOptimizer(network().parameters(), torch.optim.Adam)
        hook_with_zero_step(allreduce_hook, None, plain)

    def with_functional(model):
        state = _OptimizerHookState(as_functional_optim(torch.optim.Adam, lr=0.01))
        model.register_comm_hook(None, _hook_then_optimizer(allreduce_hook, state))

    close(trained(rank, with_functional), expected)


def rank_hooks(rank, size):
    updates_during_backward(rank, size)
    compresses(rank, size)
    feeds_errors_back(rank, size)
    averages_locally(rank, size)
    close(gradients(hooked(None, noop_hook), rank), gradients(network(), rank))
    for wrapper in (fp16_compress_wrapper, bf16_compress_wrapper):
        model = hooked(PowerSGDState(None, size, 2), wrapper(powerSGD_hook))
        for step in range(3):
            close(gradients(model, rank, step), mean(rank, size, step), 0.05)
    for builtin in dist.BuiltinCommHookType:
        model = DistributedDataParallel(network())
        model._register_builtin_comm_hook(builtin)
        close(gradients(model, rank), mean(rank, size), 0.05)
    for kind in DDPCommHookType:
        model = DistributedDataParallel(network())
        register_ddp_comm_hook(kind, model)
        actual = gradients(model, rank)
        own = kind is DDPCommHookType.NOOP
        expected = gradients(network(), rank) if own else mean(rank, size)
        close(actual, expected, 0.05)


def test_hooks_reduce_gradients(tmp_path):
    assert len(run_ranks(rank_hooks, 2, tmp_path)) == 2


def test_optimizers_run_in_backward():
    model, expected = network(), network()
    options = {"lr": 0.1, "momentum": 0.9}
    _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), options)
    plain = torch.optim.SGD(expected.parameters(), **options)
    functional = network()
    weights = list(functional.parameters())
    optimizer = _FunctionalSGD(weights, lr=0.1, momentum=0.9)
    for step in range(2):
        optimizer.step(gradients(functional, 0, step))
        gradients(expected, 0, step)
        plain.step()
        x = torch.randn(1, ROWS, generator=torch.Generator().manual_seed(10 * step))
        model(x).pow(2).sum().backward()
    assert all(p.grad is None for p in model.parameters())
    assert len(_get_in_backward_optimizers(model)) == 4
    close(model.parameters(), expected.parameters())
    close(weights, expected.parameters())
    with pytest.raises(ValueError, match="functional counterpart"):
        as_functional_optim(torch.optim.LBFGS)


def test_functional_optimizers_take_their_own_arguments():
    weights = [torch.ones(2) for _ in range(3)]
    optimizer = _FunctionalSGD(weights)
    steps = []
    optimizer._optimizer.register_step_pre_hook(
        lambda optimizer, *_: steps.append(len(optimizer.param_groups[0]["params"]))
    )
    optimizer.step_param(weights[1], torch.ones(2))
    assert steps == [1] and len(optimizer.param_group["params"]) == 3
    assert weights[1].tolist() == pytest.approx([0.99, 0.99])  # lr of PyTorch's class
    assert weights[0].tolist() == [1, 1] and weights[1].grad is None
    adam = _FunctionalAdam(weights, 0.1, (0.9, 0.99), 1e-8, 0.0, True, True)
    assert adam.param_group["amsgrad"] and adam.param_group["maximize"]
    adagrad = _FunctionalAdagrad(weights, 0.1, 0.0, 0.0, 0.0, 1.0, 0.0, 1e-6)
    assert adagrad.param_group["eps"] == 1e-6
    with pytest.raises(TypeError):
        _FunctionalAdamax(weights, amsgrad=True)


def test_compression_begins_after_buckets_have_settled():
    with pytest.raises(ValueError, match=r"`start_powerSGD_iter` > 1 .* is 1"):
        PowerSGDState(None, start_powerSGD_iter=1)
    state = PowerSGDState(None, 2, min_compression_rate=4)
    assert state.is_worth_it(100, 100) and not state.is_worth_it(10, 10)
