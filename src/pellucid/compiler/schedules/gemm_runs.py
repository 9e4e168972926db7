"""Products with a B that columns of C share: the gradient of a convolution's weight.

Every tap of the weight reads the same image, moved by a few places. A driver copies the
image once, a row of channels for each place, and this part reads the copy for each tap
from where the tap begins; k is a run of places in every row of the image.

=================  ==========================================================
``MULTIPLY_RUNS``  data: sums, panels of A, copy of B, places of the runs in it.
                   sizes: m, k in a run, runs, height of a panel of A. strides:
                   of a row of the sums, of a k in B. params[1]: whether to add
                   to the sums
=================  ==========================================================

B has as many columns as a tile. Sums and copies have the accumulator's dtype. The
driver is ``runtime/kernels/shared_windows.h``. The other parts are listed in
``gemm_parts.py``.
"""

from __future__ import annotations

from pellucid.compiler.builder import I64, PTR, Function, Module, Value
from pellucid.compiler.schedules.gemm_tile import Layout, Panel, PanelWriter, Tiling

MULTIPLY_RUNS = 10  # after the parts of gemm_parts.py


def run_functions(module: Module, tiling: Tiling) -> list[Function]:
    """The functions by height of a panel of A, which is their number and one less."""
    made = []
    for rows in range(1, tiling.rows + 1):
        parameters = [*Panel.parameters(), ("places", PTR), ("runs", I64)]
        f = module.function(f"runs_{rows}", parameters, internal=True)
        _RunsWriter(f, tiling, rows).write()
        made.append(f)
    return made


class _RunsWriter(PanelWriter):
    """Writes one tile whose rows of B lie in several runs."""

    def __init__(self, f: Function, tiling: Tiling, rows: int) -> None:
        *panel, self.places, self.runs = f.args
        super().__init__(f, tiling, rows, Layout.ROWS, Panel(*panel))

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
