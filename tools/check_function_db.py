"""Compares PyTorch's database of custom Functions on PyTorch and on Pellucid.

    python tools/check_function_db.py [part of a name ...]

The Functions of ``torch.testing._internal.autograd_function_db`` are read from the
installed PyTorch (development only) and run with either framework: values, gradients of
first and second order, forward mode, and vmap of values and gradients must be equal,
and errors must have the same type.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import torch

import pellucid


class SampleInput:
    """The arguments of one call."""

    def __init__(self, input: Any, *args: Any, **kwargs: Any) -> None:
        given = kwargs.pop("args", ())
        self.arguments = (input, *given, *args)
        self.keywords = kwargs.pop("kwargs", kwargs)


class OpInfo:
    """One entry of the database."""

    def __init__(self, name: str, **facts: Any) -> None:
        self.name, self.op = name, facts["op"]
        self.samples = facts["sample_inputs_func"]


def database(framework: Any) -> list[OpInfo]:
    """The entries, made from the installed file's text."""
    internal = Path(torch.__file__).parent / "testing" / "_internal"
    text = (internal / "autograd_function_db.py").read_text()
    generator = numpy.random.default_rng(0)

    def make_tensor(*shape: Any, **options: Any) -> Any:
        sizes = shape[0] if shape and isinstance(shape[0], tuple | list) else shape
        tensor = framework.tensor(generator.uniform(0.5, 2.0, sizes).tolist())
        tensor = tensor.to(framework.float64).reshape(tuple(sizes))
        return tensor.requires_grad_(options.get("requires_grad", False))

    names: dict[str, Any] = {
        "torch": framework,
        "np": numpy,
        "make_tensor": make_tensor,
        "OpInfo": OpInfo,
        "SampleInput": SampleInput,
        "all_types_and": lambda *dtypes: dtypes,
        "__name__": "autograd_function_db",
    }
    body = text[text.index("def to_numpy") :]
    exec("from functools import partial\n" + body, names)
    entries: list[OpInfo] = names["autograd_function_db"]
    return entries


def differentiable(framework: Any, result: Any) -> list[Any]:
    values = result if isinstance(result, tuple) else (result,)
    return [v for v in values if isinstance(v, framework.Tensor) and v.requires_grad]


def observations(
    framework: Any, entry: OpInfo, sample: SampleInput
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The quantities to compare, each as a function that computes it."""
    args = sample.arguments
    tensors = [a for a in args if isinstance(a, framework.Tensor)]
    inputs = [t for t in tensors if t.requires_grad]
    forward_ad = framework.autograd.forward_ad

    def call(*given: Any) -> Any:
        return entry.op(*given, **sample.keywords)

    def first(*given: Any) -> Any:
        wanted = [g for g in given if g is not None and any(g is i for i in inputs)]
        outputs = differentiable(framework, call(*given))
        loss = sum((output * output).sum() for output in outputs)
        return framework.autograd.grad(
            loss, wanted or inputs, create_graph=True, allow_unused=True
        )

    def second() -> Any:
        grads = [g for g in first(*args) if g is not None and g.requires_grad]
        loss = sum((grad * grad).sum() for grad in grads)
        return framework.autograd.grad(loss, inputs, allow_unused=True)

    def tangents() -> Any:
        with forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(a.detach(), a.detach().cos())
                if any(a is i for i in inputs)
                else a
                for a in args
            ]
            outputs = call(*duals)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            found = [o for o in outputs if isinstance(o, framework.Tensor)]
            return [forward_ad.unpack_dual(o).tangent for o in found]

    def batched(function: Callable[..., Any]) -> Any:
        rows = [
            framework.stack(
                [
                    a.detach(),
                    a.detach() * 1
                    if a.dtype != framework.float64
                    else a.detach() * 1.5,
                ]
            )
            if isinstance(a, framework.Tensor)
            else a
            for a in args
        ]
        dims = tuple(0 if isinstance(a, framework.Tensor) else None for a in args)
        return framework.func.vmap(function, in_dims=dims)(*rows)

    def summed(*given: Any) -> Any:
        result = call(*given)
        values = result if isinstance(result, tuple) else (result,)
        return sum((v * v).sum() for v in values if v.is_floating_point())

    yield "value", lambda: call(*args)
    yield "first order", lambda: first(*args)
    yield "second order", second
    yield "forward mode", tangents
    yield "vmap", lambda: batched(call)
    yield "vmap of grad", lambda: batched(framework.func.grad(summed))


def plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def attempt(compute: Callable[[], Any]) -> Any:
    try:
        return plain(compute())
    except Exception as error:
        return error


def agree(a: Any, b: Any) -> bool:
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return bool(a == b)


def compare(theirs: OpInfo, ours: OpInfo) -> Iterator[str]:
    pairs = zip(
        theirs.samples(None, "cpu", torch.float64, requires_grad=True),
        ours.samples(None, "cpu", pellucid.float64, requires_grad=True),
        strict=True,
    )
    for expected_sample, given_sample in pairs:
        looked = zip(
            observations(torch, theirs, expected_sample),
            observations(pellucid, ours, given_sample),
            strict=True,
        )
        for (name, expected), (_, given) in looked:
            wanted, found = attempt(expected), attempt(given)
            if not agree(wanted, found):
                yield f"{name}: PyTorch {wanted!r:.150}"
                yield f"  Pellucid {found!r:.400}"


def main(parts: list[str]) -> int:
    failures = 0
    entries = list(zip(database(torch), database(pellucid), strict=True))
    for theirs, ours in entries:
        if parts and not any(part in ours.name for part in parts):
            continue
        wrong = list(dict.fromkeys(compare(theirs, ours)))
        failures += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {ours.name}", *wrong, sep="\n      ")
    print(f"{failures} of {len(entries)} entries differ")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
