"""Sizes in bytes of the files of the build, and of all installed files, compressed.

python benchmarks/sizes.py [--record]
"""

from __future__ import annotations

import argparse
import tempfile
import zipfile
from pathlib import Path

import results

from pellucid_compiler.codegen.targets.x86 import TARGETS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pellucid"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="in results.json")
    options = parser.parse_args()
    counts = sizes()
    for name, value in counts.items():
        print(f"{value:12,.0f}  {name}")
    if options.record:
        results.record("sizes", counts)


def sizes() -> dict[str, int]:
    """The size of each file or group of files, in bytes."""
    (library,) = PACKAGE.glob("_C.*.so")
    counts: dict[str, int] = {
        "frozen file": (PACKAGE / "frozen.bin").stat().st_size,
        "runtime": library.stat().st_size,
    }
    for pack in sorted(PACKAGE.glob("kernels-*.pack")):
        level = pack.stem.removeprefix("kernels-")
        name = f"pack of {level}" if level in TARGETS else "packs of products"
        counts[name] = counts.get(name, 0) + pack.stat().st_size
    counts["compressed, with all Python files"] = compressed()
    return counts


def compressed() -> int:
    """The size of a wheel of the files, which is a zip archive."""
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for top in (PACKAGE, ROOT / "src" / "pellucid_compiler"):
                for path in sorted(top.rglob("*")):
                    if path.is_file() and "__pycache__" not in path.parts:
                        archive.write(path, path.relative_to(top.parent))
        return file.tell()


if __name__ == "__main__":
    main()
