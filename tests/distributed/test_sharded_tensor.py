"""ShardedTensors: specs, parts, and checkpoints of them with other cuts."""

import copy
import pickle

import pytest

import pellucid as torch
import pellucid.distributed as dist
import pellucid.distributed.checkpoint as dcp
from pellucid import nn
from pellucid.distributed._shard import (
    load_with_process_group,
    shard_module,
    shard_parameter,
    sharded_tensor,
)
from pellucid.distributed._shard.metadata import ShardMetadata
from pellucid.distributed._shard.sharded_optim import (
    ShardedOptimizer,
    named_params_with_sharded_tensor,
)
from pellucid.distributed._shard.sharded_tensor import (
    Shard,
    ShardedTensor,
    TensorProperties,
    custom_sharded_op_impl,
    init_from_local_shards,
)
from pellucid.distributed._shard.sharder import Sharder
from pellucid.distributed._shard.sharding_plan import ShardingPlan
from pellucid.distributed._shard.sharding_spec import (
    ChunkShardingSpec,
    DevicePlacementSpec,
    EnumerableShardingSpec,
    _infer_sharding_spec_from_shards_metadata,
)
from pellucid.distributed.remote_device import _remote_device
from tests.distributed.ranks import run_ranks

PLACES = ["rank:0/cpu", "rank:1/cpu"]


def whole_of(x, rank):
    out = torch.empty(x.size()) if rank == 0 else None
    x.gather(0, out)
    return out


def rank_cuts(rank, size):
    torch.manual_seed(0)
    whole = torch.randn(5, 4)
    spec = ChunkShardingSpec(0, list(PLACES))
    x = spec.shard(whole)
    assert x.shape == (5, 4) and x.local_tensor().shape == (3 - rank, 4)
    assert torch.equal(x.local_tensor(), whole[3 * rank : 3 * rank + 3])
    if (found := whole_of(x, rank)) is not None:
        assert torch.equal(found, whole)
    assert x.sharding_spec() is spec and len(x.metadata().shards_metadata) == 2
    ones = sharded_tensor.ones(spec, 4, 4, dtype=torch.float64, requires_grad=True)
    assert ones.local_tensor().requires_grad and ones.dtype == torch.float64
    assert torch.equal(ones.local_tensor(), torch.ones(2, 4, dtype=torch.float64))
    for make in (sharded_tensor.rand, sharded_tensor.randn, sharded_tensor.zeros):
        assert make(spec, (6, 2)).local_tensor().shape == (3, 2)
    assert sharded_tensor.empty(spec, 6, 2).size() == (6, 2)
    with pytest.raises(RuntimeError, match=r"'aten.add.Tensor' is not supported"):
        torch.add(x, x)

    @custom_sharded_op_impl(torch.add)
    def add(types, args, kwargs, group):
        assert group is None
        return args[0].local_tensor() + args[1].local_tensor()

    assert torch.equal(torch.add(x, x), 2 * x.local_tensor())
    with pytest.raises(ValueError, match="out is needed on rank 0"):
        x.gather(0, None if rank == 0 else torch.empty(5, 4))


def rank_copies(rank, size):
    x = ChunkShardingSpec(0, list(PLACES)).shard(torch.arange(24.0).view(4, 6))
    cloned, detached = x.clone(), x.requires_grad_().detach()
    assert x.requires_grad and not detached.requires_grad
    detached.local_tensor().zero_()
    assert x.local_tensor().sum() == 0 and cloned.local_tensor().sum() != 0
    with torch.no_grad():
        assert x.copy_(cloned) is x
    assert torch.equal(x.local_tensor(), cloned.local_tensor())
    assert x.reshard(ChunkShardingSpec(1, list(PLACES))) is x and x.requires_grad
    part = torch.arange(24.0).view(4, 6)[:, 3 * rank : 3 * rank + 3]
    assert torch.equal(x.local_tensor(), part)
    with pytest.raises(RuntimeError, match="cut in the same way"):
        x.copy_(cloned)
    with pytest.raises(RuntimeError, match="call gather"):
        x.remote_shards()
    columns = ShardedTensor._init_from_local_tensor(part, x.sharding_spec(), 4, 6)
    assert columns.metadata().shards_metadata == x.metadata().shards_metadata
    for fill in (nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_):
        assert fill(x) is x and x.local_tensor().std() > 0


