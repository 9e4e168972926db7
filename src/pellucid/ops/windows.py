"""Windows and resampling: max_pool2d, bilinear upsampling."""

from pellucid.ir.dtypes import lowest
from pellucid.lang import (
    argmax_of,
    cast,
    floor,
    loop,
    make,
    require,
    squeeze_dims,
    tabulate,
    unsqueeze,
    where,
)


@loop(
    "max_pool2d_with_indices(Tensor self, SymInt[2] kernel_size, SymInt[2] stride=[], "
    "SymInt[2] padding=0, SymInt[2] dilation=1, bool ceil_mode=False) "
    "-> (Tensor, Tensor)",
    namespace="nn.functional",
    method=False,
)
def max_pool2d(x, kernel, stride, padding, dilation, ceil_mode):
    """The greatest element of every window, and its place in the image.

    The values are loaded at the indices, so the gradient goes to that element.
    """
    stride = stride or kernel
    _require_window(x, kernel, stride, padding, dilation)
    if x.rank == 3:
        pooled = max_pool2d(
            unsqueeze(x, 0), kernel, stride, padding, dilation, ceil_mode
        )
        return tuple(squeeze_dims(t, [0]) for t in pooled)
    width = x.shape[3]
    size = [
        _num_windows(
            x.shape[2 + d], kernel[d], stride[d], padding[d], dilation[d], ceil_mode
        )
        for d in range(2)
    ]
    padded = x.outside(lowest(x.dtype))

    def inside(r, d):
        """The first tap in the image stands for a window that holds nothing greater."""
        return where(r < 0, r % dilation[d], r)

    def window(b, c, i, j):
        def tap(m, n):
            r = i * stride[0] - padding[0] + m * dilation[0]
            s = j * stride[1] - padding[1] + n * dilation[1]
            return padded[b, c, r, s], inside(r, 0) * width + inside(s, 1)

        return argmax_of(kernel, tap)

    indices = tabulate([*x.shape[:2], *size], window)

    def value(b, c, i, j):
        place = indices[b, c, i, j]
        return x[b, c, place // width, place % width]

    return tabulate(indices.shape, value), indices


def _num_windows(n, kernel, stride, padding, dilation, ceil_mode):
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    up = (span + stride - 1) // stride + 1
    return where((up - 1) * stride >= n + padding, up - 1, up)


def _require_window(x, kernel, stride, padding, dilation):
    require(
        x.rank in (3, 4),
        f"max_pool2d: the input has rank {x.rank}; give (C, H, W) or (N, C, H, W)",
    )
    for word, values in (
        ("kernel_size", kernel),
        ("stride", stride),
        ("dilation", dilation),
    ):
        require(len(values) == 2, f"max_pool2d: {word} must be one or two numbers")
        for value in values:
            require(value > 0, f"max_pool2d: {word} {{}} is not positive", value)
    for d in range(2):
        require(padding[d] >= 0, "max_pool2d: padding {} is negative", padding[d])
        require(
            2 * padding[d] <= (kernel[d] - 1) * dilation[d] + 1,
            "max_pool2d: padding {} is more than half the kernel of {}",
            padding[d],
            kernel[d],
        )
        span = x.shape[x.rank - 2 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1)
        require(span > 0, "max_pool2d: the output would have size {}", span - 1)
    for n in x.shape[x.rank - 3 :]:
        require(n > 0, "max_pool2d: only the batch may be empty; a size is {}", n)


@loop(
    "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
    "float[]? scale_factors) -> Tensor",
    method=False,
)
def upsample_bilinear2d(x, output_size, align_corners, scale_factors):
    """Bilinear interpolation at the centers (or corners) of the output's pixels."""
    require(x.rank == 4, f"upsample_bilinear2d: the input has rank {x.rank}; give 4")
    require(
        (output_size is None) != (scale_factors is None),
        "upsample_bilinear2d: give output_size or scale_factors, not both",
    )
    spatial = x.shape[2:]
    size = output_size or [
        cast(floor(n * s), "int64") for n, s in zip(spatial, scale_factors, strict=True)
    ]
    for n in (*size, *spatial):
        require(n > 0, "upsample_bilinear2d: a size is {}; sizes are positive", n)

    def taps(i, d):
        n, out = spatial[d], size[d]
        if align_corners:
            source = i * where(out > 1, (n - 1) / (out - 1), 0.0)
        else:
            step = n / out if scale_factors is None else 1 / scale_factors[d]
            source = make("maximum", (i + 0.5) * step - 0.5, 0.0)
        low = make("minimum", cast(floor(source), "int64"), n - 1)
        return low, make("minimum", low + 1, n - 1), source - low

    def element(b, c, i, j):
        (i0, i1, u), (j0, j1, v) = taps(i, 0), taps(j, 1)

        def row(r):
            return x[b, c, r, j0] * (1 - v) + x[b, c, r, j1] * v

        return row(i0) * (1 - u) + row(i1) * u

    return tabulate([*x.shape[:2], *size], element)
