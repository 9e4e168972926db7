"""PyTorch's gradient ops, ``convolution_backward`` and its kin, by the derivatives.

A derivative op has no name that programs know. Where modes watch, the gradients of an
op that PyTorch gives a backward op of its own are seen as that one; its kernel runs the
op's derivative (`gradients_of`), so that nothing is said twice: here stand names and
the order of arguments alone. Arguments are matched by name; `_SPECIAL` has those that
are another form of a forward argument.
Used by derivatives.py. Read next: layers.py.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp.backward_ops import wide
from pellucid._decomp.derivatives import WHOLE, Call, summed
from pellucid._decomp.layers import REDUCTIONS
from pellucid._decomp.registry import unseen
from pellucid._ops import OpOverload, ops

aten = ops.aten

# ------------------------------------------------------------------------ the kernels


def gradients_of(
    op: OpOverload,
    wanted: Sequence[bool],
    grads: Sequence[Tensor],
    args: Sequence[Any],
    results: Sequence[Tensor | None] = (),
) -> list[Tensor | None]:
    """The gradients of the tensors among ``args``, None for those not ``wanted``.

    ``args`` are all arguments of the op, ``grads`` the gradients of its results, and
    ``results`` those that the derivative may read.
    """
    declared = op._schema.arguments
    count = sum(not a.kwarg_only for a in declared)
    named = {a.name: v for a, v in zip(declared[count:], args[count:], strict=True)}
    mask = sum(1 << k for k, is_wanted in enumerate(wanted) if is_wanted)
    found = _C._derivative_of(op.name(), mask, results, *args[:count], **named)
    gradients: list[Tensor | None] = [None] * len(wanted)
    if found is None:
        return gradients
    derivative, sizes = found
    _, _, sources, _, numbers = _C._derived_from(derivative.name())

    def value(source: str, index: int, element: int) -> Any:
        if source == "argument":
            return args[index] if element < 0 else args[index][element]
        if source == "sizes":
            return [_tensor_at(args, a, e).shape[d] for a, e, d in sizes]
        if source == "gradients":
            return list(grads)
        return (results if source == "result" else grads)[index]

    given = derivative(*(value(*source) for source in sources))
    given = [given] if isinstance(given, Tensor) else given
    tensors = [v for a, v in zip(declared, args, strict=True) if "Tensor" in a.type]
    for number, gradient in zip(numbers, given, strict=True):
        gradients[number] = summed(gradient, tensors[number].shape)
    return gradients


def _tensor_at(args: Sequence[Any], index: int, element: int) -> Tensor:
    found: Tensor = args[index] if element < 0 else args[index][element]
    return found


# ------------------------------------------------------------- arguments of two forms


def _stand_in(grad: Tensor, size: Sequence[int]) -> Tensor:
    """For a tensor of which the derivative reads the sizes alone."""
    return grad.new_zeros(()).expand(list(size))


def _end(end: int | None) -> int:
    return sys.maxsize if end is None else end


# By the backward op's argument: the forward one, what is shown for it, and back.
_Special = tuple[str, Callable[[Call], Any], Callable[[Tensor, Any], Any]]
_SPECIAL: dict[str, _Special] = {
    "input_sizes": ("self", lambda c: list(c.size_of("self")), _stand_in),
    "self_or_result": ("self", lambda c: c.operand("self"), lambda grad, x: x),
    "start": ("start", lambda c: c.value("start") or 0, lambda grad, start: start),
    "end": ("end", lambda c: _end(c.value("end")), lambda grad, end: end),
    "num_weights": (
        "weight",
        lambda c: c.size_of("weight")[0],
        lambda grad, rows: _stand_in(grad, (rows, grad.shape[-1])),
    ),
}
_NAMES = list(REDUCTIONS)


def _declare(
    schema: str, *forwards: str, symmetric: bool = False, **constants: Any
) -> None:
    """A backward op of one gradient, that of the forward ops' first tensor.

    ``constants`` are arguments that no forward one stands for; an argument named as a
    result, ``indices``, is the forward op's second one. ``symmetric``: with ``self``
    and ``target`` exchanged the op gives the gradient of the target.
    """
    name = schema.partition("(")[0]
    _C._define_op(schema, "aten")
    op = getattr(aten, name).default
    declared = [a.name for a in op._schema.arguments]

    def shown(call: Call, argument: str) -> Any:
        if argument in constants:
            return constants[argument]
        if argument in _SPECIAL:
            return _SPECIAL[argument][1](call)
        found = call.operand(argument)
        if argument == "reduction" and isinstance(found, str):
            return REDUCTIONS[found]
        return found

    def one(call: Call, wanted: str) -> Tensor:
        values = [shown(call, argument) for argument in declared[1:]]
        if symmetric and wanted == "target":
            values[:2] = values[1::-1]
        elif wanted != call.wanted[0]:
            call.unread(wanted)
        found: Tensor = op(call.grad, *values)
        return found

    def show(call: Call) -> list[Tensor]:
        return [one(call, wanted) for wanted in call.wanted]

    def kernel(grad: Tensor, *args: Any) -> Tensor:
        given = dict(zip(declared[1:], args, strict=False))
        for special, (argument, _, restored) in _SPECIAL.items():
            if special in given:
                given[argument] = restored(grad, given[special])
        forward = _overload(forwards[0])
        values = [_argument(a, given) for a in forward._schema.arguments]
        tensors = sum("Tensor" in a.type for a in forward._schema.arguments)
        wanted = [number == 0 for number in range(tensors)]
        results = (None, given.get("indices"))
        (gradient, *_) = gradients_of(forward, wanted, [grad], values, results)
        assert gradient is not None
        return gradient

    _C._register_kernel(f"aten::{name}", "", kernel)
    for forward in forwards:
        WHOLE[f"aten::{forward}"] = show


def _overload(name: str) -> OpOverload:
    packet, _, overload = name.partition(".")
    found: OpOverload = getattr(getattr(aten, packet), overload or "default")
    return found


def _argument(declared: Any, given: dict[str, Any]) -> Any:
    if declared.name not in given:
        return declared.default_value
    value = given[declared.name]
    return _NAMES[value] if declared.type == "str" and isinstance(value, int) else value


_declare(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, "
    "bool self_is_result) -> Tensor",
    "leaky_relu",
    self_is_result=False,
)
_declare(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, "
    "bool is_result, Tensor self_or_result) -> Tensor",
    "elu",
    is_result=False,
)
_declare(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar "
    "max_val) -> Tensor",
    "hardtanh",
)
_declare(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) "
    "-> Tensor",
    "softplus",
)
_declare("hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", "hardswish")
_declare(
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", "hardsigmoid"
)
_declare("mish_backward(Tensor grad_output, Tensor self) -> Tensor", "mish")
_declare("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", "glu")
_declare(
    "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    "softshrink",
)
_declare(
    "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    "hardshrink",
)
_declare(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) "
    "-> Tensor",
    "mse_loss",
    symmetric=True,
)
_declare(
    "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
    "reduction, float beta) -> Tensor",
    "smooth_l1_loss",
    symmetric=True,
)
_declare(
    "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
    "reduction, float delta) -> Tensor",
    "huber_loss",
    symmetric=True,
)
_declare(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, "
    "SymInt end, SymInt step) -> Tensor",
    "slice.Tensor",
)
_declare(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) "
    "-> Tensor",
    "select.int",
)
_declare(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, "
    "int dim2) -> Tensor",
    "diagonal",
)
_declare(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
    "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    "embedding",
)
_declare(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] "
    "kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, "
    "Tensor indices) -> Tensor",
    "max_pool2d_with_indices",
)
_declare(
    "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] "
    "stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? "
    "divisor_override) -> Tensor",
    "avg_pool2d",
)


# ------------------------------------------------------------------------ convolutions


def _define(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates the kernel of a backward op."""

    def define(kernel: Callable[..., Any]) -> Callable[..., Any]:
        _C._define_op(schema, "aten")
        _C._register_kernel(f"aten::{schema.partition('(')[0]}", "", kernel)
        return kernel

    return define


