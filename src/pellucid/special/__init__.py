"""``special``: special functions of elements.

Those that are declared for this module stand in ``catalogue/special.py`` and
``catalogue/bessel.py`` and are found through ``__getattr__``; others are functions
of the package under a second name. Imported when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import Tensor
from pellucid._C import _special
from pellucid._calls.overridable import make_overridable
from pellucid.special._polynomials import *

# Functions of the package, by the names that they have here.
_SECOND_NAMES = {
    "digamma": "digamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "i0": "i0",
    "log1p": "log1p",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma",
    "polygamma": "polygamma",
    "psi": "digamma",
    "round": "round",
    "sinc": "sinc",
    "xlogy": "xlogy",
}


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """``exp(input)`` over its sum along ``dim``."""
    return input.softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax, without overflow."""
    return input.log_softmax(dim, dtype=dtype)


def xlog1py(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``; 0 where ``input`` is 0. One may be a number."""
    left, right = _tensors(input, other)
    found = _special.xlog1py(left, right)
    return found if out is None else out.copy_(found)


def zeta(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz' zeta function: the sum of ``(other + k) ** -input``."""
    left, right = _tensors(input, other)
    found = _special.zeta(left, right)
    return found if out is None else out.copy_(found)


def _tensors(first: Any, second: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors; a number takes the other's float dtype."""
    given = first if isinstance(first, Tensor) else second
    is_float = given.is_floating_point()
    dtype = given.dtype if is_float else pellucid.get_default_dtype()
    left, right = (
        t if isinstance(t, Tensor) else pellucid.tensor(t, dtype=dtype)
        for t in (first, second)
    )
    return left, right


make_overridable(globals())


def __getattr__(name: str) -> Any:
    if name in _SECOND_NAMES:
        found = getattr(pellucid, _SECOND_NAMES[name])
    elif hasattr(_special, name) and not name.startswith("__"):
        found = getattr(_special, name)
    else:
        raise AttributeError(
            f"module 'pellucid.special' has no attribute {name!r}: either PyTorch has "
            "no such name, or Pellucid does not offer it yet"
        )
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_SECOND_NAMES, *dir(_special)})


if TYPE_CHECKING:  # what the op table gives; `__getattr__` finds it
    from pellucid._op_types.special import *
