"""The parts of a matrix product's kernel, which drivers call one by one.

A part is a mode of the kernel, given in ``params[2]``. Its arguments are listed at its
definition: ``codegen/schedules/gemm_parts.py``, ``gemm_single.py``, ``gemm_runs.py``,
``winograd.py``. The drivers are in runtime/products.
"""

from __future__ import annotations

from typing import Final

from pellucid_compiler.abi.codes import Codes

PART: Final = Codes(
    "Part",
    "The parts of a matrix product's kernel.",
    {
        "product": "the whole product of two matrices",
        "describe": "writes the fields of DESCRIBED",
        "multiply": "a tile of C from panels",
        "pack_columns": "",
        "pack_depth": "",
        "finish": "C from its slices of sums",
        "pack_matrix": "",
        "taps": "one row of C, along the columns",
        "dots": "one row of C, along k",
        "pack_windows": "",
        "multiply_runs": "",
        "lanes": "",
        "winograd_filter": "",
        "winograd_image": "",
        "winograd_gradient": "",
        "winograd_result": "",
        "winograd_weight": "",
        "pack_places": "",
    },
)

# What ``describe`` writes, an int64 each: what a driver must know to arrange panels.
DESCRIBED: Final = (
    "rows",
    "lanes",
    "vectors",
    "vectors_of_a",
    "element_bytes",
    "depth",
    "is_narrow",
    "offset",
    "word",
)

# Winograd's algorithm, in each of two dims.
WINDOW_TAPS: Final = 3  # of a window
TILE_STEP: Final = 2  # elements of C in a tile
TILE_EXTENT: Final = WINDOW_TAPS + TILE_STEP - 1  # of the image, read for a tile
