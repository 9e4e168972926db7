"""Pellucid: PyTorch's public API over one declaration per op.

``import pellucid as torch``. This file imports the parts in the order of their
dependencies: the runtime, the Tensor class, the op callables, then the functions
written in Python. Importing it imports neither NumPy nor llvmlite nor the op
declarations; ``nn``, ``optim`` and other modules are imported at first use. Read
``_tensor/tensor.py`` and ``_package/bind.py`` next.
"""

import math

from pellucid import _C
from pellucid._package.bind import bind_ops as _bind_ops
from pellucid._C import (
    DispatchKey as DispatchKey,
    DispatchKeySet as DispatchKeySet,
    Generator as Generator,
    Size as Size,
    StorageBase as StorageBase,
    as_tensor as as_tensor,
    bfloat16 as bfloat16,
    bool as bool,
    can_cast as can_cast,
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    complex32 as complex32,
    complex64 as complex64,
    complex128 as complex128,
    contiguous_format as contiguous_format,
    default_generator as default_generator,
    device as device,
    dtype as dtype,
    enable_grad as enable_grad,
    float4_e2m1fn_x2 as float4_e2m1fn_x2,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
    get_default_dtype as get_default_dtype,
    get_num_threads as get_num_threads,
    inference_mode as inference_mode,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    jagged as jagged,
    layout as layout,
    memory_format as memory_format,
    no_grad as no_grad,
    preserve_format as preserve_format,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
    set_grad_enabled as set_grad_enabled,
    set_num_threads as set_num_threads,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
    tensor as tensor,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    bits16 as bits16,
    bits1x8 as bits1x8,
    bits2x4 as bits2x4,
    bits4x2 as bits4x2,
    bits8 as bits8,
    int1 as int1,
    int2 as int2,
    int3 as int3,
    int4 as int4,
    int5 as int5,
    int6 as int6,
    int7 as int7,
    uint1 as uint1,
    uint2 as uint2,
    uint3 as uint3,
    uint4 as uint4,
    uint5 as uint5,
    uint6 as uint6,
    uint7 as uint7,
    qint32 as qint32,
    qint8 as qint8,
    quint2x4 as quint2x4,
    quint4x2 as quint4x2,
    quint8 as quint8,
    per_channel_affine as per_channel_affine,
    per_channel_affine_float_qparams as per_channel_affine_float_qparams,
    per_channel_symmetric as per_channel_symmetric,
    per_tensor_affine as per_tensor_affine,
    per_tensor_symmetric as per_tensor_symmetric,
    qscheme as qscheme,
)
from pellucid._package.errors import AcceleratorError as AcceleratorError
from pellucid._package.errors import OutOfMemoryError as OutOfMemoryError
from pellucid._tensor import Tensor as Tensor
from pellucid._functions.type_info import finfo as finfo
from pellucid._functions.type_info import iinfo as iinfo

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

float = float32
double = float64
half = float16
cfloat = complex64
cdouble = complex128
short = int16
int = int32
long = int64

e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

_C._start(__path__[0])
_C.__path__ = [f"{__path__[0]}/_C"]  # torch._C._functorch and other submodules
_bind_ops(globals())

legacy_contiguous_format = contiguous_format
chalf = complex32

from pellucid._functions.queries import *
from pellucid._package.lazy_exports import bind_lazy as _bind_lazy
from pellucid.torch_version import TorchVersion as _TorchVersion
from pellucid.version import __version__ as _version

__version__ = _TorchVersion(_version)
_bind_lazy(globals())
del _TorchVersion, _bind_lazy, _bind_ops, _version

if TYPE_CHECKING:  # names from the op table
    from pellucid import linalg as linalg
    from pellucid._C._op_types.functions import *
    from pellucid._C._op_types.offered import *

    def __getattr__(name: str) -> Any: ...
