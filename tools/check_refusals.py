#!/usr/bin/env python3
"""Compares what ops refuse, by dtype, with an installed PyTorch.

Development only: needs torch. The table is ``tests/declarations/refusals.txt``. Prints
one line per op and outcome: refused here but computed there, the reverse, and different
types of errors. Skips ops that PyTorch lacks, and samples that cannot be passed to it.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.declarations.refusals import (
    FLOATS,
    INTEGERS,
    NAMES,
    RECORDED,
    key_in,
)
from tools.op_samples import as_dtype, calls

from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import ListKey, NumberKey, TensorKey


def overload(full_name: str) -> Any:
    """PyTorch's op of that name, or None."""
    name, _, suffix = full_name.partition(".")
    packet = getattr(torch.ops.aten, name, None)
    return getattr(packet, suffix or "default", None)


def value(argument: Any, item: Any, name: str, given: Iterator[Any], env: Any) -> Any:
    """An argument of a sample call as PyTorch takes it."""
    if isinstance(item, TensorKey):
        return next(given)
    if isinstance(item, ListKey):
        items = enumerate(item.items)
        return [value(argument, x, f"{name}[{k}]", given, env) for k, x in items]
    if isinstance(item, NumberKey):
        return env[name]
    if argument.type == "ScalarType" and item.value is not None:
        return getattr(torch, item.value)
    return item.value


def tensor_of(array: np.ndarray, dtype: str) -> torch.Tensor:
    if array.dtype == np.float64 and dtype in INTEGERS:  # as the tests do: no zeros
        array = array > 0 if dtype == "bool" else np.floor(np.abs(array) * 3 + 1)
    narrow = as_dtype(array, dtype)
    tensor = torch.from_numpy(np.array(narrow, copy=True))
    is_bfloat16 = dtype == "bfloat16" and narrow.dtype == np.float32
    return tensor.bfloat16() if is_bfloat16 else tensor


def outcome(name: str, call: Any, dtype: str) -> str:
    """The name of PyTorch's error; empty if it computes, "?" if it cannot be called."""
    arguments = REGISTRY[name].schema.arguments
    given = iter([tensor_of(a, dtype) for a in call.tensors])
    by_position, by_keyword = [], {}
    for argument, item in zip(arguments, key_in(call, dtype), strict=True):
        found = value(argument, item, argument.name, given, call.env)
        if argument.keyword_only:
            by_keyword[argument.name] = found
        else:
            by_position.append(found)
    try:
        overload(name)(*by_position, **by_keyword)
    except Exception as error:
        is_schema = "Expected a value of type" in str(error)
        return "?" if is_schema else type(error).__name__
    return ""


def main() -> None:
    """Prints the differences."""
    warnings.simplefilter("ignore")
    differences = defaultdict(list)
    for name in filter(overload, NAMES):
        if REGISTRY[name].kind == "random":
            continue
        for number, (call, *_) in enumerate(calls(name)):
            for dtype in (*FLOATS, *INTEGERS):
                ours = RECORDED.get((name, number, dtype), "")
                theirs = outcome(name, call, dtype)
                if theirs not in (ours, "?"):
                    differences[name, ours, theirs].append(dtype)
    for (name, ours, theirs), dtypes in sorted(differences.items()):
        here, there = ours or "computes", theirs or "computes"
        print(f"{name}: {here}, PyTorch: {there}: {' '.join(dict.fromkeys(dtypes))}")
    print(f"{len(differences)} differences from PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
