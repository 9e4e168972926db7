"""Modes at PreDispatch: calls as the program makes them."""

import pytest

import pellucid as torch
from pellucid._package.calls.captured import captured_as
from pellucid.fx.experimental.proxy_tensor import make_fx
from pellucid.nn import functional as F
from pellucid.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    def __init__(self, is_early):
        super().__init__(torch._C.DispatchKey.PreDispatch if is_early else None)
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def names(f, *args, is_early=True):
    with Names(is_early) as mode:
        f(*args)
    return mode.seen


def block(x):
    weight = torch.ones(4, 4)
    statistics = torch.zeros(4), torch.ones(4)
    y = F.batch_norm(F.linear(x, weight), *statistics, training=True)
    return F.dropout(y, 0.5).reshape(-1)


def test_composites_are_seen_whole():
    assert names(block, torch.randn(3, 4)) == [
        "aten.ones.default",
        "aten.zeros.default",
        "aten.ones.default",
        "aten.linear.default",
        "aten.batch_norm.default",
        "aten.dropout.default",
        "aten.reshape.default",
    ]


def test_modes_below_see_the_parts():
    seen = names(block, torch.randn(3, 4), is_early=False)
    assert "aten.mm.default" in seen and "aten.view.default" in seen
    assert not {"aten.linear.default", "aten.dropout.default"} & set(seen)


def test_what_a_mode_calls_goes_to_the_modes_around_it():
    x = torch.randn(3, 4)
    with Names(True) as outer, Names(False) as below, Names(True) as inner:
        F.linear(x, x)
    assert inner.seen == outer.seen == ["aten.linear.default"]
    assert below.seen == ["aten.t.default", "aten.mm.default"]


def test_a_mode_that_declines_is_left_out():
    class Declines(Names):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with Names(True) as outer, Declines(True):
        y = F.linear(torch.ones(1, 2), torch.ones(1, 2))
    assert y.item() == 2
    assert outer.seen[-1] == "aten.linear.default"


def test_writes_count_once_and_gradients_are_recorded():
    x = torch.randn(3, requires_grad=True)
    with Names(True):
        y = (x * 2).relu_()
        assert y._version == 1
        y.sum().backward()
    assert torch.equal(x.grad, 2.0 * (x > 0))


def test_numbers_before_tensors_are_seen_as_pytorchs_operators_call():
    x = torch.tensor([1.0, 4.0])
    assert names(lambda: 1 / x) == ["aten.reciprocal.default", "aten.mul.Tensor"]
    assert names(lambda: 2**x) == ["aten.pow.Scalar"]
    with Names(True):
        assert torch.equal(2**x, torch.tensor([2.0, 16.0]))


def test_backward_passes_are_traced():
    def gradient(x):
        return torch.autograd.grad(F.linear(x, x).sum(), x)

    x = torch.randn(3, 3, requires_grad=True)
    traced = make_fx(gradient, pre_dispatch=True)(x)
    assert "ones_like" in traced.code and "_tensor_constant" not in traced.code
    assert torch.allclose(traced(x)[0], gradient(x)[0])


def test_another_key_is_refused():
    with pytest.raises(ValueError, match="PreDispatch"):
        TorchDispatchMode(torch._C.DispatchKey.CPU)


# The forms of functions


def by_op(x, y=2):
    return "op"


@captured_as(by_op)
def by_body(x, y=2):
    return "body"


def test_a_function_has_its_other_form_while_a_mode_is_in_force():
    assert by_body(1) == "body"
    with Names(True):
        with Names(True):
            assert by_body(1) == "op"
        assert by_body(1) == "op"
    with Names(False):
        assert by_body(1) == "body"


def test_a_form_with_other_parameters_is_refused():
    def other(x, z=2):
        return x

    with pytest.raises(TypeError, match="the same parameters"):
        captured_as(by_op)(other)
