"""``QConfigMapping``: the qconfigs of a model's modules, functions and methods.

Used by the graph mode flow (``quantize_fx``); also defines the default mappings.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import nn
from pellucid.ao.quantization import fake_quantize as fake
from pellucid.ao.quantization import observer as obs
from pellucid.ao.quantization.qconfig import (
    QConfig,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)
from pellucid.nn import functional as F

__all__ = [
    "QConfigMapping",
    "get_default_qat_qconfig_mapping",
    "get_default_qconfig_mapping",
]

# The kinds of keys of a qconfig, in order of increasing precedence.
_STYLES = (
    *("global_qconfig", "object_type_qconfigs", "module_name_regex_qconfigs"),
    *("module_name_qconfigs", "module_name_object_type_order_qconfigs"),
)


class QConfigMapping:
    """Qconfigs by type, by name, by pattern of names; None means unquantized.

    Later entries of this list take precedence over earlier ones: ``set_global``,
    ``set_object_type`` (a module class, a function, the name of a method),
    ``set_module_name_regex`` (the first that matches), ``set_module_name`` (the nearest
    module), ``set_module_name_object_type_order``.

    >>> qconfig = torch.ao.quantization.get_default_qconfig("x86")
    >>> mapping = torch.ao.quantization.QConfigMapping().set_global(qconfig)
    >>> mapping.set_module_name("head", None).module_name_qconfigs
    OrderedDict({'head': None})
    """

    def __init__(self) -> None:
        self.global_qconfig: QConfig | None = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[
            tuple[str, Any, int], Any
        ] = OrderedDict()

    def set_global(self, global_qconfig: QConfig | None) -> QConfigMapping:
        """The default for everything."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(
        self, object_type: Callable[..., Any] | str, qconfig: QConfig | None
    ) -> QConfigMapping:
        """For a module class, a function or the name of a method."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(
        self, module_name_regex: str, qconfig: QConfig | None
    ) -> QConfigMapping:
        """For modules whose names begin with a match; the first match wins."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(
        self, module_name: str, qconfig: QConfig | None
    ) -> QConfigMapping:
        """For a module and its submodules."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self,
        module_name: str,
        object_type: Callable[..., Any],
        index: int,
        qconfig: QConfig | None,
    ) -> QConfigMapping:
        """For the call number ``index`` of a type in the module of a name."""
        key = (module_name, object_type, index)
        self.module_name_object_type_order_qconfigs[key] = qconfig
        return self

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for style in _STYLES:
            lines.append(f" {style}")
            found = getattr(self, style)
            if isinstance(found, OrderedDict) and found:
                lines += [f"  {key}: {qconfig}" for key, qconfig in found.items()]
            else:
                lines.append(f"  {found}")
        return "\n".join([*lines, ")"])

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of lists, which ``from_dict`` reads."""
        ordered = self.module_name_object_type_order_qconfigs
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [(*k, v) for k, v in ordered.items()],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """Builds it from a dictionary with keys as in ``to_dict``."""
        made = cls()
        made.set_global(qconfig_dict.get(""))
        for key, add in (
            ("object_type", made.set_object_type),
            ("module_name_regex", made.set_module_name_regex),
            ("module_name", made.set_module_name),
            ("module_name_object_type_order", made.set_module_name_object_type_order),
        ):
            for entry in qconfig_dict.get(key, []):
                add(*entry)
        return made


_UNSIGNED = obs.default_fixed_qparams_range_0to1_observer
_SIGNED = obs.default_fixed_qparams_range_neg1to1_observer
# Functions with a fixed range, which determines the scale.
FIXED_RANGES: dict[Any, Any] = {
    **dict.fromkeys(
        (
            *(nn.Hardsigmoid, F.hardsigmoid, "hardsigmoid", "hardsigmoid_"),
            *(nn.Sigmoid, pellucid.sigmoid, "sigmoid", "sigmoid_", nn.Softmax),
        ),
        _UNSIGNED,
    ),
    **dict.fromkeys((nn.Tanh, pellucid.tanh, "tanh", "tanh_"), _SIGNED),
}
_TRANSPOSED = (
    *(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
    *(F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
)


def get_default_qconfig_mapping(
    backend: str = "x86", version: int = 0
) -> QConfigMapping:
    """For static quantization with the numerics of x86, fbgemm, onednn or qnnpack."""
    qconfig = get_default_qconfig(backend, version)
    return _default(backend, qconfig, obs.default_weight_observer, lambda made: made)


def get_default_qat_qconfig_mapping(
    backend: str = "x86", version: int = 1
) -> QConfigMapping:
    """For quantization-aware training."""

    def rounding(observer: Any) -> Any:
        return fake.FixedQParamsFakeQuantize.with_args(observer=observer)

    qconfig = get_default_qat_qconfig(backend, version)
    return _default(backend, qconfig, fake.default_weight_fake_quant, rounding)


def _default(
    backend: str, qconfig: QConfig, weight: Any, fixed: Callable[[Any], Any]
) -> QConfigMapping:
    """``qconfig``, adapted for ops with one weight scale, none, or a fixed scale."""
    made = QConfigMapping().set_global(qconfig)
    made.set_object_type("reshape", default_reuse_input_qconfig)
    one_scale = backend in ("fbgemm", "x86")
    transposed = QConfig(qconfig.activation, weight) if one_scale else qconfig
    for kind in _TRANSPOSED:
        made.set_object_type(kind, transposed)
    float_weight = QConfig(qconfig.activation, obs.default_placeholder_observer)
    made.set_object_type(F.layer_norm, float_weight)
    made.set_object_type(nn.LayerNorm, float_weight)
    made.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    ranges = {each: QConfig(fixed(each), weight) for each in (_UNSIGNED, _SIGNED)}
    for kind, observer in FIXED_RANGES.items():
        made.set_object_type(kind, ranges[observer])
    return made
