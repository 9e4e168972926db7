"""Where checkpoints are stored: in files of several kinds, and in a user's storage."""

import io
import json
import os
import time
import warnings
import zlib
from concurrent.futures import Future

import pytest

import pellucid as torch
from pellucid import distributed as dist
from pellucid import futures, safetensors
from pellucid.distributed import checkpoint
from pellucid.distributed.checkpoint import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
    default_planner,
    filesystem,
    format_utils,
    planner,
    staging,
    state_dict_saver,
)
from pellucid.distributed.checkpoint._extension import (
    ExtensionRegistry,
    StreamTransformExtension,
)
from pellucid.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
from pellucid.distributed.checkpoint.storage import WriteResult
from pellucid.distributed.tensor import Replicate, Shard, distribute_tensor
from tests.distributed.ranks import run_ranks
from tests.distributed.test_checkpoint_planners import STATE, is_state, load, save


def empty_state():
    return {
        "model": {"w": torch.zeros(2, 3), "b": torch.zeros(2)},
        "rates": [torch.ones(1), {"rate": torch.zeros(2)}],
        "step": 0,
    }


class Memory(checkpoint.StorageWriter, checkpoint.StorageReader):
    """Keeps what a process saves in a dict."""

    kept = {}  # noqa: RUF012 - all instances have it

    def reset(self, checkpoint_id=None):
        self.place = checkpoint_id

    def set_up_storage_writer(self, is_coordinator):
        self.kept[self.place] = {}

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, plans):
        return plans

    def write_data(self, plan, planner):
        results = []
        for item in plan.items:
            value = planner.resolve_data(item)
            is_tensor = isinstance(value, torch.Tensor)
            value = value.clone() if is_tensor else value.getvalue()
            self.kept[self.place][item.index] = value
            results.append(WriteResult(item.index, 0, None))
        future = futures.Future()
        future.set_result(results)
        return future

    def finish(self, metadata, results):
        assert len(results[0]) == len(self.kept[self.place])
        self.kept[self.place]["metadata"] = metadata

    def read_metadata(self):
        return self.kept[self.place]["metadata"]

    def set_up_storage_reader(self, metadata, is_coordinator):
        assert is_coordinator

    def read_data(self, plan, plans):
        for item in plan.items:
            value = self.kept[self.place][item.storage_index]
            if item.type == planner.LoadItemType.BYTE_IO:
                plans.load_bytes(item, io.BytesIO(value))
            else:
                target = plans.resolve_tensor(item)
                target.copy_(value)
                plans.commit_tensor(item, target)
        future = futures.Future()
        future.set_result(None)
        return future

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return True


def test_a_storage_of_ones_own_keeps_checkpoints():
    save(STATE, "a", storage_writer=Memory())
    later = checkpoint.async_save(
        {"step": 8}, checkpoint_id="b", storage_writer=Memory(), no_dist=True
    )
    assert later.result(60).state_dict_metadata.keys() == {"step"}
    state = empty_state()
    load(state, "a", storage_reader=Memory())
    assert is_state(state)


def test_a_storage_that_implements_half_of_it_is_refused():
    class Half(checkpoint.StorageReader):
        """Has no method."""

    with pytest.raises(TypeError, match="abstract"):
        Half()


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 1),
        ({"single_file_per_rank": False}, 5),
        ({"thread_count": 3}, 3),
        ({"thread_count": 2, "single_file_per_rank": False, "sync_files": False}, 5),
    ],
)
def test_options_choose_the_files(tmp_path, options, count):
    writer = checkpoint.FileSystemWriter(tmp_path, **options)
    checkpoint.save(STATE, storage_writer=writer, no_dist=True)
    files = [name for name in os.listdir(tmp_path) if name.endswith(".distcp")]
    assert len(files) == count
    state = empty_state()
    load(state, tmp_path)
    assert is_state(state)


def test_a_checkpoint_is_replaced_or_not_as_told(tmp_path):
    save({"x": torch.ones(1)}, tmp_path)
    writer = checkpoint.FileSystemWriter(tmp_path, overwrite=False)
    with pytest.raises(checkpoint.CheckpointException, match="already exists"):
        checkpoint.save({"x": torch.zeros(1)}, storage_writer=writer, no_dist=True)
    with pytest.warns(UserWarning, match="existing checkpoint"):
        save({"y": torch.ones(1)}, tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".metadata", "__0_1.distcp"]


def test_views_are_stored_without_the_rest_of_their_memory(tmp_path):
    whole = torch.arange(100_000.0)
    save({"few": whole[10:13], "column": whole.view(10, -1)[:, 0]}, tmp_path)
    assert (tmp_path / "__0_0.distcp").stat().st_size < 5_000
    state = {"few": torch.zeros(3), "column": torch.zeros(10)}
    load(state, tmp_path)
    assert state["few"].tolist() == [10, 11, 12] and state["column"][1] == 10_000


