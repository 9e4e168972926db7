"""``torch.ao.nn.quantized``: layers with integer weights and quantized results."""

from __future__ import annotations

from pellucid.ao.nn.quantized import dynamic as dynamic
from pellucid.ao.nn.quantized.functional_modules import (
    FloatFunctional as FloatFunctional,
)
from pellucid.ao.nn.quantized.functional_modules import QFunctional as QFunctional
from pellucid.ao.nn.quantized.layers import Conv1d as Conv1d
from pellucid.ao.nn.quantized.layers import Conv2d as Conv2d
from pellucid.ao.nn.quantized.layers import Conv3d as Conv3d
from pellucid.ao.nn.quantized.layers import DeQuantize as DeQuantize
from pellucid.ao.nn.quantized.layers import Dropout as Dropout
from pellucid.ao.nn.quantized.layers import Linear as Linear
from pellucid.ao.nn.quantized.layers import Quantize as Quantize
from pellucid.ao.nn.quantized.layers import ReLU6 as ReLU6

__all__ = [
    *("Conv1d", "Conv2d", "Conv3d", "DeQuantize", "Dropout", "FloatFunctional"),
    *("Linear", "QFunctional", "Quantize", "ReLU6", "dynamic"),
]