def rank_joins_and_stores(rank, size):
    folder = dist.distributed_c10d._get_default_store().get("folder").decode()
    torch.manual_seed(0)
    whole = torch.randn(4, 6)
    own = whole[:, 3 * rank : 3 * rank + 3].clone()
    x = init_from_local_shards(
        [Shard.from_tensor_and_offsets(own, [0, 3 * rank], rank)], 4, 6
    )
    assert x.sharding_spec() == ChunkShardingSpec(1, list(PLACES))
    if (found := whole_of(x, rank)) is not None:
        assert torch.equal(found, whole)
    dcp.save({"x": x}, checkpoint_id=folder)
    rows = sharded_tensor.zeros(ChunkShardingSpec(0, list(PLACES)), 4, 6)
    plain = torch.zeros(4, 6)
    for target in (rows, plain):
        dcp.load({"x": target}, checkpoint_id=folder)
    assert torch.equal(rows.local_tensor(), whole[2 * rank : 2 * rank + 2])
    assert torch.equal(plain, whole)
    odd = torch.ones(1, dtype=torch.int64 if rank else torch.float32)
    with pytest.raises(ValueError, match="the shards need one dtype"):
        init_from_local_shards([Shard.from_tensor_and_offsets(odd, [rank], rank)], 2)
    with pytest.raises(ValueError, match="the parts have 2 of the 3 elements"):
        part = torch.ones(1)
        init_from_local_shards([Shard.from_tensor_and_offsets(part, [rank], rank)], 3)

    layer = nn.Linear(4, 6)
    shard_parameter(layer, "weight", ChunkShardingSpec(0, list(PLACES)))
    assert dict(layer.named_parameters())["weight"] is layer.weight
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    state = layer.state_dict()
    assert isinstance(state["weight"], ShardedTensor)
    ones = sharded_tensor.ones(ChunkShardingSpec(0, list(PLACES)), 6, 4)
    layer.load_state_dict(state | {"weight": ones})
    assert torch.equal(layer.weight.local_tensor(), torch.ones(3, 4))
    copied = copy.deepcopy(layer)
    nn.init.constant_(layer.weight, 2.0)
    assert isinstance(copied.weight, nn.Parameter)
    assert copied.weight.local_tensor().tolist() == torch.ones(3, 4).tolist()
    assert torch.equal(layer.weight.local_tensor(), torch.full((3, 4), 2.0))
    layer._register_state_dict_hook(sharded_tensor.state_dict_hook)
    layer._register_load_state_dict_pre_hook(
        sharded_tensor.pre_load_state_dict_hook, True
    )
    layer.other = ones
    assert layer.state_dict()["other"] is ones
    layer.load_state_dict({"other": state["weight"]}, strict=False)
    assert layer.other is state["weight"]
    with pytest.raises(AttributeError, match="Linear has no parameter 'lost'"):
        shard_parameter(layer, "lost", ChunkShardingSpec(0, list(PLACES)))


