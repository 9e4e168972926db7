"""``TorchVersion``: a version string that compares with versions, strings and
tuples.
"""

from __future__ import annotations

import operator

TYPE_CHECKING = False  # importing typing takes a fifth of the package's time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A string that compares by the rules of Python's versions (PEP 440), through the
    ``packaging`` library; other strings compare as strings.

    ::

        torch.__version__ >= (2, 13)    # True
        torch.__version__ < "2.9"       # False; as strings it would be True
    """

    def _compared(self, other: Any, compare: Callable[[Any, Any], bool]) -> bool:
        from packaging.version import InvalidVersion, Version

        try:
            version = _version_of(other)
            return (
                NotImplemented if version is None else compare(Version(self), version)
            )
        except InvalidVersion:
            return (
                compare(str(self), other) if isinstance(other, str) else NotImplemented
            )

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, operator.lt)

    def __le__(self, other: Any) -> bool:
        return self._compared(other, operator.le)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, operator.ge)

    def __eq__(self, other: object) -> bool:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return self._compared(other, operator.ne)

    __hash__ = str.__hash__


def _version_of(other: object) -> Any:
    """None for anything else."""
    from packaging.version import Version

    if isinstance(other, Version):
        return other
    if isinstance(other, str):
        return Version(other)
    if isinstance(other, tuple | list):
        return Version(".".join(str(part) for part in other))
    return None
