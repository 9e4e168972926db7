"""Saves GraphModules: as pickles, and as folders of Python code.

A pickle holds the generated code and the values that it names; loading retraces the
code to rebuild the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid.fx._names import as_torch, custom_builtins, type_repr
from pellucid.fx.graph import CodeGen, Graph, PythonCode
from pellucid.nn import Module

if TYPE_CHECKING:
    from pellucid.fx.graph_module import GraphModule

_NOT_STORED = ("_graph", "_code", "_lineno_map", "_prologue_start")


def import_block(names: dict[str, Any]) -> str:
    """The import statements of generated code."""
    return "\n".join(_import_statement(name, obj) for name, obj in names.items())


def _import_statement(name: str, obj: Any) -> str:
    if name in custom_builtins:
        return custom_builtins[name].import_str
    if obj.__class__.__name__ == "module":
        return f"import {obj.__name__} as {name}"
    attribute = getattr(obj, "__qualname__", None) or type_repr(obj).rpartition(".")[2]
    module = getattr(obj, "__module__", None)
    if "<locals>" in attribute or module is None:
        raise RuntimeError(
            f"{obj} cannot be imported: code that calls it cannot be stored. Define it "
            "at the top level of a module"
        )
    first, _, rest = attribute.partition(".")
    statement = f"from {module} import {first} as {name}"
    return f"{statement}\n{name} = {name}.{rest}" if rest else statement


def reduce(module: GraphModule) -> tuple[Any, ...]:
    """The state of a GraphModule for ``pickle``."""
    state = {k: v for k, v in module.__dict__.items() if k not in _NOT_STORED}
    code = _plain_code(module._graph)
    state["_code"] = code.src
    state["_class_name"] = type(module).__name__
    state["_codegen"] = module._graph._codegen
    return reduce_graph_module, (state, import_block(code.globals))


def _plain_code(graph: Graph) -> PythonCode:
    """The code with the placeholders as parameters, independent of the graph's
    CodeGen.
    """
    own, graph._codegen = graph._codegen, CodeGen()
    try:
        return graph.python_code(root_module="self")
    finally:
        graph._codegen = own


def reduce_graph_module(body: dict[str, Any], text: str) -> Module:
    """Rebuilds a GraphModule from the state of ``reduce``."""
    from pellucid.fx.graph_module import _forward_from_src

    code = body.get("_code") or body["code"]
    names: dict[str, Any] = {}
    exec(compile(text, "<imports of a GraphModule>", "exec"), names)
    wrapped = "torch.fx._symbolic_trace.wrap("
    lines = [line for line in code.split("\n") if not line.startswith(wrapped)]
    opaque = [
        line.removeprefix(wrapped).rstrip(")").strip('"')
        for line in code.split("\n")
        if line.startswith(wrapped)
    ]
    forward = _forward_from_src("\n".join(lines), names)
    return _traced_again(body, forward, opaque)


def _traced_again(
    body: dict[str, Any], forward: Callable[..., Any], opaque: list[str]
) -> Module:
    from pellucid.fx import _patches
    from pellucid.fx.graph_module import GraphModule

    stored = dict(body)
    name = stored.pop("_class_name", "GraphModule")
    codegen = stored.pop("_codegen", None)
    stored.pop("_code", None)
    shell = _CodeOnlyModule(stored)
    shell_class = type(name, (_CodeOnlyModule,), {"forward": forward})
    shell.__class__ = shell_class
    tracer_cls = stored.get("_tracer_cls")
    tracer: Any = _leaf_tracer(tracer_cls)(**stored.get("_tracer_extras", {}))
    space = forward.__globals__
    for function in opaque:
        _patches._wrapped_fns_to_patch[id(space), function] = space
    try:
        graph = tracer.trace(shell)
    finally:
        for function in opaque:
            del _patches._wrapped_fns_to_patch[id(space), function]
    graph._tracer_cls = tracer_cls
    if codegen is not None:
        graph._codegen = codegen
    made = GraphModule(shell, graph, name)
    for key, value in stored.items():
        made.__dict__.setdefault(key, value)
    for kind in ("_parameters", "_buffers", "_modules"):
        for key, value in stored[kind].items():
            made.__dict__[kind].setdefault(key, value)
    made.training = stored.get("training", True)
    made.__dict__["meta"] = stored.get("meta", {})
    return made


class _CodeOnlyModule(Module):
    """A module with the values of a pickle, whose ``forward`` is the stored code."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(values)


def _leaf_tracer(tracer_cls: type | None) -> type:
    from pellucid.fx._symbolic_trace import Tracer

    base: Any = tracer_cls or Tracer

    class EveryModuleIsALeaf(base):  # type: ignore[misc]
        """Traces the stored code with every module as a leaf."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            """True"""
            return True

    return EveryModuleIsALeaf


def to_folder(module: GraphModule, folder: Path, name: str) -> None:
    """Writes ``module.py`` with the code, and files with the values."""
    folder.mkdir(parents=True, exist_ok=True)
    pellucid.save(module.state_dict(), folder / "state_dict.pt")
    code = module._graph.python_code(root_module="self")
    body = "\n".join("    " + line for line in code.src.split("\n"))
    lines = [
        import_block(code.globals),
        "",
        "import pellucid as torch",
        "from pellucid.nn import *",
        "",
        f"class {name}(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
    ]
    for child_name, child in module.named_children():
        lines.append(f"        self.{child_name} = {_child(child, child_name, folder)}")
    for key, tensor in module._parameters.items():
        if tensor is not None:
            made = f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"
            lines.append(f"        self.{key} = torch.nn.Parameter({made})")
    for key, tensor in module._buffers.items():
        if tensor is not None:
            made = f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"
            lines.append(f"        self.register_buffer('{key}', {made})")
    lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
    (folder / "module.py").write_text(as_source("\n".join([*lines, body])))
    (folder / "__init__.py").write_text("from .module import *\n")


def _child(child: Module, name: str, folder: Path) -> str:
    kind = type(child)
    library = {"Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d"}
    library.add("BatchNorm3d")
    if kind.__name__ in library and as_torch(kind.__module__).startswith("torch.nn"):
        return f"torch.nn.{child!r}"
    path = folder / f"{name}.pt"
    pellucid.save(child, path)
    return f"torch.load(r'{path}', weights_only=False)  # {kind.__name__}"


def as_source(text: str) -> str:
    """The text with a newline at its end."""
    return text if text.endswith("\n") else f"{text}\n"
