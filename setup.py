"""Wheel build: runtime, frozen ops and kernel packs, beside the package.

Metadata is in pyproject.toml; the build itself is ``tools/build.py``, which developers
run too.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
RESULTS = (
    "_C.*.so",
    "distributed/_distributed.*.so",
    "frozen.bin",
    "definitions.bin",
    "kernels-*.pack",
    "_C/_op_types/*.pyi",
)
PACKAGE = ROOT / "src" / "pellucid"


class BuildNative(build_py):
    """Runs tools/build.py, then copies Python sources and built files."""

    def run(self) -> None:
        levels = [] if self.editable_mode else ["--all-levels"]
        build = [sys.executable, str(ROOT / "tools" / "build.py"), *levels]
        subprocess.run(build, check=True)
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "pellucid"
        for pattern in RESULTS:
            for result in PACKAGE.glob(pattern):
                place = target / result.relative_to(PACKAGE)
                place.parent.mkdir(exist_ok=True)
                shutil.copy2(result, place)


class NativeDistribution(Distribution):
    """Marks the wheel as platform-specific although no Extension is declared."""

    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildNative}, distclass=NativeDistribution)
