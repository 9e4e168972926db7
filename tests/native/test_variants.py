"""In-place and ``out=`` forms of every op give what the functional form gives."""

import numpy as np
import pytest
from tools.op_samples import calls

import pellucid as torch
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.variants import inplace_schema, out_schema
from tests.conftest import one_case
from tests.exec.support import native_arguments, run_native
from tests.native.cases import NAMES, tensor_of, with_layout

INPLACE = [n for n in NAMES if inplace_schema(REGISTRY[n]) is not None]
OUT = [n for n in NAMES if out_schema(REGISTRY[n]) is not None]


def sample(name):
    """(op, call, results) of the first sample call."""
    op = REGISTRY[name]
    call = calls(name)[0][0]
    return op, call, run_native(name, native_arguments(op, call))


def call_form(schema, arguments, outputs=()):
    """Call a form by its full name; ``outputs`` are given by keyword."""
    by_position, by_keyword = [], {}
    for argument, value in zip(schema.arguments, arguments, strict=False):
        if argument.keyword_only:
            by_keyword[argument.name] = value
        else:
            by_position.append(value)
    names = [a.name for a in schema.arguments if a.mutated]
    if outputs:
        by_keyword.update(zip(names[-len(outputs) :], outputs, strict=True))
    return torch._C._op_named(schema.full_name)(*by_position, **by_keyword)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "stepped"])
@pytest.mark.parametrize("name", INPLACE)
def test_in_place_forms_write_self(name, layout):
    op, call, results = sample(name)
    tensors = [tensor_of(a) for a in call.tensors]
    own = tensors[0] = with_layout(np.array(call.tensors[0]), layout)
    fits = op.kind == "view" or (  # which changes the sizes of its tensor
        results[0].shape == own.shape and torch.can_cast(results[0].dtype, own.dtype)
    )
    version = own._version
    arguments = native_arguments(op, call, tensors)
    if not fits:
        with pytest.raises((RuntimeError, TypeError)):
            call_form(inplace_schema(op), arguments)
        return
    assert call_form(inplace_schema(op), arguments) is own
    assert own._version > version
    np.testing.assert_allclose(
        own.numpy(), results[0].to(own.dtype).numpy(), rtol=1e-6, equal_nan=True
    )


def destinations(results, layout):
    """Empty tensors of the results' shapes and dtypes in a layout."""
    made = []
    for result in results:
        tensor = torch.zeros(result.shape, dtype=result.dtype)
        made.append(with_layout(tensor.numpy(), layout))
    return made


@pytest.mark.parametrize("name", OUT)
def test_out_is_filled_in_its_layout(name):
    for layout in ("contiguous", "transposed", "stepped"):
        with one_case(layout):
            check_filled(name, layout)


def check_filled(name, layout):
    op, call, results = sample(name)
    outputs = destinations(results, layout)
    strides = [t.stride() for t in outputs]
    call_form(out_schema(op), native_arguments(op, call), outputs)
    for tensor, stride, result in zip(outputs, strides, results, strict=True):
        assert tensor.stride() == stride
        np.testing.assert_allclose(
            tensor.numpy(), result.numpy(), rtol=1e-6, equal_nan=True
        )


@pytest.mark.parametrize("name", OUT)
def test_an_empty_out_is_resized(name):
    op, call, results = sample(name)
    outputs = [torch.empty(0, dtype=r.dtype) for r in results]
    call_form(out_schema(op), native_arguments(op, call), outputs)
    for tensor, result in zip(outputs, results, strict=True):
        assert tensor.shape == result.shape
        np.testing.assert_allclose(
            tensor.numpy(), result.numpy(), rtol=1e-6, equal_nan=True
        )


# Their ``dtype`` argument is that of ``out`` unless it is given.
COMPUTES_IN_OUT = {
    name
    for name in OUT
    if REGISTRY[name].kind in ("factory", "reduction", "scan")
    and any(argument.name == "dtype" for argument in REGISTRY[name].schema.arguments)
} - {"mean", "mean.dim", "linalg_vector_norm"}  # which do not support integers
LESSER = {"f": torch.int64, "c": torch.float32, "i": torch.bool, "u": torch.bool}


def lesser(result):
    """A dtype that the result cannot be cast to; every dtype holds a bool."""
    return LESSER.get(result.numpy().dtype.kind)


NARROWED = [name for name in OUT if any(map(lesser, sample(name)[2]))]


@pytest.mark.filterwarnings("ignore:.*resiz")
@pytest.mark.parametrize("name", NARROWED)
def test_an_out_of_a_lesser_dtype_is_refused_or_computed_in(name):
    op, call, results = sample(name)
    outputs = [torch.empty(r.shape, dtype=r.dtype) for r in results]
    first = next(k for k, r in enumerate(results) if lesser(r))
    outputs[first] = torch.empty(results[first].shape, dtype=lesser(results[first]))
    arguments = native_arguments(op, call)
    if name in COMPUTES_IN_OUT:
        call_form(out_schema(op), arguments, outputs)
        assert outputs[first].dtype == lesser(results[first])
    else:
        with pytest.raises(RuntimeError) as refusal:
            call_form(out_schema(op), arguments, outputs)
        assert len(str(refusal.value).splitlines()) <= 10
