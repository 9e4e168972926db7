"""Data in and out: numbers, lists, NumPy, buffers, pickles and copies."""

import copy
import pickle
import pickletools

import numpy as np
import pytest

import pellucid as torch

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
ARRAY_DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64"]


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, torch.int64, ()),
        (1.5, torch.float32, ()),
        (True, torch.bool, ()),
        (1j, torch.complex64, ()),
        ([1, 2.5], torch.float32, (2,)),
        ([True, 2], torch.int64, (2,)),
        ([[1], [2]], torch.int64, (2, 1)),
        ([], torch.float32, (0,)),
        ([[], []], torch.float32, (2, 0)),
        (range(3), torch.int64, (3,)),
        (np.float32(1), torch.float32, ()),
        ([np.int16(1)], torch.int16, (1,)),
    ],
)
def test_dtype_and_shape_follow_the_data(data, dtype, shape):
    tensor = torch.tensor(data)
    assert tensor.dtype is dtype and tensor.shape == shape


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1], [1, 2]], ValueError),
        ([1, [2]], TypeError),
        (["a"], ValueError),
        ([[1, 2], 3], TypeError),
        (object(), RuntimeError),
        (None, RuntimeError),
    ],
)
def test_bad_data_is_refused(data, error):
    with pytest.raises(error):
        torch.tensor(data)


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError):
        torch.tensor(300, dtype=torch.uint8)


@pytest.mark.parametrize("name", ARRAY_DTYPES)
def test_numpy_shares_memory_both_ways(name):
    array = np.ones((2, 3), dtype=name)
    tensor = torch.from_numpy(array)
    assert repr(tensor.dtype) == f"torch.{name}"
    array[0, 0] = 0
    assert not tensor[0, 0].item()
    back = tensor.numpy()
    assert back.dtype == array.dtype and np.shares_memory(back, array)


def test_numpy_reads_strided_tensors_without_copies():
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
    array = np.asarray(tensor)
    assert array.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert array.__array_interface__["data"][0] == tensor.data_ptr()


def test_arrays_that_no_tensor_can_be_are_refused():
    with pytest.raises(ValueError, match="negative stride"):
        torch.from_numpy(np.ones(3)[::-1])
    with pytest.raises(TypeError):
        torch.from_numpy(np.array(["a"]))
    with pytest.raises(TypeError):
        torch.from_numpy([1.0])


def test_gradients_do_not_pass_through_numpy():
    with pytest.raises(RuntimeError, match="detach"):
        torch.tensor([1.0], requires_grad=True).numpy()


def test_the_array_lives_as_long_as_the_tensor():
    tensor = torch.from_numpy(np.arange(1000.0))
    assert tensor[999].item() == 999.0


def test_frombuffer():
    buffer = bytearray(np.arange(4, dtype=np.float32).tobytes())
    tensor = torch.frombuffer(buffer, dtype=torch.float32, offset=4, count=2)
    assert tensor.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="offset"):
        torch.frombuffer(buffer, dtype=torch.float32, offset=99)


def test_elements_as_python_numbers():
    assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert torch.tensor(2.5).item() == float(torch.tensor(2.5)) == 2.5
    assert int(torch.tensor(2.9)) == 2 and [10, 11][torch.tensor(1)] == 11
    assert torch.tensor([1.5, float("inf")], dtype=torch.float16).tolist() == [
        1.5,
        float("inf"),
    ]
    assert f"{torch.tensor(1.23456):.2f}" == "1.23"


@pytest.mark.parametrize(
    ("convert", "error"),
    [
        (bool, RuntimeError),
        (int, ValueError),
        (float, ValueError),
        (lambda x: x.item(), RuntimeError),
        (lambda x: [0, 1][x], TypeError),
    ],
)
def test_several_elements_are_not_a_number(convert, error):
    with pytest.raises(error):
        convert(torch.tensor([1.0, 2.0]))


def test_zero_dimensional_tensors_have_no_length():
    with pytest.raises(TypeError):
        len(torch.tensor(1))
    with pytest.raises(TypeError):
        iter(torch.tensor(1))
    assert [row.tolist() for row in torch.tensor([[1], [2]])] == [[1], [2]]


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_keep_geometry_sharing_and_attributes(clone):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x.note = "kept"
    y = clone(x)
    assert y is not x and y.tolist() == x.tolist() and y.data_ptr() != x.data_ptr()
    assert y.requires_grad and y.note == "kept"
    base = torch.tensor([1.0, 2.0])
    twin, view = clone([base, base[1:]])
    assert view.data_ptr() == twin.data_ptr() + 4


def test_results_of_ops_are_not_deep_copied():
    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError):
        copy.deepcopy(x * x)


def test_as_tensor_and_asarray_share_what_they_can():
    x = torch.tensor([1.0])
    assert torch.as_tensor(x) is x
    array = np.ones(2)
    assert torch.as_tensor(array).data_ptr() == array.ctypes.data
    assert torch.asarray(array, copy=True).data_ptr() != array.ctypes.data


def test_dlpack_shares_memory_both_ways():
    array = np.arange(6.0).reshape(2, 3)
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == array.ctypes.data and tensor.tolist() == array.tolist()
    back = np.from_dlpack(tensor.t())
    assert back.tolist() == array.T.tolist() and np.shares_memory(back, array)
    capsule = tensor.__dlpack__()
    torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="once"):
        torch.from_dlpack(capsule)


def test_a_view_of_another_width():
    x = torch.arange(12, dtype=torch.int32).view(2, 6)
    halves = x.view(torch.int16)
    assert halves.shape == (2, 12)
    assert halves.stride() == (12, 1)
    halves[0, 0] = 7
    assert x[0, 0] == 7
    pairs = x[:, 2:].view(torch.int64)
    assert pairs.shape == (2, 2)
    assert pairs.storage_offset() == 1
    assert pairs[0, 0] == 2 + (3 << 32)
    assert torch.equal(x.view(torch.uint8).view(torch.int32), x)
    for refused in (x.t(), x[:, 1:], x[:, ::2], x[0, 0]):
        with pytest.raises(RuntimeError, match="last dim"):
            refused.view(torch.int64)


@pytest.mark.parametrize(
    ("shape", "counts"), [((3,), (1,)), ((1, 3), (2, 1)), ((2, 3), (4, 1, 1)), ((), ())]
)
def test_repeated_elements_have_memory_of_their_own(shape, counts):
    x = torch.zeros(shape)
    result = x.repeat(counts)
    result.fill_(1)
    assert not x.any()
    assert result.is_contiguous()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_lists_of_numpy_s_numbers_have_numpy_s_dtype(dtype):
    number = np.dtype(dtype).type(0.5)
    expected = getattr(torch, dtype)
    assert torch.tensor([number]).dtype == expected
    assert torch.tensor([1, number]).dtype == expected
    assert torch.tensor([[number, 2], [1e10, 3]]).dtype == torch.promote_types(
        expected, torch.float32
    )
    assert torch.tensor([np.float64(0.5), 1.0]).dtype == torch.float64


def test_pickles_name_a_module_that_stays():
    """Files move inside the package; the pickles of today are read all the same."""
    pickled = pickle.dumps(torch.ones(2))
    named = {str(argument) for _, argument, _ in pickletools.genops(pickled)}
    assert "pellucid._tensor" in named
    assert not [name for name in named if name.startswith("pellucid._tensor.")]
