"""``torch.library.custom_op``: functions as ops with schemas and derivatives."""

import pytest

import pellucid as torch
from pellucid.library import custom_op, infer_schema, register_autograd


@pytest.fixture(scope="module")
def scaled():
    @custom_op("test_custom_ops::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float, times: int = 2) -> torch.Tensor:
        return x.detach().clone() * factor * times

    def keep(ctx, inputs, output):
        _, ctx.factor, ctx.times = inputs

    def backward(ctx, grad):
        return grad * ctx.factor * ctx.times, None, None

    scaled.register_autograd(backward, setup_context=keep)
    scaled.register_fake(lambda x, factor, times=2: torch.empty_like(x))
    return scaled


def test_a_call_is_differentiated_by_its_rule(scaled):
    x = torch.ones(3, requires_grad=True)
    result = scaled(x, 0.5, times=3)
    assert result.tolist() == [1.5, 1.5, 1.5]
    result.sum().backward()
    assert x.grad.tolist() == [1.5, 1.5, 1.5]
    with torch.no_grad():
        assert not scaled(x, 0.5).requires_grad


def test_it_is_an_op(scaled):
    op = torch.ops.test_custom_ops.scaled
    assert op(torch.ones(2), 2.0).tolist() == [4, 4]
    text = "test_custom_ops::scaled(Tensor x, float factor, SymInt times=2) -> Tensor"
    assert str(op.default._schema) == text


def test_shapes_alone(scaled):
    assert scaled(torch.empty(4, device="meta"), 1.0).shape == (4,)


def test_several_results_and_no_rule():
    @custom_op("test_custom_ops::both", mutates_args=())
    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x * 3

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="register_autograd"):
        both(x)[0].sum().backward()
    register_autograd("test_custom_ops::both", lambda ctx, a, b: 2 * a + 3 * b)
    first, second = both(x)
    (first + second).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_schemas_are_inferred():
    def function(
        x: torch.Tensor, sizes: list[int], *, y: torch.Tensor | None = None
    ) -> None:
        pass

    actual = infer_schema(function, mutates_args={"x"})
    assert actual == "(Tensor(a0!) x, SymInt[] sizes, *, Tensor? y=None) -> ()"

    def untyped(x):
        return x

    with pytest.raises(ValueError, match="annotation"):
        infer_schema(untyped, mutates_args=())


def test_a_rule_for_batches():
    told = []

    @torch.library.custom_op("custom_tests::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    @torch.library.register_vmap("custom_tests::scaled")
    def rule(info, in_dims, x, factor):
        told.append((info.batch_size, in_dims))
        return scaled(x, factor), in_dims[0]

    x = torch.arange(6.0).view(3, 2)
    actual = torch.vmap(scaled, (0, None))(x, 2.0)
    assert torch.equal(actual, x * 2) and told == [(3, (0, None))]
    pairs = torch.vmap(torch.vmap(lambda a: scaled(a, 3.0)))(x)
    assert torch.equal(pairs, x * 3)
    assert torch.equal(scaled(x, 2.0), x * 2)


def test_a_rule_for_batches_returns_outputs_and_dims():
    @torch.library.custom_op("custom_tests::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    same.register_vmap(lambda info, in_dims, x: x)
    with pytest.raises(RuntimeError, match="two values"):
        torch.vmap(same)(torch.ones(2, 3))


def test_an_op_defined_by_its_name():
    torch.library.define("custom_tests::square", "(Tensor x) -> Tensor")

    @torch.library.impl("custom_tests::square", "cpu")
    def square(x):
        return torch.tensor([v * v for v in x.tolist()])

    torch.library.register_autograd(
        "custom_tests::square",
        lambda ctx, grad: 2 * grad * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = torch.ops.custom_tests.square(x)
    y.sum().backward()
    assert y.tolist() == [1, 9] and x.grad.tolist() == [2, 6]
    with pytest.raises(ValueError, match="namespace"):
        torch.library.define("square", "(Tensor x) -> Tensor")
    with pytest.raises(AttributeError, match="no op custom_tests::cube"):
        torch.library.register_autograd("custom_tests::cube", print)


def test_arguments_given_by_keyword_alone():
    seen = []

    @custom_op("test_custom_ops::keyword_only", mutates_args=())
    def scale(x: torch.Tensor, *, by: int = 2, plus: int = 5) -> torch.Tensor:
        return x * by + plus

    def keep(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs))
        ctx.by = keyword_only_inputs["by"]

    scale.register_autograd(lambda ctx, grad: grad * ctx.by, setup_context=keep)
    x = torch.ones(2, requires_grad=True)
    result = scale(x, plus=1)
    assert result.tolist() == [3, 3]
    assert seen == [(1, {"by": 2, "plus": 1})]
    (grad,) = torch.autograd.grad(result.sum(), x)
    assert grad.tolist() == [2, 2]


def test_lists_of_tensors_are_lists_of_ops_and_tuples_of_functions():
    x = torch.ones(4)
    for op in (torch.ops.aten.split, torch.ops.aten.split.Tensor):
        assert type(op(x, 2)) is list
    assert type(torch.split(x, 2)) is type(x.split(2)) is tuple
    with torch.library._scoped_library("lists_of_tensors", "FRAGMENT") as library:
        library.define("mixed(Tensor x) -> (Tensor, Tensor[], int)")
        library.impl("mixed", lambda x: (x, [x + 1, x + 2], 3), "CPU")
        whole, parts, number = torch.ops.lists_of_tensors.mixed(x)
        assert type(parts) is list and len(parts) == 2 and number == 3
        assert whole.tolist() == x.tolist()


def test_a_rule_sees_which_arguments_need_gradients():
    seen = []

    @custom_op("test_custom_ops::needed", mutates_args=())
    def needed(x: torch.Tensor, y: torch.Tensor, k: float) -> torch.Tensor:
        return x * k + y

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad * 2 if ctx.needs_input_grad[0] else None, None, None

    needed.register_autograd(backward)
    x = torch.ones(2, requires_grad=True)
    needed(x, torch.ones(2), 2.0).sum().backward()
    assert seen == [(True, False, False)] and x.grad.tolist() == [2, 2]


def test_lists_of_tensors_have_lists_of_gradients():
    seen = []

    @custom_op("test_custom_ops::each", mutates_args=())
    def each(
        xs: list[torch.Tensor], y: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor], int]:
        return y + 1, [x * 2 + y for x in xs], len(xs)

    def backward(ctx, of_sum, of_parts, of_number):
        seen.append((ctx.needs_input_grad, of_number, type(of_parts)))
        return [grad * 2 for grad in of_parts], of_sum + sum(of_parts)

    each.register_autograd(backward)
    xs = [torch.ones(2, requires_grad=True), torch.ones(2)]
    y = torch.ones(2, requires_grad=True)
    first, parts, number = each(xs, y)
    assert type(parts) is list and number == 2
    (first + parts[0] * 3 + parts[1]).sum().backward()
    assert xs[0].grad.tolist() == [6, 6] and y.grad.tolist() == [5, 5]
    assert seen == [(([True, False], True), None, list)]
    each.register_autograd(lambda ctx, *grads: ([None, None], grads[0]))
    y.grad = None
    (each(xs, y)[0]).sum().backward()
    assert y.grad.tolist() == [1, 1]
    for given in ([y], y), (y, y), ([y, y],), (None, y), ([y, y], [y]):
        each.register_autograd(lambda ctx, *grads, given=given: given)
        with pytest.raises(RuntimeError, match=r"are: \(a list of 2, one value\)"):
            (each(xs, y)[0]).sum().backward()


def test_too_many_gradients_are_refused():
    @custom_op("test_custom_ops::one", mutates_args=())
    def one(x: torch.Tensor) -> torch.Tensor:
        return x * 1

    one.register_autograd(lambda ctx, grad: (grad, grad))
    with pytest.raises(RuntimeError, match="gradients"):
        one(torch.ones(2, requires_grad=True)).sum().backward()
