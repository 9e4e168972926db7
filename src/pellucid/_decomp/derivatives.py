"""Derivatives as the ops that PyTorch computes them by, where modes watch.

A derivative op is traced and has a name of its own. Of products, sums and views it is
what a few ops compute, and counters of operations and policies of checkpoints look for
those. Called by ``runtime/python/dispatch_protocol.cpp`` below autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp import backward_ops as backward_ops
from pellucid._decomp.registry import is_observer
from pellucid._ops import OpOverload, ops


class _Unread(Exception):
    """The call's key told the derivative all that it needs of an argument."""


class _Call(NamedTuple):
    """One gradient that a derivative op is asked for, and all that the op reads.

    ``values`` are the forward op's arguments by name and its ``result``: what the
    derivative does not read is missing, also where a key folded it (``beta = 0``).
    """

    values: dict[str, Any]
    grad: Tensor
    op: OpOverload
    args: tuple[Any, ...]
    place: int

    def value(self, name: str) -> Any:
        """A forward argument; `_Unread` where the derivative does not read it."""
        if name not in self.values:
            raise _Unread(name)
        return self.values[name]

    @property
    def size(self) -> tuple[int, ...]:
        """The gradient's, by the op's own rule of shapes."""
        before = _C._exclude_torch_dispatch(True)
        try:
            found = self.op(*map(_on_meta, self.args))
        finally:
            _C._exclude_torch_dispatch(before)
        results = [found] if isinstance(found, Tensor) else found
        return tuple(results[self.place].shape)


