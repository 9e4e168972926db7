"""Converts an observed graph to a quantized one, in two steps.

First observers become pairs that quantize and dequantize, and layers with weights
become reference layers: the graph computes in floats with rounded values. ``lower.py``
then replaces the ops between dequantizing and quantizing by layers and ops on integers.
"""

from __future__ import annotations

import copy
from typing import Any
from warnings import warn

import pellucid
from pellucid import nn
from pellucid.ao.nn.intrinsic import _FusedModule
from pellucid.ao.nn.qat import Rounding
from pellucid.ao.quantization.backend_config import BackendConfig
from pellucid.ao.quantization.fx import node_qconfigs, observed
from pellucid.ao.quantization.fx.constants import constant_of, producers
from pellucid.ao.quantization.fx.custom_config import ConvertCustomConfig
from pellucid.ao.quantization.fx.lower import lower
from pellucid.ao.quantization.fx.matching import is_observer, module_names
from pellucid.ao.quantization.fx.prepare import custom_classes, fresh_name
from pellucid.ao.quantization.fx.targets import dtype_of
from pellucid.ao.quantization.observer import PlaceholderObserver
from pellucid.ao.quantization.qconfig import qconfig_equals
from pellucid.ao.quantization.qconfig_mapping import QConfigMapping
from pellucid.ao.quantization.stubs import DeQuantStub
from pellucid.fx import GraphModule, Node
from pellucid.nn import functional as F
from pellucid.nn.utils.parametrize import type_before_parametrizations

__all__ = ["convert"]

_INTEGERS = (
    *(pellucid.quint8, pellucid.qint8, pellucid.qint32),
    *(pellucid.float8_e5m2, pellucid.float8_e4m3fn),
)


def convert(
    model: GraphModule,
    is_reference: bool,
    config: ConvertCustomConfig,
    backend: BackendConfig,
    mapping: QConfigMapping | None = None,
    remove_qconfig: bool = True,
    keep_original_weights: bool = False,
) -> GraphModule:
    """The quantized form of an observed ``model``; that of other backends if
    ``is_reference``.
    """
    attributes = observed.remembered(model)
    if attributes is None:
        raise AssertionError(
            "incoming model must be produced by prepare_fx or prepare_qat_fx"
        )
    conversion = Conversion(model, attributes, is_reference, config, backend)
    if mapping is not None:
        conversion.restrict(copy.deepcopy(mapping))
    conversion.run()
    model.graph.eliminate_dead_code()
    made = GraphModule(model, model.graph)
    if not is_reference:
        scopes = attributes.node_name_to_scope
        made = lower(made, conversion.qconfigs, scopes, keep_original_weights)
    if remove_qconfig:
        for module in made.modules():
            vars(module).pop("qconfig", None)
    made.delete_all_unused_submodules()
    observed.forget(made)
    return made


