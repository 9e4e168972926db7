"""Datasets, samplers, collation, DataLoader; orders are PyTorch 2.13's for a seed."""

from collections import namedtuple

import numpy
import pytest

import pellucid as torch
from pellucid.utils import data

Pair = namedtuple("Pair", "left right")


class Squares(data.Dataset):
    def __init__(self, length):
        self.length = length

    def __getitem__(self, index):
        if not 0 <= index < self.length:
            raise IndexError(index)
        return index, float(index**2)

    def __len__(self):
        return self.length


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(7))

    def __len__(self):
        return 7


def values(loader):
    return [batch.tolist() for batch in loader]


def rows(count):
    return data.TensorDataset(torch.arange(count))


def test_tensor_datasets_index_all_tensors():
    dataset = data.TensorDataset(torch.arange(3), torch.arange(6).view(3, 2))
    assert len(dataset) == 3
    assert [t.tolist() for t in dataset[1]] == [1, [2, 3]]
    with pytest.raises(AssertionError):
        data.TensorDataset(torch.arange(3), torch.arange(4))


def test_datasets_are_joined_and_stacked():
    joined = Squares(2) + Squares(3)
    assert len(joined) == 5 and joined[-1] == (2, 4.0) and joined[2] == (0, 0.0)
    with pytest.raises(ValueError):
        joined[-6]
    assert data.StackDataset(Squares(2), Squares(2))[1] == ((1, 1.0), (1, 1.0))
    named = data.StackDataset(a=Squares(2), b=Squares(2))
    assert named.__getitems__([1]) == [{"a": (1, 1.0), "b": (1, 1.0)}]
    assert list(Stream() + Stream()) == [*range(7), *range(7)]
    with pytest.raises(ValueError):
        data.StackDataset(Squares(2), Squares(3))
    with pytest.raises(AssertionError):
        data.ConcatDataset([Stream()])


def test_subsets_must_override_both_ways_of_indexing():
    class Half(data.Subset):
        def __getitem__(self, index):
            return 0

    with pytest.raises(NotImplementedError, match="__getitems__"):
        Half(Squares(3), [0])


def test_random_split_by_fractions_and_lengths():
    torch.manual_seed(0)
    parts = data.random_split(Squares(7), [0.5, 0.5])
    assert [part.indices for part in parts] == [[4, 0, 5, 3], [2, 6, 1]]
    assert [len(p) for p in data.random_split(Squares(7), [2, 5])] == [2, 5]
    with pytest.raises(ValueError):
        data.random_split(Squares(7), [1, 2])
    with pytest.warns(UserWarning, match="empty"):
        data.random_split(Squares(1), [0.5, 0.5])


def test_samplers_draw_pytorchs_orders():
    torch.manual_seed(0)
    assert list(data.RandomSampler(range(8))) == [2, 5, 4, 6, 1, 7, 0, 3]
    assert list(data.RandomSampler(range(8), True, 5)) == [2, 3, 5, 6, 5]
    assert list(data.SubsetRandomSampler(range(5))) == [3, 4, 0, 1, 2]
    weighted = data.WeightedRandomSampler([1, 2, 3, 0], 6)
    assert list(weighted) == [2, 2, 1, 1, 2, 1]


