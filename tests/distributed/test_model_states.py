"""States of models and optimizers by the names of parameters."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from pellucid.distributed.fsdp import fully_shard
from pellucid.distributed.tensor import DTensor
from tests.distributed.ranks import run_ranks


class Named(nn.Module):
    """Has a module called "module"."""

    def __init__(self):
        super().__init__()
        self.module = nn.Linear(3, 4)
        self.last = nn.Linear(4, 2)
        self.last.bias.requires_grad = False

    def forward(self, x):
        return self.last(self.module(x))


def trained():
    torch.manual_seed(0)
    model = Named()
    rates = [{"params": list(model.module.parameters())},
             {"params": list(model.last.parameters()), "lr": 0.5}]  # fmt: skip
    optimizer = torch.optim.AdamW(rates, lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def test_names_are_those_of_the_model_without_wrappers():
    model, _ = trained()
    names = ["module.weight", "module.bias", "last.weight", "last.bias"]
    assert list(get_model_state_dict(model)) == names
    compiled = torch.compile(model)
    assert list(get_model_state_dict(compiled)) == names
    options = StateDictOptions(ignore_frozen_params=True)
    assert list(get_model_state_dict(model, options=options)) == names[:3]
    with pytest.warns(FutureWarning, match="submodules"):
        options = StateDictOptions(keep_submodule_prefixes=False)
        part = get_model_state_dict(model, submodules={model.last}, options=options)
    assert list(part) == ["weight", "bias"]


@pytest.mark.parametrize("is_flat", [False, True])
def test_an_optimizers_state_is_loaded_by_names(is_flat):
    model, optimizer = trained()
    options = StateDictOptions(flatten_optimizer_state_dict=is_flat)
    states = get_state_dict(model, optimizer, options=options)
    if is_flat:
        assert states[1]["param_groups.last.weight.lr"] == 0.5
        assert states[1]["state.module.bias.step"] == 1
    other = Named()
    again = torch.optim.AdamW(other.parameters(), lr=0.0)
    set_state_dict(
        other, again, model_state_dict=states[0], optim_state_dict=states[1],
        options=options,
    )  # fmt: skip
    assert other.module.weight.equal(model.module.weight)
    found = again.state[other.module.weight]["exp_avg"]
    assert found.equal(optimizer.state[model.module.weight]["exp_avg"])
    assert again.param_groups[0]["lr"] == 0.1


def test_what_is_missing_is_an_error_unless_told_otherwise():
    model, optimizer = trained()
    state = get_optimizer_state_dict(model, optimizer)
    del state["state"]["last.weight"]
    with pytest.raises(RuntimeError, match="parameter 'last"):
        set_optimizer_state_dict(model, optimizer, state)
    loose = StateDictOptions(strict=False)
    set_optimizer_state_dict(model, optimizer, state, options=loose)
    with pytest.raises(RuntimeError, match="empty"):
        set_model_state_dict(model, {})
    assert set_model_state_dict(model, {}, options=loose).missing_keys
    with pytest.raises(RuntimeError, match="Optimizers are not passed"):
        get_optimizer_state_dict(model, [])
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        get_model_state_dict(model, options=StateDictOptions(broadcast_from_rank0=True))


def test_an_optimizer_without_state_has_none():
    model = Named()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    assert get_optimizer_state_dict(model, optimizer)["state"] == {}


def rank_loads_what_the_first_has(rank, size):
    model, optimizer = trained()
    full = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = get_state_dict(model, optimizer)
    with torch.device("meta"):
        sharded = Named()
    fully_shard(sharded)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    state = whole[0] if rank == 0 else {}
    set_model_state_dict(sharded, state, options=options)
    second = torch.optim.AdamW(sharded.parameters(), lr=0.1)
    state = whole[1] if rank == 0 else {}
    set_optimizer_state_dict(sharded, second, state, options=options)
    weight = sharded.module.weight
    assert isinstance(weight, DTensor) and weight.device.type == "cpu"
    assert weight.full_tensor().equal(model.module.weight)
    own = second.state[weight]["exp_avg"].full_tensor()
    assert own.equal(optimizer.state[model.module.weight]["exp_avg"])
    x = torch.ones(2, 3)
    assert torch.allclose(sharded(x), model(x))
    found = get_state_dict(sharded, second, options=full)
    assert bool(found[0]) == bool(found[1]) == (rank == 0)
    if rank == 0:
        assert found[0]["module.weight"].equal(model.module.weight)
        assert type(found[0]["last.bias"]) is torch.Tensor


def test_the_first_rank_gets_and_gives_full_states(tmp_path):
    run_ranks(rank_loads_what_the_first_has, 2, tmp_path)