class Conversion:
    """The conversion of one observed graph."""

    def __init__(
        self,
        model: GraphModule,
        attributes: observed.ObservedGraphModuleAttrs,
        is_reference: bool,
        config: ConvertCustomConfig,
        backend: BackendConfig,
    ) -> None:
        self.model, self.graph = model, model.graph
        self.attributes, self.backend = attributes, backend
        self.is_reference, self.config = is_reference, config
        self.qconfigs = attributes.node_name_to_qconfig
        self.modules = module_names(model)
        self._static: set[Node] = set()  # quantized custom modules
        self._reference = {
            each.root_module: each.reference_quantized_module
            for each in backend.configs
            if each.root_module and each.reference_quantized_module
        }

    def restrict(self, mapping: QConfigMapping) -> None:
        """Keeps float the nodes with None in ``mapping``, which must not differ
        otherwise.
        """
        if self.attributes.is_qat:
            node_qconfigs.for_trained(mapping, self.backend)
        node_qconfigs.for_fused(self.model, self.modules, mapping)
        node_qconfigs.for_converting(self.attributes.qconfig_mapping, mapping)
        modules = copy.deepcopy(self.modules)
        given = (modules, mapping, self.attributes.node_name_to_scope)
        found = node_qconfigs.qconfigs_of(self.model, *given)
        for name, qconfig in self.qconfigs.items():
            if found[name] is not None and not qconfig_equals(qconfig, found[name]):
                raise AssertionError(
                    f"Expected {name} to have the same value in prepare and convert "
                    f"QConfigMappings, but {qconfig} was updated to {found[name]}"
                )
        self.qconfigs = found

    def run(self) -> None:
        """Converts the nodes in order."""
        self._observe_weights()
        config = self.attributes.prepare_custom_config
        placeholders = iter(range(len(self.model.graph.find_nodes(op="placeholder"))))
        for node in list(self.graph.nodes):
            if node.op == "placeholder":
                if next(placeholders) in config.input_quantized_indexes:
                    self._dequantize_behind(node)
            elif node.op == "output":
                self._keep_quantized(node, config.output_quantized_indexes)
            elif node.op == "call_module":
                self._module(node)

    def _observe_weights(self) -> None:
        """Quantizes the weights of functions, which do not depend on inputs."""
        for node in self.graph.nodes:
            if node.op != "call_function":
                continue
            for argument in self._weights(node):
                found = producers(argument)
                if found is not None:
                    constant_of(self.model, found)()

    def _weights(self, node: Node) -> list[Node]:
        found = self.backend.by_pattern.get(node.target)
        index = found._input_type_to_index.get("weight") if found else None
        given = [node.kwargs.get("weight")]
        if index is not None and index < len(node.args):
            given.append(node.args[index])
        return [each for each in given if isinstance(each, Node)]

    def _module(self, node: Node) -> None:
        module = self.modules[str(node.target)]
        custom = custom_classes(self.config.observed_to_quantized_mapping)
        kind = type_before_parametrizations(module)
        if is_observer(module):
            if node.args[0] in self._static:
                self._to_dequantize(node)
            else:
                self._observer(node, module)
        elif isinstance(module, DeQuantStub):
            self._to_dequantize(node)
        elif observed.is_standalone(module):
            self._standalone(node, module)
        elif isinstance(module, Rounding) or self._root(module) in self._reference:
            self._weighted(node, module)
        elif kind in custom:
            self._custom(node, module)

    # Observers

    def _observer(self, node: Node, observer: Any) -> None:
        around = [*node.args, *node.users]
        is_dynamic = getattr(observer, "is_dynamic", False)
        integers = observer.dtype in _INTEGERS
        is_half = observer.dtype is pellucid.float16
        if all(map(self._is_left_float, around)) or not (
            is_dynamic or integers or is_half
        ):
            node.replace_all_uses_with(node.args[0])
            self.graph.erase_node(node)
            return
        with self.graph.inserting_before(node):
            if is_dynamic:
                call = self._quantize_dynamic(node, observer)
            elif integers:
                call = self._quantize_static(node, observer)
            else:
                call = self.graph.call_method("to", (node.args[0], observer.dtype))
            floats = self.graph.call_method("dequantize", (call,))
        node.replace_all_uses_with(floats)
        self.graph.erase_node(node)

    def _is_left_float(self, node: Any) -> bool:
        known = isinstance(node, Node) and node.name in self.qconfigs
        return known and self.qconfigs[node.name] is None

    def _quantize_dynamic(self, node: Node, observer: Any) -> Node:
        engine = pellucid.backends.quantized.engine
        given = (observer.dtype, engine in ("fbgemm", "x86"))
        function = pellucid.quantize_per_tensor_dynamic
        return self.graph.call_function(function, (node.args[0], *given))

    def _quantize_static(self, node: Node, observer: Any) -> Node:
        scale, zero_point = observer.calculate_qparams()
        path = self._path(node)
        function: Any
        last: tuple[Any, ...]
        if "per_channel" in str(observer.qscheme):
            numbers = (scale.detach().clone(), zero_point.detach().clone())
            last = (int(observer.ch_axis), observer.dtype)
            function = pellucid.quantize_per_channel
        else:
            numbers = (
                pellucid.tensor(float(scale)),
                pellucid.tensor(int(zero_point)),
            )
            last = (observer.dtype,)
            function = pellucid.quantize_per_tensor
        stored = [
            self._stored(f"{path}{name}", number)
            for name, number in zip(("_scale_", "_zero_point_"), numbers, strict=True)
        ]
        return self.graph.call_function(function, (node.args[0], *stored, *last))

    def _stored(self, prefix: str, number: Any) -> Node:
        name = fresh_name(self.model, prefix)
        self.model.register_buffer(name, number)
        return self.graph.create_node("get_attr", name)

    def _path(self, node: Node) -> str:
        """The module after which a scale is named: that of the observed node, or of its
        first reader (preferring linear functions) if only that is quantized.
        """
        scopes = self.attributes.node_name_to_scope
        seen, end = node.args[0], ""
        if self._is_left_float(seen):
            readers = list(node.users)
            linear = [each for each in readers if each.target is F.linear]
            seen, end = next(iter(linear or readers), None), "_input"
        found = scopes.get(seen.name) if isinstance(seen, Node) else None
        return (found[0] if found else "") + end

    def _to_dequantize(self, node: Node) -> None:
        """Replaces the observer of a node with a quantized result."""
        giver = node.args[0]
        assert isinstance(giver, Node)
        node.replace_all_uses_with(giver)
        self.graph.erase_node(node)
        self._dequantize_behind(giver)

    def _dequantize_behind(self, node: Node) -> None:
        with self.graph.inserting_after(node):
            floats = self.graph.call_method("dequantize", (node,))
        for reader in list(node.users):
            if reader is not floats:
                reader.replace_input_with(node, floats)

    def _keep_quantized(self, node: Node, indexes: list[int]) -> None:
        result = node.args[0]
        for index in indexes:
            many = isinstance(result, list | tuple)
            if not many and index:
                continue
            self._take_quantized(node, result[index] if many else result)

    def _take_quantized(self, reader: Node, given: Any) -> None:
        """Makes a node read quantized tensors instead of dequantized ones."""
        if is_dequantize(given):
            reader.replace_input_with(given, given.args[0])
        elif isinstance(given, list | tuple):
            for each in given:
                self._take_quantized(reader, each)
        elif isinstance(given, dict):
            self._take_quantized(reader, list(given.values()))
        else:
            warn(f"{given} is not a quantized result: it is unchanged", stacklevel=2)

    # Layers

    def _root(self, module: Any) -> Any:
        is_fused = isinstance(module, _FusedModule) and not isinstance(module, Rounding)
        return type_before_parametrizations(module[0] if is_fused else module)

    def _weighted(self, node: Node, module: Any) -> None:
        """Replaces a quantized layer by a reference layer, and a layer trained with
        rounding that stays float by a float layer.
        """
        qconfig, name = module.qconfig, str(node.target)
        observer = None
        if isinstance(module, Rounding):
            observer = module.weight_fake_quant
            module = module.to_float()
            self._install(name, module)
        if node.name not in self.attributes.observed_node_names:
            return
        if qconfig is None or self._is_left_float(node):
            return
        if not self._is_offered(type_before_parametrizations(module), qconfig):
            return
        fused = module if isinstance(module, _FusedModule) else None
        layer = fused[0] if fused is not None else module
        scales = weight_scales(layer, qconfig, observer)
        made = self._reference[type_before_parametrizations(layer)].from_float(
            layer, scales
        )
        if fused is not None:
            fused[0] = made
        else:
            self._install(name, made)

    def _is_offered(self, kind: Any, qconfig: Any) -> bool:
        """Whether the backend supports the layer with the dtypes of the qconfig."""
        activation, is_dynamic = dtype_of(qconfig.activation)
        weight, _ = dtype_of(qconfig.weight)
        if weight not in (
            *_INTEGERS,
            *(pellucid.float16, pellucid.quint4x2, pellucid.int8, pellucid.uint8),
        ):
            return False
        found = self.backend.by_pattern.get(kind)
        for config in found.dtype_configs if found else ():
            result = pellucid.float32 if config.is_dynamic else activation
            given = (config.input_dtype, config.output_dtype, config.weight_dtype)
            wanted = (activation, result, weight)
            floats = tuple(each or pellucid.float32 for each in given)
            if bool(config.is_dynamic) == is_dynamic and floats == wanted:
                return True
        return False

    def _install(self, name: str, module: Any) -> None:
        parent, _, last = name.rpartition(".")
        setattr(self.modules[parent], last, module)
        self.modules[name] = module

    # Modules that users configure

    def _standalone(self, node: Node, module: Any) -> None:
        attributes = observed.remembered(module)
        assert attributes is not None
        inner = attributes.prepare_custom_config
        for index, argument in enumerate(node.args):
            if index in inner.input_quantized_indexes and is_dequantize(argument):
                self._without_dequantize(node, argument)
        if inner.output_quantized_indexes:
            if inner.output_quantized_indexes[0] != 0:
                raise AssertionError(
                    "a standalone module returns one quantized result: its "
                    f"output_quantized_idxs are {inner.output_quantized_indexes}"
                )
            self._dequantize_behind(node)
        given = (self.is_reference, ConvertCustomConfig(), self.backend)
        self._install(str(node.target), convert(module, *given))

    def _without_dequantize(self, reader: Node, given: Any) -> None:
        reader.replace_input_with(given, given.args[0])
        if not given.users:
            self.graph.erase_node(given)

    def _custom(self, node: Node, module: Any) -> None:
        dtype, is_dynamic = dtype_of(module.qconfig.activation)
        if dtype in _INTEGERS and not is_dynamic:
            self._static.add(node)
            if is_dequantize(node.args[0]):
                self._without_dequantize(node, node.args[0])
            for reader in node.users:
                seen = self.modules.get(str(reader.target))
                if reader.op == "call_module" and is_observer(seen):
                    module.activation_post_process = seen
        for swaps in self.config.observed_to_quantized_mapping.values():
            if type(module) in swaps:
                self._install(
                    str(node.target),
                    swaps[type(module)].from_observed(module),  # type: ignore[attr-defined]
                )


