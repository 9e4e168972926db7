"""Other forms of convolutions: PyTorch's kernels as ops, and conv_tbc."""

from pellucid_compiler.composites import api, composite, require


@composite(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    method=False,
    out=True,
    seen=True,
    autocast="lower",
    also=("nn.functional.conv_tbc",),
)
def conv_tbc(x, weight, bias, pad):
    """``conv1d`` of sequences (time, batch, channels) with weights (taps, channels,
    output channels).
    """
    images, filters = x.permute(1, 2, 0), weight.permute(2, 1, 0)
    return api.conv1d(images, filters, bias, padding=pad).permute(2, 0, 1)


def _require_kernel(name, weight, kernel):
    require(
        [*weight.shape[2:]] == [*kernel],
        "{}: kernel_size is {}; the weight has {}",
        name,
        [*kernel],
        [*weight.shape[2:]],
    )


_AFTER_BIAS = "SymInt[{0}] stride{1}, SymInt[{0}] padding{2}"
_BEFORE_BIAS = "Tensor self, Tensor weight, SymInt[{0}] kernel_size, Tensor? bias"


def _options(dims, optional=True):
    """The arguments that PyTorch's kernels of convolutions share."""
    one, zero = ("=1", "=0") if optional else ("", "")
    none = "=None" if optional else ""
    return f"{_BEFORE_BIAS}{none}, {_AFTER_BIAS}".format(dims, one, zero)


@composite(f"slow_conv3d({_options(3)}) -> Tensor", namespace="nn", out=True)
def slow_conv3d(x, weight, kernel, bias, stride, padding):
    """Another name of ``conv3d``."""
    _require_kernel("slow_conv3d", weight, kernel)
    return api.conv3d(x, weight, bias, stride, padding)


@composite(
    f"slow_conv3d_forward({_options(3, optional=False)}) -> Tensor",
    method=False,
    function=False,
    forms=(
        f"slow_conv3d_forward.output({_options(3, optional=False)}, *, "
        "Tensor(a!) output) -> Tensor(a!)",
    ),
)
def slow_conv3d_forward(x, weight, kernel, bias, stride, padding):
    """Another name of ``conv3d``."""
    return slow_conv3d(x, weight, kernel, bias, stride, padding)


@composite(f"thnn_conv2d({_options(2)}) -> Tensor", namespace="nn", out=True)
def thnn_conv2d(x, weight, kernel, bias, stride, padding):
    """Another name of ``conv2d``."""
    _require_kernel("thnn_conv2d", weight, kernel)
    return api.conv2d(x, weight, bias, stride, padding)


@composite(
    f"conv_depthwise3d({_options(3, optional=False)}, SymInt[3] dilation) -> Tensor",
    namespace="nn",
    out=True,
)
def conv_depthwise3d(x, weight, kernel, bias, stride, padding, dilation):
    """``conv3d`` of every channel separately."""
    _require_kernel("conv_depthwise3d", weight, kernel)
    channels = x.shape[-4]
    return api.conv3d(x, weight, bias, stride, padding, dilation, channels)


_DILATED = ", SymInt[{0}] dilation=1"
_TRANSPOSED = ", SymInt[{0}] output_padding=0, SymInt[{0}] dilation=1"


def _further(name, dims, rest):
    return composite(
        f"{name}({_options(dims)}{rest.format(dims)}) -> Tensor",
        namespace="nn",
        out=True,
    )


@_further("slow_conv_dilated2d", 2, _DILATED)
def slow_conv_dilated2d(x, weight, kernel, bias, *geometry):
    """Another name of ``conv2d``."""
    _require_kernel("slow_conv_dilated2d", weight, kernel)
    return api.conv2d(x, weight, bias, *geometry)


@_further("slow_conv_dilated3d", 3, _DILATED)
def slow_conv_dilated3d(x, weight, kernel, bias, *geometry):
    """Another name of ``conv3d``."""
    _require_kernel("slow_conv_dilated3d", weight, kernel)
    return api.conv3d(x, weight, bias, *geometry)


@_further("slow_conv_transpose2d", 2, _TRANSPOSED)
def slow_conv_transpose2d(
    x, weight, kernel, bias, stride, padding, output_padding, dilation
):
    """Another name of ``conv_transpose2d``."""
    _require_kernel("slow_conv_transpose2d", weight, kernel)
    geometry = stride, padding, output_padding, 1, dilation
    return api.conv_transpose2d(x, weight, bias, *geometry)


@_further("slow_conv_transpose3d", 3, _TRANSPOSED)
def slow_conv_transpose3d(
    x, weight, kernel, bias, stride, padding, output_padding, dilation
):
    """Another name of ``conv_transpose3d``."""
    _require_kernel("slow_conv_transpose3d", weight, kernel)
    geometry = stride, padding, output_padding, 1, dilation
    return api.conv_transpose3d(x, weight, bias, *geometry)


_GEOMETRY = (
    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups"
)


@composite(
    f"convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, {_GEOMETRY}) "
    "-> Tensor",
    method=False,
    function=False,
    out=True,
)
def convolution_overrideable(*arguments):
    """Implemented by devices of other vendors."""
    raise NotImplementedError(
        "convolution_overrideable is for devices that bring a convolution of their "
        "own; call convolution"
    )
