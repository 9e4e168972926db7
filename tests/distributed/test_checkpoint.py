"""States stored in parts by three processes, and loaded by two and by one."""

import io
import os
import pickle
import pickletools

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import nn
from pellucid.distributed import checkpoint
from pellucid.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from pellucid.distributed.fsdp import fully_shard
from tests.distributed.ranks import run_ranks


def trained(steps):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    if dist.is_initialized():
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = [step(model, optimizer) for _ in range(steps)]
    return model, optimizer, losses


def step(model, optimizer):
    loss = model(torch.arange(20.0).view(4, 5) / 10).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def rank_saves(rank, size):
    model, optimizer, _ = trained(3)
    states = get_state_dict(model, optimizer)
    state = {"model": states[0], "optim": states[1], "step": 3, "names": ["a", "b"]}
    checkpoint.save(state, checkpoint_id=os.environ["CHECKPOINT"])
    later = checkpoint.async_save(state, checkpoint_id=os.environ["CHECKPOINT"] + "2")
    assert "model.0.weight" in later.result(60).state_dict_metadata


def loads(folder):
    model, optimizer, _ = trained(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    states = get_state_dict(model, optimizer)
    state = {"model": states[0], "optim": states[1], "step": 0, "names": []}
    checkpoint.load(state, checkpoint_id=folder)
    assert state["step"] == 3 and state["names"] == ["a", "b"]
    set_state_dict(
        model, optimizer, model_state_dict=state["model"],
        optim_state_dict=state["optim"],
    )  # fmt: skip
    return [step(model, optimizer) for _ in range(2)], model


def rank_loads(rank, size):
    for folder in (os.environ["CHECKPOINT"], os.environ["CHECKPOINT"] + "2"):
        losses, model = loads(folder)
        assert losses == pytest.approx(
            [float(text) for text in os.environ["EXPECTED"].split()], rel=1e-5
        )
    whole = StateDictOptions(full_state_dict=True)
    state = get_model_state_dict(model, options=whole)
    assert type(state["0.weight"]) is torch.Tensor
    state["0.weight"] = torch.full((7, 5), 2.0)
    set_model_state_dict(model, state, options=whole)
    assert torch.equal(model[0].weight.full_tensor(), state["0.weight"])


def test_three_processes_store_what_two_and_one_load(tmp_path):
    folder = str(tmp_path / "checkpoint")
    expected = trained(5)[2][3:]
    for count, function in ((3, rank_saves), (2, rank_loads)):
        (tmp_path / str(count)).mkdir()
        run_ranks(
            function, count, tmp_path / str(count), CHECKPOINT=folder,
            EXPECTED=" ".join(map(str, expected)),
        )  # fmt: skip
    assert loads(folder)[0] == pytest.approx(expected, rel=1e-5)
    assert not [name for name in os.listdir(folder) if "tmp" in name]


def test_metadata_names_what_pytorch_names(tmp_path):
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
    text = io.StringIO()
    pickletools.dis((tmp_path / ".metadata").read_bytes(), text)
    assert "torch.distributed.checkpoint" in text.getvalue()
    assert "pellucid" not in text.getvalue()


class Runs:
    def __reduce__(self):
        return os.system, ("false",)


def test_errors_say_what_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a complete checkpoint"):
        checkpoint.load({}, checkpoint_id=tmp_path)
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="Missing key"):
        checkpoint.load({"y": torch.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="Size mismatch"):
        checkpoint.load({"x": torch.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Runs()))
    with pytest.raises(pickle.UnpicklingError, match="system"):
        checkpoint.load({"x": torch.ones(2)}, checkpoint_id=tmp_path)
