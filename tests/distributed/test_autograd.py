"""Gradients through calls in other workers, optimizers and modules there."""

import contextlib
import os
import signal
import threading

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed import autograd, rpc
from pellucid.distributed.nn import RemoteModule
from pellucid.distributed.optim import DistributedOptimizer
from pellucid.distributed.rpc.backend_registry import backend_registered
from pellucid.distributed.rpc.constants import DEFAULT_RPC_TIMEOUT_SEC
from tests.distributed.ranks import run_ranks
from tests.distributed.test_rpc import meet

LINEAR = nn.Linear(2, 2)


def mul(x, y):
    return x * y


def both(x):
    return x * 2, x * 3


def around(x, size):
    """A chain of calls through all later workers, each of which adds its number."""
    own = rpc.get_worker_info().id
    result = x * (own + 1)
    if own == size - 1:
        return result
    return rpc.rpc_sync(own + 1, around, args=(result, size)) + x


def through_parameter(x):
    return LINEAR(x)


def parameters():
    return [rpc.RRef(parameter) for parameter in LINEAR.parameters()]


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("no gradient today")


def fails_behind(x):
    return Fails.apply(x)


class Dies(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        os.kill(os.getpid(), signal.SIGKILL)


def dies_behind(x):
    return Dies.apply(x)


def gradients_of(function, *leaves):
    """The gradients of the sum of the function's value, in one context."""
    with autograd.context() as number:
        found = autograd._retrieve_context(number)
        assert isinstance(found, autograd.DistAutogradContext)
        assert found._context_id() == number
        autograd.backward(number, [function(*leaves).sum()])
        assert found._known_worker_ids() <= {*range(dist.get_world_size())}
        actual = autograd.get_gradients(number)
        return [actual[leaf].tolist() if leaf in actual else None for leaf in leaves]


def check_programs(size):
    a, b = torch.ones(3, requires_grad=True), torch.arange(3.0, requires_grad=True)
    square = lambda x, y: rpc.rpc_sync(1, mul, args=(x, y)) ** 2  # noqa: E731
    assert gradients_of(square, a, b) == [[0, 2, 8], [0, 2, 4]]
    assert a.grad is None and b.grad is None
    # 1 + 1*(1 + ...) by hand: worker k of n returns x(k+1) further on, plus x.
    slope = 1.0
    for number in reversed(range(1, size)):
        slope = number + 1 if number == size - 1 else (number + 1) * slope + 1
    ring = lambda x: rpc.rpc_sync(1, around, args=(x, size))  # noqa: E731
    assert gradients_of(ring, a) == [[slope] * 3]

    def with_unused_replies(x):
        y = rpc.rpc_sync(1, mul, args=(x, x))
        rpc.rpc_sync(1, mul, args=(x, y))
        future = rpc.rpc_async(2, both, args=(y,))
        return future.wait()[1]

    assert gradients_of(with_unused_replies, a) == [[6.0] * 3]
    kept = rpc.remote(1, mul, args=(a, 2))
    assert gradients_of(lambda x: rpc.remote(2, mul, args=(x, x)).to_here(), a) == [
        [2.0] * 3
    ]
    assert kept.to_here().tolist() == [2.0] * 3
    with autograd.context() as number:
        loss = square(a, b).sum()
        autograd.backward(number, [loss], retain_graph=True)
        autograd.backward(number, [loss])
        assert autograd.get_gradients(number)[b].tolist() == [0, 4, 8]
        with torch.no_grad():
            assert not rpc.rpc_sync(1, mul, args=(a, b)).requires_grad


def check_many_threads():
    actual = {}

    def work(k):
        leaf = torch.full((2,), float(k), requires_grad=True)
        cube = lambda x: rpc.rpc_sync(1, mul, args=(x, x)) * x  # noqa: E731
        actual[k] = gradients_of(cube, leaf)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert actual == {k: [[3.0 * k * k] * 2] for k in range(4)}


def check_training():
    """Two workers' copies of one layer train like one network in this process."""
    references = [*rpc.rpc_sync(1, parameters), *rpc.rpc_sync(2, parameters)]
    optimizer = DistributedOptimizer(torch.optim.Adam, references, lr=0.1)
    local = nn.Sequential(*[nn.Linear(2, 2) for _ in range(2)])
    with torch.no_grad():
        for mine, reference in zip(local.parameters(), references, strict=True):
            mine.copy_(reference.to_here())
    own, x = torch.optim.Adam(local.parameters(), lr=0.1), torch.tensor([[1.0, -2.0]])
    for _ in range(3):
        with autograd.context() as number:
            hidden = rpc.rpc_sync(1, through_parameter, args=(x,))
            loss = rpc.rpc_sync(2, through_parameter, args=(hidden,)).square().sum()
            autograd.backward(number, [loss])
            optimizer.step(number)
        own.zero_grad()
        known = local(x).square().sum()
        known.backward()
        own.step()
        assert torch.equal(loss, known)
    for mine, reference in zip(local.parameters(), references, strict=True):
        assert torch.equal(mine, reference.to_here())


def check_modules():
    module = RemoteModule("worker1/cpu", nn.Linear, args=(3, 2), kwargs={"bias": False})
    (weight,) = module.remote_parameters()
    leaf = torch.ones(3, requires_grad=True)
    assert gradients_of(module, leaf) == [weight.to_here().sum(0).tolist()]
    assert module.forward_async(leaf.detach()).wait().shape == (2,)
    assert module.eval().training is False
    with pytest.raises(ValueError, match="state_dict`` not supported"):
        module.state_dict()
    with pytest.raises(TypeError, match="features"):
        RemoteModule("worker1", nn.Linear, kwargs={"features": 1})


def squares(x):
    return (x * x).sum()


def check_references():
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    for owner in (0, 1):
        with autograd.context() as number:
            rpc.remote(owner, squares, args=(leaf,)).backward(number)
            assert autograd.get_gradients(number)[leaf].tolist() == [2.0, 4.0]
    rpc.RRef(squares(leaf)).backward()
    assert leaf.grad.tolist() == [2.0, 4.0]
    assert rpc.get_rpc_timeout() == DEFAULT_RPC_TIMEOUT_SEC
    assert backend_registered("TENSORPIPE") and not backend_registered("none")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        rpc.TensorPipeRpcBackendOptions().set_device_map("worker1", {0: 1})


def check_errors():
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no gradient today"):
        gradients_of(lambda x: rpc.rpc_sync(1, fails_behind, args=(x * 2,)), leaf)
    with pytest.raises(RuntimeError, match="Could not find autograd context"):
        autograd.backward(1 << 60, [leaf.sum()])
    with autograd.context() as number:
        with pytest.raises(RuntimeError, match="No tensors provided"):
            autograd.backward(number, [])
        with pytest.raises(RuntimeError, match="requires_grad not set on root"):
            autograd.backward(number, [torch.ones(())])
        with pytest.raises(RuntimeError, match="is not a scalar"):
            autograd.backward(number, [leaf])
        with pytest.raises(RuntimeError, match="Already have an autograd context"):
            autograd.context().__enter__()
    with pytest.raises(RuntimeError, match="Could not find autograd context"):
        autograd.get_gradients(number)


def number_of_contexts():
    return len(rpc.gradients._contexts)


def rank_differentiates(rank, size):
    torch.manual_seed(rank)
    for parameter in LINEAR.parameters():
        nn.init.normal_(parameter)
    meet("differentiates", rank, size)
    if rank == 0:
        check_programs(size)
        check_many_threads()
        check_training()
        check_modules()
        check_references()
        check_errors()
        rpc.references.agent().settle()
        assert rpc.rpc_sync(1, number_of_contexts) == 0
    dist.barrier()
    rpc.shutdown()


def rank_loses_a_worker(rank, size):
    meet("loses", rank, size)
    if rank == 0:
        leaf = torch.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"worker2 .* has ended"):
            gradients_of(lambda x: rpc.rpc_sync(2, dies_behind, args=(x * 2,)), leaf)
        square = lambda x: rpc.rpc_sync(1, mul, args=(x, x))  # noqa: E731
        assert gradients_of(square, leaf) == [[2.0, 2.0]]
        with contextlib.suppress(RuntimeError):  # it may end before it replies
            rpc.rpc_sync(1, finish)
    elif rank == 1:
        assert finished.wait(60)
    else:
        finished.wait(60)
    rpc.shutdown(graceful=False)


finished = threading.Event()


def finish():
    finished.set()


def test_gradients_optimizers_and_modules_over_workers(tmp_path):
    environment = {"RPC_STORE": str(tmp_path / "rpc")}
    run_ranks(rank_differentiates, 3, tmp_path, **environment)


def test_a_worker_lost_in_the_pass_is_named(tmp_path):
    environment = {"RPC_STORE": str(tmp_path / "rpc")}
    run_ranks(rank_loses_a_worker, 3, tmp_path, killed={2}, **environment)
