"""Basic and advanced indexing, compared with NumPy's."""

import numpy as np
import pytest

import pellucid as torch

BASIC = [
    0,
    -1,
    slice(None),
    slice(1, 3),
    slice(None, None, 2),
    slice(5, 2),
    None,
    Ellipsis,
    (0, 1),
    (slice(None), 1),
    (Ellipsis, 0),
    (None, 0, Ellipsis, None),
    (slice(1, None), slice(0, 2), -1),
    (),
]
ADVANCED = [
    [0, 2],
    ([0, 1], [1, 2]),
    (slice(None), [0, 1]),
    ([0, 1], slice(None), [1, 0]),
    [[0, 1], [1, 2]],
    (0, [1, 2]),
    [True, False, True],
]


def pair():
    array = np.arange(24.0).reshape(3, 4, 2)
    return array, torch.from_numpy(array.copy())


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_indexing_gives_views(key):
    array, tensor = pair()
    result = tensor[key]
    assert result.tolist() == array[key].tolist() and result.shape == array[key].shape
    if result.numel():
        offset = array[key].__array_interface__["data"][0] - array.ctypes.data
        assert result.data_ptr() == tensor.data_ptr() + offset


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_recorded_basic_indexing_is_the_same(key):
    array, tensor = pair()
    result = tensor.requires_grad_()[key]
    assert result.tolist() == array[key].tolist()
    assert result.grad_fn is not None


@pytest.mark.parametrize("key", ADVANCED, ids=str)
def test_advanced_indexing(key):
    array, tensor = pair()
    expected = array[np.array(key) if isinstance(key, list) else key]
    assert tensor[torch.tensor(key) if isinstance(key, list) else key].tolist() == (
        expected.tolist()
    )


@pytest.mark.parametrize("key", [*BASIC, *ADVANCED], ids=str)
def test_assignment_of_a_number(key):
    array, tensor = pair()
    place = np.array(key) if isinstance(key, list) else key
    array[place] = -1
    tensor[torch.tensor(key) if isinstance(key, list) else key] = -1
    assert tensor.tolist() == array.tolist()


def test_masks():
    array, tensor = pair()
    assert tensor[tensor > 5].tolist() == array[array > 5].tolist()
    tensor[tensor > 5] = 0.0
    assert tensor.sum().item() == 15.0


@pytest.mark.parametrize(
    "key",
    [
        1,
        (1, torch.tensor([True, False, True, True])),
        torch.tensor([2, 0]),
        (torch.tensor([1, 2, 0]), torch.tensor([3, 2, 0])),
        torch.arange(12).reshape(3, 4) % 2 == 0,
    ],
)
def test_assigned_values_may_have_more_leading_dims_of_size_1(key):
    x, expected = torch.zeros(3, 4), torch.zeros(3, 4)
    value = torch.arange(1.0, 1 + expected[key].numel()).reshape(expected[key].shape)
    expected[key] = value
    x[key] = value[None, None]
    assert torch.equal(x, expected)


def test_assignment_of_a_tensor_broadcasts():
    _, tensor = pair()
    tensor[1] = torch.tensor([7.0, 8.0], dtype=torch.float64)
    assert tensor[1, 3].tolist() == [7.0, 8.0]
    tensor[0, 0] = torch.ones(1, 1, 2, dtype=torch.float64)
    assert tensor[0, 0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 0, 0, 0), IndexError),
        (1.5, IndexError),
        ("a", TypeError),
        (slice(None, None, -1), ValueError),
        (slice(0, 1, 0), ValueError),
        ({}, IndexError),
    ],
)
def test_bad_keys_are_refused(key, error):
    _, tensor = pair()
    with pytest.raises(error):
        tensor[key]
    with pytest.raises(error):
        tensor[key] = 0


@pytest.mark.parametrize("value", ["a", [1.0, 2.0], None, {}])
def test_bad_values_are_refused(value):
    _, tensor = pair()
    with pytest.raises(TypeError):
        tensor[0] = value
    with pytest.raises(TypeError):
        del tensor[0]


def test_indices_and_masks_that_do_not_fit_together_are_refused():
    x = torch.zeros(3, 2, 1, 4)
    index = (torch.tensor([0, 1]), False, torch.tensor([[[0]]]))
    with pytest.raises(IndexError, match="broadcast"):
        x[index]
    with pytest.raises(IndexError, match="broadcast"):
        x[index] = 1


ONE_VALUE = [
    (torch.float32, torch.tensor(3)),
    (torch.float32, torch.tensor([2.0], dtype=torch.float64)),
    (torch.int64, torch.tensor(2.5)),
    (torch.bool, torch.tensor(2.5)),
    (torch.bfloat16, torch.tensor([[7]])),
]


@pytest.mark.parametrize(
    ("dtype", "value"), ONE_VALUE, ids=["int", "double", "float", "truth", "half"]
)
def test_one_value_behind_a_mask_is_converted(dtype, value):
    x = torch.zeros(3, dtype=dtype)
    x[torch.tensor([True, False, True])] = value
    expected = value.to(dtype).item()
    assert x.tolist() == [expected, 0, expected]


def test_values_of_another_dtype_are_refused_elsewhere():
    mask = torch.tensor([True, False, True])
    for key, value in [
        ([1], torch.tensor(3)),
        (mask, torch.tensor([1, 2])),
        (mask, torch.tensor(3j)),
    ]:
        with pytest.raises(RuntimeError):
            torch.zeros(3)[key] = value
    with pytest.raises(RuntimeError, match="300"):
        torch.zeros(3, dtype=torch.uint8)[mask] = torch.tensor(300)


def test_masks_that_are_written_need_no_gradient():
    mask = torch.zeros(3, dtype=torch.bool)
    mask[:] = torch.ones(3, requires_grad=True) * 2
    assert mask.tolist() == [True] * 3
    assert not mask.requires_grad


def test_a_lone_bool_assigns_to_all_or_to_nothing():
    x = torch.zeros(3)
    x[True] = torch.tensor([1, 2, 3])  # of another dtype, as a copy
    assert x.tolist() == [1, 2, 3]
    x[False] = 5
    assert x.tolist() == [1, 2, 3]
    x[True] = 7
    assert x.tolist() == [7, 7, 7]


@pytest.mark.parametrize("value", [1.0, torch.empty(5, 3, device="meta")])
def test_assignments_by_masks_need_no_data_on_meta(value):
    x = torch.empty(4, 3, device="meta")
    mask = torch.empty(4, dtype=torch.bool, device="meta")
    x[mask] = value
    added = torch.index_put(x, (mask,), x[:2], accumulate=True)
    assert added.is_meta and added.shape == (4, 3)
    with pytest.raises(IndexError, match="shape of the mask"):
        x[mask[:3]] = value
    with pytest.raises(NotImplementedError, match="which a meta tensor lacks"):
        x[mask]
