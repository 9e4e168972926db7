"""``torch.utils.flop_counter``: floating-point operations of products, by module.

    with FlopCounterMode(model) as counter:
        model(x).sum().backward()
    counter.get_total_flops()

A multiplication and an addition count as two. Products are found in the loops of the
ops that ran (``profiler/_timeline/costs.py``): sums of products whose factors each have
an axis that the other lacks, as matrix products, convolutions and attention have.
Everything else counts nothing, as in PyTorch; what a derivative op computes counts for
the op that it is the derivative of. Built on `TorchDispatchMode` and `ModuleTracker`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from types import TracebackType
from typing import Any

from pellucid import _C
from pellucid._ops import OpOverload, OpOverloadPacket
from pellucid._tensor import Tensor
from pellucid.profiler._timeline.costs import CostCounter, products_of
from pellucid.profiler._timeline.log import Session, Watch
from pellucid.utils._python_dispatch import TorchDispatchMode
from pellucid.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]


def register_flop_formula(
    targets: Any,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorates ``formula(*args, out_shape, **kwargs)`` of an op packet, or several.

    The formula receives shapes instead of tensors.
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


@cache
def _costs() -> CostCounter:
    """A shared cache: the cost of calls with equal arguments is computed once."""
    return CostCounter()


class FlopCounterMode(TorchDispatchMode):
    """Counts the operations of products inside its scope.

    ``mods`` is not needed: modules are tracked as they are called. ``depth`` levels are
    printed at the end if ``display``. ``custom_mapping`` gives formulas for op
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
        is_derivative = func.namespace == "derivative"
        forward = _C._derived_from(func.name())[1] if is_derivative else func
        name = str(forward.overloadpacket)
        given = None if is_derivative else self._given.get(name) or _custom.get(name)
        if given is not None:
            out = func(*args, **kwargs)
            shapes = {key: _shape_of(value) for key, value in kwargs.items()}
            flops = given(*map(_shape_of, args), out_shape=_shape_of(out), **shapes)
        else:
            session = Session(Watch.FACTS)
            session.start()
            try:
                out = func(*args, **kwargs)
            finally:
                log = session.stop()
            flops = products_of(log, _costs())
        if flops:
            for place in sorted(self._modules.parents):
                self.flop_counts[place][forward.overloadpacket] += flops
        return out


def _readable(count: int) -> str:
    for power, unit in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if count >= 10**power:
            return f"{count / 10**power:.3f}{unit}"
    return str(count)
