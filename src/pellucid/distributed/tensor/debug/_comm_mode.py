"""``CommDebugMode``: the collectives of a program, by the module that called them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pellucid as torch
from pellucid.distributed import _functional_ops as _functional_ops
from pellucid.distributed._group.world import world
from pellucid.distributed.tensor._dtensor import DTensor
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils._pytree import tree_leaves
from pellucid.utils.module_tracker import ModuleTracker

__all__ = ["CommDebugMode"]

# Public functions that are one op of _c10d_functional; others count by their names.
_OPS = {
    "all_gather": "all_gather_into_tensor",
    "all_to_all": "all_to_all_single",
    "reduce_scatter": "reduce_scatter_tensor",
    **{name: name for name in ("all_reduce", "broadcast", "all_to_all_single")},
    **{name: name for name in ("all_gather_into_tensor", "reduce_scatter_tensor")},
}
_PASSES = ("FORWARD PASS", "BACKWARD PASS")


@dataclass
class _Op:
    """A call on DTensors."""

    name: str
    shapes: list[Any]
    placements: list[Any]
    mesh: str


@dataclass
class _Module:
    """What ran in a module, per pass: collectives (also of inner modules) and ops."""

    type: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    counts: tuple[Counter[Any], Counter[Any]] = field(
        default_factory=lambda: (Counter(), Counter())
    )
    ops: tuple[list[_Op], list[_Op]] = field(default_factory=lambda: ([], []))


class _Modules(ModuleTracker):
    """The modules that run, with the facts of those seen."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, _Module] = {"Global": _Module()}

    def _enter_module(self, module: Any, inputs: Any) -> None:
        super()._enter_module(module, inputs)
        name = self._names.name_of(module)
        if name not in self.seen:
            kind = str(type(module)).removeprefix("<").removesuffix(">")
            parameters = dict(module.named_parameters(recurse=False))
            self.seen[name] = _Module(kind, parameters)

    def running(self) -> list[_Module]:
        """The modules that run, and all of the program."""
        return [self.seen[name] for name in self.parents if name in self.seen]


class CommDebugMode(TorchDispatchMode):
    """A scope that counts collectives: those that DTensors need, and a program's own.

    Counts are by ops such as ``torch.ops.c10d_functional.all_reduce``; collectives
    without such an op, as "scatter", by their names.

    Example::

        with CommDebugMode() as mode:
            model(x).sum().backward()
        print(mode.generate_comm_debug_tracing_table())
    """

    def __init__(self) -> None:
        super().__init__()
        self._tracker = _Modules()

    @property
    def comm_counts(self) -> dict[Any, int]:
        """The numbers of collectives."""
        return self.get_comm_counts()

    def __enter__(self) -> CommDebugMode:
        self._tracker = _Modules()
        self._tracker.__enter__()
        world.observers.append(self._count)
        super().__enter__()
        return self

    def __exit__(self, *facts: Any) -> None:
        super().__exit__(*facts)
        world.observers.remove(self._count)
        self._tracker.__exit__(*facts)

    def _count(self, name: str) -> None:
        key = name
        if name in _OPS:
            key = getattr(torch.ops.c10d_functional, _OPS[name])
        for module in self._tracker.running():
            module.counts[self._tracker.is_bw][key] += 1

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        found = [x for x in leaves if isinstance(x, DTensor)]
        if found:
            op = _Op(
                str(func),
                [x.shape for x in found],
                [x.placements for x in found],
                str(found[0].device_mesh),
            )
            for module in self._tracker.running():
                module.ops[self._tracker.is_bw].append(op)
        return func(*args, **kwargs)

    def get_comm_counts(self) -> dict[Any, int]:
        """The numbers of collectives, by op."""
        forward, backward = self._tracker.seen["Global"].counts
        return forward + backward

    def get_total_counts(self) -> int:
        """The number of all collectives."""
        return sum(self.get_comm_counts().values())

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """The parameters of each module that has run."""
        seen = self._tracker.seen.items()
        return {name: each.parameters for name, each in seen if each.parameters}

    def get_sharding_info(self) -> dict[str, Any]:
        """The placements of each parameter that is a DTensor."""
        return {
            f"{module}.{name}": parameter.data.placements
            for module, parameters in self.get_parameter_info().items()
            for name, parameter in parameters.items()
            if isinstance(parameter.data, DTensor)
        }

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """Modules with their collectives (``noise_level`` 0), also the placements of
        their parameters and the ops on DTensors (1 and more).
        """
        return "".join(
            f"{line}\n"
            for name, module in self._tracker.seen.items()
            for line in _lines(name, module, noise_level > 0)
        )

    def log_comm_debug_tracing_table_to_file(
        self, file_name: str = "comm_mode_log.txt", noise_level: int = 3
    ) -> None:
        """Writes the table to a file."""
        with open(file_name, "w") as file:
            file.write(self.generate_comm_debug_tracing_table(noise_level))

    def generate_json_dump(
        self, file_name: str = "comm_mode_log.json", noise_level: int = 3
    ) -> None:
        """Writes the modules, one inside another, to a file."""
        nodes: dict[str, dict[str, Any]] = {}
        for name, module in self._tracker.seen.items():
            nodes[name] = _node(name, module, noise_level > 0)
            outer = name.rpartition(".")[0] or "Global"
            while outer not in nodes:
                outer = outer.rpartition(".")[0] or "Global"
            if name != "Global":
                nodes[outer]["children"].append(nodes[name])
        with open(file_name, "w") as file:
            json.dump(nodes["Global"], file, indent=4)


def _node(name: str, module: _Module, has_ops: bool) -> dict[str, Any]:
    passes = zip(("forward", "backward"), module.counts, strict=True)
    node: dict[str, Any] = {"fqn": name, "module_type": module.type, "children": []}
    for key, counts in passes:
        node[f"collectives_{key}"] = [f"{op}: {n}" for op, n in counts.items()]
    if has_ops:
        node["parameters"] = [
            (each, str(getattr(parameter.data, "placements", ())))
            for each, parameter in module.parameters.items()
        ]
        for key, ops in zip(("forward", "backward"), module.ops, strict=True):
            node[f"operations_{key}"] = [
                {
                    "name": op.name,
                    "input_shape": [str(list(shape)) for shape in op.shapes],
                    "input_sharding": [str(placed) for placed in op.placements],
                    "device_mesh": op.mesh,
                }
                for op in ops
            ]
    return node


def _lines(name: str, module: _Module, has_ops: bool) -> list[str]:
    """A module's lines of the table."""
    depth = 0 if name == "Global" else 1 + name.count(".")
    lines = [name]
    if has_ops and module.type:
        lines.append(f"*module type: {module.type}")
    placed = {
        each: parameter.data.placements
        for each, parameter in module.parameters.items()
        if isinstance(parameter.data, DTensor)
    }
    if has_ops and placed:
        lines += ["*Parameter List", *(f" *{k}: {v}" for k, v in placed.items())]
    for title, counts, ops in zip(_PASSES, module.counts, module.ops, strict=True):
        inner = [f"  *{op}: {n}" for op, n in counts.items()]
        if has_ops and depth:
            for op in ops:
                inner.append(f"  **{op.name}")
                inner.append(f"    shape: {op.shapes}")
                inner.append(f"    sharding: {op.placements}")
                inner.append(f"    device mesh: {op.mesh}")
        if inner:
            lines += [f"  {title}", *(f"  {line}" for line in inner)]
    return [f"{'  ' * depth}{line}" for line in lines]
