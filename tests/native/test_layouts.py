"""Every op gives what the interpreter gives, in every dtype and layout."""

import numpy as np
import pytest
from tools.op_samples import calls

import pellucid as torch
from pellucid_compiler.declare import REGISTRY
from tests.exec.support import CHOSEN, native_arguments, run_native
from tests.native.cases import (
    FLOATS,
    INTEGERS,
    LAYOUTS,
    NAMES,
    REFUSALS,
    TOLERANCE,
    assert_close,
    cases,
    chosen_layout,
    laid_out,
    storage_dtype,
    tensor_names,
    tensor_of,
)


def tolerance_of(array, dtype):
    """Of the coarser of the call's dtype and the result's."""
    kept = TOLERANCE.get(str(array.dtype), 0)
    return max(TOLERANCE.get(dtype, TOLERANCE["float32"]), kept)


def check(name, dtype, layout):
    for case in cases(name, dtype, layout):
        tensors = [laid_out(a, layout, storage_dtype(a, dtype)) for a in case.arrays]
        results = zip(case.native(tensors), case.expected, strict=True)
        for k, (found, array) in enumerate(results):
            if k not in CHOSEN.get(name, ()):
                assert_close(found, array, tolerance_of(array, dtype))


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("name", NAMES)
def test_layouts(name, layout):
    check(name, "float32", layout)


@pytest.mark.parametrize("dtype", FLOATS[1:])
@pytest.mark.parametrize("name", NAMES)
def test_float_dtypes(name, dtype):
    check(name, dtype, chosen_layout(name, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", NAMES)
def test_integer_dtypes(name, dtype):
    if not REGISTRY[name].options.int_to_float:
        check(name, dtype, chosen_layout(name, dtype))


POINTWISE = [name for name in NAMES if REGISTRY[name].kind == "pointwise"]


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_ops_of_no_dims_and_no_elements(name):
    op = REGISTRY[name]
    for call, *_ in calls(name)[:1]:
        scalars = [tensor_of(a.reshape(-1)[0]) for a in call.tensors]
        whole = [tensor_of(a.reshape(-1)[:1]) for a in call.tensors]
        empty = [tensor_of(np.zeros((0, 3), a.dtype)) for a in call.tensors]
        found = run_native(name, native_arguments(op, call, scalars))
        wanted = run_native(name, native_arguments(op, call, whole))
        nothing = run_native(name, native_arguments(op, call, empty))
        for a, b, c in zip(found, wanted, nothing, strict=True):
            assert a.shape == () and c.shape == (0, 3)
            np.testing.assert_allclose(a.numpy(), b.numpy()[0], rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in POINTWISE])
def test_tensors_without_elements_never_crash(name):
    """Each size in turn becomes 0, in all tensors: a result or a refusal."""
    op = REGISTRY[name]
    for call, *_ in calls(name)[:1]:
        for size in sorted({n for a in call.tensors for n in a.shape}):
            arrays = [
                a[tuple(slice(0 if n == size else n) for n in a.shape)]
                for a in call.tensors
            ]
            tensors = [
                tensor_of(a).requires_grad_(a.dtype == np.float64) for a in arrays
            ]
            try:
                results = run_native(name, native_arguments(op, call, tensors))
            except REFUSALS:
                continue
            moving = [r for r in results if r.requires_grad]
            if moving:
                leaves = [t for t in tensors if t.requires_grad]
                torch.autograd.grad(
                    [r.sum().real for r in moving], leaves, allow_unused=True
                )


@pytest.mark.parametrize("name", NAMES)
def test_meta_tensors_have_the_shapes_of_results(name):
    op = REGISTRY[name]
    if op.kind == "data_dependent" or not tensor_names(op, calls(name)[0][0]):
        return
    for call, _, _, outputs in calls(name):
        tensors = [tensor_of(a).to("meta") for a in call.tensors]
        try:
            found = run_native(name, native_arguments(op, call, tensors))
        except NotImplementedError:
            continue  # what depends on data
        for tensor, array in zip(found, outputs, strict=True):
            assert tensor.device.type == "meta"
            assert tuple(tensor.shape) == array.shape
            assert str(tensor.dtype).removeprefix("torch.") == str(array.dtype)
