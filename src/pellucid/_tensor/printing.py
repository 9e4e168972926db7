"""How tensors print, character for character as PyTorch's do.

``Tensor.__repr__`` calls ``_str``. The values to print are first copied to nested
lists, with ``...`` where a large tensor is summarised; the rest is text formatting. All
elements of a tensor have one width; real and imaginary parts each have their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pellucid
from pellucid import _C, Tensor
from pellucid._package.calls import offered
from pellucid._package.calls.ranges import ranged
from pellucid._tensor.kinds import Kind, kind_of


class _PrintOptions:
    """The options of ``set_printoptions``."""

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


PRINT_OPTS = _PrintOptions()

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


@offered.value
def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Changes how tensors print.

    ``precision`` digits after the point; above ``threshold`` elements only
    ``edgeitems`` at each end of a dimension; ``linewidth`` characters a line;
    ``profile`` "default", "short" or "full" sets those four. ``sci_mode`` forces
    scientific notation on or off; each call that leaves it out resets it.
    """
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    options = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    options.update({name: value for name, value in given.items() if value is not None})
    for name, value in options.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options, as keywords for :func:`set_printoptions`."""
    return dict(vars(PRINT_OPTS))


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Changes the options inside a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


class _IntegerFormat:
    """Integers and booleans, aligned to the widest."""

    def __init__(self, values: list[Any]) -> None:
        self.width = max([1, *(len(str(value)) for value in values)])

    def __call__(self, value: Any) -> str:
        return str(value).rjust(self.width)


class _FloatFormat:
    """Floats in one format: integral ("2."), fixed or scientific."""

    def __init__(self, values: list[float]) -> None:
        self.spec = ".0f"
        self.integral = True
        self.width = 1
        finite = [v for v in values if v != 0 and math.isfinite(v)]
        if not finite:
            return
        self.integral = all(v == math.floor(v) for v in finite)
        scientific = PRINT_OPTS.sci_mode
        if scientific is None:
            low, high = min(map(abs, finite)), max(map(abs, finite))
            scientific = high / low > 1000.0 or high > 1e8 or low < 1e-4
        if scientific:
            self.integral = False
            self.spec = f".{PRINT_OPTS.precision}e"
        elif not self.integral:
            self.spec = f".{PRINT_OPTS.precision}f"
        self.width = max(len(self._digits(value)) for value in finite)

    def _digits(self, value: float) -> str:
        text = format(value, self.spec)
        return text + "." if self.integral and math.isfinite(value) else text

    def __call__(self, value: float) -> str:
        return self._digits(value).rjust(self.width)


class _ComplexFormat:
    """Complex numbers, their real and imaginary parts aligned separately."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _FloatFormat([value.real for value in values])
        self.imag = _FloatFormat([value.imag for value in values])
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return self.real(value.real) + sign + imag


def _shown(tensor: Tensor) -> Any:
    """The values as nested lists, summarised in the middle of each long dimension."""
    edge = PRINT_OPTS.edgeitems
    if tensor.ndim == 0:
        return tensor.item()
    size = tensor.size(0)
    if tensor.ndim == 1:
        if size <= 2 * edge:
            return tensor.tolist()
        ends = (tensor[:edge].tolist(), tensor[size - edge :].tolist())
        return [*ends[0], ..., *ends[1]]
    if size <= 2 * edge:
        return [_shown(tensor[i]) for i in range(size)]
    first = [_shown(tensor[i]) for i in range(edge)]
    last = [_shown(tensor[i]) for i in range(size - edge, size)]
    return [*first, ..., *last]


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    elif values is not ...:
        yield values


def _vector(values: list[Any], indent: int, formatted: Any) -> str:
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (formatted.width + 2))
    if values == [...]:
        texts = ["..."]
    else:
        texts = [" ..." if value is ... else formatted(value) for value in values]
    starts = range(0, len(texts), per_line)
    lines = [", ".join(texts[start : start + per_line]) for start in starts]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(values: Any, rank: int, indent: int, formatted: Any) -> str:
    if rank == 0:
        return str(formatted(values))
    if rank == 1:
        return _vector(values, indent, formatted)
    slices = [
        "..." if value is ... else _nested(value, rank - 1, indent + 1, formatted)
        for value in values
    ]
    separator = "," + "\n" * (rank - 1) + " " * (indent + 1)
    return "[" + separator.join(slices) + "]"


def _tensor_str(tensor: Tensor, indent: int) -> str:
    """The values in brackets, lines after the first indented."""
    if tensor.numel() == 0:
        return "[]"
    cut = tensor.numel() > PRINT_OPTS.threshold
    values = _shown(tensor) if cut else tensor.tolist()
    leaves = list(_leaves(values))
    formatted: Any
    if tensor.is_complex():
        formatted = _ComplexFormat(leaves)
    elif tensor.is_floating_point():
        formatted = _FloatFormat(leaves)
    else:
        formatted = _IntegerFormat(leaves)
    return _nested(values, tensor.ndim, indent, formatted)


def _size_and_dtype(tensor: Tensor) -> list[str]:
    """Fields that the values do not imply: an empty shape, an unusual dtype."""
    size = "size=" + str(tuple(tensor.shape))
    dtype = f"dtype={tensor.dtype}"
    default = pellucid.get_default_dtype()
    if tensor.is_meta:
        return [size] if tensor.dtype == default else [size, dtype]
    if tensor.numel() == 0:
        suffixes = [] if tensor.ndim == 1 else [size]
        return suffixes if tensor.dtype == default else [*suffixes, dtype]
    double = default == pellucid.float64
    complex_default = pellucid.complex128 if double else pellucid.complex64
    usual = (default, complex_default, pellucid.int64, pellucid.bool)
    suffixes = [] if PRINT_OPTS.edgeitems else [size]
    return suffixes if tensor.dtype in usual else [*suffixes, dtype]


def _gradient_suffix(tensor: Tensor) -> list[str]:
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view of a tensor that was changed in no_grad
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name().rpartition('::')[2]}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"


def _batched_str(value: Tensor, level: int) -> str:
    """A batched tensor prints all examples, and the depth of its vmap."""
    depth = [number for number, *_ in _C._levels()].index(level) + 1
    text = _str(value).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={depth}, bdim=0, value=\n    {text}\n)"


def _contents(tensor: Tensor, indent: int, kind: Kind | None) -> str:
    if kind is not None and kind.contents is not None:
        return kind.contents(tensor, indent, _tensor_str)
    return "..." if tensor.is_meta else _tensor_str(tensor.detach(), indent)


@ranged("Tensor.__repr__")
def _str(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """``repr(tensor)``; ``tensor_contents`` replaces the values."""
    level, value, tangent, _ = _C._unwrap(tensor) or (0, tensor, None, False)
    if level and tangent is None:
        return _batched_str(value, level)
    kind = type(tensor)
    plain = kind is Tensor or "_is_param" in vars(kind)  # of nn.Parameter itself
    prefix = "tensor(" if plain else f"{kind.__name__}("
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    special = kind_of(tensor)
    if special is not None and special.text is not None:
        return special.text(tensor, _gradient_suffix(tensor))
    of_kind = None if special is None else special.suffixes
    suffixes += (of_kind or _size_and_dtype)(tensor)
    suffixes += _gradient_suffix(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={_str(tangent)}")
    text = tensor_contents
    if text is None:
        text = _contents(tensor, len(prefix), special)
    result = _with_suffixes(prefix + text, suffixes, len(prefix))
    if getattr(tensor, "_is_param", False) and not plain:
        return f"Parameter({result})"
    return result
