"""Pipes: datasets built from one another, and the DataLoader over them.

Orders of a seed were recorded from PyTorch 2.13.
"""

import itertools
import pickle

import pytest

import pellucid as torch
from pellucid.utils.data import DataLoader, IterDataPipe, functional_datapipe
from pellucid.utils.data.datapipes.iter import FileLister, IterableWrapper
from pellucid.utils.data.datapipes.map import SequenceWrapper
from pellucid.utils.data.graph import traverse_dps
from pellucid.utils.data.graph_settings import (
    apply_random_seed,
    apply_sharding,
    get_all_graph_pipes,
)


def plus_one(x):
    return x + 1


def parity(x):
    return x % 2


def is_even(x):
    return x % 2 == 0


def count(n=7):
    return IterableWrapper(range(n))


MADE = {
    "batch": (lambda: count().batch(3), [[0, 1, 2], [3, 4, 5], [6]]),
    "whole": (lambda: count().batch(3, drop_last=True), [[0, 1, 2], [3, 4, 5]]),
    "unbatch": (lambda: IterableWrapper([[1, 2], [3, [4]]]).unbatch(-1), [1, 2, 3, 4]),
    "group": (lambda: count().groupby(parity), [[0, 2, 4, 6], [1, 3, 5]]),
    "pairs": (
        lambda: count().groupby(parity, group_size=2),
        [[0, 2], [1, 3], [4, 6], [5]],
    ),
    "zip": (lambda: count(3).zip(IterableWrapper("ab")), [(0, "a"), (1, "b")]),
    "mux": (lambda: count(3).mux(IterableWrapper("ab")), [0, "a", 1, "b"]),
    "concat": (lambda: count(2).concat(IterableWrapper("ab")), [0, 1, "a", "b"]),
    "filter": (lambda: count(5).filter(is_even), [0, 2, 4]),
    "column": (
        lambda: IterableWrapper([(1, 2), (3, 4)]).map(plus_one, 0, -1),
        [(1, 2, 2), (3, 4, 4)],
    ),
    "columns": (lambda: IterableWrapper([(1, 2)]).map(max, [0, 1]), [(2,)]),
    "key": (
        lambda: IterableWrapper([{"a": 1}]).map(plus_one, "a", "b"),
        [{"a": 1, "b": 2}],
    ),
    "shuffle": (
        lambda: count(10).shuffle().set_seed(0),
        [6, 7, 0, 3, 8, 5, 9, 2, 4, 1],
    ),
    "buffer": (
        lambda: count(10).shuffle(buffer_size=3).set_seed(0),
        [1, 3, 0, 4, 2, 6, 8, 9, 7, 5],
    ),
    "still": (lambda: count(4).shuffle().set_shuffle(False), [0, 1, 2, 3]),
    "indexed": (
        lambda: SequenceWrapper([1, 2, 3]).map(plus_one).shuffle().set_seed(0),
        [2, 4, 3],
    ),
    "rows": (lambda: SequenceWrapper([1, 2, 3]).batch(2), [[1, 2], [3]]),
    "joined": (
        lambda: SequenceWrapper("ab").concat(SequenceWrapper("c")),
        ["a", "b", "c"],
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_pipes_give_their_samples(name):
    make, expected = MADE[name]
    pipe = make()
    is_indexed = not isinstance(pipe, IterDataPipe)
    actual = [pipe[k] for k in range(len(pipe))] if is_indexed else pipe
    assert list(actual) == expected


def test_children_of_a_pipe_share_what_it_reads():
    first, second = count(5).fork(2)
    assert list(first) == list(second) == [0, 1, 2, 3, 4] and len(first) == 5
    even, odd = count(5).demux(2, parity)
    assert (list(even), list(odd)) == ([0, 2, 4], [1, 3])
    narrow, _ = count(9).fork(2, buffer_size=3)
    with pytest.raises(BufferError, match="buffer_size"):
        list(narrow)


def test_a_new_iterator_makes_the_one_before_invalid():
    pipe = count()
    before = iter(pipe)
    assert next(before) == 0
    assert list(pipe) == [0, 1, 2, 3, 4, 5, 6]
    with pytest.raises(RuntimeError, match="invalidated"):
        next(before)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: count().batch(0), AssertionError),
        (lambda: count().concat(3), TypeError),
        (lambda: list(count().filter(plus_one)), ValueError),
        (lambda: len(IterableWrapper(iter([1]))), TypeError),
        (lambda: list(count().demux(2, plus_one)[0]), ValueError),
        (lambda: count().no_such_pipe, AttributeError),
        (lambda: SequenceWrapper("ab").zip(3), TypeError),
    ],
)
def test_wrong_use_is_refused(make, kind):
    with pytest.raises(kind):
        make()


def test_lambdas_are_warned_of():
    with pytest.warns(UserWarning, match="Lambda function"):
        count().map(lambda x: x)


def test_a_class_becomes_a_method_of_pipes():
    @functional_datapipe("doubled_in_a_test")
    class Doubled(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for x in self.source:
                yield 2 * x

    assert list(count(3).doubled_in_a_test()) == [0, 2, 4]
    with pytest.raises(Exception, match="already"):
        functional_datapipe("map")(Doubled)


def test_pipes_behind_a_pipe_are_found_and_reported():
    pipe = count(10).shuffle().sharding_filter().map(plus_one)
    kinds = [type(p).__name__ for p in get_all_graph_pipes(traverse_dps(pipe))]
    assert kinds == [
        "MapperIterDataPipe",
        "ShardingFilterIterDataPipe",
        "ShufflerIterDataPipe",
        "IterableWrapperIterDataPipe",
    ]
    copies = [pickle.loads(pickle.dumps(pipe)) for _ in range(3)]
    parts = []
    for rank, copy in enumerate(copies):
        generator = torch.Generator()
        apply_random_seed(apply_sharding(copy, 3, rank), generator.manual_seed(1))
        parts.append(list(copy))
        assert len(parts[-1]) == len(copy)
    assert sorted(itertools.chain(*parts)) == list(range(1, 11))
    with pytest.raises(RuntimeError, match="Sharding twice"):
        apply_sharding(pipe.sharding_filter(), 2, 0)


@pytest.mark.parametrize(
    ("workers", "first"),
    [
        (0, [[2, 3, 10], [1, 11, 9], [12, 5, 7], [8, 6, 4]]),
        (2, [[2, 10, 11], [3, 1, 9], [12, 7, 6], [5, 8, 4]]),
    ],
)
def test_a_loader_shuffles_and_shards_pipes(workers, first):
    torch.manual_seed(3)
    pipe = count(12).shuffle().sharding_filter().map(plus_one)
    loader = DataLoader(pipe, batch_size=3, num_workers=workers)
    passes = [[batch.tolist() for batch in loader] for _ in range(2)]
    assert passes[0] == first != passes[1]
    assert sorted(itertools.chain(*passes[1])) == list(range(1, 13))


def test_a_loader_switches_shuffling():
    still = DataLoader(count(4).shuffle(), batch_size=4, shuffle=False)
    assert [batch.tolist() for batch in still] == [[0, 1, 2, 3]]
    with pytest.warns(UserWarning, match="Adding one"):
        loader = DataLoader(count(50), batch_size=50, shuffle=True)
    (batch,) = loader
    assert batch.tolist() != list(range(50)) == sorted(batch.tolist())


def test_files_are_listed_opened_and_read(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    pipe = FileLister(str(tmp_path), "*.txt").open_files().read_from_stream(3)
    assert [piece for _, piece in pipe] == ["a.t", "xt", "b.t", "xt"]
