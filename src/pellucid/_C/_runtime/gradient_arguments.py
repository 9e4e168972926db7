"""What the arguments of gradient ops are in the forward op's call: as declared.

A gradient op is called with values from the forward call (where modes watch:
``_decomp/gradient_ops.py``), and its body makes a forward call of its arguments
(``gradients.py``). An argument is the forward argument of its name, or what the
declaration says (``backward_reads=``, or a call in ``backward=``):

======================  ==============================================================
``self``                another forward argument
``result``, ``result1``  a result of the forward call
``0``, ``[1, 1]``       a literal, which says nothing of the forward call
``sizes(x)``            the sizes of a tensor that the derivative does not read
``rows(x)``             the first of them, of a matrix with rows like the gradient's
``channels(x)``         those of a vector over the channels; None without it
``known(x, 0)``         a forward argument, or what replaces None
``dtype(grad)``         the gradient's dtype
``empty()``             a tensor without elements, which nothing reads
``-x, not x, 1 / x``    of the above; ``-x`` of a list is that of its numbers
======================  ==============================================================
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Any

from pellucid import _C, Tensor


@lru_cache(None)
def declared_reads(forward: str) -> dict[str, ast.expr]:
    """What the gradient op of a forward op reads, by argument."""
    seen = _C._seen_ops().get(forward)
    call = ast.parse(f"given({seen[1] if seen else ''})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(word.arg): word.value for word in call.keywords}


def is_mask(argument: Any) -> bool:
    """Whether it says which gradients are wanted."""
    return str(argument.type).startswith("bool[")


def value_of(read: ast.expr, call: Any) -> Any:
    """The argument's value; ``call``: that of the derivative (``_decomp/call.py``)."""
    if isinstance(read, ast.UnaryOp):
        operand = value_of(read.operand, call)
        if isinstance(read.op, ast.Not):
            return not operand
        return [-n for n in operand] if isinstance(operand, list) else -operand
    if isinstance(read, ast.BinOp):
        return value_of(read.left, call) / value_of(read.right, call)
    if isinstance(read, ast.Call):
        return _told(read, call)
    if not isinstance(read, ast.Name):
        return ast.literal_eval(read)
    number = result_number(read)
    if number is not None:
        return call.result(number)
    declared = call.forward._schema.arguments
    return call.argument(next(a for a in declared if a.name == read.id))


def _told(read: ast.Call, call: Any) -> Any:
    function, name = _function_and_argument(read)
    if function == "sizes":
        return list(call.size_of(name))
    if function == "rows":
        return call.size_of(name)[0]
    if function == "channels":
        return list(call.size_of(name)) if name in call.wanted else None
    if function == "known":
        value = call.value(name)
        return ast.literal_eval(read.args[1]) if value is None else value
    if function == "dtype":
        return call.grad.dtype
    assert function == "empty", function
    return call.grad.new_empty(0)


def forward_argument(
    read: ast.expr, grad: Tensor, value: Any
) -> tuple[str, Any] | None:
    """The forward argument that ``value`` tells, and its value; for a tensor of which
    it tells the sizes one of these sizes.
    """
    if isinstance(read, ast.Name):
        return read.id, value
    if not isinstance(read, ast.Call):
        return None
    function, name = _function_and_argument(read)
    if function == "known":
        return name, value
    if function == "sizes":
        return name, of_size(grad, value)
    if function == "rows":
        return name, of_size(grad, (value, grad.shape[-1]))
    if function == "channels":
        return name, of_size(grad, value or [grad.shape[1]])
    return None


def result_number(read: ast.expr) -> int | None:
    """The number of the forward result that an argument is."""
    if not isinstance(read, ast.Name):
        return None
    found = re.fullmatch(r"result(\d*)", read.id)
    return int(found[1] or 0) if found else None


def of_size(grad: Tensor, size: Any) -> Tensor:
    """For a tensor of which the derivative reads the sizes alone."""
    return grad.new_zeros(()).expand(list(size))


def _function_and_argument(read: ast.Call) -> tuple[str, str]:
    words = [
        word.id for word in (read.func, *read.args[:1]) if isinstance(word, ast.Name)
    ]
    return words[0], words[-1]
