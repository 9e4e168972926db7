"""Requests of the runtime to Python: C++ writes them, Python reads them.

``headers.py`` writes runtime/plan/requests.h from these: one function per record, whose
parameters are the fields; a function of the encoder writes what is ``Spliced``.
``read_request`` is the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from pellucid_compiler.abi.encode import Decoded, decode
from pellucid_compiler.abi.fields import Bits, DTypeName, Field, Record, read_record

OpReference: TypeAlias = Annotated[
    str | bytes,
    Field("", "", "text: a declared op; bytes: [rule, reference, arguments, mask]"),
]
Items: TypeAlias = Annotated[
    list[Decoded], Field("", "", "list of an item per argument")
]


@dataclass(frozen=True)
class PlanRequest:
    """Requests a plan, or the derivative with respect to the inputs of ``mask``. Items
    are none, numbers, texts, [tensor, DType code, sizes], [dtype, DType code], [list,
    items] or [ignored].
    """

    op: OpReference
    arguments: Items
    mask: Bits
    default_dtype: DTypeName


@dataclass(frozen=True)
class FunctionRequest:
    """Requests the ElementFunction of a pointwise op after promotion: none, [tensor,
    DType code], [number] or [static, item] per argument.
    """

    op: OpReference
    arguments: Items
    common: DTypeName
    default_dtype: DTypeName


REQUESTS: Final = (PlanRequest, FunctionRequest)
SPLICED: Final = ""
"""The C++ type of fields written by a function of the encoder."""


def read_request(kind: type[Record], request: bytes) -> Record:
    """Decode a request."""
    return read_record(kind, decode(request))
