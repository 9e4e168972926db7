"""Pooling of regions: boxes of images, divided into bins, a value per bin and channel.

torchvision's ops of the same names use these (``pellucid/_library/vision``). Regions
are rows (image, x1, y1, x2, y2) and have no gradient. The number of samples or elements
of a bin depends on its region: callers pass the number of the largest one.
"""

from pellucid_compiler.declare import (
    argmax_of,
    cast,
    ceil,
    detach,
    floor,
    loop,
    maximum,
    minimum,
    require,
    tabulate,
    total,
    where,
)
from pellucid_compiler.ir.dtypes import lowest

_REGIONS = "Tensor input, Tensor rois, float spatial_scale"
_BINS = "SymInt pooled_height, SymInt pooled_width"
_LARGEST = "SymInt largest_height, SymInt largest_width"
_X1, _Y1, _X2, _Y2 = range(1, 5)


def _check(name, x, rois):
    require(
        x.rank == 4, f"{name}: the input has rank {x.rank}; give (N, C, height, width)"
    )
    require(rois.rank == 2, f"{name}: rois has rank {rois.rank}; give (number, 5)")
    require(rois.shape[1] == 5, f"{name}: rois has {{}} columns; give 5", rois.shape[1])
    require(
        x.dtype == rois.dtype,
        f"{name}: the input is {x.dtype} and rois {rois.dtype}; convert one of them",
    )


def _image(rois, k):
    return cast(rois[k, 0], "int64")


# ---------------------------------------------------------------- sampled bins


class _Samples:
    """The positions of samples along one dim of every region, and their weights.

    A bin has ``ceil(its size)`` samples when ``adaptive``, else ``largest``.
    """

    def __init__(self, rois, columns, scale, size, pooled, largest, options):
        adaptive, offset, least = options
        rois = detach(rois)
        low, high = columns
        self.size = size

        def start(k):
            return rois[k, low] * scale - offset

        def extent(k):
            length = rois[k, high] * scale - offset - start(k)
            return length if least is None else maximum(length, least)

        def bin_size(k):
            return extent(k) / cast(pooled, rois.dtype)

        def count(k):
            return ceil(bin_size(k)) if adaptive else cast(largest, rois.dtype)

        def place(k, i, sample):
            within = (cast(sample, rois.dtype) + 0.5) * bin_size(k) / count(k)
            return start(k) + cast(i, rois.dtype) * bin_size(k) + within

        number = rois.shape[0]
        places = tabulate([number, pooled, largest], place)
        self.counts = tabulate([number], lambda k: maximum(count(k), 0))
        self.holds = tabulate(
            places.shape,
            lambda k, i, s: (
                (cast(s, rois.dtype) < self.counts[k])
                & (places[k, i, s] >= -1)
                & (places[k, i, s] <= cast(size, rois.dtype))
            ),
        )
        self.inside = tabulate(
            places.shape,
            lambda k, i, s: minimum(
                maximum(where(self.holds[k, i, s], places[k, i, s], 0), 0),
                cast(size - 1, rois.dtype),
            ),
        )
        self.low = tabulate(
            places.shape, lambda k, i, s: cast(floor(self.inside[k, i, s]), "int64")
        )
        self.fraction = tabulate(
            places.shape,
            lambda k, i, s: self.inside[k, i, s] - floor(self.inside[k, i, s]),
        )

    def corners(self, k, i, sample):
        """(index, weight) of the two elements next to a sample."""
        low, fraction = self.low[k, i, sample], self.fraction[k, i, sample]
        high = minimum(low + 1, self.size - 1)
        return (low, 1 - fraction), (high, fraction)


