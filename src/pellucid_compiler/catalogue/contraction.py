"""Contractions: matmul, linear, convolution."""

from pellucid_compiler.catalogue.phases import by_phases, has_phases, known_steps
from pellucid_compiler.catalogue.real_only import NARROW
from pellucid_compiler.catalogue.seen import as_convolution
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    TensorKey,
    ask,
    broadcast_shapes,
    conj,
    const,
    contraction,
    is_one,
    require,
    reshape,
    scatter,
    sizes_text,
    squeeze_dims,
    tabulate,
    total,
    transpose_last,
    unsqueeze,
)
from pellucid_compiler.ir.dtypes import is_complex, shown_dtype


def _matmul_node(a, b):
    ranks = a.rank, b.rank
    names = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm"}
    return f"{names.get(ranks, 'UnsafeView')}Backward0"


@contraction(
    "matmul(Tensor self, Tensor other) -> Tensor",
    refuses=("bool",),
    node=_matmul_node,
    autocast="lower",
)
def matmul(a, b):
    """The matrix product over the last two dims; leading dims broadcast."""
    require(
        a.rank > 0 and b.rank > 0,
        f"matmul: both operands need at least one dim, they have {a.rank} and {b.rank}",
    )
    _require_same_dtype("matmul", a, b)
    rows = a.shape[-2:-1]
    cols = b.shape[-1:] if b.rank > 1 else ()
    leading = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    inner, count = a.shape[-1], len(leading)
    require(
        inner == b.shape[-min(b.rank, 2)],
        f"mat1 and mat2 shapes cannot be multiplied ({_shape_text(a)} and "
        f"{_shape_text(b)}) by matmul(): "
        "{}, the last size of the first, is not {}, "
        f"the {'only size' if b.rank == 1 else 'last but one'} of the second",
        *(*a.shape, *b.shape, inner, b.shape[-min(b.rank, 2)]),
    )

    def align(t, p):
        outer = p[count - max(t.rank - 2, 0) : count]
        sizes = t.shape[: max(t.rank - 2, 0)]
        return [const(0) if is_one(n) else i for i, n in zip(outer, sizes, strict=True)]

    def element(*p):
        i, j = p[count : count + len(rows)], p[count + len(rows) :]
        return total(
            [inner], lambda k: a[[*align(a, p), *i, k]] * b[[*align(b, p), k, *j]]
        )

    return tabulate([*leading, *rows, *cols], element)


@matmul.seen_as
def _(a, b):
    if a.dim() == 0 or b.dim() == 0 or a.dtype != b.dtype:
        return NotImplemented
    if a.shape[-1] != b.shape[-min(b.dim(), 2)]:
        return NotImplemented
    if b.dim() == 1:
        return _seen_with_vector(a, b)
    if a.dim() == 1:
        return api.matmul(a.unsqueeze(0), b).squeeze(-2)
    if a.dim() == b.dim() == 2:
        return a.mm(b)
    if b.dim() == 2:
        rows = a.reshape(-1, a.shape[-1])
        return _unsafe_view(rows.mm(b), [*a.shape[:-1], b.shape[-1]])
    return _seen_as_batches(a, b)


def _seen_with_vector(a, vector):
    if a.dim() == 1:
        return a.dot(vector)
    if a.dim() == 2:
        return a.mv(vector)
    return a.reshape(-1, a.shape[-1]).mv(vector).view(a.shape[:-1])


