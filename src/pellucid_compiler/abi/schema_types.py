"""The types of arguments in PyTorch's schema language, and the names of
default values.

Schemas are parsed on both sides: the engine declares, traces and freezes ops without a
built runtime (``declare/schema.py``), and the runtime reads the schemas of programs
and of libraries, and those in ``frozen.bin`` when an op is first looked up, without
the engine (``runtime/core/schema.cpp``). Both take the words from here, and
``tests/abi/test_schemas.py`` compares what they read. ``headers.py`` writes
runtime/abi/schema_types.h.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from pellucid_compiler.abi.codes import LOSS_REDUCTION
from pellucid_compiler.abi.dtypes import ALIASES, CODES, NUMBERS


class ArgumentType(NamedTuple):
    """``symbol``: the C++ name; ``text``: as in schemas. The value of a *static* one is
    part of the specialisation key, unless it is *ignored*: no plan depends on it.
    ``holds_tensors``: it is or has tensors.
    """

    symbol: str
    text: str
    is_static: bool = False
    holds_tensors: bool = False
    is_ignored: bool = False


ARGUMENT_TYPES: Final = (
    ArgumentType("Tensor", "Tensor", holds_tensors=True),
    ArgumentType("TensorOrScalar", "Tensor|Scalar", holds_tensors=True),
    ArgumentType("TensorList", "Tensor[]", holds_tensors=True),
    ArgumentType("OptionalTensorList", "Tensor?[]", holds_tensors=True),
    ArgumentType("Scalar", "Scalar"),
    ArgumentType("ScalarList", "Scalar[]"),
    ArgumentType("Int", "int", is_static=True),
    ArgumentType("SymInt", "SymInt"),
    ArgumentType("Float", "float"),
    ArgumentType("Bool", "bool", is_static=True),
    ArgumentType("String", "str", is_static=True),
    ArgumentType("IntList", "int[]", is_static=True),
    ArgumentType("SymIntList", "SymInt[]"),
    ArgumentType("FloatList", "float[]"),
    ArgumentType("BoolList", "bool[]", is_static=True),
    ArgumentType("DType", "ScalarType", is_static=True),
    ArgumentType("Device", "Device", is_static=True, is_ignored=True),
    ArgumentType("Layout", "Layout", is_static=True, is_ignored=True),
    ArgumentType("MemoryFormat", "MemoryFormat", is_static=True, is_ignored=True),
    ArgumentType("Generator", "Generator", is_ignored=True),
    ArgumentType("Object", "", is_static=True, is_ignored=True),
)
"""``Object``: every type that only Python reads, such as lists of strings."""

OBJECT_WORDS: Final = (
    *("complex", "Storage", "Stream", "QScheme", "SymBool", "Dimname", "NoneType"),
    *("Any", "AnyEnumType", "AnyClassType", "AnyListType", "AnyTupleType", "Capsule"),
    *("ConstQuantizerPtr", "DeviceIndex", "Dict(Tensor, Tensor)"),
)
"""The words of schemas whose type is ``Object``."""

WORDS: Final = frozenset(OBJECT_WORDS) | {
    row.text for row in ARGUMENT_TYPES if row.text.isalpha()
}
STATIC_WORDS: Final = frozenset(
    row.text for row in ARGUMENT_TYPES if row.is_static and row.text.isalpha()
)
IGNORED_WORDS: Final = frozenset(OBJECT_WORDS) | {
    row.text for row in ARGUMENT_TYPES if row.is_ignored and row.text
}

NAMED_DEFAULTS: Final = {
    "Mean": LOSS_REDUCTION["mean"],
    "contiguous_format": 0,
    "strided": 0,
    **{name: NUMBERS[name] for name in CODES},
    **{alias: NUMBERS[name] for alias, name in ALIASES.items()},
}
"""Names that schemas use as defaults, with PyTorch's numbers."""
