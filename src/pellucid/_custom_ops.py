"""``torch._custom_ops``: the older door to ``torch.library``, which libraries open."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["get_ctx"]


def get_ctx() -> NoReturn:
    """What a shape function asks for a size that only the data tell.

    Raises NotImplementedError: tensors without data have sizes that are numbers.
    """
    raise NotImplementedError(
        "the size of the result depends on data, and tensors on the meta device have "
        "none; run the op on tensors with data"
    )
