"""``A = L D Lᵀ`` of symmetric matrices, and ``L D Lᴴ`` of Hermitian ones, in NumPy.

D has blocks of one or two rows, chosen by Bunch and Kaufman 1977; NumPy has no such
routine. The format is that of LAPACK's sytrf for lower triangles: pivots count from 1,
and are negative and repeated for a block of two rows. Used by ldl.py.
"""

from typing import Any

GROWTH = (1 + 17**0.5) / 8


def ldl(a: Any, hermitian: bool) -> list[Any]:
    """L and D in one lower triangle, the rows exchanged, 0 or the first zero in D."""
    import numpy

    packed = numpy.tril(a)
    pivots = numpy.zeros(a.shape[:-1], numpy.int32)
    info = numpy.zeros(a.shape[:-2], numpy.int32)
    for index in numpy.ndindex(*info.shape):
        info[index] = _Factoring(packed[index], pivots[index], hermitian).run()
    return [packed, pivots, info]


class _Factoring:
    """One matrix, of which the lower triangle is read and written."""

    def __init__(self, a: Any, pivots: Any, hermitian: bool) -> None:
        self.a, self.pivots = a, pivots
        self.hermitian = hermitian and a.dtype.kind == "c"

    def run(self) -> int:
        n, k, first_zero = self.a.shape[0], 0, 0
        self.drop_phases(0)
        while k < n:
            row, count = self.choice(k)
            last = k + count - 1
            if row != last:
                self.exchange(k, last, row)
            if self.a[last, k]:
                self.eliminate(k, count)
            else:
                first_zero = first_zero or k + 1
            self.pivots[k : k + count] = row + 1 if count == 1 else -(row + 1)
            k += count
        return first_zero

    def choice(self, k: int) -> tuple[int, int]:
        """The last row of the next block, and the number of its rows."""
        here = self.diagonal(k)
        below = _size(self.a[k + 1 :, k])
        if not below.size or max(here, below.max()) == 0:
            return k, 1
        row, largest = k + 1 + int(below.argmax()), below.max()
        if here >= GROWTH * largest:
            return k, 1
        row_largest = _size(self.a[row, k:row]).max()
        if row + 1 < self.a.shape[0]:
            row_largest = max(row_largest, _size(self.a[row + 1 :, row]).max())
        if here >= GROWTH * largest * (largest / row_largest):
            return k, 1
        return row, 1 if self.diagonal(row) >= GROWTH * row_largest else 2

    def diagonal(self, k: int) -> Any:
        return abs(self.a[k, k].real) if self.hermitian else _size(self.a[k, k])

    def conjugated(self, x: Any) -> Any:
        return x.conj() if self.hermitian else x

    def exchange(self, start: int, first: int, second: int) -> None:
        a = self.a
        behind = slice(second + 1, None)
        a[behind, [first, second]] = a[behind, [second, first]]
        between = slice(first + 1, second)
        column = self.conjugated(a[between, first].copy())
        a[between, first] = self.conjugated(a[second, between])
        a[second, between] = column
        a[second, first] = self.conjugated(a[second, first])
        a[[first, second], [first, second]] = a[[second, first], [second, first]]
        if first > start:
            a[[first, second], start] = a[[second, first], start]

    def eliminate(self, k: int, count: int) -> None:
        """The Schur complement of the block, and its columns of L."""
        import numpy

        a, end = self.a, k + count
        block = _block(a, k, count, self.hermitian)
        columns = a[end:, k:end]
        factors = numpy.linalg.solve(block.T, columns.T).T
        a[end:, end:] -= numpy.tril(factors @ self.conjugated(columns).T)
        a[end:, k:end] = factors
        self.drop_phases(end)

    def drop_phases(self, start: int) -> None:
        """Make the diagonal real, as that of a Hermitian matrix is."""
        if self.hermitian:
            places = range(start, self.a.shape[0])
            self.a.imag[places, places] = 0


def _block(a: Any, k: int, count: int, hermitian: bool) -> Any:
    block = a[k : k + count, k : k + count].copy()
    if count == 2:
        block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
    return block


def _size(x: Any) -> Any:
    """The size by which LAPACK chooses: for complex numbers, the sum of both parts."""
    import numpy

    return numpy.abs(x.real) + numpy.abs(x.imag)


def ldl_solve(packed: Any, pivots: Any, b: Any, hermitian: bool) -> list[Any]:
    """X with ``A X = b`` for the A that was factored."""
    import numpy

    batch = numpy.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    packed = numpy.broadcast_to(packed, (*batch, *packed.shape[-2:]))
    pivots = numpy.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    x = numpy.broadcast_to(b, (*batch, *b.shape[-2:])).copy()
    for index in numpy.ndindex(*batch):
        _solve_in_place(packed[index], pivots[index], x[index], hermitian)
    return [x]


def _blocks(pivots: Any) -> list[tuple[int, int]]:
    """First row and number of rows of each block; a RuntimeError for other pivots."""
    blocks, k, rows = [], 0, len(pivots)
    while k < rows:
        pivot, count = pivots[k], 1 if pivots[k] > 0 else 2
        if not 1 <= abs(pivot) <= rows or (pivots[k : k + count] != [pivot] * count):
            raise RuntimeError(
                f"ldl_solve: pivot {pivot} is invalid for a matrix of {rows} rows. "
                "Pivots count from 1; those of a 2x2 block\nare negative and repeated. "
                "Pass the pivots that ldl_factor returned."
            )
        blocks.append((k, count))
        k += count
    return blocks


def _solve_in_place(a: Any, pivots: Any, x: Any, hermitian: bool) -> None:
    import numpy

    hermitian = hermitian and a.dtype.kind == "c"
    blocks = _blocks(pivots.tolist())
    for k, count in blocks:
        end, row = k + count, abs(int(pivots[k])) - 1
        x[[end - 1, row]] = x[[row, end - 1]]
        x[end:] -= a[end:, k:end] @ x[k:end]
        x[k:end] = numpy.linalg.solve(_block(a, k, count, hermitian), x[k:end])
    for k, count in reversed(blocks):
        end, row = k + count, abs(int(pivots[k])) - 1
        columns = a[end:, k:end]
        x[k:end] -= (columns.conj() if hermitian else columns).T @ x[end:]
        x[[end - 1, row]] = x[[row, end - 1]]
