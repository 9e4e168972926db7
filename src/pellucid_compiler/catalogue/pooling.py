"""Pooling: the greatest element or the mean of every window of the last dims."""

from pellucid_compiler.catalogue.real_only import NARROW, require_real
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    argmax_of,
    ask,
    cast,
    const,
    greatest,
    is_one,
    loop,
    maximum,
    minimum,
    num_elements,
    require,
    reshape,
    save_for_backward,
    scatter,
    squeeze_dims,
    tabulate,
    total,
    unsqueeze,
    where,
)
from pellucid_compiler.ir.dtypes import HALF, highest, lowest

# Backends implement the gradients of pooling over this number of dims, too.
_CORE = (
    *("avg_pool2d", "avg_pool2d_backward", "avg_pool3d"),
    *("max_pool2d_with_indices", "max_pool2d_with_indices_backward"),
    "max_pool3d_with_indices",
)
# PyTorch pools one dim as two and has no gradient ops for it: these ops are our own.
_OWN = "pellucid::"


class _Windows:
    """The checked geometry of pooling windows: one number per spatial dim each."""

    def __init__(self, name, dims, x, kernel, stride, padding, dilation, ceil_mode):
        self.dims = dims
        self.kernel = self._each_dim(kernel)
        self.stride = self._each_dim(stride or kernel)
        self.padding = self._each_dim(padding)
        self.dilation = self._each_dim(dilation)
        self._require(name, x)
        self.dilation = [const(1) if ask(e == 1) else e for e in self.dilation]
        self.spatial = x.shape[x.rank - self.dims :]
        self.size = [self._count(d, ceil_mode) for d in range(self.dims)]
        for n in self.size:
            require(n > 0, f"{name}: the output would have size {{}}", n)

    def _each_dim(self, values):
        """Repeats a single number for all dims."""
        return list(values) * self.dims if len(values) == 1 else values

    def _require(self, name, x):
        dims = self.dims
        require(
            x.rank in (dims + 1, dims + 2),
            f"{name}: the input has rank {x.rank}; give (C, ...) or (N, C, ...) with "
            f"{dims} dims behind the channels",
        )
        for word in ("kernel", "stride", "padding", "dilation"):
            values = getattr(self, word)
            require(len(values) == dims, f"{name}: {word} must be {dims} numbers")
            for value in values if word != "padding" else ():
                require(value > 0, f"{name}: {word} {{}} is not positive", value)
        for pad, kernel, step in zip(
            self.padding, self.kernel, self.dilation, strict=True
        ):
            require(pad >= 0, f"{name}: padding {{}} is negative", pad)
            require(
                2 * pad <= (kernel - 1) * step + 1,
                f"{name}: padding {{}} is more than half the kernel of {{}}",
                pad,
                kernel,
            )
        for n in x.shape[x.rank - dims - 1 :]:
            require(n > 0, f"{name}: only the batch may be empty; a size is {{}}", n)

    def _count(self, d, ceil_mode):
        n, step, padding = self.spatial[d], self.stride[d], self.padding[d]
        span = n + 2 * padding - self.dilation[d] * (self.kernel[d] - 1) - 1
        if not ceil_mode:
            return (span + step) // step
        up = (span + 2 * step - 1) // step
        return where((up - 1) * step >= n + padding, up - 1, up)

    def place(self, d, i, tap):
        """The position of tap ``tap`` of window ``i`` in dim ``d``."""
        return i * self.stride[d] - self.padding[d] + tap * self.dilation[d]

    def places(self, p, taps):
        return [self.place(d, p[d], taps[d]) for d in range(self.dims)]

    def offset(self, taps):
        """The offset of tap ``taps`` from the window's first in the flat image."""
        return self._flat([tap * e for tap, e in zip(taps, self.dilation, strict=True)])

    def start(self, p):
        """The index in the flat image where window ``p`` begins; it may be negative."""
        return self._flat([self.place(d, p[d], 0) for d in range(self.dims)])

    def _flat(self, places):
        flat = places[0]
        for d in range(1, self.dims):
            flat = flat * self.spatial[d] + places[d]
        return flat

    def first_inside(self, p):
        """The first tap of window ``p`` inside the image."""
        first = []
        for d, step in enumerate(self.dilation):
            place = self.place(d, p[d], 0)
            first.append(where(place < 0, (step - 1 - place) // step, 0))
        return first


def _batched(function, x, dims):
    """``function`` of an input with a batch dim, which is added if it is missing."""
    if x.rank == dims + 2:
        return function(x)
    result = function(unsqueeze(x, 0))
    if isinstance(result, tuple):
        return tuple(squeeze_dims(t, [0]) for t in result)
    return squeeze_dims(result, [0])


def _greatest_places(x, windows):
    """The flat index in the image of the greatest element of every window."""
    dims = windows.dims
    padded = x.outside(lowest(x.dtype))
    one_apart = all([is_one(step) for step in windows.dilation])

    def inside(d, r):
        """The first tap in the image wins if no element is greater than the padding."""
        if one_apart:
            return maximum(r, 0)
        return where(r < 0, r % windows.dilation[d], r)

    def window(b, c, *p):
        def tap(*taps):
            places = windows.places(p, taps)
            flat = inside(0, places[0])
            for d in range(1, dims):
                flat = flat * windows.spatial[d] + inside(d, places[d])
            return padded[[b, c, *places]], flat

        return argmax_of(windows.kernel, tap)

    return tabulate([*x.shape[:2], *windows.size], window)


def _winning_offsets(x, windows):
    """The offset of the greatest element from its window's first tap in the flat image;
    0 if no element is greater than the padding.

    Offsets are as narrow as elements if they fit: vectors hold equally many of both.
    """
    padded = x.outside(lowest(x.dtype))
    is_narrow = ask(num_elements(x, range(2, x.rank)) <= highest("int32"))
    dtype = "int32" if is_narrow else "int64"

    def window(b, c, *p):
        def tap(*taps):
            places = windows.places(p, taps)
            return padded[[b, c, *places]], cast(windows.offset(taps), dtype)

        return argmax_of(windows.kernel, tap)

    return tabulate([*x.shape[:2], *windows.size], window)


def _flat_shape(x, spatial):
    """The shape of the image with its spatial dims flattened."""
    size = const(1)
    for n in spatial:
        size = size * n
    return [*x.shape[:2], size]


def _with_places(x, indices, spatial):
    """The elements at flat indices of the image, and the indices."""
    flat = reshape(x, _flat_shape(x, spatial))
    values = tabulate(indices.shape, lambda b, c, *p: flat[b, c, indices[[b, c, *p]]])
    return values, indices


def _max_pool_with_indices(x, windows):
    def run(x):
        return _with_places(x, _greatest_places(x, windows), windows.spatial)

    return _batched(run, x, windows.dims)


def _out_with_indices(name, options, dims):
    """The ``out=`` form that also returns indices; PyTorch has none for one dim."""
    if dims == 1:
        return ()
    results = "Tensor(a!) out, Tensor(b!) indices"
    return (f"{name}.out({options}, *, {results}) -> (Tensor(a!), Tensor(b!))",)


def _seen_max_of_rows(x, kernel, stride, padding, dilation, ceil_mode):
    sizes = [1, *kernel], [1, *(stride or kernel)], [0, *padding], [1, *dilation]
    images = api.ops.aten.max_pool2d_with_indices.default
    values, indices = images(x.unsqueeze(-2), *sizes, ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def _seen_mean_of_rows(x, kernel, stride, padding, ceil_mode, count_include_pad):
    sizes = [1, *kernel], [1, *(stride or kernel)], [0, *padding]
    images = api.ops.aten.avg_pool2d.default
    return images(x.unsqueeze(-2), *sizes, ceil_mode, count_include_pad).squeeze(-2)


def _declare_max_pool(dims):
    options = (
        f"Tensor self, int[{dims}] kernel_size, int[{dims}] stride=[], "
        f"int[{dims}] padding=0, int[{dims}] dilation=1, bool ceil_mode=False"
    )
    symbolic = ("kernel_size", "stride", "padding", "dilation")
    name, own = f"max_pool{dims}d", _OWN if dims == 1 else ""

    @loop(
        f"{name}_with_indices({options}) -> (Tensor, Tensor)",
        refuses=("bool",),
        namespace="nn",
        method=False,
        out=False,
        forms=_out_with_indices(f"{name}_with_indices", options, dims),
        symbolic=symbolic,
        layout="images",
        autocast="float32" if dims == 3 else "",
        backward=f"{own}{name}_with_indices_backward(Tensor grad_output, Tensor self, "
        f"int[{dims}] kernel_size, int[{dims}] stride, int[{dims}] padding, "
        f"int[{dims}] dilation, bool ceil_mode, Tensor indices) -> Tensor",
        backward_reads="indices=result1",
        core=_CORE,
    )
    def max_pool_with_indices(x, kernel, stride, padding, dilation, ceil_mode):
        """The greatest element of every window, and its index in the image.

        The values are loaded at the indices, so the gradient goes to that element.
        """
        windows = _Windows(name, dims, x, kernel, stride, padding, dilation, ceil_mode)
        return _max_pool_with_indices(x, windows)

    @loop(
        f"{name}({options}) -> Tensor",
        refuses=("integers", "bool") if dims == 1 else ("bool",),
        method=False,
        out=False,
        node=f"MaxPool{dims}DWithIndicesBackward0" if dims > 1 else "",
        symbolic=symbolic,
        layout="images",
        autocast="float32" if dims == 3 else "",
    )
    def max_pool(x, kernel, stride, padding, dilation, ceil_mode):
        """The greatest element of every window."""
        windows = _Windows(name, dims, x, kernel, stride, padding, dilation, ceil_mode)

        def run(x):
            save_for_backward(_winning_offsets(x, windows))
            padded = x.outside(lowest(x.dtype))

            def window(b, c, *p):
                return greatest(
                    windows.kernel, lambda *t: padded[[b, c, *windows.places(p, t)]]
                )

            return tabulate([*x.shape[:2], *windows.size], window)

        return _batched(run, x, dims)

    if dims == 1:
        max_pool.seen_as(_seen_max_of_rows)
    else:
        max_pool.seen_as(
            lambda *arguments: getattr(api.ops.aten, f"{name}_with_indices").default(
                *arguments
            )
        )

    @max_pool.vjp(
        "PyTorch's gradient is not the derivative: the first of ties takes all of it"
    )
    def _(x, kernel, stride, padding, dilation, ceil_mode, y, offsets, grad, derived):
        windows = _Windows(name, dims, x, kernel, stride, padding, dilation, ceil_mode)

        def run(x):
            wide = grad if grad.rank == dims + 2 else unsqueeze(grad, 0)
            is_inside = all([ask(pad == 0) for pad in windows.padding])

            def term(b, c, *p):
                offset = cast(offsets[[b, c, *p]], "int64")
                if not is_inside:  # the first tap in the image gets the padding's
                    first = windows.offset(windows.first_inside(p))
                    offset = where(offset == 0, first, offset)
                return [b, c, windows.start(p) + offset], wide[[b, c, *p]]

            flat = scatter(_flat_shape(x, windows.spatial), offsets.shape, term)
            return reshape(flat, x.shape)

        return _batched(run, x, dims)


for _dims in (1, 2, 3):
    _declare_max_pool(_dims)


def _mean_of_windows(
    x, kernel, stride, padding, ceil_mode, count_include_pad, divisor, dims
):  # fmt: skip
    name = f"avg_pool{dims}d"
    require_real(name, x)
    ones = [const(1)] * dims
    windows = _Windows(name, dims, x, kernel, stride, padding, ones, ceil_mode)
    kernel, padding = windows.kernel, windows.padding
    if divisor is not None:
        require(divisor != 0, f"{name}: divisor_override is {{}}", divisor)

    def counted(d, i):
        """The number of elements of window ``i`` that count in dim ``d``."""
        n, pad = windows.spatial[d], windows.padding[d]
        start = windows.place(d, i, 0)
        end = minimum(start + kernel[d], n + pad)
        if count_include_pad:
            return end - start
        return minimum(end, n) - maximum(start, 0)

    plain = not ceil_mode and (count_include_pad or all([ask(p == 0) for p in padding]))

    def weight(p):
        if divisor is not None:
            return cast(divisor, x.dtype)
        count = const(1)
        for d in range(dims):
            count = count * (kernel[d] if plain else counted(d, p[d]))
        return cast(count, x.dtype)

    def run(x):
        padded = x.outside(0)

        def window(b, c, *p):
            return total(kernel, lambda *t: padded[[b, c, *windows.places(p, t)]])

        sums = tabulate([*x.shape[:2], *windows.size], window)

        def mean(b, c, *p):
            whole, count = sums[[b, c, *p]], weight(p)
            if x.is_floating:
                return whole / count
            size = abs(whole) // abs(count)
            return where((whole < 0) != (count < 0), -size, size)

        return tabulate(sums.shape, mean)

    return _batched(run, x, dims)


@loop(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
    "bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
    refuses=NARROW,
    method=False,
    also=("nn.functional.avg_pool1d",),
)
def avg_pool1d(x, kernel, stride, padding, ceil_mode, count_include_pad):
    """The mean of every window of the last dim."""
    return _mean_of_windows(
        x, kernel, stride, padding, ceil_mode, count_include_pad, None, 1
    )


avg_pool1d.seen_as(_seen_mean_of_rows)


def _declare_avg_pool(dims):
    @loop(
        f"avg_pool{dims}d(Tensor self, int[{dims}] kernel_size, "
        f"int[{dims}] stride=[], int[{dims}] padding=0, bool ceil_mode=False, "
        "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        refuses=NARROW if dims == 2 else (*HALF, *NARROW),
        namespace="nn",
        method=False,
        layout="images",
        autocast="float32" if dims == 3 else "",
        backward=f"avg_pool{dims}d_backward(Tensor grad_output, Tensor self, "
        f"int[{dims}] kernel_size, int[{dims}] stride, int[{dims}] padding, bool "
        f"ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
        core=_CORE,
        also=(f"nn.functional.avg_pool{dims}d",),
    )
    def avg_pool(
        x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        """The mean of every window, or its sum over ``divisor_override``."""
        return _mean_of_windows(
            x, kernel, stride, padding, ceil_mode, count_include_pad,
            divisor_override, dims,
        )  # fmt: skip


for _dims in (2, 3):
    _declare_avg_pool(_dims)


class _AdaptiveWindows:
    """Window ``i`` of ``m`` in a dim of ``n``: from ``i n // m`` to ``(i + 1) n / m``,
    rounded up.
    """

    def __init__(self, name, x, output_size):
        self.dims = len(output_size)
        require(
            x.rank in (self.dims + 1, self.dims + 2),
            f"{name}: the input has rank {x.rank}; give (C, ...) or (N, C, ...) with "
            f"{self.dims} dims behind the channels",
        )
        self.spatial = x.shape[x.rank - self.dims :]
        self.size = output_size
        for n in output_size:
            require(n >= 0, f"{name}: output size {{}} is negative", n)
        self.is_whole = all([ask(m == 1) for m in self.size])
        if self.is_whole:
            self.size = [const(1)] * self.dims
        pairs = list(zip(self.spatial, self.size, strict=True))
        self.even = all([ask((m > 0) & (n % maximum(m, 1) == 0)) for n, m in pairs])
        self.extents = [n // maximum(m, 1) + (0 if self.even else 2) for n, m in pairs]

    def start(self, d, i):
        return i * self.spatial[d] // self.size[d]

    def length(self, d, i):
        if self.even:
            return self.extents[d]
        n, m = self.spatial[d], self.size[d]
        return ((i + 1) * n + m - 1) // m - self.start(d, i)

    def place(self, d, i, tap):
        if self.even:
            return i * self.extents[d] + tap
        return self.start(d, i) + tap

    def holds(self, p, taps):
        """Whether the taps are in the window; None if all are."""
        if self.even:
            return None
        inside = const(True)
        for d, (i, tap) in enumerate(zip(p, taps, strict=True)):
            inside = inside & (tap < self.length(d, i))
        return inside

    def places(self, p, taps):
        return [self.place(d, p[d], taps[d]) for d in range(self.dims)]


def _require_filled(name, sizes):
    for n in sizes:
        require(n > 0, f"{name}: the input is empty; a size is {{}}", n)


def _sums(x, windows):
    """The sums of the windows, dim by dim.

    A single window that covers the image is one sum over contiguous elements.
    """
    if windows.is_whole:

        def window(b, c, *p):
            return total(windows.extents, lambda *taps: x[[b, c, *taps]])

        return tabulate([*x.shape[:2], *windows.size], window)
    for d in range(windows.dims):
        x = _sums_along(x, windows, d)
    return x


def _sums_along(x, windows, d):
    """Windows of equal size become a separate dim, so that the gradient of their sum is
    a broadcast and need not search for windows.
    """
    before, behind = x.shape[: 2 + d], x.shape[3 + d :]
    extent, size = windows.extents[d], windows.size[d]
    cut = reshape(x, [*before, size, extent, *behind]) if windows.even else None

    def window(b, c, *p):
        first, i, last = [b, c, *p[:d]], p[d], p[d + 1 :]

        def tap(t):
            if cut is not None:
                return cut[[*first, i, t, *last]]
            value = x[[*first, windows.place(d, i, t), *last]]
            return where(t < windows.length(d, i), value, 0)

        return total([extent], tap)

    return tabulate([*before, size, *behind], window)


def _seen_adaptive_mean(x, output_size):
    dims = len(output_size)
    if all(n == 1 for n in output_size) and x.dim() - dims in (1, 2):
        return x.mean([-1 - d for d in range(dims)], True)
    packet = api.ops.aten._adaptive_avg_pool3d
    if dims == 2:
        packet = api.ops.aten._adaptive_avg_pool2d
    return packet.default(x, output_size)


def _seen_adaptive_mean_of_rows(x, output_size):
    return _seen_adaptive_mean(x.unsqueeze(-2), [1, *output_size]).squeeze(-2)


def _seen_adaptive_greatest_of_rows(x, output_size):
    op = api.ops.aten.adaptive_max_pool2d.default
    greatest, indices = op(x.unsqueeze(-2), [1, *output_size])
    return greatest.squeeze(-2), indices.squeeze(-2)


def _declare_adaptive(dims):
    avg, greatest_name = f"adaptive_avg_pool{dims}d", f"adaptive_max_pool{dims}d"
    hidden, own = "nn" if dims > 1 else "", _OWN if dims == 1 else ""

    sized = "int[1]" if dims == 1 else f"SymInt[{dims}]"

    @loop(
        f"{avg}(Tensor self, {sized} output_size) -> Tensor",
        refuses=("integers", "bool"),
        namespace=hidden,
        method=False,
        symbolic=("output_size",) if dims == 1 else (),
        layout="images",
        autocast="float32" if dims == 3 else "",
    )
    def adaptive_avg_pool(x, output_size):
        """The means of windows that cover the last dims evenly."""
        if not all([ask(n == 1) for n in output_size]):
            require_real(avg, x)
        windows = _AdaptiveWindows(avg, x, output_size)
        if not windows.is_whole:  # the mean of an empty image is NaN
            _require_filled(avg, windows.spatial)

        def run(x):
            sums = _sums(x, windows)

            def mean(b, c, *p):
                count = const(1)
                for d in range(dims):
                    count = count * windows.length(d, p[d])
                return sums[[b, c, *p]] / cast(count, x.dtype)

            return tabulate(sums.shape, mean)

        return _batched(run, x, dims)

    adaptive_avg_pool.seen_as(
        _seen_adaptive_mean_of_rows if dims == 1 else _seen_adaptive_mean
    )

    options = f"Tensor self, int[{dims}] output_size"

    @loop(
        f"{greatest_name}({options}) -> (Tensor, Tensor)",
        refuses=("integers", "bool"),
        namespace=hidden,
        method=False,
        out=False,
        forms=_out_with_indices(greatest_name, options, dims),
        symbolic=("output_size",),
        layout="images",
        autocast="float32" if dims == 3 else "",
        backward=f"{own}{greatest_name}_backward(Tensor grad_output, Tensor self, "
        "Tensor indices) -> Tensor",
        backward_reads="indices=result1",
    )
    def adaptive_max_pool(x, output_size):
        """The greatest elements of windows that cover the last dims evenly, and their
        indices.
        """
        windows = _AdaptiveWindows(greatest_name, x, output_size)
        _require_filled(greatest_name, x.shape[x.rank - dims - 1 :])

        def run(x):
            def window(b, c, *p):
                def tap(*taps):
                    inside = windows.holds(p, taps)
                    places = windows.places(p, taps)
                    flat = places[0]
                    for d in range(1, dims):
                        flat = flat * windows.spatial[d] + places[d]
                    value = x[[b, c, *places]]
                    low = cast(lowest(x.dtype), x.dtype)
                    return (
                        value if inside is None else where(inside, value, low),
                        flat,
                    )

                return argmax_of(windows.extents, tap)

            indices = tabulate([*x.shape[:2], *output_size], window)
            return _with_places(x, indices, windows.spatial)

        return _batched(run, x, dims)

    if dims == 1:
        adaptive_max_pool.seen_as(_seen_adaptive_greatest_of_rows)
    return adaptive_avg_pool


ADAPTIVE_MEANS = {dims: _declare_adaptive(dims) for dims in (1, 2, 3)}
