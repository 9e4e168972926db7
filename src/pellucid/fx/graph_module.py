"""``torch.fx.graph_module``: a module whose ``forward`` is generated from a Graph.

Each instance has its own class, whose ``forward`` is compiled from ``code`` when
``recompile`` is called. Pickles contain that code, not the nodes (``_persistence.py``).
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pellucid
from pellucid.fx import _persistence
from pellucid.fx.graph import Graph, PythonCode, _PyTreeCodeGen
from pellucid.nn import Module, Parameter

__all__ = [
    "GraphModule",
    "reduce_deploy_graph_module",
    "reduce_graph_module",
    "reduce_package_graph_module",
]

reduce_graph_module = _persistence.reduce_graph_module
_CodeOnlyModule = _persistence._CodeOnlyModule
# Attributes in ``meta`` under this key are set on copies.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()
Hook = Callable[..., Any]


def _forward_from_src(
    src: str, names: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> Any:
    name = f"<eval_with_key>.{next(_numbers)}"
    if co_fields and "co_name" in co_fields:
        place = f"{co_fields['co_filename']}:{co_fields['co_firstlineno']}"
        name += f" from {place} in {co_fields['co_name']}"
    names = {**names, "__name__": name}
    exec(compile(src, name, "exec"), names)
    # An entry, not a loader: linecache ignores loaders for names that end with ">".
    linecache.cache[name] = len(src), None, src.splitlines(keepends=True), name
    forward = names.pop("forward")
    weakref.finalize(forward, linecache.cache.pop, name, None).atexit = False
    return forward


def _copy_attr(from_module: Any, to_module: Module, target: str) -> None:
    """Copies one attribute by its dotted name; creates missing parent modules."""
    *path, name = target.split(".")
    for part in path:
        source = getattr(from_module, part)
        if getattr(to_module, part, None) is source:
            return
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        from_module, to_module = source, getattr(to_module, part)
    _assign(getattr(from_module, name), to_module, name)


def _assign(value: Any, module: Module, name: str) -> None:
    if isinstance(value, pellucid.Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Assigns by a dotted name; creates missing parent modules."""
    *path, name = target.split(".")
    for part in path:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _assign(from_obj, to_module, name)


def _get_attr(model: Module, target: str) -> Any:
    value: Any = model
    for part in target.split("."):
        value = getattr(value, part)
    return value


def _del_attr(model: Module, target: str) -> None:
    *path, name = target.split(".")
    delattr(_get_attr(model, ".".join(path)) if path else model, name)


def _has_attr(model: Module, target: str) -> bool:
    try:
        _get_attr(model, target)
    except AttributeError:
        return False
    return True


