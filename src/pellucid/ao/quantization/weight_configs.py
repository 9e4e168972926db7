"""``quantize_``: gives linear layers narrow weights, where that is faster.

In torchao's manner, but each layer is measured: one that would be slower stays as it
is, and the report says by how much. Read ``ao/_quantized/narrow_weights.py`` next;
``accuracy.py`` says what narrow weights cost in accuracy.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.narrow_weights import (
    Int4Weight,
    Int8DynamicWeight,
    Int8Weight,
    NarrowWeight,
)
from pellucid.nn.modules.linear import NonDynamicallyQuantizableLinear

_SECONDS = 0.02  # of measuring, for each layer and side
_ROUNDS = 5  # at least


@dataclass(frozen=True)
class WeightConfig:
    """How weights are stored. ``options`` go to the format's ``encode``."""

    def format(self) -> type[NarrowWeight]:
        """The class of the weights."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """What its ``encode`` takes."""
        return {}

    def why_not(self, weight: Tensor) -> str:
        """Why the format does not support the weight, or ""."""
        is_fit = weight.dtype in (pellucid.float32, pellucid.bfloat16, pellucid.float16)
        return "" if is_fit else f"its weight is {weight.dtype}"


@dataclass(frozen=True)
class Int8WeightOnlyConfig(WeightConfig):
    """int8 weights, float products: for few rows."""

    def format(self) -> type[NarrowWeight]:
        return Int8Weight


@dataclass(frozen=True)
class Int8DynamicActivationInt8WeightConfig(WeightConfig):
    """int8 weights, and inputs that become int8 as they arrive: for many rows."""

    def format(self) -> type[NarrowWeight]:
        return Int8DynamicWeight


@dataclass(frozen=True)
class Int4WeightOnlyConfig(WeightConfig):
    """Weights of four bits with a scale for each ``group_size`` elements."""

    group_size: int = 128

    def __post_init__(self) -> None:
        if self.group_size not in (32, 64, 128, 256):
            raise ValueError(f"group_size is 32, 64, 128 or 256, not {self.group_size}")

    def format(self) -> type[NarrowWeight]:
        return Int4Weight

    def options(self) -> dict[str, Any]:
        return {"group_size": self.group_size}

    def why_not(self, weight: Tensor) -> str:
        rows, columns = weight.shape
        if rows % 16 or columns % self.group_size:
            return (
                f"its weight has the shape {tuple(weight.shape)}: rows are taken by "
                f"16, columns by {self.group_size}"
            )
        return super().why_not(weight)


@dataclass
class LayerTimes:
    """One layer: microseconds with its float and its narrow weight."""

    name: str
    shape: tuple[int, ...]
    rows: int
    before: float = 0.0
    after: float = 0.0
    refusal: str = ""

    @property
    def gain(self) -> float:
        """How many times as fast the narrow weight is."""
        return self.before / self.after if self.after else 0.0

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        times = f"{self.before:.0f} us -> {self.after:.0f} us, {self.gain:.2f}x"
        what = f"left alone: {self.refusal}" if self.refusal else "quantized"
        times = times if self.after else "not measured"
        return f"{self.name:30} {size:>12}, {self.rows} rows: {times}; {what}"


@dataclass
class WeightReport:
    """What ``quantize_`` did with each linear layer."""

    layers: list[LayerTimes] = field(default_factory=list)

    @property
    def quantized(self) -> list[str]:
        """The names of the layers that have narrow weights."""
        return [layer.name for layer in self.layers if not layer.refusal]

    @property
    def refused(self) -> list[LayerTimes]:
        """The layers that stay as they are."""
        return [layer for layer in self.layers if layer.refusal]

    def __str__(self) -> str:
        return "\n".join(map(str, self.layers))


def quantize_(
    model: nn.Module,
    config: WeightConfig,
    filter_fn: Callable[[nn.Module, str], bool] | None = None,
    *,
    example_inputs: tuple[Any, ...] | None = None,
    measures: bool = True,
) -> WeightReport:
    """Gives the linear layers of ``model`` weights as ``config`` says, in place.

    Each layer is timed with its float and its narrow weight, on as many rows as it gets
    from ``example_inputs``, or on one. If the narrow one is slower, the layer stays
    as it is; a warning says so if that is true of all. ``measures=False`` quantizes
    all.

    Args:
        filter_fn: whether a module, given with its name, is to be quantized; by default
            every ``nn.Linear`` that its parent calls (not ``out_proj`` of attention)

    Example::

        >>> import pellucid as torch
        >>> from pellucid.ao.quantization import Int8WeightOnlyConfig, quantize_
        >>> model = torch.nn.Sequential(torch.nn.Linear(64, 32))
        >>> report = quantize_(model, Int8WeightOnlyConfig(), measures=False)
        >>> report.quantized
        ['0']
    """
    layers = dict(_chosen(model, filter_fn))
    rows = _rows_of(model, layers, example_inputs)
    report = WeightReport()
    for name, layer in layers.items():
        found = LayerTimes(name, tuple(layer.weight.shape), rows.get(name, 1))
        report.layers.append(found)
        found.refusal = config.why_not(layer.weight)
        if found.refusal:
            continue
        narrow = config.format().encode(layer.weight, **config.options())
        if measures:
            _measure(layer, narrow, found)
            if found.after >= found.before:
                found.refusal = f"{found.after / found.before:.2f}x the time"
                continue
        layer.weight = nn.Parameter(narrow, requires_grad=False)
    if report.layers and not report.quantized:
        warnings.warn(
            f"quantize_ left every layer alone:\n{report}", UserWarning, stacklevel=2
        )
    return report


def _chosen(
    model: nn.Module, filter_fn: Callable[[nn.Module, str], bool] | None
) -> Iterator[tuple[str, nn.Linear]]:
    for name, module in model.named_modules():
        is_linear = isinstance(module, nn.Linear)
        # A module with such a layer reads its weight without calling it.
        is_read = isinstance(module, NonDynamicallyQuantizableLinear)
        if not is_linear or is_read or isinstance(module.weight, NarrowWeight):
            continue
        if filter_fn is None or filter_fn(module, name):
            yield name, module


def _rows_of(
    model: nn.Module, layers: dict[str, nn.Linear], inputs: tuple[Any, ...] | None
) -> dict[str, int]:
    """How many rows each layer gets when the model is called with ``inputs``."""
    if inputs is None:
        return {}
    rows: dict[str, int] = {}

    def hook(name: str) -> Any:
        def see(module: nn.Module, args: Any) -> None:
            rows[name] = args[0].numel() // max(args[0].shape[-1], 1)

        return see

    handles = [
        layer.register_forward_pre_hook(hook(name)) for name, layer in layers.items()
    ]
    try:
        with pellucid.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return rows


def _measure(layer: nn.Linear, narrow: NarrowWeight, found: LayerTimes) -> None:
    """The best times of interleaved calls."""
    like = {"dtype": layer.weight.dtype, "device": layer.weight.device}
    x = pellucid.randn(found.rows, layer.in_features, **like)
    weights = layer.weight.detach(), narrow
    best = [float("inf"), float("inf")]
    bias = None if layer.bias is None else layer.bias.detach()
    end = time.perf_counter() + 2 * _SECONDS
    rounds = 0
    while rounds < _ROUNDS or time.perf_counter() < end:
        rounds += 1
        for side, weight in enumerate(weights):
            start = time.perf_counter()
            nn.functional.linear(x, weight, bias)
            best[side] = min(best[side], time.perf_counter() - start)
    found.before, found.after = (1e6 * seconds for seconds in best)