def _sampled(x, rois, scale, pooled, largest, options, channel):
    """The mean of a bin's samples: element [k, c, i, j] reads channel(c, i, j)."""
    ys = _Samples(rois, (_Y1, _Y2), scale, x.shape[2], pooled[0], largest[0], options)
    xs = _Samples(rois, (_X1, _X2), scale, x.shape[3], pooled[1], largest[1], options)
    own = detach(rois)

    def summed(k, c, i, j):
        def sample(s, t):
            sum_ = 0
            for row, row_weight in ys.corners(k, i, s):
                for column, weight in xs.corners(k, j, t):
                    element = x[_image(own, k), channel(c, i, j), row, column]
                    sum_ = sum_ + row_weight * weight * element
            return where(ys.holds[k, i, s] & xs.holds[k, j, t], sum_, 0)

        return total(largest, sample)

    return summed, lambda k: maximum(ys.counts[k] * xs.counts[k], 1)


@loop(
    f"pellucid::_roi_align({_REGIONS}, {_BINS}, {_LARGEST}, bool adaptive, bool "
    "aligned) "
    "-> Tensor",
    backward=f"pellucid::_roi_align_backward(Tensor grad, {_REGIONS}, {_BINS}, "
    f"{_LARGEST}, "
    "bool adaptive, bool aligned) -> Tensor",
    backward_out="",
    method=False,
    function=False,
    out=False,
    rare=True,
)
def _roi_align(
    x, rois, scale, height, width, largest_height, largest_width, adaptive, aligned
):
    """The mean of bilinear samples in every bin (He et al. 2017)."""
    _check("roi_align", x, rois)
    pooled, largest = (height, width), (largest_height, largest_width)
    options = (adaptive, 0.5 if aligned else 0.0, None if aligned else 1.0)
    summed, count = _sampled(
        x, rois, scale, pooled, largest, options, lambda c, i, j: c
    )
    sums = tabulate([rois.shape[0], x.shape[1], height, width], summed)
    return tabulate(sums.shape, lambda k, c, i, j: sums[k, c, i, j] / count(k))


def _position_channels(name, x, height, width):
    """Bin (i, j) of result c reads the channel ``(c * height + i) * width + j``."""
    require(
        x.shape[1] % (height * width) == 0,
        f"{name}: {{}} channels do not divide into bins of {{}} by {{}}",
        x.shape[1],
        height,
        width,
    )
    return lambda c, i, j: (c * height + i) * width + j


