"""``functionalize`` within a trace: removes in-place writes, optionally also views.

The program is traced separately, on fake copies, and its calls are replayed for the
outer trace: an in-place op becomes the out-of-place op, and every other view of the
written memory is recomputed from the result when it is read next. Final values of
written inputs are copied to them at the end. Called by ``ProxyTorchDispatchMode``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.core_aten import falls_apart
from pellucid._decomp.registry import unseen
from pellucid._ops import facts
from pellucid.fx.experimental.view_writes import Layout, View, Window, copying_form
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.interpreter import Interpreter
from pellucid.utils import _pytree as pytree
from pellucid.utils._python_dispatch import _first_to_see

_aten = pellucid.ops.aten


class Memory:
    """The memory of a tensor and its views; ``owner``: the input to write it back
    to; ``layout``: that of the program's tensor.
    """

    def __init__(self, current: Tensor, owner: Tensor | None = None) -> None:
        self.current, self.owner = current, owner
        self.layout, self.version = Layout.of(current), 0


class Alias:
    """A tensor of the program: memory and a chain of views."""

    def __init__(self, memory: Memory, views: Sequence[View], current: Tensor) -> None:
        self.memory, self.views, self.current = memory, tuple(views), current
        self.version = memory.version

    def read(self) -> Tensor:
        """The current value."""
        if self.version != self.memory.version:
            self.current = self._wholes(self.views)[-1]
            self.version = self.memory.version
        return self.current

    def write(self, value: Tensor) -> None:
        """Sets the value, and updates its memory."""
        self.current = value
        if self.views:
            wholes = self._wholes(self.views[:-1])
            for view, whole in zip(reversed(self.views), reversed(wholes), strict=True):
                value = view.written(whole, value)
        self.memory.current = value
        self.memory.version += 1
        self.version = self.memory.version

    def window(self, func: Any, rest: Any, kwargs: Any, copies: bool) -> Alias:
        """A call of ``as_strided``: a view of the memory, or of what shows the memory
        as elements of the same dtype.
        """
        with unseen():
            shown = [self.memory.layout.memory(self.memory.current.dtype)]
            for view in self.views:
                shown.append(view.shown(shown[-1]))
        found, dtype = shown[-1], shown[-1].dtype
        last = max((k for k, t in enumerate(shown) if t.dtype != dtype), default=-1)
        views, whole = self.views[: last + 1], shown[last + 1]
        view = Window(func, rest, kwargs, copies, whole, found.storage_offset())
        current = view.of(self._wholes(views)[-1])
        return Alias(self.memory, (*views, view), current)

    def _wholes(self, views: Sequence[View]) -> list[Tensor]:
        """The memory's value, and the value after each view of the chain."""
        found = [self.memory.current]
        for view in views:
            found.append(view.of(found[-1]))
        return found