class GraphModule(Module):
    """A module generated from a Graph: ``GraphModule(root, graph)``.

    ``root`` is a module, or a dict by dotted name, with the targets of the graph's
    ``get_attr`` and ``call_module`` nodes; these are shared, not copied. After
    changes to ``graph`` call ``recompile()``.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        base = next(c for c in cls.__mro__ if "_is_of_one_graph" not in vars(c))
        # Libraries recognise per-instance classes by PyTorch's qualified name.
        own = type(cls.__name__, (base,), {"_is_of_one_graph": True})
        own.__module__ = GraphModule.__module__
        own.__qualname__ = "GraphModule.__new__.<locals>.GraphModuleImpl"
        return super().__new__(own)

    def __init__(
        self,
        root: Module | dict[str, Any],
        graph: Graph,
        class_name: str = "GraphModule",
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self._take_from_module(root, graph)
        elif isinstance(root, dict):
            self._take_from_dict(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._replace_hooks: list[Hook] = []
        self._create_node_hooks: list[Hook] = []
        self._erase_node_hooks: list[Hook] = []
        self._deepcopy_hooks: list[Hook] = []
        self._tracer_cls = _importable(graph._tracer_cls)
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        if isinstance(root, GraphModule):
            self.meta.update(root.meta)
        self.graph = graph

    def _take_from_module(self, root: Module, graph: Graph) -> None:
        if hasattr(root, "training"):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, str(node.target))

    def _take_from_dict(self, root: dict[str, Any], graph: Graph) -> None:
        targets = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target "
                        "was not provided in ``root``!"
                    )
                targets.append(str(node.target))
        for target in sorted(targets, key=lambda name: name.count(".")):
            _assign_attr(root[target], self, target)

    # The graph and its code

    @property
    def graph(self) -> Graph:
        """The Graph; assigning one regenerates the code."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python source of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError(
                "Code has not been generated! Please report a bug to PyTorch"
            )
        return self._code

    def recompile(self) -> PythonCode:
        """Regenerates the code from the graph; call it after changes."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        self._lineno_map = code._lineno_map
        self._prologue_start = code._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(code.src, code.globals, self._graph._co_fields)
        cls.__call__ = _explained_call(cls)
        return code

    def _recompile_submodules(self) -> list[PythonCode]:
        modules = (m for m in self.modules() if isinstance(m, GraphModule))
        return [module.recompile() for module in modules]

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        **options: Any,
    ) -> str:
        """Prints and returns the code with source lines and shapes, including nested
        GraphModules.
        """
        text = _readable(self, include_stride, include_device, expanded_def)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__str__()}\n{self._code}\n{hint}"

    # Submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Install ``m`` under a dotted name; False if the path is taken."""
        *path, name = target.split(".")
        module: Module = self
        for part in path:
            child = getattr(module, part, None)
            if child is None:
                child = Module()
                setattr(module, part, child)
            if not isinstance(child, Module):
                return False
            module = child
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module of a dotted name; False if there is none."""
        *path, name = target.split(".")
        module: Any = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Deletes the modules that no node of the graph uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = str(node.target).split(".")
            used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                try:
                    inner = self.get_submodule(str(node.target))
                except AttributeError:
                    continue
                prefix = str(node.target)
                used.update(
                    f"{prefix}.{name}" for name, _ in inner.named_modules() if name
                )
        for name in [name for name, _ in self.named_modules() if name]:
            if name not in used:
                self.delete_submodule(name)

    # Copies and files

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        Module.__init__(made)
        type(made).__name__ = type(self).__name__
        copied = copy.deepcopy(
            {k: v for k, v in self.__dict__.items() if k not in _OF_GRAPH}, memo
        )
        made.__dict__.update(copied)
        made.graph = copy.deepcopy(self._graph, memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, type(self).__name__)
        made.meta = dict(getattr(self, "meta", {}))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _persistence.reduce(self)

    def __reduce_package__(self, exporter: Any) -> tuple[Any, ...]:
        return _persistence.reduce(self)

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write a Python package with the code and the parameters."""
        _persistence.to_folder(self, Path(folder), module_name)

    # Hooks on changes of the graph

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Hook) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Hook) -> None:
        self._replace_hooks.append(_checked(f))

    def _unregister_replace_node_hook(self, f: Hook) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Hook) -> None:
        self._create_node_hooks.append(_checked(f))

    def _unregister_create_node_hook(self, f: Hook) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Hook) -> None:
        self._erase_node_hooks.append(_checked(f))

    def _unregister_erase_node_hook(self, f: Hook) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Hook) -> None:
        self._deepcopy_hooks.append(_checked(f))

    def _unregister_deepcopy_hook(self, f: Hook) -> None:
        self._deepcopy_hooks.remove(f)


_OF_GRAPH = ("_graph",)


def _checked(hook: Hook) -> Hook:
    if not callable(hook):
        raise AssertionError(f"a hook is a function; {type(hook).__name__} was given")
    return hook


def _importable(tracer_cls: type | None) -> type | None:
    if tracer_cls is None or "<locals>" in tracer_cls.__qualname__:
        return None
    return tracer_cls


def _explained_call(cls: Any) -> Callable[..., Any]:
    """Calls ``forward``; an error in it shows the generated line, once."""

    def explained(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super(cls, self).__call__(*args, **kwargs)
        except Exception as error:
            trace = error.__traceback__
            frames = traceback.extract_tb(trace)
            own = [f for f in frames if f.filename.startswith("<eval_with_key>")]
            if not own or getattr(error, "_pellucid_explained", False):
                raise
            with contextlib.suppress(AttributeError):
                error._pellucid_explained = True  # type: ignore[attr-defined]
            print(_around(own[-1]), file=sys.stderr)
            raise

    return explained


def _around(frame: traceback.FrameSummary) -> str:
    line = frame.lineno or 0
    lines = linecache.getlines(frame.filename)
    before = "".join(lines[max(line - 3, 0) : line])
    behind = "".join(lines[line : line + 2])
    return (
        f"Call using an FX-traced Module, line {line} of the traced Module's generated "
        f"forward function:\n{before}\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE\n"
        f"{behind}"
    )


def _readable(
    module: GraphModule, include_stride: bool, include_device: bool, expanded: bool
) -> str:
    code = module.graph.python_code(
        "self",
        verbose=True,
        include_stride=include_stride,
        include_device=include_device,
        expanded_def=expanded,
    ).src.lstrip("\n")
    parts = [f"class {type(module).__name__}(torch.nn.Module):\n{_indent(code)}"]
    for _, child in module.named_children():
        if isinstance(child, GraphModule):
            inner = _readable(child, include_stride, include_device, expanded)
            parts.append(_indent(inner))
    return "\n".join(parts)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


def reduce_package_graph_module(
    importer: Any, body: dict[Any, Any], name: str
) -> Module:
    """Refused: there are no packages (``torch.package``)."""
    raise NotImplementedError(
        "torch.package is not supported; pickle the GraphModule, or use to_folder()"
    )


def reduce_deploy_graph_module(
    importer: Any, body: dict[Any, Any], text: str
) -> Module:
    """Refused: there is no ``torch::deploy``."""
    raise NotImplementedError("torch::deploy is not supported; pickle the GraphModule")
