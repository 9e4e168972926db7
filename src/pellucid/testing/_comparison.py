"""``assert_close``: whether numbers, tensors and containers of them agree."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import pellucid
from pellucid import Tensor

# (rtol, atol) of each dtype; integers are compared exactly.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_NUMBERS = {int: "int64", float: "float64", complex: "complex128"}

Message = str | Callable[[str], str] | None


class _Rules:
    """The arguments of ``assert_close`` that hold for every pair."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.rtol: float | None = options["rtol"]
        self.atol: float | None = options["atol"]
        self.equal_nan: bool = options["equal_nan"]
        self.check_dtype: bool = options["check_dtype"]
        self.check_device: bool = options["check_device"]
        self.check_layout: bool = options["check_layout"]
        self.check_stride: bool = options["check_stride"]
        self.allow_subclasses: bool = options["allow_subclasses"]
        self.message: Message = options["msg"]

    def fail(
        self,
        place: str,
        text: str,
        error: type[Exception] = AssertionError,
        is_structure: bool = False,
    ) -> NoReturn:
        """Raises the error; the caller's message is for values, not for structure."""
        if place:
            text += f"\n\nThe failure occurred for item {place}"
        if self.message is not None and error is AssertionError and not is_structure:
            message = self.message
            text = message(text) if callable(message) else message
        raise error(text)

    def tolerances(self, *dtypes: str) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
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

    Tensors, numbers, and sequences and mappings of them are taken; shapes must be
    equal, and dtypes, devices, layouts and strides where they are checked. Tolerances
    depend on the dtype unless both are given. ``msg`` is the text of the error,
    or a function of it. TypeError for values that cannot be compared.

    >>> torch.testing.assert_close(torch.tensor(1.0), torch.tensor(1.0 + 1e-7))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified, but got "
            f"rtol={rtol} and atol={atol}"
        )
    _compare(actual, expected, _Rules(locals()), "")


def _compare(actual: Any, expected: Any, rules: _Rules, place: str) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _compare_keys(actual, expected, rules, place)
        for key in expected:
            _compare(actual[key], expected[key], rules, f"{place}[{key!r}]")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            lengths = f"{len(actual)} != {len(expected)}"
            rules.fail(
                place,
                f"The length of the sequences mismatch: {lengths}",
                is_structure=True,
            )
        for k, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, rules, f"{place}[{k}]")
    else:
        _compare_leaves(actual, expected, rules, place)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _compare_keys(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], rules: _Rules, place: str
) -> None:
    missing = [key for key in expected if key not in actual]
    additional = [key for key in actual if key not in expected]
    if missing or additional:
        rules.fail(
            place,
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {additional}",
            is_structure=True,
        )


def _compare_leaves(actual: Any, expected: Any, rules: _Rules, place: str) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            rules.fail(place, f"None mismatch: {actual} is not {expected}")
    elif isinstance(actual, bool) and isinstance(expected, bool):
        if actual is not expected:
            rules.fail(place, f"Booleans mismatch: {actual} is not {expected}")
    elif isinstance(actual, (int, float, complex)) and isinstance(
        expected, (int, float, complex)
    ):
        _compare_numbers(actual, expected, rules, place)
    else:
        _compare_tensors(actual, expected, rules, place)


def _compare_numbers(actual: Any, expected: Any, rules: _Rules, place: str) -> None:
    kinds = [
        next(kind for kind in (bool, *_NUMBERS) if isinstance(x, kind))
        for x in (actual, expected)
    ]
    if rules.check_dtype and kinds[0] is not kinds[1]:
        types = f"{type(actual)} != {type(expected)}"
        rules.fail(place, f"The (d)types do not match: {types}.")
    dtypes = [_NUMBERS.get(kind, "bool") for kind in kinds]
    _compare_scalars(actual, expected, rules.tolerances(*dtypes), rules, place)


def _compare_scalars(
    actual: Any,
    expected: Any,
    tolerances: tuple[float, float],
    rules: _Rules,
    place: str,
) -> None:
    rtol, atol = tolerances
    gap = abs(actual - expected)
    if actual == expected or (
        cmath.isfinite(gap) and gap <= atol + rtol * abs(expected)
    ):
        return
    if rules.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    ratio = gap / abs(expected) if expected != 0 else float("inf")
    rules.fail(
        place,
        f"Scalars are not {_word(rtol, atol)}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {gap}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {ratio}{_allowed(rtol, rtol, atol)}",
    )


