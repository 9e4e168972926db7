"""Op: one declaration, callable from other bodies and traceable for a specialisation
key.

    @pointwise("softsign(Tensor self) -> Tensor")
    def softsign(x):
        return x / (1 + abs(x))

creates an Op and enters it in ``REGISTRY`` under its full name. Its Python function
defines it; Graphs of tensors and of elements, derivatives and in-place forms follow
from it. Read next: decorators.py, options.py, key.py, ir/elements.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pellucid_compiler.declare.hand_rules import HandRule, call_with_rule
from pellucid_compiler.declare.key import (
    ArgumentKey,
    Call,
    Key,
    ListKey,
    NumberKey,
    TensorKey,
    bind_arguments,
    specialise,
    traced_argument,
)
from pellucid_compiler.declare.kinds import check_kind
from pellucid_compiler.declare.loops import tabulate
from pellucid_compiler.declare.options import Options
from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.declare.seen import Seen
from pellucid_compiler.declare.tensor import Tensor, broadcast_shapes, lift, tensors_in
from pellucid_compiler.declare.traced import Traced
from pellucid_compiler.declare.tracing import Questions, default_dtype, tracer, tracing
from pellucid_compiler.ir.bounded import Bounded
from pellucid_compiler.ir.dtypes import is_complex, is_integer, stored_dtype, wide_dtype
from pellucid_compiler.ir.elements import element_graph, element_of
from pellucid_compiler.ir.expr import Expr, as_expr, cast, const, sym, with_partials
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.offers import check_offered, moves_only, refusal
from pellucid_compiler.ir.verify import verify

REGISTRY: Final[dict[str, Op]] = {}

MOST_TRACED: Final = 1024  # keys of an op whose Graphs are cached

SCALAR_KINDS: Final = ("pointwise", "random", "foreach")


class Op:
    """One declaration. See the module's docstring."""

    def __init__(
        self, function: Callable[..., Any], schema: str, kind: str, options: Options
    ) -> None:
        self.function = function
        self.schema: Schema = parse_schema(schema).with_symbolic(options.symbolic)
        self.kind = kind
        self.options = options.within(self.schema.name_space)
        self.hand_vjp: HandRule | None = None
        self.hand_partials: HandRule | None = None
        self.seen = Seen()
        self.traces: Bounded[tuple[str, Key], list[Traced]] = Bounded(MOST_TRACED)
        self.elements: Bounded[tuple[str, Key], Graph] = Bounded(MOST_TRACED)
        self.__doc__ = function.__doc__

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def full_name(self) -> str:
        return self.schema.full_name

    def __repr__(self) -> str:
        return f"<{self.kind} op {self.schema.text}>"

    def node_name(self, key: Key) -> str:
        """The name of a call's node in the backward graph: ``MulBackward0``."""
        declared = self.options.node
        if callable(declared):
            return declared(*key)
        stem = re.sub(r"(^|_|(?<=\d))[a-z]?", _upper_letter, self.name)
        return declared or f"{stem}Backward0"

    # -------------------------------------------------------------- hand rules

    def partials(self, reason: str) -> Callable[[Callable[..., Any]], Op]:
        """Declare the slopes of a pointwise op: ``rule(*args, y)``, one per operand.

        Static arguments are among ``args`` but have no slope, and trailing numbers may
        have none. If the rule uses the result ``y``, it holds at every order.
        """

        def declare(rule: Callable[..., Any]) -> Op:
            self.hand_partials = HandRule(rule, reason)
            return self

        return declare

    def vjp(self, reason: str) -> Callable[[Callable[..., Any]], Op]:
        """Declare ``rule(*args, *outputs, *saved, *grads, derived)``: grads of the
        float tensors.

        ``saved`` are the body's ``save_for_backward``. ``derived(*grads)`` returns the
        gradients from transposition, to be amended or ignored. A rule may return None
        for an operand: its gradient is undefined, as in PyTorch, in place of zeros.
        """

        def declare(rule: Callable[..., Any]) -> Op:
            self.hand_vjp = HandRule(rule, reason)
            return self

        return declare

    # -------------------------------------------------------------- what modes see

    def seen_as(self, body: Callable[..., Any]) -> Op:
        """Declare what dispatch modes see of a call: the ops that ``body`` calls."""
        self.seen = self.seen._replace(body=body)
        return self

    def gradients_seen_as(self, /, **rules: Callable[..., Any]) -> Op:
        """Declare what dispatch modes see of the gradients of these arguments."""
        self.seen = self.seen._replace(gradients={**self.seen.gradients, **rules})
        return self

    def core_as(self, body: Callable[..., Any]) -> Op:
        """Declare which Core ATen ops compute the op, if its Graph would yield too
        many.
        """
        self.seen = self.seen._replace(core=body)
        return self

    # -------------------------------------------------------------- inside other bodies

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The op's result in the Graph being traced, or on plain Exprs."""
        values = bind_arguments(self.schema, args, kwargs)
        if self.kind == "foreach":
            raise TypeError(f"{self.full_name} works on lists; call its elements' op")
        if self.kind == "random":
            return self._with_random_words(values)
        if self.kind == "pointwise":
            return lift(self.scalar_body, *values)
        if self.hand_vjp is None or not any(
            tensor.is_floating for tensor in tensors_in(values)
        ):
            return self.function(*values)
        return call_with_rule(self.full_name, self.function, self.hand_vjp, values)

    def scalar_body(self, *args: Any) -> Any:
        """The body of a pointwise op on elements, with its hand partials attached."""
        value = self.function(*args)
        if self.hand_partials is None:
            return value
        operands = [a for a in args if isinstance(a, Expr)]
        return with_partials(value, operands, self._partials_rule(args))

    def _partials_rule(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The hand rule as a function of the operands, with static arguments bound."""
        assert self.hand_partials is not None
        rule = self.hand_partials.function
        if all(isinstance(a, Expr) for a in args):
            return rule

        def of_operands(*operands_and_result: Expr) -> Any:
            *operands, result = operands_and_result
            given = iter(operands)
            full = (next(given) if isinstance(a, Expr) else a for a in args)
            return rule(*full, result)

        return of_operands

    def num_draws(self, *dtypes: str) -> int:
        """How many words of the random stream each element draws, given the dtypes of
        the tensors.
        """
        draws = self.options.draws
        return draws(*dtypes) if callable(draws) else draws

    def _with_random_words(self, values: list[Any]) -> Any:
        """The words are one more input of the Graph, ``random[n]``: (*shape, draws)."""
        tensors = list(tensors_in(values))
        shape = broadcast_shapes(*(t.shape for t in tensors))
        count = self.num_draws(*(t.dtype for t in tensors))
        graph = tracer().graph
        order = sum((v.name or "").startswith("random[") for v in graph.inputs)
        name = f"random[{order}]"
        words = Tensor(graph.input((*shape, const(count, "int64")), "int32", name))
        drawn = [
            tabulate(shape, lambda *p, k=k: words[[*p, const(k, "int64")]])
            for k in range(count)
        ]
        fixed = len(values)
        return lift(
            lambda *args: self.scalar_body(*args[:fixed], args[fixed:]), *values, *drawn
        )

    # -------------------------------------------------------------- Graphs

    def specialise(self, *args: Any, **kwargs: Any) -> Call:
        """The key, arrays and numbers of a call with NumPy arrays for tensors."""
        return specialise(self.schema, args, kwargs, self.options.numbers)

    def trace(self, key: Key, hints: Mapping[str, Any]) -> Traced:
        """The Graph for ``key``; ``hints``: the sizes and numbers for ``ask``.

        Traced once per key, default dtype and set of guards.
        """
        place = (default_dtype(), key)
        known = self.traces.setdefault(place, [])
        for traced in known:
            if traced.serves(hints):
                return traced
        self._refuse_dtype(key)
        questions = Questions(hints)
        graph = Graph(self.full_name)
        with tracing(graph, questions):
            args = [
                traced_argument(graph, k, a.name)
                for a, k in zip(self.schema.arguments, key, strict=True)
            ]
            graph.outputs = list(_output_values(graph, self(*args)))
        traced = Traced(verify(graph.prune()), questions.guards)
        check_kind(self.full_name, self.kind, traced.nominal)
        check_offered(self.name, traced.nominal)
        for other in list(known):  # another thread was faster
            if other.guards == traced.guards:
                return other
        known.append(traced)
        return traced

    def _refuse_dtype(self, key: Key) -> None:
        """NotImplementedError for a first tensor of a dtype in ``refuses``."""
        first = next((item for item in key if isinstance(item, TensorKey)), None)
        refused = self.options.refuses
        if first is None or not refused:
            return
        groups = {"integers": is_integer, "complex": is_complex}
        is_refused = any(groups[g](first.dtype) for g in groups if g in refused)
        if is_refused or first.dtype in refused:
            raise NotImplementedError(
                f'"{self.schema.name}" not implemented for {first.dtype} tensors: '
                "convert with .float() first"
            )

    # -------------------------------------------------------------- Graphs of elements

    @property
    def mutated(self) -> list[str]:
        """The arguments that the op writes, in a foreach body's result order."""
        return [a.name for a in self.schema.arguments if a.mutated]

    def element_graph(self, key: Key) -> Graph:
        """The Graph of elements of a pointwise, random or foreach op, for dtypes,
        numbers and statics.

        Ranks in ``key`` are ignored. For a list of tensors only the first item counts,
        because all have one dtype, and an empty list is None in the body; the words
        that a random op draws are its last operands. Half operands are computed in
        float32 and the results rounded to the dtype that the body returns. Traced once
        per key and default dtype.
        """
        place = (default_dtype(), key)
        known = self.elements.get(place)
        if known is not None:
            return known
        self._refuse_dtype(key)
        graph = Graph(self.full_name)
        with tracing(graph, Questions({})) as trace:
            nominal, operands = self._scalar_results(key, lambda dtype: dtype)
        refused = refusal(self.name, nominal)
        if refused is not None:
            raise refused
        wide, compute = nominal, stored_dtype if moves_only(nominal) else wide_dtype
        if any(compute(dtype) != dtype for dtype in operands.inputs):
            graph = Graph(self.full_name)
            with tracing(graph, Questions({})) as trace:
                wide, operands = self._scalar_results(key, compute)
        outputs = tuple(
            cast(e, stored_dtype(n.dtype)) for e, n in zip(wide, nominal, strict=True)
        )
        first = as_expr(trace.with_checks(outputs[0]))
        made = element_graph(
            self.full_name, operands.inputs, (first, *outputs[1:]), graph.requirements
        )
        return self.elements.setdefault(place, made)

    def _require_lists(self, args: Sequence[Any]) -> None:
        """RuntimeError if a list is empty that the op requires."""
        optional = self.options.optional_lists
        for argument, value in zip(self.schema.arguments, args, strict=True):
            is_required = argument.is_list and not argument.optional
            if value is None and is_required and argument.name not in optional:
                raise RuntimeError(
                    f"{self.full_name}: the lists must have one length, but "
                    f"'{argument.name}' is empty"
                )

    def _scalar_results(
        self, key: Key, compute: Callable[[str], str]
    ) -> tuple[tuple[Expr, ...], _ScalarOperands]:
        operands = _ScalarOperands(compute)
        args = [
            operands.argument(
                argument.name, item, argument.name in self.options.numbers
            )
            for argument, item in zip(self.schema.arguments, key, strict=True)
        ]
        if self.kind == "foreach":
            self._require_lists(args)
        if self.kind == "random":
            count = self.num_draws(*operands.inputs)
            args.append(tuple(operands.element("int32") for _ in range(count)))
        result = self.scalar_body(*args)
        results = result if isinstance(result, tuple) else (result,)
        return tuple(map(as_expr, results)), operands


def declared_op(name: str) -> Op:
    """The op of a full name; NotImplementedError if there is none."""
    found = REGISTRY.get(name)
    if found is None:
        raise NotImplementedError(f"no op named {name} is declared")
    return found


class _ScalarOperands:
    """Numbers the operands of a Graph of elements while its arguments are built."""

    def __init__(self, compute: Callable[[str], str]) -> None:
        self.compute = compute
        self.inputs: list[str] = []

    def element(self, dtype: str) -> Expr:
        self.inputs.append(dtype)
        return cast(element_of(len(self.inputs) - 1, dtype), self.compute(dtype))

    def argument(self, name: str, item: ArgumentKey, as_number: bool) -> Any:
        """What the scalar body receives: an element, a number, or a static value."""
        if isinstance(item, ListKey):
            if not item.items:
                return None
            if as_number:
                return sym(name, "weakfloat")
            return self.argument(name, item.items[0], False)
        if isinstance(item, TensorKey):
            return self.element(item.dtype)
        if isinstance(item, NumberKey):
            return sym(name, item.dtype)
        return item.value


def _upper_letter(found: re.Match[str]) -> str:
    return found.group().lstrip("_").upper()


def _output_values(graph: Graph, result: Any) -> Iterable[Any]:
    results = result if isinstance(result, (tuple, list)) else (result,)
    for k, r in enumerate(results):
        if not isinstance(r, Tensor):
            raise TypeError(f"{graph.name}: output {k} is {r!r}, not a tensor")
        yield r.value