def is_dequantize(node: Any) -> bool:
    """Whether a node dequantizes."""
    return (
        isinstance(node, Node)
        and node.op == "call_method"
        and node.target == "dequantize"
    )


def weight_scales(layer: Any, qconfig: Any, observer: Any) -> dict[str, Any]:
    """The quantization of a layer's weight; for recurrent layers, by weight name."""
    if isinstance(layer, nn.RNNBase | nn.RNNCellBase):
        found = {}
        for name, weight in layer.named_parameters():
            if name.startswith("weight"):
                each = qconfig.weight()
                each(weight)
                found[name] = scales_of(each)
        return found
    observer = qconfig.weight() if observer is None else observer
    observer(layer.weight)
    return scales_of(observer)


def scales_of(observer: Any) -> dict[str, Any]:
    """An observer's quantization parameters for a weight, by name."""
    if isinstance(observer, PlaceholderObserver):
        return {"qscheme": None, "dtype": observer.dtype}
    scheme = observer.qscheme
    found: dict[str, Any] = {"dtype": observer.dtype}
    if "per_channel" in str(scheme):
        found["axis"] = observer.ch_axis
        if scheme is pellucid.per_channel_symmetric:
            scheme = pellucid.per_channel_affine
    else:
        scheme = pellucid.per_tensor_affine
    scale, zero_point = observer.calculate_qparams()
    return {**found, "qscheme": scheme, "scale": scale, "zero_point": zero_point}
