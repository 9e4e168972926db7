"""``fft``: discrete Fourier transforms of real and complex tensors.

Based on three linear ops run by NumPy, which must be installed
(``pellucid_compiler/catalogue/fourier.py``), and functions of them
(``pellucid_compiler/composites/fourier.py``). Imported lazily.
"""

import typing as _typing

from pellucid._C import _fft
from pellucid._tensor import Tensor as Tensor

if _typing.TYPE_CHECKING:  # names from the op table
    from pellucid._C._op_types.fft import *

__all__ = sorted(name for name in vars(_fft) if name[0] != "_")

globals().update({name: getattr(_fft, name) for name in __all__})