def test_an_error_of_a_writing_thread_is_raised(tmp_path):
    class Fails(default_planner.DefaultSavePlanner):
        """Has no values."""

        def resolve_data(self, write_item):
            raise KeyError(write_item.index.fqn)

    writer = checkpoint.FileSystemWriter(tmp_path, thread_count=2)
    with pytest.raises(checkpoint.CheckpointException, match="KeyError"):
        checkpoint.save(STATE, storage_writer=writer, planner=Fails(), no_dist=True)
    assert not os.listdir(tmp_path)


def test_a_storage_is_chosen_by_the_id(tmp_path):
    with pytest.raises(RuntimeError, match="checkpoint_id` must be specified"):
        checkpoint.save({}, no_dist=True)
    with pytest.raises(RuntimeError, match="Cannot detect"):
        save({}, "memory://a")


def test_files_outside_of_the_folder_are_not_read(tmp_path):
    metadata = save({"x": torch.ones(1)}, tmp_path)
    for info in metadata.storage_data.values():
        info.relative_path = "../" + info.relative_path
    with open(tmp_path / ".metadata", "wb") as file:
        filesystem.write_metadata(metadata, file)
    with pytest.raises(checkpoint.CheckpointException, match="outside of"):
        load({"x": torch.zeros(1)}, tmp_path)


class _Compresses(io.RawIOBase):
    def __init__(self, output):
        self.output, self.data = output, b""

    def writable(self):
        return True

    def write(self, data, /):
        self.data += bytes(data)
        return len(data)

    def close(self):
        if not self.closed:
            self.output.write(zlib.compress(self.data))
            self.output.close()
        super().close()


class Compression(StreamTransformExtension):
    """zlib's."""

    @staticmethod
    def registry_name():
        return "stream.zlib"

    @staticmethod
    def from_descriptor(version):
        assert version == "1"
        return Compression()

    def get_descriptor(self):
        return "stream.zlib/1"

    def transform_to(self, output):
        return _Compresses(output)

    def transform_from(self, input):
        return io.BytesIO(zlib.decompress(input.read()))


def test_extensions_transform_the_bytes_of_items(tmp_path):
    state = {"x": torch.zeros(10_000), "step": 3}
    writer = checkpoint.FileSystemWriter(tmp_path, _extensions=[Compression()])
    checkpoint.save(state, storage_writer=writer, no_dist=True)
    assert (tmp_path / "__0_0.distcp").stat().st_size < 2_000
    found = {"x": torch.ones(10_000), "step": 0}
    with pytest.raises(checkpoint.CheckpointException, match="Unknown extension"):
        load(found, tmp_path)
    registry = ExtensionRegistry()
    registry.register(Compression)
    reader = checkpoint.FileSystemReader(tmp_path, _extension_registry=registry)
    checkpoint.load(found, storage_reader=reader, no_dist=True)
    assert not found["x"].any() and found["step"] == 3


def test_a_checkpoint_becomes_a_file_and_the_file_a_checkpoint(tmp_path):
    save(STATE, tmp_path / "checkpoint")
    format_utils.dcp_to_torch_save(tmp_path / "checkpoint", tmp_path / "state.pt")
    assert is_state(torch.load(tmp_path / "state.pt"))
    format_utils.torch_save_to_dcp(tmp_path / "state.pt", tmp_path / "again")
    state = empty_state()
    load(state, tmp_path / "again")
    assert is_state(state)


def test_calls_of_earlier_versions_are_accepted(tmp_path):
    writer, reader = (kind(tmp_path) for kind in (
        checkpoint.FileSystemWriter, checkpoint.FileSystemReader
    ))  # fmt: skip
    with pytest.warns(FutureWarning, match="use `save`"):
        checkpoint.save_state_dict(STATE, writer, no_dist=True)
    state = empty_state()
    with pytest.warns(UserWarning, match="argument order"):
        checkpoint.load(state, reader, no_dist=True)
    assert is_state(state)
    with pytest.warns(FutureWarning, match="use `load`"):
        checkpoint.load_state_dict(empty_state(), reader, no_dist=True)


# Copies of a state


def test_a_state_is_copied_before_it_is_stored(tmp_path):
    tied = torch.ones(4)
    state = {"a": tied, "b": tied.view(2, 2), "list": [1]}
    stager = staging.BlockingAsyncStager(cache_staged_state_dict=True)
    first = stager.stage(state)
    tied.fill_(2)
    assert first["a"].tolist() == [1] * 4
    assert first["a"].data_ptr() == first["b"].data_ptr()
    second = stager.stage(state)
    assert second["a"].data_ptr() == first["a"].data_ptr() and second["a"][0] == 2
    assert second["list"] == [1] and second["list"] is not state["list"]
    stager.close()


