"""The Kullback-Leibler divergence between pairs of distributions.

Closed forms are registered by the types of a pair; those of exponential families are
in Nielsen and Nock 2010.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor, linalg
from pellucid.distributions.bernoulli import Bernoulli
from pellucid.distributions.beta import Beta
from pellucid.distributions.binomial import Binomial
from pellucid.distributions.categorical import Categorical
from pellucid.distributions.cauchy import Cauchy
from pellucid.distributions.continuous_bernoulli import ContinuousBernoulli
from pellucid.distributions.dirichlet import Dirichlet
from pellucid.distributions.distribution import Distribution
from pellucid.distributions.exponential import Exponential
from pellucid.distributions.gamma import Gamma
from pellucid.distributions.geometric import Geometric
from pellucid.distributions.gumbel import Gumbel
from pellucid.distributions.half_cauchy import HalfCauchy
from pellucid.distributions.half_normal import HalfNormal
from pellucid.distributions.independent import Independent
from pellucid.distributions.laplace import Laplace
from pellucid.distributions.log_normal import LogNormal
from pellucid.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
)
from pellucid.distributions.multivariate_normal import (
    MultivariateNormal,
    _batch_mahalanobis,
)
from pellucid.distributions.normal import Normal
from pellucid.distributions.one_hot_categorical import OneHotCategorical
from pellucid.distributions.pareto import Pareto
from pellucid.distributions.poisson import Poisson
from pellucid.distributions.transformed_distribution import TransformedDistribution
from pellucid.distributions.uniform import Uniform
from pellucid.distributions.utils import EULER, LOG_ROOT_2_PI
from pellucid.distributions.weibull import Weibull
from pellucid.distributions.wishart import Wishart

__all__ = ["kl_divergence", "register_kl"]

_Rule = Callable[[Any, Any], Tensor]
_KL_REGISTRY: dict[tuple[type, type], _Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Rule], _Rule]:
    """Registers ``rule(p, q)`` for two types of distributions and their subclasses."""
    for family in (type_p, type_q):
        if not isinstance(family, type):
            raise TypeError(f"register_kl takes types of distributions, not {family!r}")

    def declare(rule: _Rule) -> _Rule:
        _KL_REGISTRY[type_p, type_q] = rule
        return rule

    return declare


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """``E_p[log p - log q]``; ``NotImplementedError`` for a pair without a rule."""
    for first in type(p).__mro__:
        for second in type(q).__mro__:
            rule = _KL_REGISTRY.get((first, second))
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(
        f"there is no KL divergence of {type(p).__name__} and {type(q).__name__}; "
        "register_kl declares one"
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    gap = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + gap - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(Normal(p.loc, p.scale, False), Normal(q.loc, q.scale, False))


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return ratio * (-distance / p.scale).exp() + distance / q.scale - ratio.log() - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return pellucid.where((q.low > p.low) | (q.high < p.high), math.inf, divergence)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    levels = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return levels + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    levels = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    slopes = a.digamma() - total.digamma().unsqueeze(-1)
    return levels + ((a - b) * slopes).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = pellucid.nn.functional.softplus
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    divergence = pellucid.where(p.probs == 0, 0.0, yes) + pellucid.where(
        p.probs == 1, 0.0, no
    )
    impossible = ((q.probs == 0) & (p.probs > 0)) | ((q.probs == 1) & (p.probs < 1))
    return pellucid.where(impossible, math.inf, divergence)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL of a binomial with fewer trials than the other")
    odds = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    divergence = p.total_count * odds
    return pellucid.where(p.total_count > q.total_count, math.inf, divergence)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = pellucid.where((q.probs == 0).expand(terms.shape), math.inf, terms)
    terms = pellucid.where((p.probs == 0).expand(terms.shape), 0.0, terms)
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError("KL of multivariate normals of different sizes")
    mine, other = p.scale_tril, q.scale_tril
    batch = pellucid.broadcast_shapes(mine.shape[:-2], other.shape[:-2])
    whole = batch + other.shape[-2:]
    white = linalg.solve_triangular(
        other.expand(whole), mine.expand(whole), upper=False
    )
    moved = _batch_mahalanobis(other, q.loc - p.loc)
    volumes = (other / mine).diagonal(0, -2, -1).log().sum(-1)
    spread = white.pow(2).sum((-2, -1)) + moved
    return volumes + 0.5 * (spread - p.event_shape[0])  # type: ignore[no-any-return]


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen 2019."""
    spread = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return spread - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    mine, other = p.loc / p.scale, q.loc / q.scale
    moved = mine * ratio
    rest = (ratio + 1).lgamma() + other - moved
    return -ratio.log() - (1 + EULER) + ratio * EULER + moved - other + rest.exp()


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    sizes, tails = p.scale / q.scale, q.alpha / p.alpha
    divergence = q.alpha * sizes.log() - tails.log() + tails - 1
    return pellucid.where(p.scale < q.scale, math.inf, divergence)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    mine = p.mean * (p.logits - q.logits)
    sizes = p._log_normalizer() + (-p.probs).log1p()
    return mine + sizes - q._log_normalizer() - (-q.probs).log1p()


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of distributions with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    count = p.reinterpreted_batch_ndims
    if count != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independents with different event dims")
    divergence = kl_divergence(p.base_dist, q.base_dist)
    return divergence.flatten(-count).sum(-1) if count else divergence


