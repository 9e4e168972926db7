"""Dropout of elements and of whole channels, plain and for selu."""

from math import sqrt

from pellucid_compiler.composites import api, composite, is_watched, require

# Minus selu's limit at -infinity, the value that alpha dropout gives dropped elements.
_ALPHA = 1.7580993408473766


def _drops(x, p, train):
    """Whether anything is dropped; RuntimeError unless ``p`` is a probability."""
    if not 0.0 <= p <= 1.0:  # of floats Python compares faster
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got {p}"
        )
    return train and p and x.numel()


def _in_one_pass(x, p, train):
    return api.native_dropout(x, p, True)[0] if _drops(x, p, train) else x.clone()


@composite(
    "dropout(Tensor input, float p, bool train) -> Tensor",
    method=False,
    core_as=_in_one_pass,
    tags="maybe_aliasing_or_mutating nondeterministic_seeded",
)
def dropout(x, p, train):
    """Zeros with probability ``p``, the other elements divided by ``1 - p``."""
    if not _drops(x, p, train):
        return x
    if x.is_complex():
        raise NotImplementedError(f"dropout: not implemented for {x.dtype} tensors")
    if p == 1.0:
        return x * _zero_mask(x)
    if is_watched():
        return x * _scaled_mask(x, api.empty_like, p)
    return api.native_dropout(x, p, True)[0]


@composite(
    "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    method=False,
    tags="nondeterministic_seeded",
)
def dropout_(x, p, train):
    """``dropout`` in place."""
    return x.mul_(_scaled_mask(x, api.empty_like, p)) if _drops(x, p, train) else x


def _zero_mask(x):
    return api.zeros([], dtype=x.dtype, device=x.device)


def _scaled_mask(x, like, p):
    """``1 / (1 - p)`` with probability ``1 - p``, else 0; ``like`` makes the tensor."""
    if p == 1.0:
        return _zero_mask(x)
    return api.ops.aten.div_.Scalar(like(x).bernoulli_(1 - p), 1 - p)


def _channels(x):
    """A tensor of one number for each channel of each example."""
    require(
        x.dim() >= 2,
        "dropout of whole channels takes tensors of 2 dimensions or more, not {}",
        x.dim(),
    )
    return x.new_empty([*x.shape[:2], *([1] * (x.dim() - 2))])


@composite(
    "feature_dropout(Tensor input, float p, bool train) -> Tensor",
    method=False,
    tags="maybe_aliasing_or_mutating nondeterministic_seeded",
)
def feature_dropout(x, p, train):
    """``dropout`` of whole channels."""
    return x * _scaled_mask(x, _channels, p) if _drops(x, p, train) else x


@composite(
    "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    method=False,
    tags="nondeterministic_seeded",
)
def feature_dropout_(x, p, train):
    """``feature_dropout`` in place."""
    return x.mul_(_scaled_mask(x, _channels, p)) if _drops(x, p, train) else x


def _alpha_terms(x, like, p):
    """(factor, summand) that preserve mean and variance of selu's outputs."""
    noise = like(x).bernoulli_(1 - p)
    scale = 1 / sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    aten = api.ops.aten
    shift = aten.mul_.Scalar(aten.add.Scalar(noise, -1), _ALPHA * scale)
    aten.add_.Scalar(shift, _ALPHA * scale * p)
    return aten.mul_.Scalar(noise, scale), shift


def _scaled(x, like, p):
    if p == 1.0:
        return x * _zero_mask(x)
    factor, summand = _alpha_terms(x, like, p)
    return (x * factor).add_(summand)


def _scale(x, like, p):
    if p == 1.0:
        return x.mul_(_zero_mask(x))
    factor, summand = _alpha_terms(x, like, p)
    return x.mul_(factor).add_(summand)


@composite(
    "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    method=False,
    tags="maybe_aliasing_or_mutating nondeterministic_seeded",
)
def alpha_dropout(x, p, train):
    """Dropout for selu: dropped elements take its least value (Klambauer 2017)."""
    return _scaled(x, api.empty_like, p) if _drops(x, p, train) else x


@composite(
    "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    method=False,
    tags="nondeterministic_seeded",
)
def alpha_dropout_(x, p, train):
    """``alpha_dropout`` in place."""
    return _scale(x, api.empty_like, p) if _drops(x, p, train) else x


@composite(
    "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    method=False,
    tags="maybe_aliasing_or_mutating nondeterministic_seeded",
)
def feature_alpha_dropout(x, p, train):
    """``alpha_dropout`` of whole channels."""
    return _scaled(x, _channels, p) if _drops(x, p, train) else x


@composite(
    "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    method=False,
    tags="nondeterministic_seeded",
)
def feature_alpha_dropout_(x, p, train):
    """``feature_alpha_dropout`` in place."""
    return _scale(x, _channels, p) if _drops(x, p, train) else x
