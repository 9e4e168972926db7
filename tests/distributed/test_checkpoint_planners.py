"""Which parts of a state are stored and loaded: planners, and ``torch.save`` files."""

import pytest

import pellucid as torch
from pellucid.distributed import checkpoint
from pellucid.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    DefaultSavePlanner,
    _EmptyStateDictLoadPlanner,
)
from pellucid.distributed.checkpoint.format_utils import (
    dcp_to_torch_save,
    torch_save_to_dcp,
)
from pellucid.distributed.checkpoint.state_dict_loader import _load_state_dict

STATE = {
    "model": {"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)},
    "rates": [torch.zeros(1), {"rate": torch.full((2,), 0.5)}],
    "step": 7,
}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "checkpoint"
    checkpoint.save(STATE, checkpoint_id=place)
    return place


def _is_state(actual):
    assert actual["model"]["w"].equal(STATE["model"]["w"])
    assert actual["rates"][0].equal(STATE["rates"][0])
    assert actual["rates"][1]["rate"].equal(STATE["rates"][1]["rate"])
    return actual["step"] == 7


def test_an_empty_state_is_filled_with_all_there_is(folder):
    actual = {}
    reader = checkpoint.FileSystemReader(folder)
    _load_state_dict(actual, reader, planner=_EmptyStateDictLoadPlanner(), no_dist=True)
    assert _is_state(actual)


def test_keys_choose_values_and_the_dicts_around_them(folder):
    actual = {}
    planner = _EmptyStateDictLoadPlanner({"model", "step"})
    checkpoint.load(actual, checkpoint_id=folder, planner=planner)
    assert set(actual) == {"model", "step"} and set(actual["model"]) == {"w", "b"}
    with pytest.raises(AssertionError, match="empty"):
        checkpoint.load(actual, checkpoint_id=folder, planner=planner)


def test_a_partial_load_leaves_what_the_checkpoint_lacks(folder):
    state = {"model": {"b": torch.zeros(2)}, "new": torch.full((3,), 4.0)}
    with pytest.raises(RuntimeError, match="Missing key"):
        checkpoint.load(state, checkpoint_id=folder, planner=DefaultLoadPlanner())
    planner = DefaultLoadPlanner(allow_partial_load=True)
    checkpoint.load(state, checkpoint_id=folder, planner=planner)
    assert state["model"]["b"].tolist() == [1, 1] and state["new"].tolist() == [4] * 3


def test_a_state_may_be_stored_by_its_first_names(tmp_path):
    flat = {"flatten_state_dict": False}
    planner = DefaultSavePlanner(**flat)
    metadata = checkpoint.save(STATE, checkpoint_id=tmp_path, planner=planner)
    assert set(metadata.state_dict_metadata) == set(STATE)
    actual = {"model": None, "step": None}
    checkpoint.load(actual, checkpoint_id=tmp_path, planner=DefaultLoadPlanner(**flat))
    assert actual["model"]["w"].equal(STATE["model"]["w"]) and actual["step"] == 7


def test_planners_with_plans_of_their_own_are_refused(folder):
    class Own(DefaultLoadPlanner):
        """A custom planner."""

    for planner in (Own(), DefaultSavePlanner()):
        with pytest.raises(NotImplementedError, match="overrides planning"):
            checkpoint.load({}, checkpoint_id=folder, planner=planner)


def test_a_checkpoint_becomes_a_file_and_the_file_a_checkpoint(folder, tmp_path):
    dcp_to_torch_save(folder, tmp_path / "state.pt")
    assert _is_state(torch.load(tmp_path / "state.pt"))
    torch_save_to_dcp(tmp_path / "state.pt", tmp_path / "again")
    actual = {}
    planner = _EmptyStateDictLoadPlanner()
    checkpoint.load(actual, checkpoint_id=tmp_path / "again", planner=planner)
    assert _is_state(actual)
