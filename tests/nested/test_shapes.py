"""Constructors, sizes, views, printing and files of nested tensors."""

import copy
import io
import pickle

import pytest

import pellucid as torch
from pellucid.serialization._format.archive import constructors
from pellucid.serialization._format.safe_pickle import Reader

VALUES = torch.arange(12.0).view(6, 2)
OFFSETS = torch.tensor([0, 2, 6])


def _jagged(**arguments):
    return torch.nested.nested_tensor_from_jagged(VALUES.clone(), OFFSETS, **arguments)


def test_sizes_of_a_jagged_tensor():
    x = _jagged()
    batch, rows, columns = x.shape
    assert (batch, columns, x.dim(), x.numel()) == (2, 2, 3, 12)
    assert isinstance(rows, torch.SymInt)
    assert rows == (x + 1).shape[1] and rows != 4 and rows >= 2
    assert rows != _jagged(lengths=torch.tensor([2, 4])).shape[1]
    assert str(x.shape).startswith("torch.Size([2, j")
    assert x.stride()[1:] == (2, 1)
    assert x.layout is torch.jagged and x.is_nested and not torch.ones(1).is_nested


def test_sizes_of_a_strided_tensor():
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    assert (x.size(0), x.size(2), x.dim(), x.numel()) == (2, 3, 3, 18)
    assert x._nested_tensor_size().tolist() == [[2, 3], [4, 3]]
    for refused in (lambda: x.shape, lambda: x.size(1), lambda: x.stride()):
        with pytest.raises(RuntimeError):
            refused()


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_constructors_copy_or_pass_gradients(layout):
    leaf = torch.ones(2, 3, requires_grad=True)
    copied = torch.nested.nested_tensor([leaf, leaf], layout=layout)
    assert not copied.requires_grad
    result = torch.nested.as_nested_tensor([leaf, leaf * 2], layout=layout)
    sum(each.sum() for each in result.unbind()).backward()
    assert leaf.grad.tolist() == [[3.0] * 3] * 2


def test_examples_are_views():
    x = _jagged()
    x.unbind()[1].zero_()
    assert x.values()[2:].sum() == 0 and x[0].tolist() == VALUES[:2].tolist()


def test_holes_are_left_out():
    x = _jagged(lengths=torch.tensor([1, 3]))
    assert [len(each) for each in x.unbind()] == [1, 3]
    assert x.sum(1).tolist() == [[0.0, 1.0], [18.0, 21.0]]
    assert x.sum() == 40 and not x.is_contiguous()
    assert x.numel() == 8 and x.lengths().tolist() == [1, 3]


def test_a_ragged_dim_that_is_not_the_second():
    x = torch.nested.nested_tensor_from_jagged(VALUES.t(), OFFSETS, jagged_dim=2)
    assert [tuple(each.shape) for each in x.unbind()] == [(2, 2), (2, 4)]
    assert x.sum(2).tolist() == [[2.0, 4.0], [28.0, 32.0]]


def test_narrow_and_masked_select():
    dense = torch.arange(20.0).view(2, 5, 2)
    starts, lengths = torch.tensor([0, 1]), torch.tensor([2, 3])
    x = torch.nested.narrow(dense, 1, starts, lengths, layout=torch.jagged)
    assert [e.tolist() for e in x.unbind()] == [
        dense[0, :2].tolist(),
        dense[1, 1:4].tolist(),
    ]
    mask = torch.tensor([[True, False, True], [False, True, False]])
    picked = torch.nested.masked_select(torch.arange(6.0).view(2, 3), mask)
    assert [e.tolist() for e in picked.unbind()] == [[0.0, 2.0], [4.0]]


def test_padding_and_its_gradient():
    values = VALUES.clone().requires_grad_()
    x = torch.nested.nested_tensor_from_jagged(values, OFFSETS)
    padded = torch.nested.to_padded_tensor(x, -1.0, (2, 5, 2))
    assert padded.shape == (2, 5, 2) and padded[0, 2:].unique().tolist() == [-1.0]
    (padded * 3).sum().backward()
    assert values.grad.unique().tolist() == [3.0]
    assert torch.equal(x.to_padded_tensor(-1.0, (9, 2, 2)), padded[:, :2])
    strided = torch.nested.nested_tensor([VALUES[:2], VALUES[2:]])
    with pytest.raises(RuntimeError, match="padded size"):
        strided.to_padded_tensor(0.0, (2, 1, 2))
    with pytest.raises(NotImplementedError):
        torch.nested.to_padded_tensor(torch.ones(2), 0.0)


def test_printing():
    shown = repr(_jagged())
    assert shown.startswith("NestedTensor(size=(2, j")
    assert shown.endswith("offsets=tensor([0, 2, 6]), contiguous=True)")
    strided = torch.nested.nested_tensor([[1, 2], [3]])
    assert repr(strided) == "nested_tensor([\n  tensor([1, 2]),\n  tensor([3])\n])"


