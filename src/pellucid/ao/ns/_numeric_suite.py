"""Numeric suite: compares a quantized model with the float model that it was made from.

``compare_weights``; ``compare_model_outputs``, whose errors add up from layer to layer;
``compare_model_stub``, where float layers get the quantized layers' inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pellucid import Tensor, nn
from pellucid.ao.quantization.quantization_mappings import (
    UNOBSERVED,
    get_default_compare_output_module_list,
)

_LOGGER = "activation_post_process"
_Found = dict[str, dict[str, Any]]


def _module_of(key: str, parts: int = 1) -> str:
    return ".".join(key.split(".")[:-parts])


def _match(keys: Iterable[str], name: str) -> str | None:
    """The key of the module ``name``, or of a module with one part more: a float layer
    inside a fused one.
    """
    return next((k for k in keys if name in (_module_of(k), _module_of(k, 2))), None)


def compare_weights(
    float_dict: dict[str, Any], quantized_dict: dict[str, Any]
) -> _Found:
    """The weights of both state dicts: ``{key: {"float": ..., "quantized": ...}}``."""
    found: _Found = {}
    for key, value in quantized_dict.items():
        last = key.rpartition(".")[2]
        if last not in ("weight", "_packed_params"):
            continue
        own = _match(float_dict, _module_of(key))
        if own is None and last == "_packed_params" and _module_of(key, 2):
            own = _match(float_dict, _module_of(key, 2))
        if own is not None:
            weight = value if last == "weight" else value[0]
            found[key] = {"float": float_dict[own], "quantized": weight}
    return found


class Logger(nn.Module):
    """The base of what records results, as ``stats``."""

    def __init__(self) -> None:
        super().__init__()
        self.stats: dict[str, list[Any]] = {}


class ShadowLogger(Logger):
    """The results of a quantized module and of its float shadow."""

    def __init__(self) -> None:
        super().__init__()
        self.stats = {"float": [], "quantized": []}

    def forward(self, x: Any, y: Any) -> None:
        """Records ``x`` of the quantized module, ``y`` of the float one."""
        for name, each in (("quantized", x), ("float", y)):
            result = each[0] if isinstance(each, tuple | list) else each
            self.stats[name].append(result.detach())


class OutputLogger(Logger):
    """The results of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.stats = {"tensor_val": []}

    def forward(self, x: Any) -> Any:
        """Records and returns ``x``."""
        self.stats["tensor_val"].append(x)
        return x


def _floats(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_floats(each) for each in value]
    is_quantized = isinstance(value, Tensor) and value.is_quantized
    return value.dequantize() if is_quantized else value


