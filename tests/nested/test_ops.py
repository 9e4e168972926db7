"""An op on a nested tensor is the op on each example, with its gradients."""

import pytest

import pellucid as torch

F = torch.nn.functional
WEIGHT = torch.arange(12.0).view(3, 4) / 10
HEADS = (-1, (2, 2))

# On a nested tensor (3, j, 4), and on an example (rows, 4).
OPS = {
    "relu": (lambda x: x.relu(), lambda x: x.relu()),
    "arithmetic": (lambda x: x * 2 + x / 3, lambda x: x * 2 + x / 3),
    "comparison": (lambda x: torch.where(x > 0, x, -x), torch.abs),
    "row operand": (lambda x: x * WEIGHT[0], lambda x: x * WEIGHT[0]),
    "softmax": (lambda x: x.softmax(1), lambda x: x.softmax(0)),
    "softmax of rows": (lambda x: x.softmax(-1), lambda x: x.softmax(-1)),
    "log_softmax": (lambda x: x.log_softmax(1), lambda x: x.log_softmax(0)),
    "sum": (lambda x: x.sum(1), lambda x: x.sum(0)),
    "sum, keepdim": (lambda x: x.sum(1, True), lambda x: x.sum(0, True)),
    "sum of rows": (lambda x: x.sum(-1), lambda x: x.sum(-1)),
    "mean": (lambda x: x.mean(1), lambda x: x.mean(0)),
    "amax": (lambda x: x.amax(1), lambda x: x.amax(0)),
    "max": (lambda x: x.max(1)[0], lambda x: x.max(0)[0]),
    "var": (lambda x: x.var(-1), lambda x: x.var(-1)),
    "cumsum": (lambda x: x.cumsum(1), lambda x: x.cumsum(0)),
    "sort": (lambda x: x.sort(1)[0], lambda x: x.sort(0)[0]),
    "flip": (lambda x: x.flip(1), lambda x: x.flip(0)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), lambda x: F.layer_norm(x, (4,))),
    "linear": (lambda x: F.linear(x, WEIGHT), lambda x: F.linear(x, WEIGHT)),
    "matmul": (lambda x: x @ WEIGHT.t(), lambda x: x @ WEIGHT.t()),
    "transpose": (lambda x: x.transpose(1, 2), lambda x: x.t()),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda x: x.unsqueeze(0)),
    "view": (lambda x: x.view(3, -1, 2, 2), lambda x: x.view(-1, 2, 2)),
    "chunk": (lambda x: x.chunk(2, -1)[1], lambda x: x.chunk(2, -1)[1]),
    "cat": (lambda x: torch.cat([x, x * 2], -1), lambda x: torch.cat([x, x * 2], -1)),
    "stack": (lambda x: torch.stack([x, -x], 2), lambda x: torch.stack([x, -x], 1)),
    "slice": (lambda x: x[:, :, 1:], lambda x: x[:, 1:]),
    "gram": (
        lambda x: x.transpose(1, 2) @ x,
        lambda x: x.t() @ x,
    ),
    "attention": (
        lambda x: F.scaled_dot_product_attention(
            *[x.unflatten(*HEADS).transpose(1, 2)] * 3, is_causal=True
        ),
        lambda x: F.scaled_dot_product_attention(
            *[x.unflatten(*HEADS).transpose(0, 1)] * 3, is_causal=True
        ),
    ),
}


def _examples():
    torch.manual_seed(3)
    return [torch.randn(n, 4) for n in (3, 1, 5)]


def _gradients(results, leaves):
    weights = [torch.linspace(-1, 2, r.numel()).view(r.shape) for r in results]
    total = sum((r * w).sum() for r, w in zip(results, weights, strict=True))
    return torch.autograd.grad(total, leaves)