def _saved(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize(
    "through", [_saved, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_copies_and_files(through, layout):
    x = torch.nested.nested_tensor(list(VALUES.split([2, 4])), layout=layout)
    actual = through(x)
    assert actual.layout is layout
    assert [e.tolist() for e in actual.unbind()] == [e.tolist() for e in x.unbind()]
    actual.unbind()[0].zero_()
    assert x.unbind()[0].sum() == 6


REFUSED = {
    "no list": (TypeError, lambda: torch.nested.nested_tensor(3)),
    "ranks": (
        RuntimeError,
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)]),
    ),
    "no offsets": (
        RuntimeError,
        lambda: torch.nested.nested_tensor_from_jagged(VALUES),
    ),
    "outside": (
        RuntimeError,
        lambda: torch.nested.nested_tensor_from_jagged(VALUES, torch.tensor([0, 9])),
    ),
    "backwards": (
        RuntimeError,
        lambda: torch.nested.nested_tensor_from_jagged(VALUES, torch.tensor([4, 2, 6])),
    ),
    "list of values": (
        TypeError,
        lambda: torch.nested.nested_tensor_from_jagged([1.0], OFFSETS),
    ),
    "size plus one": (NotImplementedError, lambda: _jagged().shape[1] + 1),
    "order of sizes": (ValueError, lambda: _jagged().shape[1] > 3),
    "vmap over rows": (
        RuntimeError,
        lambda: torch.func.vmap(lambda x: x.sum(), in_dims=1)(_jagged()),
    ),
    "value in vmap": (
        RuntimeError,
        lambda: torch.func.vmap(lambda x: x * x.sum().item())(_jagged()),
    ),
    "batch moved": (ValueError, lambda: _jagged().transpose(0, 1)),
    "ragged cat": (RuntimeError, lambda: torch.cat([_jagged()] * 2, 1)),
    "ragged flatten": (RuntimeError, lambda: _jagged().flatten(1, 2)),
    "ragged slice": (RuntimeError, lambda: _jagged()[:, 0]),
    "dim": (IndexError, lambda: _jagged().sum(7)),
    "memory": (RuntimeError, lambda: _jagged().numpy()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    error, call = REFUSED[name]
    with pytest.raises(error):
        call()


def _ragged_dims(tensor):
    return [d for d, n in enumerate(tensor.shape) if isinstance(n, torch.SymInt)]


def test_the_reader_passes_over_what_a_compiler_knew_of_a_dim():
    range_of_a_dim = (
        b"\x80\x02}X\x05\x00\x00\x00marksc__builtin__\nset\n"
        b"]ctorch._dynamo.decorators\n_DimRange\n)\x81](K\x00NNeba\x85Rs."
    )
    reader = Reader(constructors(), persistent_load=None, allowed={})
    (mark,) = reader.load(range_of_a_dim)["marks"]
    assert type(mark).__name__ == "Unread" and not vars(mark)


F = torch.nn.functional
KERNEL = torch.ones(3, 3, 2)
# Ops whose results have a dim of 3 that is not ragged, or none that is; the ragged dims
# of the result for examples (rows, 3, 3).
LENGTHS = {
    "shorter": (lambda t: t.diff(dim=1), [1]),
    "longer": (lambda t: F.pad(t, (0, 0, 0, 0, 1, 1)), [1]),
    "convolved": (lambda t: F.conv1d(t[:, :, 0].transpose(1, 2), KERNEL), [2]),
    "product over rows": (
        lambda t: t[:, :, 0].transpose(1, 2) @ t[:, :, 0],
        [],
    ),
    "product of rows": (lambda t: t[:, :, 0] @ torch.ones(3, 3), [1]),
    "nonzero": (lambda t: torch.argwhere(t), [1]),
    "repeated": (lambda t: t.repeat_interleave(2, 2), [1]),
    "quantiles": (lambda t: t.quantile(torch.tensor([0.1, 0.5, 0.9]), 1), []),
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("lengths", [(3,), (3, 3), (2, 4), (3, 4)])
def test_which_dim_is_ragged_does_not_depend_on_the_lengths(name, lengths):
    function, expected = LENGTHS[name]
    examples = [torch.rand(n, 3, 3) + 1 for n in lengths]
    actual = function(torch.nested.nested_tensor(examples, layout=torch.jagged))
    assert _ragged_dims(actual) == expected and actual.is_nested == bool(expected)
    for example, part in zip(examples, actual.unbind(), strict=True):
        alone = torch.nested.nested_tensor([example], layout=torch.jagged)
        torch.testing.assert_close(part, function(alone)[0])


ORDERS = [
    (lambda t: t.movedim(1, 2), 2),
    (lambda t: t.movedim((1, 2), (3, 1)), 3),
    (lambda t: t.swapaxes(1, 2), 2),
    (lambda t: t.transpose(1, 3), 3),
    (lambda t: t.rot90(1, (1, 2)), 2),
    (lambda t: t.flip(2), 1),
    (lambda t: t.cumsum(2), 1),
    (lambda t: t.mT, 1),
]


@pytest.mark.parametrize(("function", "axis"), ORDERS)
@pytest.mark.parametrize("lengths", [(3,), (3, 3), (2, 4)])
def test_the_ragged_dim_is_found_where_other_dims_have_its_size(
    function, axis, lengths
):
    examples = [torch.randn(n, 3, 3) for n in lengths]
    actual = function(torch.nested.nested_tensor(examples, layout=torch.jagged))
    assert _ragged_dims(actual) == [axis]
    for example, part in zip(examples, actual.unbind(), strict=True):
        torch.testing.assert_close(part, function(example[None])[0])


def test_jagged_tensors_have_one_dtype_and_as_many_lengths_as_examples():
    mixed = [torch.ones(2), torch.ones(3).int()]
    for made in (torch.nested.nested_tensor, torch.nested.as_nested_tensor):
        with pytest.raises(RuntimeError, match="one dtype"):
            made(mixed, layout=torch.jagged)
    assert torch.nested.nested_tensor(mixed).dtype is torch.float32
    with pytest.raises(AssertionError, match="1 lengths with 3 offsets"):
        torch.nested.nested_tensor_from_jagged(
            torch.ones(4, 3), torch.tensor([0, 2, 4]), lengths=torch.tensor([1])
        )
