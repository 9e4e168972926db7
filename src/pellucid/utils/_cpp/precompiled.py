"""The headers of extensions, parsed once for builds with the same flags."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pellucid.utils._cpp import build


def flags(cflags: Sequence[str], includes: Sequence[str]) -> list[str]:
    """The flags by which a build with these others reads the parsed headers, which are
    made at first and take about 100 MB in the folder of extensions. RuntimeError with
    the compiler's output if they do not compile."""
    words = [*shlex.split(build.compiler()), "-fPIC", *build.common(cflags, includes)]
    known = build.contents((), [*includes, build.include_folders()[0]])
    digest = hashlib.sha256("\0".join(words).encode() + known).hexdigest()[:16]
    header = build.root_folder() / "headers" / digest / "extension.h"
    parsed = Path(f"{header}.gch")
    if not parsed.exists():
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("#include <torch/extension.h>\n")
        part = Path(f"{header}.{os.getpid()}.part")
        given = [*words, "-x", "c++-header", str(header), "-o", str(part)]
        done = subprocess.run(given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                "Error precompiling torch/extension.h: "
                + build.first_errors(done.stderr)
            )
        os.replace(part, parsed)
    return ["-include", str(header)]
