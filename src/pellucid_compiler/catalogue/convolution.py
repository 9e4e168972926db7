"""Convolutions over one and three dims, and transposed convolutions; conv2d is in
contraction.py.
"""

from pellucid_compiler.catalogue.contraction import (
    conjugate,
    conv2d,
    convolution,
    convolution_gradients,
    same_padding,
)
from pellucid_compiler.catalogue.phases import by_phases, has_phases, known_steps
from pellucid_compiler.catalogue.real_only import NARROW
from pellucid_compiler.catalogue.seen import as_convolution
from pellucid_compiler.declare import (
    ask,
    const,
    contraction,
    require,
    reshape,
    scatter,
    squeeze_dims,
    tabulate,
    total,
    unsqueeze,
)

_OPTIONS = "Tensor input, Tensor weight, Tensor? bias=None, SymInt[{0}] stride=1, "


def _declare(dims):
    options = _OPTIONS.format(dims)

    @contraction(
        f"conv{dims}d({options}SymInt[{dims}] padding=0, SymInt[{dims}] dilation=1, "
        "SymInt groups=1) -> Tensor",
        refuses=("bool",),
        method=False,
        out=False,
        node="ConvolutionBackward0",
        layout="images",
        autocast="lower",
        backward=f"convolution_backward(transposed=False, output_padding={[0] * dims})",
        also=(f"nn.functional.conv{dims}d",),
    )
    def conv(x, weight, bias, stride, padding, dilation, groups):
        """Cross-correlation with ``weight``; a load outside the input is zero."""
        return convolution(
            x, weight, bias, stride, padding, padding, dilation, groups, dims
        )

    conv.seen_as(as_convolution(dims, transposed=False))

    @conv.vjp("schedule: with one channel per group, adding tap by tap costs more")
    def _(x, weight, bias, stride, padding, dilation, groups, y, grad, derived):
        return convolution_gradients(
            x, weight, stride, padding, dilation, groups, grad, derived
        )

    @contraction(
        f"conv{dims}d.padding({options}str padding='valid', "
        f"SymInt[{dims}] dilation=1, SymInt groups=1) -> Tensor",
        refuses=("bool",),
        method=False,
        out=False,
        node="ConvolutionBackward0",
        layout="images",
        autocast="lower",
    )
    def conv_padding(x, weight, bias, stride, padding, dilation, groups):
        """Cross-correlation with ``padding`` 'valid' (none) or 'same' (output
        sizes are the input's).
        """
        low, high = same_padding(weight, stride, padding, dilation, dims)
        return convolution(x, weight, bias, stride, low, high, dilation, groups, dims)

    return conv


CONVOLUTIONS = {1: _declare(1), 2: conv2d, 3: _declare(3)}


def _declare_transposed(dims):
    overload = ".input" if dims > 1 else ""

    @contraction(
        f"conv_transpose{dims}d{overload}({_OPTIONS.format(dims)}"
        f"SymInt[{dims}] padding=0, SymInt[{dims}] output_padding=0, "
        f"SymInt groups=1, SymInt[{dims}] dilation=1) -> Tensor",
        refuses=NARROW,
        method=False,
        out=False,
        node="ConvolutionBackward0",
        layout="images",
        autocast="lower",
        backward="convolution_backward(transposed=True)",
        also=(f"nn.functional.conv_transpose{dims}d",),
    )
    def conv_transpose(
        x, weight, bias, stride, padding, output_padding, groups, dilation
    ):
        """The gradient of a convolution with respect to its input, as a layer.

        ``weight`` is (in, out / groups, *kernel).
        """
        name = f"conv_transpose{dims}d"
        _require_transposed(
            name, x, weight, bias, stride, padding, output_padding, dilation, groups
        )
        if x.rank == dims + 1:
            y = _transposed(
                name, unsqueeze(x, 0), weight, stride, padding, output_padding,
                groups, dilation,
            )  # fmt: skip
            y = squeeze_dims(y, [0])
            return y if bias is None else _add_bias(y, bias, 0)
        y = _transposed(
            name, x, weight, stride, padding, output_padding, groups, dilation
        )
        return y if bias is None else _add_bias(y, bias, 1)

    conv_transpose.seen_as(as_convolution(dims, transposed=True))

    @conv_transpose.vjp("schedule: the derived rule of a stride scatters; this gathers")
    def _(
        x, weight, bias, stride, padding, output_padding, groups, dilation, y, grad,
        derived,
    ):  # fmt: skip
        batched = x.rank == dims + 2
        images, grads = (x, grad) if batched else (unsqueeze(x, 0), unsqueeze(grad, 0))
        gradients = _transposed_gradients(
            conjugate(images), conjugate(weight), grads, stride, padding, groups,
            dilation,
        )  # fmt: skip
        grad_x = gradients[0] if batched else squeeze_dims(gradients[0], [0])
        if bias is None:
            return grad_x, gradients[1]
        grad_bias = tabulate(
            bias.shape,
            lambda o: total(
                [grads.shape[0], *grads.shape[2:]], lambda n, *p: grads[[n, o, *p]]
            ),
        )
        return grad_x, gradients[1], grad_bias

    return conv_transpose


