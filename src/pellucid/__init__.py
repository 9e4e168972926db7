"""Pellucid: PyTorch's public API over one declaration per op; ``import pellucid as torch``.

The order of this file is the order in which the parts need each other: the runtime, the
Tensor class, the op callables, then the packages written in Python. Importing it imports
neither NumPy nor llvmlite nor the op declarations. Read ``_tensor.py`` and ``_bind.py`` next.
"""

from pellucid import _C
from pellucid._bind import bind_ops
from pellucid._C import *  # noqa: F403  dtypes, contexts, functions on data from outside
from pellucid._tensor import Tensor
from pellucid._type_info import finfo, iinfo

_C._start(__path__[0])
bind_ops(globals())