class FunctionalRun(Interpreter):
    """Replays a graph for the outer trace, without its writes.

    Values are Aliases; ``removes_views``: views become ops that copy.
    """

    def __init__(self, module: GraphModule, removes_views: bool) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.removes_views = removes_views
        self.inputs: dict[int, Alias] = {}

    def of_input(self, value: Any) -> Any:
        """An input of the program; writes to it are copied back."""
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self.inputs:
            self.inputs[id(value)] = Alias(Memory(value, value), (), value)
        return self.inputs[id(value)]

    def write_back(self) -> None:
        """Copies final values to written inputs."""
        for alias in self.inputs.values():
            memory = alias.memory
            if memory.version and memory.owner is not None:
                memory.current = _aten.copy_.default(memory.owner, memory.current)
                memory.version += 1

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.of_input(super().placeholder(target, args, kwargs))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.of_input(super().get_attr(target, args, kwargs))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        schema = getattr(target, "_schema", None)
        if target is operator.getitem:  # one of several results, or views
            return target(*args)
        if schema is None:
            return _fresh(target(*_read(args), **_read(kwargs)))
        if schema.is_mutable:
            return self._write(target, args, kwargs)
        if schema.returns and schema.returns[0].alias_info:
            return self._see(target, args, kwargs)
        record_whole = getattr(_first_to_see(), "record_whole", None)
        if record_whole is not None and falls_apart(target):  # it was recorded whole
            return _fresh(record_whole(target, _read(args), _read(kwargs)))
        return _fresh(target(*_read(args), **_read(kwargs)))

    def _write(self, func: Any, args: Any, kwargs: Any) -> Any:
        arguments = func._schema.arguments
        named = dict(zip((a.name for a in arguments), args, strict=False)) | kwargs
        written = [named[a.name] for a in arguments if a.is_write]
        form = facts.functional_form(func)
        if form is None:
            return self._write_to_copies(func, named)
        if form._schema.returns[0].alias_info:  # an in-place view: t_, squeeze_
            if any(written[0] is alias for alias in self.inputs.values()):
                raise NotImplementedError(
                    f"functionalize: {func} changes the shape of an input; use a view"
                )
            return self._see(form, args, kwargs)
        names = [a.name for a in form._schema.arguments]
        given = _read({name: named[name] for name in names if name in named})
        positional = [given.pop(a.name) for a in arguments[: len(args)] if not a.is_out]
        if func is _aten.copy_.default and self._replaces(*positional[:2]):
            found = positional[1]
        else:
            found = form(*positional, **given)
        results = found if isinstance(found, tuple | list) else (found,)
        for alias, result in zip(written, results, strict=True):
            like = alias.memory.current if not alias.views else alias.read()
            alias.write(result if result.dtype == like.dtype else result.to(like.dtype))
        return written[0] if len(written) == 1 else tuple(written)

    def _write_to_copies(self, func: Any, named: dict[str, Any]) -> Any:
        """An op without an out-of-place form, such as a user's: it runs on copies."""
        given = _read(named)
        written = [a.name for a in func._schema.arguments if a.is_write]
        given.update({name: _aten.clone.default(given[name]) for name in written})
        result = func(**given)
        for name in written:
            named[name].write(given[name])
        if any(returned.alias_info for returned in func._schema.returns):
            aliases = tuple(named[name] for name in written)
            return aliases[0] if len(aliases) == 1 else aliases
        return _fresh(result)

    def _replaces(self, destination: Tensor, source: Tensor) -> bool:
        """Whether a copy of ``source`` into ``destination`` gives ``source`` itself."""
        return (
            id(source) not in self.inputs
            and all(
                getattr(destination, fact) == getattr(source, fact)
                for fact in ("shape", "dtype", "device")
            )
            and destination.stride() == source.stride()
        )

    def _see(self, func: Any, args: Any, kwargs: Any) -> Any:
        whole, *rest = args
        copies, rest, kwargs = self.removes_views, _read(tuple(rest)), _read(kwargs)
        if func._schema.name == "aten::as_strided":
            return whole.window(func, rest, kwargs, copies)
        recorded = copying_form(func) if copies else func
        made = recorded(whole.read(), *rest, **kwargs)

        def alias(part: Tensor, number: int | None) -> Alias:
            view = View(func, rest, kwargs, number, copies)
            return Alias(whole.memory, (*whole.views, view), part)

        if isinstance(made, Tensor):
            return alias(made, None)
        return tuple(alias(part, number) for number, part in enumerate(made))


def _read(value: Any) -> Any:
    return pytree.tree_map_only(Alias, Alias.read, value)


def _fresh(value: Any) -> Any:
    """Results of an op, which alias nothing."""

    def alias(tensor: Tensor) -> Alias:
        return Alias(Memory(tensor), (), tensor)

    return pytree.tree_map_only(Tensor, alias, value)


def run_functionally(
    trace: Callable[..., GraphModule],
    args: tuple[Any, ...],
    removes_views: bool,
) -> Any:
    """The program's results for ``args``, without writes; ``trace`` returns its graph.
    Raises RuntimeError if a written input shares memory with another one.
    """
    run, result = _ran(trace, args, removes_views)
    run.write_back()
    return _read(result)


def run_without_writes(
    trace: Callable[..., GraphModule], args: tuple[Any, ...]
) -> tuple[Any, dict[int, Tensor]]:
    """Like ``run_functionally``, but without writing to inputs: returns the results and
    the final values of written inputs, by index in ``args``.
    """
    run, result = _ran(trace, args, False)
    written = {}
    for place, value in enumerate(args):
        alias = run.inputs.get(id(value))
        if alias is not None and alias.memory.version:
            written[place] = alias.read()
    return _read(result), written


def _ran(
    trace: Callable[..., GraphModule], args: tuple[Any, ...], removes_views: bool
) -> tuple[FunctionalRun, Any]:
    run = FunctionalRun(trace(*args), removes_views)
    result = run.run(*pytree.tree_leaves(args), enable_io_processing=False)
    of_root: dict[int, list[Memory]] = {}
    for memory in (alias.memory for alias in run.inputs.values()):
        owner = memory.owner
        assert owner is not None
        root = owner if owner._base is None else owner._base
        of_root.setdefault(id(root), []).append(memory)
    for shared in of_root.values():
        if len(shared) > 1 and any(memory.version for memory in shared):
            raise RuntimeError(
                "functionalize: two inputs share memory, and one of them is written; "
                "give one of them as a clone()"
            )
    return run, result