# Pairs of different families


def _infinite(p: Any, q: Any) -> Tensor:
    """Pairs in which p has values outside the support of q."""
    example = next(v for v in vars(p).values() if isinstance(v, Tensor))
    return pellucid.full_like(example, math.inf)


_POSITIVE: tuple[type, ...] = (Exponential, Gamma, Pareto)
_BOUNDED: tuple[type, ...] = (Beta, ContinuousBernoulli, Uniform)
_WHOLE_LINE: tuple[type, ...] = (Normal, Laplace, Gumbel)
_IMPOSSIBLE = (
    *itertools.product(_WHOLE_LINE, (*_POSITIVE, *_BOUNDED)),
    *itertools.product(_POSITIVE, _BOUNDED),
    *itertools.product((Exponential, Gamma, Beta, ContinuousBernoulli), (Pareto,)),
    *itertools.product((Poisson,), (Bernoulli, Binomial)),
)
for _pair in _IMPOSSIBLE:
    register_kl(*_pair)(_infinite)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    gap = p.loc - q.loc
    ratio = gap / p.scale
    bell = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp()
    distance = bell + gap * (math.sqrt(0.5) * ratio).erf()
    return distance / q.scale + (2 * q.scale).log() - p.entropy()


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    mean, spread = p.loc / q.scale, (p.scale / q.scale).pow(2)
    moved = q.loc / q.scale
    terms = mean - moved + (-mean + 0.5 * spread + moved).exp()
    return terms + q.scale.log() - p.entropy()


@register_kl(Laplace, Normal)
def _laplace_normal(p: Laplace, q: Normal) -> Tensor:
    squares = p.variance + (p.loc - q.loc).pow(2)
    return 0.5 * squares / q.variance + LOG_ROOT_2_PI + q.scale.log() - p.entropy()


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    levels = -q.concentration * ratio.log() + ratio + q.concentration.lgamma()
    return levels + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Beta, Normal)
