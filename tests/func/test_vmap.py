"""vmap: dims, trees, randomness, in-place ops, errors."""

import pytest

import pellucid as torch
from pellucid.func import vmap


@pytest.fixture
def rows():
    return torch.arange(12.0).reshape(4, 3)


def same(result, expected):
    return result.shape == expected.shape and bool((result == expected).all())


def test_dims_of_inputs_and_outputs(rows):
    assert same(vmap(torch.sum, 1)(rows), rows.sum(0))
    assert same(vmap(torch.sum, -1)(rows), rows.sum(0))
    assert same(vmap(lambda a, b: a + b, (0, None))(rows, rows[0]), rows + rows[0])
    assert same(vmap(lambda a: a * 2, out_dims=1)(rows), (rows * 2).T)
    assert same(vmap(lambda a: a * 2, out_dims=-1)(rows), (rows * 2).T)


def test_trees_of_inputs_and_outputs(rows):
    def swap(tree):
        return {"first": tree["b"], "second": tree["a"] + 1}

    actual = vmap(swap, ({"a": 0, "b": 1},))({"a": rows, "b": rows.T})
    assert same(actual["first"], rows) and same(actual["second"], rows + 1)
    actual = vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(rows)
    assert same(actual[0], rows.T) and same(actual[1], rows.sum(1))


def test_results_that_do_not_depend_on_the_examples(rows):
    assert same(vmap(lambda a: torch.ones(2))(rows), torch.ones(4, 2))
    shared = vmap(lambda a: torch.ones(2), out_dims=None)(rows)
    assert same(shared, torch.ones(2))
    with pytest.raises(ValueError, match="differs"):
        vmap(lambda a: a, out_dims=None)(rows)


def test_nesting_is_an_outer_product(rows):
    outer = vmap(vmap(torch.mul, (None, 0)), (0, None))
    assert same(outer(rows[0], rows[1]), torch.outer(rows[0], rows[1]))


def test_layouts_and_joins(rows):
    def rearranged(a):
        return torch.cat([a.reshape(3, 1).t().contiguous()[0], a[1:], a.flip(0)])

    expected = torch.stack([rearranged(row) for row in rows])
    assert same(vmap(rearranged)(rows), expected)
    parts = vmap(lambda a: torch.stack(a.unbind()))(rows)
    assert same(parts, rows)


def test_numbers_of_a_batch_do_not_change_dtypes(rows):
    scales = torch.ones(4, dtype=torch.float64)
    assert vmap(lambda s, a: a * s)(scales, rows).dtype == torch.float32
    assert vmap(lambda s: s * torch.ones(3))(scales).dtype == torch.float32
    integers = torch.arange(3)
    assert vmap(lambda s: integers * s)(scales).dtype == torch.float64


def test_indexing_with_batched_indices(rows):
    places = torch.tensor([0, 2, 1, 0])
    actual = vmap(lambda a, i: a.gather(0, i.unsqueeze(0))[0])(rows, places)
    assert same(actual, rows[torch.arange(4), places])
    actual = vmap(lambda i: rows.index_select(0, i.unsqueeze(0)))(places)
    assert same(actual[:, 0], rows[places])


def test_in_place_ops_on_batched_tensors(rows):
    def doubled(a):
        result = torch.zeros_like(a)
        result += a
        result[0] = 7.0
        return result.mul_(2)

    expected = 2 * rows
    expected[:, 0] = 14
    assert same(vmap(doubled)(rows), expected)
    inputs = rows.clone()
    vmap(lambda a: a.add_(1))(inputs)
    assert same(inputs, rows + 1)


def test_writing_examples_into_a_shared_tensor_is_refused(rows):
    shared = torch.zeros(3)
    with pytest.raises(RuntimeError, match="shared by all examples"):
        vmap(lambda a: shared.add_(a))(rows)


def test_values_cannot_be_read(rows):
    for read in (
        lambda a: a.sum().item(),
        lambda a: a if a.sum() > 0 else -a,
        lambda a: torch.tensor(a.tolist()),
        torch.nonzero,
        lambda a: a[a > 0],
    ):
        with pytest.raises(RuntimeError, match="vmap"):
            vmap(read)(rows)


def test_randomness(rows):
    def drawn(a):
        return a * 0 + torch.rand(3)

    with pytest.raises(RuntimeError, match="randomness"):
        vmap(drawn)(rows)
    different = vmap(drawn, randomness="different")(rows)
    assert not same(different[0], different[1])
    equal = vmap(drawn, randomness="same")(rows)
    assert same(equal, equal[0].expand(4, 3))
    with pytest.raises(RuntimeError, match="'different'"):
        vmap(drawn, randomness="sometimes")


