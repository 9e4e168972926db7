"""Sample calls on the built runtime, in any dtype and layout, and expected results.

This file decides what is compared: the interpreter (``pellucid_compiler.ir``)
runs the Graph of the call's key on NumPy arrays, the runtime runs the op on
tensors that hold the same values in some layout. Used by every test of this folder.
"""

import zlib
from typing import NamedTuple

import numpy as np
import pytest
from tools.op_samples import INDEX_NAMES, as_dtype, calls

import pellucid as torch
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import ListKey, NumberKey, TensorKey
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.specialise.pointwise import compute_of
from pellucid_compiler.specialise.promotion import promoted_mask
from tests.declarations.refusals import ERRORS, INTEGERS, RECORDED, graph_in, key_in
from tests.exec.support import native_arguments, run_native

TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "bfloat16": 2e-2, "float16": 4e-3}

# Arguments whose first column is an index, which must not change.
HOLDS_PLACES = {"rois"}
NAMES = [n for n, op in REGISTRY.items() if op.kind not in ("random", "foreach")]


class Case(NamedTuple):
    """A call in one dtype: its arrays, by argument, and what is expected: the
    interpreter's results, or the name of an error.
    """

    name: str
    call: object
    arrays: list
    names: list
    expected: list | None
    refusal: str | None

    def native(self, tensors):
        """The runtime's results for tensors instead of the arrays."""
        op = REGISTRY[self.name]
        return run_native(self.name, native_arguments(op, self.call, tensors))


def tensor_names(op, call):
    """The argument that each tensor of the call belongs to."""
    names = []
    for argument, item in zip(op.schema.arguments, call.key, strict=True):
        if isinstance(item, TensorKey):
            names.append(argument.name)
        elif isinstance(item, ListKey):
            names += [argument.name for i in item.items if isinstance(i, TensorKey)]
    return names


def cases(name, dtype, layout="contiguous"):
    """The sample calls of an op in a dtype, including those that it refuses."""
    op = REGISTRY[name]
    for number, (call, *_) in enumerate(calls(name)):
        key = key_in(call, dtype)
        names = tensor_names(op, call)
        arrays = [
            as_dtype(a if n in HOLDS_PLACES else _whole(a, dtype), dtype)
            for a, n in zip(call.tensors, names, strict=True)
        ]
        if layout == "expanded":
            arrays = [repeated(a, n) for a, n in zip(arrays, names, strict=True)]
        computed, inputs, env = promoted(op, key, arrays, call.env)
        graph = graph_in(name, number, call, computed, dtype)
        expected = None if graph is None else run(graph, inputs, env)
        refusal = RECORDED.get((name, number, dtype))
        yield Case(name, call._replace(key=key), arrays, names, expected, refusal)


def promoted(op, key, arrays, env):
    """Key, arrays and numbers of a call as a pointwise op computes them."""
    if op.kind != "pointwise":
        return key, arrays, dict(env)
    options = op.options
    compute = compute_of(op.schema, key, promoted_mask(op), options.int_to_float)
    items, cast, numbers, inputs = [], [], dict(env), iter(arrays)
    for item, to, argument in zip(key, compute.key, op.schema.arguments, strict=True):
        if isinstance(item, TensorKey):
            array = next(inputs)
            kept = item.dtype == to.dtype or not options.int_to_float
            cast.append(array if kept else array.astype(to.dtype))
            items.append(item if kept else item._replace(dtype=to.dtype))
        elif isinstance(item, NumberKey):
            items.append(to)
            convert = {"weakint": int, "bool": bool}.get(to.dtype)
            if convert:
                numbers[argument.name] = convert(env[argument.name])
        else:
            items.append(item)
    return tuple(items), cast, numbers


def _whole(array, dtype):
    """Floats as positive numbers if they are converted to integers: no divisor is 0."""
    if array.dtype == np.float64 and dtype in INTEGERS:
        return array > 0 if dtype == "bool" else np.floor(np.abs(array) * 3 + 1)
    return array


def repeated(array, name):
    """Its first slice repeated, as in an expanded tensor.

    Indices do not change: an order of equal indices is not defined.
    """
    if name in INDEX_NAMES or name.endswith("_lengths") or not array.ndim:
        return array
    return np.broadcast_to(array[:1], array.shape).copy()


def tensor_of(array, dtype=None):
    """A contiguous tensor; bfloat16 is given as float32."""
    tensor = torch.from_numpy(np.array(array, copy=True))
    return tensor if dtype is None else tensor.to(getattr(torch, dtype))


def with_layout(array, layout, dtype=None):
    """A tensor with the array's values in a layout."""
    if layout == "transposed" and array.ndim > 1:
        return tensor_of(np.ascontiguousarray(array.T), dtype).permute(
            *reversed(range(array.ndim))
        )
    if layout == "stepped" and array.ndim:
        wide = np.repeat(array, 2, axis=-1)
        padded = np.concatenate([wide[..., :1], wide], axis=-1)
        return tensor_of(padded, dtype)[..., 1::2]
    if layout == "expanded" and array.ndim and array.shape[0] > 1:
        first = np.broadcast_to(array[:1], array.shape)
        if np.array_equal(first, array):
            return tensor_of(array[:1], dtype).expand(*array.shape)
    return tensor_of(array, dtype)


LAYOUTS = ("contiguous", "transposed", "stepped", "expanded")


def chosen_layout(*words):
    """A layout chosen by a hash of the words."""
    return LAYOUTS[zlib.crc32(" ".join(words).encode()) % len(LAYOUTS)]


def storage_dtype(array, dtype):
    """The dtype of the case's tensors: only bfloat16 is stored in float32 arrays."""
    return dtype if dtype == "bfloat16" and array.dtype == np.float32 else None


def plain(tensor):
    """The tensor as an array; bfloat16 as float32, complex32 as complex64."""
    tensor = tensor.detach()
    if tensor.dtype is torch.complex32:
        tensor = tensor.to(torch.complex64)
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.float()
    return np.asarray(tensor)


def assert_refused(case, tensors):
    with pytest.raises(ERRORS) as caught:
        case.native(tensors)
    assert caught.type.__name__ == case.refusal


def assert_close(tensor, array, tolerance, dtype=None):
    """Shape and values; also the dtype if the interpreter's array has it."""
    actual = plain(tensor)
    assert actual.shape == array.shape
    if dtype is not None:
        assert str(tensor.dtype).removeprefix("torch.") == dtype
    np.testing.assert_allclose(
        actual.astype(array.dtype),
        array,
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
    )