def test_a_stager_on_another_thread_gives_two_futures(tmp_path):
    options = staging.StagingOptions(False, True, True, False)
    stager = staging.DefaultStager(options)
    response = checkpoint.async_save(
        {"x": torch.ones(2)}, checkpoint_id=tmp_path, async_stager=stager,
        no_dist=True,
    )  # fmt: skip
    assert isinstance(response, state_dict_saver.AsyncSaveResponse)
    assert response.staging_completion.result(60) is None
    assert response.upload_completion.result(60).version == "1.0.0"
    stager.close()
    with pytest.raises(AssertionError, match="accelerator"):
        staging.DefaultStager()


def test_an_error_of_a_save_is_in_its_future(tmp_path):
    writer = checkpoint.FileSystemWriter(tmp_path, overwrite=False)
    states = [{"x": torch.ones(1)}] * 2
    first, second = (
        checkpoint.async_save(state, storage_writer=writer, no_dist=True)
        for state in states
    )
    assert isinstance(first, Future) and first.result(60)
    assert isinstance(second.exception(60), checkpoint.CheckpointException)


class Counter:
    """Has a state."""

    def __init__(self, count):
        self.count = count

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state_dict):
        self.count = state_dict["count"]


def rank_saves_in_a_process(rank, size):
    place = os.environ["CHECKPOINT"]
    mesh = dist.init_device_mesh("cpu", (size,))
    for step in range(2):
        weight = torch.arange(7.0) + step
        state = {
            "w": distribute_tensor(weight, mesh, [Shard(0)]),
            "counter": Counter(step),
        }
        kind = AsyncCheckpointerType.PROCESS
        later = checkpoint.async_save(
            state, checkpoint_id=f"{place}{step}", async_checkpointer_type=kind
        )
        state["w"].to_local().fill_(-1)
        assert later.result(100).version == "1.0.0"
        found = {"w": distribute_tensor(torch.zeros(7), mesh, [Replicate()])}
        found["counter"] = Counter(-1)
        checkpoint.load(found, checkpoint_id=f"{place}{step}")
        assert found["w"].to_local().equal(weight) and found["counter"].count == step
    writer = checkpoint.FileSystemWriter(f"{place}0", overwrite=False)
    failed = checkpoint.async_save(
        {"x": 1}, storage_writer=writer, async_checkpointer_type=kind
    )
    assert isinstance(failed.exception(100), checkpoint.CheckpointException)


def test_a_process_saves_while_the_rank_goes_on(tmp_path):
    run_ranks(rank_saves_in_a_process, 2, tmp_path, CHECKPOINT=str(tmp_path / "c"))


# Without the other ranks; files of torch.save and safetensors


def rank_saves_alone(rank, size):
    place = os.environ["CHECKPOINT"]
    state = {"rank": rank, "x": torch.full((rank + 1,), float(rank))}
    checkpoint.save(state, checkpoint_id=place, use_collectives=False)
    dist.barrier()
    names = [f"__{r}{end}" for r in range(size) for end in (".metadata", "_0.distcp")]
    assert sorted(os.listdir(place)) == sorted(names)
    found = {"rank": -1, "x": torch.zeros(rank + 1)}
    checkpoint.load(found, checkpoint_id=place)
    assert found["rank"] == rank and found["x"].eq(rank).all()


def test_ranks_save_by_themselves_without_collectives(tmp_path):
    run_ranks(rank_saves_alone, 2, tmp_path, CHECKPOINT=str(tmp_path / "c"))


class FailsOnRank1(default_planner.DefaultSavePlanner):
    """Has no values on one rank."""

    def resolve_data(self, write_item):
        if dist.get_rank() == 1:
            raise KeyError(write_item.index.fqn)
        return super().resolve_data(write_item)


def rank_of_a_failing_one(rank, size):
    place, state = os.environ["CHECKPOINT"], {"x": torch.ones(1)}
    options = {"checkpoint_id": place, "use_collectives": False}
    with pytest.raises(checkpoint.CheckpointException, match=r"\(RANK 1\)") as found:
        checkpoint.save(state, planner=FailsOnRank1(), **options)
    assert list(found.value.failures) == [1]
    own = f"{place}/own"
    while rank == 1 and not os.path.exists(f"{own}/__0.metadata"):
        time.sleep(0.01)  # a late rank does not mistake it for an earlier checkpoint
    writer = checkpoint.FileSystemWriter(own, overwrite=False)
    checkpoint.save(state, storage_writer=writer, use_collectives=False)
    if rank == 1:
        os.remove(f"{own}/__1_0.distcp")
    with pytest.raises(checkpoint.CheckpointException, match="__1_0") as found:
        checkpoint.load(state, checkpoint_id=own)
    assert list(found.value.failures) == [1]


