"""A tensor with the elements of a view replaced: ``select_scatter`` and the like.

They write where a view of ``views.py`` reads: the indices are derived from the view's
loop, so they are declared once.
"""

from pellucid_compiler.catalogue.views import diagonal, select_op, slice_op
from pellucid_compiler.declare import cast, loop, require, scatter
from pellucid_compiler.ir.expr import load_index


def _written(name, view, x, src, *args):
    """``x`` with ``src`` where ``view(x, *args)`` reads."""
    seen = view(x, *args)
    require(
        src.rank == seen.rank,
        f"{name}: src has rank {src.rank}, the part of self that it replaces "
        f"{seen.rank}",
    )
    for d, (size, expected) in enumerate(zip(src.shape, seen.shape, strict=True)):
        require(
            size == expected,
            f"{name}: in dim {d} src has size {{}}, the part of self that it replaces "
            "{}",
            size,
            expected,
        )
    place = load_index(seen.value.node.attrs.store.body)
    return scatter(
        x.shape, seen.shape, lambda *p: (place, cast(src[p], x.dtype)), "assign", x
    )


@loop(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    rare=True,
    layout="operand",
    core=True,
)
def select_scatter(x, src, dim, index):
    """``x`` with ``src`` as the slice at ``index`` of ``dim``."""
    return _written("select_scatter", select_op, x, src, dim, index)


@loop(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, "
    "SymInt? end=None, SymInt step=1) -> Tensor",
    rare=True,
    layout="operand",
    core=True,
)
def slice_scatter(x, src, dim, start, end, step):
    """``x`` with ``src`` as ``x[start:end:step]`` along ``dim``."""
    return _written("slice_scatter", slice_op, x, src, dim, start, end, step)


@loop(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) "
    "-> Tensor",
    rare=True,
    layout="operand",
)
def diagonal_scatter(x, src, offset, dim1, dim2):
    """``x`` with ``src`` as a diagonal."""
    return _written("diagonal_scatter", diagonal, x, src, offset, dim1, dim2)
