"""Calls of an op written in Python as one node of the graph.

``Recorded.run`` is the op's kernel at the Autograd key.
Used by ``custom_ops.py`` and ``register.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pellucid import _C, Tensor
from pellucid.autograd import Function

_Rule = Callable[..., Any]


def check_functional(op: Any) -> None:
    """RuntimeError for an op that writes arguments or returns views of them."""
    schema = op._schema
    if any(a.alias_info for a in (*schema.arguments, *schema.returns)):
        raise RuntimeError(
            "Cannot register autograd formula for non-functional operator "
            f"{op} with schema {schema}: it writes its arguments or returns views\n"
            "Define an op that returns new tensors and give that one the formula."
        )


class Recorded:
    """An op with the functions that differentiate it, if any are given."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.backward: _Rule | None = None
        self.setup_context: _Rule | None = None
        name = qualname.replace("::", "_").replace(".", "_")
        # The node's name in the graph.
        self._function: Any = type(f"GeneratedBackwardFor_{name}_default", (_Call,), {})

    def op(self) -> Any:
        """The overload."""
        return _C._overload(self.qualname)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """A call whose gradient is requested."""
        flat, given = _flat((*args, *kwargs.values()))
        call = _Structure(tuple(kwargs), given)
        found = self._function.apply(self, call, *flat)
        if not call.returns_tuple and call.results == [None]:
            return found
        results = _grouped(found, call.results)
        return tuple(results) if call.returns_tuple else results[0]

    def batched_by(self, rule: _Rule) -> _Rule:
        """The kernel under vmap, by ``rule(info, in_dims, *args)``; other transforms
        see the op as without it.
        """
        without_rule = _C._capture_kernel(self.qualname, "FuncTorchBatched")

        def run(*args: Any, **kwargs: Any) -> Any:
            from pellucid.autograd._transformed_function import call_op

            return call_op(rule, without_rule, args, kwargs)

        return run


class _Structure:
    """Where a call's lists of tensors are: a node sees their tensors one by one."""

    def __init__(self, keywords: tuple[str, ...], arguments: list[int | None]) -> None:
        self.keywords, self.arguments = keywords, arguments
        self.results: list[int | None] = [None]
        self.returns_tuple = False


def _flat(values: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
    """The values with lists of tensors opened; the length of each list, else None."""
    flat: list[Any] = []
    lengths: list[int | None] = []
    for value in values:
        if isinstance(value, (list, tuple)) and _has_tensors(value):
            lengths.append(len(value))
            flat += value
        else:
            lengths.append(None)
            flat.append(value)
    return flat, lengths


def _has_tensors(values: Sequence[Any]) -> bool:
    return any(isinstance(each, Tensor) for each in values)


def _grouped(flat: Sequence[Any], lengths: list[int | None]) -> Sequence[Any]:
    """The values of which ``_flat`` made these."""
    if lengths.count(None) == len(lengths):
        return flat
    left = iter(flat)
    return [
        next(left) if length is None else [next(left) for _ in range(length)]
        for length in lengths
    ]


class _Call(Function):
    @staticmethod
    def forward(ctx: Any, recorded: Recorded, call: _Structure, *flat: Any) -> Any:
        values = _grouped(flat, call.arguments)
        count = len(values) - len(call.keywords)
        args = tuple(values[:count])
        named = dict(zip(call.keywords, values[count:], strict=True))
        with _C._AutoDispatchBelowAutograd():
            output = recorded.op()(*args, **named)
        ctx._recorded, ctx._call = recorded, call
        if recorded.setup_context is not None:
            only = {"keyword_only_inputs": named} if named else {}
            recorded.setup_context(ctx, args, output=output, **only)
        if isinstance(output, Tensor):
            return output
        call.returns_tuple = isinstance(output, tuple)
        found, call.results = _flat(output if call.returns_tuple else (output,))
        return output if call.results == [None] else tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        recorded: Recorded = ctx._recorded
        if recorded.backward is None:
            raise RuntimeError(
                f"Trying to backward through {recorded.op()} but no autograd formula "
                "was registered: give one by register_autograd"
            )
        lengths = ctx._call.arguments
        needed = ctx.needs_input_grad
        ctx.needs_input_grad = tuple(_grouped(needed[2:], lengths))
        try:
            found = recorded.backward(ctx, *_grouped(grads, ctx._call.results))
        finally:
            ctx.needs_input_grad = needed
        found = found if isinstance(found, tuple) else (found,)
        named = len(ctx._call.keywords)
        gradients = _of_arguments(found, lengths[: len(lengths) - named])
        return None, None, *gradients, *[None] * (len(needed) - 2 - len(gradients))


def _of_arguments(found: tuple[Any, ...], lengths: list[int | None]) -> Sequence[Any]:
    """A gradient for each tensor of arguments some of which are lists."""
    if set(lengths) <= {None}:
        return found
    lists = [each if isinstance(each, list | tuple) else () for each in found]
    given = [len(each) or None for each in lists]
    if given != lengths:
        raise RuntimeError(
            "the backward rule of an op with lists of tensors returned "
            f"{_described(given)}; return gradients as the arguments are: "
            f"{_described(lengths)}"
        )
    return [
        gradient
        for each, opened in zip(found, lists, strict=True)
        for gradient in (opened or [None if isinstance(each, list | tuple) else each])
    ]


def _described(lengths: list[int | None]) -> str:
    kinds = ["one value" if n is None else f"a list of {n}" for n in lengths]
    return f"({', '.join(kinds)})"
