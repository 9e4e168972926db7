"""DistributedDataParallel equals training in one process."""

import os
import re

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed.algorithms.ddp_comm_hooks import default_hooks
from pellucid.distributed.utils import _replace_by_prefix, _sync_module_states
from pellucid.nn.parallel import DistributedDataParallel as DDP
from pellucid.nn.parallel._buckets import default_bytes, group_numbers
from tests.distributed.ranks import run_ranks

BATCH = 32


def network():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(6, 40), nn.LayerNorm(40), nn.Tanh(), nn.Linear(40, 40), nn.ReLU(),
        nn.Linear(40, 3),
    )  # fmt: skip


def data():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(BATCH, 6, generator=generator)
    return x, torch.randn(BATCH, 3, generator=generator)


def train(model, x, y, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def close(left, right):
    return all(
        torch.allclose(a, b, atol=1e-6) for a, b in zip(left, right, strict=True)
    )


def rank_trains(rank, size):
    x, y = data()
    expected = train(network(), x, y)
    own_x, own_y = x.chunk(size)[rank], y.chunk(size)[rank]
    for options in (
        *({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.004}),
        *({"find_unused_parameters": True}, {"static_graph": True}),
    ):
        actual = train(DDP(network(), **options), own_x, own_y)
        assert close(actual, expected), options
    hooked = DDP(network())
    hooked.register_comm_hook(None, default_hooks.bf16_compress_hook)
    assert torch.allclose(train(hooked, own_x, own_y)[0], expected[0], atol=1e-2)


def rank_accumulates(rank, size):
    x, y = data()
    whole = network()
    nn.functional.mse_loss(whole(x), y).backward()
    model = DDP(network())
    parts = list(zip(x.chunk(2 * size), y.chunk(2 * size), strict=True))
    first, second = parts[2 * rank : 2 * rank + 2]
    with model.no_sync():
        (nn.functional.mse_loss(model(first[0]), first[1]) / 2).backward()
    (nn.functional.mse_loss(model(second[0]), second[1]) / 2).backward()
    gradients = [p.grad for p in model.parameters()]
    assert close(gradients, [p.grad for p in whole.parameters()])


class Branches(nn.Module):
    """Uses one of two layers."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.never = (nn.Linear(2, 2) for _ in range(3))

    def forward(self, x, goes_left):
        return (self.left if goes_left else self.right)(x)


class Chain(nn.Module):
    """Uses one of two layers, or both."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, uses_both):
        y = self.first(x)
        return self.second(y) if uses_both else y


def rank_skips_parameters(rank, size):
    x = torch.ones(4, 2)
    model = DDP(Branches(), find_unused_parameters=True)
    model(x, rank == 0).sum().backward()
    assert model.module.never.weight.grad is None
    assert model.module.left.bias.grad.tolist() == [4 / size] * 2
    assert model.module.right.bias.grad.tolist() == [4 * (size - 1) / size] * 2
    chain = DDP(Chain(), find_unused_parameters=True, bucket_cap_mb=1e-5)
    for step in range(3):  # buckets are full in the pass of one rank only
        chain.zero_grad()
        chain(x, rank == 0 or step == 2).sum().backward()
        copies = [None] * size
        gradients = [p.grad.tolist() for p in chain.parameters()]
        dist.all_gather_object(copies, gradients)
        assert copies == [gradients] * size
    strict = DDP(Branches())
    strict(x, True).sum().backward()
    with pytest.raises(RuntimeError, match=r"finished reduction.*\s*.*right.weight"):
        strict(x, True)


def rank_has_another_model(rank, size):
    pattern = r"is float32\[2, 4\] 0\.weight on rank 1, float32\[2, 3\] on rank 0"
    with pytest.raises(RuntimeError, match=pattern):
        DDP(nn.Sequential(nn.Linear(3 + min(rank, 1), 2)))
    with pytest.raises(RuntimeError, match=r"differs is none on rank 1, float32\[2\]"):
        DDP(nn.Linear(3, 2, bias=rank != 1))
    with pytest.raises(ValueError, match=r"Global rank 7 .* its ranks are \[0, 1"):
        dist.broadcast(torch.ones(1), 7)


def rank_runs_out_of_inputs(rank, size):
    x, y = data()
    for divides_by_all in (True, False):
        model = DDP(network())
        with model.join(divide_by_initial_world_size=divides_by_all):
            parameters = train(model, x, y, steps=2 + rank)
        total = sum(float(p.sum()) for p in parameters)
        every = [None] * size
        dist.all_gather_object(every, total)
        assert len(set(every)) == 1
    done = re.escape("Ranks 0, 1 exhausted all inputs" if size > 2 else "Rank 0 exh")
    joined = model.join(throw_on_early_termination=True)
    with pytest.raises(RuntimeError, match=done), joined:  # on every rank
        train(model, x, y, steps=1 + max(0, rank - size // 2 + 1))


def rank_gets_the_states_of_another(rank, size):
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5).double(), nn.Linear(5, 2))
    net[1].running_mean.fill_(rank)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    every = [None] * size
    dist.all_gather_object(every, before)
    kept = {"2.weight"}
    for limit in (1, 64, 1 << 20):  # bytes of a broadcast
        net.load_state_dict(before)
        _sync_module_states(net, dist.group.WORLD, limit, 1, kept)
        for name, value in net.state_dict().items():
            source = rank if name in kept else 1
            assert torch.equal(value, every[source][name]), name
    net.load_state_dict(before)
    _sync_module_states(net, dist.group.WORLD, 64, 0, (), broadcast_buffers=False)
    assert net[1].running_mean.tolist() == [float(rank)] * 5
    assert torch.equal(net[0].weight, every[0]["0.weight"])
    state = {"a.b": 1, "c": 2}
    _replace_by_prefix(state, "a.", "x.")
    assert state == {"x.b": 1, "c": 2}


def rank_tells_its_facts(rank, size):
    model = DDP(network(), bucket_cap_mb=1, broadcast_buffers=False)
    facts = model._get_ddp_logging_data()
    assert facts["module_name"] == "Sequential" and facts["backend_name"] == "gloo"
    assert (facts["rank"], facts["world_size"]) == (rank, size)
    parameters = list(model.parameters())
    total = sum(p.numel() * 4 for p in parameters)
    assert facts["num_parameter_tensors"] == len(parameters)
    assert facts["total_parameter_size_bytes"] == total
    assert sum(map(int, facts["bucket_sizes"].split(", "))) == total
    assert facts["bucket_cap_bytes"] == 1 << 20 and facts["dtypes"] == "float32"
    flags = "broadcast_buffers", "find_unused_parameters", "has_sync_bn", "static_graph"
    assert [facts[name] for name in flags] == [0, 0, 0, 0]
    normal = nn.SyncBatchNorm(2)
    other = DDP(normal, static_graph=True)._get_ddp_logging_data()
    assert [other[name] for name in flags] == [1, 0, 1, 1]
    assert facts["master_addr"] == os.environ.get("MASTER_ADDR", "N/A")


def rank_trains_with_virtual_ranks(rank, size):
    x, y = data()
    torch.manual_seed(11)
    layers = [network(), nn.Dropout(0.3)]
    model = DDP(nn.Sequential(*layers), virtual_ranks=4)
    actual = train(model, x.chunk(size)[rank], y.chunk(size)[rank])
    print(sorted(p.double().sum().item().hex() for p in actual))


def rank_trains_in_all_ways(rank, size):
    rank_has_another_model(rank, size)
    rank_trains(rank, size)
    rank_accumulates(rank, size)
    rank_skips_parameters(rank, size)
    rank_runs_out_of_inputs(rank, size)
    rank_tells_its_facts(rank, size)
    rank_gets_the_states_of_another(rank, size)


def test_little_is_left_to_reduce_when_backward_ends():
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(16)])
    parameters = list(model.parameters())[::-1]
    whole, limit = sum(p.numel() * 4 for p in parameters), default_bytes(parameters)
    groups = group_numbers(parameters, range(len(parameters)), limit)
    last = sum(parameters[number].numel() * 4 for number in groups[-1])
    assert 4 <= len(groups) <= 9 and last <= 0.3 * whole
    assert [number for group in groups for number in group] == list(range(32))
    assert default_bytes(parameters[:2]) == 64 * 1024


@pytest.mark.parametrize("size", [2, 4])
def test_gradients_are_those_of_one_process(size, tmp_path):
    run_ranks(rank_trains_in_all_ways, size, tmp_path)


def test_virtual_ranks_give_the_same_bits_at_any_world_size(tmp_path):
    outputs = set()
    for size in (1, 2, 4):
        folder = tmp_path / str(size)
        folder.mkdir()
        outputs |= set(run_ranks(rank_trains_with_virtual_ranks, size, folder))
    assert len(outputs) == 1 and "0x" in outputs.pop()