def test_batches_of_indices():
    sampler = data.SequentialSampler(range(5))
    assert list(data.BatchSampler(sampler, 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(sampler, 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(sampler, 2, False)) == 3
    for bad in (0, -1, True, 2.0):
        with pytest.raises(ValueError):
            data.BatchSampler(sampler, bad, False)


def test_shuffled_loading_is_pytorchs():
    torch.manual_seed(0)
    loader = data.DataLoader(rows(7), 3, shuffle=True)
    assert [batch.tolist() for (batch,) in loader] == [[0, 4, 1], [5, 2, 6], [3]]


def test_a_generator_fixes_the_order():
    def order():
        generator = torch.Generator().manual_seed(3)
        loader = data.DataLoader(rows(7), 7, shuffle=True, generator=generator)
        return [batch.tolist() for (batch,) in loader]

    assert order() == order()


def test_loading_in_order_with_and_without_batches():
    loader = data.DataLoader(Squares(3), 2)
    assert [[t.tolist() for t in batch] for batch in loader] == [
        [[0, 1], [0.0, 1.0]],
        [[2], [4.0]],
    ]
    assert len(loader) == 2
    assert list(data.DataLoader(Squares(2), None)) == [[0, 0.0], [1, 1.0]]
    assert len(data.DataLoader(Squares(3), 2, drop_last=True)) == 1


def test_streams_are_batched():
    loader = data.DataLoader(Stream(), 3)
    assert values(loader) == [[0, 1, 2], [3, 4, 5], [6]] and len(loader) == 3
    assert values(data.DataLoader(Stream(), 3, drop_last=True)) == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    assert list(data.DataLoader(Stream(), None)) == list(range(7))
    with pytest.raises(ValueError):
        data.DataLoader(Stream(), 3, shuffle=True)


def test_collation_keeps_structures():
    batch = data.default_collate(
        [
            {"t": torch.ones(2), "f": 1.5, "s": "a", "p": Pair(1, [2]), "b": True},
            {"t": torch.zeros(2), "f": 2.5, "s": "b", "p": Pair(3, [4]), "b": False},
        ]
    )
    assert batch["t"].shape == (2, 2)
    assert batch["f"].dtype == torch.float64
    assert batch["s"] == ["a", "b"]
    assert batch["p"].left.tolist() == [1, 3]
    assert batch["p"].right[0].tolist() == [2, 4]
    assert batch["b"].dtype == torch.bool


def test_collation_of_numpy_values():
    batch = data.default_collate(
        [(numpy.arange(2), numpy.float32(i)) for i in range(2)]
    )
    assert batch[0].tolist() == [[0, 1], [0, 1]]
    assert batch[1].tolist() == [0, 1]
    assert data.default_convert({"a": numpy.ones(2)})["a"].tolist() == [1, 1]
    with pytest.raises(TypeError):
        data.default_collate([numpy.array(["a"])])


def test_what_cannot_be_collated_is_named():
    with pytest.raises(TypeError, match="collate_fn"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="length"):
        data.default_collate([[1], [1, 2]])


def test_a_collate_fn_replaces_collation():
    assert list(data.DataLoader(Squares(3), 2, collate_fn=len)) == [2, 1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"num_workers": -1}, ValueError),
        ({"num_workers": -1}, ValueError),
        ({"batch_size": 0}, ValueError),
        ({"shuffle": True, "sampler": [0]}, ValueError),
        ({"batch_sampler": [[0]], "batch_size": 3}, ValueError),
        ({"batch_size": None, "drop_last": True}, ValueError),
        ({"prefetch_factor": 2}, ValueError),
        ({"persistent_workers": True}, ValueError),
        ({"timeout": -1}, ValueError),
    ],
)
def test_bad_options_are_refused(options, error):
    with pytest.raises(error):
        data.DataLoader(Squares(3), **options)


def test_options_are_fixed_and_pinning_warns():
    loader = data.DataLoader(Squares(3), pin_memory=True)
    with pytest.raises(ValueError, match="batch_size"):
        loader.batch_size = 2
    with pytest.warns(UserWarning, match="pin_memory"):
        next(iter(loader))


def test_there_are_no_workers():
    assert data.get_worker_info() is None


def test_the_context_of_workers_can_change():
    loader = data.DataLoader([1, 2], num_workers=1)
    assert loader.multiprocessing_context is None
    loader.multiprocessing_context = "fork"
    assert loader.multiprocessing_context == "fork"
    assert [int(x) for x in loader] == [1, 2]
    alone = data.DataLoader([1, 2])
    with pytest.raises(ValueError, match="num_workers"):
        alone.multiprocessing_context = "fork"
