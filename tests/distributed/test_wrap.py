"""Which submodules ``FullyShardedDataParallel`` wraps, and with which options."""

import functools

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    set_model_state_dict,
)
from pellucid.distributed.fsdp import (
    FSDPModule,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    OptimStateKeyType,
    StateDictType,
)
from pellucid.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    always_wrap_policy,
    chosen_modules,
    enable_wrap,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)
from pellucid.distributed.tensor import DTensor
from tests.distributed.ranks import run_ranks


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 2)])
        self.attention = nn.MultiheadAttention(4, 2)
        self.block = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8))

    def forward(self, x):
        return self.layers[1](self.block(self.layers[0](x)).float())


def names(policy, ignored=()):
    net = Net()
    chosen = chosen_modules(net, policy, [net.get_submodule(n) for n in ignored], {})
    by_module = {module: name for name, module in net.named_modules()}
    return [by_module[module] for module in chosen]


def test_policies_choose_inner_modules_first():
    linear = ModuleWrapPolicy({nn.Linear})
    inner = ["attention.out_proj", "block.0", "layers.0", "layers.1"]
    assert sorted(names(linear)) == inner
    assert sorted(names(linear, ["block.0"])) == inner[:1] + inner[2:]
    by_class = functools.partial(
        transformer_auto_wrap_policy, transformer_layer_cls={nn.Sequential, nn.Linear}
    )
    found = names(by_class)
    assert found.index("block.0") < found.index("block")
    # Modules without parameters are not wrapped.
    assert "block.1" not in names(always_wrap_policy) and "layers" in names(
        always_wrap_policy
    )
    # Of 80 elements each: not lists, nor what is inside of attention.
    by_size = functools.partial(size_based_auto_wrap_policy, min_num_params=60)
    assert names(by_size) == ["layers.0", "attention", "block.0"]
    by_size = functools.partial(
        size_based_auto_wrap_policy,
        min_num_params=60,
        force_leaf_modules={nn.Sequential},
        exclude_wrap_modules=set(),
    )
    assert names(by_size) == ["layers.0", "attention", "block"]
    assert "Linear" in repr(linear)


def test_a_custom_policy_changes_options():
    net = Net()
    policy = CustomPolicy(lambda m: {"a": 2} if m is net.block else m is net.attention)
    assert chosen_modules(net, policy, (), {"a": 1, "b": 0}) == {
        net.block: {"a": 2, "b": 0},
        net.attention: {"a": 1, "b": 0},
    }
    with pytest.raises(ValueError, match="return False/True or a kwarg dict"):
        chosen_modules(net, CustomPolicy(lambda m: None), (), {})


def test_wrap_uses_the_scope():
    layer = nn.Linear(2, 2)
    assert wrap(layer) is layer
    with enable_wrap(wrapper_cls=lambda module, **o: (module, o), x=1, y=2):
        assert wrap(layer, y=3) == (layer, {"x": 1, "y": 3})
    assert wrap(layer) is layer


def rank_trains(rank, size):
    torch.manual_seed(0)
    net = Net()
    half = MixedPrecision(param_dtype=torch.bfloat16)
    policy = CustomPolicy(
        lambda m: {"mixed_precision": half} if m is net.block else m is net.layers[0]
    )
    model = FullyShardedDataParallel(net, auto_wrap_policy=policy)
    wrapped = [m for m in net.modules() if isinstance(m, FSDPModule)]
    assert set(wrapped) == {net, net.block.module, net.layers[0].module}
    seen = []
    net.block[0].register_forward_hook(lambda m, i, output: seen.append(output.dtype))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 8)).sum().backward()
    assert seen == [torch.bfloat16]
    optimizer.step()
    kind = FullyShardedDataParallel
    full = kind.full_optim_state_dict(model, optimizer)
    assert bool(full) == (rank == 0)
    loaded = kind.scatter_full_optim_state_dict(full, model, optim=optimizer)
    optimizer.load_state_dict(loaded)
    sharded = kind.sharded_optim_state_dict(model, optimizer)
    name = "layers.0.weight"
    if rank == 0:
        expected = sharded["state"][name]["exp_avg"].shape
        assert full["state"][name]["exp_avg"].shape == expected == (8, 8)
    flat = kind.flatten_sharded_optim_state_dict(sharded, model, optimizer)
    optimizer.load_state_dict(flat)


