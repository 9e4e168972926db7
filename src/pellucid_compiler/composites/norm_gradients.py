"""The gradients of normalizations, from the statistics of the forward pass."""

from pellucid_compiler.composites import composite, widened


def _gradients(grad, x, mean, rstd, weight, over, rows, mask, moves=True):
    """Gradients of (input, weight, bias); None for those not in ``mask``.

    Means are over the dims ``over``, weights are summed over ``rows``; all operands
    broadcast. Without ``moves`` the statistics do not depend on the input.
    """
    dtype = x.dtype
    grad, x, mean, rstd = map(widened, (grad, x, mean, rstd))
    weight = weight if weight is None else widened(weight)
    normal = (x - mean) * rstd
    gradients = [None, None, None]
    if mask[0]:
        slope = grad if weight is None else grad * weight
        if moves:
            along = (slope * normal).mean(over, keepdim=True)
            slope = slope - slope.mean(over, keepdim=True) - normal * along
        gradients[0] = (slope * rstd).to(dtype)
    if mask[1]:
        gradients[1] = (grad * normal).sum(rows).to(dtype) if rows else grad * normal
    if mask[2]:
        gradients[2] = grad.sum(rows).to(dtype) if rows else grad
    return tuple(gradients)


@composite(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, "
    "SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, "
    "Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    method=False,
    function=False,
    out=True,
    seen=True,
    core=True,
)
def native_layer_norm_backward(grad, x, shape, mean, rstd, weight, bias, mask):
    """The gradient of ``native_layer_norm``."""
    first = x.dim() - len(shape)
    over, rows = [*range(first, x.dim())], [*range(first)]
    return _gradients(grad, x, mean, rstd, weight, over, rows, mask)


@composite(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, "
    "Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    method=False,
    out=True,
    seen=True,
    core=True,
    function=False,
)
def native_group_norm_backward(
    grad, x, mean, rstd, weight, samples, channels, pixels, groups, mask
):
    """The gradient of ``native_group_norm``."""
    split = samples, groups, channels // groups, pixels
    mean, rstd = (t.reshape(samples, groups, 1, 1) for t in (mean, rstd))
    wide = None if weight is None else weight.reshape(1, groups, -1, 1)
    operands = grad.reshape(split), x.reshape(split), mean, rstd, wide
    of_x, *of_vectors = _gradients(*operands, [2, 3], [0, 3], mask)
    of_x = None if of_x is None else of_x.reshape(x.shape)
    return of_x, *(None if v is None else v.reshape(channels) for v in of_vectors)


def _of_channels(grad, x, weight, mean, rstd, moves, mask):
    shape = (1, -1) + (1,) * (x.dim() - 2)
    mean, rstd = mean.reshape(shape), rstd.reshape(shape)
    weight = None if weight is None else weight.reshape(shape)
    over = [0, *range(2, x.dim())]
    return _gradients(grad, x, mean, rstd, weight, over, over, mask, moves)


_RUNNING = "Tensor? running_mean, Tensor? running_var"


@composite(
    f"native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, "
    f"{_RUNNING}, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    method=False,
    function=False,
    out=True,
    seen=True,
)
def native_batch_norm_backward(
    grad, x, weight, running_mean, running_var, mean, rstd, train, eps, mask
):
    """The gradient of ``native_batch_norm``."""
    if not train:
        mean, rstd = running_mean, (running_var + eps).rsqrt()
    return _of_channels(grad, x, weight, mean, rstd, train, mask)


@composite(
    f"batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, {_RUNNING}, "
    "Tensor? save_mean, Tensor? save_var, bool update, float eps, "
    "bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)",
    method=False,
    function=False,
)
def batch_norm_backward(*arguments):
    """``native_batch_norm_backward``; ``reserve`` is for GPU libraries."""
    return native_batch_norm_backward(*arguments[:-1])
