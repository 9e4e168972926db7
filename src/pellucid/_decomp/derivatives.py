"""Derivatives as the ops that PyTorch computes them by, where modes watch.

A derivative op is traced and has a name of its own. Of products, sums and views it is
what a few ops compute, and counters of operations and policies of checkpoints look for
those. Called by ``runtime/python/dispatch_protocol.cpp`` below autograd.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, NoReturn

import pellucid
from pellucid import _C, Tensor
from pellucid._decomp.emitted import emitted
from pellucid._decomp.registry import is_observer, unseen
from pellucid._ops import OpOverload, ops
from pellucid._runtime.gradients import summed


class Unread(Exception):
    """The call's key told the derivative all that it needs of an argument."""


class Call(NamedTuple):
    """The gradients that a derivative op must give, and all that the op reads.

    ``values`` are the forward op's arguments by name and its ``result``; what the
    derivative does not read the node that runs may know. ``wanted`` names the
    arguments that the gradients are of, ``place`` is the one that a rule of a single
    gradient gives.
    """

    values: dict[str, Any]
    grad: Tensor
    op: OpOverload
    args: tuple[Any, ...]
    wanted: tuple[str, ...]
    forward: OpOverload
    place: int = 0

    def value(self, name: str) -> Any:
        """A forward argument; `Unread` where neither derivative nor node has it."""
        if name in self.values:
            return self.values[name]
        node = _C._current_autograd_node()
        found = getattr(node, f"_saved_{name}", Unread)
        if found is Unread or isinstance(found, Tensor):
            self.unread(name)
        return list(found) if isinstance(found, tuple) else found

    def result(self, number: int) -> Tensor:
        """A result of the forward call: what its node saved, for it was watched. Else
        it is computed once more, from arguments that have memory.
        """
        saved = _C._results_of_node(self.forward.name())
        if saved is not None and (result := saved[number]) is not None:
            return result
        given: list[Any] = []
        named: dict[str, Any] = {}
        for argument in self.forward._schema.arguments:
            value = self.argument(argument)
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                given.append(value)
        with unseen():
            computed: Tensor = self.forward(*given, **named)[number]
        return computed

    def argument(self, declared: Any) -> Any:
        """A forward argument; None for a tensor that is not given."""
        if declared.type == "Tensor?" and not self.knows(declared.name):
            return None
        return self.operand(declared.name)

    def unread(self, name: str) -> NoReturn:
        raise Unread(name)

    def knows(self, name: str) -> bool:
        """Whether a tensor was given for an optional argument."""
        return name in self.wanted or self.values.get(name) is not None

    def operand(self, name: str) -> Any:
        """A forward argument; for a tensor of which no element is read one of its
        sizes.
        """
        if name not in self.values and name in self.wanted:
            with unseen():
                return self.grad.new_zeros(()).expand(self.size_of(name))
        return self.value(name)

    @property
    def size(self) -> tuple[int, ...]:
        """The gradient's."""
        return self.size_of(self.wanted[self.place])

    def size_of(self, name: str) -> tuple[int, ...]:
        """A gradient's, by the op's own rule of shapes."""
        with unseen():
            found = self.op(*map(_on_meta, self.args))
        results = [found] if isinstance(found, Tensor) else found
        return tuple(results[self.wanted.index(name)].shape)


