"""``torch.distributed.tensor``: the type that libraries ask tensors for."""

from typing import Any, NoReturn

__all__ = ["DTensor"]


class DTensor:
    """A tensor spread over processes: there is none, since Pellucid trains in one."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "Pellucid trains in one process: use the tensor itself"
        )
