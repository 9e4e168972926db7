"""Compiles and calls the extensions of ``programs``: what each prints.

``python -m tests.extensions.record [torch | pellucid] [NAME ...]`` records what a
framework prints, and says how long each took to compile.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.cpp"))


def printed(torch: Any, name: str, folder: Path, flags: list[str]) -> tuple[str, float]:
    """What a program prints, and the seconds until its library is loaded."""
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert spec and spec.loader
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    load = importlib.import_module(f"{torch.__name__}.utils.cpp_extension").load
    start = time.perf_counter()
    is_module = not getattr(program, "LIBRARY", False)
    made = load(
        name,
        [str(PROGRAMS / f"{name}.cpp")],
        extra_cflags=flags,
        build_directory=str(folder),
        is_python_module=is_module,
    )
    seconds = time.perf_counter() - start
    with contextlib.redirect_stdout(io.StringIO()) as told:
        program.run(torch, made)
    return told.getvalue(), seconds


def main() -> None:
    """Records the programs that the command names, or all."""
    torch = importlib.import_module(sys.argv[1])
    for name in sys.argv[2:] or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                text, seconds = printed(torch, name, Path(folder), ["-O0"])
            except Exception as error:
                print(f"{name}: {error}")
                continue
        (PROGRAMS / f"{name}.txt").write_text(text)
        print(f"{name}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
