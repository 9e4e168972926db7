"""Traces a graph for all input sizes, from traces at several sizes.

If the traces make the same calls, every number in them is fitted by an expression of
the sizes (``utils/_symbolic/fitting.py``), which the graph computes. A last trace runs
with these expressions as SymInts, so that the program's comparisons become guards with
their source lines. If the traces differ, the error names the line.

Numbers that the program reads from tensors are symbols, too (``traced_reads.py``). A
trace that fails for other values of them is left out: the graph's ops fail then as the
program's do. What the program requires of them is asserted in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import SymFloat, SymInt, Tensor
from pellucid._decomp.registry import unseen
from pellucid._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake
from pellucid.fx.experimental.proxy_tensor import trace_once
from pellucid.fx.experimental.size_nodes import (
    ComputedSizes,
    SizeError,
    Sizes,
    function_at,
)
from pellucid.fx.experimental.traced_reads import TracedReads
from pellucid.fx.graph_module import GraphModule
from pellucid.fx.node import Node, map_aggregate
from pellucid.utils import _pytree as pytree
from pellucid.utils._symbolic.environment import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
    Symbol,
)
from pellucid.utils._symbolic.expressions import Expr
from pellucid.utils._symbolic.fitting import Points, fit, fit_real


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
    return trace_specialised(f, args, sizes, env, asserts_reads=False, **options)


def trace_fake(
    f: Callable[..., Any], args: tuple[Any, ...], **options: Any
) -> GraphModule:
    """The graph for the example's sizes, in which what is read from tensors is open.

    Called by ``make_fx(f, tracing_mode="fake")``.
    """
    return trace_symbolic(f, args, {}, ShapeEnv(), asserts_reads=False, **options)


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
    plain = {key: v for key, v in options.items() if key != "asserts_reads"}
    try:
        with env.suppress_guards():
            trace_once(f, _inputs(args, sizes, mode, point), mode, **plain)
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
    final = _traced(f, args, sizes, env, **options)
    if env.plain_uses:
        try:
            final = _traced(f, args, sizes, env, **options, thorough=True)
        except SizeError as error:
            place = f"A size is taken as a plain number at\n    {env.plain_uses[0]}"
            raise SizeError(f"{error}\n{place}", error.names) from error
    return final


def _traced(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    *,
    thorough: bool = False,
    asserts_reads: bool = True,
    **options: Any,
) -> GraphModule:
    env.forget_reads()
    reads = TracedReads(env, pytree.tree_leaves(args))
    reads.are_asserted = asserts_reads
    options = {**options, "reads": reads}
    base = _base_trace(f, args, sizes, env, options)
    points = Points([*_symbols(sizes), *reads.symbols], {}, thorough)
    if base.floats:
        points.repeat()
    runs = [base]
    for point in points.all[1:]:
        is_other = any(point[s.name] != s.hint for s in reads.symbols)
        try:
            run = _run(f, args, sizes, env, point, len(runs), options)
        except Exception as error:
            if is_other or env.is_unmet:
                points.leave_out(point)
                continue
            if isinstance(error, SizeError):
                raise
            message = _at_other_size(points.base, point, error)
            raise SizeError(message, _names(points.base, point)) from error
        try:
            _compare(base.graph, run.graph, points.base, point)
        except SizeError as error:
            if not is_other and point != points.base:
                raise
            raise GuardOnDataDependentSymNode(str(error)) from error
        runs.append(run)
    points.require_variation()
    mode = FakeTensorMode(shape_env=env)
    mode.reads = reads
    mode.known_sizes = _fitted(runs, points, env)
    given = _inputs(args, sizes, mode, points.base, env)
    reads.begin(points.base, 0)
    final = trace_once(f, given, mode, **options)
    points.imply_ranges()
    _fill_in(final, runs, points, sizes, reads)
    if not options.get("pre_dispatch"):  # keep all calls of the program, used or not
        _drop_unused(final)
    final.shape_env = env
    return final


class _Run(NamedTuple):
    """One trace, and the numbers of it."""

    graph: GraphModule
    sizes: list[tuple[int, ...]]  # of all results
    floats: list[float]  # that the program read, or computed from such
    reads: dict[str, Node]


def _base_trace(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    options: dict[str, Any],
) -> _Run:
    """The trace at the example's sizes, with the numbers that the example has, unless
    these are 0 or 1 and the program runs with others.
    """
    base = {symbol.name: symbol.hint for symbol in _symbols(sizes)}
    reads: TracedReads = options["reads"]
    try:
        made = _run(f, args, sizes, env, base, 0, options)
    except Exception:  # of whatever kind the program raises
        if not reads.is_altered:
            raise
        env.forget_reads()
        reads.restart()
        made = _run(f, args, sizes, env, base, 0, options)
    return _run(f, args, sizes, env, base, 0, options) if env.is_moved else made


def _run(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    sizes: Sizes,
    env: ShapeEnv,
    point: Mapping[str, int],
    number: int,
    options: dict[str, Any],
) -> _Run:
    mode = FakeTensorMode(shape_env=env)
    reads: TracedReads = options["reads"]
    mode.reads = reads
    reads.begin(point, number)
    graph = trace_once(f, _inputs(args, sizes, mode, point), mode, **options)
    floats = [float(x) for x in env.floats]
    return _Run(graph, mode.sizes_seen, floats, dict(reads.nodes))


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
    env.forget_reads()
    options["reads"] = TracedReads(env, pytree.tree_leaves(args))
    _base_trace(f, args, sizes, env, options)
    mode = FakeTensorMode(shape_env=env)
    mode.reads = options["reads"]
    base = {symbol.name: symbol.hint for symbol in _symbols(sizes)}
    mode.reads.begin(base, 0)
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
        functions = function_at(base, first), function_at(other, second)
        if functions[0] is not None and functions[1] is not None:
            _compare(functions[0], functions[1], point, at)
        elif first.op == "get_attr" and not _is_same(
            getattr(base, str(first.target)), getattr(other, str(second.target))
        ):
            raise SizeError(
                f"The constant {first.target} is another one for "
                f"{_changed(point, at) or 'other numbers that are read'}.\n"
                f"{_line(second)}",
                _names(point, at),
            )
    if len(base.graph.nodes) != len(other.graph.nodes):
        first, second = pairs[-1]
        raise SizeError(_difference(first, second, point, at), _names(point, at))


def _is_same(constant: Any, other: Any) -> bool:
    if constant is other or not isinstance(constant, Tensor):
        return True
    if tuple(constant.shape) != tuple(other.shape):
        return False
    if is_fake(constant):
        return True
    with unseen():
        both_nan = (constant != constant) & (other != other)
        return bool(((constant == other) | both_nan).all())


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
        f"{second.target} where it called {first.target}.\n"
        f"{_line(first if second.op == 'output' else second)}\n"
        "Give this size no Dim, or a range within which the program's path is one."
    )


def _at_other_size(base: Any, at: Any, error: Exception) -> str:
    return (
        f"The program fails for {_changed(base, at)}: {error}\n"
        "Give this size no Dim, or a range in which the program runs."
    )


def _fitted(runs: list[_Run], points: Points, env: ShapeEnv) -> list[tuple[Any, ...]]:
    """The sizes of all results as SymInts. Where that needs numbers that are read not
    to be negative, runs in which they are are left out.
    """
    try:
        return _fitted_sizes(runs, points, env)
    except SizeError:
        negative = points.leave_out_negative()
        if not negative:
            raise
        for place in reversed(negative):
            del runs[place]
        return _fitted_sizes(runs, points, env)


def _fitted_sizes(
    runs: Sequence[_Run], points: Points, env: ShapeEnv
) -> list[tuple[Any, ...]]:
    fitted = []
    for shapes in zip(*(run.sizes for run in runs), strict=True):
        dims = []
        for values in zip(*shapes, strict=True):
            expr = _expression(values, points, env)
            if expr is None:
                raise SizeError(_unknown(values, points), list(points.base))
            dims.append(env.of(expr))
        fitted.append(tuple(dims))
    return fitted


def _expression(values: Sequence[int], points: Points, env: ShapeEnv) -> Expr | None:
    """The expression of numbers at the points; else one that the program computed."""
    found = fit(values, points)
    if found is not None:
        return found
    given = list(values)
    known = (x for x in env.computed if [x.value(p) for p in points.all] == given)
    return next(known, None)


def _unknown(values: Sequence[int], points: Points, node: Node | None = None) -> str:
    shown = ", ".join(
        f"{value} for {point}"
        for value, point in list(zip(values, points.all, strict=True))[:3]
    )
    place = f"\n{_line(node)}" if node is not None else ""
    return f"No expression of the sizes gives this number: {shown}, ...{place}"


def _fill_in(
    final: GraphModule,
    runs: Sequence[_Run],
    points: Points,
    sizes: Sizes,
    reads: TracedReads,
) -> None:
    """Replaces numbers that depend on sizes, or on what is read, by the nodes that
    compute them, also in subgraphs; asserts what is required of the latter.
    """
    graph, env = final.graph, reads.env
    computed = ComputedSizes(graph, sizes, env, _places_of_reads(runs, points, reads))
    nodes = list(graph.nodes)
    for node, *others in zip(nodes, *(r.graph.graph.nodes for r in runs), strict=True):
        function = function_at(final, node)
        if function is not None:
            alike = [
                run._replace(graph=getattr(run.graph, str(node.target))) for run in runs
            ]
            _fill_in(function, alike, points, _sizes_of(function, env), reads)
        numbers = [iter(_numbers(other)) for other in others]

        def replace(value: Any, numbers: Any = numbers, node: Node = node) -> Any:
            if not _is_number(value):
                return value
            values = [next(n) for n in numbers]
            if all(v == values[0] or v != v for v in values):
                return float(value) if isinstance(value, float) else int(value)
            if isinstance(value, float):
                others = (run.floats for run in runs)
                for made, *same in zip(env.floats, *others, strict=False):
                    if same == values:
                        return computed.float_of(made)
                real = fit_real(values, points)
                if real is not None:
                    return computed.real_of(real)
            else:
                expr = _expression(values, points, env)
                if expr is not None:
                    return computed.node_of(expr)
            raise SizeError(_unknown(values, points, node), list(points.base))

        if node.op in ("call_function", "output"):
            node.args = map_aggregate(node.args, replace)
            node.kwargs = map_aggregate(node.kwargs, replace)
    own = [s for s in reads.symbols if reads.nodes[s.name].graph is graph]
    if reads.are_asserted:
        computed.assert_ranges(own)
    final.recompile()


def _places_of_reads(
    runs: Sequence[_Run], points: Points, reads: TracedReads
) -> dict[str, tuple[Node, list[int]]]:
    """By symbol, the node that read it and where: [] for its value, else (result,)
    dimension.
    """
    places = {}
    for name, node in reads.nodes.items():
        if not _is_number(node.meta["val"]):
            shapes = [pytree.tree_leaves(r.reads[name].meta["val"]) for r in runs]
            found = (
                (index, dim)
                for index, tensor in enumerate(shapes[0])
                for dim in range(tensor.dim())
                if all(
                    Tensor.size(s[index])[dim] == point[name]
                    for s, point in zip(shapes, points.all, strict=True)
                )
            )
            place = next(found, None)
            if place is None:
                continue  # a step inside the call, on which its results do not depend
            is_one = isinstance(node.meta["val"], Tensor)
            places[name] = node, list(place[1:] if is_one else place)
        else:
            places[name] = node, []
    return places


def _drop_unused(module: GraphModule) -> None:
    for function in filter(None, (function_at(module, n) for n in module.graph.nodes)):
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
    return type(value) in (int, float) or isinstance(value, SymInt | SymFloat)


def _numbers(node: Node) -> list[Any]:
    found: list[Any] = []

    def note(value: Any) -> Any:
        if _is_number(value):
            found.append((float if isinstance(value, float) else int)(value))
        return value

    map_aggregate(node.args, note)
    map_aggregate(node.kwargs, note)
    return found
