"""Elementwise random ops: bernoulli, dropout, exponential; the words of devices.

Fills (``uniform_``, ``normal_``, ``random_``, ``bernoulli_``) and factories (``rand``,
``randn``, ``randint``, ``randperm``, ``normal``) are intrinsics in C++, which draw
PyTorch's CPU stream and call ``_box_muller`` for normal numbers. On a device with a
stream of its own they call ``_fill_uniform_`` and the others here.
"""

from pellucid_compiler.declare import (
    PI,
    bitand,
    bitor,
    bitxor,
    cast,
    ceil,
    const,
    cos,
    log,
    log1p,
    loop,
    maximum,
    minimum,
    philox,
    pointwise,
    random,
    require,
    shift_left,
    shift_right,
    sin,
    sqrt,
    tabulate_groups,
    tan,
    to,
    uniform_double,
    uniform_single,
    where,
    wide_word,
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
    return _box_muller_of(u, v, mean, std)


def _box_muller_of(u, v, mean, std):
    radius = sqrt(-2 * log(1 - u))
    angle = 2 * PI * v
    first, second = radius * cos(angle), radius * sin(angle)
    return first * std + mean, second * std + mean


@loop(
    "pellucid::_philox_words(Tensor key, Tensor start, SymInt seed, SymInt offset, "
    "SymInt blocks) -> Tensor",
    method=False,
    out=False,
    rare=True,
)
def philox_words(key, start, seed, offset, blocks):
    """Blocks of 4 random words, int32 of shape (blocks, 4): block ``b`` is Philox of
    the key ``key + seed`` and the counter ``((start + offset) / 4, b)``.

    ``key`` and ``start`` are int64 of no dims: what replays of a graph change.
    """
    require(blocks >= 0, "_philox_words: blocks is {}, which is negative", blocks)
    for number in (key, start):
        require(
            number.dtype == "int64",
            f"_philox_words takes int64 numbers, not {number.dtype}",
            error=NotImplementedError,
        )
    words_drawn = start[()] + offset
    counter = shift_right(words_drawn, 2)
    return tabulate_groups([blocks], lambda b: philox(key[()] + seed, (counter, b)))


_FILLED = {"inplace_only": True, "function": False, "rare": True}


@random(
    "pellucid::_fill_uniform(Tensor self, float low, float high, float last, *, "
    "Generator? generator=None) -> Tensor",
    draws=lambda *dtypes: 2 if dtypes[0] == "float64" else 1,
    **_FILLED,
)
def fill_uniform(x, low, high, last, generator, words):
    """Uniform numbers from ``low`` to ``last``, the greatest below ``high`` that the
    dtype has."""
    drawn = uniform_double(*words) if len(words) == 2 else uniform_single(*words)
    low, high, last = (cast(number, x.dtype) for number in (low, high, last))
    return minimum(low + cast(drawn, x.dtype) * (high - low), last)


@random(
    "pellucid::_fill_normal(Tensor self, float mean, float std, *, "
    "Generator? generator=None) -> Tensor",
    draws=lambda *dtypes: 4 if dtypes[0] == "float64" else 2,
    **_FILLED,
)
def fill_normal(x, mean, std, generator, words):
    """Normal numbers, each from two uniform ones."""
    half = len(words) // 2
    pair = words[:half], words[half:]
    u, v = (uniform_double(*w) if half == 2 else uniform_single(*w) for w in pair)
    return cast(_box_muller_of(u, v, mean, std)[0], x.dtype)


@random(
    "pellucid::_fill_integers(Tensor self, SymInt low_high, SymInt low_low, "
    "SymInt count_high, SymInt count_low, *, Generator? generator=None) -> Tensor",
    draws=2,
    **_FILLED,
)
def fill_integers(x, low_high, low_low, count_high, count_low, generator, words):
    """Integers from ``low`` on. ``count``: of how many, an unsigned number of 64 bits;
    0 for all. Both come as halves of 32 bits, since numbers of float tensors are
    float64.
    """
    low, count = _joined(low_high, low_low), _joined(count_high, count_low)
    drawn, lowest = wide_word(*words), const(-(1 << 63), "int64")
    # Division is signed: of the upper 63 bits; their remainder is then doubled modulo
    # the divisor, and the last bit is added.
    divisor = maximum(count, 1)
    upper = bitand(shift_right(drawn, 1), const((1 << 63) - 1, "int64")) % divisor
    rest, last = divisor - upper, bitand(drawn, const(1, "int64"))
    doubled = where(upper >= rest, upper - rest, upper + upper) + last
    few = where(doubled >= divisor, doubled - divisor, doubled)
    is_beyond = bitxor(drawn, lowest) >= bitxor(count, lowest)
    many = where(is_beyond & (count != 0), drawn - count, drawn)
    return cast(low + where(count > 0, few, many), x.dtype)


def _joined(high, low):
    return bitor(shift_left(cast(high, "int64"), 32), cast(low, "int64"))


@random(
    "pellucid::_fill_bernoulli(Tensor self, float p, *, Generator? generator=None) "
    "-> Tensor",
    draws=2,
    **_FILLED,
)
def fill_bernoulli(x, p, generator, words):
    """1 with probability ``p``, else 0."""
    return cast(uniform_double(*words) < p, x.dtype)


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
