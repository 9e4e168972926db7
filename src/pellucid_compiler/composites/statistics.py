"""Traces, means without NaN, quantiles, modes, covariances."""

import math
import warnings

from pellucid_compiler.composites import all_true, api, composite, require


@composite("trace(Tensor self) -> Tensor", out=True, autocast="float32")
def trace(x):
    """The sum of the diagonal of a matrix."""
    require(x.dim() == 2, "trace takes a matrix, not a {}-D tensor", x.dim())
    require(
        x.dtype != api.bool,
        "trace does not take bools: convert with .to(torch.int64) or .float()",
        error=NotImplementedError,
    )
    return x.diagonal().sum()


@composite(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out=True,
)
def nanmean(x, dim, keepdim, *, dtype):
    """The mean over ``dim`` of the elements that are not NaN."""
    require(
        x.is_floating_point(), "nanmean takes a floating-point tensor, not {}", x.dtype
    )
    require(
        dtype is None or dtype.is_floating_point or dtype.is_complex,
        "nanmean(): a mean is not of dtype {}; give a floating-point one",
        dtype,
    )
    values = x if dtype is None else x.to(dtype)
    dims = list(range(x.dim())) if dim is None else dim
    numbers = ~values.isnan()
    count = numbers.sum(dims, keepdim=keepdim)
    return values.where(numbers, 0.0).sum(dims, keepdim=keepdim) / count


_QUANTILE = (
    "int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"
)
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@composite(
    f"quantile.scalar(Tensor self, float q, {_QUANTILE}",
    out=True,
    autocast="float32",
    casts_out=False,
)
@composite(f"quantile(Tensor self, Tensor q, {_QUANTILE}", out=True, autocast="float32")
def quantile(x, q, dim, keepdim, *, interpolation):
    """The ``q`` quantiles along ``dim``; NaN for rows with NaN."""
    return _quantile(x, q, dim, keepdim, interpolation, skip_nan=False)


@composite(
    f"nanquantile.scalar(Tensor self, float q, {_QUANTILE}",
    out=True,
    autocast="float32",
    casts_out=False,
)
@composite(
    f"nanquantile(Tensor self, Tensor q, {_QUANTILE}", out=True, autocast="float32"
)
def nanquantile(x, q, dim, keepdim, *, interpolation):
    """The ``q`` quantiles of the elements that are not NaN."""
    return _quantile(x, q, dim, keepdim, interpolation, skip_nan=True)


def _quantile(x, q, dim, keepdim, interpolation, skip_nan):
    require(
        x.dtype in (api.float32, api.float64),
        "quantile takes float32 or float64, not {}",
        x.dtype,
    )
    require(x.numel() != 0, "quantile of an empty tensor")
    require(
        interpolation in _INTERPOLATIONS,
        "interpolation is one of {}, not {!r}",
        _INTERPOLATIONS,
        interpolation,
    )
    q = _ratios(x, q)
    flat = x.flatten() if dim is None else x
    rows = flat.movedim(0 if dim is None else dim, -1) if flat.dim() else flat[None]
    ordered = rows.sort(-1)[0]
    invalid = ordered.isnan()
    last = float(ordered.shape[-1] - 1)
    if skip_nan:
        last = (~invalid).sum(-1, keepdim=True).to(x.dtype) - 1
    ranks = (q.reshape(-1) * last).clamp(min=0)
    ranks = ranks.expand(*ordered.shape[:-1], q.numel())
    quantiles = _between(ordered, ranks, interpolation)
    if not skip_nan:
        quantiles = quantiles.masked_fill(invalid.any(-1, keepdim=True), math.nan)
    quantiles = quantiles.movedim(-1, 0)
    if keepdim:
        result_shape = [1] * x.dim() if dim is None else list(x.shape)
        if dim is not None and result_shape:
            result_shape[dim] = 1
        quantiles = quantiles.reshape(-1, *result_shape)
    return quantiles[0] if q.dim() == 0 else quantiles


def _ratios(x, q):
    """``q`` as a tensor of the dtype of ``x``."""
    if isinstance(q, api.Tensor):
        require(q.dtype == x.dtype, "quantile: q is {}, the input {}", q.dtype, x.dtype)
        return q
    require(0 <= q <= 1, "quantile: q is a number from 0 to 1, not {}", q)
    return api.full((), float(q), dtype=x.dtype, device=x.device)


