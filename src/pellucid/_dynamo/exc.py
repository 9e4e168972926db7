"""Errors of ``torch.compile``, under PyTorch's names."""

from __future__ import annotations

import enum
from typing import Any


class TorchDynamoException(RuntimeError):
    """The base class of all errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """An internal error of the capture."""


class ResetRequired(TorchDynamoException):
    """A callable was compiled by two backends without ``torch._dynamo.reset()``."""


class InvalidBackend(TorchDynamoException):
    """No backend has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for "
            "available backends."
        )


class BackendCompilerFailed(TorchDynamoException):
    """A backend raised ``inner_exception`` while it compiled a graph."""

    def __init__(self, backend_fn: Any, inner_exception: BaseException) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(
            f"backend={self.backend_name!r} raised:\n"
            f"{type(inner_exception).__name__}: {inner_exception}"
        )


class Unsupported(TorchDynamoException):
    """The program has a graph break, which ``fullgraph=True`` forbids."""

    def __init__(self, msg: str, *, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.case_name = case_name


class RecompileError(TorchDynamoException):
    """A graph would have to be recompiled where that is forbidden."""


class RecompileLimitExceeded(Unsupported):
    """A callable was captured more often than ``config.recompile_limit``."""


class FailOnRecompileLimitHit(RecompileLimitExceeded):
    """The same, if ``config.fail_on_recompile_limit_hit`` is set."""


class UserErrorType(enum.Enum):
    """Kinds of ``UserError``."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = enum.auto()


class UserError(Unsupported):
    """The program uses the capture in an unsupported way; ``error_type`` says how."""

    def __init__(
        self, error_type: UserErrorType, msg: str, case_name: str | None = None
    ) -> None:
        super().__init__(msg, case_name=case_name)
        self.error_type = error_type
        self.message = msg


def refuse_read(what: str, place: str) -> None:
    """Raises if ``what`` reads a value in a region with ``fullgraph=True``."""
    raise Unsupported(
        f"fullgraph=True: {what} needs the value of a tensor at {place}.\n"
        "What follows may depend on it, so that the callable is no longer one graph.\n"
        "Keep the value a tensor (torch.where, torch.cond), move the line out of the "
        "compiled function, or leave fullgraph=False."
    )
