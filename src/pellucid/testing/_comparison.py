"""``assert_close``: whether numbers, tensors and containers of them agree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pellucid
from pellucid import Tensor

# (rtol, atol) of each dtype; integers are compared exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}

Message = str | Callable[[str], str] | None


class _Rules:
    """The arguments of ``assert_close`` that hold for every pair."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.rtol: float | None = options["rtol"]
        self.atol: float | None = options["atol"]
        self.equal_nan: bool = options["equal_nan"]
        self.check_dtype: bool = options["check_dtype"]
        self.check_stride: bool = options["check_stride"]
        self.allow_subclasses: bool = options["allow_subclasses"]
        self.message: Message = options["msg"]

    def fail(
        self, place: str, what: str, error: type[Exception] = AssertionError
    ) -> Any:
        where = f"\nThe pair is at {place}." if place else ""
        text = f"{what}{where}"
        if self.message is not None:
            given = self.message
            text = given(text) if callable(given) else given
        raise error(text)

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(str(d).rpartition(".")[2], (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in known), max(a for _, a in known)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raises AssertionError unless ``|actual - expected| <= atol + rtol |expected|``.

    Tensors, numbers, and sequences and mappings of them are taken; dtypes and shapes
    must be equal. Tolerances depend on the dtype unless both are given.

    >>> torch.testing.assert_close(torch.tensor(1.0), torch.tensor(1.0 + 1e-7))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: give both rtol and atol, or neither")
    _compare(actual, expected, _Rules(locals()), "")


def _compare(actual: Any, expected: Any, rules: _Rules, place: str) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            rules.fail(place, f"The keys differ: {set(actual) ^ set(expected)}")
        for key in expected:
            _compare(actual[key], expected[key], rules, f"{place}[{key!r}]")
        return
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            rules.fail(place, f"The lengths differ: {len(actual)} != {len(expected)}")
        for k, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, rules, f"{place}[{k}]")
        return
    if actual is None and expected is None:
        return
    _compare_leaves(actual, expected, rules, place)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _compare_leaves(actual: Any, expected: Any, rules: _Rules, place: str) -> None:
    if not rules.allow_subclasses and type(actual) is not type(expected):
        rules.fail(
            place, f"The types differ: {type(actual)} != {type(expected)}", TypeError
        )
    are_tensors = isinstance(actual, Tensor), isinstance(expected, Tensor)
    if any(are_tensors) and not all(are_tensors):
        rules.fail(
            place,
            f"A tensor cannot be compared with {type(actual)}, {type(expected)}",
            TypeError,
        )
    found, wanted = _as_tensor(actual, rules, place), _as_tensor(expected, rules, place)
    if found.shape != wanted.shape:
        rules.fail(
            place, f"The shapes differ: {tuple(found.shape)} != {tuple(wanted.shape)}"
        )
    if all(are_tensors):
        if rules.check_dtype and found.dtype is not wanted.dtype:
            rules.fail(place, f"The dtypes differ: {found.dtype} != {wanted.dtype}")
        if rules.check_stride and found.stride() != wanted.stride():
            rules.fail(
                place, f"The strides differ: {found.stride()} != {wanted.stride()}"
            )
    _compare_values(found, wanted, rules, place)


def _as_tensor(x: Any, rules: _Rules, place: str) -> Tensor:
    if isinstance(x, Tensor):
        return x.detach()
    if isinstance(x, (bool, int, complex)):
        return pellucid.tensor(x)
    if isinstance(x, float):
        return pellucid.tensor(x, dtype=pellucid.float64)
    try:
        return pellucid.as_tensor(x)
    except Exception:
        rules.fail(place, f"{type(x)} is not a tensor, number or container", TypeError)
        raise


def _compare_values(found: Tensor, wanted: Tensor, rules: _Rules, place: str) -> None:
    rtol, atol = rules.tolerances(found.dtype, wanted.dtype)
    common = pellucid.promote_types(found.dtype, wanted.dtype)
    found, wanted = found.to(common), wanted.to(common)
    if rtol == atol == 0 and not common.is_floating_point:
        close = found == wanted
    else:
        close = pellucid.isclose(found, wanted, rtol, atol, rules.equal_nan)
    if bool(close.all()):
        return
    gaps = (found.double() - wanted.double()).abs()
    gaps = gaps.nan_to_num(nan=float("inf"), posinf=float("inf"))
    gaps = gaps.masked_fill(close, 0.0)
    count, total = int((~close).sum()), close.numel()
    worst = int(gaps.reshape(-1).argmax())
    at = tuple(
        int(i) for i in pellucid.unravel_index(pellucid.tensor(worst), found.shape)
    )
    rules.fail(
        place,
        "Tensor-likes are not close!\n\n"
        f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)\n"
        f"Greatest absolute difference: {float(gaps.max())} at index {at} "
        f"(up to {atol} allowed, and {rtol} of the expected value)",
    )


# By dtype: relative and absolute tolerance of ``assert_allclose``.
_OLDER_TOLERANCES = {
    pellucid.float16: (1e-3, 1e-3),
    pellucid.float32: (1e-4, 1e-5),
    pellucid.float64: (1e-5, 1e-8),
}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """``assert_close`` for any dtypes, with wider tolerances; that one is newer."""
    warnings.warn(
        "assert_allclose() is deprecated: use assert_close()",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = pellucid.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = pellucid.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        both = (actual.dtype, expected.dtype)
        found = [_OLDER_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in both]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )
