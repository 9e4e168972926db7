"""Custom Functions: contexts, saved tensors, marks, errors, second order."""

from __future__ import annotations

from typing import Any

import pytest

import pellucid as torch
from pellucid.autograd import Function, grad
from pellucid.autograd.function import once_differentiable


def leaf(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


class Scale(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[Any, ...]:
        assert ctx.needs_input_grad == (True, False)
        return g * ctx.factor, None


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        result = x.exp()
        ctx.save_for_backward(result, None)
        return result

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        result, nothing = ctx.saved_tensors
        assert nothing is None
        return g * result


class Square(Function):
    """The newer form: forward without ctx."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def vjp(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * x * 2.0


def test_values_and_numbers() -> None:
    x = leaf([1.0, 2.0])
    y = Scale.apply(x, 3.0)
    y.sum().backward()
    assert y.tolist() == [3.0, 6.0]
    assert x.grad.tolist() == [3.0, 3.0]


def test_the_context_is_the_node() -> None:
    x = leaf([1.0])
    y = Scale.apply(x, 3.0)
    assert type(y.grad_fn).__name__ == "ScaleBackward"
    assert y.grad_fn.name() == "ScaleBackward"
    assert y.grad_fn.factor == 3.0
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions[0][0].variable is x
    with pytest.raises(AttributeError):
        _ = y.grad_fn.missing


def test_higher_orders_of_a_saved_output() -> None:
    x = leaf([0.0])
    value = Exp.apply(x).sum()
    for _ in range(3):
        (value,) = grad(value, x, create_graph=True)
        assert value.tolist() == [1.0]
        value = value.sum()


def test_setup_context_and_vjp() -> None:
    x = leaf([3.0])
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_a_second_pass_over_freed_tensors_is_an_error() -> None:
    y = Exp.apply(leaf([1.0])).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_changed_saved_tensor_is_an_error() -> None:
    y = Exp.apply(leaf([1.0]))
    with torch.no_grad():
        y.mul_(torch.ones(1, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_nothing_is_recorded_without_need() -> None:
    assert Exp.apply(torch.ones(2)).grad_fn is None
    with torch.no_grad():
        assert Exp.apply(leaf([1.0])).grad_fn is None


def test_several_outputs_and_other_objects() -> None:
    seen = []

    class Split(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> tuple[Any, ...]:
            return x * 2.0, x * 3.0, "text", None

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> torch.Tensor:
            seen.append(grads)
            return grads[0]

    x = leaf([1.0])
    double, triple, text, nothing = Split.apply(x)
    assert (text, nothing) == ("text", None)
    assert triple.output_nr == 1
    double.sum().backward()
    (grads,) = seen
    assert [g.tolist() for g in grads[:2]] == [[1.0], [0.0]]
    assert grads[2:] == (None, None)


def test_gradients_need_not_be_materialized() -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> tuple[Any, ...]:
            ctx.set_materialize_grads(False)
            return x * 2.0, x * 3.0

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            seen.append(second)
            return first

    Two.apply(leaf([1.0]))[0].sum().backward()
    assert seen == [None]


def test_marked_outputs_have_no_gradient() -> None:
    class Sign(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> tuple[Any, ...]:
            positive, rest = x * 2.0, x * 3.0
            ctx.mark_non_differentiable(rest)
            return positive, rest

        @staticmethod
        def backward(ctx: Any, g: Any, unused: Any) -> Any:
            return g

    first, second = Sign.apply(leaf([1.0]))
    assert first.requires_grad
    assert not second.requires_grad


def test_an_input_changed_in_place() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.mark_dirty(x)
            return x.mul_(torch.tensor([2.0], dtype=torch.float64))

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g * 2.0

    x = leaf([1.0])
    y = x * 1.0
    z = Double.apply(y)
    assert z is y
    assert y._version == 2  # that of mul_ and that of mark_dirty
    assert y.grad_fn.name() == "DoubleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(leaf([1.0]))


def test_a_dirty_tensor_must_be_returned() -> None:
    class Forgets(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.mark_dirty(x)
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g

    with pytest.raises(RuntimeError, match="mark_dirty"):
        Forgets.apply(leaf([1.0]) * 1.0)


def test_an_input_that_is_returned() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g * 5.0

    x = leaf([1.0])
    y = Same.apply(x)
    assert y is not x
    assert y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [5.0]
    with pytest.raises(RuntimeError, match="custom Function"):
        y.mul_(torch.ones(1, dtype=torch.float64))


def returning(*result: Any) -> type[Function]:
    class Returns(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, k: Any) -> torch.Tensor:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return result

    return Returns


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ((None,), r"incorrect number of gradients \(expected 2, got 1\)"),
        ((5, None), "expected Variable or None"),
        ((None, torch.ones(1)), "different from None at position 2"),
        ((torch.ones(7), None), r"(?s)\[7\].*\[2\]"),
    ],
)
def test_wrong_gradients(result: tuple[Any, ...], message: str) -> None:
    y = returning(*result).apply(leaf([1.0, 2.0]), 3)
    with pytest.raises(RuntimeError, match=message):
        y.sum().backward()


def test_exceptions_pass_through_the_engine() -> None:
    class Raises(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            raise LookupError("from backward")

    x = leaf([1.0])
    y = Raises.apply(x).sum()
    for _ in range(2):
        with pytest.raises(LookupError, match="from backward"):
            y.backward(retain_graph=True)
    assert x.grad is None


def test_functions_are_not_instantiated() -> None:
    with pytest.warns(DeprecationWarning, match="apply"):
        function = Exp()
    with pytest.raises(RuntimeError, match="apply"):
        function(leaf([1.0]))
    with pytest.raises(TypeError, match="save_for_backward"):
        SavesNumber.apply(leaf([1.0]))


class SavesNumber(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(3)
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2.0

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g * 2.0

    x = leaf([1.0])
    weight = leaf([1.0])
    (g,) = grad(Once.apply(x), x, weight, create_graph=True)
    assert g.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_backward_inside_backward() -> None:
    class Nested(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                inner = x.detach().requires_grad_()
                (slope,) = grad((inner * inner).sum(), inner)
            return g * slope

    x = leaf([3.0])
    Nested.apply(x).sum().backward()
    assert x.grad.tolist() == [6.0]
