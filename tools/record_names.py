#!/usr/bin/env python3
"""Records the names of PyTorch's main namespaces for tests/surface.

``tests/surface/names.txt`` has a line of each namespace and its names under it; the
tests hold that Pellucid shows no others. Run it, with PyTorch installed, for another
version of PyTorch.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import torch

RESULT = Path(__file__).resolve().parent.parent / "tests" / "surface" / "names.txt"
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
    RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
