"""PyTorch's gradient ops (``trace_backward``, ``linear_backward``, ...) as
composites.
"""

from math import prod

from pellucid_compiler.composites import api, composite


def _hidden(schema, **options):
    """Declares an op without function and method, only in ``torch.ops.aten``."""
    return composite(schema, method=False, function=False, **options)


@_hidden(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    out=True,
    seen=True,
    tags="pointwise",
)
def native_dropout_backward(grad, mask, scale):
    """The elements that were not dropped, scaled as in forward."""
    return grad * mask * scale


@_hidden("trace_backward(Tensor grad, SymInt[] sizes) -> Tensor")
def trace_backward(grad, sizes):
    """``grad`` along the diagonal."""
    zeros = grad.new_zeros(sizes)
    return zeros.diagonal_scatter(grad.expand(min(sizes)))


@_hidden(
    "gather_backward(Tensor grad, Tensor self, int dim, Tensor index, "
    "bool sparse_grad) -> Tensor"
)
def gather_backward(grad, x, dim, index, sparse_grad):
    """The gradient of ``gather``, added at the indices of the elements."""
    return x.new_zeros(x.shape).scatter_add(dim, index, grad)


@_hidden(
    "index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) "
    "-> Tensor"
)
def index_select_backward(grad, sizes, dim, index):
    """The gradient of ``index_select``, added at the indices of the slices."""
    return grad.new_zeros(sizes).index_add(dim, index, grad)


