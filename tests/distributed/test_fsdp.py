"""Training with sharded parameters, against one process."""

import copy
import functools

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed._composable.replicate_with_fsdp import replicate
from pellucid.distributed.device_mesh import init_device_mesh
from pellucid.distributed.fsdp import (
    DataParallelMeshDims,
    FSDPModule,
    FullOptimStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
    share_comm_ctx,
)
from pellucid.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from pellucid.distributed.fsdp.wrap import transformer_auto_wrap_policy
from pellucid.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from pellucid.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from pellucid.nn import functional as F
from pellucid.utils.checkpoint import checkpoint
from tests.distributed.ranks import run_ranks


class Block(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(31, 6), nn.Linear(6, 31)
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        x = self.table(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def net():
    torch.manual_seed(3)
    return Net()


def sharded(**options):
    model = net()
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def train(model, place=0, count=1, max_norm=None):
    """The losses of the whole batches, of which this process computes a part."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    actual = []
    for step in range(3):
        generator = torch.Generator().manual_seed(step)
        tokens = torch.randint(0, 31, (8, 5), generator=generator).chunk(count)[place]
        logits = model(tokens[:, :-1]).float()
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        if max_norm:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        loss = loss.detach().clone()
        if dist.is_initialized() and count > 1:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        actual.append(loss.item())
    return actual


def rank_trains(rank, size):
    alone = net()
    expected = pytest.approx(train(alone, max_norm=0.5), rel=1e-5)
    for reshards in (True, False):
        model = sharded(reshard_after_forward=reshards)
        weight = model.blocks[0].up.weight
        assert isinstance(model, FSDPModule) and weight.placements == (Shard(0),)
        assert train(model, rank, size, 0.5) == expected
        assert model.blocks[0].up.weight is weight
    for name, value in model.state_dict().items():
        close = torch.testing.assert_close
        close(value.full_tensor(), alone.state_dict()[name], atol=1e-5, rtol=1e-4)
    half = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    assert train(sharded(mp_policy=half), rank, size, 0.5) == pytest.approx(
        train(net(), max_norm=0.5), rel=1e-2
    )
    holds_gradients(sharded(), rank, size)
    shards_along_other_dims(rank, size, expected)
    customizes_communication(rank, size, expected)


def rank_recomputes(rank, size):
    """A checkpoint inside a sharded module finds gathered parameters again."""
    expected = pytest.approx(train(net(), max_norm=0.5), rel=1e-5)
    for reshards, times in ((True, 2), (False, 1)):
        model = sharded(reshard_after_forward=reshards)
        for block in model.blocks:
            inner = block.forward
            block.forward = functools.partial(checkpoint, inner, use_reentrant=False)
            block.norm.bias.requires_grad_(False)
        gathers = model.blocks[0]._fsdp.all_gather = Counted()
        model(torch.zeros(1, 4, dtype=torch.int64)).sum().backward()
        assert gathers.count == times
        assert isinstance(model.blocks[0].up.weight, DTensor)
        model.zero_grad()
        for block in model.blocks:
            block.norm.bias.requires_grad_(True)
        assert train(model, rank, size, 0.5) == expected


def rank_recomputes_what_it_uses(rank, size):
    """Only a group that a checkpointed function reads is gathered, for each way to
    checkpoint; gradients are those without checkpoints.
    """
    tokens = torch.arange(4).view(1, 4)
    plain = sharded()
    plain(tokens).pow(2).sum().backward()
    for reentrant in (False, True):
        model = sharded()
        for block in model.blocks:
            block.forward = functools.partial(
                checkpoint, block.forward, use_reentrant=reentrant
            )
        gathers = model._fsdp.all_gather = Counted()
        kinds = [type(module) for module in model.modules()]
        model(tokens).pow(2).sum().backward()
        assert gathers.count == 2  # in forward, and for backward of model.out
        assert kinds == [type(module) for module in model.modules()]
        for a, b in zip(model.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(a.grad.full_tensor(), b.grad.full_tensor())
        copy.deepcopy(model)(tokens).pow(2).sum().backward()
    x = torch.ones(2, requires_grad=True)
    model.unshard()
    y = x
    if rank == 0:  # the other process recomputes nothing
        y = checkpoint(lambda x: (x * x).sin(), x, use_reentrant=False)
    model.reshard()
    y.sum().backward()


def rank_recomputes_nested_parts(rank, size):
    for outer, inner in ((False, False), (True, False), (True, True)):
        model, x = sharded(), torch.ones(2, 6, requires_grad=True)
        part = functools.partial(checkpoint, model.out, use_reentrant=inner)
        model.unshard()
        y = checkpoint(lambda x, part=part: part(x.sin()), x, use_reentrant=outer)
        model.reshard()
        y.sum().backward()
        assert model.out.weight.grad is not None and x.grad is not None


class Counted:
    """``all_gather_into_tensor``, counted."""

    count = 0

    def __call__(self, *arguments):
        self.count += 1
        return dist.all_gather_into_tensor(*arguments)


def test_checkpoints_inside_sharded_modules(tmp_path):
    functions = [
        rank_recomputes,
        rank_recomputes_what_it_uses,
        rank_recomputes_nested_parts,
    ]
    run_ranks(functions, 2, tmp_path)


def shards_along_other_dims(rank, size, expected):
    last = {6: 1, 31: 0}  # by rows: of tensors with uneven parts, too
    model = net()
    for part in ([model.blocks[0], model.blocks[1]], model):
        fully_shard(
            part, shard_placement_fn=lambda p: Shard(last.get(p.shape[0], -1) % p.dim())
        )
    weight = model.blocks[0].down.weight
    assert weight.placements == (Shard(1),) and weight.to_local().shape == (6, 12)
    assert model.blocks[0]._fsdp is model.blocks[1]._fsdp
    assert train(model, rank, size, 0.5) == expected
    whole = net()
    expects = dict(whole.named_parameters())
    for name, value in sharded(
        shard_placement_fn=lambda p: Shard(p.dim() - 1)
    ).named_parameters():
        assert torch.equal(value.full_tensor(), expects[name])
    with pytest.raises(ValueError, match="needs a parameter of more dims"):
        fully_shard(net(), shard_placement_fn=lambda p: Shard(3))


def customizes_communication(rank, size, expected):
    model, calls = sharded(), []

    def gather(output_tensor, input_tensor, group, async_op):
        calls.append("gather")
        dist.all_gather_into_tensor(output_tensor, input_tensor, group)

    def scatter(output_tensor, input_tensor, group, op, async_op):
        calls.append(op)
        dist.reduce_scatter_tensor(output_tensor, input_tensor, op, group)

    model.set_custom_all_gather(gather)
    model.set_custom_reduce_scatter(scatter)
    model.set_force_sum_reduction_for_comms(True)
    model.set_all_reduce_hook(lambda reduced: calls.append("reduced"))
    assert train(model, rank, size, 0.5) == expected
    assert {"gather", dist.ReduceOp.SUM, "reduced"} == set(calls)
    model = sharded()
    with pytest.raises(RuntimeError, match="indices"):
        model(torch.zeros(1, 1))
    model.reset_iter_state()
    model.set_reduce_scatter_unused_params(True)
    used = model.blocks[rank]  # each process uses another one
    used.set_reduce_scatter_unused_params(True)
    assert train(model, rank, size, 0.5) == expected
    share_comm_ctx([model])


def holds_gradients(model, rank, size):
    x = torch.arange(8).view(8, 1).chunk(size)[rank]
    model.set_requires_gradient_sync(False)
    model(x).sum().backward()
    assert all(p.grad is None for p in model.parameters())
    model.set_requires_gradient_sync(True)
    model(x).sum().backward()
    alone = net()
    for _ in range(2):
        (alone(torch.arange(8).view(8, 1)).sum() / size).backward()
    for mine, whole in zip(model.parameters(), alone.parameters(), strict=True):
        close = torch.testing.assert_close
        close(mine.grad.full_tensor(), whole.grad, atol=1e-4, rtol=1e-4)
    with pytest.raises(ValueError, match="has been called"):
        fully_shard(model)


WRAPPED_BLOCKS = functools.partial(
    transformer_auto_wrap_policy, transformer_layer_cls={Block}
)


def rank_wraps(rank, size):
    rank_summons(rank, size)
    model = FullyShardedDataParallel(net(), auto_wrap_policy=WRAPPED_BLOCKS)
    assert isinstance(model.blocks[0].module, FSDPModule)
    assert train(model, rank, size) == pytest.approx(train(net()), rel=1e-5)
    state = model.state_dict()
    assert not any(isinstance(value, DTensor) for value in state.values())
    other = FullyShardedDataParallel(net())
    other.load_state_dict(state)
    x = torch.arange(4).view(2, 2)
    torch.testing.assert_close(other(x), model(x))
    with FullyShardedDataParallel.summon_full_params(model):
        assert model.module.out.weight.shape == (31, 6)


def close_states(actual, expected):
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        for key, value in values.items():
            torch.testing.assert_close(actual[name][key], value, atol=1e-5, rtol=1e-3)


def step(model, optimizer, number):
    generator = torch.Generator().manual_seed(number)
    tokens = torch.randint(0, 31, (8, 5), generator=generator)
    optimizer.zero_grad()
    model(tokens).pow(2).mean().backward()
    optimizer.step()


def rank_summons(rank, size):
    model = FullyShardedDataParallel(net(), auto_wrap_policy=WRAPPED_BLOCKS)
    before = net().state_dict()
    for keeps in (False, True):
        with FullyShardedDataParallel.summon_full_params(model, writeback=keeps):
            for parameter in model.parameters():
                parameter.mul_(2)
        for name, value in model.state_dict().items():
            assert torch.equal(value, before[name] * (2 if keeps else 1))
    summon = FullyShardedDataParallel.summon_full_params
    with summon(model, writeback=False, rank0_only=True):
        assert isinstance(model.module.out.weight, DTensor) == (rank > 0)
    for options in ({"rank0_only": True}, {"with_grads": True}):
        with pytest.raises(NotImplementedError), summon(model, **options):
            pass
    last = model.blocks[1].module._fsdp
    all_gather, last.all_gather = last.all_gather, None
    with pytest.raises(TypeError), summon(model):
        pass
    last.all_gather = all_gather
    assert all(isinstance(p, DTensor) for p in model.parameters())
    names = [name for name, _ in model.named_parameters()]
    assert any("_fsdp_wrapped_module" in name for name in names)
    copied = copy.deepcopy(model)
    assert copied.process_group is model.process_group
    assert (copied.rank, copied.world_size) == (rank, size)
    tokens = torch.arange(4).view(2, 2)
    assert torch.equal(copied(tokens), model(tokens))


def rank_starts_equal(rank, size):
    """The first process of a group, or of a mesh, gives its parameters."""
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    mesh = init_device_mesh("cpu", (2, 2))
    hybrid = {"sharding_strategy": ShardingStrategy.HYBRID_SHARD, "device_mesh": mesh}
    for options, source in (
        ({"process_group": halves[rank // 2]}, rank // 2 * 2),
        (hybrid, 0),
    ):
        part = nn.Linear(3, 2)
        nn.init.constant_(part.weight, rank)
        model = FullyShardedDataParallel(part, sync_module_states=True, **options)
        assert model.state_dict()["weight"].tolist() == [[source] * 3] * 2


def rank_hooks(rank, size):
    calls = []

    def hook(state, gradients, output=None):
        calls.append(state)
        if output is None:
            dist.all_reduce(gradients, dist.ReduceOp.AVG)
        else:
            dist.reduce_scatter_tensor(output, gradients, dist.ReduceOp.AVG)

    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.NO_SHARD):
        calls.clear()
        model = FullyShardedDataParallel(net(), sharding_strategy=strategy)
        model.register_comm_hook("state", hook)
        reduced = []
        model.module.set_all_reduce_hook(reduced.append)
        assert train(model, rank, size) == pytest.approx(train(net()), rel=1e-5)
        assert set(calls) == {"state"} and len(reduced) == len(calls)
    with pytest.raises(AssertionError, match="already registered"):
        model.register_comm_hook("state", hook)
    model.module.set_force_sum_reduction_for_comms(True)
    with pytest.raises(ValueError, match="reduces gradients itself"):
        train(model, rank, size)


def rank_refuses_hooks(rank, size):
    hybrid = ShardingStrategy.HYBRID_SHARD
    mesh = init_device_mesh("cpu", (2, 2))
    model = FullyShardedDataParallel(net(), None, hybrid, device_mesh=mesh)
    with pytest.raises(AssertionError, match="hybrid"):
        model.register_comm_hook(None, print)


def rank_stores_the_optimizer(rank, size):
    policy = functools.partial(
        transformer_auto_wrap_policy, transformer_layer_cls={Block}
    )
    fsdp, models, optimizers = FullyShardedDataParallel, [], []
    for _ in range(2):
        models.append(fsdp(net(), auto_wrap_policy=policy))
        parameters = list(models[-1].parameters())
        groups = [{"params": parameters[:3], "lr": 1e-2}, {"params": parameters[3:]}]
        optimizers.append(torch.optim.Adam(groups))
    alone = net()
    single = torch.optim.Adam(alone.parameters(), lr=1e-3)
    single.param_groups[0]["params"], rest = (
        single.param_groups[0]["params"][:3],
        single.param_groups[0]["params"][3:],
    )
    single.param_groups[0]["lr"] = 1e-2
    single.add_param_group({"params": rest, "lr": 1e-3})
    for number in range(2):
        step(models[0], optimizers[0], number)
        step(alone, single, number)
    names = [name for name, _ in alone.named_parameters()]
    expected = {names[k]: v for k, v in single.state_dict()["state"].items()}

    state = fsdp.optim_state_dict(models[0], optimizers[0])
    close_states(state["state"], expected)
    assert state["param_groups"][0]["params"] == names[:3]
    assert state["param_groups"][0]["lr"] == 1e-2
    models[1].load_state_dict(models[0].state_dict())
    actual = fsdp.optim_state_dict_to_load(models[1], optimizers[1], state)
    moments = actual["state"][0]["exp_avg"]
    assert isinstance(moments, DTensor) and moments.placements == (Shard(0),)
    optimizers[1].load_state_dict(actual)
    step(models[1], optimizers[1], 2)
    step(alone, single, 2)
    expected = {names[k]: v for k, v in single.state_dict()["state"].items()}
    again = fsdp.optim_state_dict(models[1], optimizers[1])
    close_states(again["state"], expected)
    rank_stores_otherwise(rank, models[1], optimizers[1], again)


def rank_stores_otherwise(rank, model, optimizer, whole):
    """Sharded, and on the first process only."""
    fsdp = FullyShardedDataParallel
    with fsdp.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        parts = fsdp.optim_state_dict(model, optimizer)
        assert isinstance(parts["state"]["out.weight"]["exp_avg"], DTensor)
        fsdp.optim_state_dict_to_load(model, optimizer, parts, load_directly=True)
    close_states(fsdp.optim_state_dict(model, optimizer)["state"], whole["state"])
    config = FullOptimStateDictConfig(rank0_only=True)
    before = fsdp.set_state_dict_type(
        model, StateDictType.FULL_STATE_DICT, optim_state_dict_config=config
    )
    assert before == fsdp.get_state_dict_type(fsdp(net()))
    first = fsdp.optim_state_dict(model, optimizer)
    assert bool(first) == (rank == 0)
    optimizer.state.clear()
    fsdp.optim_state_dict_to_load(model, optimizer, first, load_directly=True)
    fsdp.set_state_dict_type(model, StateDictType.FULL_STATE_DICT)
    close_states(fsdp.optim_state_dict(model, optimizer)["state"], whole["state"])
    other = torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    with pytest.raises(ValueError, match="not the model's"):
        fsdp.optim_state_dict(model, other)


def rank_skips_what_overflowed_elsewhere(rank, size):
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = ShardedGradScaler("cpu", init_scale=4.0)
    weight.grad = torch.tensor([4.0, float("inf") if rank == 1 else 8.0])
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1.0, 1.0] and scaler.get_scale() == 2.0
    weight.grad = torch.full((2,), 2.0)
    scaler.step(optimizer)
    assert weight.tolist() == [0.0, 0.0]


def test_sharded_training_is_that_of_one_process(tmp_path):
    functions = [
        rank_trains,
        rank_wraps,
        rank_hooks,
        rank_stores_the_optimizer,
        rank_skips_what_overflowed_elsewhere,
    ]
    assert len(run_ranks(functions, 2, tmp_path)) == 2


def rank_shares_a_square(rank, size):
    expected = pytest.approx(train(net()), rel=1e-5)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = net()
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    for block in model.blocks:
        fully_shard(parallelize_module(block, mesh["tp"], plan), mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    assert model.blocks[0].up.weight.to_local().shape == (6, 6)
    assert train(model, rank // 2, 2) == expected
    assert train(sharded(mesh=mesh), rank, size) == expected  # replicas of shards
    rank_refuses_hooks(rank, size)


def rank_names_the_dims_of_data(rank, size):
    mesh = init_device_mesh("cpu", (1, 2, 2), mesh_dim_names=("dp", "fsdp", "tp"))
    joint = "dp", "fsdp"
    for dims, split in (
        (DataParallelMeshDims(shard="fsdp", replicate="dp"), ["tp", "dp", "fsdp"]),
        (DataParallelMeshDims(shard=joint), ["tp", "dp_fsdp"]),
        (DataParallelMeshDims(replicate=joint), ["tp", "dp_fsdp"]),
    ):
        torch.manual_seed(0)
        whole = nn.Linear(4, 6)
        model = copy.deepcopy(whole)
        for name, parameter in whole.named_parameters():
            placed = [Replicate(), Replicate(), Shard(0)]
            parts = distribute_tensor(parameter.detach(), mesh, placed)
            setattr(model, name, nn.Parameter(parts))
        apply = fully_shard if dims.shard or rank % 2 else replicate
        apply(model, mesh=mesh, dp_mesh_dims=dims)
        spec = model.weight._spec
        assert list(spec.mesh.mesh_dim_names) == split
        assert spec.placements[0] == Shard(0)
        assert spec.placements[-1] == (Shard(0) if dims.shard else Replicate())
        x, part = torch.randn(4, 4), rank // 2
        own = distribute_tensor(x.chunk(2)[part], mesh["tp"], [Replicate()])
        loss = model(own).pow(2).mean()
        loss.backward()
        whole(x).pow(2).mean().backward()
        for name, parameter in whole.named_parameters():
            found = getattr(model, name).grad.full_tensor()
            torch.testing.assert_close(found, parameter.grad)
    plain, names = nn.Linear(4, 4), DataParallelMeshDims(shard="fsdp")
    with pytest.raises(ValueError, match="parameters are DTensors on the mesh"):
        fully_shard(plain, mesh=mesh, dp_mesh_dims=names)
    with pytest.raises(ValueError, match="none named 'x'"):
        fully_shard(plain, mesh=mesh, dp_mesh_dims=DataParallelMeshDims(shard="x"))
    with pytest.raises(ValueError, match="needs a mesh whose dims have names"):
        fully_shard(plain, dp_mesh_dims=names)
    with pytest.raises(ValueError, match="at most 2 dims"):
        fully_shard(plain, mesh=mesh)
    with pytest.raises(ValueError, match="at most 1 dims"):
        replicate(nn.Linear(1, 1), mesh=mesh)
    with pytest.raises(ValueError, match="replicate shards nothing"):
        replicate(nn.Linear(1, 1), mesh=mesh, dp_mesh_dims=names)
    split = distribute_tensor(torch.ones(4, 4), mesh, [Replicate(), Shard(0), Shard(1)])
    plain.weight = nn.Parameter(split)
    with pytest.raises(ValueError, match="'fsdp', where it must be Replicate"):
        fully_shard(plain, mesh=mesh, dp_mesh_dims=names)


def test_meshes_of_two_dims_and_groups_of_their_own(tmp_path):
    functions = [rank_starts_equal, rank_shares_a_square, rank_names_the_dims_of_data]
    run_ranks(functions, 4, tmp_path)
    with pytest.raises(ValueError, match="give shard, replicate, or both"):
        DataParallelMeshDims()
    with pytest.raises(ValueError, match=r"both name the dims \['dp'\]"):
        DataParallelMeshDims(shard=("fsdp", "dp"), replicate="dp")


def rank_makes_a_model_on_meta(rank, size):
    """Parameters that the module replaces are those that are gathered."""
    with torch.device("meta"):
        model = nn.Sequential(*(Block() for _ in range(4)))
    for block in model:
        fully_shard(block)
    fully_shard(model)
    model[0].set_modules_to_forward_prefetch([model[1]])
    model[1].set_modules_to_backward_prefetch([model[0]])
    with pytest.raises(ValueError, match="fully_shard was not called on Linear"):
        model.set_modules_to_forward_prefetch([nn.Linear(1, 1)])
    with pytest.raises(ValueError, match="no values to send"):
        model(torch.ones(2, 6))
    model.to_empty(device="cpu")
    torch.manual_seed(0)
    for part in model.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
    assert model.unshard(async_op=True).wait() is None
    model(torch.ones(2, 6)).sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1e-3).full_tensor()
    grads = [p.grad.full_tensor() for p in model.parameters()]
    clipped = torch.stack([g.pow(2).sum() for g in grads]).sum().sqrt()
    assert norm > 1e-3 and torch.allclose(clipped, torch.tensor(1e-3), rtol=1e-3)
    state = {k: v.full_tensor() for k, v in model.state_dict().items()}
    with pytest.raises(TypeError, match="needs a DTensor"):
        model.load_state_dict(state, assign=True)
        model(torch.ones(2, 6))


def test_a_model_on_meta_is_sharded_before_it_has_values(tmp_path):
    run_ranks(rank_makes_a_model_on_meta, 2, tmp_path)