def _assert_alike(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_the_op_on_each_example(name):
    of_batch, of_example = OPS[name]
    leaves = [each.requires_grad_() for each in _examples()]
    expected = [of_example(each) for each in leaves]
    x = torch.nested.nested_tensor(_examples(), layout=torch.jagged, requires_grad=True)
    actual = of_batch(x).unbind()
    _assert_alike(actual, expected)
    (grad,) = _gradients(actual, [x])
    assert grad.is_nested and grad.shape == x.shape
    _assert_alike(grad.unbind(), _gradients(expected, leaves))


@pytest.mark.parametrize(
    "name", ["relu", "softmax", "linear", "layer_norm", "transpose"]
)
def test_the_strided_layout_does_the_same(name):
    of_batch, of_example = OPS[name]
    leaves = [each.requires_grad_() for each in _examples()]
    x = torch.nested.nested_tensor(_examples(), requires_grad=True)
    actual, expected = of_batch(x).unbind(), [of_example(each) for each in leaves]
    _assert_alike(actual, expected)
    (grad,) = _gradients(actual, [x])
    _assert_alike(grad.unbind(), _gradients(expected, leaves))


def test_reductions_of_all_elements_and_of_batch_and_rows():
    x = torch.nested.nested_tensor(_examples(), layout=torch.jagged)
    whole = torch.cat(_examples())
    torch.testing.assert_close(x.sum(), whole.sum())
    torch.testing.assert_close(x.sum((0, 1)), whole.sum(0))
    torch.testing.assert_close(x.max(), whole.max())
    with pytest.raises(RuntimeError, match="batch dimension"):
        x.sum(0)


def test_dense_operands_meet_rows_once_per_example_or_padded():
    x = torch.nested.nested_tensor(_examples(), layout=torch.jagged)
    each = torch.arange(12.0).view(3, 1, 4).requires_grad_()
    actual = x * each
    _assert_alike(
        actual.unbind(), [e * w for e, w in zip(_examples(), each, strict=True)]
    )
    actual.sum().backward()
    sums = torch.stack([e.sum(0) for e in _examples()])
    torch.testing.assert_close(each.grad, sums.unsqueeze(1))
    padded = torch.arange(60.0).view(3, 5, 4)
    rows = [p[: len(e)] for e, p in zip(_examples(), padded, strict=True)]
    _assert_alike(
        (x + padded).unbind(), [e + p for e, p in zip(_examples(), rows, strict=True)]
    )
    with pytest.raises(RuntimeError, match="does not broadcast"):
        x + torch.ones(3, 2, 4)


def test_tensors_of_two_constructions_do_not_meet():
    x, y = (torch.nested.nested_tensor(_examples(), layout=torch.jagged) for _ in "ab")
    with pytest.raises(RuntimeError, match="inputs of shapes"):
        x + y
    z = torch.nested.nested_tensor_from_jagged(y.values(), x.offsets())
    torch.testing.assert_close((x + z).values(), 2 * x.values())


def test_second_derivatives():
    offsets = torch.tensor([0, 2, 3])

    def function(values):
        x = torch.nested.nested_tensor_from_jagged(values, offsets)
        return x.softmax(1).exp().values()

    values = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(function, (values,))


def test_vmap_is_a_function_of_each_example():
    examples, weight = _examples(), torch.ones(4, requires_grad=True)
    for layout in (torch.strided, torch.jagged):
        x = torch.nested.nested_tensor(examples, layout=layout)
        actual = torch.func.vmap(lambda e, w, k: (e * k @ w, e.sum(0)), (0, None, 0))(
            x, weight, torch.arange(3.0)
        )
        assert all(each.is_nested for each in actual)
        for k, each in enumerate(examples):
            torch.testing.assert_close(actual[0][k], each * k @ weight)
            torch.testing.assert_close(actual[1][k], each.sum(0))
        gradients = torch.func.vmap(torch.func.grad(lambda e: (e**3).sum()))(x)
        _assert_alike(gradients.unbind(), [3 * each**2 for each in examples])
    (grad,) = torch.autograd.grad(actual[0].values().sum(), weight)
    torch.testing.assert_close(grad, (examples[1] + 2 * examples[2].sum(0)).sum(0))


def test_random_ops_under_vmap_ask_for_a_kind_of_randomness():
    x = torch.nested.nested_tensor(_examples())
    with pytest.raises(RuntimeError, match="randomness"):
        torch.func.vmap(lambda e: torch.rand(2) + e.sum())(x)
    same = torch.func.vmap(lambda e: torch.rand(2) + 0 * e.sum(), randomness="same")(x)
    assert len({tuple(each.tolist()) for each in same.unbind()}) == 1


def test_jvp_has_the_derivatives_of_each_example():
    x = torch.nested.nested_tensor(_examples(), layout=torch.jagged)
    tangent = torch.nested.nested_tensor_from_jagged(x.values().sin(), x.offsets())
    actual = torch.func.jvp(lambda t: t.softmax(1) * t, (x,), (tangent,))
    expected = [
        torch.func.jvp(lambda e: e.softmax(0) * e, (e,), (t,))
        for e, t in zip(x.unbind(), tangent.unbind(), strict=True)
    ]
    _assert_alike(actual[0].unbind(), [primal for primal, _ in expected])
    _assert_alike(actual[1].unbind(), [moved for _, moved in expected])
    assert not actual[1].requires_grad


def test_results_are_written_where_they_are_asked_for():
    examples = [torch.randn(3, 2), torch.randn(1, 2)]
    x = torch.nested.nested_tensor(examples, layout=torch.jagged)
    out = torch.empty_like(x)
    assert torch.exp(x, out=out) is out
    for found, example in zip(out.unbind(), examples, strict=True):
        assert torch.equal(found, example.exp())
    for _ in range(3):
        with pytest.raises(RuntimeError, match="can't be cast"):
            x.long().add_(1.5)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_write_needs_examples_of_the_same_size(layout):
    def nested(*lengths):
        examples = [torch.ones(n, 4) for n in lengths]
        return torch.nested.nested_tensor(examples, layout=layout)

    target = nested(2, 3) * 0
    for write in (lambda x: target.copy_(x), lambda x: torch.sin(x, out=target)):
        for source in (nested(1, 1), nested(1, 3), nested(2, 3, 1)):
            with pytest.raises(RuntimeError, match="examples of the same size"):
                write(source)
    assert not any(each.any() for each in target.unbind())
