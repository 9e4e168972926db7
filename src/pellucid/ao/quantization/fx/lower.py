"""Lowers ops between dequantizing and quantizing to layers and ops on integers.

Reference layers are replaced by the mappings of the eager flow
(``quantization_mappings.py``),
functions by the ops of their name in ``torch.ops.quantized``; the native table
(``backend_config``) lists ops that work on integers unchanged. Other ops keep computing
in floats.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import pellucid
from pellucid import nn
from pellucid.ao._quantized.packed import LinearPackedParamsFloat16, Packed
from pellucid.ao._quantized.registry import by_name
from pellucid.ao.nn import quantized
from pellucid.ao.nn.intrinsic import _FusedModule
from pellucid.ao.nn.quantized import reference
from pellucid.ao.nn.quantized.reference.weights import RoundedWeights
from pellucid.ao.quantization import quantization_mappings as mappings
from pellucid.ao.quantization.backend_config import (
    BackendPatternConfig,
    ObservationType,
    get_native_backend_config,
)
from pellucid.ao.quantization.fx.constants import constant_of, producers
from pellucid.ao.quantization.fx.matching import called, module_names
from pellucid.ao.quantization.fx.prepare import fresh_name
from pellucid.fx import Graph, GraphModule, Node
from pellucid.nn import functional as F

_BINARY = (operator.add, pellucid.add, operator.mul, pellucid.mul, pellucid.matmul)
_QUANTIZING = (pellucid.quantize_per_tensor, pellucid.quantize_per_channel)
_ROWS = (reference.Embedding, reference.EmbeddingBag)


def lower(
    model: GraphModule,
    qconfigs: dict[str, Any],
    scopes: dict[str, tuple[str, Any]],
    keep_original_weights: bool,
) -> GraphModule:
    """Lowers a reference model to quantized layers and ops."""
    lowering = Lowering(model, qconfigs)
    lowering.run()
    model.graph.eliminate_dead_code()
    made = fold_weights(model, scopes, keep_original_weights)
    made.graph.eliminate_dead_code()
    made.recompile()
    made.graph.lint()
    return made


def is_dequantized(node: Any) -> bool:
    """Whether a node dequantizes."""
    is_call = isinstance(node, Node) and node.op == "call_method"
    return is_call and node.target == "dequantize"


class Lowering:
    """The lowering of one reference graph."""

    def __init__(self, model: GraphModule, qconfigs: dict[str, Any]) -> None:
        self.model, self.graph, self.qconfigs = model, model.graph, qconfigs
        self.modules = module_names(model)
        self.table = get_native_backend_config().by_pattern
        self.static = mappings.get_default_static_quant_module_mappings()
        self.static[nn.Softmax] = quantized.Softmax
        self.dynamic = mappings.get_default_dynamic_quant_module_mappings()

    def run(self) -> None:
        """Static patterns first, then dynamic ones, then queries of sizes. A layer that
        is called twice is swapped twice: the last scale wins.
        """
        for node in list(self.graph.nodes):
            if node.target is pellucid.quantize_per_tensor:
                self._static(node)
        self.modules = module_names(self.model)
        for node in reversed(list(self.graph.nodes)):
            if node.op == "call_module":
                self._dynamic_layer(node)
            elif node.target is F.linear and not node._erased:
                self._dynamic_function(node)
        for node in self.graph.nodes:
            if _asks_for_size(node) and is_dequantized(node.args[0]):
                node.replace_input_with(node.args[0], node.args[0].args[0])

    # Static: dequantize, compute, quantize

    def _static(self, quantize: Node) -> None:
        relu, node = self._without_relu(quantize.args[0])
        kind = called(node, self.modules)[1]
        if self.qconfigs.get(node.name, True) is None:
            return
        if node.op == "call_module" and self._reference_in(node) is not None:
            if relu is None and is_dequantized(node.args[0]):
                self._layer(quantize, node)
        elif by_prepacking(node) and self._reads_integers(node, 2):
            self._function(quantize, relu, node)
        elif kind in _BINARY:
            if self._reads_integers(node, 2):
                self._binary(quantize, relu, node)
        else:
            self._other(quantize)

    def _without_relu(self, node: Any) -> tuple[Node | None, Node]:
        """(relu, its input), or (None, ``node``)"""
        if called(node, self.modules)[1] not in (nn.ReLU, F.relu, pellucid.relu):
            return None, node
        inner = node.args[0]
        is_product = by_prepacking(inner) or called(inner, self.modules)[1] in _BINARY
        return (node, inner) if is_product else (None, node)

    def _reads_integers(self, node: Node, count: int) -> bool:
        """Whether those of the first arguments that are nodes are dequantized."""
        given = [each for each in node.args[:count] if isinstance(each, Node)]
        return bool(given) and all(map(is_dequantized, given))

    def _reference_in(self, node: Node) -> Any:
        """The reference layer that a node calls, possibly fused with the following
        one.
        """
        module = self.modules[str(node.target)]
        layer = module[0] if isinstance(module, _FusedModule) else module
        return layer if isinstance(layer, RoundedWeights) else None

    def _layer(self, quantize: Node, node: Node) -> None:
        """Replaces a reference layer by a quantized layer."""
        made = self._quantized_layer(node, self.static)
        if made is not None:
            scale, zero_point = self._scale_of(quantize)
            module = self.modules[str(node.target)]
            self._install(node, made.from_reference(module, scale, zero_point))
            self._bypass(quantize, node)

    def _quantized_layer(self, node: Node, mapping: dict[Any, Any]) -> Any:
        """The class in a mapping for a layer, by the type of its float form."""
        module = self.modules[str(node.target)]
        kind = type(module)
        if isinstance(module, RoundedWeights):
            kind = getattr(nn, kind.__name__)
        return mapping.get(kind)

    def _scale_of(self, quantize: Node) -> tuple[float, int]:
        _, scale, zero_point, _ = quantize.args
        return (
            float(getattr(self.model, scale.target)),
            int(getattr(self.model, zero_point.target)),
        )

    def _install(self, node: Node, module: Any) -> None:
        parent, _, last = str(node.target).rpartition(".")
        setattr(self.modules[parent], last, module)

    def _bypass(self, quantize: Node, node: Node) -> None:
        """Makes ``node`` read and return quantized tensors."""
        for argument in node.all_input_nodes:
            if is_dequantized(argument):
                node.replace_input_with(argument, argument.args[0])
        quantize.replace_all_uses_with(node)
        self._erase(quantize)

    def _erase(self, quantize: Node) -> None:
        """Erases it, and its scale and zero point if nothing else reads them."""
        numbers = quantize.args[1:3]
        self.graph.erase_node(quantize)
        for each in numbers:
            if isinstance(each, Node) and not each.users:
                self.graph.erase_node(each)

    def _function(self, quantize: Node, relu: Node | None, node: Node) -> None:
        """A product with a packed weight, which ``fold_weights`` makes a constant."""
        floats, weight, *rest = node.args
        if weight.args[0].target not in _QUANTIZING:
            return
        _, scale, zero_point, _ = quantize.args
        with self.graph.inserting_before(scale):
            packed = self._prepacked(node, weight.args[0], rest)
        node.target = by_name(node.target.__name__ + ("_relu" if relu else ""))  # type: ignore[union-attr, assignment]
        node.args = (floats.args[0], packed, scale, zero_point)
        node.kwargs = {}
        quantize.replace_all_uses_with(node)
        zero_point.append(node)
        self.graph.erase_node(quantize)
        if relu is not None:
            self.graph.erase_node(relu)

    def _prepacked(self, node: Node, weight: Node, rest: list[Any]) -> Node:
        function, kwargs = node.target, dict(node.kwargs)
        name = function.__name__  # type: ignore[union-attr]
        if function is F.linear:
            if "bias" in kwargs:
                kwargs["B"] = kwargs.pop("bias")
            half = weight.args[-1] is pellucid.float16
            op = by_name("linear_prepack_fp16" if half else "linear_prepack")
        else:
            rest = _geometry(name, rest)
            op = by_name(f"{name}_prepack")
        return self.graph.call_function(op, (weight, *rest), kwargs)  # type: ignore[arg-type]

    def _binary(self, quantize: Node, relu: Node | None, node: Node) -> None:
        """A sum or product; for two tensors it has the scale of ``quantize``."""
        of_tensors = sum(map(is_dequantized, node.args)) == 2
        name = node.target.__name__ + ("_relu" if relu else "")  # type: ignore[union-attr]
        op = by_name(name)
        if op is None:
            return
        for argument in node.args:
            if is_dequantized(argument):
                node.replace_input_with(argument, argument.args[0])
        args = (*node.args, *(quantize.args[1:3] if of_tensors else ()))
        with self.graph.inserting_after(quantize):
            made = self.graph.call_function(op, args)
        made.stack_trace = node.stack_trace
        quantize.replace_all_uses_with(made)
        self.graph.erase_node(quantize)
        if relu is not None:
            self.graph.erase_node(relu)
        self.graph.erase_node(node)

    def _other(self, quantize: Node) -> None:
        """An op with one quantized input, or a list of them."""
        node = quantize.args[0]
        assert isinstance(node, Node)
        config = self.table.get(called(node, self.modules)[1])
        given = next(iter((*node.args, *node.kwargs.values())), None)
        many = given if isinstance(given, list | tuple) else [given]
        if config is None or not node.op.startswith("call"):
            return
        if not all(map(is_dequantized, many)):
            return
        if node.op == "call_module":
            self._plain_layer(quantize, node, config)
        elif _works_on_integers(config):
            self._bypass(quantize, node)
        elif node.target in mappings.get_default_float_to_quantized_operator_mappings():
            self._with_scale(quantize, node)

    def _plain_layer(
        self, quantize: Node, node: Node, config: BackendPatternConfig
    ) -> None:
        """A layer without a packed weight."""
        made = self._quantized_layer(node, self.static)
        shares = config.observation_type is _SHARED
        if made is not None and not shares:
            module = self.modules[str(node.target)]
            given = self._scale_of(quantize)
            self._install(node, made.from_reference(module, *given))
        elif not _works_on_integers(config):
            return
        self._bypass(quantize, node)

    def _with_scale(self, quantize: Node, node: Node) -> None:
        """A function whose quantized op takes an output scale."""
        _, scale, zero_point, _ = quantize.args
        op = mappings.get_quantized_operator(node.target)
        args, kwargs = _spelled_out(node, op)
        kwargs |= {"output_scale": scale, "output_zero_point": zero_point}
        quantize.replace_all_uses_with(node)
        self.graph.erase_node(quantize)
        with self.graph.inserting_after(zero_point):
            made = self.graph.call_function(op, (args[0].args[0], *args[1:]), kwargs)
        made.stack_trace = node.stack_trace
        node.replace_all_uses_with(made)
        self.graph.erase_node(node)

    # Dynamic quantization of inputs; embeddings, whose inputs are not quantized

    def _dynamic_layer(self, node: Node) -> None:
        layer = self._reference_in(node)
        if layer is None:
            return
        made = self._quantized_layer(node, self.dynamic)
        if made is None:
            return
        module = self.modules[str(node.target)]
        if isinstance(layer, _ROWS):
            self._install(node, made.from_reference(module))
        elif _is_quantized_on_call(node.args[0]):
            self._install(node, made.from_reference(module))
            node.replace_input_with(node.args[0], node.args[0].args[0].args[0])

    def _dynamic_function(self, node: Node) -> None:
        floats, weight, *rest = node.args
        if not _is_quantized_on_call(floats) or not is_dequantized(weight):
            return
        reader = next(iter(node.users))
        relu = reader if len(node.users) == 1 and self._is_relu(reader) else None
        given, dtype, reduce_range = floats.args[0].args
        half = dtype is pellucid.float16
        with self.graph.inserting_before(node):
            packed = self._prepacked(node, weight.args[0], rest)
        name = f"linear{'_relu' if relu else ''}_dynamic{'_fp16' if half else ''}"
        node.target = by_name(name)  # type: ignore[assignment]
        node.args = (given, packed) if half else (given, packed, reduce_range)
        node.kwargs = {}
        if relu is not None:
            relu.replace_all_uses_with(node)
            self.graph.erase_node(relu)

    def _is_relu(self, node: Node) -> bool:
        return called(node, self.modules)[1] in (nn.ReLU, F.relu)


_SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT


def _works_on_integers(config: BackendPatternConfig) -> bool:
    """An op that shares its input's scale, or has a fixed one."""
    fixed = any(
        each.output_dtype_with_constraints.scale_exact_match is not None
        for each in config.dtype_configs
    )
    return fixed or config.observation_type is _SHARED


