"""GEMM whose B is read from a padded image, in runs of k: implicit im2col.

Every tap of a convolution reads the same image, shifted by a few positions. A driver
copies the image once, with zero padding, and this part reads the copy from the offset
of each tap. For the gradient of the weight, the copy has a row of channels per
position, and k is a run of positions in every row of the image. For a convolution, and
for the gradient of the image, a channel is contiguous, and k is a run of channels per
tap.

=================  ==========================================================
``MULTIPLY_RUNS``  data: sums, panels of A, copy of B, offsets of the runs in it.
                   sizes: m, k in a run, runs, height of a panel of A. strides:
                   of a row of the sums, of a k in B. params[1]: whether to add
                   to the sums
=================  ==========================================================

B has as many columns as a tile. Sums and copies have the accumulator's dtype. The
drivers are ``weight_gradient_panels.h`` and ``padded_image.h`` in
``runtime/products``. The other parts are listed in ``gemm_parts.py``.
"""

from __future__ import annotations

from pellucid_compiler.abi.parts import PART
from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Value
from pellucid_compiler.codegen.schedules.gemm_tile import Layout, Panel, PanelWriter
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling

MULTIPLY_RUNS = PART["multiply_runs"]


def run_functions(module: Module, tiling: Tiling) -> list[Function]:
    """The functions for panels of A of height 1, 2, ..."""
    made = []
    for rows in range(1, tiling.rows + 1):
        parameters = [*Panel.parameters(), ("places", PTR), ("runs", I64)]
        f = module.function(f"runs_{rows}", parameters, internal=True)
        _RunsWriter(f, tiling, rows).write()
        made.append(f)
    return made


class _RunsWriter(PanelWriter):
    """Writes one tile whose rows of B are in several runs."""

    def __init__(self, f: Function, tiling: Tiling, rows: int) -> None:
        *panel, self.places, self.runs = f.args
        super().__init__(f, tiling, rows, Layout.ROWS, Panel(*panel))
        self.prefetches_b = False  # a step does not know where the next run begins

    def write(self) -> None:
        masks: list[Value | None] = [None] * self.tiling.vectors
        addresses = self.addresses(self.panel.c, self.panel.c_row, len(masks))
        sums = self.add_earlier(self._all_runs(masks), addresses, masks)
        self.store(sums, addresses, masks)
        self.f.ret()

    def _all_runs(self, masks: list[Value | None]) -> list[Value]:
        f, panel = self.f, self.panel
        zero = f.constant(0, self.tiling.vector)

        def run(number: Value, carried: list[Value]) -> list[Value]:
            place = f.load(f.offset(self.places, number * 8), I64)
            a, *sums = carried
            a, _, *sums = self.products(a, f.offset(panel.b, place), sums, masks)
            return [a, *sums]

        sums = [zero] * (self.rows * len(masks))
        return f.loop(0, self.runs, 1, [panel.a, *sums], run)[1:]
