"""Insertion points in sorted rows, by a library routine;
``composites/sorted_values.py`` handles shapes and dtypes.
"""

from pellucid_compiler.declare import (
    ROUTINES,
    Routine,
    detach,
    library,
    library_op,
    require,
)


@library_op(
    "pellucid::_searchsorted(Tensor sorted_sequence, Tensor self, bool right) -> "
    "Tensor",
    method=False,
    rare=True,
)
def searchsorted(rows, values, right):
    """The insertion point of each value in its row; leading dims of rows broadcast."""
    require(
        rows.dtype == values.dtype,
        f"_searchsorted: rows of {rows.dtype} and values of {values.dtype}",
    )
    require(
        1 <= rows.rank <= max(values.rank, 1),
        f"_searchsorted: rows of {rows.rank} dims and values of {values.rank}",
    )
    for dim in range(-rows.rank, -1):
        require(
            (rows.shape[dim] == 1) | (rows.shape[dim] == values.shape[dim]),
            "_searchsorted: {} rows and {} rows of values",
            *(rows.shape[dim], values.shape[dim]),
        )
    return library("searchsorted", detach(rows), detach(values), right=right)[0]


def _evaluate(rows, values, right):
    """Binary search whose number of steps depends only on the rows' length; NaN sorts
    last."""
    import numpy

    length = rows.shape[-1]
    places = numpy.zeros(values.shape, numpy.int64)
    if not length or not values.size:
        return [places]
    rows = numpy.broadcast_to(rows, (*values.shape[:-1], length))

    def is_before(at):
        element = numpy.take_along_axis(rows, at, -1)
        precedes = element <= values if right else element < values
        return precedes | numpy.isnan(values) if values.dtype.kind == "f" else precedes

    while length > 1:
        half = length // 2
        places += half * is_before(places + half - 1)
        length -= half
    return [places + is_before(places)]


ROUTINES["searchsorted"] = Routine(
    "searchsorted",
    lambda rows, values, right: [(values.shape, "int64")],
    _evaluate,
    core=(1, 1),
)
