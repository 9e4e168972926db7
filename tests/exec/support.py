"""Calls of the registry's sample arguments on the built runtime."""

import numpy as np

import pellucid
from pellucid_compiler.declare.key import ListKey, NumberKey, StaticKey, TensorKey
from pellucid_compiler.declare.op import REGISTRY

# Results that depend on rounding or the algorithm: phases of eigenvectors and singular
# vectors, and the position of the first zero pivot of a singular matrix.
# tests/catalogue/test_lapack.py and test_small_matrices.py test them otherwise.
CHOSEN = {
    "pellucid::_linalg_eig": (1,),
    "_linalg_eigh": (1,),
    "_linalg_svd": (0, 2),
    "pellucid::_linalg_inv": (1,),
}


def native_arguments(op, call, tensors=None):
    """The arguments of a sample call as the runtime takes them."""
    inputs = iter(call.tensors if tensors is None else tensors)
    return [
        _value(op, argument, item, argument.name, inputs, call.env)
        for argument, item in zip(op.schema.arguments, call.key, strict=True)
    ]


def _value(op, argument, item, name, arguments, env):
    if isinstance(item, TensorKey):
        value = next(arguments)
        if isinstance(value, pellucid.Tensor):
            return value
        return pellucid.from_numpy(np.array(value, copy=True))
    if isinstance(item, ListKey):
        return [
            _value(op, argument, inner, f"{name}[{k}]", arguments, env)
            for k, inner in enumerate(item.items)
        ]
    if isinstance(item, NumberKey):
        return env[name]
    if not isinstance(item, StaticKey):
        raise TypeError(f"{name} is none of the items that a key consists of: {item}")
    if argument.type == "ScalarType" and item.value is not None:
        return getattr(pellucid, item.value)
    return item.value


def run_native(name, arguments):
    """The results of an op by its full name, as a list of NumPy arrays."""
    op = REGISTRY[name]
    by_position, by_keyword = [], {}
    for argument, value in zip(op.schema.arguments, arguments, strict=True):
        if argument.keyword_only:
            by_keyword[argument.name] = value
        else:
            by_position.append(value)
    result = pellucid._C._op_named(name)(*by_position, **by_keyword)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def assert_same(native, expected, tolerance):
    """Values, shapes and dtypes of native results against arrays."""
    assert len(native) == len(expected)
    for tensor, array in zip(native, expected, strict=True):
        assert tuple(tensor.shape) == array.shape
        assert str(tensor.dtype).removeprefix("torch.") == str(array.dtype)
        actual = tensor.detach().numpy()
        np.testing.assert_allclose(actual, array, rtol=tolerance, atol=tolerance)
