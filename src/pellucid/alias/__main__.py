"""Pellucid as an environment's torch: ``python -m pellucid.alias install``.

Puts a distribution ``torch`` of a few files beside Pellucid, so that package managers
count torch as installed, and every process of the environment finds Pellucid by
``import torch``: notebooks, console scripts, plugins, spawned workers. A single
program needs no alias: ``python -m pellucid.run``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pellucid.alias.environment import (
    Refused,
    install,
    is_alias,
    real_torch,
    remove,
    torch_distributions,
)

__all__ = ["Refused", "install", "main", "remove", "status"]

_USAGE = """\
usage: python -m pellucid.alias install | status | remove
  install   import torch finds Pellucid in this environment, and pip sees torch
  status    says what import torch finds here
  remove    takes the alias away again"""


def status() -> str:
    """One line: what ``import torch`` finds in this environment."""
    for found in torch_distributions():
        if is_alias(found):
            where = found.locate_file("torch")
            return f"torch {found.version} is an alias of Pellucid, at {where}"
    there = real_torch()
    return f"torch is PyTorch itself, at {there}" if there else "there is no torch here"


def _install() -> None:
    where = install()
    print(f"torch is an alias of Pellucid now, at {where / 'torch'}")


def _remove() -> None:
    gone = remove()
    print("\n".join(f"removed {path}" for path in gone) or "there is no alias here")


_COMMANDS = {"install": _install, "status": lambda: print(status()), "remove": _remove}


def main(arguments: Sequence[str]) -> None:
    """Runs one of the three commands."""
    if list(arguments) in (["-h"], ["--help"]):
        print(_USAGE)
        return
    if len(arguments) != 1 or arguments[0] not in _COMMANDS:
        print(_USAGE, file=sys.stderr)
        sys.exit(2)
    try:
        _COMMANDS[arguments[0]]()
    except Refused as refusal:
        sys.exit(f"pellucid.alias: {refusal}")


if __name__ == "__main__":
    main(sys.argv[1:])
