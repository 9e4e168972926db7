"""Every op of the registry in the interpreter: properties that hold for all.

Dtypes and shapes of results are checked by the interpreter itself, on every node.
Derivatives are compared with central differences of the values, second derivatives with
central differences of the first; batching with the examples one by one.
"""

import numpy as np
import pytest
from tools.op_samples import as_dtype, calls, differentiable_inputs

from pellucid_compiler import passes, transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.variants import inplace_schema, out_schema
from pellucid_compiler.ir.expr import sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.primitives.call import CALL, CallAttrs
from pellucid_compiler.ir.verify import verify
from tests.conftest import one_case

from .refusals import INTEGERS, NAMES, graph_in, key_in

HALF_AND_SINGLE = ("float32", "bfloat16", "float16")
STEP = 1e-6
# PyTorch's gradient, which these ops give, is not the derivative of the value.
# That of a factorization is the symmetric matrix's, of which one triangle is read; the
# phases of complex eigenvectors are the routine's choice. No gradient goes through the
# statistics that layer norms and attention give, and boxes of regions.
NOT_DERIVATIVES = {
    *(
        "pellucid::_roi_align",
        "pellucid::_ps_roi_align",
        "pellucid::_roi_pool",
        "pellucid::_ps_roi_pool",
    ),
    "native_layer_norm",
    "_scaled_dot_product_flash_attention_for_cpu",
    *(
        "ctc_loss.Tensor",
        "pellucid::_linalg_cholesky",
        "_linalg_eigh",
        "pellucid::_linalg_eigvalsh",
        "pellucid::_linalg_eig",
    ),
}
FREE_SIGNS = {"_linalg_eigh"}  # those of its vectors are the routine's choice


def random_like(arrays, seed):
    random = np.random.default_rng(seed)
    return [np.asarray(random.standard_normal(a.shape), a.dtype) for a in arrays]


class Case:
    """A sample call, and the operands of its derivatives."""

    def __init__(self, call, traced, args, outputs):
        self.env, self.args, self.outputs = call.env, args, outputs
        self.graph = traced.graph
        self.wrt = differentiable_inputs(self.graph)
        self.floats = [k for k, v in enumerate(self.graph.outputs) if v.differentiable]
        self.moves = random_like([args[k] for k in self.wrt], 1)
        self.cts = random_like([outputs[k] for k in self.floats], 2)

    def at(self, distance):
        """The arguments moved along ``moves``."""
        moved = list(self.args)
        for k, move in zip(self.wrt, self.moves, strict=True):
            moved[k] = np.asarray(self.args[k] + distance * move)
        return moved

    def run(self, graph, args):
        return run(graph, args, self.env)

    def difference(self, function):
        """The central difference of a list of arrays along ``moves``."""
        above, below = function(self.at(STEP)), function(self.at(-STEP))
        return [(a - b) / (2 * STEP) for a, b in zip(above, below, strict=True)]


def has_derivative(actual):
    case = Case(*actual)
    return bool(case.wrt and case.floats)


DIFFERENTIABLE = {name for name in NAMES if any(map(has_derivative, calls(name)))}
DIFFERENTIATED = sorted(DIFFERENTIABLE - NOT_DERIVATIVES)
# Ops of floats whose declarations say that they have none.
WITHOUT_DERIVATIVE = {"geqrf", "pellucid::_linalg_ldl", "linalg_ldl_solve"}


def differentiable_cases(name):
    """The sample calls in float64 that have a derivative."""
    return [Case(*actual) for actual in calls(name) if has_derivative(actual)]


def test_only_some_ops_of_floats_have_no_derivative():
    """And no others: a call is differentiable according to its dtypes."""

    def takes_and_gives_floats(name):
        inputs = [a for _, _, args, _ in calls(name) for a in args]
        results = [o for _, _, _, outputs in calls(name) for o in outputs]
        return all(
            any(a.dtype.kind in "fc" for a in side) for side in (inputs, results)
        )

    actual = {name for name in NAMES if takes_and_gives_floats(name)}
    assert actual - DIFFERENTIABLE == WITHOUT_DERIVATIVE


def is_smooth_here(case):
    """Whether the value changes only by rounding: no kink or jump in between."""

    def floats(args):
        outputs = case.run(case.graph, args)
        return [outputs[k] for k in case.floats]

    middle = floats(case.args)
    pairs = zip(floats(case.at(STEP)), floats(case.at(-STEP)), middle, strict=True)
    return all(np.abs(a + b - 2 * m).max(initial=0) < 1e-7 for a, b, m in pairs)