def _word(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"


def _compare_tensors(actual: Any, expected: Any, rules: _Rules, place: str) -> None:
    kinds = type(actual), type(expected)
    is_related = isinstance(actual, kinds[1]) or isinstance(expected, kinds[0])
    is_tensor = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    if kinds[0] is not kinds[1] and not (
        rules.allow_subclasses and (is_related or is_tensor)
    ):
        _refuse(actual, expected, rules, place)
    try:
        actual_tensor, expected_tensor = (
            pellucid.as_tensor(actual),
            pellucid.as_tensor(expected),
        )
    except (TypeError, ValueError, RuntimeError):
        _refuse(actual, expected, rules, place)
    actual_tensor, expected_tensor = actual_tensor.detach(), expected_tensor.detach()
    _compare_attributes(actual_tensor, expected_tensor, rules, place)
    if actual_tensor.layout is expected_tensor.layout and _is_sparse(actual_tensor):
        _compare_parts(actual_tensor, expected_tensor, rules, place)
        return
    rtol, atol = rules.tolerances(
        _dtype_name(actual_tensor), _dtype_name(expected_tensor)
    )
    common = pellucid.promote_types(actual_tensor.dtype, expected_tensor.dtype)
    actual_tensor, expected_tensor = (
        actual_tensor.to(common),
        expected_tensor.to(common),
    )
    if actual_tensor.is_meta or expected_tensor.is_meta:
        return
    if actual_tensor.dim() == 0:
        _compare_scalars(
            actual_tensor.item(), expected_tensor.item(), (rtol, atol), rules, place
        )
    else:
        _compare_elements(actual_tensor, expected_tensor, rtol, atol, rules, place)


def _compare_parts(actual: Tensor, expected: Tensor, rules: _Rules, place: str) -> None:
    """Compares the indices and values of tensors of one sparse layout."""
    if actual.layout is pellucid.sparse_coo and not (
        actual.is_coalesced() and expected.is_coalesced()
    ):
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        rules.fail(
            place,
            "The number of specified values in sparse tensors does not match: "
            f"{actual._nnz()} != {expected._nnz()}",
        )
    pairs = [_named_parts(actual), _named_parts(expected)]
    for name, part in pairs[0].items():
        _compare_tensors(part, pairs[1][name], rules, f"{place}[{name!r}]")


def _is_sparse(tensor: Tensor) -> bool:
    return tensor.layout not in (pellucid.strided, pellucid.jagged)


def _named_parts(tensor: Tensor) -> dict[str, Tensor]:
    if tensor.layout is pellucid.sparse_coo:
        return {"indices": tensor.indices(), "values": tensor.values()}
    if tensor.layout in (pellucid.sparse_csr, pellucid.sparse_bsr):
        pointers, plain = ("crow_indices", "col_indices")
    else:
        pointers, plain = ("ccol_indices", "row_indices")
    names = (pointers, plain, "values")
    return {name: getattr(tensor, name)() for name in names}


def _refuse(actual: Any, expected: Any, rules: _Rules, place: str) -> NoReturn:
    rules.fail(
        place,
        "No comparison pair was able to handle inputs of type "
        f"{type(actual)} and {type(expected)}.",
        TypeError,
    )


def _dtype_name(x: Tensor) -> str:
    return str(x.dtype).rpartition(".")[2]


def _compare_attributes(
    actual: Tensor, expected: Tensor, rules: _Rules, place: str
) -> None:
    checks: list[tuple[bool, str, Callable[[Tensor], Any]]] = [
        (True, "shape", lambda x: x.shape),
        (rules.check_layout, "layout", lambda x: x.layout),
        (rules.check_device, "device", lambda x: x.device),
        (rules.check_dtype, "dtype", lambda x: x.dtype),
        (rules.check_stride, "stride()", lambda x: x.stride()),
    ]
    for is_checked, name, value in checks:
        if is_checked and value(actual) != value(expected):
            values = f"{value(actual)} != {value(expected)}"
            rules.fail(
                place, f"The values for attribute '{name}' do not match: {values}."
            )


def _compare_elements(
    actual: Tensor,
    expected: Tensor,
    rtol: float,
    atol: float,
    rules: _Rules,
    place: str,
) -> None:
    if rtol == atol == 0 and not actual.is_floating_point() and not actual.is_complex():
        close = actual == expected
    else:
        close = pellucid.isclose(actual, expected, rtol, atol, rules.equal_nan)
    if bool(close.all()):
        return
    if not actual.is_floating_point() and not actual.is_complex():
        actual, expected = actual.long(), expected.long()
    gaps = (actual - expected).abs()
    ratios = gaps / expected.abs()
    count, total = int((~close).sum()), close.numel()
    rules.fail(
        place,
        f"Tensor-likes are not {_word(rtol, atol)}!\n\n"
        f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)\n"
        f"Greatest absolute difference: {_greatest(gaps, close)}"
        f"{_allowed(atol, rtol, atol)}\n"
        f"Greatest relative difference: {_greatest(ratios, close)}"
        f"{_allowed(rtol, rtol, atol)}",
    )


def _greatest(values: Tensor, close: Tensor) -> str:
    """The greatest of the values that are not close, and its index."""
    worst = int(values.masked_fill(close, 0).argmax())
    place = pellucid.unravel_index(pellucid.tensor(worst), values.shape)
    at = tuple(int(i) for i in place)
    return f"{values[at].item()} at index {at}"


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
    """The older ``assert_close``, for any dtypes and with wider tolerances."""
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
        tolerances = [_OLDER_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in both]
        rtol, atol = max(r for r, _ in tolerances), max(a for _, a in tolerances)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )
