"""Runs a PyTorch program on Pellucid: ``python -m pellucid.run script.py [arg ...]``.

In the program ``import torch`` and the import of any submodule find the Pellucid module
of the same name: the same module object, not a copy. The processes that it starts
inherit this. ``install()`` does it in a running process, such as a notebook;
``python -m pellucid.alias`` for a whole environment.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from pellucid.alias.finder import TorchFinder, become_torch

_USAGE = """\
usage: python -m pellucid.run script.py [argument ...]
       python -m pellucid.run -m module [argument ...]
       python -m pellucid.run -c code [argument ...]
Runs a PyTorch program with Pellucid in the place of torch."""

_SITE = str(Path(__file__).parent / "alias" / "site")


def install() -> None:
    """From now on ``import torch`` finds Pellucid, here and in child processes."""
    if TorchFinder in sys.meta_path:
        return
    if "torch" in sys.modules:
        raise RuntimeError(
            "torch is imported already; call pellucid.run.install() before"
        )
    sys.path.insert(1, _SITE)  # torch's metadata, after the program's own folder
    inherited = os.environ.get("PYTHONPATH")
    paths = [_SITE, inherited] if inherited else [_SITE]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    become_torch()


def _run_script(path: str, arguments: Sequence[str]) -> None:
    if not os.path.exists(path):
        sys.exit(f"pellucid.run: there is no file {path!r}")
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name="__main__")


def main(arguments: Sequence[str]) -> None:
    """Runs the script, module or code given on the command line."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        sys.exit(0 if arguments else 2)
    first, *rest = arguments
    if first in ("-m", "-c") and not rest:
        sys.exit(f"pellucid.run: {first} needs an argument")
    install()
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        _run_script(first, rest)


if __name__ == "__main__":
    main(sys.argv[1:])
