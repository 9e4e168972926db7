"""Composites of shapes: values equal NumPy's, shapes on Meta those on the CPU, ``out=``
forms the functions, and gradients follow the elements.
"""

import numpy as np
import pytest

import pellucid as torch


def matrix(*shape):
    count = int(np.prod(shape))
    return torch.arange(count, dtype=torch.float64).reshape(shape) + 1


A, B, V, CUBE = matrix(2, 3), matrix(2, 3) * 10, matrix(3), matrix(2, 3, 4)

# name: (arguments, NumPy's function of the same arguments)
CASES = {
    "hstack": (([A, B],), np.hstack),
    "vstack": (([A, V],), np.vstack),
    "row_stack": (([A, V],), np.vstack),
    "dstack": (([A, B],), np.dstack),
    "column_stack": (([V, A.T],), np.column_stack),
    "concat": (([A, B], 1), np.concatenate),
    "concatenate": (([A, B], 1), np.concatenate),
    "atleast_1d": ((matrix(),), np.atleast_1d),
    "atleast_2d": ((V,), np.atleast_2d),
    "atleast_3d": ((A,), np.atleast_3d),
    "tile": ((A, (2, 1, 2)), np.tile),
    "fliplr": ((A,), np.fliplr),
    "flipud": ((A,), np.flipud),
    "rot90": ((CUBE, 3, (1, 2)), np.rot90),
    "moveaxis": ((CUBE, 0, 2), np.moveaxis),
    "movedim": ((CUBE, (0, 1), (2, 0)), np.moveaxis),
    "swapaxes": ((CUBE, 0, 2), np.swapaxes),
    "swapdims": ((CUBE, 0, 2), np.swapaxes),
    "ravel": ((CUBE.transpose(0, 1),), np.ravel),
    "broadcast_to": ((V, (2, 3)), np.broadcast_to),
    "diagflat": ((A, 1), np.diagflat),
    "repeat_interleave": ((A, 2, 1), np.repeat),
    "hsplit": ((CUBE, 3), np.hsplit),
    "vsplit": ((CUBE, (1,)), np.vsplit),
    "dsplit": ((CUBE, (1, 3)), np.dsplit),
    "tensor_split": ((CUBE, 3, 2), np.array_split),
    "broadcast_tensors": (([A, V],), lambda given: np.broadcast_arrays(*given)),
}


def mapped(change, arguments):
    """The arguments with their tensors changed."""
    if isinstance(arguments, torch.Tensor):
        return change(arguments)
    if isinstance(arguments, list | tuple):
        return type(arguments)(mapped(change, a) for a in arguments)
    return arguments


