"""Dropout of elements and of whole channels, plain and for selu."""

from math import sqrt

from pellucid_compiler.composites import api, composite, require

# The value that selu goes to at -infinity, where alpha dropout puts what it drops.
_ALPHA = 1.7580993408473766


def _drops(x, p, train):
    """Whether anything is dropped; RuntimeError unless ``p`` is a probability."""
    if not 0 <= p <= 1:
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got {p}"
        )
    return train and p and x.numel()


@composite("dropout(Tensor input, float p, bool train) -> Tensor", method=False)
def dropout(x, p, train):
    """Zeros with probability ``p``, the other elements divided by ``1 - p``."""
    if not _drops(x, p, train):
        return x
    if x.is_complex():
        raise NotImplementedError(f"dropout: not implemented for {x.dtype} tensors")
    if p == 1:
        return x * api.zeros_like(x)
    return api.native_dropout(x, p, True)[0]


@composite("dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", method=False)
def dropout_(x, p, train):
    """``dropout`` in place."""
    return x.mul_(_kept(x, x.shape, p)) if _drops(x, p, train) else x


def _kept(x, shape, p):
    """``1 / (1 - p)`` with probability ``1 - p``, else 0."""
    if p == 1:
        return x.new_zeros(shape)
    return x.new_empty(shape).bernoulli_(1 - p).div_(1 - p)


def _channels(x):
    """The shape of one number for each channel of each example."""
    require(
        x.dim() >= 2,
        "dropout of whole channels takes tensors of 2 dimensions or more, not {}",
        x.dim(),
    )
    return [*x.shape[:2], *([1] * (x.dim() - 2))]


@composite("feature_dropout(Tensor input, float p, bool train) -> Tensor", method=False)
def feature_dropout(x, p, train):
    """``dropout`` of whole channels."""
    return x * _kept(x, _channels(x), p) if _drops(x, p, train) else x


@composite(
    "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    method=False,
)
def feature_dropout_(x, p, train):
    """``feature_dropout`` in place."""
    return x.mul_(_kept(x, _channels(x), p)) if _drops(x, p, train) else x


def _alpha_terms(x, shape, p):
    """(factor, summand) that keep mean and variance of selu's outputs."""
    if p == 1:
        return x.new_zeros(shape), x.new_zeros(shape)
    noise = x.new_empty(shape).bernoulli_(1 - p)
    scale = 1 / sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (noise - 1).mul_(_ALPHA * scale).add_(_ALPHA * scale * p)
    return noise.mul_(scale), shift


def _scaled(x, shape, p):
    factor, summand = _alpha_terms(x, shape, p)
    return x * factor + summand


def _scale(x, shape, p):
    factor, summand = _alpha_terms(x, shape, p)
    return x.mul_(factor).add_(summand)


@composite("alpha_dropout(Tensor input, float p, bool train) -> Tensor", method=False)
def alpha_dropout(x, p, train):
    """Dropout for selu: dropped elements take its least value (Klambauer 2017)."""
    return _scaled(x, x.shape, p) if _drops(x, p, train) else x


@composite(
    "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", method=False
)
def alpha_dropout_(x, p, train):
    """``alpha_dropout`` in place."""
    return _scale(x, x.shape, p) if _drops(x, p, train) else x


@composite(
    "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", method=False
)
def feature_alpha_dropout(x, p, train):
    """``alpha_dropout`` of whole channels."""
    return _scaled(x, _channels(x), p) if _drops(x, p, train) else x


@composite(
    "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    method=False,
)
def feature_alpha_dropout_(x, p, train):
    """``feature_alpha_dropout`` in place."""
    return _scale(x, _channels(x), p) if _drops(x, p, train) else x
