"""The eager flow: ``prepare`` inserts observers, ``convert`` swaps layers."""

from __future__ import annotations

import copy
from typing import Any
from warnings import warn

import pellucid
from pellucid import nn
from pellucid.ao.nn.intrinsic import _FusedModule
from pellucid.ao.nn.quantized import FloatFunctional, QFunctional
from pellucid.ao.quantization import flows
from pellucid.ao.quantization import qconfig as configs
from pellucid.ao.quantization import quantization_mappings as mappings
from pellucid.ao.quantization.fake_quantize import FakeQuantizeBase
from pellucid.ao.quantization.stubs import QuantWrapper
from pellucid.nn.utils.parametrize import type_before_parametrizations


def propagate_qconfig_(module: Any, qconfig_dict: Any = None) -> None:
    """Sets the ``qconfig`` of every submodule without one: by name or type from a dict,
    or from the parent module. None stays None.
    """
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module: Any, given: Any, above: Any, name: str) -> None:
    found = given.get(name, given.get(type_before_parametrizations(module), above))
    module.qconfig = getattr(module, "qconfig", found)
    for key, child in module.named_children():
        _propagate(child, given, module.qconfig, f"{name}.{key}" if name else key)


def prepare(
    model: Any,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:
    """The model with an observer after each layer that has a ``qconfig``.

    Call the result on representative inputs, then ``convert`` it. A layer whose type is
    in ``prepare_custom_config_dict["float_to_observed_custom_module_class"]`` becomes
    what that class's ``from_float`` makes of it; by default this is
    so for ``nn.LSTM`` and ``nn.MultiheadAttention``.
    """
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(each, "qconfig", None) for each in model.modules()):
        warn(
            "None of the submodule got qconfig applied. Make sure you passed correct "
            "configuration through `qconfig_dict` or by assigning the `.qconfig` "
            "attribute directly on submodules",
            stacklevel=2,
        )
    custom = _custom_classes(prepare_custom_config_dict, _OBSERVED)
    observed = set(allow_list or mappings.observed_types()) - custom.keys()
    _observe(model, observed, custom, set(observer_non_leaf_module_list or ()))
    return model


_OBSERVED = "float_to_observed_custom_module_class"
_QUANTIZED = "observed_to_quantized_custom_module_class"


def get_default_custom_config_dict() -> dict[str, Any]:
    """What the eager flow makes of layers that consist of several quantized ones."""
    from pellucid.ao.nn import quantizable, quantized

    names = "LSTM", "MultiheadAttention"
    return {
        _OBSERVED: {getattr(nn, n): getattr(quantizable, n) for n in names},
        _QUANTIZED: {getattr(quantizable, n): getattr(quantized, n) for n in names},
    }


def _custom_classes(given: Any, key: str) -> dict[Any, Any]:
    found = get_default_custom_config_dict() if given is None else given
    return dict(found.get(key, {}))


def _observe(module: Any, observed: Any, custom: Any, whole: Any) -> None:
    """Adds observers; ``whole``: types with submodules that are observed as one."""
    both = observed | whole
    for name, child in list(module.named_children()):
        kind = type(child)
        has_qconfig = getattr(child, "qconfig", None) is not None
        if isinstance(child, FloatFunctional):
            if has_qconfig:
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _FusedModule) or _fixed(child) or kind in both:
            _add_observer(child)
        elif has_qconfig and kind in custom:
            made = module._modules[name] = custom[kind].from_float(child)
            if custom[kind] not in mappings.no_observer_set():
                _add_observer(made)
        else:
            _observe(child, observed, custom, whole)
    if not list(module.children()) and type(module) in observed:
        _add_observer(module)


def _add_observer(module: Any) -> None:
    qconfig = getattr(module, "qconfig", None)
    if qconfig is None or hasattr(module, "activation_post_process"):
        return
    make = _fixed(module) or qconfig.activation
    module.add_module("activation_post_process", make())
    module.register_forward_hook(_record, prepend=True)


def _fixed(module: Any) -> Any:
    """What makes the fake quantizer of a layer in training whose range is known."""
    known = mappings.DEFAULT_MODULE_TO_ACT_POST_PROCESS
    return known.get(type(module)) if module.training else None


