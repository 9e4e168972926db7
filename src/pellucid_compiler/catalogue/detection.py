"""Ops of object detectors: patches at offset positions, and suppression of boxes.

torchvision's ``deform_conv2d`` and ``nms`` use them (``pellucid/_library/vision``). Ops
on regions are in regions.py.
"""

from pellucid_compiler.declare import (
    cast,
    const,
    floor,
    loop,
    maximum,
    minimum,
    require,
    scan,
    scan_op,
    tabulate,
)


@loop(
    "pellucid::_deform_columns(Tensor input, Tensor offset, Tensor mask, SymInt[2] "
    "kernel_size, "
    "SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation, SymInt offset_groups, "
    "bool use_mask) -> Tensor",
    method=False,
    function=False,
    out=False,
    rare=True,
)
def _deform_columns(
    x, offset, mask, kernel, stride, padding, dilation, groups, use_mask
):
    """Patches whose elements are read at positions shifted by ``offset`` (Dai et al.
    2017), scaled by ``mask`` (Zhu et al. 2018): (N, C, *kernel, height, width).

    ``offset`` is (N, groups * kernel elements * 2, height, width), of y before x.
    """
    taps = kernel[0] * kernel[1]
    batch, channels = x.shape[0], x.shape[1]
    height, width = offset.shape[2], offset.shape[3]
    require(
        (offset.shape[1] == 2 * groups * taps) & (offset.shape[0] == batch),
        "deform_conv2d: an offset of {} images with {} channels; give {} of them, a "
        "pair per group and element of the kernel",
        offset.shape[0],
        offset.shape[1],
        2 * groups * taps,
    )
    require(
        channels % groups == 0,
        "deform_conv2d: {} channels do not divide into {} groups of offsets",
        channels,
        groups,
    )
    if use_mask:
        require(
            (mask.shape[0] == batch)
            & (mask.shape[1] == groups * taps)
            & (mask.shape[2] == height)
            & (mask.shape[3] == width),
            "deform_conv2d: a mask of {} images with {} channels of {}x{}; give one "
            "channel per pair of offsets, of their sizes",
            *(mask.shape[d] for d in range(4)),
        )
    padded = x.outside(0)

    def pair(c, i, j):
        """The index of the pair of offsets of this element."""
        return c // (channels // groups) * taps + i * kernel[1] + j

    def place(d, n, c, i, j, p, q):
        tap, at = (i, p) if d == 0 else (j, q)
        rest = at * stride[d] - padding[d] + tap * dilation[d]
        return cast(rest, x.dtype) + offset[n, 2 * pair(c, i, j) + d, p, q]

    def element(n, c, i, j, p, q):
        y, u = (place(d, n, c, i, j, p, q) for d in range(2))
        row, column = floor(y), floor(u)
        sum_ = 0
        for down, row_weight in ((0, row + 1 - y), (1, y - row)):
            for right, weight in ((0, column + 1 - u), (1, u - column)):
                corner = (cast(row, "int64") + down, cast(column, "int64") + right)
                sum_ = sum_ + row_weight * weight * padded[n, c, *corner]
        return sum_ * mask[n, pair(c, i, j), p, q] if use_mask else sum_

    return tabulate([batch, channels, kernel[0], kernel[1], height, width], element)


@scan_op(
    "pellucid::_nms_kept(Tensor dets, float iou_threshold) -> Tensor",
    method=False,
    function=False,
    out=False,
    rare=True,
)
def _nms_kept(boxes, threshold):
    """Which boxes (x1, y1, x2, y2), sorted by descending score, are kept: a box is not
    if it overlaps a kept box before it by more than ``threshold`` of their union.
    """
    count = boxes.shape[0]

    def area(box):
        return (box(2) - box(0)) * (box(3) - box(1))

    def step(kept, index, every):
        own = index[()]

        def still(k):
            sides = []
            for low, high in ((0, 2), (1, 3)):
                first = maximum(every[own, low], every[k, low])
                last = minimum(every[own, high], every[k, high])
                sides.append(maximum(last - first, 0))
            common = sides[0] * sides[1]
            union = area(lambda c: every[own, c]) + area(lambda c: every[k, c]) - common
            too_near = cast(common / union, "float64") > threshold
            return kept[k] & ((k <= own) | ~(kept[own] & too_near))

        return tabulate([count], still), tabulate([], lambda: kept[own])

    kept = tabulate([count], lambda k: const(True, "bool"))
    order = tabulate([count], lambda k: k)
    _, flags = scan(step, kept, [order], constants=[boxes])
    return flags
