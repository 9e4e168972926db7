"""Names of modules that were imported from a package.

They begin with ``<torch_package_0>.``, a number per importer, so that they differ from
installed modules of the same name and from those of other packages.
"""

from __future__ import annotations

import re
from itertools import count

_PREFIX = re.compile(r"<torch_package_\d+>(\.|$)")
_numbers = count()


class Mangler:
    """The names of one importer."""

    def __init__(self) -> None:
        self.prefix = f"<torch_package_{next(_numbers)}>"

    def mangle(self, name: str) -> str:
        """The name with this importer's prefix."""
        return f"{self.prefix}.{name}"


def is_mangled(name: str) -> bool:
    """Whether a module of this name was imported from a package."""
    return _PREFIX.match(name) is not None


def demangle(name: str) -> str:
    """The name without a prefix."""
    return _PREFIX.sub("", name, count=1)