def test_ops_have_sample_calls():
    without = [name for name in NAMES if not calls(name)]
    assert without == [], "no sample call runs: add one to tools/op_samples.py"


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_tangent_is_the_difference_quotient(name):
    for case in differentiable_cases(name):
        if not is_smooth_here(case):
            continue
        forward = verify(transforms.jvp(case.graph, case.wrt))
        got = case.run(forward, [*case.args, *case.moves])
        want = case.difference(
            lambda args, c=case: [c.run(c.graph, args)[k] for k in c.floats]
        )
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_backward_is_the_adjoint_of_the_tangent(name):
    for case in differentiable_cases(name):
        forward = verify(transforms.jvp(case.graph, case.wrt))
        tangents = case.run(forward, [*case.args, *case.moves])
        back = verify(transforms.backward(case.graph, case.wrt))
        grads = case.run(back, [*case.args, *case.outputs, *case.cts])
        # Over the reals, of which a complex number is two.
        left = sum(np.vdot(c, t).real for c, t in zip(case.cts, tangents, strict=True))
        right = sum(np.vdot(g, m).real for g, m in zip(grads, case.moves, strict=True))
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_second_derivative_is_the_difference_quotient(name):
    for case in differentiable_cases(name):
        back = verify(transforms.vjp(case.graph, case.wrt))
        second = verify(transforms.jvp(back, case.wrt))
        got = case.run(second, [*case.args, *case.cts, *case.moves])
        if not is_smooth_here(case):
            continue
        want = case.difference(lambda args, c=case, b=back: c.run(b, [*args, *c.cts]))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-4)


FIXED_SIZE = [name for name in NAMES if REGISTRY[name].kind != "data_dependent"]


@pytest.mark.parametrize("name", FIXED_SIZE)
def test_batching_is_one_example_after_the_other(name):
    for call, traced, args, _ in calls(name):
        graph = traced.graph
        flags = [v.differentiable for v in graph.inputs]
        many = [
            np.stack([a, a * 0.5 + 0.3]) if f else a
            for a, f in zip(args, flags, strict=True)
        ]
        batched = verify(transforms.batch(graph, flags, sym("batch.0")))
        got = run(batched, many, {**call.env, "batch.0": 2})
        rows = [
            run(
                graph,
                [a[b] if f else a for a, f in zip(many, flags, strict=True)],
                call.env,
            )
            for b in range(2)
        ]
        for g, want in zip(got, zip(*rows, strict=True), strict=True):
            np.testing.assert_allclose(g, np.stack(want), rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_fused_graph_gives_the_same(name):
    for call, traced, args, outputs in calls(name):
        fused = verify(passes.fuse(traced.graph))
        for got, want in zip(run(fused, args, call.env), outputs, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


# The mask of a random op may differ where a probability is rounded.
DETERMINISTIC = [name for name in NAMES if REGISTRY[name].kind != "random"]


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_values_agree_with_float64(name):
    """Values are those of float64, rounded where the op ends."""
    for dtype in HALF_AND_SINGLE:
        with one_case(dtype):
            check_against_float64(name, dtype)


def check_against_float64(name, dtype):
    tolerance = {"bfloat16": 2e-2, "float16": 3e-3}.get(dtype, 1e-4)
    for number, (call, traced, args, _) in enumerate(calls(name)):
        graph = graph_in(name, number, call, key_in(call, dtype), dtype)
        if graph is None:
            continue
        narrow = [as_dtype(a, dtype) for a in args]
        wide = [
            np.asarray(n).astype(a.dtype) for n, a in zip(narrow, args, strict=True)
        ]
        want = run(traced.graph, wide, call.env)
        for g, w in zip(run(graph, narrow, call.env), want, strict=True):
            assert g.shape == w.shape and (g.dtype == w.dtype or w.dtype.kind in "fc")
            if name in FREE_SIGNS:
                g, w = abs(g), abs(w)
            if w.dtype.kind == "f" and np.isfinite(w).all():
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_integers_have_the_dtypes_that_the_graph_says(name):
    """The interpreter compares every other node's dtype and shape with its rule."""
    for dtype in INTEGERS:
        with one_case(dtype):
            check_integers(name, dtype)


def check_integers(name, dtype):
    for number, (call, _, args, _) in enumerate(calls(name)):
        graph = graph_in(name, number, call, key_in(call, dtype), dtype)
        if graph is not None:
            outputs = run(graph, [as_dtype(a, dtype) for a in args], call.env)
            assert [str(o.dtype) for o in outputs] == [v.dtype for v in graph.outputs]


VARIANTS = [
    schema
    for op in REGISTRY.values()
    for schema in (inplace_schema(op), out_schema(op))
    if schema is not None
]


def test_variants_write_an_argument():
    assert len(VARIANTS) > 400
    for schema in VARIANTS:
        assert any(a.mutated for a in schema.arguments), schema.full_name


ELEMENTWISE = [
    name
    for name, op in REGISTRY.items()
    if op.kind == "pointwise" and isinstance(getattr(np, name, None), np.ufunc)
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_pointwise_value_is_numpys(name):
    ufunc = getattr(np, name)
    for _, _, args, outputs in calls(name):
        if len(args) == ufunc.nin:
            np.testing.assert_allclose(outputs[0], ufunc(*args), rtol=1e-12)


def test_what_a_called_op_requires_is_checked():
    image, weight = np.zeros((1, 3, 5, 5)), np.zeros((2, 2, 3, 3))
    call = REGISTRY["conv2d"].specialise(image, weight)
    traced = REGISTRY["conv2d"].trace(call.key, call.env)
    call_node = Graph("calls conv2d")
    inputs = [call_node.input_like(value) for value in traced.graph.inputs]
    outputs = call_node.emit(
        CALL, inputs, CallAttrs("conv2d", traced.graph, traced.graph, ())
    )
    call_node.outputs = list(outputs)
    with pytest.raises(RuntimeError, match="3 channels"):
        run(call_node, call.tensors, call.env)
