"""``make_fx``: a function's ops as a graph, at the level of ``torch.ops.aten``.

A dispatch mode runs every op, on real or fake tensors, and records it as a node; nodes
are looked up by tensor. Backward passes inside the function are recorded too. Symbolic
traces are in ``symbolic_trace.py``.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from pellucid.fx import traceback as fx_traceback
from pellucid.fx.experimental import function_graphs
from pellucid.fx.experimental.called_functions import CalledFunctions
from pellucid.fx.experimental.module_stack import ModuleStack
from pellucid.fx.experimental.op_tracer import PythonKeyTracer
from pellucid.fx.experimental.traced_reads import TracedReads
from pellucid.fx.experimental.view_writes import Layout
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node
from pellucid.fx.passes.shape_prop import _extract_tensor_metadata
from pellucid.fx.proxy import Proxy
from pellucid.nn import Module
from pellucid.utils import _pytree as pytree
from pellucid.utils._python_dispatch import (
    TorchDispatchMode,
    _first_to_see,
)

__all__ = [
    "ProxyTorchDispatchMode",
    "PythonKeyTracer",
    "get_isolated_graphmodule",
    "get_proxy_mode",
    "make_fx",
]


_COPY = pellucid.ops.aten.copy_.default
_CONTIGUOUS = pellucid.ops.aten.contiguous.default
_UNSHARED = 3  # references: the arguments, a parameter, getrefcount's own


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A mode that records every op."""

    def __init__(
        self,
        tracer: PythonKeyTracer,
        decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
        *,
        pre_dispatch: bool = False,
    ) -> None:
        super().__init__(_C.DispatchKey.PreDispatch if pre_dispatch else None)
        self.tracer = tracer
        self.decomposition_table = dict(decomposition_table or {})
        self.enable_tracing = True
        self.reads: TracedReads | None = None
        self._stand_ins: list[tuple[Tensor, Any]] = []  # copies, and their sources

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if not self.enable_tracing:
            return func(*args, **kwargs)
        decomposition = self.decomposition_table.get(func)
        if decomposition is not None:
            with self:
                result = decomposition(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if self._is_taken_apart(func, args, kwargs):
            from pellucid._decomp.core_aten import derived_decompositions

            with self:
                return derived_decompositions()[func](*args, **kwargs)
        return self._record(func, args, kwargs)

    def _is_taken_apart(self, func: Any, args: Any, kwargs: Any) -> bool:
        """Whether it is a composite that is differentiated: what its ops save for the
        backward pass must be known to the trace.
        """
        if self._dispatch_key is not None or not pellucid.is_grad_enabled():
            return False
        if _C._op_facts(func.name())[0] != "composite":
            return False
        leaves = pytree.tree_leaves((args, kwargs))
        return any(isinstance(x, Tensor) and x.requires_grad for x in leaves)

    def _record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func is _CONTIGUOUS and args[0].is_contiguous(**kwargs):
            return args[0]  # the method returns the tensor itself, without a call
        tracer = self.tracer
        if func is _COPY and self._is_fresh(args[0]):
            clone = pellucid.ops.aten.clone.default
            contiguous = {"memory_format": pellucid.contiguous_format}
            result = self._record(clone, (args[1],), contiguous)
            tracer.note(args[0], tracer.proxy_of(result))
            self._stand_ins.append((args[0], result))
            return result
        proxied = pytree.tree_map_only(Tensor, tracer.proxy_of, (args, kwargs))
        reading = self.reads.recorded_by(None) if self.reads else nullcontext()
        with self.paused(), reading:
            result = func(*args, **kwargs)
        name = func._opname if hasattr(func, "_opname") else None
        name = tracer.graph._target_to_str(name) if name else None
        node_proxy = tracer.create_proxy(
            "call_function", func, proxied[0], proxied[1], name
        )
        _note_stack(node_proxy.node)
        self._note_results(result, node_proxy)
        if self.reads:
            self.reads.note(node_proxy.node)
        return result

    def record_whole(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Calls and records an op that modes would see as the ops that it calls."""
        return self._record(func, args, kwargs)

    # For higher-order ops (``_higher_order_ops``).

    def trace_functions(
        self,
        functions: Sequence[Callable[..., Any]],
        operands: Sequence[Sequence[Any]],
    ) -> tuple[list[function_graphs.FunctionGraph], list[Tensor]]:
        """The graphs of functions, and the tensors that they capture."""
        return function_graphs.traced_functions(self, functions, operands)

    def record_call(
        self,
        op: Any,
        graphs: Mapping[str, GraphModule],
        rest: tuple[Any, ...],
        results: Callable[[], Sequence[Any]],
        *,
        graphs_at: int = 0,
    ) -> list[Any]:
        """Records ``op(*rest)`` with the graphs inserted at argument ``graphs_at``;
        returns ``results()``, whose ops are not recorded.
        """
        return function_graphs.recorded_call(self, op, graphs, rest, results, graphs_at)

    def call_functionally(
        self, f: Callable[..., Any], args: tuple[Any, ...], removes_views: bool
    ) -> Any:
        """``f(*args)``, recorded without in-place writes (``functionalize``)."""
        from pellucid.fx.experimental.functionalization import run_functionally

        return run_functionally(self._tracing_apart(f), args, removes_views)

    def call_without_writes(
        self, f: Callable[..., Any], args: tuple[Any, ...]
    ) -> tuple[Any, dict[int, Tensor]]:
        """Like ``call_functionally``, but without writing to inputs: their final values
        are the second result, by index.
        """
        from pellucid.fx.experimental.functionalization import run_without_writes

        return run_without_writes(self._tracing_apart(f), args)

    def _tracing_apart(self, f: Callable[..., Any]) -> Callable[..., GraphModule]:
        """The graph of ``f``, traced separately from this trace."""

        def trace(*given: Any) -> GraphModule:
            with self.paused():
                if any(isinstance(t, FakeTensor) for t in pytree.tree_leaves(given)):
                    reads = self.reads
                    with reads.again() if reads else nullcontext():
                        return trace_once(f, _copies(given), None, reads=reads)
                return trace_once(f, given, FakeTensorMode())

        return trace

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """A scope in which ops run without being recorded."""
        before, self.enable_tracing = self.enable_tracing, False
        try:
            yield
        finally:
            self.enable_tracing = before

    def _is_fresh(self, destination: Tensor) -> bool:
        """Whether it is a fresh copy by the runtime that nothing else refers to."""
        if id(destination) in self.tracer.proxies or destination._version:
            return False
        return destination._base is None and sys.getrefcount(destination) <= _UNSHARED

    def _note_results(self, result: Any, proxy: Proxy) -> None:
        proxy.node.meta["val"] = result
        if isinstance(result, Tensor):
            proxy.node.meta["tensor_meta"] = _metadata(result)
            self.tracer.note(result, proxy)
        elif isinstance(result, tuple | list):
            for index, part in enumerate(result):
                if part is not None:
                    self._note_results(part, proxy[index])  # type: ignore[index]


def _copies(values: Any) -> Any:
    """Copies of tensors that a program may write to, in the same places of memory."""

    def copy(tensor: Tensor) -> Tensor:
        made = Layout.of(tensor).copy_of(tensor.detach())
        return made.requires_grad_(tensor.requires_grad)

    return pytree.tree_map_only(Tensor, copy, values)


def _metadata(tensor: Tensor) -> Any:
    source = tensor._meta if isinstance(tensor, FakeTensor) else tensor
    return _extract_tensor_metadata(source)


def _note_stack(node: Node) -> None:
    if fx_traceback.has_preserved_node_meta() or node.stack_trace:
        return
    frames = [
        frame
        for frame in traceback.extract_stack()[:-3]
        if "/pellucid/" not in frame.filename and frame.filename[0] != "<"
    ]
    node.stack_trace = "".join(traceback.format_list(frames[-4:]))


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The active trace, or None."""
    mode = _first_to_see()
    return mode if isinstance(mode, ProxyTorchDispatchMode) else None


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """A scope in which ops run without being recorded."""
    mode = get_proxy_mode()
    with mode.paused() if mode is not None else nullcontext():
        yield


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    **settings: Any,
) -> Callable[..., GraphModule]:
    """A function that traces ``f``: ``make_fx(f)(x)`` is a GraphModule.

    ``tracing_mode``: ``real`` runs the ops on data, ``fake`` on fake tensors,
    ``symbolic`` also expresses sizes in the inputs' sizes. ``decomposition_table``
    replaces ops by functions of other ops. ``record_module_stack``: for a module, or a
    method of one, nodes record the calling modules. Raises AssertionError for another
    mode.

    Example::

        graph_module = make_fx(lambda x: torch.sin(x).sum())(torch.randn(3))
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(
            f"tracing_mode must be 'real', 'fake' or 'symbolic', not {tracing_mode!r}"
        )

    @functools.wraps(f)
    def trace(*args: Any) -> GraphModule:
        options: dict[str, Any] = {
            "decomposition_table": decomposition_table,
            "pre_dispatch": pre_dispatch,
        }
        root = f if isinstance(f, Module) else getattr(f, "__self__", None)
        if record_module_stack and isinstance(root, Module):
            options["modules"] = ModuleStack(root)
        if tracing_mode == "symbolic":
            from pellucid.fx.experimental.symbolic_trace import trace_all_sizes

            return trace_all_sizes(f, args, **options)
        if tracing_mode == "real":
            return trace_once(f, args, None, **options)
        mode = FakeTensorMode(allow_non_fake_inputs=_allow_non_fake_inputs)
        try:
            return trace_once(f, args, mode, **options)
        except (DataDependentOutputException, DynamicOutputShapeException):
            from pellucid.fx.experimental.symbolic_trace import trace_fake

            return trace_fake(f, args, **options)

    return trace


def trace_once(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    fake_mode: FakeTensorMode | None,
    *,
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    pre_dispatch: bool = False,
    modules: ModuleStack | None = None,
    reads: TracedReads | None = None,
) -> GraphModule:
    """Traces one run of ``f``. ``modules``: modules whose calls the nodes record;
    ``reads``: what the program reads from tensors.
    """
    tracer = PythonKeyTracer()
    leaves, spec = pytree.tree_flatten(args)
    if fake_mode is not None:
        leaves = [
            fake_mode.from_tensor(x) if isinstance(x, Tensor) else x for x in leaves
        ]
        fake_mode.allow_non_fake_inputs = True  # constants of the program
    names = _parameter_names(f, args)
    for index, leaf in enumerate(leaves):
        name = names[index] if len(names) == len(leaves) else f"arg{index}"
        proxy = tracer.create_proxy("placeholder", f"{name}_1", (), {})
        proxy.node.meta["val"] = leaf
        if isinstance(leaf, Tensor):
            proxy.node.meta["tensor_meta"] = _metadata(leaf)
            tracer.note(leaf, proxy)
    proxy_mode = ProxyTorchDispatchMode(
        tracer, decomposition_table, pre_dispatch=pre_dispatch
    )
    nothing: Any = nullcontext()
    proxy_mode.reads = reads
    if reads is not None:
        reads.sees_composites = pre_dispatch
    calls = modules.followed(tracer) if modules else nothing
    reading = reads.recorded_by(tracer) if reads else nothing
    functions = CalledFunctions(tracer) if pre_dispatch else nothing
    with fake_mode or nothing, proxy_mode, functions, calls, reading:
        result = f(*pytree.tree_unflatten(leaves, spec))
    returned = pytree.tree_map_only(Tensor, tracer.proxy_of, result)
    tracer.create_node("output", "output", (tracer.create_arg(returned),), {})
    name = getattr(f, "__name__", type(f).__name__)
    return GraphModule(tracer.root, tracer.graph, name)


def _parameter_names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """The names of the inputs, if each is one parameter."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    plain = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    names = []
    if len(plain) < len(args):
        return []
    for index, arg in enumerate(args):
        count = len(pytree.tree_leaves(arg))
        name = plain[index]
        names += [name] if count == 1 else [f"{name}_{i + 1}" for i in range(count)]
    return names


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tracing_mode: str = "real",
    decomposition_table: Any = None,
) -> GraphModule:
    """The graph of one call, hidden from the active trace."""
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(leaves: list[Any]) -> Any:
        own_args, own_kwargs = pytree.tree_unflatten(leaves, spec)
        return func(*own_args, **own_kwargs)

    with disable_proxy_modes_tracing():
        return make_fx(wrapped, decomposition_table, tracing_mode)(leaves)
