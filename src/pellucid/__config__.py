"""``torch.__config__``: a description of the build, which libraries print and
search.
"""

from __future__ import annotations

from pellucid import _C
from pellucid.version import __version__


def show() -> str:
    """A description of the build."""
    return (
        f"Pellucid {__version__}\n"
        "  - C++20 runtime for x86-64, kernels in packs for x86-64-v3 and x86-64-v4\n"
        "  - LAPACK by NumPy; neither CUDA, MKL nor OpenMP\n"
    )


def parallel_info() -> str:
    """How many threads ops run on."""
    return f"{_C.get_num_threads()} threads of Pellucid's own pool\n"
