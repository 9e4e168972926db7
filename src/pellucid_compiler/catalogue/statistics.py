"""Means, variances and norms."""

from math import prod

from pellucid_compiler.catalogue.reduction import share_of_chosen
from pellucid_compiler.catalogue.seen import restored
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    ask,
    cast,
    greatest_over,
    imag,
    least_over,
    make,
    map_elements,
    mean_over,
    num_elements,
    power,
    real,
    reduction_op,
    require,
    restore_dims,
    sign,
    sqrt,
    squeeze_dims,
    to,
    total_over,
    where,
    with_partials,
    wrap_dims,
)
from pellucid_compiler.ir.dtypes import is_complex, promote, real_dtype

_WIDER = {"float32": "float64", "complex32": "complex64"}


def _wide(x):
    """``x`` in the dtype in which PyTorch computes variances: only then is a float32
    variance accurate to its last bit, even if it is small relative to the mean.
    """
    return to(x, _WIDER.get(x.dtype))


def _rounded(value, x):
    """A value computed from ``_wide(x)``, in the dtype of ``x`` or of its parts."""
    if x.dtype not in _WIDER:
        return value
    return to(value, x.dtype if is_complex(value.dtype) else real_dtype(x.dtype))


def _squares(x):
    """``|x| ** 2`` of each element, which is real."""
    if not x.dtype.startswith("complex"):
        return x * x
    return map_elements(lambda z: real(z) * real(z) + imag(z) * imag(z), x)


def _averaged(name, x, dtype):
    x = to(x, dtype)
    require(
        x.is_floating,
        f"{name}: the mean of {x.dtype} is not {x.dtype}; give dtype=torch.float32 or "
        "convert the tensor",
    )
    return x


@reduction_op(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", out="dtype_out", core=True
)
def mean(x, dtype):
    """The mean of all elements."""
    return mean_over(_averaged("mean", x, dtype))


@reduction_op(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out="out",
    node="MeanBackward1",
    core=True,
)
def mean_dim(x, dim, keepdim, dtype):
    """The mean over ``dim``."""
    return mean_over(_averaged("mean", x, dtype), dim, keepdim)


def moments(x, dim, correction, keepdim):
    """``sum((x - mean)^2) / max(0, n - correction)`` in two passes, and the mean, both
    computed in the dtype of ``x``.
    """
    require(x.is_floating, f"var_mean: {x.dtype} has no mean; convert to a float dtype")
    dims = wrap_dims(dim, x.rank)
    center = mean_over(x, dims, keepdim=True) if dims else x
    count = num_elements(x, dims) - (1 if correction is None else correction)
    spread = _squares(x - center)
    freedom = cast(make("maximum", count, 0), spread.dtype)
    variance = (total_over(spread, dims, keepdim) if dims else spread) / freedom
    return variance, center if keepdim else squeeze_dims(center, dims)


def _by_correction(name):
    """What modes see of the overloads with ``unbiased``."""

    def seen(x, *given):
        dim, unbiased, keepdim = given if len(given) > 1 else (None, *given, False)
        return getattr(api, name)(x, dim, correction=int(unbiased), keepdim=keepdim)

    return seen


@reduction_op(
    "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) "
    "-> (Tensor, Tensor)",
    method=False,
    out=False,
)
def var_mean_dim(x, dim, unbiased, keepdim):
    """The variance and the mean over ``dim``."""
    return var_mean(x, dim, int(unbiased), keepdim)


var_mean_dim.seen_as(_by_correction("var_mean"))


@reduction_op(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)",
    method=False,
)
def var_mean(x, dim, correction, keepdim):
    """``moments``; computed in float64 for float32."""
    variance, center = moments(_wide(x), dim, correction, keepdim)
    return _rounded(variance, x), _rounded(center, x)


@reduction_op(
    "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) "
    "-> Tensor",
    out="out",
    core=True,
)
def var_dim(x, dim, unbiased, keepdim):
    """The variance over ``dim``; ``unbiased`` divides by n - 1."""
    return var_mean(x, dim, int(unbiased), keepdim)[0]


var_dim.seen_as(_by_correction("var"))


@reduction_op(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> Tensor",
    core=True,
)
def var(x, dim, correction, keepdim):
    """``sum((x - mean)²) / max(0, n - correction)``; by default the correction is 1."""
    return var_mean(x, dim, correction, keepdim)[0]


def _deviations(grad, self, dim, correction, keepdim):
    """The gradient of a variance."""
    size, dims = self.shape, dim or None
    grad = restored(grad, dims, keepdim, len(size))
    center = self.mean(dims, True) if dims else self.mean()
    count = prod(size[d] for d in (dims or range(len(size))))
    freedom = count - (1 if correction is None else correction)
    if freedom <= 0:
        return NotImplemented
    return grad * api.ops.aten.mul.Scalar(self - center, 2 / freedom)


var.gradients_seen_as(self=_deviations)


@reduction_op(
    "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    method=False,
    out=False,
)
def var_mean_all(x, unbiased):
    """The variance and the mean of all elements."""
    return var_mean(x, None, int(unbiased), False)


var_mean_all.seen_as(_by_correction("var_mean"))


@reduction_op("var(Tensor self, bool unbiased=True) -> Tensor", out=False)
def var_all(x, unbiased):
    """The variance of all elements; ``unbiased`` divides by n - 1."""
    return var_mean(x, None, int(unbiased), False)[0]


var_all.seen_as(_by_correction("var"))


