"""Where to find LAPACK: the shared library of the package ``scipy-openblas32``.

The runtime (runtime/library/lapack.cpp) asks once, before the first matrix. The package
is not imported: that would load the library for all modules of the process to see.
"""

from __future__ import annotations

import os


def library_file() -> str:
    """The path of the library, or "" if the package is not installed."""
    from importlib.util import find_spec

    spec = find_spec("scipy_openblas32")
    for package in (spec and spec.submodule_search_locations) or ():
        folder = os.path.join(package, "lib")
        for name in sorted(os.listdir(folder)):
            if name.startswith("libscipy_openblas"):
                return os.path.join(folder, name)
    return ""
