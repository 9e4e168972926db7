"""Gradients of first and second order on the runtime equal the interpreter's.

The interpreter's derivatives are compared with differences in ``tests/declarations``.
Operands have different layouts, so that derivative kernels see strides, too.
"""

from functools import cache

import numpy as np
import pytest
from tools.op_samples import calls, differentiable_inputs

import pellucid as torch
from pellucid_compiler import transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.verify import verify
from tests.exec.support import native_arguments, run_native
from tests.native.cases import NAMES, chosen_layout, with_layout

# PyTorch's gradient of the first is not the derivative, and the statistics that the
# second returns have none; the second derivatives of the gates read more operands than
# one pointwise kernel takes. That of eigh is the symmetric matrix's, of which one
# triangle is read: its derivative by single elements is not a symmetric Hessian. Nor
# has a function of eigenvectors' phases one, which eig chooses (see test_linalg.py).
FIRST_ORDER_ONLY = {
    "ctc_loss.Tensor", "pellucid::_batch_norm_with_batch", "_lstm_gates", "_gru_gates",
    "pellucid::_linalg_eig", "_linalg_eigh", "pellucid::_linalg_eigvalsh",
}  # fmt: skip

# The signs of their vectors are the library's choice.
FREE_SIGNS = {"pellucid::_linalg_eig", "_linalg_eigh", "_linalg_svd"}


class Differentiated:
    """A sample call in float64 with cotangents, on both sides."""

    def __init__(self, name, call, traced, outputs):
        self.name, self.call, self.graph, self.outputs = (
            name,
            call,
            traced.graph,
            outputs,
        )
        self.wrt = differentiable_inputs(self.graph)
        self.floats = [k for k, v in enumerate(self.graph.outputs) if v.differentiable]
        random = np.random.default_rng(3)
        self.cts = [_direction(random, outputs[k]) for k in self.floats]
        self.moves = [random.standard_normal(call.tensors[k].shape) for k in self.wrt]

    def native(self):
        """(leaves, results that have a gradient, their cotangents)."""
        op = REGISTRY[self.name]
        tensors = [
            with_layout(a, chosen_layout(self.name, str(k)))
            for k, a in enumerate(self.call.tensors)
        ]
        leaves = [tensors[k].requires_grad_() for k in self.wrt]
        results = run_native(self.name, native_arguments(op, self.call, tensors))
        pairs = [
            (results[k], torch.from_numpy(ct))
            for k, ct in zip(self.floats, self.cts, strict=True)
            if results[k].requires_grad
        ]
        if self.name in FREE_SIGNS:
            self.outputs = [result.detach().numpy() for result in results]
        return leaves, [r for r, _ in pairs], [ct for _, ct in pairs]


def _direction(random, like):
    drawn = random.standard_normal(like.shape)
    if like.dtype.kind == "c":
        drawn = drawn + 1j * random.standard_normal(like.shape)
    return np.asarray(drawn)


@cache
def differentiable(name):
    """The sample calls in float64 that have a derivative."""
    if REGISTRY[name].kind == "factory":  # a tensor of which only the shape is used
        return []
    actual = [Differentiated(name, *c[:2], c[3]) for c in calls(name)]
    return [case for case in actual if case.wrt and case.floats]


DIFFERENTIABLE = [name for name in NAMES if differentiable(name)]
CONSTANT = [name for name in NAMES if not differentiable(name)]


REFUSING = {
    "geqrf",
    "pellucid::_linalg_ldl",
    "linalg_ldl_solve",
}  # when they are called


@pytest.mark.parametrize("name", CONSTANT)
def test_an_op_without_derivative_records_nothing_or_refuses(name):
    for call, *_ in calls(name):
        tensors = [torch.from_numpy(np.array(a)) for a in call.tensors]
        for tensor in tensors:
            tensor.requires_grad_(tensor.is_floating_point())
        arguments = native_arguments(REGISTRY[name], call, tensors)
        if name in REFUSING:
            with pytest.raises(NotImplementedError):
                run_native(name, arguments)
        else:
            results = run_native(name, arguments)
            assert not any(r.requires_grad for r in results)


def assert_gradients(actual, expected):
    for gradient, array in zip(actual, expected, strict=True):
        got = np.zeros_like(array) if gradient is None else gradient.detach().numpy()
        np.testing.assert_allclose(got, array, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient(name):
    for case in differentiable(name):
        back = verify(transforms.backward(case.graph, case.wrt))
        leaves, results, cts = case.native()
        inputs = [*case.call.tensors, *case.outputs, *case.cts]
        expected = run(back, inputs, dict(case.call.env))
        assert results
        actual = torch.autograd.grad(results, leaves, cts, allow_unused=True)
        assert_gradients(actual, expected)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_gradient_that_repeats_one_number(name):
    """The incoming gradient of a sum: one element with strides of 0."""
    for case in differentiable(name):
        leaves, results, _ = case.native()
        assert results
        one = [torch.full((), 0.5, dtype=r.dtype).expand(r.shape) for r in results]
        actual, expected = (
            torch.autograd.grad(
                results, leaves, cts, retain_graph=True, allow_unused=True
            )
            for cts in (one, [ct.contiguous() for ct in one])
        )
        for got, want in zip(actual, expected, strict=True):
            assert (got is None) is (want is None)
            if got is not None:
                assert torch.allclose(got, want, rtol=1e-9, atol=1e-9, equal_nan=True)


# Second derivatives of vectors of free signs: tests/catalogue/test_small_matrices.py.
TWICE = [n for n in DIFFERENTIABLE if n not in FIRST_ORDER_ONLY | FREE_SIGNS]


@pytest.mark.parametrize("name", TWICE)
def test_second_derivative(name):
    """The gradient of the gradient along a direction: a Hessian is symmetric."""
    for case in differentiable(name):
        back = verify(transforms.vjp(case.graph, case.wrt))
        second = verify(transforms.jvp(back, case.wrt))
        inputs = [*case.call.tensors, *case.cts, *case.moves]
        expected = run(second, inputs, dict(case.call.env))
        leaves, results, cts = case.native()
        assert results
        first = torch.autograd.grad(
            results, leaves, cts, create_graph=True, allow_unused=True
        )
        along = [
            (g * torch.from_numpy(m)).sum()
            for g, m in zip(first, case.moves, strict=True)
            if g is not None and g.requires_grad
        ]
        actual = [None] * len(leaves)  # a constant gradient has no second one
        if along:
            actual = torch.autograd.grad(along, leaves, allow_unused=True)
        assert_gradients(actual, expected)