class Shadow(nn.Module):
    """A quantized module whose float module gets the same inputs, as floats."""

    def __init__(
        self,
        q_module: nn.Module,
        float_module: nn.Module,
        logger_cls: Callable[[], Logger],
    ) -> None:
        super().__init__()
        self.orig_module, self.shadow_module = q_module, float_module
        self.logger = logger_cls()

    def forward(self, *x: Any) -> Any:
        """The result of the quantized module."""
        return self._both("__call__", *x)

    def _both(self, name: str, *args: Any) -> Any:
        result = getattr(self.orig_module, name)(*args)
        self.logger(result, getattr(self.shadow_module, name)(*map(_floats, args)))
        return result

    def add(self, x: Tensor, y: Tensor) -> Any:
        """``add`` of both modules."""
        return self._both("add", x, y)

    def add_scalar(self, x: Tensor, y: float) -> Any:
        """``add_scalar`` of both modules."""
        return self._both("add_scalar", x, y)

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """``mul`` of both modules."""
        return self._both("mul", x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """``mul_scalar`` of both modules."""
        return self._both("mul_scalar", x, y)

    def cat(self, x: list[Tensor], dim: int = 0) -> Any:
        """``cat`` of both modules."""
        return self._both("cat", x, dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """``add_relu`` of both modules."""
        return self._both("add_relu", x, y)


def prepare_model_with_stubs(
    float_module: nn.Module,
    q_module: nn.Module,
    module_swap_list: Iterable[Any],
    logger_cls: Callable[[], Logger],
) -> None:
    """Puts a ``Shadow`` in the place of each quantized module whose float module is of
    a type in ``module_swap_list``.
    """
    own = dict(float_module.named_children())
    kinds = set(module_swap_list)
    for name, module in list(q_module.named_children()):
        if name not in own:
            continue
        if type(own[name]) not in kinds:
            prepare_model_with_stubs(own[name], module, kinds, logger_cls)
        elif [*map(type, module.modules())] != [*map(type, own[name].modules())]:
            q_module._modules[name] = Shadow(module, own[name], logger_cls)


def compare_model_stub(
    float_model: nn.Module,
    q_model: nn.Module,
    module_swap_list: Iterable[Any],
    *data: Any,
    logger_cls: Callable[[], Logger] = ShadowLogger,
) -> _Found:
    """The results of quantized modules and of their float modules for the same inputs;
    ``q_model`` keeps its shadows.
    """
    prepare_model_with_stubs(float_model, q_model, module_swap_list, logger_cls)
    q_model(*data)
    return get_logger_dict(q_model)


def get_logger_dict(mod: nn.Module, prefix: str = "") -> _Found:
    """What the loggers of all modules have recorded: ``{"name.stats": stats}``."""
    found: _Found = {}
    for name, module in mod.named_modules(prefix=prefix):
        logger = next((m for m in module.children() if isinstance(m, Logger)), None)
        if logger is not None:
            found[f"{name}.stats" if name else "stats"] = logger.stats
    return found


def prepare_model_outputs(
    float_module: nn.Module,
    q_module: nn.Module,
    logger_cls: Callable[[], Logger] = OutputLogger,
    allow_list: Iterable[Any] | None = None,
) -> None:
    """Attaches loggers to the modules of both models whose type is in ``allow_list``;
    by default what the eager flow quantizes, and what it becomes.
    """
    listed = allow_list or get_default_compare_output_module_list()
    kinds = set(listed) - UNOBSERVED
    for model in (float_module, q_module):
        for module in list(model.modules()):
            if type(module) in kinds and not hasattr(module, _LOGGER):
                _attach(module, logger_cls())


def _attach(module: nn.Module, logger: Logger) -> None:
    module.add_module(_LOGGER, logger)
    module.register_forward_hook(lambda own, _, result: getattr(own, _LOGGER)(result))


def get_matching_activations(float_module: nn.Module, q_module: nn.Module) -> _Found:
    """What the loggers of modules of the same name in both models have recorded."""
    own, found = get_logger_dict(float_module), {}
    for key, stats in get_logger_dict(q_module).items():
        if not stats["tensor_val"]:
            continue
        match = _match(sorted(own, reverse=True), _module_of(key))
        if match is not None:
            found[key] = {
                "float": own[match]["tensor_val"],
                "quantized": stats["tensor_val"],
            }
    return found


def compare_model_outputs(
    float_model: nn.Module,
    q_model: nn.Module,
    *data: Any,
    logger_cls: Callable[[], Logger] = OutputLogger,
    allow_list: Iterable[Any] | None = None,
) -> _Found:
    """The results of the modules of both models for the same data; both keep their
    loggers. Example::

        >>> import copy, pellucid as torch
        >>> from pellucid.ao.ns._numeric_suite import compare_model_outputs
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 2))
        >>> quantized = torch.ao.quantization.quantize_dynamic(model)
        >>> found = compare_model_outputs(model, quantized, torch.ones(1, 4))
        >>> sorted(found["0.stats"])
        ['float', 'quantized']
    """
    prepare_model_outputs(float_model, q_model, logger_cls, allow_list)
    float_model(*data)
    q_model(*data)
    return get_matching_activations(float_model, q_model)