def by_prepacking(node: Any) -> bool:
    """Whether a node calls a function whose quantized op needs a packed weight."""
    if not isinstance(node, Node) or node.op != "call_function":
        return False
    name = getattr(node.target, "__name__", "")
    return (
        node.target is getattr(F, name, None) and by_name(f"{name}_prepack") is not None
    )


def _asks_for_size(node: Node) -> bool:
    if node.op == "call_method":
        return node.target in ("shape", "size")
    return node.target is getattr and node.args[1] == "shape"


def _is_quantized_on_call(node: Any) -> bool:
    if not is_dequantized(node):
        return False
    return bool(node.args[0].target is pellucid.quantize_per_tensor_dynamic)


def _spelled_out(node: Node, op: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a function's call, with defaults, that an op also has."""
    function: Any = node.target
    bound = inspect.signature(function).bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    args, kwargs, known = [], {}, inspect.signature(op).parameters
    for name, parameter in bound.signature.parameters.items():
        if parameter.default is parameter.empty:
            args.append(bound.arguments[name])
        elif name in known:
            kwargs[name] = bound.arguments[name]
    return args, kwargs


def _geometry(name: str, rest: list[Any]) -> list[Any]:
    """(bias, stride, ...) of a convolution, in the order of its packing op."""
    transposed = "transpose" in name
    made = list(rest)
    if name.endswith("1d"):
        places = (1, 2, 3, 5) if transposed else (1, 2, 3)
        for k in places:
            if k < len(made) and isinstance(made[k], int):
                made[k] = (made[k],)
    if transposed and len(made) > 5:  # the function has groups before dilation
        made[4], made[5] = made[5], made[4]
    return made


# Packed weights


def fold_weights(
    model: GraphModule, scopes: dict[str, tuple[str, Any]], keep_original_weights: bool
) -> GraphModule:
    """Turns weights that are packed in the graph into attributes of the model."""
    packing = {by_name(name) for name in _prepack_names()}
    folded: set[Node] = set()
    constants: dict[Node, GraphModule] = {}
    for node in model.graph.nodes:
        found = producers(node) if node.target in packing else None
        if found is not None:
            constants[node] = constant_of(model, found)
            folded |= {*found}
    graph, copies = Graph(), {}
    kept: dict[str, Any] = {}
    for node in model.graph.nodes:
        if node in constants:
            path = scopes[next(iter(node.users)).name][0]
            name = fresh_name(model, f"{path}_packed_weight_")
            setattr(model, name, constants[node]())
            kept[name.lower()] = _largest_first(constants[node])
            copies[node] = graph.create_node("get_attr", name)
        elif node not in folded:
            copies[node] = graph.node_copy(node, lambda each: copies[each])
    made = GraphModule(model, graph)
    made._register_state_dict_hook(_save_packed)
    made.register_load_state_dict_pre_hook(_load_packed)
    if keep_original_weights:
        made.original_weights_lookup = kept
    return made


def _largest_first(constant: GraphModule) -> list[Any]:
    """The tensors of a packed weight; None means no bias."""
    found = sorted(constant.state_dict().values(), key=lambda each: -each.numel())
    return found if len(found) > 1 else [*found, None]


def _prepack_names() -> list[str]:
    kinds = [f"{kind}{k}d" for kind in ("conv", "conv_transpose") for k in (1, 2, 3)]
    return ["linear_prepack_fp16", *(f"{kind}_prepack" for kind in ("linear", *kinds))]


def _is_packed(value: Any) -> bool:
    return isinstance(value, Packed | LinearPackedParamsFloat16)


def _save_packed(
    module: Any, destination: Any, prefix: str, local_metadata: Any
) -> None:
    for name, value in vars(module).items():
        if _is_packed(value):
            destination[prefix + name] = value


def _load_packed(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    names = [name for name, value in vars(module).items() if _is_packed(value)]
    for name in names:
        if prefix + name in state_dict:
            setattr(module, name, state_dict.pop(prefix + name))
