"""Products of floats and integers, which are decoded as they are read: weights of few
rows, where a product is as fast as its weight is read.
"""

from pellucid_compiler.declare import (
    bitand,
    cast,
    loop,
    require,
    shift_right,
    tabulate,
    total,
)


@loop(
    "pellucid::_int8_rows(Tensor self, Tensor weight, Tensor scales) -> Tensor",
    method=False,
    out=False,
)
def _int8_rows(x, weight, scales):
    """``self @ weight.T * scales`` of floats and a weight of int8, which is converted
    as it is read: for few rows.
    """
    require(
        x.rank == weight.rank == 2 and scales.rank == 1 and weight.dtype == "int8",
        "_int8_rows: give two matrices, the second of int8, and a vector of scales",
    )
    require(
        (x.shape[1] == weight.shape[1]) & (weight.shape[0] == scales.shape[0]),
        "_int8_rows: sizes {} and {}, {} scales",
        *(x.shape[1], weight.shape[1], scales.shape[0]),
    )

    def element(i, j):
        return total([x.shape[1]], lambda k: x[i, k] * cast(weight[j, k], x.dtype))

    sums = tabulate([x.shape[0], weight.shape[0]], element)
    return tabulate(sums.shape, lambda i, j: sums[i, j] * cast(scales[j], x.dtype))


@loop(
    "pellucid::_int4_rows(Tensor self, Tensor weight, Tensor scales) -> Tensor",
    method=False,
    out=False,
)
def _int4_rows(x, weight, scales):
    """``self @ decoded.T`` of floats and a weight of four bits, ``(bits - 8) * scale +
    zero``, with ``scales[group, row]`` for groups of consecutive elements. A byte has
    an element of the first half of a row, and one of the second in its upper bits.
    """
    require(
        x.rank == weight.rank == 2 and scales.rank == 3 and weight.dtype == "uint8",
        "_int4_rows: give two matrices, the second of uint8, and scales of 3 dims",
    )
    groups, rows = scales.shape[:2]
    size = x.shape[1] // groups
    require(
        (x.shape[1] == weight.shape[1] * 2)
        & (size * groups == x.shape[1])
        & (rows == weight.shape[0]),
        "_int4_rows: sizes {} and {}, {} groups of scales",
        *(x.shape[1], weight.shape[1] * 2, groups),
    )
    half = groups // 2
    shape = [x.shape[0], rows, half]

    def sums(shift):
        def group(i, j, g):
            def term(p):
                bits = bitand(shift_right(weight[j, g * size + p], shift), 15)
                place = g * size + p + (weight.shape[1] if shift else 0)
                return x[i, place] * (cast(bits, x.dtype) - 8)

            return total([size], term)

        return tabulate(shape, group)

    low, high = sums(0), sums(4)
    of_groups = tabulate(
        [x.shape[0], groups],
        lambda i, g: total([size], lambda p: x[i, g * size + p]),
    )

    def element(i, j):
        def term(g):
            later = g + half
            scaled = (
                low[i, j, g] * scales[g, j, 0] + high[i, j, g] * scales[later, j, 0]
            )
            moved = of_groups[i, g] * scales[g, j, 1]
            return scaled + moved + of_groups[i, later] * scales[later, j, 1]

        return total([half], term)

    return tabulate([x.shape[0], rows], element)
