"""``torch.quantization``: the older name of ``torch.ao.quantization``."""

from pellucid.ao.quantization import DeQuantStub as DeQuantStub
from pellucid.ao.quantization import FakeQuantizeBase as FakeQuantizeBase
from pellucid.ao.quantization import ObserverBase as ObserverBase
from pellucid.ao.quantization import QuantStub as QuantStub
from pellucid.ao.quantization import QuantWrapper as QuantWrapper
from pellucid.ao.quantization import convert as convert
from pellucid.ao.quantization import prepare as prepare
from pellucid.ao.quantization import prepare_qat as prepare_qat
from pellucid.ao.quantization import quantize as quantize
from pellucid.ao.quantization import quantize_dynamic as quantize_dynamic