def _seen_as_batches(a, b):
    try:
        leading = api.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except RuntimeError:
        return NotImplemented
    first, second = (
        t.expand(*leading, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (a, b)
    )
    size = [*leading, a.shape[-2], b.shape[-1]]
    return _unsafe_view(first.bmm(second), size)


def _unsafe_view(x, size):
    return api.ops.aten._unsafe_view.default(x, size)


def _shape_text(t):
    """A format string for a shape in a message; sizes are its arguments."""
    return "x".join(["{}"] * t.rank)


def _require_same_dtype(name, a, b):
    require(
        a.dtype == b.dtype,
        f"{name}: expected m1 and m2 to have the same dtype, but got: "
        f"{shown_dtype(a.dtype)} != {shown_dtype(b.dtype)}",
    )


def _linear_node(x, _, bias):
    if isinstance(bias, TensorKey):
        return "AddmmBackward0" if x.rank == 2 else "ViewBackward0"
    names = {1: "SqueezeBackward4", 2: "MmBackward0"}
    return names.get(x.rank, "UnsafeViewBackward0")


@contraction(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    refuses=("bool",),
    namespace="nn",
    method=False,
    node=_linear_node,
    autocast="lower",
    also=("nn.functional.linear",),
)
def linear(x, weight, bias):
    """``x weight^T + bias``."""
    require(
        weight.rank <= 2,
        f"linear() takes a weight (out_features, in_features), not one of "
        f"{weight.rank} dims: use matmul for batches of matrices",
    )
    if x.rank and weight.rank:
        require(
            x.shape[-1] == weight.shape[-1],
            f"mat1 and mat2 shapes cannot be multiplied ({_shape_text(x)} and "
            f"{_shape_text(weight)}): linear() got an input of {{}} features, weight "
            "takes {}; the last size of the input must be the layer's in_features",
            *(*x.shape, *weight.shape[::-1], x.shape[-1], weight.shape[-1]),
        )
    y = matmul(x, transpose_last(weight) if weight.rank > 1 else weight)
    return y if bias is None else y + bias


@linear.seen_as
def _(x, weight, bias):
    if weight.dim() != 2 or x.dim() == 0 or x.shape[-1] != weight.shape[1]:
        return NotImplemented
    if x.dtype != weight.dtype:
        return NotImplemented
    if bias is None:
        return api.matmul(x, weight.t())
    if bias.shape != weight.shape[:1] or bias.dtype != x.dtype:
        return NotImplemented
    if x.dim() == 2:
        return api.addmm(bias, x, weight.t())
    rows = x.reshape(-1, x.shape[-1])
    return api.addmm(bias, rows, weight.t()).view(*x.shape[:-1], weight.shape[0])


@contraction(
    "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
    "SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    refuses=("bool",),
    method=False,
    node="ConvolutionBackward0",
    layout="images",
    autocast="lower",
    backward="convolution_backward(transposed=False, output_padding=[0, 0])",
    also=("nn.functional.conv2d",),
    out=False,
)
def conv2d(x, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation of images with ``weight``; a load outside an image is zero."""
    return convolution(x, weight, bias, stride, padding, padding, dilation, groups, 2)


conv2d.seen_as(as_convolution(2, transposed=False))


@conv2d.vjp("schedule: with one channel per group, adding tap by tap costs more")
def _(x, weight, bias, stride, padding, dilation, groups, y, grad, derived):
    return convolution_gradients(
        x, weight, stride, padding, dilation, groups, grad, derived
    )


@contraction(
    "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, "
    "SymInt[2] stride=1, str padding='valid', SymInt[2] dilation=1, "
    "SymInt groups=1) -> Tensor",
    refuses=("bool",),
    method=False,
    node="ConvolutionBackward0",
    layout="images",
    out=False,
    autocast="lower",
)
def conv2d_padding(x, weight, bias, stride, padding, dilation, groups):
    """``conv2d`` with ``padding`` 'valid' (none) or 'same' (output sizes are
    input's).
    """
    low, high = same_padding(weight, stride, padding, dilation, 2)
    return convolution(x, weight, bias, stride, low, high, dilation, groups, 2)


def same_padding(weight, stride, padding, dilation, dims):
    """(padding before, padding after) each dim for 'valid' or 'same'."""
    name = f"conv{dims}d"
    require(
        padding in ("valid", "same"),
        f"{name}: padding {padding!r} is neither 'valid' nor 'same'",
    )
    require(
        weight.rank == dims + 2,
        f"{name}: weight has rank {weight.rank}; give {dims + 2} dims",
    )
    if padding == "valid":
        return [const(0)] * dims, [const(0)] * dims
    for s in stride:
        require(s == 1, f"{name}: padding='same' needs stride 1, not {{}}", s)
    reach = [dilation[d] * (weight.shape[2 + d] - 1) for d in range(dims)]
    low = [r // 2 for r in reach]
    return low, [r - half for r, half in zip(reach, low, strict=True)]


def convolution(x, weight, bias, stride, low, high, dilation, groups, dims):
    """Convolution over ``dims`` spatial dims with ``low`` and ``high`` padding.

    Strides and dilations of 1 are part of the specialisation key, so that gradients
    need no divisibility tests. Groups become a separate dim, so that each visits only
    its own channels.
    """
    _require_convolution(x, weight, bias, stride, low, dilation, groups, dims)
    if x.dtype in NARROW:
        for d in dilation:
            require(
                ask(d == 1),
                f"conv{dims}d of {x.dtype} tensors has no dilation, {{}} was given: "
                "convert with .to(torch.int64) first",
                d,
                error=NotImplementedError,
            )
    if x.rank == dims + 1:
        batched = convolution(
            unsqueeze(x, 0), weight, bias, stride, low, high, dilation, groups, dims
        )
        return squeeze_dims(batched, [0])
    stride = [const(1) if ask(s == 1) else s for s in stride]
    dilation = [const(1) if ask(d == 1) else d for d in dilation]
    low = [const(0) if ask(p == 0) else p for p in low]
    kernel = weight.shape[2:]
    size = []
    for d in range(dims):
        span = x.shape[2 + d] + low[d] + high[d] - dilation[d] * (kernel[d] - 1) - 1
        size.append(span // stride[d] + 1)
        require(
            span >= 0,
            "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel "
            f"size can't be greater than actual input size (dim {2 + d})",
            x.shape[2 + d] + low[d] + high[d],
            dilation[d] * (kernel[d] - 1) + 1,
        )

    def source(p, taps):
        return [
            i * s + t * e - r
            for i, t, s, e, r in zip(p, taps, stride, dilation, low, strict=True)
        ]

    if ask(groups == 1):
        y = _one_group(x, weight, size, kernel, source)
    else:
        y = _many_groups(x, weight, size, kernel, source, groups)
    return y if bias is None else tabulate(y.shape, lambda *p: y[p] + bias[p[1]])


def _one_group(x, weight, size, kernel, source):
    def element(n, o, *p):
        return total(
            [x.shape[1], *kernel],
            lambda c, *t: weight[[o, c, *t]] * x.outside(0)[[n, c, *source(p, t)]],
        )

    return tabulate([x.shape[0], weight.shape[0], *size], element)


def _many_groups(x, weight, size, kernel, source, groups):
    all_outputs, channels = weight.shape[0], weight.shape[1]
    outputs = all_outputs // groups
    x = reshape(x, [x.shape[0], groups, channels, *x.shape[2:]])
    weight = reshape(weight, [groups, outputs, channels, *kernel])

    def element(n, g, o, *p):
        return total(
            [channels, *kernel],
            lambda c, *t: (
                weight[[g, o, c, *t]] * x.outside(0)[[n, g, c, *source(p, t)]]
            ),
        )

    y = tabulate([x.shape[0], groups, outputs, *size], element)
    return reshape(y, [x.shape[0], all_outputs, *size])


def convolution_gradients(
    x, weight, stride, padding, dilation, groups, grad, derived
):  # fmt: skip
    """The derived gradients, except with respect to an image if the stride is not 1.

    If every group has one output channel, the gradient is spread by the stride, with
    zeros between, and its windows are gathered; with more channels, multiplying the
    zeros would cost more than the derived rule's additions. Steps of 2 need no zeros.
    """
    if all([ask(s == 1) for s in stride]):
        return derived(grad)
    batched = x.rank == weight.rank
    images, grads = (x, grad) if batched else (unsqueeze(x, 0), unsqueeze(grad, 0))
    rule = _image_rule(weight, stride, padding, dilation, groups)
    if rule is None:
        return derived(grad)
    grad_images = rule(images, conjugate(weight), stride, padding, dilation, grads)
    return (
        grad_images if batched else squeeze_dims(grad_images, [0]),
        *derived(grad)[1:],
    )


def _image_rule(weight, stride, padding, dilation, groups):
    """How the gradient of an image is computed, or None: as derived."""
    if not ask(groups == 1) and ask(weight.shape[0] == groups):
        reach = [e * (n - 1) for e, n in zip(dilation, weight.shape[2:], strict=True)]
        fits = [ask(r <= e) for r, e in zip(padding, reach, strict=True)]
        return _gradient_by_windows if all(fits) else None
    steps = known_steps(stride)
    if not has_phases(weight.shape[1], weight.shape[2:], steps, dilation):
        return None

    def gradient(x, weight, stride, padding, dilation, grad):
        outputs = weight.shape[0] // groups
        grads = reshape(grad, [x.shape[0], groups, outputs, *grad.shape[2:]])
        taps = reshape(weight, [groups, outputs, *weight.shape[1:]])
        y = by_phases(grads, taps, x.shape[2:], steps, padding, dilation)
        return reshape(y, x.shape)

    return gradient


def conjugate(x):
    """The factor of the gradient for a product with ``x``: the conjugate of ``x``."""
    return conj(x) if is_complex(x.dtype) else x


def _gradient_by_windows(x, weight, stride, padding, dilation, grad):
    """The gradient of the image, for one output channel per group."""
    kernel, size = weight.shape[2:], x.shape[2:]
    dilation = [const(1) if ask(e == 1) else e for e in dilation]
    reach = [e * (n - 1) for e, n in zip(dilation, kernel, strict=True)]

    def spread(n, g, *p):
        steps = zip(p, stride, padding, reach, strict=True)
        return [n, g, *(i * s - r + e for i, s, r, e in steps)], grad[[n, g, *p]]

    wide = [n + e for n, e in zip(size, reach, strict=True)]
    around = scatter([*grad.shape[:2], *wide], grad.shape, spread)

    def element(n, g, c, *p):
        def term(*taps):
            steps = zip(p, taps, dilation, reach, strict=True)
            place = [i + e - t * s for i, t, s, e in steps]
            return around[[n, g, *place]] * weight[[g, c, *taps]]

        return total(kernel, term)

    channels = [x.shape[0], grad.shape[1], weight.shape[1]]
    return reshape(tabulate([*channels, *size], element), x.shape)


def _require_convolution(x, weight, bias, stride, padding, dilation, groups, dims):
    name = f"conv{dims}d"
    require(
        weight.rank == dims + 2,
        f"{name}: weight has rank {weight.rank}; give (out, in / groups, *kernel)",
    )
    require(
        x.rank in (dims + 1, dims + 2),
        f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, "
        f"but got input of size: {sizes_text(x)}",
        *x.shape,
    )
    _require_same_dtype(name, x, weight)
    for word, values, least in (
        ("stride", stride, 1),
        ("dilation", dilation, 1),
        ("padding", padding, 0),
    ):
        require(
            len(values) == dims,
            f"{name}: {len(values)} values of {word} for {dims} dims",
        )
        for value in values:
            require(value >= least, f"{name}: {word} {{}} is too small", value)
    require(groups > 0, f"{name}: groups is {{}}; give a positive number", groups)
    channels = x.shape[x.rank - dims - 1]
    require(
        channels == weight.shape[1] * groups,
        f"{name}: Given groups={{}}, weight of size {sizes_text(weight)}, expected "
        f"input{sizes_text(x)} to have {{}} channels, but got {{}} channels instead",
        *(groups, *weight.shape, *x.shape, weight.shape[1] * groups, channels),
    )
    require(
        weight.shape[0] % groups == 0,
        f"{name}: {{}} output channels do not divide into {{}} groups",
        weight.shape[0],
        groups,
    )
    if bias is not None:
        _require_same_dtype(name, x, bias)
        require(bias.rank == 1, f"{name}: bias has rank {bias.rank}; give 1 dim")
        require(
            bias.shape[0] == weight.shape[0],
            f"{name}: a bias of {{}} numbers for {{}} output channels",
            bias.shape[0],
            weight.shape[0],
        )