@_hidden(
    "value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, "
    "SymInt[] sizes, bool keepdim) -> Tensor"
)
def value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim):
    """The gradient of ``max`` and the like, for the selected elements."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


@_hidden("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor")
def masked_select_backward(grad, x, mask):
    """The gradient of ``masked_select``, for the elements under the mask."""
    shape = api.broadcast_shapes(x.shape, mask.shape)
    wide = x.new_zeros(shape).masked_scatter(mask, grad)
    return wide.sum_to_size(x.shape)


@_hidden(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) "
    "-> Tensor",
    seen=True,
)
def masked_scatter_backward(grad, mask, sizes):
    """The elements of the gradient under the mask, in order, then zeros."""
    if grad.is_meta:
        return grad.new_empty(sizes)
    chosen = grad.masked_select(mask)
    missing = prod(sizes) - chosen.numel()
    return api.cat((chosen, chosen.new_zeros(missing))).view(sizes)


@_hidden(
    "cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor"
)
def cummaxmin_backward(grad, x, indices, dim):
    """The gradient of ``cummax`` and ``cummin``, for the selected elements."""
    return x.new_zeros(x.shape).scatter_add(dim, indices, grad)


@_hidden(
    "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, "
    "SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor"
)
def embedding_backward(grad, indices, rows, padding_idx, by_frequency, sparse):
    """The dense gradient of ``embedding`` with respect to its table."""
    return api.ops.aten.embedding_dense_backward(
        grad, indices, rows, padding_idx, by_frequency
    )


def _scattered(grad, x, dims, indices):
    flat = x.new_zeros((*x.shape[: x.dim() - dims], prod(x.shape[x.dim() - dims :])))
    places, values = indices.flatten(-dims), grad.flatten(-dims)
    return flat.scatter_add(-1, places, values).view(x.shape)


def _fractional(dims):
    name = f"fractional_max_pool{dims}d_backward"
    options = (
        f"Tensor grad_output, Tensor self, int[{dims}] kernel_size, "
        f"int[{dims}] output_size, Tensor indices"
    )
    result = "*, Tensor(a!) grad_input"
    return _hidden(
        f"{name}({options}) -> Tensor",
        seen=True,
        forms=(f"{name}.grad_input({options}, {result}) -> Tensor(a!)",),
    )


@_fractional(2)
def fractional_max_pool2d_backward(grad, x, kernel, output_size, indices):
    """The gradient of ``fractional_max_pool2d``, for the greatest elements."""
    return _scattered(grad, x, 2, indices)


@_fractional(3)
def fractional_max_pool3d_backward(grad, x, kernel, output_size, indices):
    """The gradient of ``fractional_max_pool3d``, for the greatest elements."""
    return _scattered(grad, x, 3, indices)


_CONVOLUTION = (
    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups, bool[3] output_mask"
)


@_hidden(
    "convolution_backward_overrideable(Tensor grad_output, Tensor input, "
    f"Tensor weight, {_CONVOLUTION}) -> "
    "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
    forms=(
        "convolution_backward_overrideable.out(Tensor grad_output, Tensor input, "
        f"Tensor weight, {_CONVOLUTION}, *, Tensor(a!) out0, Tensor(b!) out1, "
        "Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
    ),
)
def convolution_backward_overrideable(*arguments):
    """Implemented by devices of other vendors."""
    raise NotImplementedError(
        "convolution_backward_overrideable is for devices that bring a convolution of "
        "their own; call convolution_backward"
    )


# Gradients of ops that modes see as themselves, from what autograd records.


def recorded_gradients(function, grad, *operands):
    """The gradients of the operands, which are differentiable if grad mode is on."""
    if any(api._C._unwrap(x) is not None for x in (grad, *operands)):
        return api.func.vjp(function, *operands)[1](grad)  # inside a transform
    create = api.is_grad_enabled()
    with api.enable_grad():
        leaves = [
            x if create and x.requires_grad else x.detach().requires_grad_()
            for x in operands
        ]
        result = function(*leaves)
    return api.autograd.grad(
        result, leaves, grad, create_graph=create, allow_unused=True
    )


@_hidden(
    "cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor"
)
def cumprod_backward(grad, x, dim, output):
    """The gradient of ``cumprod``."""
    return recorded_gradients(lambda x: x.cumprod(dim), grad, x)[0]


@_hidden("matrix_exp_backward(Tensor self, Tensor grad) -> Tensor")
def matrix_exp_backward(x, grad):
    """The gradient of ``matrix_exp``."""
    return recorded_gradients(api.matrix_exp, grad, x)[0]


@_hidden(
    "affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> "
    "Tensor"
)
def affine_grid_generator_backward(grad, size, align_corners):
    """The gradient of ``affine_grid_generator``, which is linear."""
    dims = len(size) - 2
    theta = grad.new_zeros(size[0], dims, dims + 1)
    return recorded_gradients(
        lambda t: api.affine_grid_generator(t, size, align_corners), grad, theta
    )[0]


@_hidden(
    "conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) "
    "-> (Tensor, Tensor, Tensor)"
)
def conv_tbc_backward(grad, x, weight, bias, pad):
    """The gradient of ``conv_tbc``."""
    return recorded_gradients(
        lambda *operands: api.conv_tbc(*operands, pad), grad, x, weight, bias
    )


@_hidden("infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor")
def infinitely_differentiable_gelu_backward(grad, x):
    """``gelu_backward``, which has derivatives of every order."""
    return api.ops.aten.gelu_backward(grad, x)


@_hidden("glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor", out=True)
def glu_jvp(glu, x, dx, dim):
    """The tangent of ``glu``."""
    return api.func.jvp(lambda x: api._C._nn.glu(x, dim), (x,), (dx,))[1]


@_hidden(
    "glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, "
    "Tensor dx, int dim) -> Tensor",
    out=True,
)
def glu_backward_jvp(grad_x, grad, x, dgrad, dx, dim):
    """The tangent of the gradient of ``glu``."""
    return api.func.jvp(
        lambda grad, x: api.ops.aten.glu_backward(grad, x, dim), (grad, x), (dgrad, dx)
    )[1]


@_hidden(
    "adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, "
    "Tensor(a!) grad_input) -> Tensor(a!)"
)
def adaptive_avg_pool3d_backward(grad, x, *, grad_input):
    """The gradient of ``adaptive_avg_pool3d``."""
    pool, size = api._C._nn.adaptive_avg_pool3d, grad.shape[-3:]
    with api.no_grad():
        result = recorded_gradients(lambda x: pool(x, size), grad, x)[0]
        return grad_input.resize_(result.shape).copy_(result)


@_hidden(
    "linear_backward(Tensor self, Tensor grad_output, Tensor weight, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    out=True,
    seen=True,
)
def linear_backward(x, grad, weight, mask):
    """Gradients of (input, weight, bias); None for those not in ``mask``."""
    rows = grad.reshape(-1, grad.shape[-1])
    return (
        grad @ weight if mask[0] else None,
        rows.t() @ x.reshape(-1, x.shape[-1]) if mask[1] else None,
        rows.sum(0) if mask[2] else None,
    )


@_hidden(
    "matmul_backward(Tensor grad, Tensor self, Tensor other, bool[2] mask) "
    "-> (Tensor, Tensor)",
    out=True,
    seen=True,
)
def matmul_backward(grad, x, other, mask):
    """The gradient of ``matmul``; None for those not in ``mask``."""
    gradients = recorded_gradients(api.matmul, grad, x, other)
    return tuple(
        g if wanted else None for g, wanted in zip(gradients, mask, strict=True)
    )


@_hidden(
    "max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
    "int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) "
    "-> Tensor",
    out=True,
    seen=True,
)
def max_pool2d_backward(grad, x, kernel_size, stride, padding, dilation, ceil_mode):
    """The gradient of ``max_pool2d``, which does not return indices."""
    window = kernel_size, stride, padding, dilation, ceil_mode
    return recorded_gradients(lambda x: api.max_pool2d(x, *window), grad, x)[0]


@_hidden(
    "huber_loss_backward.out(Tensor grad_output, Tensor self, Tensor target, "
    "int reduction, float delta, *, Tensor(a!) grad_input) -> Tensor(a!)"
)
def huber_loss_backward(grad, x, target, reduction, delta, *, grad_input):
    """``huber_loss_backward`` written to ``grad_input``, the name of its ``out=``."""
    result = api.ops.aten.huber_loss_backward.default(grad, x, target, reduction, delta)
    return grad_input.resize_(result.shape).copy_(result)
