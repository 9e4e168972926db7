"""``prepare_fx``, ``convert_fx``, ...: quantization of traced models.

The model is traced, so its functions are quantized like its layers, and no stubs are
needed. ``fx/`` has the steps.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, TypeVar
from warnings import warn

from pellucid.ao.nn.quantized import FloatFunctional, FXFloatFunctional
from pellucid.ao.quantization.backend_config import (
    BackendConfig,
    get_native_backend_config,
)
from pellucid.ao.quantization.fx import observed
from pellucid.ao.quantization.fx.convert import convert
from pellucid.ao.quantization.fx.custom_config import (
    ConvertCustomConfig,
    FuseCustomConfig,
    PrepareCustomConfig,
)
from pellucid.ao.quantization.fx.fuse import fuse
from pellucid.ao.quantization.fx.prepare import custom_classes, prepare
from pellucid.ao.quantization.fx.tracer import (
    QuantizationTracer,
    Scope,
    ScopeContextManager,
)
from pellucid.ao.quantization.qconfig_mapping import QConfigMapping
from pellucid.fx import GraphModule, symbolic_trace
from pellucid.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY
from pellucid.nn import Module

__all__ = [
    "QuantizationTracer",
    "Scope",
    "ScopeContextManager",
    "attach_preserved_attrs_to_model",
    "convert_fx",
    "convert_to_reference_fx",
    "fuse_fx",
    "prepare_fx",
    "prepare_qat_fx",
]

_Config = TypeVar("_Config")


def prepare_fx(
    model: Module,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    _equalization_config: Any = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """The model in eval mode, traced and fused, with observers.

    Call the result on representative inputs, then ``convert_fx`` it. Dynamic and
    weight-only quantization need no calls.

    >>> from pellucid.ao.quantization.quantize_fx import convert_fx, prepare_fx
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    >>> x = torch.ones(4, 3)
    >>> observed = prepare_fx(model, mapping, (x,))
    >>> _ = observed(x)
    >>> type(convert_fx(observed).get_submodule("0")).__name__
    'LinearReLU'
    """
    if _equalization_config is not None:
        raise NotImplementedError("equalization of weights and inputs is not supported")
    given = (prepare_custom_config, backend_config)
    return _prepare(model, qconfig_mapping, False, example_inputs, *given)


def prepare_qat_fx(
    model: Module,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: PrepareCustomConfig | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """The model in training mode, traced and fused, with fake-quantized layers and fake
    quantizers. Train the result, then ``convert_fx`` it.
    """
    given = (prepare_custom_config, backend_config)
    return _prepare(model, qconfig_mapping, True, example_inputs, *given)


def _prepare(
    model: Module,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    backend_config: Any = None,
    is_standalone: bool = False,
) -> GraphModule:
    config = _read(prepare_custom_config, PrepareCustomConfig)
    mapping = _read(qconfig_mapping, QConfigMapping)
    backend = _backend(backend_config)
    _swap_functionals(model)
    kept = _attributes(model, config.preserved_attributes)
    tracer = QuantizationTracer(*_left_whole(config, is_standalone))
    graph_module = GraphModule(model, tracer.trace(model))
    fused = fuse(graph_module, is_qat, backend)
    given = (tracer.node_name_to_scope, config, backend, _prepare_standalone)
    made = prepare(fused, mapping, is_qat, *given)
    if is_standalone:
        attributes = observed.remembered(made)
        assert attributes is not None
        attributes.is_observed_standalone_module = True
    attach_preserved_attrs_to_model(made, kept)
    return made


_prepare_standalone = partial(_prepare, is_standalone=True)


def _left_whole(
    config: PrepareCustomConfig, is_standalone: bool
) -> tuple[list[str], list[Any]]:
    """(names, classes) of leaf modules; standalone and swapped modules only apply to
    the enclosing model.
    """
    names = list(config.non_traceable_module_names)
    classes: list[Any] = list(config.non_traceable_module_classes)
    if not is_standalone:
        names += config.standalone_module_names
        classes += config.standalone_module_classes
        classes += custom_classes(config.float_to_observed_mapping)
    return names, classes


def _swap_functionals(model: Module) -> None:
    """Replaces FloatFunctionals: traced models observe their results like any other."""
    for name, child in list(model.named_children()):
        if isinstance(child, FloatFunctional):
            model._modules[name] = FXFloatFunctional()
        else:
            _swap_functionals(child)


def fuse_fx(
    model: Module,
    fuse_custom_config: FuseCustomConfig | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """The model in eval mode, traced, with convolutions, norms and relu fused."""
    config = _read(fuse_custom_config, FuseCustomConfig)
    kept = _attributes(model, config.preserved_attributes)
    made = fuse(symbolic_trace(model), False, _backend(backend_config))
    attach_preserved_attrs_to_model(made, kept)
    return made


def convert_fx(
    graph_module: GraphModule,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: QConfigMapping | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The quantized form of a result of ``prepare_fx`` or ``prepare_qat_fx``.

    ``qconfig_mapping`` may set None for things that are to stay float; otherwise it
    must equal the mapping of ``prepare``.
    """
    given = (convert_custom_config, _remove_qconfig, qconfig_mapping, backend_config)
    return _convert(graph_module, False, *given, keep_original_weights)