def _add_bias(y, bias, dim):
    return tabulate(y.shape, lambda *p: y[p] + bias[p[dim]])


def _grouped(x, weight, groups):
    """(x, weight) with a separate dim for the groups."""
    channels = x.shape[1] // groups
    return (
        reshape(x, [x.shape[0], groups, channels, *x.shape[2:]]),
        reshape(weight, [groups, channels, *weight.shape[1:]]),
    )


def _reached(p, taps, stride, padding, dilation):
    """The output index to which a transposed convolution adds ``x[p] *
    weight[taps]``.
    """
    return [
        i * s + t * e - r
        for i, t, s, e, r in zip(p, taps, stride, dilation, padding, strict=True)
    ]


def _transposed(
    name, x, weight, stride, padding, output_padding, groups, dilation
):  # fmt: skip
    dims = x.rank - 2
    kernel = weight.shape[2:]
    size = [
        (x.shape[2 + d] - 1) * stride[d]
        - 2 * padding[d]
        + dilation[d] * (kernel[d] - 1)
        + output_padding[d]
        + 1
        for d in range(dims)
    ]
    for n in size:
        require(n > 0, f"{name}: the output would have size {{}}; padding is", n)
    stride = [const(1) if ask(s == 1) else s for s in stride]
    dilation = [const(1) if ask(e == 1) else e for e in dilation]
    x, weight = _grouped(x, weight, groups)
    outputs = weight.shape[2]
    full = [x.shape[0], groups, outputs, *size]
    if _has_few_places(x.shape[3:], kernel, stride, dilation):
        y = _gathered(x, weight, full, stride, padding)
        return reshape(y, [x.shape[0], groups * outputs, *size])

    steps = known_steps(stride)
    if has_phases(outputs, kernel, steps, dilation):
        y = by_phases(x, weight, size, steps, padding, dilation)
        return reshape(y, [x.shape[0], groups * outputs, *size])

    ones = [s == 1 for s in steps]
    if any(ones) and not all(ones):
        y = _gathered_in(ones, x, weight, full, stride, padding, dilation)
        return reshape(y, [x.shape[0], groups * outputs, *size])

    def term(n, g, o, c, *rest):
        p, taps = rest[:dims], rest[dims:]
        place = [n, g, o, *_reached(p, taps, stride, padding, dilation)]
        return place, x[[n, g, c, *p]] * weight[[g, c, o, *taps]]

    y = scatter(
        full,
        [x.shape[0], groups, outputs, x.shape[2], *x.shape[3:], *kernel],
        term,
        drop=True,
    )
    return reshape(y, [x.shape[0], groups * outputs, *size])


def _has_few_places(places, kernel, stride, dilation):
    """Whether, in every dim, an output depends on fewer input positions than taps."""
    sizes = zip(places, kernel, stride, dilation, strict=True)
    return all(ask((n * s < t) & (e == 1)) for n, t, s, e in sizes)


def _gathered(x, weight, shape, stride, padding):
    """The sum over positions of ``x``, which are fewer than the taps: each position
    contributes the tap that leads to the output, if there is one.
    """

    def element(n, g, o, *q):
        def taps(p):
            return [
                at + r - i * s
                for at, r, i, s in zip(q, padding, p, stride, strict=True)
            ]

        return total(
            [x.shape[2], *x.shape[3:]],
            lambda c, *p: x[[n, g, c, *p]] * weight.outside(0)[[g, c, o, *taps(p)]],
        )

    return tabulate(shape, element)


