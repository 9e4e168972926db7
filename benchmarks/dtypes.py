"""Single calls by dtype: elementary functions, sums, products and conversions.

`breadth.py` says how a row becomes cases; here every row is one in several dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from layers import Row, Table

FLOATING = ("float32", "float64", "bfloat16", "float16")


def in_each_dtype(torch: Any) -> Iterator[tuple[str, Row, Any]]:
    """name, row and dtype of every floating case that is timed with its gradient."""
    for dtype in FLOATING:
        for name, row in _floating(torch).items():
            yield f"{name}, {dtype}", row, getattr(torch, dtype)
    for name, row in _rare(torch).items():
        yield name, row, torch.float32


def _floating(torch: Any) -> Table:
    functional, side = torch.nn.functional, (256, 256)
    names = "exp log sin tanh erf sqrt rsqrt sigmoid"
    table: Table = {
        f"{name} of 256": (getattr(torch, name), side) for name in names.split()
    }
    for name in ("gelu", "silu", "relu", "mish"):
        table[f"{name} of 256"] = (getattr(functional, name), side)
    for name in ("add", "mul", "div", "pow", "maximum"):
        table[f"{name} of 256"] = (getattr(torch, name), [side, side])
    for name in ("sum", "mean", "amax", "var", "softmax", "logsumexp", "cumsum"):
        function = getattr(torch, name)
        for where, dim in (("rows", 1), ("columns", 0)):
            table[f"{name} of {where} of 256"] = (
                lambda x, f=function, d=dim: f(x, dim=d),
                side,
            )
    table["matmul of 128"] = (torch.matmul, [(128, 128)] * 2)
    table["linear of 256"] = (functional.linear, [side, side, (256,)])
    table["layer_norm of 256"] = (
        lambda x, w, b: functional.layer_norm(x, (256,), w, b),
        [side, (256,), (256,)],
    )
    table["clamp of 256"] = (lambda x: x.clamp(-0.5, 0.5), side)
    table["where of 256"] = (lambda x, y: torch.where(x > 0, x, y), [side, side])
    table["transpose of 256"] = (lambda x: x.t().contiguous(), side)
    table["cat of 256"] = (lambda x, y: torch.cat([x, y], 1), [side, side])
    table["flip of 256"] = (lambda x: x.flip(1), side)
    table["sort of rows of 256"] = (lambda x: x.sort()[0], side)
    third = torch.arange(0, 256, 3)
    table["index_select of 256"] = (lambda x: x.index_select(0, third), side)
    return table


def _rare(torch: Any) -> Table:
    """Elementary functions that fewer programs call, in float32."""
    side = (256, 256)
    one = "acos acosh asin asinh atanh cosh sinh tan digamma lgamma erfinv erfc exp2"
    more = "log10 log2 logit sinc i0 round floor ceil trunc frac neg square nan_to_num"
    two = "fmod remainder copysign logaddexp xlogy fmin nextafter ldexp float_power"
    table: Table = {name: (getattr(torch, name), side) for name in one.split()}
    table |= {name: (getattr(torch, name), side) for name in more.split()}
    table |= {name: (getattr(torch, name), [side, side]) for name in two.split()}
    for name in ("i0e", "i1", "ndtr", "ndtri", "log_ndtr", "entr", "erfcx"):
        table[name] = (getattr(torch.special, name), side)
    for name in ("selu", "celu", "softsign", "hardtanh", "logsigmoid", "relu6"):
        table[name] = (getattr(torch.nn.functional, name), side)
    return table


def of_other_dtypes(torch: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls on integers, bools and complex numbers, and conversions."""
    names = "bool uint8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"
    dtypes = {name: getattr(torch, name) for name in names.split()}
    values = torch.randint(0, 100, (256, 256))
    held = {name: values.to(dtype) for name, dtype in dtypes.items()}
    for source, x in held.items():
        for target, dtype in dtypes.items():
            if source != target and not (x.is_complex() and not dtype.is_complex):
                yield f"{source} to {target}", lambda x=x, d=dtype: x.to(d)
    for name in ("uint8", "int16", "int32", "int64"):
        x, y = held[name], held[name] + 1
        for label, call in _of_integers(torch, x, y).items():
            yield f"{label}, {name}", call
    x = torch.complex(torch.randn(256, 256), torch.randn(256, 256))
    for name in ("exp", "log", "sqrt", "sin", "tanh", "abs", "angle", "sum", "square"):
        function = getattr(torch, name)
        yield f"{name}, complex64", lambda f=function: f(x)
    for name in ("add", "mul", "div", "matmul"):
        function = getattr(torch, name)
        yield f"{name}, complex64", lambda f=function: f(x, x)


def _of_integers(torch: Any, x: Any, y: Any) -> dict[str, Callable[[], object]]:
    columns = torch.arange(0, 256, 2)
    return {
        "add": lambda: x + y,
        "mul": lambda: x * y,
        "division": lambda: x / y,
        "floor division": lambda: x // y,
        "remainder": lambda: x % y,
        "and": lambda: x & y,
        "shift": lambda: x << 2,
        "equality": lambda: x == y,
        "clamp": lambda: x.clamp(10, 50),
        "where": lambda: torch.where(x > 5, x, y),
        "sum": lambda: x.sum(),
        "sum of rows": lambda: x.sum(1),
        "sum of columns": lambda: x.sum(0),
        "max of rows": lambda: x.max(1),
        "argmax of columns": lambda: x.argmax(0),
        "cumsum": lambda: x.cumsum(1),
        "sort": lambda: x.sort(1),
        "unique": lambda: x.unique(),
        "topk": lambda: x.topk(8),
        "mode": lambda: x.mode(1),
        "median": lambda: x.median(1),
        "index_select": lambda: x.index_select(1, columns),
        "isin": lambda: torch.isin(x, columns),
        "transpose": lambda: x.t().contiguous(),
        "flip": lambda: x.flip(1),
    }