def _on_meta(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return pellucid.empty(value.shape, dtype=value.dtype, device="meta")


aten = ops.aten

# By the forward op: the gradient of each of its tensors.
_Gradients = dict[str, Callable[[Call], Tensor]]
_GRADIENTS: dict[str, _Gradients] = {}
# By the forward op: all gradients that are wanted, by one op (native_backward.py).
WHOLE: dict[str, Callable[[Call], list[Tensor]]] = {}


def decompose_derivative(op: OpOverload, args: tuple[Any, ...]) -> Any:
    """The gradients that ``op`` gives, by other ops; NotImplemented where none are
    known, and for a mode that wants to see what runs.
    """
    modes = _C._torch_dispatch_modes()
    run = None if modes and is_observer(modes[-1]) else _decomposition(op)
    if run is None:
        return NotImplemented
    try:
        found = run(args)
    except Unread:
        return NotImplemented
    if op._schema.returns[0].type.endswith("[]"):
        return found
    return found[0] if len(found) == 1 else tuple(found)


@lru_cache(None)
def _decomposition(
    op: OpOverload,
) -> Callable[[tuple[Any, ...]], list[Tensor]] | None:
    rule, forward, sources, structural, results = _C._derived_from(op.name())
    if rule != "vjp" or not any(source == "gradient" for source, _, _ in sources):
        return None
    name = forward.name()
    if name not in _GRADIENTS and name not in WHOLE:
        return emitted(op)
    arguments = forward._schema.arguments
    tensors = [a.name for a in arguments if "Tensor" in a.type]
    wanted = tuple(tensors[number] for number in results)
    known = {arguments[index].name: value for index, value in structural}
    returned = _names_of_results(forward)

    def run(args: tuple[Any, ...]) -> list[Tensor]:
        values = dict(known)
        for value, (source, index, _) in zip(args, sources, strict=True):
            if source == "argument":
                values[arguments[index].name] = value
            elif source == "result":
                values[returned[index]] = value
            elif source == "gradient":
                grad = value
        call = Call(values, grad, op, args, wanted, forward)
        if name in WHOLE:
            return WHOLE[name](call)
        rules = _GRADIENTS[name]
        return [rules[n](call._replace(place=k)) for k, n in enumerate(wanted)]

    return run


def _names_of_results(forward: OpOverload) -> list[str]:
    """``result``, and of ops that give places too ``indices``."""
    count = len(forward._schema.returns)
    return ["result", "indices", *(f"result{k}" for k in range(2, count))]


def _conj(x: Any) -> Any:
    """Of a tensor, or of a number given for one."""
    if isinstance(x, Tensor):
        return x.conj() if x.is_complex() else x
    return x.conjugate()


def _scaled(x: Tensor, factor: complex) -> Tensor:
    if factor == 1:
        return x
    found: Tensor = aten.mul.Scalar(x, _conj(factor))
    return found


def _alpha(call: Call) -> complex:
    """Missing in a derivative that reads the other factors: keys fold it where it is 1
    alone.
    """
    found: complex = call.values.get("alpha", 1)
    return found


def _product(first: str, second: str, multiply: Any) -> _Gradients:
    def transposed(x: Tensor) -> Tensor:
        found: Tensor = _conj(x.t() if x.dim() == 2 else x.transpose(1, 2))
        return found

    def of_first(call: Call) -> Tensor:
        found: Tensor = multiply(call.grad, transposed(call.value(second)))
        return _scaled(found, _alpha(call))

    def of_second(call: Call) -> Tensor:
        found: Tensor = multiply(transposed(call.value(first)), call.grad)
        return _scaled(found, _alpha(call))

    return {first: of_first, second: of_second}


def _summand(call: Call) -> Tensor:
    beta = call.value("beta")
    return _scaled(summed(call.grad, call.size), beta)


def _subtracted(call: Call) -> Tensor:
    return _scaled(-call.grad, _alpha(call))


def _spread(call: Call) -> Tensor:
    """The gradient of a sum over some dims, at every element."""
    grad, rank = call.grad, len(call.size)
    dims = call.value("dim")
    dims = [dims] if isinstance(dims, int) else dims or range(rank)
    if not call.value("keepdim"):
        for d in sorted(d % rank for d in dims) if rank else ():
            grad = grad.unsqueeze(d)
    return grad.expand(call.size)


def _of_mean(spread: Callable[[Call], Tensor]) -> _Gradients:
    def gradient(call: Call) -> Tensor:
        count = prod(call.size) / max(call.grad.numel(), 1)
        found: Tensor = aten.div.Scalar(spread(call), count)
        return found

    return {"self": gradient}


# Whose gradient op gives those of another op too.
_SEEN_AS = {
    "relu": "threshold",
    "softmax.int": "_softmax",
    "log_softmax.int": "_log_softmax",
}


def shown_of(name: str) -> str:
    """An op's name without its overload, from its full name; where one op gives the
    gradient in PyTorch and a derivative op here, that op's.
    """
    if name.startswith("derivative::"):
        rule, forward, *_ = _C._derived_from(name)
        if rule == "vjp":
            of = forward.name().removeprefix("aten::")
            shown = _C._backward_ops().get(_SEEN_AS.get(of, of))
            name = f"aten::{shown}" if shown else name
    return name.partition(".")[0]


def _permuted_back(call: Call) -> Tensor:
    dims = [d % call.grad.dim() for d in call.value("dims")]
    return call.grad.permute(sorted(range(len(dims)), key=dims.__getitem__))


def _scattered(call: Call) -> Tensor:
    """To the places that the forward op has found."""
    zeros = call.grad.new_zeros(call.size)
    dim, places, grad = call.value("dim"), call.value("indices"), call.grad
    if zeros.dim() > places.dim():
        places, grad = places.unsqueeze(dim), grad.unsqueeze(dim)
    return zeros.scatter(dim, places, grad)


_GRADIENTS.update(
    {
        "aten::flip": {"self": lambda call: call.grad.flip(call.value("dims"))},
        "aten::tril": {"self": lambda call: call.grad.tril(call.value("diagonal"))},
        "aten::triu": {"self": lambda call: call.grad.triu(call.value("diagonal"))},
        "aten::constant_pad_nd": {
            "self": lambda call: aten.constant_pad_nd.default(
                call.grad, [-n for n in call.value("pad")]
            )
        },
        "aten::cumsum": {
            "self": lambda call: (
                call.grad.flip(call.value("dim"))
                .cumsum(call.value("dim"))
                .flip(call.value("dim"))
            )
        },
        "aten::gather": {
            "self": lambda call: call.grad.new_zeros(call.size).scatter_add(
                call.value("dim"), call.value("index"), call.grad
            )
        },
        "aten::index_select": {
            "self": lambda call: call.grad.new_zeros(call.size).index_add(
                call.value("dim"), call.value("index"), call.grad
            )
        },
        "aten::max.dim": {"self": _scattered},
        "aten::min.dim": {"self": _scattered},
        "aten::sort": {"self": _scattered},
        "aten::topk": {"self": _scattered},
        "aten::kthvalue": {"self": _scattered},
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
        "aten::expand": {"self": lambda call: summed(call.grad, call.size)},
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
        "aten::sub.Tensor": {"other": _subtracted},
        "aten::rsub.Tensor": {"self": _subtracted},
        "aten::relu": {
            "self": lambda call: aten.threshold_backward.default(
                call.grad, call.value("result"), 0
            )
        },
    }
)
