"""Traces a graph for all input sizes, from traces at several sizes.

If the traces make the same calls, every number in them is fitted by an expression of
the sizes (``utils/_symbolic/fitting.py``), which the graph computes. A last trace runs
with these expressions as SymInts, so that the program's comparisons become guards with
their source lines. If the traces differ, the error names the line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.registry import unseen
from pellucid._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from pellucid.fx.experimental.proxy_tensor import trace_once
from pellucid.fx.graph import Graph
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node, map_aggregate
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import DerivedSize, ShapeEnv, Symbol
from pellucid.utils._symbolic.expressions import Expr
from pellucid.utils._symbolic.fitting import Points, Real, fit, fit_real

# By (index of the input, dimension).
Sizes = dict[tuple[int, int], Symbol | DerivedSize]
_OPERATORS = {
    "add": operator.add,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "truediv": operator.truediv,
    "pow": operator.pow,
}


class SizeError(RuntimeError):
    """The program takes another path for other values of these symbols."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = list(names)


def trace_all_sizes(
    f: Callable[..., Any], args: tuple[Any, ...], **options: Any
) -> GraphModule:
    """The graph for all sizes except 0 and 1; equal sizes of the example share a
    symbol.

    Called by ``make_fx(f, tracing_mode="symbolic")``.
    """
    env = ShapeEnv()
    leaves = pytree.tree_leaves(args)
    by_size: dict[int, Symbol] = {}
    sizes: Sizes = {}
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, Tensor):
            continue
        for dim, size in enumerate(leaf.shape):
            if size > 1:
                if size not in by_size:
                    source = f"input {index}.size()[{dim}]"
                    by_size[size] = env.new_symbol(size, source, lower=2)
                    by_size[size].is_optional = True
                sizes[index, dim] = by_size[size]
    return trace_specialised(f, args, sizes, env, **options)


def trace_specialised(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    **options: Any,
) -> GraphModule:
    """Like ``trace_symbolic``, but inferred symbols that the program needs to be equal
    become one, and optional ones to which it is specialised become numbers. Both are
    taken from ``sizes`` and ``env``.
    """
    while True:
        try:
            return trace_symbolic(f, args, sizes, env, **options)
        except SizeError as error:
            named = [env.symbols[name] for name in error.names]
            equal = _needed_equal(f, args, sizes, env, named, options)
            given_up = next((s for s in named if s.is_optional), None)
            if equal:
                unite(equal, sizes, env)
            elif given_up is None:
                raise
            else:
                specialise(given_up, sizes, env)
            env.forget_guards()


def specialise(symbol: Symbol, sizes: Sizes, env: ShapeEnv) -> None:
    """Makes the sizes of a symbol the example's numbers."""
    del env.symbols[symbol.name]
    for place in [p for p, s in sizes.items() if s.root is symbol]:
        del sizes[place]


def _needed_equal(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    named: Sequence[Symbol],
    options: dict[str, Any],
) -> list[Symbol]:
    """Inferred symbols that are equal in the example, one of them in ``named``, with
    which the program runs if they are changed together: two, else all of a size.
    """
    inferred = [s for s in _symbols(sizes) if s.is_inferred]
    for symbol in (s for s in named if s.is_inferred):
        alike = [s for s in inferred if s.hint == symbol.hint and s is not symbol]
        groups = [[symbol, other] for other in alike]
        if len(alike) > 1:
            groups.append([symbol, *alike])
        for group in groups:
            if _runs_with(f, args, sizes, env, group, options):
                return group
    return []


def _runs_with(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    group: Sequence[Symbol],
    options: dict[str, Any],
) -> bool:
    """Whether the program runs where these symbols are one more than in the example."""
    point = {s.name: s.hint + (s in group) for s in _symbols(sizes)}
    mode = FakeTensorMode(shape_env=env)
    try:
        with env.suppress_guards():
            trace_once(f, _inputs(args, sizes, mode, point), mode, **options)
    except Exception:
        return False
    return True


