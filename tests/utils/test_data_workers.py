"""DataLoader with worker processes: order, seeds, streams, failures, shared memory."""

import random
import time

import pytest

import pellucid as torch
from pellucid.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    def __init__(self, length=10, width=1):
        self.length, self.width = length, width

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.full((self.width,), float(index)), index


class Failing(Numbers):
    def __getitem__(self, index):
        if index == 5:
            raise KeyError("five") if self.width == 2 else ValueError("five is bad")
        return super().__getitem__(index)


class Slow(Numbers):
    def __getitem__(self, index):
        time.sleep(30)


class Draws(Numbers):
    def __getitem__(self, index):
        return torch.rand(()), random.random(), get_worker_info().id


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, 11, info.num_workers))


def labels(loader):
    return [batch[1].tolist() for batch in loader]


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_come_in_the_order_of_the_sampler(workers):
    loader = DataLoader(Numbers(), batch_size=3, num_workers=workers)
    assert labels(loader) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_large_batches_travel_through_shared_memory():
    loader = DataLoader(Numbers(6, 40_000), batch_size=2, num_workers=2)
    for batch, (first, second) in zip(loader, [(0, 1), (2, 3), (4, 5)], strict=True):
        values, _ = batch
        assert values.shape == (2, 40_000)
        assert (values[0] == first).all() and (values[1] == second).all()
        values.zero_()  # the memory is the receiver's to change


def test_shuffled_orders_are_those_without_workers():
    def run(workers):
        generator = torch.Generator().manual_seed(3)
        data = Numbers()
        loader = DataLoader(
            data, 2, shuffle=True, generator=generator, num_workers=workers
        )
        return labels(loader), labels(loader)

    assert run(0) == run(2)


def test_workers_are_seeded_with_the_pass_seed_and_their_id():
    def run():
        torch.manual_seed(7)
        loader = DataLoader(Draws(4), batch_size=None, num_workers=2)
        return [(float(x), y, worker) for x, y, worker in loader]

    first, second = run(), run()
    assert first == second
    assert [worker for *_, worker in first] == [0, 1, 0, 1]
    assert len({x for x, *_ in first}) == 4


def test_a_stream_is_split_by_worker_info():
    loader = DataLoader(Stream(), batch_size=2, num_workers=2)
    actual = sorted(x for batch in loader for x in batch.tolist())
    assert actual == list(range(11))


def test_persistent_workers_serve_every_pass():
    loader = DataLoader(Numbers(), 4, num_workers=2, persistent_workers=True)
    assert labels(loader) == labels(loader)
    for _ in loader:
        break  # a pass that is left early leaves nothing behind
    assert labels(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


class Drawing(Dataset):
    """An index, and a number that the worker draws."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index, round(torch.rand(1).item(), 4)


def test_persistent_workers_draw_on_where_a_pass_ended():
    torch.manual_seed(4)
    loader = DataLoader(
        Drawing(), 2, shuffle=True, num_workers=2, persistent_workers=True
    )
    passes = [[(i.tolist(), d.tolist()) for i, d in loader] for _ in range(2)]
    assert passes[0][0] == ([0, 3], [0.4101, 0.6556])
    assert passes[1] == [
        ([0, 4], [0.0166, 0.2505]),
        ([5, 1], [0.8382, 0.6136]),
        ([3, 2], [0.4437, 0.3618]),
    ]


@pytest.mark.parametrize(("width", "error"), [(1, ValueError), (2, KeyError)])
def test_an_exception_comes_with_its_traceback(width, error):
    loader = DataLoader(Failing(10, width), batch_size=2, num_workers=2)
    with pytest.raises(error, match="worker process 0") as actual:
        list(loader)
    assert "five" in str(actual.value) and "__getitem__" in str(actual.value)


def test_init_functions_run_in_each_worker():
    def start(worker):
        raise RuntimeError(f"worker {worker} will not start")

    loader = DataLoader(Numbers(), num_workers=1, worker_init_fn=start)
    with pytest.raises(RuntimeError, match="will not start"):
        next(iter(loader))


def test_a_timeout_ends_the_wait():
    loader = DataLoader(Slow(), num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match="timed out"):
        next(iter(loader))


def test_the_main_process_has_no_worker_info():
    assert get_worker_info() is None
