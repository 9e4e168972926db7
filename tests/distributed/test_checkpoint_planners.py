"""Which parts of a state are stored and loaded: custom planners, and the default."""

import io
import os
import signal
from dataclasses import replace

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid.distributed import checkpoint
from pellucid.distributed.checkpoint import default_planner, planner
from pellucid.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    DefaultSavePlanner,
    _EmptyStateDictLoadPlanner,
)
from pellucid.distributed.checkpoint.metadata import MetadataIndex
from pellucid.distributed.checkpoint.state_dict_loader import (
    _load_state_dict,
    _load_state_dict_from_keys,
)
from pellucid.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)
from tests.distributed.ranks import run_ranks

STATE = {
    "model": {"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)},
    "rates": [torch.zeros(1), {"rate": torch.full((2,), 0.5)}],
    "step": 7,
}


def save(state, place, **options):
    return checkpoint.save(state, checkpoint_id=place, no_dist=True, **options)


def load(state, place, **options):
    checkpoint.load(state, checkpoint_id=place, no_dist=True, **options)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "checkpoint"
    save(STATE, place)
    return place


def is_state(actual):
    assert actual["model"]["w"].equal(STATE["model"]["w"])
    assert actual["rates"][0].equal(STATE["rates"][0])
    assert actual["rates"][1]["rate"].equal(STATE["rates"][1]["rate"])
    return actual["step"] == 7


def test_an_empty_state_is_filled_with_all_there_is(folder):
    actual = {}
    reader = checkpoint.FileSystemReader(folder)
    _load_state_dict(actual, reader, planner=_EmptyStateDictLoadPlanner(), no_dist=True)
    assert is_state(actual)
    with pytest.warns(UserWarning, match="single process"):
        actual = _load_state_dict_from_keys("model.b", checkpoint_id=folder)
    assert list(actual) == ["model"] and list(actual["model"]) == ["b"]


def test_keys_choose_values_and_the_dicts_around_them(folder):
    actual = {}
    load(actual, folder, planner=_EmptyStateDictLoadPlanner({"model", "step"}))
    assert set(actual) == {"model", "step"} and set(actual["model"]) == {"w", "b"}
    with pytest.raises(checkpoint.CheckpointException, match="empty"):
        load(actual, folder, planner=_EmptyStateDictLoadPlanner())


def test_a_partial_load_leaves_what_the_checkpoint_lacks(folder):
    state = {"model": {"b": torch.zeros(2)}, "new": torch.full((3,), 4.0)}
    with pytest.raises(checkpoint.CheckpointException, match="Missing key"):
        load(state, folder, planner=DefaultLoadPlanner())
    load(state, folder, planner=DefaultLoadPlanner(allow_partial_load=True))
    assert state["model"]["b"].tolist() == [1, 1] and state["new"].tolist() == [4] * 3


def test_a_state_may_be_stored_by_its_first_names(tmp_path):
    flat = {"flatten_state_dict": False}
    metadata = save(STATE, tmp_path, planner=DefaultSavePlanner(**flat))
    assert set(metadata.state_dict_metadata) == set(STATE)
    actual = {"model": None, "step": None}
    load(actual, tmp_path, planner=DefaultLoadPlanner(**flat))
    assert actual["model"]["w"].equal(STATE["model"]["w"]) and actual["step"] == 7


def test_tuples_and_keys_that_are_numbers_are_loaded_as_they_were(tmp_path):
    saved = {
        "optim": {0: {"step": 5, "sum": torch.ones(2)}},
        "pair": (torch.ones(1), 2),
    }
    metadata = save(saved, tmp_path)
    assert set(metadata.state_dict_metadata) == {
        "optim.0.step", "optim.0.sum", "pair",
    }  # fmt: skip
    actual = {"optim": {0: {"step": 0, "sum": torch.zeros(2)}}, "pair": None}
    load(actual, tmp_path)
    assert actual["optim"][0]["step"] == 5 and list(actual["optim"]) == [0]
    assert actual["pair"][0].tolist() == [1] and actual["pair"][1] == 2


def test_names_of_earlier_versions_are_found(tmp_path):
    # PyTorch 2.3 stored a dict without tensors as one value.
    flat = {"group": {"rate": 0.1, "betas": [1, 2]}, "w": torch.ones(2)}
    save(flat, tmp_path, planner=DefaultSavePlanner(flatten_state_dict=False))
    actual = {"group": {"rate": 0.0, "betas": []}, "w": torch.zeros(2)}
    load(actual, tmp_path)
    assert actual["group"] == flat["group"] and actual["w"].tolist() == [1, 1]


def test_meta_tensors_of_the_state_get_memory(folder):
    state = {"model": {"w": torch.empty(2, 3, device="meta")}}
    load(state, folder)
    assert state["model"]["w"].equal(STATE["model"]["w"])


class Renames(DefaultSavePlanner):
    """Stores the values under other names."""

    def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
        named = {f"foo_{key}": value for key, value in state_dict.items()}
        super().set_up_planner(named, storage_meta, is_coordinator)


class RenamesBack(DefaultLoadPlanner):
    """Finds them there."""

    def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
        self.original_state_dict = state_dict
        named = {f"foo_{key}": value for key, value in state_dict.items()}
        if self.flatten_sharded_tensors:
            named = default_planner._flatten_sharded_tensors(named)
        if self.flatten_state_dict:
            named, self.mappings = default_planner.flatten_state_dict(named)
        self.state_dict, self.metadata = named, metadata
        self.is_coordinator = is_coordinator

    def load_bytes(self, read_item, value):
        self.original_state_dict[read_item.dest_index.fqn[4:]] = torch.load(value)


def test_a_planner_renames_values(tmp_path):
    metadata = save(STATE, tmp_path, planner=Renames())
    assert "foo_model.w" in metadata.state_dict_metadata
    actual = {"model": {"w": torch.zeros(2, 3)}, "step": 0}
    load(actual, tmp_path, planner=RenamesBack())
    assert actual["model"]["w"].equal(STATE["model"]["w"]) and actual["step"] == 7


class Halves(DefaultSavePlanner):
    """Stores float32 as float16, and says so in the metadata."""

    def create_local_plan(self):
        plan = super().create_local_plan()
        for item in plan.items:
            if item.tensor_data is not None:
                item.tensor_data.properties.dtype = torch.float16
        return plan

    def transform_object(self, write_item, object):
        object = super().transform_object(write_item, object)
        is_bytes = write_item.type == planner.WriteItemType.BYTE_IO
        return object if is_bytes else object.to(torch.float16)


class Doubles(DefaultLoadPlanner):
    """Loads into other tensors, and doubles what was loaded."""

    def resolve_tensor(self, read_item):
        return torch.empty_like(super().resolve_tensor(read_item))

    def commit_tensor(self, read_item, tensor):
        super().resolve_tensor(read_item).copy_(2 * tensor)


def test_a_planner_transforms_tensors(tmp_path):
    metadata = save(STATE, tmp_path, planner=Halves())
    described = metadata.state_dict_metadata["model.w"]
    assert described.properties.dtype is torch.float16
    data = (tmp_path / "__0_0.distcp").read_bytes()
    place = metadata.storage_data[MetadataIndex("model.w", (0, 0))]
    stored = torch.load(io.BytesIO(data[place.offset : place.offset + place.length]))
    assert stored.dtype is torch.float16
    actual = {"model": {"w": torch.zeros(2, 3, dtype=torch.float64)}}
    load(actual, tmp_path, planner=Doubles())
    assert actual["model"]["w"].equal(2 * STATE["model"]["w"].double())


class Notes(DefaultSavePlanner):
    """Adds what each rank notes to the metadata."""

    def create_local_plan(self):
        return replace(super().create_local_plan(), planner_data="noted")

    def create_global_plan(self, all_plans):
        self.flatten_state_dict = False  # the paths are not needed
        plans, metadata = super().create_global_plan(all_plans)
        notes = [plan.planner_data for plan in plans]
        return plans, replace(metadata, planner_data=notes)


def test_a_planner_adds_to_the_metadata(tmp_path):
    save({"x": torch.ones(1)}, tmp_path, planner=Notes())
    actual = checkpoint.FileSystemReader(tmp_path).read_metadata()
    assert actual.planner_data == ["noted"] and actual.version == "1.0.0"


def test_a_planner_without_storage_meta_is_called_without(tmp_path):
    class Old(DefaultSavePlanner):
        """Of PyTorch 2.3."""

        def set_up_planner(self, state_dict, is_coordinator):
            super().set_up_planner(state_dict, None, is_coordinator)

    with pytest.warns(UserWarning, match="storage_meta"):
        save(STATE, tmp_path, planner=Old())
    assert os.listdir(tmp_path)


def test_wrong_plans_are_refused(tmp_path):
    class Wrong(DefaultSavePlanner):
        """Plans parts that overlap, and one outside of its tensor."""

        def create_global_plan(self, all_plans):
            shard = planner.WriteItemType.SHARD
            items = all_plans[0].items
            items[:] = [replace(item, type=shard) for item in items]
            again = MetadataIndex(items[0].index.fqn, (1,))
            chunk = replace(items[0].tensor_data.chunk, offsets=torch.Size([1]))
            data = replace(items[0].tensor_data, chunk=chunk)
            items.append(replace(items[0], index=again, tensor_data=data))
            return super().create_global_plan(all_plans)

    with pytest.raises(checkpoint.CheckpointException) as found:
        save({"x": torch.ones(4)}, tmp_path, planner=Wrong())
    assert "out of bounds" in str(found.value) and "overlapping" in str(found.value)


def rank_shares_out(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    shard = distribute_tensor(torch.arange(10.0), mesh, [Shard(0)])
    same = distribute_tensor(torch.ones(4), mesh, [Replicate()])
    state = {"shard": shard, "same": same, "a": torch.ones(4), "b": torch.ones(4)}
    for lowest in (False, True):
        place = f"{os.environ['CHECKPOINT']}{lowest}"
        plan = DefaultSavePlanner(dedup_save_to_lowest_rank=lowest)
        metadata = checkpoint.save(state, checkpoint_id=place, planner=plan)
        owners = {
            (index.fqn, info.relative_path[2])
            for index, info in metadata.storage_data.items()
        }
        whole = {owner for name, owner in owners if name != "shard"}
        assert whole == {"0"} if lowest else len(whole) > 1
        assert ("shard", str(size - 1)) in owners
        assert len(metadata.state_dict_metadata["shard"].chunks) == size
    with pytest.raises(checkpoint.CheckpointException, match="partial sums"):
        partial = DTensor.from_local(torch.ones(2), mesh, [Partial()])
        checkpoint.save({"p": partial}, checkpoint_id=place + "p")


def test_what_several_ranks_have_is_stored_by_one(tmp_path):
    run_ranks(rank_shares_out, 3, tmp_path, CHECKPOINT=str(tmp_path / "c"))


def rank_caches_plans(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    for step, rows in enumerate([6, 6, 8, 8]):
        whole = torch.arange(rows, dtype=torch.float32) + step
        weight = distribute_tensor(whole, mesh, [Shard(0)])
        state = {"w": weight, "step": step}
        plan = DefaultSavePlanner(enable_plan_caching=True)
        place = f"{os.environ['CHECKPOINT']}{step}"
        checkpoint.save(state, checkpoint_id=place, planner=plan)
        was_sent = plan.plan.items and step in (0, 2)
        assert (plan._proposed is None) and (bool(was_sent) == (step in (0, 2)))
        actual = {"w": torch.zeros(rows), "step": None}
        checkpoint.load(actual, checkpoint_id=place)
        assert actual["w"].equal(whole) and actual["step"] == step


def test_plans_are_sent_only_if_they_change(tmp_path):
    run_ranks(rank_caches_plans, 2, tmp_path, CHECKPOINT=str(tmp_path / "c"))


class Caches(DefaultSavePlanner):
    """Has cached plans of its own: they are by the type's name."""


def test_plans_of_a_failed_save_are_not_cached(tmp_path):
    class Fails(checkpoint.FileSystemWriter):
        """Fails once the global plan has been made."""

        def prepare_global_plan(self, plans):
            raise OSError("nowhere to write")

    with pytest.raises(checkpoint.CheckpointException, match="nowhere"):
        save(
            STATE, None, storage_writer=Fails(tmp_path),
            planner=Caches(enable_plan_caching=True),
        )  # fmt: skip
    for step in range(2):
        place = tmp_path / str(step)
        save(STATE, place, planner=Caches(enable_plan_caching=True))
        load({"step": 0, "model": {"w": torch.zeros(2, 3)}}, place)


class Fails(DefaultSavePlanner):
    """Fails to plan on one rank."""

    def create_local_plan(self):
        if dist.get_rank() == 1:
            raise KeyError("nothing to plan")
        return super().create_local_plan()


def rank_fails(rank, size):
    with pytest.raises(checkpoint.CheckpointException) as found:
        checkpoint.save(
            {"x": torch.ones(1)}, checkpoint_id=os.environ["CHECKPOINT"],
            planner=Fails(),
        )  # fmt: skip
    assert list(found.value.failures) == [1]
    error, stack = found.value.failures[1]
    assert isinstance(error, KeyError) and stack[-1].name == "create_local_plan"
    assert "(RANK 1)" in str(found.value)
    dist.barrier()


def test_an_error_of_a_rank_is_raised_on_all(tmp_path):
    run_ranks(rank_fails, 2, tmp_path, CHECKPOINT=str(tmp_path / "c"))


class Dies(DefaultSavePlanner):
    """Its rank is killed while it writes the second value."""

    count = 0

    def resolve_data(self, write_item):
        self.count += 1
        if self.count == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().resolve_data(write_item)


def rank_dies(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    place = os.environ["CHECKPOINT"]
    for step in (1, 2):
        parts = [torch.full((6,), float(step)) for _ in range(2)]
        state = {
            name: distribute_tensor(part, mesh, [Shard(0)])
            for name, part in zip("ab", parts, strict=True)
        }
        dies = step == 2 and rank == 1
        if step == 1 or dies:
            checkpoint.save(
                state, checkpoint_id=place, planner=Dies() if dies else None
            )
        else:
            with pytest.warns(UserWarning, match="existing checkpoint"):  # noqa: SIM117
                with pytest.raises(dist.DistBackendError, match="rank 1"):
                    checkpoint.save(state, checkpoint_id=place)
            os._exit(0)


def test_a_rank_killed_while_it_saves_leaves_the_checkpoint_before(tmp_path):
    place = tmp_path / "c"
    run_ranks(rank_dies, 2, tmp_path, killed=(1,), CHECKPOINT=str(place))
    state = {"a": torch.zeros(6), "b": torch.zeros(6)}
    load(state, place)
    assert state["a"].tolist() == [1] * 6 and state["b"].tolist() == [1] * 6
    with pytest.warns(UserWarning, match="existing checkpoint"):
        save(state, place)
    assert len(os.listdir(place)) == 2, "files of the killed save have stayed"