def rank_sees_wrapped_parts(rank, size):
    kind = FullyShardedDataParallel
    torch.manual_seed(0)
    net, same = Net(), Net()
    same.load_state_dict(net.state_dict())
    net.tied, same.tied = net.block, same.block
    expected = same.state_dict()
    model = kind(net, auto_wrap_policy=ModuleWrapPolicy({nn.Sequential, nn.LayerNorm}))
    inner = net.block[2]
    assert kind.fsdp_modules(model) == [model, net.block, inner]
    assert kind.fsdp_modules(model, root_only=True) == [model]
    assert net.tied is net.block and isinstance(inner.module, nn.LayerNorm)
    assert (model.rank, model.world_size) == (rank, size)
    assert "block._fsdp_wrapped_module.2._fsdp_wrapped_module.weight" in {
        name.removeprefix("_fsdp_wrapped_module.")
        for name, _ in model.named_parameters()
    }
    with kind.summon_full_params(model):
        found = dict(model.named_parameters())
        assert found.keys() == dict(same.named_parameters()).keys()
        assert all(torch.equal(found[name], expected[name]) for name in found)
        assert all(isinstance(p, nn.Parameter) for p in found.values())

    # Names and values of states are those of the model, also below a plain module.
    for holder, prefix in ((model, ""), (nn.Sequential(model), "0.")):
        state = holder.state_dict()
        assert list(state) == [f"{prefix}{name}" for name in expected]
        assert all(torch.equal(state[f"{prefix}{n}"], v) for n, v in expected.items())
        zeros = {name: torch.zeros_like(value) for name, value in state.items()}
        holder.load_state_dict(zeros)
        assert not any(value.any() for value in holder.state_dict().values())
        holder.load_state_dict(state)
    settings = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with kind.state_dict_type(model, StateDictType.FULL_STATE_DICT, settings):
        assert len(model.state_dict()) == (0 if rank else len(expected))
    with kind.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        shards = model.state_dict()
        assert list(shards) == list(expected)
        assert all(isinstance(value, DTensor) for value in shards.values())
        model.load_state_dict(shards)
    named = get_model_state_dict(model)
    assert list(named) == list(expected)
    assert all(isinstance(value, DTensor) for value in named.values())
    set_model_state_dict(model, {name: v * 2 for name, v in expected.items()})
    weight = model.state_dict()["block.2.weight"]
    assert torch.equal(weight, expected["block.2.weight"] * 2)

    net.block[2].module.unshard()
    assert isinstance(net.block[2].weight, nn.Parameter)
    assert isinstance(get_model_state_dict(model)["block.2.weight"], DTensor)
    assert isinstance(net.block[2].weight, DTensor)  # a state has shards
    with model.no_sync():
        model(torch.ones(4, 8)).sum().backward()
    assert all(p.grad is None for p in model.parameters())


def test_training_with_a_policy(tmp_path):
    run_ranks([rank_trains, rank_sees_wrapped_parts], 2, tmp_path)


def test_states_are_rekeyed():
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), momentum=0.9)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    rekey = FullyShardedDataParallel.rekey_optim_state_dict
    state = optimizer.state_dict()
    named = rekey(state, OptimStateKeyType.PARAM_NAME, net, optim=optimizer)
    assert sorted(named["state"]) == ["bias", "weight"]
    assert named["param_groups"][0]["params"] == ["weight", "bias"]
    again = rekey(named, OptimStateKeyType.PARAM_ID, net)
    assert again["state"].keys() == state["state"].keys()
