"""``torch.library.opcheck``: whether an op does what its registrations say.

Four checks of one call: that the op writes and returns what its schema says, that its
derivative is where transforms and modes look for it, that it gives shapes for tensors
without data, and that it is the same op when a dispatch mode watches forward and
backward. Used by ``library.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._library.custom_ops import CustomOpDef
from pellucid._library.register import gives_shapes
from pellucid._ops import OpOverload, OpOverloadPacket
from pellucid.utils._python_dispatch import BaseTorchDispatchMode
from pellucid.utils._pytree import tree_leaves, tree_map

# How close results must be: arguments of `testing.assert_close`.
_Tolerances = dict[str, float | None]
_Check = Callable[[OpOverload, tuple[Any, ...], dict[str, Any], _Tolerances], None]


class OpCheckError(Exception):
    """A check of ``opcheck`` failed; the cause is attached."""


def _tensors(values: Any) -> list[Tensor]:
    return [v for v in tree_leaves(values) if isinstance(v, Tensor)]


def _copies(values: Any) -> Any:
    """The structure with its tensors as leaves of their own."""

    def copy(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    return tree_map(copy, values)


def _meets(
    values: Sequence[Tensor], wanted: Sequence[Tensor], rules: _Tolerances
) -> None:
    close = pellucid.testing.assert_close
    close(list(values), list(wanted), equal_nan=True, **rules)


def check_schema(
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tolerances: _Tolerances,
) -> None:
    """Writes go only to arguments that the schema marks, results share memory only with
    arguments that it names.
    """
    args, kwargs = _copies((args, kwargs))
    schema = op._schema.arguments
    given = {a.name: v for a, v in zip(schema, args, strict=False)} | kwargs
    before = {name: _contents(value) for name, value in given.items()}
    with pellucid.no_grad():
        results = op(*args, **kwargs)
    for argument in schema:
        if argument.is_write or argument.name not in given:
            continue
        if before[argument.name] != _contents(given[argument.name]):
            raise RuntimeError(
                f"{op}: Argument {argument.name} is not defined as mutable but was "
                "mutated\nName it in mutates_args, or write Tensor(a!) in the schema: "
                f"{op._schema}"
            )
    owners = {
        tensor.untyped_storage()._cdata: argument.name
        for argument in schema
        if argument.name in given and argument.alias_info is None
        for tensor in _tensors(given[argument.name])
    }
    _check_memory(op, results, owners)


def _contents(values: Any) -> list[tuple[Any, ...]]:
    """What must not change in tensors that an op reads: strides and every bit."""
    return [
        (t.dtype, t.shape, t.stride(), t.storage_offset(), _bits(t))
        for t in _tensors(values)
    ]


def _bits(tensor: Tensor) -> bytes:
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().flatten()
    return bytes(flat.view(pellucid.uint8)._buffer(False))


def _check_memory(op: OpOverload, results: Any, owners: dict[int, str]) -> None:
    """No result shares memory with ``owners``, or of a result before it."""
    returns = op._schema.returns
    several = results if len(returns) > 1 else [results]
    for declared, values in zip(returns, several, strict=False):
        for result in _tensors(values):
            storage = result.untyped_storage()._cdata
            if storage in owners:
                raise RuntimeError(
                    f"{op}: Argument {owners[storage]} is not defined to alias output "
                    f"but was aliasing\nReturn a clone: {op._schema}"
                )
            if declared.alias_info is None:
                owners[storage] = "(another result)"


def check_derivative(
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tolerances: _Tolerances,
) -> None:
    """Results that require gradients come from the op's own derivative, not from those
    of ops that its kernel calls.
    """
    args, kwargs = _copies((args, kwargs))
    plain = _tensors(op(*args, **kwargs))
    with BaseTorchDispatchMode():
        watched = _tensors(op(*args, **kwargs))
    for alone, seen in zip(plain, watched, strict=True):
        if alone.requires_grad and not seen.requires_grad:
            raise RuntimeError(
                f"{op} does not have an autograd kernel: it is differentiated "
                "through the ops that its kernel calls, which modes and transforms do "
                "not see\nGive the derivative by "
                "torch.library.register_autograd, or register the kernel as "
                "CompositeImplicitAutograd."
            )


def check_shapes(
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tolerances: _Tolerances,
) -> None:
    """Tensors without data give results of the same shapes, strides and dtypes."""
    if not gives_shapes(op.name()):
        raise RuntimeError(
            f"{op} has no function for tensors without data\nGive one by "
            "torch.library.register_fake."
        )

    def without_data(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        empty = pellucid.empty_strided(
            value.shape, value.stride(), dtype=value.dtype, device="meta"
        )
        return empty.requires_grad_(value.requires_grad)

    real_args, real_kwargs = _copies((args, kwargs))
    with pellucid.no_grad():
        real = _tensors(op(*real_args, **real_kwargs))
        fake_args, fake_kwargs = tree_map(without_data, (args, kwargs))
        fake = _tensors(op(*fake_args, **fake_kwargs))
    if len(fake) != len(real):
        raise RuntimeError(
            f"{op} gives {len(fake)} tensors without data where it gives {len(real)}"
        )
    for number, (a, b) in enumerate(zip(fake, real, strict=True)):
        for fact in ("shape", "dtype", "stride"):
            found, wanted = getattr(a, fact), getattr(b, fact)
            if callable(found):
                found, wanted = found(), wanted()
            if found != wanted:
                raise RuntimeError(
                    f"{op}: result {number} without data has the {fact} {found}, the "
                    f"real one {wanted}\nCorrect the function given to register_fake."
                )


def check_watched(
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tolerances: _Tolerances,
) -> None:
    """Results and gradients are the same when a dispatch mode runs every op, and so do
    shapes without data.
    """
    check_shapes(op, args, kwargs, tolerances)

    def run() -> tuple[list[Tensor], list[Tensor]]:
        mine = _copies((args, kwargs))
        results = _tensors(op(*mine[0], **mine[1]))
        leaves = [t for t in _tensors(mine) if t.requires_grad]
        ends = [r for r in results if r.requires_grad]
        if not ends:
            return results, []
        ones = [pellucid.ones_like(r) for r in ends]
        found = pellucid.autograd.grad(ends, leaves, ones, allow_unused=True)
        return results, [g for g in found if g is not None]

    results, gradients = run()
    with BaseTorchDispatchMode():
        watched, watched_gradients = run()
    _meets(watched, results, tolerances)
    _meets(watched_gradients, gradients, tolerances)


_CHECKS: Mapping[str, _Check] = {
    "test_schema": check_schema,
    "test_autograd_registration": check_derivative,
    "test_faketensor": check_shapes,
    "test_aot_dispatch_dynamic": check_watched,
}


def _overload(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    if isinstance(op, OpOverloadPacket):
        names = op.overloads()
        if len(names) != 1:
            raise RuntimeError(
                f"opcheck: {op} has the overloads {', '.join(names)}; give one of them"
            )
        op = getattr(op, names[0])
    if not isinstance(op, OpOverload):
        raise ValueError(
            "opcheck takes an op of torch.ops or a custom op, not a "
            f"{type(op).__name__}"
        )
    return op


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(_CHECKS),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Check what was registered for a custom op by one call of it.

    ``"test_schema"``: the op writes and returns what its schema says.
    ``"test_autograd_registration"``: its derivative is its own.
    ``"test_faketensor"``: tensors without data give the right shapes.
    ``"test_aot_dispatch_dynamic"``: it is the same op, forward and backward, below a
    dispatch mode. ``test_utils`` names one of them or several. Whether the derivative
    is right is ``gradcheck``'s question.

    Returns "SUCCESS" or the error by check; raises OpCheckError at the first error
    unless ``raise_exception`` is False, ValueError for an unknown check.

    Example::

        >>> @torch.library.custom_op("mine::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> double.register_fake(torch.empty_like)
        >>> torch.library.opcheck(double, (torch.ones(3),))["test_schema"]
        'SUCCESS'
    """
    if (atol is None) != (rtol is None):
        raise ValueError("opcheck: give both atol and rtol, or neither")
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = [name for name in names if name not in _CHECKS]
    if unknown:
        raise ValueError(
            f"opcheck: there is no check {', '.join(unknown)}; there are "
            f"{', '.join(_CHECKS)}"
        )
    overload = _overload(op)
    found: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](overload, args, kwargs or {}, {"atol": atol, "rtol": rtol})
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck({overload}): {name} failed") from error
            found[name] = error
    return found