@_define(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
    "bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
    "transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
    "(Tensor, Tensor, Tensor)"
)
def convolution_backward(
    grad: Tensor, x: Tensor, weight: Tensor, bias_sizes: Any, *options: Any
) -> tuple[Tensor | None, ...]:
    """Of input, weight and bias, None where ``output_mask`` says no."""
    *form, mask = options
    bias = _stand_in(grad, bias_sizes or [grad.shape[1]]) if mask[2] else None
    values = (x, weight, bias, *form)
    return tuple(gradients_of(aten.convolution.default, mask, [grad], values))


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


@_define(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] "
    "normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_layer_norm_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """In the statistics, which it is given in place of ``eps``; float32 for halves."""
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    rows = list(range(dims[0]))
    dtype = grad.dtype
    weight = None if weight is None else wide(weight)
    grad, mean, rstd = wide(grad), wide(mean), wide(rstd)
    centered = (wide(x) - mean) * rstd
    scaled = grad if weight is None else grad * weight
    along = (scaled * centered).mean(dims, keepdim=True)
    of_x = (scaled - scaled.mean(dims, keepdim=True) - centered * along) * rstd
    of_weight = (grad * centered).sum(rows) if rows else grad * centered
    of_bias = grad.sum(rows) if rows else grad
    found = (of_x.to(x.dtype), of_weight.to(dtype), of_bias.to(dtype))
    return tuple(g if m else None for g, m in zip(found, mask, strict=True))


def _show_layer_norm(call: Call) -> list[Tensor]:
    names = ("input", "weight", "bias")
    mask = [name in call.wanted for name in names]
    x, shape = call.operand("input"), call.value("normalized_shape")
    weight, bias = (call.operand(n) if call.knows(n) else None for n in names[1:])
    with unseen():
        _, mean, rstd = pellucid.native_layer_norm(
            wide(x), shape, None, None, call.value("eps")
        )
    found = aten.native_layer_norm_backward.default(
        call.grad, x, shape, mean, rstd, weight, bias, mask
    )
    return [g for g, is_wanted in zip(found, mask, strict=True) if is_wanted]


for _name in ("aten::native_layer_norm", "aten::layer_norm"):
    WHOLE[_name] = _show_layer_norm


# -------------------------------------------------------------------------- nll_loss


def _declare_nll(name: str) -> None:
    forward = getattr(aten, f"{name}_forward").default

    @_define(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
        "weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"
    )
    def kernel(grad: Tensor, *args: Any) -> Tensor | None:
        wanted = [True, False, False]
        *values, total = args
        return gradients_of(forward, wanted, [grad], values, (None, total))[0]

    def show(call: Call) -> list[Tensor]:
        x, target = call.operand("self"), call.value("target")
        weight = call.operand("weight") if call.knows("weight") else None
        form = (x, target, weight, call.value("reduction"), call.value("ignore_index"))
        with unseen():
            total = forward(*form)[1]
        backward = getattr(aten, f"{name}_backward").default
        return [backward(call.grad, *form, total)]

    WHOLE[f"aten::{name}_forward"] = show


for _name in ("nll_loss", "nll_loss2d"):
    _declare_nll(_name)
