"""Arguments of the transforms: ``argnums``, and checks of structure and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid._tensor import Tensor

_ArgNums = int | tuple[int, ...]


def _places(args: Sequence[Any], argnums: _ArgNums) -> list[int]:
    if not isinstance(argnums, int | tuple):
        raise RuntimeError(
            f"argnums must be an int or a tuple of ints, got {type(argnums).__name__}"
        )
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums is empty: give at least one argument")
    places = []
    for place in given:
        if not isinstance(place, int):
            raise RuntimeError(f"argnums must hold ints, got {place!r}")
        if not -len(args) <= place < len(args):
            raise RuntimeError(
                f"argnums names argument {place}, but {len(args)} positional arguments "
                "were given"
            )
        places.append(place % len(args))
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums names an argument twice: {argnums}")
    return places


def chosen_arguments(args: Sequence[Any], argnums: _ArgNums) -> tuple[Any, ...]:
    """The arguments selected by ``argnums``."""
    return tuple(args[place] for place in _places(args, argnums))


def with_arguments(
    args: Sequence[Any], argnums: _ArgNums, values: Sequence[Any]
) -> list[Any]:
    """``args`` with the arguments of ``argnums`` replaced."""
    result = list(args)
    for place, value in zip(_places(args, argnums), values, strict=True):
        result[place] = value
    return result


def require_tensors(
    leaves: Sequence[Any],
    what: str,
    error: type[Exception] = RuntimeError,
    dtype_error: type[Exception] = RuntimeError,
) -> None:
    """Raises ``error`` unless all are tensors, and ``dtype_error`` unless their dtypes
    have derivatives.
    """
    if not leaves:
        raise RuntimeError(f"{what}: at least one tensor is needed, none was given")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise error(f"{what}: expected tensors, got a {type(leaf).__name__}")
        if not (leaf.is_floating_point() or leaf.is_complex()):
            raise dtype_error(
                f"{what}: only tensors of floating-point or complex dtype have "
                f"derivatives, got {leaf.dtype}"
            )


def require_output_tensors(leaves: Sequence[Any]) -> None:
    """Raises RuntimeError unless a function returned tensors, and at least one."""
    if not leaves:
        raise RuntimeError("the function returned no tensor: there is no derivative")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                "the function must return tensors (or trees of them), but one of its "
                f"results is a {type(leaf).__name__}"
            )


def split_aux(output: Any) -> tuple[Any, Any]:
    """``(output, aux)`` as a function with has_aux=True returns them."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(
            "with has_aux=True the function must return a tuple (output, aux), got "
            f"{type(output).__name__}"
        )
    return output
