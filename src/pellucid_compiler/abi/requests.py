"""What the runtime asks Python for: requests, which C++ writes and Python reads.

``headers.py`` writes runtime/plan/requests.h from these: a function per record, whose
parameters are the fields; what is ``Spliced`` a function of the encoder writes.
``read_request`` is the other side.
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
    """For a plan, or the derivative by the inputs of ``mask``. Items are none, numbers,
    texts, [tensor, DType code, sizes], [dtype, DType code], [list, items] or [ignored].
    """

    op: OpReference
    arguments: Items
    mask: Bits
    default_dtype: DTypeName


@dataclass(frozen=True)
class FunctionRequest:
    """For the ElementFunction of a pointwise op behind promotion: none, [tensor, DType
    code], [number] or [static, item] per argument.
    """

    op: OpReference
    arguments: Items
    common: DTypeName
    default_dtype: DTypeName


REQUESTS: Final = (PlanRequest, FunctionRequest)
SPLICED: Final = ""
"""The C++ type of fields that a function of the encoder writes."""


def read_request(kind: type[Record], request: bytes) -> Record:
    """The fields of an encoded request."""
    return read_record(kind, decode(request))
