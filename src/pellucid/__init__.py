"""Pellucid: PyTorch's public API over one declaration per op.

``import pellucid as torch``. The order of this file is the order in which the parts
need each other: the runtime, the Tensor class, the op callables, then what is written
in Python. Importing it imports neither NumPy nor llvmlite nor the op declarations;
``nn``, ``optim`` and their like are imported when first used. Read ``_tensor.py`` and
``_bind.py`` next.
"""

from __future__ import annotations

from typing import Any

from pellucid import _C
from pellucid._bind import bind_ops
from pellucid._C import (
    Generator,
    Size,
    UntypedStorage,
    as_tensor,
    bfloat16,
    bool,
    can_cast,
    channels_last,
    channels_last_3d,
    complex64,
    complex128,
    contiguous_format,
    default_generator,
    device,
    dtype,
    enable_grad,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    frombuffer,
    get_default_dtype,
    get_num_threads,
    inference_mode,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    is_inference_mode_enabled,
    jagged,
    layout,
    memory_format,
    no_grad,
    preserve_format,
    promote_types,
    set_default_dtype,
    set_grad_enabled,
    set_num_threads,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    tensor,
    uint8,
)
from pellucid._tensor import Tensor
from pellucid._type_info import finfo, iinfo

float = float32
double = float64
half = float16
cfloat = complex64
cdouble = complex128
short = int16
int = int32
long = int64

_C._start(__path__[0])
bind_ops(globals())

from pellucid._draws import *
from pellucid._functions import *
from pellucid._products import *
from pellucid._shapes import *
from pellucid.version import __version__

_SUBMODULES = frozenset(
    {
        "autograd",
        "backends",
        "cuda",
        "distributed",
        "library",
        "nn",
        "optim",
        "overrides",
        "random",
        "serialization",
        "utils",
        "version",
    }
)
# Functions of modules that are imported when first asked for.
_LAZY = {
    "compile": "_compile",
    "explain": "explain",
    "fork_rng": "random",
    "get_rng_state": "random",
    "initial_seed": "random",
    "load": "serialization",
    "manual_seed": "random",
    "ops": "_ops",
    "save": "serialization",
    "seed": "random",
    "set_printoptions": "_tensor_str",
    "set_rng_state": "random",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"pellucid.{name}")
    if name in _LAZY:
        value = getattr(import_module(f"pellucid.{_LAZY[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(
        f"module 'pellucid' has no attribute {name!r}: either PyTorch has no such "
        "name, or Pellucid does not offer it yet"
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_LAZY})
