"""What ``hub.tqdm`` is where tqdm is not installed: it counts, and shows nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class tqdm:
    """Passes through what it is given; ``n`` is how far it is."""

    def __init__(
        self, iterable: Iterable[Any] = (), *args: Any, **options: Any
    ) -> None:
        self.iterable, self.total, self.n = iterable, options.get("total"), 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield item
            self.n += 1

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def update(self, n: int = 1) -> None:
        """``n`` more are done."""
        self.n += n

    def close(self) -> None:
        """Nothing is left to do."""

    def set_description(self, text: str = "", refresh: bool = True) -> None:
        """Not shown."""

    def set_postfix(self, *args: Any, **values: Any) -> None:
        """Not shown."""