def parts(results):
    return list(results) if isinstance(results, list | tuple) else [results]


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name):
    arguments, expected = CASES[name]
    actual = parts(getattr(torch, name)(*arguments))
    wanted = parts(expected(*mapped(lambda t: t.numpy(), arguments)))
    assert len(actual) == len(wanted)
    for ours, theirs in zip(actual, wanted, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize("name", CASES)
def test_meta_has_the_shapes(name):
    arguments, _ = CASES[name]
    function = getattr(torch, name)
    there = function(*mapped(lambda t: t.to("meta"), arguments))
    for here, meta in zip(parts(function(*arguments)), parts(there), strict=True):
        assert meta.is_meta
        assert (meta.shape, meta.dtype) == (here.shape, here.dtype)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    arguments, _ = CASES[name]
    actual = []
    mapped(lambda t: actual.append(t.clone().requires_grad_()), arguments)

    def of_tensors(*tensors):
        inputs = iter(tensors)
        results = getattr(torch, name)(*mapped(lambda _: next(inputs), arguments))
        return tuple(parts(results))

    assert torch.autograd.gradcheck(of_tensors, tuple(actual))


# name: arguments of forms that have an ``out=`` tensor
WITH_OUT = {
    **{name: CASES[name][0] for name in ("hstack", "vstack", "dstack", "concat")},
    "column_stack": ([V, A.T],),
    "block_diag": ([A, V],),
    "rot90": (CUBE, 1, (0, 2)),
    "alias_copy": (A,),
    "diagonal_copy": (CUBE, 1, 0, 2),
    "expand_copy": (V, (2, 3)),
    "narrow_copy": (A, 1, 1, 2),
    "permute_copy": (CUBE, (2, 0, 1)),
    "select_copy": (A, 0, 1),
    "slice_copy": (CUBE, 2, 1, 4, 2),
    "squeeze_copy": (matrix(2, 1),),
    "t_copy": (A,),
    "transpose_copy": (CUBE, 0, 2),
    "unfold_copy": (V, 0, 2, 1),
    "unsqueeze_copy": (A, 1),
    "view_copy": (A, (3, 2)),
    "detach_copy": (A,),
    "as_strided_copy": (CUBE, (2, 2), (3, 1), 1),
    "as_strided_scatter": (CUBE, A[:, :2], (2, 2), (3, 1), 1),
    "zeros": ((2, 3),),
    "full": ((2, 3), 7),
    "eye": (3,),
    "arange": (1, 9, 2),
    "linspace": (0, 1, 5),
    "range": (1, 3, 0.5),
}


@pytest.mark.filterwarnings("ignore:torch.range")
@pytest.mark.parametrize("name", WITH_OUT)
def test_out_is_filled(name):
    arguments = WITH_OUT[name]
    function = getattr(torch, name)
    expected = function(*arguments)
    for out in (torch.empty(0), torch.full(expected.shape, -1.0)):
        out = out.to(expected.dtype)
        assert function(*arguments, out=out) is out
        assert torch.equal(out, expected)


@pytest.mark.parametrize("name", [n for n in WITH_OUT if n.endswith("_copy")])
def test_copies_share_no_memory(name):
    first, *rest = WITH_OUT[name]
    source = first.clone()
    copied = getattr(torch, name)(source, *rest)
    before = copied.clone()
    source.fill_(-1)
    assert torch.equal(copied, before)
    assert copied.is_contiguous()


@pytest.mark.parametrize("name", ["split", "split_with_sizes", "unbind"])
def test_copies_of_parts_are_written_to_out(name):
    source = matrix(4, 3)
    arguments = {"split": (2,), "split_with_sizes": ([1, 3],), "unbind": (1,)}[name]
    views = getattr(source, name)(*arguments)
    out = [torch.empty(0, dtype=source.dtype) for _ in views]
    copy = getattr(torch, f"{name}_copy")
    assert copy(source, *arguments, out=out) is None
    result = copy(source, *arguments)
    for view, written, copied in zip(views, out, result, strict=True):
        assert torch.equal(view, written)
        assert torch.equal(view, copied)
        assert copied.data_ptr() != view.data_ptr()
    with pytest.raises(RuntimeError, match="parts"):
        copy(source, *arguments, out=out[:1])


FACTORIES = {
    "zeros": ((3,),),
    "ones": ((3,),),
    "full": ((3,), 2),
    "arange": (3,),
    "rand": ((3,),),
    "randn": ((3,),),
    "randint": (5, (3,)),
    "randperm": (3,),
    "empty": ((3,),),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_compute_in_the_dtype_of_out(name):
    out = torch.full((3,), -1, dtype=torch.float64)
    function = getattr(torch, name)
    result = function(*FACTORIES[name], out=out, dtype=torch.float64, device="cpu")
    assert result is out
    assert out.dtype is torch.float64
    with pytest.raises(RuntimeError, match="dtype"):
        function(*FACTORIES[name], out=out, dtype=torch.float32)
    with pytest.raises(RuntimeError, match="device"):
        function(*FACTORIES[name], device="meta", out=out)


def test_what_makes_no_tensors_takes_no_options_beside_out():
    with pytest.raises(TypeError):
        torch.add(A, B, out=torch.empty_like(A), dtype=torch.float64)


def test_options_of_out_may_ask_for_gradients():
    assert torch.zeros(3, requires_grad=True, out=torch.empty(3)).requires_grad


@pytest.mark.parametrize("name", ["rand", "randn", "randperm"])
def test_out_and_generators_give_the_same_draws(name):
    size = 4 if name == "randperm" else (4,)
    function = getattr(torch, name)
    dtype = torch.int64 if name == "randperm" else torch.float32

    def drawn(**options):
        generator = torch.Generator().manual_seed(3)
        return function(size, generator=generator, **options)

    assert torch.equal(drawn(), drawn(out=torch.empty(0, dtype=dtype)))


def test_repeated_places():
    counts = torch.tensor([2, 0, 3])
    assert torch.repeat_interleave(counts).tolist() == [0, 0, 2, 2, 2]
    assert torch.repeat_interleave(V, counts).tolist() == [1, 1, 3, 3, 3]
    assert torch.repeat_interleave(V, counts, output_size=5).numel() == 5
    with pytest.raises(RuntimeError, match="output_size"):
        torch.repeat_interleave(V, counts, output_size=4)
    with pytest.raises(RuntimeError, match="negative"):
        torch.repeat_interleave(V, -counts)


def test_a_tensor_says_where_to_narrow_and_split():
    assert V.narrow(0, torch.tensor(1), 2).tolist() == [2, 3]
    pieces = torch.tensor_split(V, torch.tensor([1]))
    assert [p.tolist() for p in pieces] == [[1], [2, 3]]


def test_a_file_is_read_and_shared(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
    private = torch.from_file(str(path), size=3)
    assert private.tolist() == [0, 1, 2]
    private.fill_(9)
    shared = torch.from_file(str(path), shared=True, size=4)
    assert shared.tolist() == [0, 1, 2, 3]
    shared[0] = 5
    assert torch.from_file(str(path), size=1).tolist() == [5]
    result = torch.from_file(str(tmp_path / "new"), shared=True, size=6)
    assert (result.tolist(), (tmp_path / "new").stat().st_size) == ([0] * 6, 24)
    for name in ("absent", "numbers"):
        with pytest.raises(RuntimeError, match="from_file"):
            torch.from_file(str(tmp_path / name), size=100)


def test_set_takes_a_part_of_memory():
    x = torch.empty(0, dtype=torch.float64)
    x.set_(A, 1, (2, 2), (2, 1))
    assert x.tolist() == [[2, 3], [4, 5]]
    assert x.data_ptr() == A.data_ptr() + 8


def test_runs_of_slices_are_numbered_and_counted():
    x = torch.tensor([[1, 2], [1, 2], [3, 4], [1, 2]])
    actual = torch.ops.aten.unique_dim_consecutive(x, 0)
    assert [part.tolist() for part in actual] == [
        [[1, 2], [3, 4], [1, 2]],
        [0, 0, 1, 2],
        [2, 1, 1],
    ]
