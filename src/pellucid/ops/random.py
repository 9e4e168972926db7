"""Random ops, with PyTorch's CPU stream: bernoulli, dropout.

Fills (``uniform_``, ``normal_``, ``random_``, ``bernoulli_``) and factories (``rand``,
``randn``, ``randint``, ``randperm``, ``normal``) belong to the generator: they are
library routines in ``runtime/random``.
"""

from pellucid.lang import cast, random, require, to, uniform_double, where


@random(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    draws=2,
)
def bernoulli_p(x, p, generator, words):
    """1 with probability ``p``, else 0, in the dtype of ``x``."""
    require(p >= 0, "bernoulli: p is {}; a probability is from 0 to 1", p)
    require(p <= 1, "bernoulli: p is {}; a probability is from 0 to 1", p)
    return cast(uniform_double(*words) < p, x.dtype)


@random(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", draws=2
)
def native_dropout(x, p, train, words):
    """``x / (1 - p)`` where the mask is true, else 0; and the mask.

    The mask is true with probability ``1 - p``.
    """
    require(p >= 0, "dropout: p is {}; a probability is from 0 to 1", p)
    require(p <= 1, "dropout: p is {}; a probability is from 0 to 1", p)
    keep = uniform_double(*words) < 1 - p
    return x * where(keep, 1 / cast(1 - p, x.dtype), cast(0, x.dtype)), to(keep, "bool")