def _between(ordered, ranks, interpolation):
    """The elements of rows at fractional ``ranks``."""
    rounding = {"lower": "floor", "higher": "ceil", "nearest": "round"}.get(
        interpolation
    )
    if rounding:
        return ordered.gather(-1, getattr(ranks, rounding)().long())
    low, high = ranks.floor().long(), ranks.ceil().long()
    part = ranks - low if interpolation == "linear" else api.full_like(ranks, 0.5)
    return ordered.gather(-1, low).lerp(ordered.gather(-1, high), part)


@composite(
    "mode(Tensor self, int dim=-1, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)",
    out="values",
)
def mode(x, dim, keepdim):
    """The most frequent value along ``dim``, the least of equally frequent ones, and
    its last index.
    """
    if x.dim() == 0:
        return x.clone(), api.zeros_like(x, dtype=api.int64)
    ordered, places = x.movedim(dim, -1).sort(dim=-1, stable=True)
    # The end of the longest run of equal elements is farthest from its start.
    steps = api.arange(ordered.shape[-1], device=x.device)
    differs = ordered[..., 1:] != ordered[..., :-1]
    starts = api.nn.functional.pad(steps[1:] * differs, (1, 0))
    last = (steps - starts.cummax(-1)[0]).argmax(-1, keepdim=True)
    values, indices = (t.gather(-1, last).movedim(-1, dim) for t in (ordered, places))
    if keepdim:
        return values, indices
    return values.squeeze(dim), indices.squeeze(dim)


@composite(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, "
    "Tensor? aweights=None) -> Tensor",
    gives_view=True,
)
def cov(x, *, correction, fweights, aweights):
    """The covariances of variables (rows) over observations (columns)."""
    require(x.dim() <= 2, "cov takes at most 2 dims, not {}", x.dim())
    require(x.dtype != api.bool, "cov does not take bools: convert with .float()")
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    _check_weights("fweights", fweights, rows.shape[1])
    _check_weights("aweights", aweights, rows.shape[1])
    if not (rows.is_floating_point() or rows.is_complex()):
        rows = rows.to(api.get_default_dtype())
    factors = [w for w in (fweights, aweights) if w is not None]
    if not factors:
        return _covariances(rows, correction)
    weights = math.prod(factors[1:], start=factors[0])
    total = weights.sum()
    centered = rows - (rows * weights).sum(1, keepdim=True) / total
    excess = correction
    if aweights is not None:
        excess = correction * (weights * aweights).sum() / total
    norm = (total - excess).real.clamp(min=0)
    return ((centered * weights) @ centered.mH / norm).squeeze()


def _check_weights(name, weights, count):
    """Check the weights of ``count`` observations; frequencies must be integers."""
    if weights is None:
        return
    fits = weights.is_floating_point()
    if name == "fweights":
        fits = not (fits or weights.is_complex() or weights.dtype == api.bool)
    wanted = "integers" if name == "fweights" else "floating-point numbers"
    require(fits, "cov: {} are {}, not of {}", name, wanted, weights.dtype)
    require(weights.dim() <= 1, "cov: {} have {} dims, not 1", name, weights.dim())
    require(
        weights.numel() == count,
        "cov: {} {} for {} observations",
        weights.numel(),
        name,
        count,
    )
    require(all_true(weights >= 0), "cov: {} must not be negative", name)


def _covariances(rows, correction):
    """The covariances of observations with equal weights."""
    count = rows.shape[1]
    if count <= correction:
        warnings.warn(
            f"cov: {count} observations with the correction {correction} have no "
            "degrees of freedom: the result is NaN or infinite",
            stacklevel=3,
        )
    centered = rows - rows.mean(1, keepdim=True)
    return (centered @ centered.mH / max(count - correction, 0)).squeeze()


@composite("corrcoef(Tensor self) -> Tensor")
def corrcoef(x):
    """The correlations of variables (rows) over observations (columns)."""
    covariances = x.cov()
    if covariances.dim() == 0:
        return covariances / covariances
    deviation = covariances.diagonal().real.sqrt()
    ratio = covariances / deviation.unsqueeze(1) / deviation
    if ratio.is_complex():
        return api.complex(ratio.real.clamp(-1, 1), ratio.imag.clamp(-1, 1))
    return ratio.clamp(-1, 1)