def unite(group: Sequence[Symbol], sizes: Sizes, env: ShapeEnv) -> None:
    """Replaces the symbols by their first one, which gets the range of all."""
    first, *others = group
    first.lower = max(s.lower for s in group)
    first.upper = min(s.upper for s in group)
    first.is_optional = all(s.is_optional for s in group)
    for place, size in sizes.items():
        if size in others:
            sizes[place] = first
    for symbol in others:
        del env.symbols[symbol.name]


def trace_symbolic(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    **options: Any,
) -> GraphModule:
    """The graph of ``f`` with the inputs' ``sizes`` as symbols of ``env``.

    If the program converts a size to a plain number (``int(n)``, ``n / 2``), decisions
    based on it are not recorded, so it is traced at many more sizes.
    """
    final = _traced(f, args, sizes, env, options)
    if env.plain_uses:
        try:
            final = _traced(f, args, sizes, env, options, thorough=True)
        except SizeError as error:
            place = f"A size is taken as a plain number at\n    {env.plain_uses[0]}"
            raise SizeError(f"{error}\n{place}", error.names) from error
    return final


def _traced(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    options: dict[str, Any],
    *,
    thorough: bool = False,
) -> GraphModule:
    points = Points(_symbols(sizes), {}, thorough)
    traces, seen = [], []
    for point in points.all:
        mode = FakeTensorMode(shape_env=env)
        given = _inputs(args, sizes, mode, point)
        try:
            traces.append(trace_once(f, given, mode, **options))
        except Exception as error:
            if not traces:
                raise
            message = _at_other_size(points.base, point, error)
            raise SizeError(message, _names(points.base, point)) from error
        seen.append(mode.sizes_seen)
        if len(traces) > 1:
            _compare(traces[0], traces[-1], points.base, point)
    mode = FakeTensorMode(shape_env=env)
    mode.known_sizes = _fitted(seen, points, env, traces[0])
    given = _inputs(args, sizes, mode, points.base, env)
    final = trace_once(f, given, mode, **options)
    _fill_in(final, traces, points, sizes, env)
    if not options.get("pre_dispatch"):  # keep all calls of the program, used or not
        _drop_unused(final)
    final.shape_env = env
    return final


def _symbols(sizes: Sizes) -> list[Symbol]:
    return list(dict.fromkeys(size.root for size in sizes.values()))


def note_guards(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    **options: Any,
) -> None:
    """Runs ``f`` once, so that ``env`` records its comparisons of the inputs' sizes."""
    mode = FakeTensorMode(shape_env=env)
    base = {symbol.name: symbol.hint for symbol in _symbols(sizes)}
    trace_once(f, _inputs(args, sizes, mode, base, env), mode, **options)


def _inputs(
    args: tuple[Any, ...],
    sizes: Sizes,
    mode: FakeTensorMode,
    point: Mapping[str, int],
    env: ShapeEnv | None = None,
) -> tuple[Any, ...]:
    leaves, spec = pytree.tree_flatten(args)
    made = []
    for index, leaf in enumerate(leaves):
        own = {dim: s for (i, dim), s in sizes.items() if i == index}
        if not isinstance(leaf, Tensor) or not own:
            made.append(mode.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf)
            continue
        shape = [
            own[dim].expr.value(point) if dim in own else size
            for dim, size in enumerate(Tensor.size(leaf))
        ]
        with unseen():
            meta = pellucid.empty(shape, dtype=leaf.dtype, device="meta")
        fake = FakeTensor(mode, meta, leaf.device)
        if leaf.requires_grad:
            fake.requires_grad_()
        if env is not None:
            fake.symbolic_shape = tuple(
                env.int_of(own[dim]) if dim in own else size
                for dim, size in enumerate(shape)
            )
        made.append(fake)
    result: tuple[Any, ...] = pytree.tree_unflatten(made, spec)
    return result


