"""Reductions to sums, products, extremes and truth values; statistics.py has means."""

from pellucid_compiler.catalogue.real_only import refuse_bool, require_real
from pellucid_compiler.catalogue.scans import along_dim
from pellucid_compiler.catalogue.seen import (
    conjugated,
    restored,
    share_of_equals,
    spread,
)
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    argmax_of,
    argmin_of,
    conj,
    const,
    detach,
    every,
    exp,
    fused,
    greatest_over,
    isinf,
    isnan,
    least_over,
    log,
    maximum,
    minimum,
    num_elements,
    over_dims,
    pointwise,
    product,
    real,
    reduced_shape,
    reduction_op,
    require,
    reshape,
    restore_dims,
    some,
    squeeze_dims,
    tabulate,
    to,
    total_over,
    unsqueeze,
    where,
    wrap_dim,
    wrap_dims,
)


def _summable(x, dtype):
    """The elements in the dtype of their sum, which is int64 for integers and bools."""
    return to(x, dtype or (x.dtype if x.is_floating else "int64"))


@reduction_op("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
def sum_all(x, dtype):
    """The sum of all elements; integers and bools are summed as int64."""
    return total_over(_summable(x, dtype))


@reduction_op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    node="SumBackward1",
    core=True,
)
def sum_dim(x, dim, keepdim, dtype):
    """The sum over ``dim``; integers and bools are summed as int64."""
    return total_over(_summable(x, dtype), dim, keepdim)


@reduction_op(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor"
)
def nansum(x, dim, keepdim, dtype):
    """The sum over ``dim``, NaN counted as 0."""
    require_real("nansum", x)
    x = where(isnan(x), 0, x) if x.is_floating else x
    return total_over(_summable(x, dtype), dim, keepdim)


def _spread_over_numbers(grad, self, size, dim=None, keepdim=False):
    numbers = self.isnan().logical_not()
    return spread(grad, size, dim, keepdim) * numbers


nansum.gradients_seen_as(self=_spread_over_numbers)


@reduction_op(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    autocast="float32",
    core=True,
)
def prod(x, dtype):
    """The product of all elements; integers and bools are multiplied as int64."""
    return over_dims(product, _summable(x, dtype), None)


@reduction_op(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    node="ProdBackward1",
    autocast="float32",
    core=True,
)
def prod_dim(x, dim, keepdim, dtype):
    """The product over ``dim``; integers and bools are multiplied as int64."""
    return over_dims(product, _summable(x, dtype), dim, keepdim)


_PROD_REASON = "the derived rule divides by each element, which may be 0"


@prod.vjp(_PROD_REASON)
def _(x, dtype, y, grad, derived):
    flat = reshape(x, [num_elements(x)])
    return reshape(_product_gradient(flat, 0, dtype, grad), x.shape)


@prod_dim.vjp(_PROD_REASON)
def _(x, dim, keepdim, dtype, y, grad, derived):
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        return to(grad, x.dtype)
    grad = grad if keepdim else unsqueeze(grad, dim)
    return _product_gradient(x, dim, dtype, grad)


def _seen_of_product(grad, x, dim):
    """The gradient times the products of the elements before and after each one."""
    if x.shape[dim] <= 1:
        return grad.expand(x.shape)
    size, rest = list(x.shape), x.shape[dim] - 1
    size[dim] = 1
    ones = api.ones(size, dtype=x.dtype, device=x.device)
    before = api.cat([ones, x.narrow(dim, 0, rest)], dim).cumprod(dim)
    after = api.cat([ones, x.narrow(dim, 1, rest).flip(dim)], dim).cumprod(dim)
    after = after.flip(dim)
    return grad * conjugated(before * after)


def _seen_of_all_products(grad, self, dtype=None):
    if dtype not in (None, self.dtype) or not self.dim():
        return NotImplemented
    return _seen_of_product(grad, self.view(-1), 0).view(self.shape)


def _seen_of_products_along(grad, self, dim, keepdim, dtype=None):
    if dtype not in (None, self.dtype) or not self.dim():
        return NotImplemented
    return _seen_of_product(restored(grad, dim, keepdim, self.dim()), self, dim)


prod.gradients_seen_as(self=_seen_of_all_products)
prod_dim.gradients_seen_as(self=_seen_of_products_along)


def _product_gradient(x, dim, dtype, grad):
    """``grad`` times the product of the elements before and after each one."""
    factors = to(x, dtype)
    around = [
        along_dim(factors, dim, lambda carry, x_t: carry * x_t, 1, reverse=reverse)
        for reverse in (False, True)
    ]

    def neighbour(t, p, step):
        place = [*p[:dim], p[dim] + step, *p[dim + 1 :]]
        return t.outside(1)[place]

    def others_at(*p):
        return conj(neighbour(around[0], p, -1) * neighbour(around[1], p, 1))

    others = tabulate(x.shape, others_at)
    return to(others * grad, x.dtype)


