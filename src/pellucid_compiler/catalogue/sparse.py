"""Products of a sparse matrix, given as its elements, and a dense one."""

from pellucid_compiler.catalogue.scans import cumsum
from pellucid_compiler.declare import (
    cast,
    const,
    loop,
    require,
    scatter,
    tabulate,
    total,
    where,
)


@loop(
    "pellucid::_sparse_product(Tensor values, Tensor rows, Tensor columns, Tensor "
    "dense, "
    "SymInt num_rows) -> Tensor",
    method=False,
    out=False,
    index_error=RuntimeError,
)
def sparse_product(values, rows, columns, dense, num_rows):
    """The matrix with ``values[k]`` at ``rows[k], columns[k]`` times ``dense``.

    The gradient by the values is the product of both sides, computed at these elements.
    """
    _require_elements("_sparse_product", values, rows, columns, dense)

    def term(k, j):
        place = cast(columns[k], "int64")
        return (cast(rows[k], "int64"), j), values[k] * dense[place, j]

    return scatter([num_rows, dense.shape[1]], [values.shape[0], dense.shape[1]], term)


@loop(
    "pellucid::_compressed_product(Tensor values, Tensor pointers, Tensor columns, "
    "Tensor dense, SymInt longest) -> Tensor",
    method=False,
    out=False,
    index_error=RuntimeError,
)
def compressed_product(values, pointers, columns, dense, longest):
    """``_sparse_product`` of a compressed matrix: row r has the elements from
    ``pointers[r]`` to ``pointers[r + 1]``, at most ``longest``.
    """
    require(pointers.rank == 1, "_compressed_product: pointers are a vector")
    _require_elements("_compressed_product", values, columns, columns, dense)

    def element(r, j):
        first = cast(pointers[r], "int64")
        length = cast(pointers[r + 1], "int64") - first

        def term(k):
            column = cast(columns[first + k], "int64")
            return where(k < length, values[first + k] * dense[column, j], 0)

        return total([longest], term)

    return tabulate([pointers.shape[0] - 1, dense.shape[1]], element)


@compressed_product.vjp(
    "by elements: the bounds of the rows' loops do not bound their gradients' loops"
)
def _(values, pointers, columns, dense, longest, y, grad, derived):
    num_rows = pointers.shape[0] - 1
    begun = scatter(  # how many rows begin at each index; also past the last element
        [values.shape[0] + 1],
        [num_rows],
        lambda r: ([cast(pointers[r], "int64")], const(1, "int64")),
    )
    rows = cumsum(begun, 0)

    def row(k):
        return rows[k] - 1

    def column(k):
        return cast(columns[k], "int64")

    by_values = tabulate(
        values.shape,
        lambda k: total(
            [dense.shape[1]], lambda j: grad[row(k), j] * dense[column(k), j]
        ),
    )
    by_dense = scatter(
        dense.shape,
        [values.shape[0], dense.shape[1]],
        lambda k, j: ((column(k), j), values[k] * grad[row(k), j]),
    )
    return by_values, by_dense


def _require_elements(name, values, rows, columns, dense):
    require(
        values.rank == rows.rank == columns.rank == 1 and dense.rank == 2,
        f"{name}: values, rows and columns are vectors, `dense` is a matrix",
    )
    require(
        (rows.shape[0] == values.shape[0]) & (columns.shape[0] == values.shape[0]),
        f"{name}: {{}} values have {{}} rows and {{}} columns",
        *(values.shape[0], rows.shape[0], columns.shape[0]),
    )
