"""Random distributions: poisson, binomial, gamma, multinomial. Draws have no
history.
"""

import math

from pellucid_compiler.composites import (
    all_true,
    api,
    composite,
    require,
)


def _require_values(message, condition):
    """Raise unless the condition holds for all examples; never on Meta."""
    require(all_true(condition), message)


# ------------------------------------------------------------------ counts


@composite(
    "poisson(Tensor self, Generator? generator=None) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def poisson(x, generator):
    """A Poisson count per rate, in its dtype; the same as PyTorch's for equal seeds."""
    require(
        x.is_floating_point(),
        "poisson is not implemented for {}: give floating-point rates",
        x.dtype,
        error=NotImplementedError,
    )
    _require_values("poisson: a rate is negative; give numbers from 0 on", x >= 0)
    return api._C._pellucid._draw_poisson_(_parameters(x), generator=generator).to(
        x.dtype
    )


def _parameters(x):
    """A copy to be overwritten by draws."""
    return x.detach().to(api.float64, copy=True, memory_format=api.contiguous_format)


@composite(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def binomial(count, prob, generator):
    """The number of ``count`` trials that succeed with probability ``prob``; the same
    as PyTorch's for equal seeds.
    """
    require(
        count.is_floating_point(),
        "binomial takes floating-point counts, not {}",
        count.dtype,
    )
    require(
        prob.dtype == count.dtype,
        "binomial: found dtype {} of prob but expected that of count, {}",
        prob.dtype,
        count.dtype,
    )
    pairs = api.stack(api.broadcast_tensors(count.detach(), prob.detach()), -1)
    drawn = api._C._pellucid._draw_binomial_(_parameters(pairs), generator=generator)
    return drawn[..., 0].to(count.dtype)


# ------------------------------------------------------------------ gamma


@composite(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def _standard_gamma(x, generator):
    """A gamma variate of rate 1 per shape; the same as PyTorch's for equal seeds. The
    gradient is that of the quantile function (Figurnov et al. 2018).
    """
    require(
        x.is_floating_point(),
        "_standard_gamma takes floating-point shapes, not {}",
        x.dtype,
    )
    drawn = api._C._pellucid._draw_gamma_(_parameters(x), generator=generator).to(
        x.dtype
    )
    drawn = drawn.clamp(min=api.finfo(x.dtype).tiny)
    if not (x.requires_grad and api.is_grad_enabled()):
        return drawn
    return drawn + (x - x.detach()) * _standard_gamma_grad(x, drawn)


@composite(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def _standard_gamma_grad(x, output):
    """The derivative of a gamma variate by its shape: a central difference of the
    distribution function, divided by the density.
    """
    shape, place = x.detach().double(), output.detach().double()
    step = 1e-4 * shape
    rise = api.igamma(shape + step, place) - api.igamma(shape - step, place)
    density = ((shape - 1) * place.log() - place - shape.lgamma()).exp()
    return (-rise / (2 * step) / density).nan_to_num().to(x.dtype)


@composite(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
    method=False,
    out=True,
    seen=True,
)
def _sample_dirichlet(x, generator):
    """Gamma variates of rate 1, divided by their sum along the last dim."""
    drawn = api._C._pellucid._draw_gamma_(_parameters(x), generator=generator)
    shares = drawn / drawn.sum(-1, keepdim=True)
    return shares.to(x.dtype).clamp(api.finfo(x.dtype).tiny, 1.0)


# ------------------------------------------------------------------ indices

_FEW_COMPARISONS = 2**15  # of draws with categories; to search more is faster


@composite(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "
    "Generator? generator=None) -> Tensor",
    out=True,
    seen=True,
    casts_out=False,
)
def multinomial(x, num_samples, replacement, *, generator):
    """Indices into the last dim, drawn with its elements as weights."""
    if (
        x.dim() not in (1, 2)
        or not x.is_floating_point()
        or num_samples <= 0
        or (not replacement and num_samples > x.shape[-1])
    ):
        _refuse_draw(x, num_samples)
    weights = x.detach()
    totals = weights.sum(-1, keepdim=True)
    finite = (weights >= 0) & (weights < math.inf)
    valid = finite.all(-1, keepdim=True) & (totals > 0)
    _require_values(
        "multinomial: weights must be finite, at least 0, and not all 0", valid
    )
    if not replacement or num_samples == 1:
        keys = weights / api.empty_like(weights).exponential_(generator=generator)
        if num_samples == 1:
            return keys.argmax(-1, keepdim=True)
        return keys.topk(num_samples, -1)[1]
    shape = (*weights.shape[:-1], num_samples)
    levels = weights.new_empty(shape, dtype=api.float64).uniform_(generator=generator)
    reached = weights.cumsum(-1) / totals
    if levels.numel() * weights.shape[-1] <= _FEW_COMPARISONS:
        return (reached[..., None, :-1] < levels[..., None]).sum(-1)
    places = api.searchsorted(reached, _rounded_up(levels, reached.dtype))
    return places.clamp(max=weights.shape[-1] - 1)


def _rounded_up(levels, dtype):
    """Float64 numbers in a dtype that represents all of ``dtype``, which compare with
    these as the unrounded ones do.
    """
    if dtype == api.float64:
        return levels
    rounded = levels.float()
    return api.where(
        rounded < levels, rounded.nextafter(api.full_like(rounded, 2)), rounded
    )


def _refuse_draw(x, num_samples):
    """Raise the error of the first condition that does not hold."""
    require(
        x.dim() in (1, 2),
        "multinomial takes one or two dimensions of weights, not {}",
        x.dim(),
    )
    require(
        x.is_floating_point(),
        "multinomial takes floating-point weights, not {}",
        x.dtype,
    )
    require(num_samples > 0, "multinomial cannot draw {} samples", num_samples)
    require(
        False,
        "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without "
        "replacement: {} of {}; pass replacement=True",
        num_samples,
        x.shape[-1],
    )