@reduction_op(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    out=False,
    forms=(
        "count_nonzero.out(Tensor self, int? dim=None, *, Tensor(a!) out) "
        "-> Tensor(a!)",
    ),
)
def count_nonzero(x, dim):
    """How many elements along ``dim`` are not 0."""
    return total_over(to(_truth(x), "int64"), dim)


@reduction_op(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    out=False,
    forms=(
        "count_nonzero.dim_IntList_out(Tensor self, int[] dim, *, Tensor(a!) out) "
        "-> Tensor(a!)",
    ),
)
def count_nonzero_dims(x, dim):
    """How many elements over the dims are not 0."""
    return total_over(to(_truth(x), "int64"), dim)


def _truth(x):
    return x if x.dtype == "bool" else x != 0


def _truth_over(reduce, x, dims, keepdim=False):
    """Whether any or all elements are true: bool, but uint8 for uint8. An empty list of
    dims reduces nothing, unlike in other reductions, where it means all dims.
    """
    truth = _truth(x)
    if dims is None or isinstance(dims, int) or len(dims):
        truth = over_dims(reduce, truth, dims, keepdim)
    return to(truth, _truth_dtype(x))


def _truth_dtype(x):
    return x.dtype if x.dtype in _TRUTH else "bool"


_TRUTH = ("bool", "uint8")


@reduction_op("any(Tensor self) -> Tensor", out="all_out", core=True, out_dtypes=_TRUTH)
def any_op(x):
    """Whether an element is not 0."""
    return _truth_over(some, x, None)


@reduction_op(
    "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    out="out",
    core=True,
    out_dtypes=_TRUTH,
)
def any_dim(x, dim, keepdim):
    """Whether an element along ``dim`` is not 0."""
    return _truth_over(some, x, dim, keepdim)


@reduction_op(
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    core=True,
    out_dtypes=_TRUTH,
)
def any_dims(x, dim, keepdim):
    """Whether an element over the dims is not 0."""
    return _truth_over(some, x, dim, keepdim)


@reduction_op("all(Tensor self) -> Tensor", out="all_out", out_dtypes=_TRUTH)
def all_op(x):
    """Whether no element is 0."""
    return _truth_over(every, x, None)


@reduction_op(
    "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    out="out",
    out_dtypes=_TRUTH,
)
def all_dim(x, dim, keepdim):
    """Whether no element along ``dim`` is 0."""
    return _truth_over(every, x, dim, keepdim)


@reduction_op(
    "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    out_dtypes=_TRUTH,
)
def all_dims(x, dim, keepdim):
    """Whether no element over the dims is 0."""
    return _truth_over(every, x, dim, keepdim)


@fused(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    aliases=("special_logsumexp",),
    tags="reduction",
)
def logsumexp(x, dim, keepdim):
    """``m + log sum exp(x - m)``, m the greatest element where it is finite."""
    x = to(x, None if x.is_floating else "float32")
    is_complex = x.dtype.startswith("complex")
    m = detach(greatest_over(real(x) if is_complex else x, dim, keepdim=True))
    m = to(where(isinf(m), 0.0, m), x.dtype)
    y = log(total_over(exp(x - m), dim, keepdim=True)) + m
    return y if keepdim else squeeze_dims(y, wrap_dims(dim, x.rank))


@logsumexp.vjp("saved values: saves x and y, not the exponentials and their sum")
def _(x, dim, keepdim, y, grad, derived):
    if not keepdim:
        dims = wrap_dims(dim, x.rank)
        y, grad = (restore_dims(t, dims, x.rank) for t in (y, grad))
    slope = exp(x - y)
    return (conj(slope) if slope.dtype.startswith("complex") else slope) * grad


def _require_elements(name, x, dims):
    are_given = isinstance(dims, int) or bool(dims)
    for d in wrap_dims(dims, x.rank):
        require(
            x.shape[d] > 0,
            f"{name}: dim {d} has no elements to choose from",
            error=IndexError if are_given else RuntimeError,
        )


@reduction_op(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    core=True,
    casts_out=False,
)
def amax(x, dim, keepdim):
    """The greatest element over the dims; equal ones share the gradient."""
    _require_elements("amax", x, dim)
    return greatest_over(x, dim, keepdim)


amax.gradients_seen_as(self=share_of_equals)


@reduction_op(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    core=True,
    casts_out=False,
)
def amin(x, dim, keepdim):
    """The least element over the dims; equal ones share the gradient."""
    _require_elements("amin", x, dim)
    return least_over(x, dim, keepdim)


amin.gradients_seen_as(self=share_of_equals)