def test_an_error_without_collectives_is_raised_on_all(tmp_path):
    run_ranks(rank_of_a_failing_one, 2, tmp_path, CHECKPOINT=str(tmp_path / "c"))


def rank_with_a_folder_of_its_own(rank, size):
    place = f"{os.environ['CHECKPOINT']}{rank}"
    mesh = dist.init_device_mesh("cpu", (size,))
    state = {"w": distribute_tensor(torch.arange(4.0), mesh, [Shard(0)])}
    metadata = [".metadata"] if rank == 0 else []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Detected an existing")
        for number in (0, 1, 0):
            checkpoint.save(state, checkpoint_id=place)
            names = [*metadata, f"__{rank}_{number}.distcp"]
            assert sorted(os.listdir(place)) == names


def test_each_rank_deletes_its_outdated_files(tmp_path):
    place = str(tmp_path / "c")
    run_ranks(rank_with_a_folder_of_its_own, 2, tmp_path, CHECKPOINT=place)


def rank_loads_a_file(rank, size):
    path = os.environ["CHECKPOINT"]
    if rank == 0:
        torch.save({"m": {"w": torch.arange(8.0)}, "b": torch.ones(2)}, path)
    mesh = dist.init_device_mesh("cpu", (size,))
    weight = distribute_tensor(torch.zeros(8), mesh, [Shard(0)])
    state = {"m": {"w": weight}, "b": torch.zeros(2)}
    checkpoint.load(
        state, checkpoint_id=path, planner=format_utils.DynamicMetaLoadPlanner(),
        storage_reader=format_utils.BroadcastingTorchSaveReader(),
    )  # fmt: skip
    assert weight.full_tensor().equal(torch.arange(8.0))
    assert state["b"].tolist() == [1, 1]
    with pytest.raises(checkpoint.CheckpointException, match="Non-tensor value"):
        checkpoint.load(
            {"n": 3}, checkpoint_id=path,
            planner=format_utils.DynamicMetaLoadPlanner(),
            storage_reader=format_utils.BroadcastingTorchSaveReader(),
        )  # fmt: skip


def test_a_file_is_read_by_one_rank_and_broadcast(tmp_path):
    run_ranks(rank_loads_a_file, 2, tmp_path, CHECKPOINT=str(tmp_path / "state.pt"))


def test_safetensors_of_one_process(tmp_path):
    state = {"a": torch.arange(4.0), "b": torch.ones(2, 3, dtype=torch.bfloat16)}
    writer = HuggingFaceStorageWriter(str(tmp_path), {"a": 1, "b": 2}, thread_count=2)
    checkpoint.save(state, storage_writer=writer, no_dist=True)
    index = json.loads((tmp_path / writer.metadata_path).read_text())
    assert index["weight_map"] == {
        "a": "model-00001-of-00002.safetensors",
        "b": "model-00002-of-00002.safetensors",
    }
    assert index["metadata"] == {"total_size": 28}
    with pytest.warns(UserWarning, match="existing checkpoint"):
        checkpoint.save(state, storage_writer=writer, no_dist=True)
    found = {"a": torch.zeros(4), "b": torch.zeros(2, 3)}
    reader = HuggingFaceStorageReader(str(tmp_path), thread_count=2)
    checkpoint.load(found, storage_reader=reader, no_dist=True)
    assert found["a"].equal(state["a"]) and found["b"].sum() == 6


def rank_saves_safetensors(rank, size):
    place = os.environ["CHECKPOINT"]
    mesh = dist.init_device_mesh("cpu", (size,))
    whole = torch.arange(15.0).view(5, 3)
    state = {"w": distribute_tensor(whole, mesh, [Shard(0)])}
    for joins in (False, True):
        writer = HuggingFaceStorageWriter(
            f"{place}{joins}", save_distributed=True, enable_consolidation=joins
        )
        checkpoint.save(state, storage_writer=writer)
    writer = HuggingFaceStorageWriter(f"{place}refused")
    for options in ({}, {"use_collectives": False}):
        with pytest.raises(checkpoint.CheckpointException, match="several"):
            checkpoint.save(state, storage_writer=writer, **options)
    found = {"w": distribute_tensor(torch.zeros(5, 3), mesh, [Shard(1)])}
    reader = HuggingFaceStorageReader(f"{place}False")
    checkpoint.load(found, storage_reader=reader)
    assert found["w"].full_tensor().equal(whole)
    joined = safetensors.load_file(f"{place}True/model-00001-of-00001.safetensors")
    assert joined["w"].equal(whole)
    assert len(os.listdir(f"{place}True/sharded")) == size


def test_safetensors_of_ranks_are_joined(tmp_path):
    run_ranks(rank_saves_safetensors, 2, tmp_path, CHECKPOINT=str(tmp_path / "c"))