@register_kl(Uniform, Normal)
@register_kl(Gumbel, Normal)
@register_kl(ContinuousBernoulli, Normal)
def _to_normal(p: Any, q: Normal) -> Tensor:
    """By the first two moments of p."""
    squares = p.variance + (p.mean - q.loc).pow(2)
    terms = 0.5 * squares / q.variance + LOG_ROOT_2_PI + q.scale.log()
    return terms - p.entropy()  # type: ignore[no-any-return]


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
def _to_exponential(p: Any, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean  # type: ignore[no-any-return]


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    divergence = q.rate * p.mean - ((p.high - p.low) * q.rate).log()
    return pellucid.where(p.low < 0, math.inf, divergence)


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    total = p.concentration1 + p.concentration0
    logarithm = p.concentration1.digamma() - total.digamma()
    levels = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + levels - (q.concentration - 1) * logarithm + q.rate * p.mean


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    divergence = -p.entropy() + (q.high - q.low).log()
    return pellucid.where((q.low > 0) | (q.high < 1), math.inf, divergence)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    divergence = -p.entropy() + (q.high - q.low).log()
    return pellucid.where((q.low > 0) | (q.high < 1), math.inf, divergence)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    scaled, moved = p.rate * q.scale, q.loc / q.scale
    terms = moved.exp() * scaled / (scaled + 1) - moved
    return terms + scaled.reciprocal() + scaled.log() - 1


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    scaled, moved, a = p.rate * q.scale, q.loc / q.scale, p.concentration
    levels = (a - 1) * a.digamma() - a.lgamma() - a
    terms = scaled.log() + a / scaled - moved
    return levels + terms + moved.exp() * (1 + scaled.reciprocal()).pow(-a)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    width = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return width.log() + 0.5 * (high + low) - width * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    a, width = q.concentration, p.high - p.low
    logarithm = _mean_logarithm(p)
    divergence = a.lgamma() - a * q.rate.log() - width.log() + q.rate * p.mean
    return pellucid.where(p.low < 0, math.inf, divergence + (1 - a) * logarithm)


def _mean_logarithm(p: Uniform) -> Tensor:
    ends = pellucid.xlogy(p.high, p.high) - pellucid.xlogy(p.low, p.low)
    return ends / (p.high - p.low) - 1


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    levels = q.alpha.log() + q.alpha * q.scale.log() + (p.high - p.low).log()
    divergence = (q.alpha + 1) * _mean_logarithm(p) - levels
    return pellucid.where(p.low < q.scale, math.inf, divergence)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    flipped = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    divergence = a.lgamma() + b.lgamma() - (a + b).lgamma() - (p.high - p.low).log()
    divergence = (
        divergence - (a - 1) * _mean_logarithm(p) - (b - 1) * _mean_logarithm(flipped)
    )
    return pellucid.where((p.high > 1) | (p.low < 0), math.inf, divergence)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    divergence = -p.entropy() - p.mean * q.logits - (-q.probs).log1p()
    divergence = divergence - q._log_normalizer()
    return pellucid.where((p.high > 1) | (p.low < 0), math.inf, divergence)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    terms = -p.entropy() - p.mean * q.logits
    return terms - (-q.probs).log1p() - q._log_normalizer()


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    divergence = (p.alpha / (p.scale * q.rate)).log() - (1 + 1 / p.alpha)
    divergence = divergence + q.rate * p.alpha * p.scale / (p.alpha - 1)
    return pellucid.where(p.alpha <= 1, math.inf, divergence)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    a = q.concentration
    logarithm = p.scale.log() + 1 / p.alpha
    divergence = p.alpha.log() - p.scale.log() - (1 + 1 / p.alpha) + a.lgamma()
    divergence = divergence - a * q.rate.log() + (1 - a) * logarithm
    divergence = divergence + q.rate * p.alpha * p.scale / (p.alpha - 1)
    return pellucid.where(p.alpha <= 1, math.inf, divergence)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    return pellucid.where(p.alpha <= 2, math.inf, _to_normal(p, q))


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: HalfCauchy, q: HalfCauchy) -> Tensor:
    return 2 * (p.scale + q.scale).log() - (4 * p.scale * q.scale).log()


@register_kl(Weibull, Weibull)
def _weibull(p: Weibull, q: Weibull) -> Tensor:
    """Bauckhage 2013."""
    a, b = p.concentration, q.concentration
    ratio = p.scale / q.scale
    levels = (a / p.scale.pow(a)).log() - (b / q.scale.pow(b)).log()
    slopes = (a - b) * (p.scale.log() - EULER / a)
    return levels + slopes + ratio.pow(b) * (b / a + 1).lgamma().exp() - 1


@register_kl(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> Tensor:
    size = p.event_shape[0]
    batch = pellucid.broadcast_shapes(p.batch_shape, q.batch_shape)
    mine = p.scale_tril.expand(batch + p.event_shape)
    other = q.scale_tril.expand(batch + q.event_shape)
    spread = linalg.solve_triangular(other, mine, upper=False).pow(2).sum((-2, -1))
    volumes = (other / mine).diagonal(0, -2, -1).log().sum(-1)
    levels = pellucid.mvlgamma(q.df / 2, size) - pellucid.mvlgamma(p.df / 2, size)
    slopes = (p.df - q.df) / 2 * p._shapes().digamma().sum(-1)
    return q.df * volumes + (spread - size) * p.df / 2 + levels + slopes  # type: ignore[no-any-return]
