#!/usr/bin/env python3
"""Records the names of PyTorch's main namespaces, and its ops, for tests/surface.

``tests/surface/names.txt`` has a line for each namespace and its names below it,
``aten.txt`` each op of ``torch.ops.aten`` and its overloads; the tests check that
Pellucid exposes no others. Run it, with PyTorch installed, for another version of
PyTorch.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from pathlib import Path

import torch

RESULTS = Path(__file__).resolve().parent.parent / "tests" / "surface"
SPACES = {
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn": torch.nn,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
}


def main() -> None:
    """Write the file."""
    lines: list[str] = []
    for title, space in SPACES.items():
        names = sorted(name for name in dir(space) if name[:2] != "__")
        lines.append(f"{title}:")
        lines += textwrap.wrap(
            " ".join(names), 118, initial_indent="  ", subsequent_indent="  "
        )
    (RESULTS / "names.txt").write_text("\n".join(lines) + "\n")
    (RESULTS / "aten.txt").write_text("\n".join(ops()) + "\n")


def ops() -> list[str]:
    """A line for each op: its name, and its overloads."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten":
            found[name].add(schema.overload_name)
    for full_name in torch._C._dispatch_get_all_op_names():
        space, _, name = full_name.partition("::")
        if space == "aten":
            name, _, overload = name.partition(".")
            found[name].add(overload)
    return [
        " ".join([n, *sorted(o or "default" for o in found[n])]) for n in sorted(found)
    ]


if __name__ == "__main__":
    main()
