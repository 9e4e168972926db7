"""Second names of ops: PyTorch has them, and some are NumPy's.

An alias is the op's own callable under another name, as a function, a method and in
place, as far as the op has these forms. Called by ``pellucid/__init__.py``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "true_divide": "div",
}


def bind_aliases(namespace: dict[str, Any]) -> None:
    """Enters the aliases into the package's namespace and on its Tensor class."""
    tensor = namespace["Tensor"]
    for alias, name in ALIASES.items():
        for suffix in ("", "_"):
            if name + suffix in namespace:
                namespace[alias + suffix] = namespace[name + suffix]
            if hasattr(tensor, name + suffix):
                setattr(tensor, alias + suffix, getattr(tensor, name + suffix))
