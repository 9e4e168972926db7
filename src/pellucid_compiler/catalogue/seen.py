"""Helpers for the gradients that dispatch modes see (declare/seen.py): functions of the
framework's tensors, not of traced ones.
"""

from pellucid_compiler.composites import api


def conjugated(x):
    """The conjugate of a tensor, or of a number in its place."""
    if isinstance(x, api.Tensor):
        return x.conj() if x.is_complex() else x
    return x.conjugate()


def adjoint(x):
    """The conjugated transpose of a matrix, or of several."""
    return conjugated(x.t() if x.dim() == 2 else x.transpose(1, 2))


def of_second(grad, first, second):
    """The gradient of a product's second matrix, with that matrix's layout."""
    if second is None or second.stride() != (1, second.shape[0]):
        return adjoint(first).mm(grad)
    return grad.t().mm(conjugated(first)).t()


def scaled(x, factor):
    """``conj(factor) x``; ``x`` itself if the factor is 1."""
    return x if factor == 1 else api.ops.aten.mul.Scalar(x, conjugated(factor))


def summed(x, size):
    """``x`` summed over the dims that were broadcast to its shape."""
    if x.shape == size:
        return x
    missing = x.dim() - len(size)
    dims = [
        d
        for d in range(x.dim())
        if d < missing or (size[d - missing] == 1 and x.shape[d] != 1)
    ]
    return x.sum(dims, True).view(size)


def restored(x, dims, keepdim, rank):
    """A reduction's result with the reduced dims restored, with size 1."""
    dims = [dims] if isinstance(dims, int) else dims
    if keepdim or not rank or not dims:
        return x  # it broadcasts
    for d in sorted(d % rank for d in dims):
        x = x.unsqueeze(d)
    return x


def spread(grad, size, dim, keepdim):
    """The gradient of a sum over some dims, at every element."""
    return restored(grad, dim, keepdim, len(size)).expand(size)


def scattered(grad, size, dim, indices):
    """The gradient of selected elements, scattered to their indices."""
    if len(size) > indices.dim():
        indices, grad = indices.unsqueeze(dim), grad.unsqueeze(dim)
    return grad.new_zeros(size).scatter(dim, indices, grad)


def share_of_equals(grad, self, result, dim=(), keepdim=False):
    """The gradient of an extremum, shared by the elements that equal it."""
    if not dim:
        both_nan = self.isnan().logical_and(result.isnan())
        mask = (self == result).logical_or_(both_nan)
        return grad / mask.sum() * mask
    if not keepdim:
        dims = {d % self.dim() for d in ([dim] if isinstance(dim, int) else dim)}
        size = [1 if d in dims else n for d, n in enumerate(self.shape)]
        result, grad = result.view(size), grad.reshape(size)
    mask = result == self
    return grad / mask.sum(dim, True) * mask


def as_convolution(dims, transposed):
    """The op that ``conv2d`` and the like are seen as: ``convolution`` of a batch."""

    def run(x, weight, bias, stride, padding, output_padding, groups, dilation):
        if x.dim() not in (dims + 1, dims + 2) or weight.dim() != dims + 2:
            return NotImplemented
        images = x if x.dim() == dims + 2 else x.unsqueeze(0)
        y = api.ops.aten.convolution.default(
            images, weight, bias, stride, padding, dilation, transposed, output_padding,
            groups,
        )  # fmt: skip
        return y if images is x else y.squeeze(0)

    if transposed:
        return run
    return lambda x, weight, bias, stride, padding, dilation, groups: run(
        x, weight, bias, stride, padding, [0] * dims, groups, dilation
    )
