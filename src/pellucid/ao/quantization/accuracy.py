"""``accuracy_report``: what each layer of a quantized model loses, and on which input.

A layer's own error is that of its results for the float model's inputs; its total error
includes that of the layers before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.utils._pytree import tree_map


@dataclass
class LayerAccuracy:
    """The greatest errors of one layer, relative to the norm of its float result."""

    name: str
    kind: str
    own: float = 0.0
    total: float = 0.0
    worst_input: int = -1  # the number of the input with the greatest total error

    def __str__(self) -> str:
        return (
            f"{self.name:30} {self.kind:20} own {self.own:.2e}, total {self.total:.2e}"
            f" on input {self.worst_input}"
        )


@dataclass
class AccuracyReport:
    """The layers in the order in which they run."""

    layers: list[LayerAccuracy] = field(default_factory=list)

    @property
    def worst(self) -> LayerAccuracy:
        """The layer that loses most by itself."""
        return max(self.layers, key=lambda layer: layer.own)

    def __str__(self) -> str:
        return "\n".join(map(str, self.layers))


class _Recorder:
    """Copies of the arguments and results of a model's layers, by name."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.inputs: dict[str, Any] = {}  # (args, kwargs)
        self.results: dict[str, Tensor] = {}

    def run(self, given: Any, names: Iterable[str]) -> None:
        """Calls the model and records the modules ``names``, where they are called."""
        args = given if isinstance(given, tuple) else (given,)
        handles = []
        for name, module in self.model.named_modules():
            if name in names:
                before = module.register_forward_pre_hook(
                    self._before(name), with_kwargs=True
                )
                handles += [before, module.register_forward_hook(self._after(name))]
        try:
            self.model(*_copied(args))
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, name: str) -> Any:
        def see(module: nn.Module, args: Any, kwargs: Any) -> None:
            self.inputs[name] = _copied((args, kwargs))

        return see

    def _after(self, name: str) -> Any:
        def see(module: nn.Module, args: Any, result: Any) -> None:
            if isinstance(result, Tensor):
                self.results[name] = result.clone()

        return see


def _copied(value: Any) -> Any:
    """Without what modules change in place."""
    return tree_map(lambda x: x.clone() if isinstance(x, Tensor) else x, value)


@contextmanager
def _evaluated(*models: nn.Module) -> Iterator[None]:
    """In eval mode, without gradients; the modes of all modules return."""
    modes = [(m, m.training) for model in models for m in model.modules()]
    for model in models:
        model.eval()
    try:
        with pellucid.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def accuracy_report(
    model: nn.Module, quantized: nn.Module, inputs: Iterable[Any]
) -> AccuracyReport:
    """The errors of ``quantized``, layer by layer, beside ``model``, for each input (a
    tensor, or a tuple of arguments).

    Layers are the modules that have parameters of their own and give a tensor. They are
    compared by name, in eval mode. Example::

        >>> import copy, pellucid as torch
        >>> from pellucid.ao.quantization import Int8WeightOnlyConfig, accuracy_report
        >>> from pellucid.ao.quantization import quantize_
        >>> model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
        >>> narrow = copy.deepcopy(model)
        >>> _ = quantize_(narrow, Int8WeightOnlyConfig(), measures=False)
        >>> report = accuracy_report(model, narrow, [torch.randn(2, 8)])
        >>> report.worst.name, report.worst.own < 0.1
        ('0', True)
    """
    found: dict[str, LayerAccuracy] = {}
    modules = dict(quantized.named_modules())
    layers = [name for name, own in model.named_modules() if _has_parameters(own)]
    with _evaluated(model, quantized):
        for number, given in enumerate(inputs):
            before, after = _Recorder(model), _Recorder(quantized)
            before.run(given, layers)
            after.run(given, layers)
            for name, result in before.results.items():
                if name not in after.results:
                    continue
                kind = type(modules[name]).__name__
                layer = found.setdefault(name, LayerAccuracy(name, kind))
                total = _error(result, after.results[name])
                if layer.worst_input < 0 or total > layer.total:
                    layer.total, layer.worst_input = total, number
                alone = _alone(modules[name], before.inputs[name], after.inputs[name])
                layer.own = max(layer.own, _error(result, alone))
    return AccuracyReport(list(found.values()))


def _has_parameters(module: nn.Module) -> bool:
    return next(module.parameters(recurse=False), None) is not None


def _alone(module: nn.Module, inputs: Any, seen: Any) -> Tensor:
    """The module's result for the float model's arguments, quantized as its own are."""
    args, kwargs = tree_map(_like, inputs, seen)
    made: Tensor = module(*args, **kwargs)
    return made


def _like(x: Any, seen: Any) -> Any:
    if not isinstance(seen, Tensor) or not seen.is_quantized:
        return x
    made: Tensor = pellucid.quantize_per_tensor(
        x, seen.q_scale(), seen.q_zero_point(), seen.dtype
    )
    return made


def _error(expected: Tensor, actual: Tensor) -> float:
    if actual.is_quantized:
        actual = actual.dequantize()
    if expected.is_quantized:
        expected = expected.dequantize()
    if actual.shape != expected.shape:
        return float("inf")
    norm = float(expected.double().norm())
    return float((actual.double() - expected.double()).norm()) / max(norm, 1e-30)
