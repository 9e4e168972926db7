"""State dicts: contents, loading, and what is said when they do not fit."""

import pytest

import pellucid as torch
from pellucid import nn


def make():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False))


def test_names_order_and_metadata():
    state = make().state_dict()
    assert list(state) == ["0.weight", "0.bias", "2.weight"]
    assert list(state._metadata) == ["", "0", "1", "2"]
    assert state._metadata["0"] == {"version": 1}


def test_values_are_detached_and_share_storage():
    module = make()
    state = module.state_dict()
    assert not state["0.bias"].requires_grad
    state["0.bias"].fill_(5)
    assert module[0].bias.tolist() == [5, 5, 5]
    assert module.state_dict(keep_vars=True)["0.bias"] is module[0].bias


def test_prefix_and_destination():
    destination = {}
    assert make().state_dict(destination=destination, prefix="net.") is destination
    assert list(destination) == ["net.0.weight", "net.0.bias", "net.2.weight"]


def test_loading_copies_and_reports_success():
    source, target = make(), make()
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert torch.equal(source[0].weight, target[0].weight)
    assert source[0].weight is not target[0].weight


def test_strict_loading_lists_every_misfit():
    state = make().state_dict()
    state["0.bias"] = torch.ones(4)
    state["extra"] = torch.ones(1)
    state["1.inner"] = torch.ones(1)
    del state["2.weight"]
    with pytest.raises(RuntimeError) as error:
        make().load_state_dict(state)
    message = str(error.value)
    keys = '"2.weight"', '"extra"', '"1.inner"'
    for part in (*keys, "0.bias", "torch.Size([4])", "torch.Size([3])"):
        assert part in message
    assert len(message.splitlines()) <= 10


def test_loose_loading_returns_the_misfits():
    state = make().state_dict()
    state["extra"] = state.pop("2.weight")
    result = make().load_state_dict(state, strict=False)
    assert result.missing_keys == ["2.weight"]
    assert result.unexpected_keys == ["extra"]


def test_loose_loading_still_refuses_wrong_shapes():
    with pytest.raises(RuntimeError):
        make().load_state_dict({"0.bias": torch.ones(9)}, strict=False)


def test_wrong_kinds_of_state_are_refused():
    with pytest.raises(TypeError):
        make().load_state_dict([1, 2])
    with pytest.raises(RuntimeError, match="expected a tensor"):
        make().load_state_dict({"0.bias": 3}, strict=False)


def test_loading_does_not_change_the_given_dict():
    module, state = make(), make().state_dict()
    keys = list(state)
    module.load_state_dict(state)
    assert list(state) == keys


def test_assign_takes_the_tensors_themselves():
    module = make()
    inputs = {k: v.double() for k, v in module.state_dict().items()}
    module.load_state_dict(inputs, assign=True)
    assert module[0].weight.dtype == torch.float64
    assert isinstance(module[0].weight, nn.Parameter)
    inputs["0.bias"].fill_(3)
    assert module[0].bias.tolist() == [3, 3, 3]


def test_loading_casts_to_the_modules_dtype():
    module = make()
    module.load_state_dict({k: v.double() for k, v in module.state_dict().items()})
    assert module[0].weight.dtype == torch.float32


def test_extra_state_goes_along():
    class Counting(nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    module = nn.Sequential(Counting())
    state = module.state_dict()
    assert state["0._extra_state"] == {"count": 3}
    module[0].count = 0
    module.load_state_dict(state)
    assert module[0].count == 3
    with pytest.raises(RuntimeError, match="_extra_state"):
        module.load_state_dict({})


def test_version_reaches_load_overrides():
    class Versioned(nn.Module):
        _version = 7
        seen = None

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            self.seen = local_metadata.get("version")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    module = nn.Sequential(Versioned())
    module.load_state_dict(module.state_dict())
    assert module[0].seen == 7


def test_non_persistent_buffers_stay_out():
    module = nn.Module()
    module.register_buffer("a", torch.ones(1), persistent=False)
    module.register_buffer("b", None)
    assert not module.state_dict()
    module.load_state_dict({})


def test_copying_to_meta_does_nothing_and_warns():
    model = nn.Linear(2, 2, device="meta")
    inputs = nn.Linear(2, 2).state_dict()
    with pytest.warns(UserWarning, match="no-op"):
        model.load_state_dict(inputs)
    assert model.weight.is_meta
    model.load_state_dict(inputs, assign=True)
    assert torch.equal(model.weight, inputs["weight"])
