"""backward and grad: values, options and every error of bad calls."""

from __future__ import annotations

import collections

import pytest

import pellucid as torch
from pellucid import autograd


def leaf(values: list, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def test_gradients_add_up_over_passes() -> None:
    x = leaf([1.0, 2.0])
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_a_broadcast_operand_gets_a_gradient_of_its_shape() -> None:
    x, row = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([10.0, 20.0])
    (x * row).sum().backward()
    assert x.grad.tolist() == [[10.0, 20.0], [10.0, 20.0]]
    assert row.grad.tolist() == [4.0, 6.0]


def test_gradients_have_their_leaf_s_dtype() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0], torch.float64)
    (x * y).sum().backward()
    assert x.grad.dtype == torch.float32
    assert y.grad.dtype == torch.float64


def test_second_and_third_order() -> None:
    x = leaf([0.5], torch.float64)
    value = (x * x * x * x).sum()
    for expected in (0.5, 3.0, 12.0):
        (value,) = autograd.grad(value, x, create_graph=True)
        assert value.tolist() == [expected]
        value = value.sum()


def test_grad_changes_no_leaf() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    grads = autograd.grad(y.sum(), [y, x])
    assert [g.tolist() for g in grads] == [[1.0, 1.0], [2.0, 4.0]]
    assert x.grad is None


def test_grad_outputs_weigh_the_elements() -> None:
    x = leaf([1.0, 2.0])
    (g,) = autograd.grad(x * x, x, torch.tensor([10.0, 100.0]))
    assert g.tolist() == [20.0, 400.0]


def test_unused_inputs() -> None:
    x, unused = leaf([1.0]), leaf([1.0, 1.0])
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        autograd.grad(y, unused, retain_graph=True)
    assert autograd.grad(y, unused, retain_graph=True, allow_unused=True) == (None,)
    (zeros,) = autograd.grad(y, unused, materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0]


def test_backward_into_chosen_inputs() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    (y * w).sum().backward(inputs=[x, y])
    assert x.grad.tolist() == [9.0, 16.0]
    assert y.grad.tolist() == [3.0, 4.0]
    assert w.grad is None


def test_backward_of_several_tensors() -> None:
    x = leaf([1.0, 2.0])
    autograd.backward([(x * 2).sum(), x * x], [None, torch.tensor([1.0, 10.0])])
    assert x.grad.tolist() == [4.0, 42.0]


def test_an_accumulated_gradient_keeps_its_object() -> None:
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0, 5.0]


def test_gradients_of_two_leaves_share_no_memory() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).backward(torch.tensor([1.0, 1.0]))
    with torch.no_grad():
        x.grad.mul_(torch.tensor([5.0, 5.0]))
    assert y.grad.tolist() == [1.0, 1.0]


def test_inputs_may_be_a_dict():
    x, y = leaf([2.0]), leaf([3.0])
    inputs = {"y": y, "x": x}
    assert autograd.grad(x * y, inputs) == {"y": leaf([2.0]), "x": leaf([3.0])}
    unused = autograd.grad(x * 1, inputs, allow_unused=True)
    assert list(unused) == ["y", "x"] and unused["y"] is None
    (x * y).backward(inputs={"x": x})
    assert x.grad.tolist() == [3.0] and y.grad is None
    with pytest.raises(TypeError, match=r"not OrderedDict; pass dict\(inputs\)"):
        autograd.grad(x * y, collections.OrderedDict(inputs))
    with pytest.raises(RuntimeError, match="cannot be empty"):
        autograd.grad(x * y, {})


