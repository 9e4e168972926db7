"""Calls of an op written in Python as one node of the graph.

``Recorded.run`` is the op's kernel at the Autograd key.
Used by ``custom_ops.py`` and ``register.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid import _C
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
        name, _, overload = self.qualname.partition(".")
        return _C._overloads(name)[overload or "default"]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """A call whose gradient is requested."""
        return self._function.apply(self, tuple(kwargs), *args, *kwargs.values())

    def batched_by(self, rule: _Rule) -> _Rule:
        """The kernel under vmap, by ``rule(info, in_dims, *args)``; other transforms
        see the op as without it.
        """
        without_rule = _C._capture_kernel(self.qualname, "FuncTorchBatched")

        def run(*args: Any, **kwargs: Any) -> Any:
            from pellucid.autograd._transformed_function import call_op

            return call_op(rule, without_rule, args, kwargs)

        return run


class _Call(Function):
    @staticmethod
    def forward(
        ctx: Any, recorded: Recorded, keywords: tuple[str, ...], *values: Any
    ) -> Any:
        count = len(values) - len(keywords)
        args, named = values[:count], dict(zip(keywords, values[count:], strict=True))
        with _C._AutoDispatchBelowAutograd():
            output = recorded.op()(*args, **named)
        ctx._recorded = recorded
        ctx._count = len(values)
        if recorded.setup_context is not None:
            only = {"keyword_only_inputs": named} if named else {}
            recorded.setup_context(ctx, args, output=output, **only)
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        recorded: Recorded = ctx._recorded
        if recorded.backward is None:
            raise RuntimeError(
                f"Trying to backward through {recorded.op()} but no autograd formula "
                "was registered: give one by register_autograd"
            )
        found = recorded.backward(ctx, *grads)
        if not isinstance(found, tuple):
            found = (found,)
        return None, None, *found, *[None] * (ctx._count - len(found))
