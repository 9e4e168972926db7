"""In which dtypes composites compute, as recorded in ``dtypes.txt``.

A line is a composite, and the dtypes that its sample call accepts in place of that of
its floating-point tensors or, if it has none, of all tensors. A column of
``docs/ops.md`` is generated from it. After an intended change, rewrite it and review
the difference:

    python -m tests.composites.dtypes
"""

import warnings
from functools import cache
from pathlib import Path

from tools.schema_calls import mapped, sample, tensors

import pellucid as torch
from pellucid_compiler.composites import all_composites
from pellucid_compiler.declare.schema import parse_schema

TABLE = Path(__file__).with_name("dtypes.txt")
FLOATS = ("float32", "float64", "bfloat16", "float16")
DTYPES = (*FLOATS, "int64", "int32", "uint8", "bool")


def composites():
    """The names of all overloads that are declared as composites, once."""
    return sorted({parse_schema(c.schema).full_name for c in all_composites()})


@cache
def recorded():
    """The dtypes by name."""
    lines = (line.split() for line in TABLE.read_text().splitlines())
    return {name: tuple(dtypes) for name, *dtypes in lines}


def taken(full_name):
    """The dtypes that a sample call accepts; none if no tensor has a free dtype."""
    name, _, form = full_name.partition(".")
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:  # of another namespace
        return ()
    overload = getattr(packet, form or "default")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = sample(overload)
        if known is None:
            return ()
        inputs = tensors((known.positional, known.named))
        free = {t.dtype for t in inputs if t.is_floating_point() or t.is_complex()}
        free = free or {t.dtype for t in inputs}  # integers only
        return tuple(d for d in DTYPES if free and takes(overload, known, free, d))


def takes(overload, known, free, dtype):
    def change(tensor):
        if tensor.dtype not in free:
            return tensor.clone()
        real = tensor.real if tensor.is_complex() else tensor
        return real.to(getattr(torch, dtype))

    positional, named = mapped(change, (known.positional, known.named))
    try:
        overload(*positional, **named)
    except Exception:
        return False
    return True


def write_table():
    actual = {name: taken(name) for name in composites()}
    lines = [" ".join((name, *dtypes)) for name, dtypes in actual.items() if dtypes]
    TABLE.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    write_table()
