"""What dispatch modes see instead of an op.

PyTorch's modes see ``linear`` as ``addmm``, and the gradient of ``mm`` as two more
``mm``; programs count and select by these names. A declaration says so next to its op:

    @linear.seen_as
    def _(x, weight, bias): ...

    mm.gradients_seen_as(self=lambda grad, mat2: grad.mm(mat2.t()), ...)

Both are functions of the framework's tensors, ``composites.api``, like the bodies of
composites; they run only while a mode is active. A body receives every argument of the
op, and may return more results than the op: those that its gradient op reads. A rule
names what it reads: ``grad``, ``size`` (of the gradient), the op's arguments,
``result``, and ``indices``, the second result; a default is used for what the
derivative does not read. If either returns NotImplemented, the op is seen itself.

A gradient that PyTorch computes with one op is declared by ``backward=`` instead, with
the op's schema, or with ``"threshold_backward(self=result, threshold=0)"`` if another
op declares it: a call that names the values of arguments that the forward op lacks.
Called by ``pellucid/_decomp``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pellucid_compiler.abi.records import SeenRow
    from pellucid_compiler.declare.op import Op

_RESULT = re.compile(r"=result\d*\b")
_NO_RULES: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class Seen(NamedTuple):
    """``body`` for the op, ``gradients`` by argument, ``core`` for the op in programs
    that are lowered to Core ATen (``pellucid/_decomp/core_aten.py``).
    """

    body: Callable[..., Any] | None = None
    gradients: Mapping[str, Callable[..., Any]] = _NO_RULES
    core: Callable[..., Any] | None = None


def named_gradient(backward: str) -> tuple[str, str]:
    """(name, arguments) of the gradient op that ``backward=`` names."""
    name, _, given = backward.partition("(")
    return name, "" if declares_gradient(backward) else given.removesuffix(")")


def declares_gradient(backward: str) -> bool:
    """Whether ``backward=`` is the schema of an op that it declares."""
    return "->" in backward


def seen_rows(ops: Iterable[Op]) -> Iterator[SeenRow]:
    """The rows of ops that modes see as others, or whose gradients they do."""
    # Programs import this file when they trace; only the build needs these.
    from inspect import signature

    from pellucid_compiler.abi.records import SeenRow

    ops = list(ops)
    reads = {
        named_gradient(op.options.backward)[0]: op.options.backward_reads
        for op in ops
        if declares_gradient(op.options.backward)
    }
    for op in ops:
        gradient, given = named_gradient(op.options.backward)
        given = _joined(reads.get(gradient, ""), given)
        rules = op.seen.gradients
        read = dict.fromkeys(
            n for rule in rules.values() for n in signature(rule).parameters
        )
        row = SeenRow(
            op=op.full_name,
            gradient=gradient,
            given=", ".join([*read, *filter(None, [given])]),
            reads_results="result" in read or _RESULT.search(given) is not None,
            composed=op.seen.body is not None,
            composed_gradients=bool(rules),
            numbers=_has_number_forms(op),
        )
        if gradient or row.composed or row.composed_gradients or row.numbers:
            yield row


def _joined(declared: str, given: str) -> str:
    """What a gradient op receives: as declared with it, unless a call of it says
    otherwise.
    """
    import ast

    words: dict[str | None, str] = {}
    for text in (declared, given):
        call = ast.parse(f"given({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        words |= {word.arg: ast.unparse(word) for word in call.keywords}
    return ", ".join(words.values())


def _has_number_forms(op: Op) -> bool:
    """Whether modes see a number as an argument of another overload of the op."""
    declared = op.options
    if not declared.numbers or declared.numbers_as_tensors:
        return False
    return any("Scalar " in form for form in declared.forms)
