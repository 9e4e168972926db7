"""The ops im2col and col2im: patches of images as columns, and their sum."""

from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    loop,
    require,
    reshape,
    scatter,
    squeeze_dims,
    tabulate,
    unsqueeze,
)


def _num_blocks(name, size, kernel, dilation, padding, stride):
    """The number of kernel positions in each dim of an image of ``size``."""
    for word, values, least in (
        ("kernel_size", kernel, 1),
        ("dilation", dilation, 1),
        ("padding", padding, 0),
        ("stride", stride, 1),
    ):
        for value in values:
            require(value >= least, f"{name}: {word} {{}} is too small", value)
    counts = []
    for n, k, e, p, s in zip(size, kernel, dilation, padding, stride, strict=True):
        span = n + 2 * p - e * (k - 1) - 1
        require(
            span >= 0,
            f"{name}: a kernel of size {{}} with dilation {{}} is larger than the "
            "padded image of size {}",
            k,
            e,
            n + 2 * p,
        )
        counts.append(span // s + 1)
    return counts


@loop(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "
    "int[2] stride) -> Tensor",
    refuses=("integers",),
    namespace="nn",
    method=False,
)
def im2col(x, kernel, dilation, padding, stride):
    """(N, C, H, W) to (N, C * kernel elements, kernel positions)."""
    require(x.rank in (3, 4), f"unfold: the input has rank {x.rank}; give 3 or 4 dims")
    if x.rank == 3:
        columns = im2col(unsqueeze(x, 0), kernel, dilation, padding, stride)
        return squeeze_dims(columns, [0])
    count = _num_blocks("unfold", x.shape[2:], kernel, dilation, padding, stride)
    padded = x.outside(0)

    def element(n, c, m, t, i, j):
        return padded[
            n,
            c,
            i * stride[0] + m * dilation[0] - padding[0],
            j * stride[1] + t * dilation[1] - padding[1],
        ]

    patches = tabulate([*x.shape[:2], *kernel, *count], element)
    rows = x.shape[1] * kernel[0] * kernel[1]
    return reshape(patches, [x.shape[0], rows, count[0] * count[1]])


im2col.gradients_seen_as(
    self=lambda grad, size, kernel_size, dilation, padding, stride: api.ops.aten.col2im(
        grad, size[-2:], kernel_size, dilation, padding, stride
    )
)


@loop(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, "
    "int[2] padding, int[2] stride) -> Tensor",
    refuses=("integers",),
    namespace="nn",
    method=False,
    core=True,
    backward="im2col",
)
def col2im(x, output_size, kernel, dilation, padding, stride):
    """The sum of patches at their positions: the transpose of ``im2col``."""
    require(x.rank in (2, 3), f"fold: the input has rank {x.rank}; give 2 or 3 dims")
    if x.rank == 2:
        image = col2im(unsqueeze(x, 0), output_size, kernel, dilation, padding, stride)
        return squeeze_dims(image, [0])
    count = _num_blocks("fold", output_size, kernel, dilation, padding, stride)
    taps = kernel[0] * kernel[1]
    require(
        x.shape[1] % taps == 0,
        "fold: {} rows do not divide into patches of {} elements",
        x.shape[1],
        taps,
    )
    require(
        x.shape[2] == count[0] * count[1],
        "fold: there are {} columns; kernel, stride and output size make {}",
        x.shape[2],
        count[0] * count[1],
    )
    channels = x.shape[1] // taps
    patches = reshape(x, [x.shape[0], channels, *kernel, *count])

    def term(n, c, m, t, i, j):
        place = [
            n,
            c,
            i * stride[0] + m * dilation[0] - padding[0],
            j * stride[1] + t * dilation[1] - padding[1],
        ]
        return place, patches[n, c, m, t, i, j]

    return scatter([x.shape[0], channels, *output_size], patches.shape, term, drop=True)
