"""Elementwise random ops, with PyTorch's CPU stream: bernoulli, dropout, exponential.

Fills (``uniform_``, ``normal_``, ``random_``, ``bernoulli_``) and factories (``rand``,
``randn``, ``randint``, ``randperm``, ``normal``) are intrinsics in C++, which call
``_box_muller`` for normal numbers.
"""

from pellucid_compiler.declare import (
    PI,
    cast,
    ceil,
    cos,
    log,
    log1p,
    pointwise,
    random,
    require,
    sin,
    sqrt,
    tan,
    to,
    uniform_double,
    uniform_single,
    where,
)


@pointwise(
    "pellucid::_box_muller(Tensor u, Tensor v, *, float mean, float std) -> (Tensor, "
    "Tensor)",
    method=False,
    inplace=False,
    rare=True,
)
def box_muller(u, v, mean, std):
    """Two independent normal numbers from two uniform ones in [0, 1) (G. E. P. Box and
    M. E. Muller, A note on the generation of random normal deviates, 1958).
    """
    radius = sqrt(-2 * log(1 - u))
    angle = 2 * PI * v
    first, second = radius * cos(angle), radius * sin(angle)
    return first * std + mean, second * std + mean


@random(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    out="bernoulli.float_out(Tensor self, float p=0.5, *, "
    "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    draws=2,
    node="BernoulliBackward1",
)
def bernoulli_p(x, p, generator, words):
    """1 with probability ``p``, else 0, in the dtype of ``x``."""
    require(p >= 0, "bernoulli: p is {}; a probability is from 0 to 1", p)
    require(p <= 1, "bernoulli: p is {}; a probability is from 0 to 1", p)
    return cast(uniform_double(*words) < p, x.dtype)


@random(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    draws=2,
    core=True,
    method=False,
)
def native_dropout(x, p, train, words):
    """``x / (1 - p)`` where the mask is true, else 0; and the mask.

    The mask is true with probability ``1 - p``.
    """
    require(p >= 0, "dropout: p is {}; a probability is from 0 to 1", p)
    require(p <= 1, "dropout: p is {}; a probability is from 0 to 1", p)
    keep = uniform_double(*words) < 1 - p
    return x * where(keep, 1 / cast(1 - p, x.dtype), cast(0, x.dtype)), to(keep, "bool")


def _words_of(*dtypes):
    """Two words for float64 probabilities (the last dtype), else one."""
    return 2 if dtypes[-1] == "float64" else 1


@random(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    draws=_words_of,
    inplace=False,
)
def bernoulli(x, generator, words):
    """1 with the probability given by the element of ``x``, else 0."""
    return cast(_happens("bernoulli", x, words), x.dtype)


@random(
    "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
    forms=(
        "bernoulli.Tensor_out(Tensor self, Tensor p, *, "
        "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    ),
    draws=_words_of,
    inplace_only=True,
    unpromoted=("self", "p"),
    node="BernoulliBackward0",
)
def bernoulli_tensor(x, p, generator, words):
    """1 with the probability given by the element of ``p``, in the dtype of ``x``."""
    return cast(_happens("bernoulli_", p, words), x.dtype)


def _happens(name, p, words):
    require(
        p.dtype.startswith(("float", "bfloat")),
        f"{name}: probabilities are floats from 0 to 1, not {p.dtype}; convert them",
        error=NotImplementedError,
    )
    require((p >= 0) & (p <= 1), f"{name}: a probability is not from 0 to 1")
    drawn = uniform_double(*words) if len(words) == 2 else uniform_single(*words)
    return drawn < p


@random(
    "exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor",
    forms=(
        "exponential.out(Tensor self, float lambd=1, *, "
        "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    ),
    draws=2,
    inplace_only=True,
)
def exponential(x, lambd, generator, words):
    """``-log(1 - u) / lambd``, u uniform in [0, 1)."""
    require(lambd > 0, "exponential_: lambd is {}; give a positive number", lambd)
    _require_float("exponential_", x)
    return cast(-log1p(-uniform_double(*words)) / lambd, x.dtype)


@random(
    "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    forms=(
        "geometric.out(Tensor self, float p, *, "
        "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    ),
    draws=2,
    inplace_only=True,
)
def geometric(x, p, generator, words):
    """The number of trials of probability ``p`` until a success: ``ceil(log(u) / log(1
    - p))``.
    """
    require((p > 0) & (p < 1), "geometric_: p is {}; give a number between 0 and 1", p)
    odds = log1p(-to(p, "float64"))
    return cast(ceil(log(uniform_double(*words)) / odds), x.dtype)


@random(
    "cauchy(Tensor self, float median=0, float sigma=1, *, "
    "Generator? generator=None) -> Tensor",
    forms=(
        "cauchy.out(Tensor self, float median=0, float sigma=1, *, "
        "Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    ),
    draws=2,
    inplace_only=True,
)
def cauchy(x, median, sigma, generator, words):
    """``median + sigma tan(pi (u - 1/2))``, u uniform in [0, 1)."""
    require(sigma > 0, "cauchy_: sigma is {}; give a positive number", sigma)
    _require_float("cauchy_", x)
    angle = (uniform_double(*words) - 0.5) * PI
    return cast(median + sigma * tan(angle), x.dtype)


def _require_float(name, x):
    require(
        x.dtype.startswith(("float", "bfloat")),
        f"{name} fills float tensors; this one is {x.dtype}",
    )