def rank_stores(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            store.set("folder", folder)
            rank_joins_and_stores(rank, size)
            store.wait(["done"])
    else:
        rank_joins_and_stores(rank, size)
        store.set("done", "1")


def test_a_tensor_is_cut_copied_and_stored(tmp_path):
    run_ranks([rank_cuts, rank_copies, rank_stores], 2, tmp_path)


def test_specs_are_checked_and_inferred():
    size, properties = torch.Size([5, 4]), TensorProperties()
    parts = ChunkShardingSpec(-2, list(PLACES)).build_metadata(size, properties)
    assert [each.shard_sizes for each in parts.shards_metadata] == [[3, 4], [2, 4]]
    inferred = _infer_sharding_spec_from_shards_metadata(parts.shards_metadata[::-1])
    assert inferred == ChunkShardingSpec(0, list(PLACES))
    odd = [ShardMetadata([0], [1], PLACES[0]), ShardMetadata([1], [3], PLACES[1])]
    assert _infer_sharding_spec_from_shards_metadata(odd) == EnumerableShardingSpec(odd)
    with pytest.raises(ValueError, match="overlap"):
        EnumerableShardingSpec([odd[0], odd[0]])
    with pytest.raises(ValueError, match="needs parts"):
        EnumerableShardingSpec([])
    with pytest.raises(ValueError, match="differ in their numbers of dims"):
        EnumerableShardingSpec([odd[0], ShardMetadata([2, 2], [1, 1])])
    listed = EnumerableShardingSpec(odd)
    with pytest.raises(ValueError, match="is outside a tensor"):
        listed.build_metadata(torch.Size([3]), properties)
    with pytest.raises(ValueError, match="the tensor has 2 dims, its parts 1"):
        listed.build_metadata(torch.Size([4, 1]), properties)
    with pytest.raises(NotImplementedError, match="init_from_local_shards"):
        listed.shard(torch.ones(4))
    with pytest.raises(ValueError, match="no dim 2"):
        ChunkShardingSpec(2, list(PLACES)).build_metadata(size, properties)
    with pytest.raises(NotImplementedError, match="not by a name"):
        ChunkShardingSpec("x", list(PLACES))
    with pytest.raises(ValueError, match="dim is an integer"):
        ChunkShardingSpec(0.5, list(PLACES))


def test_parts_are_checked():
    with pytest.raises(ValueError, match="different lengths"):
        ShardMetadata([0], [1, 2])
    with pytest.raises(ValueError, match="shard_offsets has negative numbers"):
        ShardMetadata([-1], [1])
    with pytest.raises(ValueError, match="was given a tensor of the sizes"):
        Shard(torch.ones(2), ShardMetadata([0], [3]))
    meta = torch.ones(2, device="meta")
    with pytest.raises(ValueError, match="was given a tensor on meta"):
        Shard(meta, ShardMetadata([0], [2], "rank:0/cpu"))
    assert hash(ShardMetadata([0], [1])) == hash(ShardMetadata([0], [1]))


@pytest.mark.parametrize(
    ("text", "name", "rank", "device"),
    [
        ("rank:1/cpu", None, 1, "cpu"),
        ("rank:1", None, 1, "cpu"),
        ("trainer/cpu", "trainer", None, "cpu"),
        ("trainer", "trainer", None, "cpu"),
        ("cpu", None, None, "cpu"),
    ],
)
def test_devices_of_other_processes_are_parsed(text, name, rank, device):
    found = _remote_device(text)
    assert (found.worker_name(), found.rank()) == (name, rank)
    assert found.device() == torch.device(device)
    assert _remote_device(str(found)) == found
    assert DevicePlacementSpec(text).device == found


@pytest.mark.parametrize("text", ["/cpu", "a/b/cpu", "rank:x/cpu", "a:1/cpu"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="is not a device"):
        _remote_device(text)
    with pytest.raises(TypeError, match="a text or a device is needed"):
        _remote_device(3)


class Halves(Sharder):
    """Replaces a Linear by one of half its outputs."""

    def shard(self, module):
        made = nn.Linear(module.in_features, module.out_features // 2)
        made.weight.data.fill_(2.0)
        return made


def sums_to_parts(module, size):
    """Makes a Linear with a sharded weight return what its rows give."""

    def forward(x):
        local = x @ module.weight.local_tensor().T
        spec = ChunkShardingSpec(1, list(PLACES))
        return ShardedTensor._init_from_local_tensor(
            local, spec, len(x), local.shape[1] * size
        )

    module.forward = forward


def rank_plans(rank, size):
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 4))
    first = [p.detach().clone() for p in model.parameters()]
    for whole in first:
        dist.broadcast(whole, 1)
    rows = ChunkShardingSpec(0, list(PLACES))
    shard_module(model, ShardingPlan({"0.weight": rows, "2": Halves()}), src_rank=1)
    weight = model[0].weight
    assert isinstance(weight, ShardedTensor) and isinstance(weight, nn.Parameter)
    assert torch.equal(weight.local_tensor(), first[0][3 * rank : 3 * rank + 3])
    assert model[2].weight.shape == (2, 6)
    x = torch.ones(2, 4)
    sums_to_parts(model[0], size)
    plan = ShardingPlan({}, output_plan={"0": rows}, return_local_tensor=["0"])
    shard_module(model, plan)
    part = model[0](x)
    assert part.shape == (6,)  # one row of two: its dim is dropped
    torch.testing.assert_close(part, (x @ first[0].T)[rank])
    rank_optimizes(model, rank)
    rank_pickles(weight)
    with pytest.raises(ValueError, match="ranks cut by different calls"):
        shard_parameter(nn.Linear(2, 2), "weight", rows, src_rank=rank)
    layer = nn.Linear(2, 2)
    if rank == 1:
        layer.weight = nn.Parameter(layer.weight.detach().T)
    with pytest.raises(ValueError, match="that of rank 1 is not: call contiguous"):
        shard_parameter(layer, "weight", rows)
    with pytest.raises(ValueError, match="in_features of Linear is a int"):
        shard_parameter(nn.Linear(2, 2), "in_features", rows)


def rank_optimizes(model, rank):
    """As one process would: the gradient of the parts is that of the rows."""
    model.extra = sharded_tensor.ones(
        ChunkShardingSpec(0, list(PLACES)), 4, requires_grad=True
    )
    named = dict(named_params_with_sharded_tensor(model))
    assert next(iter(named)) == "extra" and "0.weight" in named
    optimizer = ShardedOptimizer(named, torch.optim.SGD, lr=0.5)
    local = model.extra.local_tensor()
    for _ in range(2):
        optimizer.zero_grad()
        (local * (rank + 1)).sum().backward()
        optimizer.step()
    assert local.tolist() == [1 - (rank + 1)] * 2
    assert optimizer.param_groups is optimizer._optim.param_groups
    for call in (optimizer.state_dict, lambda: optimizer.load_state_dict({}),
                 lambda: optimizer.add_param_group({})):  # fmt: skip
        with pytest.raises(NotImplementedError):
            call()


def rank_pickles(weight):
    group = dist.new_group()
    spec, part = weight.sharding_spec(), weight.local_tensor()
    other = ShardedTensor._init_from_local_tensor(
        part, spec, weight.size(), process_group=group
    )
    assert isinstance(copy.copy(weight), nn.Parameter)
    for copied in (copy.copy(other), copy.deepcopy(other)):
        assert copied._process_group is group
    assert copy.copy(other).local_tensor() is part
    stored = pickle.dumps(weight)
    loaded = pickle.loads(stored)
    assert isinstance(loaded, nn.Parameter)
    assert torch.equal(loaded.local_tensor(), weight.local_tensor())
    with load_with_process_group(group):
        assert pickle.loads(stored)._process_group is group
        with pytest.raises(RuntimeError, match="cannot be nested"):
            load_with_process_group(group).__enter__()
    alone = dist.new_group([0]), dist.new_group([1])
    with (
        load_with_process_group(alone[dist.get_rank()]),
        pytest.raises(RuntimeError, match="of 2 is loaded by rank 0 of 1"),
    ):
        pickle.loads(stored)


def test_a_module_is_sharded_by_a_plan(tmp_path):
    run_ranks(rank_plans, 2, tmp_path)


@pytest.mark.parametrize(
    ("plan", "error", "text"),
    [
        (ShardingPlan({"0.weight": 3}), TypeError, "'0.weight' by a int"),
        (ShardingPlan({"": Halves()}), KeyError, "must not be empty"),
        (ShardingPlan({}, {"0": "rows"}), TypeError, "placed by a str"),
        (
            ShardingPlan(
                {"0": Halves(), "0.weight": ChunkShardingSpec(0, list(PLACES))}
            ),
            RuntimeError,
            "'0.weight', which is part",
        ),
    ],
)
def test_plans_are_checked_before_anything_is_sharded(plan, error, text):
    model = nn.Sequential(nn.Linear(4, 6))
    with pytest.raises(error, match=text):
        shard_module(model, plan)
    assert type(model[0].weight) is nn.Parameter
