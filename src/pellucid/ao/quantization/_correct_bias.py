"""Shifts biases of a quantized model by its mean error (Nagel 2019, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.nn import quantized as nnq
from pellucid.ao.ns import _numeric_suite as ns

__all__ = [
    "MeanShadowLogger",
    "bias_correction",
    "get_module",
    "get_param",
    "parent_child_names",
]

_supported_modules = {nn.Linear, nn.Conv2d}
_supported_modules_quantized = {nnq.Linear, nnq.Conv2d}


def get_module(model: nn.Module, name: str) -> nn.Module:
    """The submodule of that name."""
    found: nn.Module = dict(model.named_modules())[name]
    return found


def parent_child_names(name: str) -> tuple[str, str]:
    """``"a.b.c"`` as ``("a.b", "c")``."""
    parent, _, child = name.rpartition(".")
    return parent, child


def get_param(module: Any, attr: str) -> Any:
    """A weight or bias, which quantized layers return from a method."""
    found = getattr(module, attr, None)
    return found() if callable(found) else found


class MeanShadowLogger(ns.Logger):
    """The mean results of a quantized module and of its float shadow."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def forward(self, x: Tensor, y: Tensor) -> None:
        """Records ``x`` of the quantized module, ``y`` of the float one."""
        self.count += 1
        for name, value in (("quantized", x), ("float", y)):
            value = value.dequantize() if value.is_quantized else value
            total = self._totals.get(name)
            self._totals[name] = value if total is None else total + value
            self.stats[name] = self._totals[name] / self.count

    def clear(self) -> None:
        """Forgets what was recorded."""
        self.stats: dict[str, Any] = {"float": None, "quantized": None}
        self.count, self._totals = 0, dict[str, Tensor]()


def bias_correction(
    float_model: nn.Module,
    quantized_model: nn.Module,
    img_data: Iterable[Any],
    target_modules: Any = _supported_modules_quantized,
    neval_batches: int | None = None,
) -> None:
    """Subtracts from each bias the mean error of its module's results, on up to
    ``neval_batches`` batches; ``quantized_model`` keeps the shadows that measure it.
    """
    ns.prepare_model_with_stubs(
        float_model, quantized_model, _supported_modules, MeanShadowLogger
    )
    modules = list(quantized_model.named_modules())
    for name, module in modules:
        bias = get_param(module, "bias") if type(module) in target_modules else None
        if bias is None:
            continue
        for count, batch in enumerate(img_data, start=1):
            quantized_model(batch[0])
            if count == neval_batches:
                break
        stats = ns.get_logger_dict(quantized_model)
        seen = stats[parent_child_names(name)[0] + ".stats"]
        error: Any = seen["quantized"] - seen["float"]
        dims = [d for d in range(error.dim()) if d != 1]  # not over channels
        bias.data = bias.data - pellucid.mean(error, dims)
        for each in quantized_model.modules():
            if isinstance(each, MeanShadowLogger):
                each.clear()