@loop(
    f"pellucid::_ps_roi_align({_REGIONS}, {_BINS}, {_LARGEST}, bool adaptive) "
    "-> (Tensor, Tensor)",
    backward=f"pellucid::_ps_roi_align_backward(Tensor grad, {_REGIONS}, {_BINS}, "
    f"{_LARGEST}, "
    "bool adaptive) -> Tensor",
    backward_out="",
    method=False,
    function=False,
    out=False,
    rare=True,
)
def _ps_roi_align(
    x, rois, scale, height, width, largest_height, largest_width, adaptive
):
    """``roi_align`` in which every bin reads a different channel (Li et al. 2018), and
    the indices of these channels.
    """
    _check("ps_roi_align", x, rois)
    channel = _position_channels("ps_roi_align", x, height, width)
    pooled, largest = (height, width), (largest_height, largest_width)
    summed, count = _sampled(
        x, rois, scale, pooled, largest, (adaptive, 0.5, None), channel
    )
    shape = [rois.shape[0], x.shape[1] // (height * width), height, width]
    sums = tabulate(shape, summed)
    means = tabulate(shape, lambda k, c, i, j: sums[k, c, i, j] / count(k))
    return means, tabulate(shape, lambda k, c, i, j: cast(channel(c, i, j), "int32"))


# ---------------------------------------------------------------- whole elements


def _rounded(v):
    """To the nearest integer, halves away from zero."""
    return where(v < 0, -floor(0.5 - v), floor(v + 0.5))


class _Elements:
    """The elements of every bin along one dim of the regions."""

    def __init__(self, rois, columns, scale, size, pooled, inclusive):
        rois = detach(rois)
        low, high = columns
        last = size if inclusive else size - 1

        def start(k):
            return _rounded(rois[k, low] * scale)

        def bin_size(k):
            extent = _rounded(rois[k, high] * scale) - start(k)
            extent = extent + 1 if inclusive else extent
            return maximum(extent, 1) / cast(pooled, rois.dtype)

        def clipped(place):
            return minimum(maximum(cast(place, "int64"), 0), last)

        def edge(rounding, k, i):
            border = rounding(cast(i, rois.dtype) * bin_size(k))
            return clipped(border + start(k))

        shape = [rois.shape[0], pooled]
        self.first = tabulate(shape, lambda k, i: edge(floor, k, i))
        self.end = tabulate(shape, lambda k, i: edge(ceil, k, i + 1))

    def count(self, k, i):
        return maximum(self.end[k, i] - self.first[k, i], 0)


@loop(
    f"pellucid::_roi_pool({_REGIONS}, {_BINS}, {_LARGEST}) -> (Tensor, Tensor)",
    backward=f"pellucid::_roi_pool_backward(Tensor grad, {_REGIONS}, {_BINS}, "
    f"{_LARGEST}) "
    "-> Tensor",
    backward_out="",
    method=False,
    function=False,
    out=False,
    rare=True,
)
def _roi_pool(x, rois, scale, height, width, largest_height, largest_width):
    """The greatest element of every bin (Girshick 2015), 0 for an empty one, and its
    index in the flat image, or -1.
    """
    _check("roi_pool", x, rois)
    rows = _Elements(rois, (_Y1, _Y2), scale, x.shape[2], height, True)
    columns = _Elements(rois, (_X1, _X2), scale, x.shape[3], width, True)
    own, fixed = detach(rois), detach(x)
    shape = [rois.shape[0], x.shape[1], height, width]
    low = lowest(x.dtype)

    def inside(k, i, j, s, t):
        return (s < rows.count(k, i)) & (t < columns.count(k, j))

    def place(k, c, i, j):
        def tap(s, t):
            row, column = rows.first[k, i] + s, columns.first[k, j] + t
            is_inside = inside(k, i, j, s, t)
            element = where(is_inside, fixed[_image(own, k), c, row, column], low)
            return element, where(is_inside, row * x.shape[3] + column, -1)

        return argmax_of((largest_height, largest_width), tap)

    places = tabulate(shape, place)

    def value(k, c, i, j):
        at = maximum(places[k, c, i, j], 0)
        element = x[_image(own, k), c, at // x.shape[3], at % x.shape[3]]
        return where(places[k, c, i, j] < 0, 0, element)

    return tabulate(shape, value), tabulate(shape, lambda *p: cast(places[p], "int32"))


@loop(
    f"pellucid::_ps_roi_pool({_REGIONS}, {_BINS}, {_LARGEST}) -> (Tensor, Tensor)",
    backward=f"pellucid::_ps_roi_pool_backward(Tensor grad, {_REGIONS}, {_BINS}, "
    f"{_LARGEST}) "
    "-> Tensor",
    backward_out="",
    method=False,
    function=False,
    out=False,
    rare=True,
)
def _ps_roi_pool(x, rois, scale, height, width, largest_height, largest_width):
    """The mean of every bin in its own channel (Dai et al. 2016), 0 for an empty one,
    and the indices of these channels.
    """
    _check("ps_roi_pool", x, rois)
    channel = _position_channels("ps_roi_pool", x, height, width)
    rows = _Elements(rois, (_Y1, _Y2), scale, x.shape[2], height, False)
    columns = _Elements(rois, (_X1, _X2), scale, x.shape[3], width, False)
    own = detach(rois)
    shape = [rois.shape[0], x.shape[1] // (height * width), height, width]

    def summed(k, c, i, j):
        def tap(s, t):
            row, column = rows.first[k, i] + s, columns.first[k, j] + t
            is_inside = (s < rows.count(k, i)) & (t < columns.count(k, j))
            element = x[_image(own, k), channel(c, i, j), row, column]
            return where(is_inside, element, 0)

        return total((largest_height, largest_width), tap)

    def area(k, i, j):
        return cast(maximum(rows.count(k, i) * columns.count(k, j), 1), x.dtype)

    sums = tabulate(shape, summed)
    means = tabulate(shape, lambda k, c, i, j: sums[k, c, i, j] / area(k, i, j))
    return means, tabulate(shape, lambda k, c, i, j: cast(channel(c, i, j), "int32"))
