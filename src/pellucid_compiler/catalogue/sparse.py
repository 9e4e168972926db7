"""Products of a sparse matrix, given as its elements, and a dense one."""

from pellucid_compiler.declare import cast, loop, require, scatter


@loop(
    "_sparse_product(Tensor values, Tensor rows, Tensor columns, Tensor dense, "
    "SymInt num_rows) -> Tensor",
    method=False,
    out=False,
    index_error=RuntimeError,
)
def sparse_product(values, rows, columns, dense, num_rows):
    """The matrix with ``values[k]`` at ``rows[k], columns[k]`` times ``dense``.

    The gradient by the values is the product of both sides at the elements alone.
    """
    require(
        values.rank == rows.rank == columns.rank == 1 and dense.rank == 2,
        "_sparse_product: values, rows and columns are vectors, `dense` is a matrix",
    )
    require(
        (rows.shape[0] == values.shape[0]) & (columns.shape[0] == values.shape[0]),
        "_sparse_product: {} values have {} rows and {} columns",
        *(values.shape[0], rows.shape[0], columns.shape[0]),
    )

    def term(k, j):
        place = cast(columns[k], "int64")
        return (cast(rows[k], "int64"), j), values[k] * dense[place, j]

    return scatter([num_rows, dense.shape[1]], [values.shape[0], dense.shape[1]], term)
