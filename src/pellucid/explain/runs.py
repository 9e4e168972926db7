"""Questions about the values of runs, answered from every op's bits.

``explain.compare(a, b)``: where two runs diverge. ``explain.repeated(fn, *args)``: what
was recomputed from the same values. A mode intercepts each op below autograd and stores
a digest of its results; the runs are slower, with unchanged values.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pellucid as torch
from pellucid._tensor import Tensor
from pellucid.utils._python_dispatch import TorchDispatchMode, no_dispatch
from pellucid.utils._pytree import tree_leaves

_MOST = 18  # lines of a list in an answer
_DRAWING = (
    *("rand", "normal", "drop", "uniform", "bernoulli", "poisson", "multinomial"),
    *("exponential_", "geometric", "cauchy", "random"),
)
_UNDEFINED = "empty"  # in the names of ops whose results have no values yet
_KEPT = 1 << 26  # bytes of results that are kept, to tell differences
_PACKAGE = str(Path(__file__).resolve().parents[1])


class Ran(NamedTuple):
    """An op that ran: what it was given and gave, as text or digests of bits."""

    name: str
    place: str
    given: tuple[str, ...]
    results: tuple[str, ...]
    values: list[Tensor]
    is_view: bool


class _Watch(TorchDispatchMode):
    """Records every op; stores values only up to a limit."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[Ran] = []
        self._bytes = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        with no_dispatch():  # the program's modes see its ops alone
            given = tuple(map(_digest, tree_leaves((args, kwargs or {}))))
        inputs = [t for t in tree_leaves(args) if isinstance(t, Tensor)]
        result = func(*args, **(kwargs or {}))
        tensors = [t for t in tree_leaves(result) if isinstance(t, Tensor)]
        place, is_kept = _caller(), self._bytes < _KEPT
        with no_dispatch():
            for tensor in tensors if _UNDEFINED in str(func) else ():
                tensor.zero_()  # memory without values is alike in all runs
            self._bytes += sum(t.nbytes for t in tensors)
            kept = [t.detach().clone() for t in tensors] if is_kept else []
            is_view = any(_shares(t, u) for t in tensors for u in inputs)
            digests = tuple(map(_digest, tensors))
        self.ran.append(Ran(str(func), place, given, digests, kept, is_view))
        return result


def _caller() -> str:
    """``"file.py:12 function"`` of the innermost frame outside the package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    return f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_name}"


def _shares(a: Tensor, b: Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _digest(value: Any) -> str:
    """Of a tensor its type, shape and bits; of anything else its text."""
    if not isinstance(value, Tensor):
        return repr(value)
    head = f"{value.dtype} {list(value.shape)}"
    flat = value.detach().contiguous().reshape(-1)
    if flat.numel() == 0 or flat.device.type == "meta":
        return head
    bits = hashlib.blake2b(flat.view(torch.uint8).numpy(), digest_size=16)
    return f"{head} {bits.hexdigest()}"


def ran_by(fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> list[Ran]:
    """The ops that a call runs."""
    with _Watch() as watch:
        fn(*args, **(kwargs or {}))
    return watch.ran


def explain_compare(a: Callable[[], Any], b: Callable[[], Any]) -> str:
    """See `pellucid.explain.compare`."""
    first, second = ran_by(a), ran_by(b)
    with no_dispatch(), torch.overrides.DisableTorchFunction():
        return _compared(first, second)


def _compared(first: list[Ran], second: list[Ran]) -> str:
    """Where two lists of ops differ first."""
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.name != other.name:
            return (
                f"other ops from call {number}: {one.name} at {one.place}, "
                f"{other.name} at {other.place}"
            )
        if one.results == other.results:
            continue
        head = f"call {number} of {len(first)} differs first: {one.name} at {one.place}"
        return "\n".join([head, _cause(one, other), *_differences(one, other)])
    if len(first) != len(second):
        longer = max(first, second, key=len)[min(len(first), len(second))]
        return (
            f"the same {min(len(first), len(second))} calls, then one run goes on with "
            f"{longer.name} at {longer.place}"
        )
    return f"the same bits in all {len(first)} calls"


def _cause(one: Ran, other: Ran) -> str:
    if one.given == other.given:
        is_drawn = any(word in one.name for word in _DRAWING)
        return (
            "given the same values: numbers are drawn, set torch.manual_seed in both"
            if is_drawn
            else "given the same values: threads, versions or memory differ"
        )
    pairs = enumerate(zip(one.given, other.given, strict=False))
    place = next((k for k, (a, b) in pairs if a != b), len(one.given))
    return f"its argument {place} differs, which no op before it made: data or seeds"


def _differences(one: Ran, other: Ran) -> list[str]:
    lines = []
    for a, b in zip(one.values, other.values, strict=False):
        if a.shape != b.shape or a.dtype != b.dtype:
            lines.append(
                f"  {a.dtype} {list(a.shape)} beside {b.dtype} {list(b.shape)}"
            )
            continue
        unequal = (a != b).reshape(-1)
        if not unequal.any():
            continue
        place = int(unequal.int().argmax())
        largest = (a.double() - b.double()).abs().max().item()
        lines.append(
            f"  {int(unequal.sum())} of {a.numel()} elements, first at {place}: "
            f"{a.reshape(-1)[place].item():.7g} beside "
            f"{b.reshape(-1)[place].item():.7g}; largest difference {largest:.3g}"
        )
    return lines[:4]


def explain_repeated(fn: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """See `pellucid.explain.repeated`."""
    ran = [item for item in ran_by(fn, args, kwargs) if not item.is_view]
    groups: dict[tuple[str, tuple[str, ...]], list[Ran]] = {}
    for item in ran:
        if any(
            given.startswith("torch.") for given in item.given
        ):  # computes from tensors
            groups.setdefault((item.name, item.given), []).append(item)
    again = [
        items
        for items in groups.values()
        if len({i.results for i in items}) == 1 < len(items)
    ]
    if not again:
        return f"nothing was computed twice: {len(ran)} calls"
    total = sum(len(items) - 1 for items in again)
    lines = [
        f"{total} of {len(ran)} calls repeat another on the same values, same bits"
    ]
    for items in sorted(again, key=lambda items: -len(items))[:_MOST]:
        places = ", ".join(dict.fromkeys(item.place for item in items))
        lines.append(f"{len(items):>5}x  {items[0].name}  {places}"[:100])
    return "\n".join(lines)
