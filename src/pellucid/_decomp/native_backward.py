"""Gradients as modes see them: as the gradient op that a declaration names.

A derivative op has no name that programs know. Where modes watch, the gradients of an
op that declares ``backward=`` are seen as that op, whose body runs the same derivative
(``pellucid/_runtime/gradients.py``). Arguments are matched by name; `_SHOWN` has those
that are another form of a forward argument. Read next: derivatives.py, layers.py.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp.derivatives import WHOLE, Call
from pellucid._decomp.registry import unseen
from pellucid._ops import ops
from pellucid._runtime.gradients import RESULTS, overload_of

aten = ops.aten

# Of these the gradient of the target is that of the input with the two exchanged.
_SYMMETRIC = ("mse_loss", "smooth_l1_loss", "huber_loss")
# What gradient ops say of a forward argument, where it is not the argument itself.
_SHOWN: dict[str, Callable[[Call], Any]] = {
    "input_sizes": lambda call: list(call.size_of("self")),
    "input_size": lambda call: list(call.size_of("self")),
    "num_weights": lambda call: call.size_of("weight")[0],
    "self_or_result": lambda call: call.operand("self"),
    "is_result": lambda call: False,
    "self_is_result": lambda call: False,
    "buffer": lambda call: call.grad.new_empty(0),
    "input_dtype": lambda call: call.grad.dtype,
    "start": lambda call: call.value("start") or 0,
    "end": lambda call: sys.maxsize if call.value("end") is None else call.value("end"),
}


def _shown(call: Call, argument: Any, forward: str) -> Any:
    """What a gradient op's argument is in this call."""
    name = argument.name
    if name in _SHOWN:
        return _SHOWN[name](call)
    op = overload_of(forward)
    if name not in RESULTS or any(a.name == name for a in op._schema.arguments):
        return call.argument(argument)
    if name in ("output", "indices"):
        return call.value("result" if name == "output" else name)
    return call.result(RESULTS[name])


def _declared(forward: str, backward: str) -> Callable[[Call], list[Tensor]]:
    """What modes see of the gradients of ``forward``: the op that it declares."""

    def show(call: Call) -> list[Tensor]:
        op = overload_of(backward)
        arguments = op._schema.arguments[1:]
        given = {a.name: _shown(call, a, forward) for a in arguments}
        found = []
        for wanted in call.wanted:
            if wanted == "target" and forward in _SYMMETRIC:
                chosen = {**given, "self": given["target"], "target": given["self"]}
            elif wanted == call.wanted[0] != "target":
                chosen = given
            else:
                call.unread(wanted)
            values = [chosen[a.name] for a in arguments if not a.kwarg_only]
            named = {a.name: chosen[a.name] for a in arguments if a.kwarg_only}
            found.append(op(call.grad, *values, **named))
        return found

    return show


for _forward, _backward in _C._backward_ops().items():
    WHOLE[f"aten::{_forward}"] = _declared(_forward, _backward)


# ------------------------------------------------------------------------ convolutions


_FORM = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")


def _show_convolution(call: Call, **known: Any) -> list[Tensor]:
    mask = [name in call.wanted for name in ("input", "weight", "bias")]
    x, weight = call.operand("input"), call.operand("weight")
    if x.dim() != weight.dim():
        call.unread("input")  # an image alone: PyTorch makes it a batch before
    bias_sizes = list(call.size_of("bias")) if mask[2] else None
    form = [known[name] if name in known else call.value(name) for name in _FORM]
    found = aten.convolution_backward.default(
        call.grad, x, weight, bias_sizes, *form, mask
    )
    return [g for g, is_wanted in zip(found, mask, strict=True) if is_wanted]


WHOLE["aten::convolution"] = _show_convolution
for _dims in (1, 2, 3):
    WHOLE[f"aten::conv{_dims}d"] = functools.partial(
        _show_convolution, transposed=False, output_padding=[0] * _dims
    )
    _overloaded = f"aten::conv_transpose{_dims}d" + (".input" if _dims > 1 else "")
    WHOLE[_overloaded] = functools.partial(_show_convolution, transposed=True)


# ------------------------------------------------------------------------------- norms


_HALVES = (pellucid.float16, pellucid.bfloat16)


def _show_layer_norm(call: Call) -> list[Tensor]:
    names = ("input", "weight", "bias")
    mask = [name in call.wanted for name in names]
    x, shape = call.operand("input"), call.value("normalized_shape")
    weight, bias = (call.operand(n) if call.knows(n) else None for n in names[1:])
    if call.forward is aten.native_layer_norm.default:
        mean, rstd = call.result(1), call.result(2)
    else:
        with unseen():
            wide = x.float() if x.dtype in _HALVES else x
            _, mean, rstd = pellucid.native_layer_norm(
                wide, shape, None, None, call.value("eps")
            )
    found = aten.native_layer_norm_backward.default(
        call.grad, x, shape, mean, rstd, weight, bias, mask
    )
    return [g for g, is_wanted in zip(found, mask, strict=True) if is_wanted]


for _name in ("aten::native_layer_norm", "aten::layer_norm"):
    WHOLE[_name] = _show_layer_norm
