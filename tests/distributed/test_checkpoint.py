"""States stored in parts by three processes, and loaded by two and by one."""

import io
import os
import pickle
import pickletools
from pathlib import Path

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
from pellucid.distributed.tensor import Replicate, Shard
from tests.distributed.ranks import run_ranks

GOLDEN = Path(__file__).parent / "golden" / "checkpoint_of_4_ranks"


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
    no_dist = not dist.is_initialized()
    checkpoint.load(state, checkpoint_id=folder, no_dist=no_dist)
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


def rank_loads_what_pytorch_saved(rank, size):
    """Saved by PyTorch 2.13 on 4 ranks, "grid" on a mesh of 2 x 2."""

    def is_counted(tensor):
        count = torch.arange(float(tensor.numel())).view(tensor.shape)
        return tensor.full_tensor().equal(count)

    mesh = dist.init_device_mesh("cpu", (size,))
    zeros = torch.distributed.tensor.zeros
    state = {
        "rows": zeros(7, 3, device_mesh=mesh, placements=[Shard(0)]),
        "cols": zeros(3, 5, device_mesh=mesh, placements=[Shard(0)]),
        "same": zeros(4, device_mesh=mesh, placements=[Replicate()]),
        "grid": zeros(8, 6, device_mesh=mesh, placements=[Shard(1)]),
        "plain": torch.zeros(2, 3, dtype=torch.bfloat16),
        "list": [torch.zeros(2), {"a": torch.zeros(())}],
        "n": {"step": 0, "text": ""},
        "pair": None,
    }
    checkpoint.load(state, checkpoint_id=GOLDEN)
    assert all(is_counted(state[name]) for name in ("rows", "cols", "same", "grid"))
    assert state["plain"].flatten().tolist() == [0, 1, 2, 3, 4, 5]
    assert state["list"][0].tolist() == [1, 1] and state["list"][1]["a"] == 3
    assert state["n"] == {"step": 7, "text": "x"} and state["pair"] == (1, 2)


def test_two_ranks_load_what_four_of_pytorch_saved(tmp_path):
    run_ranks(rank_loads_what_pytorch_saved, 2, tmp_path)


def test_metadata_names_what_pytorch_names(tmp_path):
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path, no_dist=True)
    text = io.StringIO()
    pickletools.dis((tmp_path / ".metadata").read_bytes(), text)
    assert "torch.distributed.checkpoint" in text.getvalue()
    assert "pellucid" not in text.getvalue()


class Runs:
    def __reduce__(self):
        return os.system, ("false",)


def test_errors_say_what_is_missing(tmp_path):
    def fails_to_load(state, kind, match):
        with pytest.raises(checkpoint.CheckpointException, match=match) as found:
            checkpoint.load(state, checkpoint_id=tmp_path, no_dist=True)
        error, stack = found.value.failures[0]
        assert type(error) is kind and len(stack)

    fails_to_load({}, FileNotFoundError, "not a complete checkpoint")
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path, no_dist=True)
    fails_to_load({"y": torch.ones(2)}, RuntimeError, "Missing key")
    fails_to_load({"x": torch.ones(3)}, ValueError, "Size mismatch")
    fails_to_load({"x": 3}, ValueError, "a tensor in the checkpoint, and a int")
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Runs()))
    fails_to_load({"x": torch.ones(2)}, pickle.UnpicklingError, "system")
