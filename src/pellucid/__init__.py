"""Pellucid: PyTorch's API over one declaration per op; ``import pellucid as torch``.

The order of this file is the order in which the parts need each other: the runtime, the
Tensor class, the op callables, then the packages written in Python. Importing it
imports neither NumPy nor llvmlite nor the op declarations, and modules that few
programs need only when they are named. Read ``_tensor.py`` and ``_bind.py`` next.
"""

from importlib import import_module
from typing import Any

from pellucid import _C
from pellucid._bind import bind_ops
from pellucid._C import *  # dtypes, contexts, functions on data from outside
from pellucid._tensor import Tensor
from pellucid._type_info import finfo, iinfo

_C._start(__path__[0])
bind_ops(globals())

# These use the ops, or the packages before them, while they are imported.
from pellucid import autograd, random, utils, nn, optim
from pellucid._tensor_str import set_printoptions
from pellucid.random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from pellucid.version import __version__

_ON_DEMAND = {"save": "serialization", "load": "serialization", "compile": "_compile"}
_MODULES_ON_DEMAND = frozenset(("backends", "cuda", "distributed", "serialization"))


def __getattr__(name: str) -> Any:
    if name in _MODULES_ON_DEMAND:
        return import_module(f"pellucid.{name}")
    if name not in _ON_DEMAND:
        raise AttributeError(
            f"module 'pellucid' has no attribute {name!r}: either PyTorch has none, or "
            "Pellucid does not offer it yet"
        )
    value = getattr(import_module(f"pellucid.{_ON_DEMAND[name]}"), name)
    globals()[name] = value
    return value
