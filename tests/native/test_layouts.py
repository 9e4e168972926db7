"""Every op gives what the interpreter gives, in every dtype and layout."""

import numpy as np
import pytest
from tools.op_samples import calls, differentiable_inputs

import pellucid as torch
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.verify import verify
from tests.conftest import one_case
from tests.declarations.refusals import ERRORS, FLOATS, INTEGERS
from tests.exec.support import CHOSEN, native_arguments, run_native
from tests.native.cases import (
    LAYOUTS,
    NAMES,
    TOLERANCE,
    assert_close,
    assert_refused,
    cases,
    chosen_layout,
    storage_dtype,
    tensor_names,
    tensor_of,
    with_layout,
)


def tolerance_of(array, dtype):
    """The tolerance of the coarser of the call's dtype and the result's."""
    kept = TOLERANCE.get(str(array.dtype), 0)
    return max(TOLERANCE.get(dtype, TOLERANCE["float32"]), kept)


def check(name, dtype, layout):
    for case in cases(name, dtype, layout):
        tensors = [with_layout(a, layout, storage_dtype(a, dtype)) for a in case.arrays]
        if case.refusal:
            assert_refused(case, tensors)
            continue
        results = zip(case.native(tensors), case.expected, strict=True)
        for k, (actual, array) in enumerate(results):
            if k not in CHOSEN.get(name, ()):
                assert_close(actual, array, tolerance_of(array, dtype))


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name):
    for layout in LAYOUTS[1:]:
        with one_case(layout):
            check(name, "float32", layout)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    for dtype in (*FLOATS[1:], *INTEGERS):
        layout = chosen_layout(name, dtype)
        with one_case(dtype, layout):
            check(name, dtype, layout)


POINTWISE = [name for name in NAMES if REGISTRY[name].kind == "pointwise"]


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_ops_of_no_dims_and_no_elements(name):
    op = REGISTRY[name]
    for call, *_ in calls(name)[:1]:
        scalars = [tensor_of(a.reshape(-1)[0]) for a in call.tensors]
        whole = [tensor_of(a.reshape(-1)[:1]) for a in call.tensors]
        empty = [tensor_of(np.zeros((0, 3), a.dtype)) for a in call.tensors]
        actual = run_native(name, native_arguments(op, call, scalars))
        wanted = run_native(name, native_arguments(op, call, whole))
        nothing = run_native(name, native_arguments(op, call, empty))
        for a, b, c in zip(actual, wanted, nothing, strict=True):
            assert a.shape == () and c.shape == (0, 3)
            np.testing.assert_allclose(a.numpy(), b.numpy()[0], rtol=1e-6)


def emptied(call, size):
    """The call's arrays, and its sizes and numbers, with 0 in place of a size."""
    arrays = [
        a[tuple(slice(0 if n == size else n) for n in a.shape)] for a in call.tensors
    ]
    env = {k: 0 if "." in k and n == size else n for k, n in call.env.items()}
    return arrays, env


def has_sizes(name):
    return any(a.ndim for call, *_ in calls(name) for a in call.tensors)


RANKED = [name for name in NAMES if name not in POINTWISE and has_sizes(name)]


@pytest.mark.parametrize("name", RANKED)
def test_tensors_without_elements_give_what_the_graph_gives(name):
    """Sets each size to 0 in all tensors: equal results, or a refusal."""
    op = REGISTRY[name]
    for call, *_ in calls(name):
        for size in sorted({n for a in call.tensors for n in a.shape}):
            arrays, env = emptied(call, size)
            tensors = [tensor_of(a) for a in arrays]
            arguments = native_arguments(op, call, tensors)
            try:
                graph = verify(op.trace(call.key, env).graph)
                expected = run(graph, arrays, env)
            except ERRORS:
                with pytest.raises(ERRORS):
                    run_native(name, arguments)
                continue
            leaves = [tensors[k].requires_grad_() for k in differentiable_inputs(graph)]
            results = run_native(name, arguments)
            for actual, array in zip(results, expected, strict=True):
                assert_close(actual, array, TOLERANCE["float64"], str(array.dtype))
            moving = [r.sum().real for r in results if r.requires_grad]
            if moving:
                actual = torch.autograd.grad(moving, leaves, allow_unused=True)
                for gradient, leaf in zip(actual, leaves, strict=True):
                    assert gradient is None or gradient.shape == leaf.shape


OF_TENSORS = [
    name
    for name in NAMES
    if REGISTRY[name].kind != "data_dependent"
    and tensor_names(REGISTRY[name], calls(name)[0][0])
]


@pytest.mark.parametrize("name", OF_TENSORS)
def test_meta_tensors_have_the_shapes_of_results(name):
    op = REGISTRY[name]
    for call, _, _, outputs in calls(name):
        tensors = [tensor_of(a).to("meta") for a in call.tensors]
        actual = run_native(name, native_arguments(op, call, tensors))
        for tensor, array in zip(actual, outputs, strict=True):
            assert tensor.device.type == "meta"
            assert tuple(tensor.shape) == array.shape
            assert str(tensor.dtype).removeprefix("torch.") == str(array.dtype)