def _compare(
    base: GraphModule, other: GraphModule, point: dict[str, int], at: dict[str, int]
) -> None:
    """Raises SizeError at the first call that differs."""
    pairs = list(zip(base.graph.nodes, other.graph.nodes, strict=False))
    for first, second in pairs:
        if first.op != second.op or first.target != second.target:
            raise SizeError(_difference(first, second, point, at), _names(point, at))
        functions = _function_at(base, first), _function_at(other, second)
        if functions[0] is not None and functions[1] is not None:
            _compare(functions[0], functions[1], point, at)
    if len(base.graph.nodes) != len(other.graph.nodes):
        first, second = pairs[-1]
        raise SizeError(_difference(first, second, point, at), _names(point, at))


def _function_at(module: GraphModule, node: Node) -> GraphModule | None:
    """The subgraph that the node reads: of a branch or a loop's body."""
    if node.op != "get_attr":
        return None
    found = getattr(module, str(node.target), None)
    return found if isinstance(found, GraphModule) else None


def _changed(base: Mapping[str, int], other: Mapping[str, int]) -> str:
    names = _names(base, other)
    return ", ".join(f"{name} = {other[name]} (not {base[name]})" for name in names)


def _names(base: Mapping[str, int], other: Mapping[str, int]) -> list[str]:
    return [name for name in base if base[name] != other[name]]


def _line(node: Node) -> str:
    trace = (node.stack_trace or "").strip().split("\n")
    return "\n".join(trace[-2:]) if trace != [""] else f"  {node.format_node()}"


def _difference(first: Node, second: Node, base: Any, at: Any) -> str:
    return (
        f"The program does something else for {_changed(base, at)}: it calls "
        f"{second.target} where it called {first.target}.\n{_line(second)}\n"
        "Give this size no Dim, or a range within which the program's path is one."
    )


def _at_other_size(base: Any, at: Any, error: Exception) -> str:
    return (
        f"The program fails for {_changed(base, at)}: {error}\n"
        "Give this size no Dim, or a range in which the program runs."
    )


def _fitted(
    seen: Sequence[list[tuple[int, ...]]], points: Points, env: ShapeEnv, trace: Any
) -> list[tuple[Any, ...]]:
    """The sizes of all results as SymInts."""
    fitted = []
    for shapes in zip(*seen, strict=True):
        dims = []
        for values in zip(*shapes, strict=True):
            expr = fit(values, points)
            if expr is None:
                raise SizeError(_unknown(values, points), list(points.base))
            dims.append(env.of(expr))
        fitted.append(tuple(dims))
    return fitted


def _unknown(values: Sequence[int], points: Points, node: Node | None = None) -> str:
    shown = ", ".join(
        f"{value} for {point}"
        for value, point in list(zip(values, points.all, strict=True))[:3]
    )
    place = f"\n{_line(node)}" if node is not None else ""
    return f"No expression of the sizes gives this number: {shown}, ...{place}"


