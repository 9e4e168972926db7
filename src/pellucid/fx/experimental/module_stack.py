"""Records the module calls that contain a node: ``nn_module_stack``.

Every node made within calls of a module and its submodules has these calls in
``meta["nn_module_stack"]``, outermost first: a key of the call, the submodule's path
and its class name. ``torch.export.unflatten`` rebuilds modules from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pellucid import Tensor
from pellucid.fx.experimental.op_tracer import PythonKeyTracer
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree

__all__ = ["CallOfPart", "ModuleStack"]


@dataclass
class CallOfPart:
    """Arguments and results of a submodule's call: nodes of the leaves, or their
    values.
    """

    inputs: list[Any]
    outputs: list[Any]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec


class ModuleStack:
    """Tracks calls of ``root`` and its submodules. After a trace ``calls`` has the
    arguments and results of calls to the submodules in ``noted``, by key.
    """

    def __init__(self, root: Module, noted: Collection[str] = ()) -> None:
        self.names = {id(part): name for name, part in root.named_modules()}
        self.noted = frozenset(noted)
        self.calls: dict[str, CallOfPart] = {}
        unknown = self.noted - set(self.names.values())
        if unknown:
            raise ValueError(
                f"preserve_module_call_signature names {sorted(unknown)}, which the "
                "module does not have; named_modules() gives the names"
            )

    @contextmanager
    def followed(self, tracer: PythonKeyTracer) -> Iterator[None]:
        """A scope in which nodes of ``tracer`` record the calls that contain them."""
        made: Counter[str] = Counter()
        call = Module.__call__

        def module_call(part: Module, *args: Any, **kwargs: Any) -> Any:
            name = self.names.get(id(part))
            if name is None:
                return call(part, *args, **kwargs)
            number = made[name]
            made[name] += 1
            key = f"L__self__{name}@{number}" if number else f"L__self__{name}"
            outer = tracer.module_stack
            kind = type(part)
            entry = name, f"{kind.__module__}.{kind.__qualname__}"
            tracer.module_stack = {**outer, key: entry}
            try:
                result = call(part, *args, **kwargs)
            finally:
                tracer.module_stack = outer
            if name in self.noted:
                self.calls[key] = _noted(tracer, (args, kwargs), result)
            return result

        Module.__call__ = module_call  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            Module.__call__ = call  # type: ignore[method-assign]


def _noted(tracer: PythonKeyTracer, given: Any, result: Any) -> CallOfPart:
    def nodes(leaves: list[Any]) -> list[Any]:
        return [tracer.proxy_of(x).node if isinstance(x, Tensor) else x for x in leaves]

    inputs, in_spec = pytree.tree_flatten(given)
    outputs, out_spec = pytree.tree_flatten(result)
    return CallOfPart(nodes(inputs), nodes(outputs), in_spec, out_spec)