def _gathered_in(ones, x, weight, shape, stride, padding, dilation):
    """Gathers along the dims of stride 1, then scatters along the others.

    If all dims were scattered, the products would need ``kernel / stride`` times the
    memory of the result: for a dim of stride 1, a factor of all its taps.
    """
    places, kernel = x.shape[3:], weight.shape[3:]
    dims = range(len(places))
    moved = [d for d in dims if not ones[d]]
    still = [d for d in dims if ones[d]]

    def element(n, g, o, *rest):
        outer, p = rest[: len(moved)], rest[len(moved) :]

        def term(c, *inner):
            tap = dict(zip([*moved, *still], [*outer, *inner], strict=True))
            place = [
                p[d] + padding[d] - tap[d] * dilation[d] if ones[d] else p[d]
                for d in dims
            ]
            taps = [tap[d] for d in dims]
            return x.outside(0)[[n, g, c, *place]] * weight[[g, c, o, *taps]]

        return total([x.shape[2], *(kernel[d] for d in still)], term)

    columns = tabulate(
        [
            *shape[:3],
            *(kernel[d] for d in moved),
            *(shape[3 + d] if ones[d] else places[d] for d in dims),
        ],
        element,
    )

    def term(n, g, o, *rest):
        outer, place = rest[: len(moved)], list(rest[len(moved) :])
        for d, tap in zip(moved, outer, strict=True):
            place[d] = place[d] * stride[d] + tap * dilation[d] - padding[d]
        return [n, g, o, *place], columns[[n, g, o, *rest]]

    return scatter(shape, columns.shape, term, drop=True)


def _transposed_gradients(x, weight, grad, stride, padding, groups, dilation):
    """(gradient of ``x``, gradient of ``weight``): both are gathers."""
    dims, shape = x.rank - 2, x.shape
    kernel = weight.shape[2:]
    images, wide = _grouped(x, weight, groups)
    outputs = weight.shape[1]
    grads = reshape(grad, [grad.shape[0], groups, outputs, *grad.shape[2:]]).outside(0)

    def grad_x(n, g, c, *p):
        return total(
            [outputs, *kernel],
            lambda o, *taps: (
                grads[[n, g, o, *_reached(p, taps, stride, padding, dilation)]]
                * wide[[g, c, o, *taps]]
            ),
        )

    def grad_weight(g, c, o, *taps):
        return total(
            [shape[0], *shape[2:]],
            lambda n, *p: (
                images[[n, g, c, *p]]
                * grads[[n, g, o, *_reached(p, taps, stride, padding, dilation)]]
            ),
        )

    assert len(kernel) == dims
    return (
        reshape(tabulate(images.shape, grad_x), shape),
        reshape(tabulate(wide.shape, grad_weight), weight.shape),
    )


def _require_transposed(
    name, x, weight, bias, stride, padding, output_padding, dilation, groups
):
    dims = int(name[-2])
    require(
        weight.rank == dims + 2,
        f"{name}: weight has rank {weight.rank}; give (in, out / groups, *kernel)",
    )
    require(
        x.rank in (dims + 1, dims + 2),
        f"{name}: the input has rank {x.rank}; give {dims + 1} or {dims + 2} dims",
    )
    for tensor in (weight, bias):
        require(
            tensor is None or tensor.dtype == x.dtype,
            f"{name}: the operands have different dtypes; convert them to {x.dtype}",
        )
    words = {
        "stride": (stride, 1),
        "dilation": (dilation, 1),
        "padding": (padding, 0),
        "output_padding": (output_padding, 0),
    }
    for word, (values, least) in words.items():
        require(
            len(values) == dims,
            f"{name}: {len(values)} values of {word} for {dims} dims",
        )
        for value in values:
            require(value >= least, f"{name}: {word} {{}} is too small", value)
    for extra, s, e in zip(output_padding, stride, dilation, strict=True):
        require(
            (extra < s) | (extra < e),
            f"{name}: output_padding {{}} is not below stride {{}} or dilation {{}}",
            extra,
            s,
            e,
        )
    require(groups > 0, f"{name}: groups is {{}}; give a positive number", groups)
    channels = x.shape[x.rank - dims - 1]
    require(
        channels == weight.shape[0],
        f"{name}: the input has {{}} channels, weight is for {{}}",
        channels,
        weight.shape[0],
    )
    require(
        channels % groups == 0,
        f"{name}: {{}} channels do not divide into {{}} groups",
        channels,
        groups,
    )
    if bias is not None:
        require(bias.rank == 1, f"{name}: bias has rank {bias.rank}; give 1 dim")
        require(
            bias.shape[0] == weight.shape[1] * groups,
            f"{name}: a bias of {{}} numbers for {{}} output channels",
            bias.shape[0],
            weight.shape[1] * groups,
        )


TRANSPOSED = {dims: _declare_transposed(dims) for dims in (1, 2, 3)}
