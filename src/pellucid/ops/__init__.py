"""The catalogue: one declaration per op, by family. Importing it fills lang's
REGISTRY.
"""

from pellucid.ops import (
    activation,
    arithmetic,
    comparison,
    elementary,
    reductions,
    views,
)

__all__ = [
    "activation",
    "arithmetic",
    "comparison",
    "elementary",
    "reductions",
    "views",
]