def _root(x):
    """The square root, with slope 0 at 0, as in PyTorch's norms."""

    def slope(_, y):
        return where(y == 0, 0.0, 0.5 / y)

    return map_elements(lambda e: with_partials(sqrt(e), (e,), slope), x)


@reduction_op(
    "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) "
    "-> Tensor",
    out="out",
)
def std_dim(x, dim, unbiased, keepdim):
    """The square root of ``var``."""
    return std_mean(x, dim, int(unbiased), keepdim)[0]


std_dim.seen_as(_by_correction("std"))


@reduction_op(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> Tensor"
)
def std(x, dim, correction, keepdim):
    """The square root of ``var``."""
    return std_mean(x, dim, correction, keepdim)[0]


def _of_root(grad, self, result, dim, correction, keepdim):
    slope = (grad / api.ops.aten.mul.Scalar(result, 2)).masked_fill_(result == 0, 0)
    return _deviations(slope, self, dim, correction, keepdim)


std.gradients_seen_as(self=_of_root)


@reduction_op("std(Tensor self, bool unbiased=True) -> Tensor", out=False)
def std_all(x, unbiased):
    """The square root of ``var``."""
    return std_mean(x, None, int(unbiased), False)[0]


std_all.seen_as(_by_correction("std"))


@reduction_op(
    "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) "
    "-> (Tensor, Tensor)",
    method=False,
    out=False,
)
def std_mean_dim(x, dim, unbiased, keepdim):
    """``std`` and ``mean`` over ``dim``."""
    return std_mean(x, dim, int(unbiased), keepdim)


std_mean_dim.seen_as(_by_correction("std_mean"))


@reduction_op(
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)",
    method=False,
)
def std_mean(x, dim, correction, keepdim):
    """``std`` and ``mean``."""
    variance, center = moments(_wide(x), dim, correction, keepdim)
    return _rounded(_root(variance), x), _rounded(center, x)


@reduction_op(
    "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    method=False,
    out=False,
)
def std_mean_all(x, unbiased):
    """``std`` and ``mean`` of all elements."""
    return std_mean(x, None, int(unbiased), False)


std_mean_all.seen_as(_by_correction("std_mean"))


@reduction_op(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
    "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    method=False,
    namespace="linalg",
    casts_out=False,
)
def vector_norm(x, ord, dim, keepdim, dtype):
    """``(sum |x| ** ord) ** (1 / ord)``; the greatest or least ``|x|`` for ±inf.

    For 0 the number of elements that are not 0.
    """
    require(
        x.is_floating,
        f"linalg.vector_norm takes floating-point or complex numbers, not {x.dtype}: "
        "convert with .float()",
    )
    source_dtype, x = x.dtype, to(x, dtype)
    require(
        promote(x.dtype, source_dtype) == x.dtype or not x.is_floating,
        f"linalg.vector_norm: {source_dtype} cannot be converted to {x.dtype} without "
        "narrowing; convert the input itself",
    )
    require(
        x.is_floating and is_complex(x.dtype) == is_complex(source_dtype),
        f"linalg.vector_norm: dtype {x.dtype} does not hold the norms of "
        f"{source_dtype}: give a real dtype for real numbers, a complex one for "
        "complex ones",
    )
    if ask(ord == 2):
        return _root(total_over(_squares(x), dim, keepdim))
    size = abs(x)
    if ask(ord < 0) or ask(ord == INF):
        for d in wrap_dims(dim, x.rank):
            require(
                x.shape[d] > 0,
                "linalg.vector_norm: no elements have a norm of a negative or infinite "
                f"order; dim {d} is empty",
            )
    if ask(ord == 0):
        return total_over(to(x != 0, size.dtype), dim, keepdim)
    if ask(ord == 1):
        return total_over(size, dim, keepdim)
    if ask(ord == INF):
        return greatest_over(size, dim, keepdim)
    if ask(ord == -INF):
        return least_over(size, dim, keepdim)
    return power(total_over(power(size, ord), dim, keepdim), 1 / ord)


def _direction(grad, size, self, result, ord, dim, keepdim):
    if ord != 2:
        return NotImplemented
    grad, result = (restored(t, dim, keepdim, len(size)) for t in (grad, result))
    return self * (grad / result).masked_fill_(result == 0, 0)


vector_norm.gradients_seen_as(self=_direction)


@vector_norm.vjp(
    "at 0 PyTorch's gradient is 0, of order 0 none; a scaled power does not overflow"
)
def _(x, ord, dim, keepdim, dtype, y, grad, derived):
    if ask(ord == 2) or ask(ord == 1):
        return derived(grad)
    if ask(ord == 0):
        return None
    dims = wrap_dims(dim, x.rank)
    if not keepdim:
        y, grad = (restore_dims(t, dims, x.rank) for t in (y, grad))
    original, x = x, to(x, dtype)
    size = abs(x)
    if ask(ord == INF) or ask(ord == -INF):
        share = share_of_chosen(size, y, grad, dims)
        direction = x / size if is_complex(x.dtype) else sign(x)
        return to(where(size > 0, direction, 0.0) * share, original.dtype)
    is_zero = (size == 0) | (y == 0)
    # Of ones, so that the slope's own derivative is finite there as well.
    size, y = (where(is_zero, 1.0, t) for t in (size, y))
    slope = where(is_zero, 0.0, x / size * power(size / y, ord - 1))
    return to(slope * grad, original.dtype)
