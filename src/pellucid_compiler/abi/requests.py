"""Requests of the runtime to Python: C++ writes them, Python reads them.

``headers.py`` writes runtime/plan/requests.h from these: one function per record, whose
parameters are the fields; a function of the encoder writes what is ``spliced``.
``read_request`` is the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from pellucid_compiler.abi.encode import Decoded, decode
from pellucid_compiler.abi.fields import (
    Bits,
    DTypeName,
    Record,
    read_record,
    spliced,
)
from pellucid_compiler.abi.items import OperandItems

OpReference: TypeAlias = Annotated[
    str | bytes,
    spliced("text: a declared op; bytes: [rule, reference, arguments, mask]"),
]


@dataclass(frozen=True)
class PlanRequest:
    """Requests a plan, or the derivative with respect to the inputs of ``mask``."""

    op: OpReference
    arguments: Annotated[list[Decoded], spliced("list of request items")]
    mask: Bits
    default_dtype: DTypeName


@dataclass(frozen=True)
class FunctionRequest:
    """Requests the ElementFunction of a pointwise op after promotion."""

    op: OpReference
    arguments: OperandItems
    common: DTypeName
    default_dtype: DTypeName


REQUESTS: Final = (PlanRequest, FunctionRequest)


def read_request(kind: type[Record], request: bytes) -> Record:
    """Decode a request."""
    return read_record(kind, decode(request))
