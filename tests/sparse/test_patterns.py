"""Structure: sorted keys, unions, row pointers, patterns of products."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.sparse._ops import patterns

COUNTS = [0, 1, 2, 30, 5000, 200_000]


def drawn(count, most, seed=0):
    return np.random.default_rng(seed).integers(0, most, count)


def assert_grouped(indices, sizes):
    """The groups that NumPy finds; elements of a group stay in their order."""
    wanted, inverse = np.unique(indices, axis=1, return_inverse=True)
    groups = patterns.grouped(torch.tensor(indices), sizes)
    assert np.array_equal(groups.indices.numpy(), wanted)
    order = np.argsort(inverse.ravel(), kind="stable")
    assert np.array_equal(groups.order.numpy(), order)
    assert np.array_equal(groups.numbers.numpy(), inverse.ravel()[order])
    assert np.array_equal(groups.of_elements().numpy(), inverse.ravel())


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("most", [1, 7, 4000, 9_000_000, 1 << 40, (1 << 62) + 5])
def test_keys_are_grouped_in_order(count, most):
    assert_grouped(drawn(count, most)[None], (most,))


@pytest.mark.parametrize("sizes", [(3, 5), (70, 1, 900), (1 << 20, 3, 1 << 20), (9, 1)])
def test_positions_are_grouped_in_row_major_order(sizes):
    indices = np.stack([drawn(6000, n, d) for d, n in enumerate(sizes)])
    assert_grouped(indices, sizes)
    assert_grouped(np.unique(indices, axis=1), sizes)


def test_positions_without_dims_are_one_group():
    groups = patterns.grouped(torch.zeros(0, 3, dtype=torch.int64), ())
    assert groups.indices.shape == (0, 1)
    assert groups.numbers.tolist() == [0, 0, 0] and groups.order.tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [-1, 4, 1 << 40])
def test_positions_outside_a_grid_are_refused(wrong):
    indices = torch.tensor([[0, 1, 3], [0, wrong, 1]])
    with pytest.raises(RuntimeError, match=f"4 in dim 1 has an element at.*{wrong}$"):
        patterns.grouped(indices, (4, 4))


def test_keys_that_share_their_high_bits_are_sorted():
    keys = np.concatenate([drawn(100_000, 5000), [1 << 61, 0, (1 << 61) - 1]])
    assert_grouped(keys[None], ((1 << 61) + 1,))


@pytest.mark.parametrize(
    "sizes", [(7,), (3, 1 << 33), (5, 4, 6), (1 << 20, 3, 1 << 20)]
)
def test_keys_become_indices_again(sizes):
    indices = np.stack([drawn(500, n, d) for d, n in enumerate(sizes)])
    keys = patterns.keys_of(torch.tensor(indices), sizes)
    assert np.array_equal(patterns.indices_of(keys, sizes).numpy(), indices)


def test_a_union_says_where_its_keys_were():
    first, second = np.unique(drawn(500, 900, 1)), np.unique(drawn(300, 900, 2))
    keys, *places = patterns.united(torch.tensor(first), torch.tensor(second))
    assert np.array_equal(keys.numpy(), np.union1d(first, second))
    for inputs, place in zip((first, second), places, strict=True):
        held = np.isin(keys.numpy(), inputs)
        assert np.array_equal(inputs[place.numpy()[held]], keys.numpy()[held])
        assert (place.numpy()[~held] == len(inputs)).all()


def test_rows_and_their_pointers():
    rows = np.sort(np.append(drawn(400, 50), [50, 57]))
    pointers = patterns.pointers_of(torch.tensor(rows), 60)
    assert np.array_equal(pointers.numpy(), np.searchsorted(rows, np.arange(61)))
    assert np.array_equal(patterns.row_numbers(pointers, len(rows)).numpy(), rows)
    assert patterns.longest_row(pointers) == np.bincount(rows).max()


@pytest.mark.parametrize("wrong", [[1, 2, 4], [0, 3, 2, 4], [0, 2, 5], []])
def test_pointers_that_do_not_divide_the_elements_are_refused(wrong):
    pointers = torch.tensor(wrong, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="end at the number of elements, 4"):
        patterns.row_numbers(pointers, 4)


def test_a_product_of_matrices_that_point_outside_is_refused():
    outside = torch.sparse_csr_tensor([0, 1, 2], [0, 7], [1.0, 2.0], (2, 2))
    whole = torch.ones(2, 2).to_sparse_csr()
    with pytest.raises(RuntimeError, match="2 columns has an element in column 7"):
        outside @ whole
    with pytest.raises(RuntimeError, match="2 columns has an element in column 7"):
        whole @ outside
    with pytest.raises(RuntimeError):
        outside @ torch.ones(2, 3)


def test_products_have_the_same_bits_on_any_number_of_threads():
    dense = torch.randn(3000, 40)
    rows, columns = drawn(60_000, 3000, 3), drawn(60_000, 3000, 4)
    inputs = torch.tensor(np.stack([rows, columns]))
    actual = []
    for threads in (1, 2, 3):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            coo = torch.sparse_coo_tensor(inputs, torch.ones(60_000) / 3, (3000, 3000))
            matrix = coo.coalesce()
            actual.append((matrix @ dense, matrix.to_sparse_csr() @ dense))
        finally:
            torch.set_num_threads(before)
    wanted = np.zeros((3000, 40))
    np.add.at(wanted, rows, dense.numpy()[columns] / 3)
    np.testing.assert_allclose(actual[0][0].numpy(), wanted, atol=1e-4)
    assert all(torch.equal(actual[0][0], each) for pair in actual for each in pair)


def test_a_product_by_rows_has_derivatives_under_transforms():
    matrix = torch.sparse_csr_tensor([0, 2, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], (3, 3))
    dense = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    actual = torch.func.grad(lambda x: (matrix @ x).square().sum())(dense)
    wanted = 2 * matrix.to_dense().t() @ (matrix.to_dense() @ dense)
    assert torch.equal(actual, wanted)