@reduction_op(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) "
    "-> (Tensor min, Tensor max)"
)
def aminmax(x, dim, keepdim):
    """The least and the greatest element along ``dim``."""
    _require_elements("aminmax", x, dim)
    return least_over(x, dim, keepdim), greatest_over(x, dim, keepdim)


_CHOSEN_REASON = "a NaN that is chosen gets the gradient; derived, all would be NaN"


def share_of_chosen(x, y, grad, dims=None):
    """The gradient of an extremum over ``dims``, which ``y`` and ``grad`` retain with
    size 1: shared by the elements that equal it, or by the NaNs.
    """
    chosen = where(isnan(y), isnan(x), x == y)
    count = total_over(to(chosen, grad.dtype), dims, keepdim=dims is not None)
    return where(chosen, grad / count, 0)


@reduction_op("max(Tensor self) -> Tensor", out="unary_out", node="MaxBackward1")
def max_all(x):
    """The greatest of all elements; equal ones share the gradient."""
    _require_any("max", x)
    return greatest_over(x)


@max_all.vjp(_CHOSEN_REASON)
def _(x, y, grad, derived):
    return share_of_chosen(x, y, grad)


max_all.gradients_seen_as(self=share_of_equals)


@reduction_op("min(Tensor self) -> Tensor", out="unary_out", node="MinBackward1")
def min_all(x):
    """The least of all elements; equal ones share the gradient."""
    _require_any("min", x)
    return least_over(x)


@min_all.vjp(_CHOSEN_REASON)
def _(x, y, grad, derived):
    return share_of_chosen(x, y, grad)


min_all.gradients_seen_as(self=share_of_equals)


def _require_any(name, x):
    require(
        num_elements(x) > 0,
        f"{name}: the tensor has no elements; give a dim that has some",
    )


@pointwise(
    "max.other(Tensor self, Tensor other) -> Tensor",
    inplace=False,
    out="out",
    node="MaximumBackward0",
)
def max_other(x, y):
    """The greater of two elements: ``maximum``."""
    return maximum(x, y)


@pointwise(
    "min.other(Tensor self, Tensor other) -> Tensor",
    inplace=False,
    out="out",
    node="MinimumBackward0",
)
def min_other(x, y):
    """The lesser of two elements: ``minimum``."""
    return minimum(x, y)


@reduction_op(
    "max.dim(Tensor self, int dim, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)",
    out="max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
    "Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
    core=True,
)
def max_dim(x, dim, keepdim):
    """The greatest element along ``dim`` and its index: the first one, or a NaN.

    The values are loaded at the indices, so the gradient goes to that element.
    """
    return _extreme("max", argmax_of, x, dim, keepdim)


@reduction_op(
    "min.dim(Tensor self, int dim, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)",
    out="min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, "
    "Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)",
    core=True,
)
def min_dim(x, dim, keepdim):
    """The least element along ``dim`` and its index: the first one, or a NaN."""
    return _extreme("min", argmin_of, x, dim, keepdim)


def _extreme(name, choose, x, dim, keepdim):
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        return tabulate([], lambda: x[()]), tabulate([], lambda: const(0))
    indices = _position(name, choose, x, dim, keepdim)

    def element(*p):
        return x[[*p[:dim], indices[p], *p[dim + keepdim :]]]

    return tabulate(indices.shape, element), indices


def _position(name, choose, x, dim, keepdim):
    """The index of the chosen element along ``dim``."""
    _require_elements(name, x, dim)
    size = x.shape[dim]

    def key(p, k):
        return x[[*p[:dim], k, *p[dim + keepdim :]]], k

    shape = reduced_shape(x, [dim], keepdim)
    return tabulate(shape, lambda *p: choose([size], lambda k: key(p, k)))


@reduction_op(
    "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    core=True,
    casts_out=False,
)
def argmax(x, dim, keepdim):
    """The index of the greatest element, along ``dim`` or among all in row-major order.

    The first of equal ones, or the first NaN.
    """
    return _arg_extreme("argmax", argmax_of, x, dim, keepdim)


@reduction_op(
    "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    core=True,
    casts_out=False,
)
def argmin(x, dim, keepdim):
    """The index of the least element, along ``dim`` or among all in row-major order."""
    return _arg_extreme("argmin", argmin_of, x, dim, keepdim)


def _arg_extreme(name, choose, x, dim, keepdim):
    refuse_bool(name, x)
    require(
        not x.dtype.startswith("complex"),
        f"{name}: {x.dtype} numbers have no order; take those of their abs()",
    )
    if dim is None:
        flat = reshape(x, [num_elements(x)])
        place = _position(name, choose, flat, 0, keepdim=False)
        return restore_dims(place, range(x.rank), x.rank) if keepdim else place
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        return tabulate([], lambda: const(0))
    return _position(name, choose, x, dim, keepdim)