def _record(module: Any, inputs: Any, output: Any) -> Any:
    return module.activation_post_process(output)


def convert(
    module: Any,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """The observed model with the layers in ``mapping`` replaced by quantized ones."""
    if is_reference:
        raise NotImplementedError(
            "reference modules are not supported: is_reference=False"
        )
    module = module if inplace else copy.deepcopy(module)
    custom = _custom_classes(convert_custom_config_dict, _QUANTIZED)
    mapping = mapping or mappings.get_default_static_quant_module_mappings()
    swap_all(module, mapping, custom)
    if remove_qconfig:
        _forget_observers(module)
        for each in module.modules():
            if "qconfig" in vars(each):
                del each.qconfig
    return module


def swap_all(module: Any, mapping: Any, custom: Any) -> None:
    """Swaps a module's submodules recursively."""
    for name, child in list(module.named_children()):
        is_one = type(child) in mapping or type(child) in custom
        if not is_one and not isinstance(child, _FusedModule):
            swap_all(child, mapping, custom)
        module._modules[name] = swap_module(child, mapping, custom)


def _forget_observers(module: Any) -> None:
    """Removes observers from layers that are not converted."""
    for each in list(module.modules()):
        observed = "activation_post_process" in each._modules
        if observed and not isinstance(each, FakeQuantizeBase | QFunctional):
            del each._modules["activation_post_process"]
            hooks = each._forward_hooks
            for key in [key for key, hook in hooks.items() if hook is _record]:
                del hooks[key]


def swap_module(
    mod: Any, mapping: Any, custom_module_class_mapping: Any, **_: Any
) -> Any:
    """The quantized form of ``mod``, or ``mod``."""
    custom = custom_module_class_mapping.get(type(mod))
    kind = custom or mapping.get(type(mod))
    if getattr(mod, "qconfig", None) is None or kind is None:
        return mod
    made = kind.from_observed(mod) if custom else kind.from_float(mod)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _record:
            made.register_forward_hook(hook)
    return made


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """The model with fake-quantized layers, and fake quantizers after each."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    swap_all(model, mapping or mappings.get_default_qat_module_mappings(), {})
    prepare(model, inplace=True)
    return model


def quantize(
    model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False
) -> Any:
    """``prepare``, ``run_fn(model, *run_args)`` and ``convert``."""
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """``prepare_qat``, training by ``run_fn(model, *run_args)``, and ``convert``."""
    model = model if inplace else copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def quantize_dynamic(
    model: Any,
    qconfig_spec: Any = None,
    dtype: Any = None,
    mapping: Any = None,
    inplace: bool = False,
) -> Any:
    """The model with int8 weights in its linear and recurrent layers, whose inputs are
    quantized dynamically.
    """
    if qconfig_spec is None:
        qconfig_spec = _by_dtype(dtype or pellucid.qint8)
    elif not isinstance(qconfig_spec, dict):
        chosen = _dynamic_qconfig(dtype or pellucid.qint8)
        qconfig_spec = dict.fromkeys(qconfig_spec, chosen)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    mapping = mapping or mappings.get_default_dynamic_quant_module_mappings()
    return convert(model, mapping, inplace=True)


_RECURRENT = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)


def _dynamic_qconfig(dtype: Any) -> Any:
    known = {
        pellucid.qint8: configs.default_dynamic_qconfig,
        pellucid.float16: configs.float16_dynamic_qconfig,
        pellucid.quint8: configs.float_qparams_weight_only_qconfig,
    }
    if dtype not in known:
        raise ValueError(
            f"Don't know how to quantize with default settings for {dtype}. Provide "
            "full qconfig please"
        )
    return known[dtype]


def _by_dtype(dtype: Any) -> dict[Any, Any]:
    kinds: tuple[Any, ...] = (nn.EmbeddingBag, nn.Embedding)
    if dtype is not pellucid.quint8:
        kinds = (nn.Linear, *_RECURRENT)
    return dict.fromkeys(kinds, _dynamic_qconfig(dtype))


def add_quant_dequant(module: Any) -> Any:
    """The module with stubs around each layer that has its own qconfig."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Call the model on each input of pairs (input, target)."""
    for data, _ in calib_data:
        model(data)


flows.use(prepare, prepare_qat)