def _on_meta(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return pellucid.empty(value.shape, dtype=value.dtype, device="meta")


aten = ops.aten

# By the forward op: the gradient of each of its tensors.
_Gradients = dict[str, Callable[[_Call], Tensor]]
_GRADIENTS: dict[str, _Gradients] = {}


def decompose_derivative(op: OpOverload, args: tuple[Any, ...]) -> Any:
    """The gradients that ``op`` gives, by other ops; NotImplemented where none are
    known, and for a mode that wants to see what runs.
    """
    modes = _C._torch_dispatch_modes()
    run = None if modes and is_observer(modes[-1]) else _decomposition(op)
    if run is None:
        return NotImplemented
    try:
        return run(args)
    except _Unread:
        return NotImplemented


@lru_cache(None)
def _decomposition(op: OpOverload) -> Callable[[tuple[Any, ...]], Any] | None:
    rule, forward, sources, structural, results = _C._derived_from(op.name())
    gradients = _GRADIENTS.get(forward.name())
    if rule != "vjp" or gradients is None:
        return None
    arguments = forward._schema.arguments
    tensors = [a.name for a in arguments if "Tensor" in a.type]
    rules = [gradients[tensors[number]] for number in results]
    known = {arguments[index].name: value for index, value in structural}
    is_list = op._schema.returns[0].type.endswith("[]")
    if not any(source == "gradient" for source, _, _ in sources):
        return None

    def run(args: tuple[Any, ...]) -> Any:
        values = dict(known)
        for value, (source, index, _) in zip(args, sources, strict=True):
            if source == "argument":
                values[arguments[index].name] = value
            elif source == "result" and index == 0:
                values["result"] = value
            elif source == "gradient":
                grad = value
        found = [
            rule(_Call(values, grad, op, args, place))
            for place, rule in enumerate(rules)
        ]
        return found if is_list else found[0] if len(found) == 1 else tuple(found)

    return run


def _conj(x: Any) -> Any:
    """Of a tensor, or of a number that stands for one."""
    if isinstance(x, Tensor):
        return x.conj() if x.is_complex() else x
    return x.conjugate()


def _scaled(x: Tensor, factor: complex) -> Tensor:
    if factor == 1:
        return x
    found: Tensor = aten.mul.Scalar(x, _conj(factor))
    return found


def _alpha(call: _Call) -> complex:
    """Missing in a derivative that reads the other factors: keys fold it where it is 1
    alone.
    """
    found: complex = call.values.get("alpha", 1)
    return found


def _summed(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """The sum of ``x`` over the dims that broadcasting to its shape repeated."""
    if x.shape == sizes:
        return x
    missing = x.dim() - len(sizes)
    dims = [
        d
        for d in range(x.dim())
        if d < missing or (sizes[d - missing] == 1 and x.shape[d] != 1)
    ]
    return x.sum(dims, True).view(sizes)


def _product(first: str, second: str, multiply: Any) -> _Gradients:
    def transposed(x: Tensor) -> Tensor:
        found: Tensor = _conj(x.t() if x.dim() == 2 else x.transpose(1, 2))
        return found

    def of_first(call: _Call) -> Tensor:
        found: Tensor = multiply(call.grad, transposed(call.value(second)))
        return _scaled(found, _alpha(call))

    def of_second(call: _Call) -> Tensor:
        found: Tensor = multiply(transposed(call.value(first)), call.grad)
        return _scaled(found, _alpha(call))

    return {first: of_first, second: of_second}


def _summand(call: _Call) -> Tensor:
    beta = call.value("beta")
    return _scaled(_summed(call.grad, call.size), beta)


def _subtracted(call: _Call) -> Tensor:
    return _scaled(-call.grad, _alpha(call))


def _spread(call: _Call) -> Tensor:
    """The gradient of a sum over some dims, at every element."""
    grad, rank = call.grad, len(call.size)
    dims = call.value("dim")
    dims = [dims] if isinstance(dims, int) else dims or range(rank)
    if not call.value("keepdim"):
        for d in sorted(d % rank for d in dims) if rank else ():
            grad = grad.unsqueeze(d)
    return grad.expand(call.size)


def _of_mean(spread: Callable[[_Call], Tensor]) -> _Gradients:
    def gradient(call: _Call) -> Tensor:
        count = prod(call.size) / max(call.grad.numel(), 1)
        found: Tensor = aten.div.Scalar(spread(call), count)
        return found

    return {"self": gradient}


# By the forward op: the one that gives its gradient in PyTorch.
_BACKWARD_OPS = {
    "aten::relu": aten.threshold_backward.default,
    "aten::sigmoid": aten.sigmoid_backward.default,
    "aten::tanh": aten.tanh_backward.default,
    "aten::silu": aten.silu_backward.default,
    "aten::gelu": aten.gelu_backward.default,
    "aten::_softmax": aten._softmax_backward_data.default,
    "aten::_log_softmax": aten._log_softmax_backward_data.default,
    "aten::softmax.int": aten._softmax_backward_data.default,
    "aten::log_softmax.int": aten._log_softmax_backward_data.default,
}


def shown_name(op: OpOverload) -> str:
    """An op's name without its overload; where one op gives the gradient in PyTorch
    and a derivative op here, that op's.
    """
    name = op.name()
    if name.startswith("derivative::"):
        rule, forward, *_ = _C._derived_from(name)
        if rule == "vjp":
            name = _BACKWARD_OPS.get(forward.name(), op).name()
    return name.partition(".")[0]


def _of_result(name: str) -> _Gradients:
    backward = _BACKWARD_OPS[name]
    return {"self": lambda call: backward(call.grad, call.value("result"))}


def _of_softmax(name: str) -> _Gradients:
    backward = _BACKWARD_OPS[name]

    def gradient(call: _Call) -> Tensor:
        dim, dtype = call.value("dim"), call.grad.dtype
        found: Tensor = backward(call.grad, call.value("result"), dim, dtype)
        return found

    return {"self": gradient}


def _permuted_back(call: _Call) -> Tensor:
    dims = [d % call.grad.dim() for d in call.value("dims")]
    return call.grad.permute(sorted(range(len(dims)), key=dims.__getitem__))


_GRADIENTS.update(
    {
        "aten::mm": _product("self", "mat2", pellucid.mm),
        "aten::bmm": _product("self", "mat2", pellucid.bmm),
        "aten::addmm": {
            "self": _summand,
            **_product("mat1", "mat2", pellucid.mm),
        },
        "aten::baddbmm": {
            "self": _summand,
            **_product("batch1", "batch2", pellucid.bmm),
        },
        "aten::mv": {
            "self": lambda call: call.grad.outer(_conj(call.value("vec"))),
            "vec": lambda call: pellucid.mv(_conj(call.value("self").t()), call.grad),
        },
        "aten::dot": {
            "self": lambda call: call.grad * _conj(call.value("tensor")),
            "tensor": lambda call: call.grad * _conj(call.value("self")),
        },
        "aten::sum": {"self": lambda call: call.grad.expand(call.size)},
        "aten::sum.dim_IntList": {"self": _spread},
        "aten::mean": _of_mean(lambda call: call.grad.expand(call.size)),
        "aten::mean.dim": _of_mean(_spread),
        "aten::expand": {"self": lambda call: _summed(call.grad, call.size)},
        "aten::view": {"self": lambda call: call.grad.reshape(call.size)},
        "aten::squeeze": {"self": lambda call: call.grad.reshape(call.size)},
        "aten::squeeze.dim": {"self": lambda call: call.grad.reshape(call.size)},
        "aten::unsqueeze": {"self": lambda call: call.grad.squeeze(call.value("dim"))},
        "aten::t": {"self": lambda call: call.grad.t()},
        "aten::transpose.int": {
            "self": lambda call: call.grad.transpose(
                call.value("dim0"), call.value("dim1")
            )
        },
        "aten::permute": {"self": _permuted_back},
        "aten::neg": {"self": lambda call: -call.grad},
        "aten::sub.Tensor": {"other": _subtracted},
        "aten::rsub.Tensor": {"self": _subtracted},
        "aten::log": {"self": lambda call: call.grad / _conj(call.value("self"))},
        "aten::sin": {"self": lambda call: call.grad * _conj(call.value("self").cos())},
        "aten::cos": {
            "self": lambda call: call.grad * -_conj(call.value("self").sin())
        },
        "aten::abs": {"self": lambda call: call.grad * call.value("self").sgn()},
        "aten::exp": {"self": lambda call: call.grad * _conj(call.value("result"))},
        "aten::mul.Tensor": {
            "self": lambda call: call.grad * _conj(call.value("other")),
            "other": lambda call: call.grad * _conj(call.value("self")),
        },
        "aten::relu": {
            "self": lambda call: aten.threshold_backward.default(
                call.grad, call.value("result"), 0
            )
        },
        "aten::sigmoid": _of_result("aten::sigmoid"),
        "aten::tanh": _of_result("aten::tanh"),
        "aten::silu": {
            "self": lambda call: aten.silu_backward.default(
                call.grad, call.value("self")
            )
        },
        "aten::gelu": {
            "self": lambda call: aten.gelu_backward.default(
                call.grad,
                call.value("self"),
                approximate=call.value("approximate"),
            )
        },
        "aten::_softmax": _of_softmax("aten::_softmax"),
        "aten::_log_softmax": _of_softmax("aten::_log_softmax"),
    }
)
