"""Indices into scalars and vectors of one element are checked like any others, and
sources that are too short are refused.
"""

import pytest

import pellucid as torch

SCALARS_AND_VECTORS = (5.0, [5.0])
WRITES = {
    "scatter": lambda x, i, s: x.scatter(0, i, s),
    "scatter of a number": lambda x, i, s: x.scatter(0, i, 2.0),
    "scatter multiply": lambda x, i, s: x.scatter(0, i, s, reduce="multiply"),
    "scatter_add": lambda x, i, s: x.scatter_add(0, i, s),
    "scatter_add_": lambda x, i, s: x.clone().scatter_add_(0, i, s),
    "scatter_reduce sum": lambda x, i, s: x.scatter_reduce(0, i, s, "sum"),
    "scatter_reduce mean": lambda x, i, s: x.scatter_reduce(0, i, s, "mean"),
    "scatter_reduce amax": lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
    "index_add": lambda x, i, s: x.index_add(0, i, s),
    "index_copy": lambda x, i, s: x.index_copy(0, i, s),
}
READS = {
    "gather": lambda x, i: x.gather(0, i),
    "index_select": lambda x, i: x.index_select(0, i),
    "take": lambda x, i: x.take(i),
    "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
}


@pytest.mark.parametrize("x", SCALARS_AND_VECTORS)
@pytest.mark.parametrize("index", [1, [1], 100_000_000, [100_000_000]])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_beyond_the_only_element_raises(name, index, x):
    index = torch.tensor(index)
    with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range)"):
        WRITES[name](torch.tensor(x), index, torch.full(index.shape, 2.0))


@pytest.mark.parametrize("x", SCALARS_AND_VECTORS)
@pytest.mark.parametrize("index", [1, [1], 100_000_000, [100_000_000]])
@pytest.mark.parametrize("name", READS)
def test_a_read_beyond_the_only_element_raises(name, index, x):
    with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range)"):
        READS[name](torch.tensor(x), torch.tensor(index))


@pytest.mark.parametrize("index", [0, [0]])
@pytest.mark.parametrize("name", [name for name in WRITES if "number" not in name])
def test_an_empty_source_is_refused(name, index):
    with pytest.raises((IndexError, RuntimeError)):
        WRITES[name](torch.tensor(5.0), torch.tensor(index), torch.tensor([]))


@pytest.mark.parametrize("index", [0, [0]])
@pytest.mark.parametrize("x", SCALARS_AND_VECTORS)
def test_the_only_element_is_written_and_read(x, index):
    x, index = torch.tensor(x), torch.tensor(index)
    source = torch.full(index.shape, 2.0)
    results = {name: write(x, index, source) for name, write in WRITES.items()}
    assert {name: y.sum().item() for name, y in results.items()} == {
        **dict.fromkeys(("scatter", "scatter of a number", "index_copy"), 2.0),
        **dict.fromkeys(("scatter_add", "scatter_add_", "index_add"), 7.0),
        "scatter multiply": 10.0,
        "scatter_reduce sum": 7.0,
        "scatter_reduce mean": 3.5,
        "scatter_reduce amax": 5.0,
    }
    assert all(y.shape == x.shape for y in results.values())
    assert x.gather(0, index).tolist() == torch.full(index.shape, 5.0).tolist()


def test_gradients_of_scalars_that_are_gathered():
    x = torch.tensor(3.0, requires_grad=True)
    (
        x.gather(0, torch.tensor([0, 0, 0])) * torch.tensor([1.0, 2.0, 4.0])
    ).sum().backward()
    assert x.grad.item() == 7.0
