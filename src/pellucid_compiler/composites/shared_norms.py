"""The steps of synchronised batch normalization: statistics of each process, combined
statistics, normalized elements, and the same for the gradient.

PyTorch has these kernels only on GPUs; here every device computes them.
"""

from pellucid_compiler.composites import api, composite, require, widened


def _hidden(schema, **options):
    return composite(schema, method=False, seen=True, **options)


def _channels(vector, x):
    """A vector of channels, in a shape that broadcasts over ``x``."""
    return vector.reshape(1, -1, *(1,) * (x.dim() - 2))


def _rows(x, name):
    require(
        x.dim() >= 2, f"{name}: needs dims of samples and channels, not {{}}", x.dim()
    )
    return [0, *range(2, x.dim())]


@_hidden("batch_norm_stats(Tensor input, float eps) -> (Tensor, Tensor)", out=True)
def batch_norm_stats(x, eps):
    """Mean and ``1 / standard deviation`` of each channel."""
    variance, mean = api.var_mean(
        widened(x), _rows(x, "batch_norm_stats"), correction=0
    )
    return mean, (variance + eps).rsqrt()


@_hidden(
    "batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, "
    "Tensor invstd, float eps) -> Tensor",
    out=True,
)
def batch_norm_elemt(x, weight, bias, mean, invstd, eps):
    """The normalized elements; ``invstd`` includes ``eps`` already."""
    _rows(x, "batch_norm_elemt")
    normal = (widened(x) - _channels(mean, x)) * _channels(invstd, x)
    if weight is not None:
        normal = normal * _channels(weight, x)
    if bias is not None:
        normal = normal + _channels(bias, x)
    return normal.to(x.dtype)


_GATHERED = (
    "Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, "
    "Tensor? running_var, float momentum, float eps"
)


@_hidden(
    f"batch_norm_gather_stats_with_counts({_GATHERED}, Tensor counts) "
    "-> (Tensor, Tensor)",
    out=True,
)
def batch_norm_gather_stats_with_counts(
    x, mean, invstd, running_mean, running_var, momentum, eps, counts
):
    """The combined statistics of all rows of ``mean`` and ``invstd`` [processes,
    channels], weighted by the numbers of samples in ``counts``. Updates the running
    statistics, if given.
    """
    counts = counts.to(mean.dtype).reshape(-1, 1)
    total = counts.sum()
    together = (mean * counts).sum(0) / total
    squares = ((invstd**-2 - eps) + (mean - together) ** 2) * counts
    deviation = squares.sum(0)
    if running_mean is not None:
        running_mean.lerp_(together.to(running_mean.dtype), momentum)
    if running_var is not None:
        unbiased = deviation / (total - 1)
        running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return together, (deviation / total + eps).rsqrt()


@_hidden(
    f"batch_norm_gather_stats({_GATHERED}, int count) -> (Tensor, Tensor)", out=True
)
def batch_norm_gather_stats(
    x, mean, invstd, running_mean, running_var, momentum, eps, count
):
    """``batch_norm_gather_stats_with_counts`` with equal counts."""
    counts = mean.new_full((mean.shape[0],), count)
    return batch_norm_gather_stats_with_counts(
        x, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


@_hidden(
    "batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, "
    "Tensor invstd, Tensor? weight, bool input_g, bool weight_g, bool bias_g) "
    "-> (Tensor, Tensor, Tensor, Tensor)",
    out=True,
)
def batch_norm_backward_reduce(
    grad, x, mean, invstd, weight, of_input, of_weight, of_bias
):
    """The sums of grad and of grad times deviation, and the gradients of weight and
    bias; None for those not requested.
    """
    rows, wide = _rows(x, "batch_norm_backward_reduce"), widened(grad)
    total = wide.sum(rows)
    along = (wide * (widened(x) - _channels(mean, x))).sum(rows)
    dtype = x.dtype if weight is None else weight.dtype
    return (
        total if of_input else None,
        along if of_input else None,
        (along * invstd).to(dtype) if of_weight else None,
        total.to(dtype) if of_bias else None,
    )


@_hidden(
    "batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, "
    "Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count) "
    "-> Tensor",
    out=True,
)
def batch_norm_backward_elemt(grad, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    """The gradient of the input, from sums over all processes."""
    total = count.sum()
    deviation = widened(x) - _channels(mean, x)
    along = deviation * _channels(invstd**2 * sum_dy_xmu / total, x)
    slope = invstd if weight is None else invstd * weight
    centred = widened(grad) - _channels(sum_dy / total, x) - along
    return (centred * _channels(slope, x)).to(x.dtype)