ERRORS = {
    "no graph": (
        lambda: torch.ones(3).sum().backward(),
        "does not require grad and does not have a grad_fn",
    ),
    "not a scalar": (
        lambda: (leaf([1.0, 2.0]) * 2).backward(),
        "implicitly created only for scalar outputs",
    ),
    "gradient of another shape": (
        lambda: (leaf([1.0, 2.0]) * 2).backward(torch.ones(3)),
        r"Mismatch in shape.*\[3\].*\[2\]",
    ),
    "too few gradients": (
        lambda: autograd.backward([leaf([1.0]), leaf([1.0])], [None]),
        "got 2 tensors and 1 gradients",
    ),
    "no inputs": (
        lambda: leaf([1.0]).backward(inputs=[]),
        "cannot be empty",
    ),
    "integers": (
        lambda: torch.ones(3, dtype=torch.int64).requires_grad_(),
        "floating point",
    ),
    "flag of a result": (
        lambda: (leaf([1.0]) * 2).requires_grad_(False),
        "only leaves",
    ),
    "retain_grad": (
        lambda: torch.ones(3).retain_grad(),
        "requires_grad=False",
    ),
    "hook": (
        lambda: torch.ones(3).register_hook(print),
        "doesn't require gradient",
    ),
    "grad of another size": (
        lambda: setattr(leaf([1.0]), "grad", torch.ones(2)),
        r"\[2\].*\[1\]",
    ),
    "grad of another dtype": (
        lambda: setattr(leaf([1.0]), "grad", torch.ones(1, dtype=torch.float64)),
        "float64.*float32",
    ),
    "write to a leaf": (
        lambda: leaf([1.0]).mul_(torch.ones(1)),
        "a leaf Variable that requires grad",
    ),
    "write to a view of a leaf": (
        lambda: leaf([1.0]).view(1).mul_(torch.ones(1)),
        "a view of a leaf Variable that requires grad",
    ),
    "out": (
        lambda: torch.mul(leaf([1.0]), leaf([1.0]), out=torch.ones(1)),
        "out=",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_calls_say_what_to_do(name: str) -> None:
    call, message = ERRORS[name]
    with pytest.raises(RuntimeError, match=f"(?s){message}") as caught:
        call()
    assert len(str(caught.value).splitlines()) <= 10


def test_wrong_types() -> None:
    with pytest.raises(RuntimeError, match="Tensors or GradientEdges, but got int"):
        autograd.grad((leaf([1.0]) * 2).sum(), [3])
    with pytest.raises(TypeError, match="Tensors or GradientEdges, but got int"):
        autograd.grad([3], [leaf([1.0])])
    with pytest.raises(TypeError, match="must be set to a Tensor or None"):
        leaf([1.0]).grad = 3


def test_backward_twice() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match=r"(?s)second time.*retain_graph=True"):
        y.backward()


def test_a_changed_saved_value_is_named_with_its_versions() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = y.sum()
    y.mul_(torch.tensor([2.0, 2.0]))
    with pytest.raises(
        RuntimeError,
        match=r"(?s)modified by an inplace operation.*ExpBackward0.*"
        r"torch.FloatTensor \[2\], result 0 of aten::exp, is at version 1; "
        r"expected version 0",
    ):
        z.backward()


def test_a_write_that_saves_nothing_is_fine() -> None:
    x = leaf([1.0, 2.0])
    y = x.sin()
    y.add_(torch.tensor([1.0, 1.0]))
    y.sum().backward()
    assert x.grad is not None


def test_results_under_no_grad_are_leaves() -> None:
    x = leaf([1.0])
    with torch.no_grad():
        y = x * 2
    assert not y.requires_grad
    assert y.is_leaf
    with torch.enable_grad():
        assert (x * 2).requires_grad


def test_anomaly_mode_names_the_forward_line() -> None:
    x = torch.zeros(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        mode = autograd.detect_anomaly()
    with mode:
        y = x / x  # the line that the warning shows
    with (
        mode,
        pytest.warns(UserWarning, match=r"the line that the warning shows"),
        pytest.raises(RuntimeError, match="DivBackward0 returned nan"),
    ):
        y.sum().backward()
    assert not torch._C.is_anomaly_enabled()
