"""Native sample calls of every declared op, for the tests of the transforms."""

from functools import cache

import numpy as np
from tools.op_samples import candidates

import pellucid as torch
from pellucid import _C
from pellucid.utils._pytree import tree_flatten, tree_map, tree_unflatten
from pellucid_compiler.declare import REGISTRY

MAX_CALLS = 2
BATCH = 3


def ramp(*shape):
    """Distinct numbers without order."""
    count = int(np.prod(shape))
    values = np.random.default_rng(count).permutation(count) / count - 0.4
    return values.reshape(shape)


SPACES = {1: (4,), 2: (4, 4), 3: (2, 3, 2)}
TARGETS = {1: [6], 2: [3, 6], 3: [3, 2, 4]}


def images(dims):
    return ramp(1, 2, *SPACES[dims])


# Arguments that neither the schema nor the shapes of op_samples.py determine.
GIVEN = {
    **{
        f"{prefix}{d}d": (images(d), TARGETS[d], *rest)
        for d in SPACES
        for prefix, rest in (
            ("upsample_nearest", ()),
            ("_upsample_nearest_exact", ()),
            ("adaptive_avg_pool", ()),
            ("adaptive_max_pool", ()),
        )
    },
    "upsample_linear1d": (images(1), TARGETS[1], False),
    "upsample_bicubic2d": (images(2), TARGETS[2], False),
    "upsample_trilinear3d": (images(3), TARGETS[3], False),
    **{f"avg_pool{d}d": (images(d), [2] * d) for d in SPACES},
    **{
        f"{mode}_pad{d}d": (images(d), [1, 0] * d)
        for d in SPACES
        for mode in ("reflection", "replication")
    },
    "col2im": (ramp(1, 4, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]),
    "conv3d": (images(3), ramp(2, 2, 2, 2, 2)),
    "conv3d.padding": (images(3), ramp(2, 2, 2, 2, 2)),
    "conv_transpose2d.input": (images(2), ramp(2, 3, 2, 2)),
    "conv_transpose3d.input": (images(3), ramp(2, 2, 2, 2, 2)),
}


class Call:
    """An op and arguments that it accepts; ``leaves`` are the flat ones."""

    def __init__(self, op, args):
        self.op = op
        self.leaves, self.spec = tree_flatten(args)
        self.places = [k for k, v in enumerate(self.leaves) if is_tensor(v)]

    def tensors(self):
        return [self.leaves[k] for k in self.places]

    def __call__(self, *tensors):
        """The float, integer and bool results for other tensors, as a flat list."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        results, _ = tree_flatten(self.op(*tree_unflatten(leaves, self.spec)))
        return [r for r in results if is_tensor(r)]


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def native(value):
    if isinstance(value, np.ndarray):
        return torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype)))
    return value


def with_dtypes(op, args):
    """``args`` with dtypes where the schema asks for them."""
    return [
        getattr(torch, value)
        if argument.type == "ScalarType" and isinstance(value, str)
        else value
        for argument, value in zip(op.schema.arguments, args, strict=False)
    ]


@cache
def native_calls(name):
    """Up to two calls of an op in float64 with finite results of several ranks."""
    op = REGISTRY[name]
    function = _C._op_named(name)
    actual, ranks = [], set()
    inputs = [GIVEN[name]] if name in GIVEN else candidates(op, "float64")
    for args in inputs:
        call = Call(positional(op, function), tree_map(native, with_dtypes(op, args)))
        key = tuple(t.dim() for t in call.tensors())
        if key in ranks:
            continue
        try:
            results = call(*call.tensors())
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            if name in GIVEN:
                raise  # these must run; others are tried
            continue
        if all(bool(r.isfinite().all()) for r in results if r.is_floating_point()):
            ranks.add(key)
            actual.append(call)
        if len(actual) == MAX_CALLS:
            break
    return actual


def positional(op, function):
    """``function`` with keyword-only arguments by their names."""
    names = [a.name if a.keyword_only else None for a in op.schema.arguments]

    def call(*args):
        pairs = list(zip(names, args, strict=False))
        plain = [value for name, value in pairs if name is None]
        return function(*plain, **{name: v for name, v in pairs if name is not None})

    return call
