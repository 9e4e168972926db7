"""``torch.utils.flop_counter``: floating-point operations of products, by module.

    with FlopCounterMode(model) as counter:
        model(x).sum().backward()
    counter.get_total_flops()

A multiplication and an addition count as two. Ops that are not matrix products or
convolutions count nothing, as in PyTorch; what a derivative op computes counts for the
op that it is the derivative of. Built on `TorchDispatchMode` and `ModuleTracker`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import isqrt, prod
from types import TracebackType
from typing import Any

from pellucid import _C
from pellucid._ops import OpOverload, OpOverloadPacket
from pellucid._tensor import Tensor
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

# What a call reads and gives: the tensors among the arguments, the results.
_Formula = Callable[[Sequence[Tensor], Sequence[Tensor]], int]


def _product(operands: Sequence[Tensor], results: Sequence[Tensor]) -> int:
    """(.., m, k) by (.., k, n): two operations for each of m k n.

    The three tensors of a product have m k, k n and m n elements, so the root of their
    numbers' product is m k n, whichever of them is the result.
    """
    matrices = [t for t in (*operands, *results) if t.ndim > 1]
    first, second, third = (matrices + matrices[-1:])[:3]
    shared = [t for t in (first, second, third) if t.ndim > 2]
    batch = prod(shared[0].shape[:-2]) if len(shared) == 3 else 1
    numbers = first.numel() * second.numel() * third.numel()
    return 2 * isqrt(numbers // max(batch, 1))


def _product_with_summand(operands: Sequence[Tensor], results: Sequence[Tensor]) -> int:
    """``addmm``: the first operand is added."""
    return _product(operands[1:], results)


def _convolution(operands: Sequence[Tensor], results: Sequence[Tensor]) -> int:
    """Each element of the result takes one channel's window times the channels."""
    return 2 * results[0].numel() * prod(operands[1].shape[1:])


def _transposed_convolution(
    operands: Sequence[Tensor], results: Sequence[Tensor]
) -> int:
    """Each element of the input goes to one window of the channels it has a part in."""
    return 2 * operands[0].numel() * prod(operands[1].shape[1:])


def _gradients_of_convolution(
    operands: Sequence[Tensor], results: Sequence[Tensor]
) -> int:
    """As many as the forward's for the input's and for the weight's gradient each."""
    grad, _, weight = operands
    gradients = sum(t.ndim > 2 for t in results)
    return 2 * grad.numel() * prod(weight.shape[1:]) * gradients


def _gradients_of_transposed_convolution(
    operands: Sequence[Tensor], results: Sequence[Tensor]
) -> int:
    _, image, weight = operands
    return _gradients_of_convolution((image, image, weight), results)


def _attention(operands: Sequence[Tensor], results: Sequence[Tensor]) -> int:
    query, key, value = operands[:3]
    scores = prod(query.shape[:-1]) * key.shape[-2]
    return 2 * scores * (query.shape[-1] + value.shape[-1])


# The position of the argument ``transposed``, and the formula if it is true.
_TRANSPOSED: dict[str, tuple[int, _Formula]] = {
    "convolution": (6, _transposed_convolution),
    "convolution_backward": (7, _gradients_of_transposed_convolution),
}

_FORMULAS: dict[str, _Formula] = {
    "mm": _product,
    "bmm": _product,
    "matmul": _product,
    "linear": _product,
    "addmm": _product_with_summand,
    "baddbmm": _product_with_summand,
    "convolution": _convolution,
    "convolution_backward": _gradients_of_convolution,
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
}


def _products_of_derivative(
    operands: Sequence[Tensor], results: Sequence[Tensor]
) -> int:
    """One product of the forward's size for each factor that gets a gradient."""
    matrices = [t for t in operands if t.ndim > 1]
    if len(matrices) < 2:
        return 0  # the gradient of a summand alone
    if len(matrices) == 2:
        return _product(matrices, [r for r in results if r.ndim > 1][-1:])
    return 2 * _product(matrices, ())


def _attentions_of_derivative(
    operands: Sequence[Tensor], results: Sequence[Tensor]
) -> int:
    """The scores once more, and two products for each of the forward's."""
    return 5 * _attention(operands, results) // 2


_DERIVATIVES: dict[_Formula, _Formula] = {
    _product: _products_of_derivative,
    _product_with_summand: _products_of_derivative,
    _attention: _attentions_of_derivative,
}


def register_flop_formula(
    targets: Any,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorates ``formula(*args, out_shape, **kwargs)`` of an op packet, or several.

    In place of tensors the formula gets their shapes.
    """
    packets = targets if isinstance(targets, list | tuple) else [targets]

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for packet in packets:
            _custom[str(packet)] = formula
        return formula

    return register


_custom: dict[str, Callable[..., int]] = {}


def _shape_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, list | tuple):
        return type(value)(map(_shape_of, value))
    return value


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found


class FlopCounterMode(TorchDispatchMode):
    """Counts the operations of products inside its scope.

    ``mods`` is not needed: modules are found as they are called. ``depth`` levels of
    them are printed at the end if ``display``. ``custom_mapping`` gives formulas for op
    packets, as `register_flop_formula` takes them.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Callable[..., int]] | None = None,
    ) -> None:
        self.depth = depth
        self.display = display
        self.flop_counts: defaultdict[str, defaultdict[OpOverloadPacket, int]]
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._given = {str(p): f for p, f in (custom_mapping or {}).items()}
        self._modules = ModuleTracker()

    def get_total_flops(self) -> int:
        """The operations of all calls."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Operations by module (``"Global"`` is all) and op packet."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, modules to a depth."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        lines = [f"{'module':40} {'FLOP':>12} {'% of all':>9}"]
        for name, counts in self.flop_counts.items():
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            flops = sum(counts.values())
            lines.append(
                f"{'  ' * level + name:40} {_readable(flops):>12} "
                f"{100 * flops / total:8.2f}%"
            )
            for packet, count in counts.items():
                text = "  " * level + f" - {packet}"
                lines.append(
                    f"{text:40} {_readable(count):>12} {100 * count / total:8.2f}%"
                )
        return "\n".join(lines)

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.flop_counts["Global"]  # first in the table
        self._modules.__enter__()
        super().__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        super().__exit__(exc_type, exc_val, exc_tb)
        self._modules.__exit__()
        if self.display:
            print(self.get_table())

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        is_derivative = func.namespace == "derivative"
        forward = _C._derived_from(func.name())[1] if is_derivative else func
        flops = self._flops(forward, is_derivative, args, kwargs, out)
        if flops:
            for place in sorted(self._modules.parents):
                self.flop_counts[place][forward.overloadpacket] += flops
        return out

    def _flops(
        self,
        op: OpOverload,
        is_derivative: bool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        out: Any,
    ) -> int:
        name = str(op.overloadpacket)
        given = self._given.get(name) or _custom.get(name)
        if given is not None and not is_derivative:
            shapes = {key: _shape_of(value) for key, value in kwargs.items()}
            return given(*map(_shape_of, args), out_shape=_shape_of(out), **shapes)
        formula = _FORMULAS.get(op._opname)
        place, transposed = _TRANSPOSED.get(op._opname, (0, None))
        if is_derivative:
            formula = _DERIVATIVES.get(formula) if formula else None
        elif transposed and args[place]:
            formula = transposed
        if formula is None:
            return 0
        return formula(_tensors([*args, *kwargs.values()]), _tensors([out]))


def _readable(count: int) -> str:
    for power, unit in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if count >= 10**power:
            return f"{count / 10**power:.3f}{unit}"
    return str(count)
