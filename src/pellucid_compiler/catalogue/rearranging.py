"""Loops that move elements: flip, roll, repeat, shuffles, triangles."""

from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    ask,
    const,
    loop,
    num_elements,
    require,
    reshape,
    tabulate,
    where,
    wrap_dim,
)


@loop(
    "flip(Tensor self, int[] dims) -> Tensor",
    layout="operand",
    core=True,
    backward="flip",
)
def flip(x, dims):
    """The elements in reverse order along ``dims``."""
    wrapped = [wrap_dim(d, x.rank) for d in dims]
    require(
        len(set(wrapped)) == len(wrapped),
        f"flip: {list(dims)} names a dim twice",
    )

    def element(*p):
        return x[
            [
                n - 1 - i if d in wrapped else i
                for d, (i, n) in enumerate(zip(p, x.shape, strict=True))
            ]
        ]

    return tabulate(x.shape, element)


@loop(
    "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    backward="roll(shifts=-shifts)",
)
def roll(x, shifts, dims):
    """The elements moved by ``shifts`` along ``dims``, cyclically.

    Without ``dims``, the flattened tensor is rolled.
    """
    if not dims:
        require(
            len(shifts) == 1,
            f"roll: {len(shifts)} shifts and no dims; give a dim for each shift",
        )
        flat = reshape(x, [num_elements(x)])
        return reshape(roll(flat, shifts, [0]), x.shape)
    require(
        len(shifts) == len(dims),
        f"roll: {len(shifts)} shifts for {len(dims)} dims; give one for each",
    )
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(x, shift, wrap_dim(dim, x.rank))
    return x


def _rolled(x, shift, dim):
    size = x.shape[dim]
    moved = shift % where(size == 0, 1, size)

    def element(*p):
        def at(place):
            return x[[*p[:dim], place, *p[dim + 1 :]]]

        return where(p[dim] < moved, at(p[dim] + size - moved), at(p[dim] - moved))

    return tabulate(x.shape, element)


@loop("repeat(Tensor self, SymInt[] repeats) -> Tensor", function=False, core=True)
def repeat(x, repeats):
    """The tensor tiled ``repeats`` times along each dim."""
    added = len(repeats) - x.rank
    require(
        added >= 0,
        f"repeat: {len(repeats)} counts for a tensor of rank {x.rank}; give one for "
        "each of its dims",
    )
    for n in repeats:
        require(n >= 0, "repeat: the count {} is negative", n)
    counts = repeats[added:]
    sizes = [n * r for n, r in zip(x.shape, counts, strict=True)]
    once = _spread(x.shape, counts)
    if once is not None:
        # One copying loop, because merging dims would return a view of x.
        return tabulate(
            [*repeats[:added], *sizes],
            lambda *p: x[[p[added + d] if once[d] else 0 for d in range(x.rank)]],
        )
    pairs = [part for pair in zip(counts, x.shape, strict=True) for part in pair]
    copies = tabulate([*repeats[:added], *pairs], lambda *p: x[p[added + 1 :: 2]])
    return reshape(copies, [*repeats[:added], *sizes])


def _spread(shape, counts):
    """The dims that are not repeated, if all others have size 1; else None."""
    once = []
    for size, count in zip(shape, counts, strict=True):
        once.append(ask(count == 1))
        if not once[-1] and not ask(size == 1):
            return None
    return once


@loop(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    method=False,
    layout="images",
    also=("nn.functional.pixel_shuffle",),
    backward="pixel_unshuffle(downscale_factor=upscale_factor)",
)
def pixel_shuffle(x, upscale_factor):
    """(..., C r², H, W) to (..., C, H r, W r), ``r`` the factor (Shi 2016)."""
    r = _image_factor("pixel_shuffle", x, upscale_factor)
    *leading, channels, height, width = x.shape
    require(
        channels % (r * r) == 0,
        f"pixel_shuffle: {{}} channels do not divide by {r}² = {r * r}",
        channels,
    )
    channels_out = channels // (r * r)
    split = reshape(x, [*leading, channels_out, r, r, height, width])
    return reshape(
        tabulate(
            [*leading, channels_out, height, r, width, r],
            lambda *p: split[[*p[:-4], p[-3], p[-1], p[-4], p[-2]]],
        ),
        [*leading, channels_out, height * r, width * r],
    )


@loop(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    method=False,
    layout="images",
    also=("nn.functional.pixel_unshuffle",),
    backward="pixel_shuffle(upscale_factor=downscale_factor)",
)
def pixel_unshuffle(x, downscale_factor):
    """(..., C, H r, W r) to (..., C r², H, W), ``r`` the factor."""
    r = _image_factor("pixel_unshuffle", x, downscale_factor)
    *leading, channels, height, width = x.shape
    for size in (height, width):
        require(
            size % r == 0,
            f"pixel_unshuffle: an image of {{}} x {{}} does not divide by {r}",
            height,
            width,
        )
    height, width = height // r, width // r
    split = reshape(x, [*leading, channels, height, r, width, r])
    return reshape(
        tabulate(
            [*leading, channels, r, r, height, width],
            lambda *p: split[[*p[:-4], p[-2], p[-4], p[-1], p[-3]]],
        ),
        [*leading, channels * (r * r), height, width],
    )


def _image_factor(name, x, factor):
    require(x.rank >= 3, f"{name} takes at least 3 dims, not {x.rank}")
    require(factor > 0, f"{name}: the factor {factor} is not positive")
    return factor


@loop(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    aliases=("native_channel_shuffle",),
    method=False,
    layout="images",
    also=("nn.functional.channel_shuffle", "nn.functional.native_channel_shuffle"),
)
def channel_shuffle(x, groups):
    """Channels (dim 1) in ``groups`` rows, read column by column (Zhang 2018)."""
    require(x.rank >= 3, f"channel_shuffle takes at least 3 dims, not {x.rank}")
    require(groups > 0, "channel_shuffle: {} groups; give a positive number", groups)
    batch, channels, *rest = x.shape
    require(
        channels % groups == 0,
        "channel_shuffle: {} channels do not divide into {} groups",
        channels,
        groups,
    )
    split = reshape(x, [batch, groups, channels // groups, *rest])
    rotated = tabulate(
        [batch, channels // groups, groups, *rest],
        lambda *p: split[[p[0], p[2], p[1], *p[3:]]],
    )
    return reshape(rotated, x.shape)


channel_shuffle.gradients_seen_as(
    self=lambda grad, groups: api.ops.aten.channel_shuffle(
        grad, grad.shape[1] // groups
    )
)


@loop(
    "tril(Tensor self, SymInt diagonal=0) -> Tensor",
    inplace=True,
    writes_shared=True,
    backward="tril",
)
def tril(x, diagonal):
    """The elements on and below a diagonal of the last two dims, zeros above."""
    return _triangle("tril", x, lambda row, column: column <= row + diagonal)


@loop(
    "triu(Tensor self, SymInt diagonal=0) -> Tensor",
    inplace=True,
    writes_shared=True,
    backward="triu",
)
def triu(x, diagonal):
    """The elements on and above a diagonal of the last two dims, zeros below."""
    return _triangle("triu", x, lambda row, column: column >= row + diagonal)


def _triangle(name, x, inside):
    zero = const(0, x.dtype)
    require(x.rank >= 2, f"{name}: a matrix is needed, the tensor has rank {x.rank}")
    return tabulate(x.shape, lambda *p: where(inside(p[-2], p[-1]), x[p], zero))
