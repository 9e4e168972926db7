"""The handler that ``record`` uses by default."""

from pellucid.distributed.elastic.multiprocessing.errors.error_handler import (
    ErrorHandler,
)

__all__ = ["get_error_handler"]


def get_error_handler() -> ErrorHandler:
    """A handler that writes the file in TORCHELASTIC_ERROR_FILE."""
    return ErrorHandler()