class _Computed:
    """Nodes that compute expressions of sizes, each only once."""

    def __init__(self, graph: Graph, sizes: Sizes) -> None:
        self.graph = graph
        self.made: dict[Any, Node] = {}
        self.inputs = graph.find_nodes(op="placeholder")
        known = sorted(  # the last one assigned wins: a plain size, if there is one
            reversed(list(sizes.items())), key=lambda item: item[1] is item[1].root
        )
        self.sources = {size.name: (place, size) for place, size in known}
        self.last = self.inputs[-1] if self.inputs else None

    def node_of(self, expr: Expr, env: ShapeEnv) -> Any:
        """The node of an expression, inserted after the inputs."""
        symbols = {name: self._symbol(name, env) for name in sorted(expr.free_symbols)}
        return expr.evaluate(symbols, lambda op, a, b: self._apply(op, a, b))

    def real_of(self, real: Real, env: ShapeEnv) -> Any:
        """The node of a float computed from an expression."""
        operands = (
            self.node_of(x, env) if isinstance(x, Expr) else x
            for x in (real.left, real.right)
        )
        return self._apply(real.operator, *operands)

    def _symbol(self, name: str, env: ShapeEnv) -> Node:
        if name not in self.made:
            if name not in self.sources:
                raise SizeError(
                    f"A function of this graph needs the size {name}, which none of "
                    "the tensors that it is given has.\nGive it a tensor of this size."
                )
            (index, dim), size = self.sources[name]
            sym_size = pellucid.ops.aten.sym_size.int
            node = self._insert(sym_size, (self.inputs[index], dim))
            node.meta["val"] = env.int_of(size)
            if isinstance(size, DerivedSize):
                if size.offset:
                    node = self._apply("add", node, -size.offset)
                if size.factor > 1:
                    node = self._apply("floordiv", node, size.factor)
            self.made[name] = node
        found: Node = self.made[name]
        return found

    def _apply(self, op: str, a: Any, b: Any) -> Any:
        if not isinstance(a, Node) and not isinstance(b, Node):
            return _OPERATORS[op](a, b)
        key = (op, a, b)
        if key not in self.made:
            node = self._insert(_OPERATORS[op], (a, b))
            values = [v.meta["val"] if isinstance(v, Node) else v for v in (a, b)]
            node.meta["val"] = _OPERATORS[op](*values)
            self.made[key] = node
        return self.made[key]

    def _insert(self, target: Any, args: tuple[Any, ...]) -> Node:
        with self.graph.inserting_after(self.last):
            self.last = self.graph.call_function(target, args)
        return self.last


def _fill_in(
    final: GraphModule,
    traces: Sequence[GraphModule],
    points: Points,
    sizes: Sizes,
    env: ShapeEnv,
) -> None:
    """Replaces numbers that depend on sizes by the nodes that compute them, also in
    subgraphs.
    """
    graph = final.graph
    computed = _Computed(graph, sizes)
    nodes = list(graph.nodes)
    for node, *others in zip(nodes, *(t.graph.nodes for t in traces), strict=True):
        function = _function_at(final, node)
        if function is not None:
            alike = [getattr(trace, str(node.target)) for trace in traces]
            _fill_in(function, alike, points, _sizes_of(function, env), env)
        numbers = [iter(_numbers(other)) for other in others]

        def replace(value: Any, numbers: Any = numbers, node: Node = node) -> Any:
            if not _is_number(value):
                return value
            values = [next(n) for n in numbers]
            if all(v == values[0] or v != v for v in values):
                return value if type(value) is float else int(value)
            if type(value) is float:
                real = fit_real(values, points)
                if real is not None:
                    return computed.real_of(real, env)
            else:
                expr = fit(values, points)
                if expr is not None:
                    return computed.node_of(expr, env)
            raise SizeError(_unknown(values, points, node), list(points.base))

        if node.op in ("call_function", "output"):
            node.args = map_aggregate(node.args, replace)
            node.kwargs = map_aggregate(node.kwargs, replace)
    final.recompile()


def _drop_unused(module: GraphModule) -> None:
    for function in filter(None, (_function_at(module, n) for n in module.graph.nodes)):
        _drop_unused(function)
    module.graph.eliminate_dead_code()
    module.recompile()


def _sizes_of(function: GraphModule, env: ShapeEnv) -> Sizes:
    """The symbols that are sizes of a function's inputs."""
    found: Sizes = {}
    for index, node in enumerate(function.graph.find_nodes(op="placeholder")):
        shape = getattr(node.meta["val"], "symbolic_shape", None) or ()
        for dim, size in enumerate(shape):
            name = str(size)
            if name in env.symbols:
                found[index, dim] = env.symbols[name]
    return found


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) or isinstance(value, pellucid.SymInt)


def _numbers(node: Node) -> list[Any]:
    found: list[Any] = []

    def note(value: Any) -> Any:
        if _is_number(value):
            found.append(value if type(value) is float else int(value))
        return value

    map_aggregate(node.args, note)
    map_aggregate(node.kwargs, note)
    return found