def test_attention_drops_other_weights_for_each_example():
    q = torch.ones(2, 1, 3, 4)

    def attend(q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    different = vmap(attend, randomness="different")(q)
    assert different.shape == q.shape and not different[0].equal(different[1])
    same = vmap(attend, randomness="same")(q)
    assert same[0].equal(same[1])
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(attend)(q)


def test_dropout_of_examples():
    x = torch.ones(4, 100)

    def dropped(a):
        return torch.nn.functional.dropout(a, 0.5)

    different = vmap(dropped, randomness="different")(x)
    assert not same(different[0], different[1])
    equal = vmap(dropped, randomness="same")(x)
    assert same(equal, equal[0].expand(4, 100))
    in_place = vmap(lambda a: a.clone().normal_(), randomness="different")(x)
    assert not same(in_place[0], in_place[1])


def test_wrappers_end_with_their_transform(rows):
    kept = []
    vmap(lambda a: kept.append(a) or a)(rows)
    assert same(kept[0] + 0, rows)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        (2, "dimensions"),
        ((0, 0), "structure"),
        (None, "in_dims"),
        ("0", "in_dims"),
        ((1.5,), "ints"),
    ],
)
def test_dims_that_do_not_fit(dims, message, rows):
    with pytest.raises(ValueError, match=message):
        vmap(torch.sum, dims)(rows)


def test_arguments_that_do_not_fit(rows):
    with pytest.raises(ValueError, match="without arguments"):
        vmap(torch.sum)()
    with pytest.raises(ValueError, match="must be equal"):
        vmap(torch.add)(rows, rows[:2])
    with pytest.raises(ValueError, match="only tensors"):
        vmap(torch.add)(rows, 1)
    with pytest.raises(ValueError, match="must return tensors"):
        vmap(lambda a: 1)(rows)
    with pytest.raises(ValueError, match="out_dims"):
        vmap(torch.sin, out_dims=(0, 0))(rows)
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(torch.sin, chunk_size=0)


def test_strided_views_of_examples(rows):
    actual = vmap(lambda a: a.as_strided((2,), (1,), a.storage_offset() + 1))(rows)
    assert same(actual, rows[:, 1:])


def test_new_tensors_are_batched_like_their_pattern(rows):
    def filled(a):
        result = a.new_empty((2,))
        result[:] = a[:2]
        return result

    assert same(vmap(filled)(rows), rows[:, :2])


def test_argmax_over_numbers_gives_positions():
    actual = torch.vmap(lambda x: x.argmax())(torch.tensor([3.0, 1.0]))
    assert actual.dtype == torch.int64 and actual.tolist() == [0, 0]


def test_masked_scatter() -> None:
    mask = torch.tensor([[True, False, True], [False, True, True]])
    source = torch.arange(6.0).reshape(2, 3)
    actual = torch.func.vmap(lambda x, m, s: x.masked_scatter(m, s))(
        torch.full((2, 3), 9.0), mask, source
    )
    assert actual.tolist() == [[0.0, 9.0, 1.0], [9.0, 3.0, 4.0]]


def test_looking_inside() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    seen = []
    vmap(lambda row: seen.append(torch.func.debug_unwrap(row)) or row)(x)
    assert seen[0].tolist() == x.tolist()
    assert torch.func.debug_unwrap(x) is x


def test_numbers_of_a_batch_are_indices(rows):
    places = torch.tensor([0, 2, 1, 0])
    expected = torch.stack([row[int(i)] for row, i in zip(rows, places, strict=True)])
    assert same(vmap(lambda row, i: row[i])(rows, places), expected)
    assert same(vmap(lambda i: rows[i])(places), rows[places])

    def write(row, i):
        row = row.clone()
        row[i] = -1.0
        return row

    written = vmap(write)(rows, places)
    assert written.eq(-1.0).int().argmax(1).tolist() == places.tolist()


def test_checks_of_arguments_look_at_all_examples():
    matrices = torch.eye(2).expand(3, 2, 2)
    assert same(vmap(torch.linalg.inv)(matrices), matrices)
    singular = torch.stack([torch.eye(2), torch.zeros(2, 2)])
    with pytest.raises(RuntimeError, match="singular"):
        vmap(torch.linalg.inv)(singular)
    draw = vmap(lambda weights: torch.multinomial(weights, 2), randomness="different")
    assert draw(torch.ones(5, 3)).shape == (5, 2)
    rates = vmap(torch.poisson, randomness="different")(torch.ones(4, 3))
    assert rates.shape == (4, 3)
    normal = torch.distributions.Normal(0.0, 1.0)
    drawn = vmap(lambda row: normal.sample(row.shape), randomness="different")(rates)
    assert drawn.unique().numel() == 12


def test_a_rule_of_a_function_returns_outputs_and_dims(rows):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2

    with pytest.raises(RuntimeError, match="two values"):
        vmap(Twice.apply)(rows)


def test_libraries_change_how_containers_are_mapped(rows, monkeypatch):
    """tensordict replaces functions of ``torch._functorch.vmap``."""
    from pellucid._functorch import vmap as names

    def create(dims, leaves, level, spec):
        return names.tree_unflatten([a + 1 for a in leaves], spec)

    monkeypatch.setattr(names, "_create_batched_inputs", create)
    assert same(vmap(torch.sum)(rows), (rows + 1).sum().expand(4))


def test_objects_that_libraries_batch_are_not_taken_for_nested_tensors(monkeypatch):
    from pellucid.func import _vmap

    leaf = object()  # such as a TensorDict, whose library replaces this function
    inputs = (2, [0], [leaf], None)
    monkeypatch.setattr(_vmap, "_process_batched_inputs", lambda *_: inputs)
    monkeypatch.setattr(_vmap, "_run", lambda func, size, dims, leaves, *_: leaves)
    assert _vmap.vmap(lambda x: x)(leaf) == [leaf]
