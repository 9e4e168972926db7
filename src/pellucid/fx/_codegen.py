"""Generates Python source of a Graph: ``CodeGen`` and its variant for containers.

A subclass of CodeGen may write another signature or convert inputs and outputs; it is
installed by ``Graph.set_codegen``. Names come from ``_names.py``, the text of one node
from ``_statements.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pellucid.fx import _pytree as fx_pytree
from pellucid.fx._names import Namespace, custom_builtins
from pellucid.fx._statements import Statements
from pellucid.utils import _pytree as pytree

if TYPE_CHECKING:
    from pellucid.fx.node import Node

_TransformCodeFunc = Callable[[list[str]], list[str]]


@dataclass
class PythonCode:
    """The source of ``forward``, the values it refers to, and the node of each line."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """How the arguments and the result of ``forward`` are flattened."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class CodeGen:
    """Writes ``forward(self, ...)`` of a Graph."""

    _get_repr: Callable[[Any], str] = staticmethod(repr)  # of arguments, while writing

    def __init__(self) -> None:
        self._body_transformer: _TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,
    ) -> str:
        """The line ``def forward(...):`` and what precedes the body."""
        names = list(free_vars)
        if not names or names[0] != "self":
            names.insert(0, "self")
        if expanded_def:
            inside = "".join(f"    {name},\n" for name in names)
            return f"def {self._func_name}(\n{inside}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(names)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any | None = None) -> str:
        """The statement that returns the result."""
        return f"return {self._get_repr(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of ``forward``."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of ``forward``, from the value of the output node."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code refers to in addition to those of the nodes."""
        return []

    def _gen_python_code(
        self,
        nodes: Sequence[Node],
        root_module: str,
        namespace: Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        **options: Any,
    ) -> PythonCode:
        writer = Statements(self, root_module, namespace, verbose)
        writer.include_stride, writer.include_device = include_stride, include_device
        for name, obj in self.additional_globals():
            writer.add_global(name, obj)
        self._get_repr = writer.repr_of
        try:
            writer.write(list(nodes))
        finally:
            del self._get_repr
        body = writer.body or ["pass\n"]
        if self._body_transformer:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        form = {"expanded_def": True} if expanded_def else {}  # subclasses may lack it
        definition = self.gen_fn_def(writer.free_vars, writer.return_annotation, **form)
        wraps = [
            f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped_names
        ]
        prologue = "\n".join(wraps)
        text = "".join(body)
        head = f"\n{prologue}\n\n{definition}"
        return _with_line_numbers(head, text, writer.globals)


def _with_line_numbers(head: str, text: str, names: dict[str, Any]) -> PythonCode:
    """Removes the marks ``# COUNTER: n`` from the lines and records them."""
    first = head.count("\n") + 1
    line_map: dict[int, int | None] = {}
    lines: list[str] = []
    for line in text.split("\n"):
        mark = line.rfind("# COUNTER: ")
        if mark >= 0:
            line_map[len(lines) + 1] = int(line[mark + len("# COUNTER: ") :])
            line = line[:mark]
        lines.append("    " + line)
    return PythonCode(
        f"{head}\n" + "\n".join(lines), names, line_map, _prologue_start=first
    )


class _PyTreeCodeGen(CodeGen):
    """Takes and returns containers; the placeholders are their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        """The leaves in the program's output containers."""
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        leaves = out if isinstance(out, list | tuple) else [out]
        return pytree.tree_unflatten(leaves, self.pytree_info.out_spec)

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,
    ) -> str:
        """The signature of the original function, then the flattening."""
        info = self.pytree_info
        if info is None:
            return super().gen_fn_def(
                free_vars, maybe_return_annotation, expanded_def=expanded_def
            )
        names = list(info.orig_args)
        has_self = bool(names) and names[0] == "self"
        if has_self and free_vars and free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        definition = super().gen_fn_def(
            names, maybe_return_annotation, expanded_def=expanded_def
        )
        leaves = free_vars[1:] if has_self else free_vars
        if not leaves:
            return definition
        bare = [leaf.split(":")[0].split(" = ")[0].strip() for leaf in leaves]
        typed = [leaf.split(" = ")[0] for leaf in leaves if ":" in leaf]
        names = names[1:] if has_self else names
        definition += f"\n    {', '.join(bare)}, = {self._flattening(names)}"
        return definition + "".join(f"\n    {leaf}" for leaf in typed)

    def _flattening(self, names: list[str]) -> str:
        spec = self.pytree_info.in_spec
        parts = spec.children_specs if spec.type is tuple else []
        is_of_both = (
            len(parts) == 2 and parts[0].type is tuple and parts[1].type is dict
        )
        if is_of_both and len(names) == sum(part.num_children for part in parts):
            count = parts[0].num_children
            keywords = [f"'{key}':{key}" for key in parts[1].context]
            positional = ", ".join(names[:count])
            tree = f"([{positional}], {{{', '.join(keywords)}}})"
        else:
            tree = f"[{', '.join(names)}]"
        return f"fx_pytree.tree_flatten_spec({tree}, self._in_spec)"

    def generate_output(self, output_args: Any, *, descs: Any | None = None) -> str:
        """Returns the leaves in their containers."""
        if self.pytree_info is None or not self.pytree_info.out_spec:
            return super().generate_output(output_args)
        leaves = output_args
        if not isinstance(leaves, list | tuple):
            leaves = [leaves]
        inside = ", ".join(self._get_repr(leaf) for leaf in leaves)
        return f"return pytree.tree_unflatten([{inside}], self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """The names that the flattening uses."""
        return [("pytree", custom_builtins["pytree"].obj), ("fx_pytree", fx_pytree)]
