"""Indices of rows that begin together, and of every element."""

import numpy as np
import pytest

import pellucid as torch


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows_begin_where_counts_say(dtype):
    rows = np.sort(np.random.default_rng(0).integers(0, 20, 137))
    actual = torch._convert_indices_from_coo_to_csr(torch.tensor(rows, dtype=dtype), 20)
    expected = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=20))])
    np.testing.assert_array_equal(actual.numpy(), expected)
    assert actual.dtype is torch.int64


def test_empty_rows_and_other_dtypes():
    rows = torch.tensor([0, 0, 2, 3])
    actual = torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True)
    assert actual.dtype is torch.int32
    assert actual.tolist() == [0, 2, 2, 3, 4, 4]
    assert torch._convert_indices_from_coo_to_csr(rows[:0], 3).tolist() == [0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="supposed to be a vector"):
        torch._convert_indices_from_coo_to_csr(rows[None], 5)
    with pytest.raises(NotImplementedError, match="int32 or int64"):
        torch._convert_indices_from_coo_to_csr(rows.float(), 5)


def test_every_element_has_its_row():
    crow, columns = torch.tensor([0, 2, 2, 3]), torch.tensor([1, 0, 2])
    convert = torch._convert_indices_from_csr_to_coo
    assert convert(crow, columns).tolist() == [[0, 0, 2], [1, 0, 2]]
    assert convert(crow, columns, transpose=True).tolist() == [[1, 0, 2], [0, 0, 2]]
    assert convert(crow, columns, out_int32=True).dtype is torch.int32
    assert convert(crow, columns.int()).tolist() == [[0, 0, 2], [1, 0, 2]]
    with pytest.raises(RuntimeError, match="same dimensionality"):
        convert(crow[None], columns)


def test_batches_come_first():
    crow = torch.tensor([[0, 2, 2, 3], [0, 1, 1, 3]])
    columns = torch.tensor([[1, 0, 2], [0, 1, 2]])
    actual = torch._convert_indices_from_csr_to_coo(crow, columns)
    assert actual.tolist() == [
        [0, 0, 0, 1, 1, 1],
        [0, 0, 2, 0, 2, 2],
        [1, 0, 2, 0, 1, 2],
    ]
    deeper = torch._convert_indices_from_csr_to_coo(crow[:, None], columns[:, None])
    assert deeper.tolist() == [actual.tolist()[0], [0] * 6, *actual.tolist()[1:]]


def test_both_directions_meet():
    rows = torch.tensor(np.sort(np.random.default_rng(1).integers(0, 9, 40)))
    crow = torch._convert_indices_from_coo_to_csr(rows, 9)
    actual = torch._convert_indices_from_csr_to_coo(crow, torch.arange(40))
    assert actual[0].equal(rows)
    assert actual[1].equal(torch.arange(40))
