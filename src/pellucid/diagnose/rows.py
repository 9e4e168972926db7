"""Which rows of its tables a program uses: seen while a further run compares values
(``values.py``); ``rules/rows_used.py`` reads the answer.
"""

from __future__ import annotations

from typing import Any

_ROWS = 1024  # of a table that may be larger than needed


class Rows:
    """Which rows of embeddings and which classes of losses a program uses: by their
    number, those used, and how many more were used in the second half of the calls.
    """

    def __init__(self) -> None:
        self._used: dict[int, Any] = {}
        self._counts: dict[int, list[tuple[int, int]]] = {}

    def watch(self) -> None:
        """Look at the indices from now on."""
        from pellucid.nn import functional

        embedding, cross_entropy = functional.embedding, functional.cross_entropy

        def looked_up(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
            self._use(len(weight), input)
            return embedding(input, weight, *args, **kwargs)

        def compared(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if not target.is_floating_point() and input.dim() > 1:
                self._use(input.shape[1], target)
            return cross_entropy(input, target, *args, **kwargs)

        functional.embedding, functional.cross_entropy = looked_up, compared

    def _use(self, rows: int, indices: Any) -> None:
        import numpy as np

        if rows < _ROWS:
            return
        try:
            own = indices.detach().numpy(force=True).reshape(-1)
        except RuntimeError:  # of a transform, or without values
            return
        used = self._used.setdefault(rows, np.zeros(rows, bool))
        used[own[(own >= 0) & (own < rows)]] = True
        counts = self._counts.setdefault(rows, [(0, 0)])
        counts.append((counts[-1][0] + own.size, int(used.sum())))

    def answer(self) -> dict[str, tuple[int, int, int]]:
        """Of each number of rows: values seen, rows used, rows used in the first half
        of the calls.
        """
        return {
            str(rows): (*counts[-1], counts[len(counts) // 2][1])
            for rows, counts in self._counts.items()
        }