def convert_to_reference_fx(
    graph_module: GraphModule,
    convert_custom_config: ConvertCustomConfig | dict[str, Any] | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: QConfigMapping | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """The reference form in floats, for other backends: it quantizes and dequantizes
    between reference layers (``torch.ao.nn.quantized.reference``).
    """
    given = (convert_custom_config, _remove_qconfig, qconfig_mapping, backend_config)
    return _convert(graph_module, True, *given)


def _convert(
    graph_module: Any,
    is_reference: bool,
    convert_custom_config: Any,
    remove_qconfig: bool,
    qconfig_mapping: Any,
    backend_config: Any,
    keep_original_weights: bool = False,
) -> GraphModule:
    if not isinstance(graph_module, GraphModule):
        raise ValueError(
            "input model must be a GraphModule that prepare_fx or prepare_qat_fx gave, "
            f"not {type(graph_module)}"
        )
    config = _read(convert_custom_config, ConvertCustomConfig)
    mapping = qconfig_mapping and _read(qconfig_mapping, QConfigMapping)
    kept = _attributes(graph_module, config.preserved_attributes)
    made = convert(
        *(graph_module, is_reference, config, _backend(backend_config), mapping),
        *(remove_qconfig, keep_original_weights),
    )
    attach_preserved_attrs_to_model(made, kept)
    return made


def _read(given: Any, kind: type[_Config]) -> _Config:
    """A configuration, possibly from a dictionary."""
    if given is None:
        return kind()
    if isinstance(given, dict):
        warn(
            f"Passing a dictionary is deprecated: give a {kind.__name__}",
            FutureWarning,
            stacklevel=4,
        )
        return kind.from_dict(given)  # type: ignore[attr-defined, no-any-return]
    if not isinstance(given, kind):
        raise AssertionError(
            f"expected a {kind.__name__} or a dictionary, not {type(given).__name__}"
        )
    return given


def _backend(given: Any) -> BackendConfig:
    if given is None:
        return get_native_backend_config()
    return _read(given, BackendConfig)


def _attributes(model: Any, names: list[str]) -> dict[str, Any]:
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def attach_preserved_attrs_to_model(
    model: Any, preserved_attrs: dict[str, Any]
) -> None:
    """Sets attributes of a model, and of its copies."""
    model.meta[_USER_PRESERVED_ATTRIBUTES_KEY] = copy.copy(preserved_attrs)
    for name, value in preserved_attrs.items():
        setattr(model, name, value)
