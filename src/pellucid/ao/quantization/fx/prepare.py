"""Inserts observers where a node's result differs from what its reader requires.

Nodes are visited in order. The inputs of a pattern's root are observed, unless their
producers already are; the result of a pattern's last node is observed. If the result
has the scale of the input, both share one observer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid.ao.quantization.backend_config import BackendConfig
from pellucid.ao.quantization.fx import node_qconfigs, observed
from pellucid.ao.quantization.fx.custom_config import (
    PrepareCustomConfig,
    StandaloneModuleConfigEntry,
)
from pellucid.ao.quantization.fx.matching import (
    Match,
    find_observed,
    is_observer_node,
    module_names,
)
from pellucid.ao.quantization.fx.targets import (
    Target,
    dtype_of,
    is_supported,
    targets_of,
)
from pellucid.ao.quantization.qconfig_mapping import QConfigMapping
from pellucid.ao.quantization.quantize import propagate_qconfig_, swap_all
from pellucid.fx import GraphModule, Node
from pellucid.fx.node import map_arg

__all__ = ["prepare"]

_OBSERVED = (
    *(pellucid.quint8, pellucid.qint8, pellucid.qint32, pellucid.float16),
    *(pellucid.uint8, pellucid.int8, pellucid.int16, pellucid.int32),
    *(pellucid.float8_e5m2, pellucid.float8_e4m3fn),
)
Standalone = Callable[..., GraphModule]


def prepare(
    model: GraphModule,
    mapping: QConfigMapping,
    is_qat: bool,
    scopes: node_qconfigs.Scopes,
    config: PrepareCustomConfig,
    backend: BackendConfig,
    prepare_standalone: Standalone,
) -> GraphModule:
    """The fused ``model`` with observers; ``prepare_standalone`` prepares standalone
    modules.
    """
    mapping = copy.deepcopy(mapping)
    node_qconfigs.for_fused(model, module_names(model), mapping)
    propagate_qconfig_(
        model,
        {
            "": mapping.global_qconfig,
            **mapping.object_type_qconfigs,
            **mapping.module_name_qconfigs,
        },
    )
    if is_qat:
        swap_all(model, node_qconfigs.trained_layers(backend), {})
        node_qconfigs.for_trained(mapping, backend)
    modules = module_names(model)
    qconfigs = node_qconfigs.qconfigs_of(model, modules, mapping, scopes)
    found = find_observed(model.graph, modules, backend)
    _add_configured_modules(model, modules, found, config)
    insertion = Insertion(model, found, qconfigs, config, backend)
    insertion.prepare_standalone(prepare_standalone, is_qat)
    insertion.run()
    made = GraphModule(model, model.graph)
    observed.remember(
        made,
        observed.ObservedGraphModuleAttrs(
            *(qconfigs, scopes, config, mapping, is_qat, insertion.observed_names)
        ),
    )
    return made


def _add_configured_modules(
    model: GraphModule, modules: Any, found: dict[Node, Match], config: Any
) -> None:
    custom = custom_classes(config.float_to_observed_mapping)
    for node in model.graph.find_nodes(op="call_module"):
        kind = type(modules[node.target])
        if kind in custom:
            found[node] = Match(node, node, is_custom=True)
        if _standalone_entry(node, modules, config) is not None:
            found[node] = Match(node, node, is_standalone=True)


def custom_classes(swaps: Any) -> set[type]:
    """The classes that a user swaps, for any kind of quantization."""
    return {kind for classes in swaps.values() for kind in classes}


def _standalone_entry(
    node: Node, modules: Any, config: PrepareCustomConfig
) -> StandaloneModuleConfigEntry | None:
    name = str(node.target)
    by_class = config.standalone_module_classes.get(type(modules[name]))
    return config.standalone_module_names.get(name, by_class)


class Insertion:
    """The insertion of observers into one graph."""

    def __init__(
        self,
        model: GraphModule,
        found: dict[Node, Match],
        qconfigs: dict[str, Any],
        config: PrepareCustomConfig,
        backend: BackendConfig,
    ) -> None:
        self.model, self.found, self.qconfigs = model, found, qconfigs
        self.config, self.backend = config, backend
        self.modules = module_names(model)
        self.targets = targets_of(
            *(model.graph, self.modules, found, qconfigs, backend),
            config.input_quantized_indexes,
        )
        self.observed_names: set[str] = set()
        self._swapped: set[str] = set()

    def run(self) -> None:
        """Visits the nodes that the graph has now."""
        for node in list(self.model.graph.nodes):
            match = self.found.get(node)
            if match is None:
                continue
            qconfig = self.qconfigs[node.name]
            if qconfig is None:
                continue
            if is_supported(match, qconfig, self.targets, self.backend):
                self._visit(node, match, qconfig)

    def _visit(self, node: Node, match: Match, qconfig: Any) -> None:
        self.observed_names |= {each.name for each in match.members()}
        if node is match.root:
            self._observe_inputs(node, match, qconfig)
        if node is not match.last:
            return
        if not match.is_standalone:  # those observe their results inside
            self._observe_result(node)
        if match.is_custom:
            self._swap(node, qconfig)

    # Inputs

    def _observe_inputs(self, node: Node, match: Match, qconfig: Any) -> None:
        def seen(argument: Node) -> Node:
            constructor = self._wanted(node, argument, match, qconfig)
            if not self._is_needed(node, argument, constructor):
                return argument
            return self._observer_of(argument, constructor)

        node.args, node.kwargs = map_arg(node.args, seen), map_arg(node.kwargs, seen)

    def _wanted(self, node: Node, argument: Node, match: Match, qconfig: Any) -> Any:
        if not match.is_standalone:
            return self.targets[node].wanted(node, argument)
        entry = _standalone_entry(node, self.modules, self.config)
        inner = entry and entry.prepare_custom_config
        quantized = inner.input_quantized_indexes if inner else []
        index = next((k for k, each in enumerate(node.args) if each is argument), None)
        return qconfig.activation if index in quantized else None

    def _is_needed(self, node: Node, argument: Node, constructor: Any) -> bool:
        dtype, is_dynamic = dtype_of(constructor)
        if dtype not in _OBSERVED:
            return False
        given, _ = dtype_of(self._given_by(argument).output)
        if given not in (*_OBSERVED, pellucid.float32):
            return False
        if is_dynamic:  # only of the first input
            return bool(node.args) and argument is node.args[0]
        return not self.targets[node].reuses_input and given is not dtype

    def _given_by(self, node: Node) -> Target:
        """The target of a node's result; for an observer, of its input."""
        if is_observer_node(node, self.modules):
            return self.targets[node.args[0]]
        return self.targets[node]

    def _observer_of(self, argument: Node, constructor: Any) -> Node:
        """A call of an observer of ``argument``: an existing one, or a new one."""
        wanted = constructor()
        for user in argument.users:
            if user.op == "call_module":
                there = self.modules[str(user.target)]
                same_dtype = getattr(there, "dtype", None) is wanted.dtype
                if type(there) is type(wanted) and same_dtype:
                    return user
        return self._insert(argument, wanted)

    def _insert(self, node: Node, observer: Any) -> Node:
        name = fresh_name(self.model, "activation_post_process_")
        setattr(self.model, name, observer)
        self.modules[name] = observer
        with self.model.graph.inserting_after(node):
            return self.model.graph.create_node("call_module", name, (node,), {})

    # Results

    def _observe_result(self, node: Node) -> None:
        target = self.targets[node]
        dtype, is_dynamic = dtype_of(target.output)
        if is_dynamic or dtype not in _OBSERVED:
            return
        readers = list(node.users)
        seen = self._insert(node, target.output())
        for reader in readers:
            reader.replace_input_with(node, seen)
        shares = target.shares_observer and self._is_observed_here(node, dtype)
        if not shares and not target.reuses_input:
            return
        if not self._share_observer(node, seen):
            seen.replace_all_uses_with(node)
            self.model.graph.erase_node(seen)

    def _is_observed_here(self, node: Node, dtype: Any) -> bool:
        """Handles a quantized input of the graph, which was observed elsewhere."""
        first = node.args[0] if node.args else None
        is_input = isinstance(first, Node) and first.op == "placeholder"
        return not is_input or dtype not in (pellucid.quint8, pellucid.uint8)

    def _share_observer(self, node: Node, seen: Node) -> bool:
        """Makes all inputs and the result share the first input's observer."""
        kinds = (Node, list, tuple)
        first = next((each for each in node.args if isinstance(each, kinds)), None)
        inputs = list(first) if isinstance(first, list | tuple) else [first]
        observers = [self._observer_behind(each) for each in inputs]
        if not observers or None in observers:
            return False
        shared = self.modules[str(observers[0].target)]  # type: ignore[union-attr]
        for each in (*observers[1:], seen):
            name = str(each.target)  # type: ignore[union-attr]
            setattr(self.model, name, shared)
            self.modules[name] = shared
        return True

    def _observer_behind(self, node: Any) -> Node | None:
        """The nearest observer call upstream along first inputs."""
        while isinstance(node, Node) and node.op != "placeholder":
            if is_observer_node(node, self.modules):
                return node
            node = next((each for each in node.args if isinstance(each, Node)), None)
        return None

    # Modules that users configure

    def _swap(self, node: Node, qconfig: Any) -> None:
        name = str(node.target)
        if name in self._swapped:
            return
        self._swapped.add(name)
        module = self.modules[name]
        for swaps in self.config.float_to_observed_mapping.values():
            if type(module) in swaps:
                made = swaps[type(module)].from_float(module)  # type: ignore[attr-defined]
                self.install(name, made)

    def install(self, name: str, module: Any) -> None:
        """Replaces the module of a name."""
        parent, _, last = name.rpartition(".")
        setattr(self.modules[parent], last, module)
        self.modules[name] = module

    def prepare_standalone(self, prepare_one: Standalone, is_qat: bool) -> None:
        """Prepares the standalone modules."""
        for node, match in self.found.items():
            if not match.is_standalone:
                continue
            name = str(node.target)
            entry = _standalone_entry(node, self.modules, self.config)
            assert entry is not None
            qconfig = self.qconfigs[node.name]
            made = prepare_one(
                self.modules[name],
                entry.qconfig_mapping or QConfigMapping().set_global(qconfig),
                is_qat,
                entry.example_inputs,
                entry.prepare_custom_config or PrepareCustomConfig(),
                backend_config=entry.backend_config or self.backend,
            )
            self.install(name, made)


def fresh_name(module: Any, prefix: str) -> str:
    """``prefix`` with the first number that makes an unused attribute name."""
    prefix, number = prefix.replace(".", "_"), 0
    while hasattr(module, f"{prefix}{number}"):
        number += 1
    return f"{prefix}{number}"
