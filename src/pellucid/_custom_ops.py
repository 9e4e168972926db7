"""``torch._custom_ops``: the former interface of ``torch.library``."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["get_ctx"]


def get_ctx() -> NoReturn:
    """Called by a shape function for a size that depends on data.

    Raises NotImplementedError: sizes of tensors without data are concrete numbers.
    """
    raise NotImplementedError(
        "the size of the result depends on data, and tensors on the meta device have "
        "none; run the op on tensors with data"
    )
