"""Resampling of images: linear, cubic and nearest interpolation."""

from pellucid_compiler.catalogue.real_only import ALL_BUT_BYTES
from pellucid_compiler.declare import (
    ask,
    cast,
    const,
    floor,
    loop,
    maximum,
    minimum,
    require,
    reshape,
    tabulate,
    where,
)


def _options(dims, corners=True, gradient=False):
    """The arguments after the tensor: the output's sizes, and per dim the scale factor
    if it is not the quotient of the sizes.
    """
    names = ("scales",) if dims == 1 else [f"scales_{d}" for d in "dhw"[-dims:]]
    scales = ", ".join(f"float? {name}=None" for name in names)
    align_corners = "bool align_corners, " if corners else ""
    size = f", SymInt[{dims + 2}] input_size" if gradient else ""
    return f"SymInt[{dims}] output_size{size}, {align_corners}{scales}"


def _gradient(name, dims, corners=True):
    """The schema of the op for the gradient of ``name``."""
    options = _options(dims, corners, gradient=True)
    return f"{name}_backward(Tensor grad_output, {options}) -> Tensor"


def _require_sizes(name, x, size):
    dims = len(size)
    require(x.rank == dims + 2, f"{name}: the input has rank {x.rank}; give {dims + 2}")
    for n in (*size, *x.shape[2:]):
        require(n > 0, f"{name}: a size is {{}}; sizes are positive", n)


def _source(i, n, out, scale, align_corners, cubic=False):
    """The input coordinate of the center (or corner) of the output's pixel ``i``."""
    if align_corners:
        return i * where(out > 1, (n - 1) / (out - 1), 0.0)
    step = n / out if scale is None else 1 / scale
    place = (i + 0.5) * step - 0.5
    return place if cubic else maximum(place, 0.0)


def _declare_linear(name, dims):
    @loop(
        f"{name}(Tensor self, {_options(dims)}) -> Tensor",
        refuses=("integers", "bool") if dims != 2 else ALL_BUT_BYTES,
        namespace="nn",
        method=False,
        layout="images",
        backward=_gradient(name, dims),
        backward_reads="input_size=sizes(self)",
    )
    def upsample_linear(x, size, align_corners, *scales):
        """Linear interpolation at the centers (or corners) of the output's pixels."""
        _require_sizes(name, x, size)
        spatial = x.shape[2:]
        outer = zip(spatial[:-1], size[:-1], strict=True)
        keeps_half = [ask(n <= 2 * m) for n, m in outer]

        def taps(i, d):
            n = spatial[d]
            source = _source(i, n, size[d], scales[d], align_corners)
            low = minimum(cast(floor(source), "int64"), n - 1)
            return low, minimum(low + 1, n - 1), source - low

        def resized(image, first, last):
            """``image`` with dims ``first`` to ``last`` resized."""
            ones = [0] * (image.rank - x.rank)

            def element(*p):
                pairs = [taps(p[2 + d], d) for d in range(first, last)]

                def along(places, left):
                    if not left:
                        before, behind = p[: 2 + first], p[2 + last :]
                        return image[[*ones, *before, *places, *behind]]
                    (low, high, part), *others = left
                    return (
                        along([*places, low], others) * (1 - part)
                        + along([*places, high], others) * part
                    )

                return along([], pairs)

            shape = image.shape[len(ones) :]
            before, behind = shape[: 2 + first], shape[2 + last :]
            return tabulate([*before, *size[first:last], *behind], element)

        # If at least half of a dim's indices are read, the later dims are resized
        # first: fewer elements need loads at computed indices. The reshape, which needs
        # no copy, materialises them, so that readers do not recompute them.
        image, end = x, dims
        for d in reversed(range(1, dims)):
            if keeps_half[d - 1]:
                image, end = resized(image, d, end), d
                image = reshape(image, [1, *image.shape])
        return resized(image, 0, end)


for _name, _dims in (
    ("upsample_linear1d", 1),
    ("upsample_bilinear2d", 2),
    ("upsample_trilinear3d", 3),
):
    _declare_linear(_name, _dims)


def _declare_nearest(dims, exact):
    name = f"{'_upsample_nearest_exact' if exact else 'upsample_nearest'}{dims}d"

    @loop(
        f"{name}(Tensor self, {_options(dims, corners=False)}) -> Tensor",
        refuses=ALL_BUT_BYTES,
        namespace="nn",
        method=False,
        layout="images",
        backward=_gradient(name, dims, corners=False),
        backward_reads="input_size=sizes(self)",
    )
    def upsample_nearest(x, size, *scales):
        """The input's pixel that contains an output pixel's corner (exact: center)."""
        _require_sizes(name, x, size)

        def place(i, d):
            n = x.shape[2 + d]
            step = n / size[d] if scales[d] is None else 1 / scales[d]
            # PyTorch computes the coordinate in float32.
            near = cast(i, "float32") + (0.5 if exact else 0.0)
            index = cast(floor(near * cast(step, "float32")), "int64")
            return minimum(index, n - 1)

        return tabulate(
            [*x.shape[:2], *size],
            lambda b, c, *p: x[[b, c, *(place(i, d) for d, i in enumerate(p))]],
        )


for _dims in (1, 2, 3):
    _declare_nearest(_dims, False)
    _declare_nearest(_dims, True)


def _cubic_weights(t):
    """The four weights of cubic convolution at ``t`` in [0, 1), a = -0.75 (Keys
    1981).
    """
    a = -0.75

    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


@loop(
    f"upsample_bicubic2d(Tensor self, {_options(2)}) -> Tensor",
    refuses=ALL_BUT_BYTES,
    namespace="nn",
    method=False,
    layout="images",
    backward=_gradient("upsample_bicubic2d", 2),
    backward_reads="input_size=sizes(self)",
)
def upsample_bicubic2d(x, size, align_corners, *scales):
    """Cubic convolution over 4 x 4 pixels; pixels outside equal those of the border."""
    _require_sizes("upsample_bicubic2d", x, size)

    def taps(i, d):
        n = x.shape[2 + d]
        source = _source(i, n, size[d], scales[d], align_corners, cubic=True)
        low = floor(source)
        first = cast(low, "int64") - 1
        places = [minimum(maximum(first + k, 0), n - 1) for k in range(4)]
        return list(zip(places, _cubic_weights(source - low), strict=True))

    def element(b, c, i, j):
        rows, columns = taps(i, 0), taps(j, 1)
        value = const(0, x.dtype)
        for r, u in rows:
            row = const(0, x.dtype)
            for s, v in columns:
                row = row + x[b, c, r, s] * v
            value = value + row * u
        return value

    return tabulate([*x.shape[:2], *size], element)
