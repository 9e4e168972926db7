"""``torch.distributed.elastic.multiprocessing.subprocess_handler``: commands."""

from pellucid.distributed.elastic.multiprocessing.subprocess_handler.handlers import (
    get_subprocess_handler as get_subprocess_handler,
)
from pellucid.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import (  # noqa: E501 - PyTorch's path
    SubprocessHandler as SubprocessHandler,
)

__all__ = ["SubprocessHandler", "get_subprocess_handler"]
